"""policy.toml: one file that `init`, `worth`, `serve`, `replay` and `Agent.from_file` share."""

from thrifty.policy_file.model import PolicyFile
from thrifty.policy_file.reading import (
    of_prices,
    parse_policy_file,
    parse_spec,
    read_policy_file,
    read_rewards,
    read_spec,
    spec_of,
)
from thrifty.policy_file.writing import Comments, to_toml

__all__ = [
    "Comments",
    "PolicyFile",
    "of_prices",
    "parse_policy_file",
    "parse_spec",
    "read_policy_file",
    "read_rewards",
    "read_spec",
    "spec_of",
    "to_toml",
]
