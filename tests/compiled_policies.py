"""The registered policies whose steps are compiled: these owe twins and states."""

from typing import cast

from thrifty.policies import POLICIES
from thrifty.policies.compiled import CompiledPolicy

COMPILED = tuple(
    name
    for name, make in POLICIES.items()
    if issubclass(cast(type, getattr(make, "__self__", make)), CompiledPolicy)
)
