"""The steps of a round, whichever the policy, called by the address of their machine code.

The loop and the single calls are compiled once for all policies, and a policy's steps once for
both. In compiled code a step is the address of its machine code and a state is the address of its
table (see `pointers`). Where nothing is compiled they are the function and the named tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, overload

from thrifty.kernels.runtime.pointers import PackedState, StatePointer

Step = Callable[..., Any]

STEPS: dict[type, Steps] = {}
"""The steps of each policy, by the type of its state."""

CODES = types.Array(types.int64, 1, "C")
NUMBERS = types.Array(types.float64, 1, "C")
FLAGS = types.Array(types.boolean, 1, "C")
INT = types.int64

# The state comes first. Read-only arrays are passed as they are: steps write to `mask` alone.
SIGNATURES: dict[str, Any] = {
    "choose_features": INT(types.voidptr, CODES, NUMBERS, FLAGS),
    "update": types.none(types.voidptr, CODES, NUMBERS, INT, types.float64, INT),
    "action_values": NUMBERS(types.voidptr, CODES),
    "choose_action": INT(types.voidptr, CODES, FLAGS, NUMBERS, INT),
    "read_prices": types.none(types.voidptr, NUMBERS),
    "has_room": types.boolean(types.voidptr),
}


class Steps(NamedTuple):
    """A policy's compiled steps.

    `draws` are uniform numbers in [0, 1), drawn outside: kernels hold no generators.
    """

    choose_features: Step
    """(state, known, draws, mask) -> purpose; fills the mask. `known` are codes of free values."""
    update: Step
    """(state, codes, costs, action, reward, purpose); a cost is nan where nothing was bought."""
    action_values: Step | None = None
    """(state, codes) -> the values by which an action is chosen, if there are any."""
    choose_action: Step | None = None
    """(state, codes, available, draws, purpose) -> action; by default the first of the available
    ones with the largest value."""
    read_prices: Step | None = None
    """(state, prices); only a policy that is given the price list has it."""
    has_room: Step | None = None
    """(state) -> bool; False if the next update may not fit, and the caller must grow the state."""


class BoundSteps:
    """A state and the steps of its policy, each compiled when it is first asked for.

    `state` and the steps are as the functions of `single_call` take them; `argument` is the state
    as any other compiled function takes it.
    """

    def __init__(self, state: NamedTuple) -> None:
        self._steps = STEPS[type(state)]
        self.have_values = self._steps.action_values is not None
        self.argument: Any
        self.state: Any
        if config.DISABLE_JIT:
            self.argument, self.state, self._missing = state, state, None
        else:
            self.argument = PackedState(state)
            self.state, self._missing = self.argument.address, 0

    def _callable(self, name: str) -> Any:
        """Return the step as the functions below take it."""
        step = getattr(self._steps, name)
        if step is None:
            return self._missing
        return step if config.DISABLE_JIT else _address(step, name, self.argument.type)

    choose_features = cached_property(lambda self: self._callable("choose_features"))
    update = cached_property(lambda self: self._callable("update"))
    action_values = cached_property(lambda self: self._callable("action_values"))
    choose_action = cached_property(lambda self: self._callable("choose_action"))
    read_prices = cached_property(lambda self: self._callable("read_prices"))
    has_room = cached_property(lambda self: self._callable("has_room"))

    @cached_property
    def values_for_action(self) -> Any:
        """The step `action_values` if the choice of an action rests on it alone."""
        return self.action_values if self._steps.choose_action is None else self._missing

    def for_loop(self) -> Steps:
        """Return the steps that a simulation takes."""
        return Steps(
            self.choose_features,
            self.update,
            self.values_for_action,
            self.choose_action,
            self.read_prices,
            self.has_room,
        )


@cache
def _address(step: Any, name: str, pointer: StatePointer) -> int:
    """Return the address of the step's machine code, compiled for this type of state."""
    declared = SIGNATURES[name]
    arguments = (pointer, *declared.args[1:])
    step.compile(declared.return_type(*arguments))
    compiled = step.overloads[arguments]
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return address


def _without_count(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the array without its reference count, because the caller keeps it alive."""
    array = cgutils.create_struct_proxy(kind)(context, builder, value)
    array.meminfo = ir.Constant(array.meminfo.type, None)
    return array._getvalue()


def _caller(name: str) -> Step:
    """Return the function that calls the step `name`: (step, state, ...) -> its result."""
    declared = SIGNATURES[name]

    def call(step: Any, state: Any, *arguments: Any) -> Any:
        return step(state, *arguments)

    class _Call(AbstractTemplate):  # type: ignore[misc]
        key = call

        def generic(self, given: tuple[Any, ...], _: Any) -> Any:
            return signature(declared.return_type, *given)

    infer_global(call, types.Function(_Call))

    @lower_builtin(call, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
    def generate(context: Any, builder: Any, given: Any, values: Any) -> Any:
        step, state, *rest = values
        convention = context.call_conv
        function_type = convention.get_function_type(declared.return_type, declared.args)
        arguments = [builder.inttoptr(state, context.get_value_type(types.voidptr))]
        for value, kind, wanted in zip(rest, given.args[2:], declared.args[1:], strict=True):
            if isinstance(wanted, types.Array):
                arguments.append(_without_count(context, builder, wanted, value))
            else:
                arguments.append(context.cast(builder, value, kind, wanted))
        status, result = convention.call_function(
            builder,
            builder.inttoptr(step, function_type.as_pointer()),
            declared.return_type,
            declared.args,
            arguments,
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return call


choose_features = _caller("choose_features")
choose_action = _caller("choose_action")
update = _caller("update")
action_values = _caller("action_values")
read_prices = _caller("read_prices")
has_room = _caller("has_room")


def is_defined(step: Any) -> bool:
    """Return True if the policy has this step."""
    return step is not None


@overload(is_defined)
def _is_defined(step):  # type: ignore[no-untyped-def]
    return lambda step: step != 0
