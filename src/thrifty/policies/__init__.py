"""Every policy, one file each; `registry` has the list of them."""

from thrifty.policies.registry import *  # noqa: F403
from thrifty.policies.registry import __all__ as __all__
