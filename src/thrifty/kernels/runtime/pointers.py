"""States as compiled code sees them: one pointer to a table of their arrays.

A policy's state is a named tuple of arrays and numbers, and of further such tuples. Passed by
value, a state of fifty arrays is an argument of four hundred words to every function, and most of
the time to compile goes there. Compiled functions take a pointer instead. `state.subsets.pulls`
means the same for both, so a kernel works on the named tuple where nothing is compiled.

The arrays that compiled code reads from a table have no reference counts: the packed state, which
the caller holds during the call, keeps them alive.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, get_type_hints
from zlib import crc32

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

NUMBERS = {bool: types.boolean, int: types.int64, float: types.float64}
WORD = ir.IntType(64)


class Member(NamedTuple):
    """A field of a packed state: its name, its compiled type, and its first word in the table."""

    name: str
    type: Any
    word: int


class StatePointer(types.Type):  # type: ignore[misc]
    """The compiled type of a pointer to a packed state.

    Its name is short because it is part of the name of every compiled function that takes it.
    """

    def __init__(self, name: str, members: tuple[Member, ...]) -> None:
        self.members = members
        super().__init__(name=f"StatePointer({name}, {crc32(repr(members).encode()):08x})")

    def member(self, name: str) -> Member | None:
        """Return the field of this name, or None."""
        return next((member for member in self.members if member.name == name), None)


class PackedState:
    """A state and its table of words: the address and the shape of each array, and the numbers.

    It shares the arrays of the state. Compiled functions take it as a `StatePointer`.
    """

    def __init__(self, state: NamedTuple) -> None:
        self.state = state
        self.type = _pointer_type(_layout(state))
        self._table = np.array(_words(state), np.int64)
        self.address: int = self._table.ctypes.data


def _layout(state: NamedTuple) -> tuple[Any, ...]:
    """Return what the compiled type depends on: the names and kinds of all fields."""
    hints = _hints(type(state))
    fields = zip(state._fields, state, strict=True)
    return (type(state).__name__, *((name, _kind(value, hints[name])) for name, value in fields))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _kind(value: Any, hint: Any) -> Any:
    """Return the kind of a field; for a number it is the declared one, whatever was given."""
    if hint in NUMBERS:
        return hint
    if isinstance(value, tuple):
        return _layout(value)  # type: ignore[arg-type]
    if not (value.flags.c_contiguous and value.flags.aligned):
        raise ValueError("an array of a state must be aligned and in C order")
    return value.dtype, value.ndim


def _words(state: NamedTuple) -> list[int]:
    words: list[int] = []
    hints = _hints(type(state))
    for name, value in zip(state._fields, state, strict=True):
        if hints[name] in NUMBERS:
            bits = np.float64(value).view(np.int64) if hints[name] is float else value
            words.append(int(bits))
        elif isinstance(value, tuple):
            words += _words(value)  # type: ignore[arg-type]
        else:
            words += [value.ctypes.data, *value.shape]
    return words


@cache
def _pointer_type(layout: tuple[Any, ...]) -> StatePointer:
    name, *fields = layout
    members: list[Member] = []
    word = 0
    for field, kind in fields:
        members.append(Member(field, _compiled_type(kind), word))
        word += _size(members[-1].type)
    return StatePointer(name, tuple(members))


def _compiled_type(kind: Any) -> Any:
    if kind in NUMBERS:
        return NUMBERS[kind]
    if isinstance(kind[0], np.dtype):
        return types.Array(from_dtype(kind[0]), kind[1], "C")
    return _pointer_type(kind)


def _size(kind: Any) -> int:
    """Return how many words a field takes."""
    if isinstance(kind, StatePointer):
        return sum(_size(member.type) for member in kind.members)
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


@register_model(StatePointer)
class _PointerModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: StatePointer) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@typeof_impl.register(PackedState)  # type: ignore[untyped-decorator]
def _type_of(packed: PackedState, _context: Any) -> StatePointer:
    return packed.type


@unbox(StatePointer)  # type: ignore[untyped-decorator]
def _unbox(_kind: StatePointer, packed: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(packed, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(c.builder.bitcast(pointer, WORD.as_pointer()))


@infer_getattr
class _Attributes(AttributeTemplate):  # type: ignore[misc]
    key = StatePointer

    def generic_resolve(self, pointer: StatePointer, name: str) -> Any:
        member = pointer.member(name)
        return None if member is None else member.type


@lower_getattr_generic(StatePointer)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, kind: StatePointer, pointer: Any, name: str) -> Any:
    member = kind.member(name)
    assert member is not None  # type inference has found it
    if isinstance(member.type, StatePointer):
        return builder.gep(pointer, [WORD(member.word)])
    if isinstance(member.type, types.Array):
        return _read_array(context, builder, pointer, member)
    if member.type is types.boolean:
        return builder.icmp_unsigned("!=", _load(builder, pointer, member.word, WORD), WORD(0))
    return _load(builder, pointer, member.word, context.get_value_type(member.type))


def _read_array(context: Any, builder: Any, pointer: Any, member: Member) -> Any:
    array = cgutils.create_struct_proxy(member.type)(context, builder)
    element = context.get_data_type(member.type.dtype)
    shape = [
        _load(builder, pointer, member.word + 1 + axis, WORD) for axis in range(member.type.ndim)
    ]
    # Strides follow from the shape, which spares the optimiser half of the loads.
    strides = [WORD(context.get_abi_sizeof(element))]
    for length in reversed(shape):
        strides.insert(0, builder.mul(strides[0], length))
    array.itemsize = strides[-1]
    array.nitems = builder.sdiv(strides[0], strides[-1])
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, strides[1:])
    array.data = _load(builder, pointer, member.word, element.as_pointer())
    array.meminfo = ir.Constant(array.meminfo.type, None)
    array.parent = ir.Constant(array.parent.type, None)
    return array._getvalue()


def _load(builder: Any, pointer: Any, word: int, kind: Any) -> Any:
    place = builder.bitcast(builder.gep(pointer, [WORD(word)]), kind.as_pointer())
    value = builder.load(place)
    # Compiled code never writes to a table, so a load may be moved out of a loop.
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value
