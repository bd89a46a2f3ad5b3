"""The registered policies whose steps are compiled: these owe twins and states."""

from thrifty.policies import POLICIES
from thrifty.policies.compiled import CompiledPolicy

COMPILED = tuple(
    name
    for name, make in POLICIES.items()
    if isinstance(kind := getattr(make, "__self__", make), type)
    and issubclass(kind, CompiledPolicy)
)
