"""Read and write policy.toml, which `init`, `worth`, `serve`, `replay` and `Agent` share."""

from thrifty.policy_file.model import PolicyFile
from thrifty.policy_file.reading import (
    build_spec,
    from_prices,
    parse_policy_file,
    parse_spec,
    read_policy_file,
    read_rewards,
    read_spec,
)
from thrifty.policy_file.writing import Comments, to_toml

__all__ = [
    "Comments",
    "PolicyFile",
    "build_spec",
    "from_prices",
    "parse_policy_file",
    "parse_spec",
    "read_policy_file",
    "read_rewards",
    "read_spec",
    "to_toml",
]
