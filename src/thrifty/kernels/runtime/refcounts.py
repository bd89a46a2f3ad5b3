"""Arrays without reference counts, for the time of a call.

Numba counts references to an array, atomically, whenever a function takes it out of a tuple or
passes it on. With states of twenty arrays and functions of five lines that would be most of the
time. A strip_refcounts array carries no counter; whoever lends it must keep it alive, as the Python
caller of a kernel does anyway.
"""

from __future__ import annotations

from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils
from numba.core.types import Array, BaseTuple  # type: ignore[attr-defined]
from numba.extending import intrinsic, overload

Lent = TypeVar("Lent")


def strip_refcounts(value: Lent) -> Lent:
    """Return an array, or a tuple of arrays and other values, without its reference counts."""
    return value


@overload(strip_refcounts)
def _strip_refcounts(value):  # type: ignore[no-untyped-def]
    def borrow(value):  # type: ignore[no-untyped-def]
        return _without_counts(value)

    return borrow


@intrinsic  # type: ignore[untyped-decorator]
def _without_counts(_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _strip(context, builder, signature.return_type, arguments[0])

    return value(value), generate


def _strip(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Set the counter of every array inside `value` to null."""
    if isinstance(kind, Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if isinstance(kind, BaseTuple):
        for k, member in enumerate(kind.types):
            old = builder.extract_value(value, k)
            value = builder.insert_value(value, _strip(context, builder, member, old), k)
    return value
