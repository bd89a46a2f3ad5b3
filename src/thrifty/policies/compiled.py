"""The base of policies whose steps are compiled functions of a named tuple of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.environments.replay import Replay
from thrifty.errors import DamagedFile, InvalidParameter
from thrifty.kernels.runtime import loop, single_call
from thrifty.kernels.runtime.steps import BoundSteps
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase, as_array

NO_DRAWS = np.empty(0)
Record = tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


@runtime_checkable
class RunsCompiled(Protocol):
    """A policy with a compiled loop for the tables of a `Replay`."""

    def can_run_compiled(self, world: Replay) -> bool:
        """Return True if the loop plays these rounds."""

    def run_compiled(self, world: Replay, out: Record) -> None:
        """Play the first rounds of `world`, as many as `out` holds, and record them there."""


class CompiledPolicy(Policy):
    """Runs the steps registered for its state, one call at a time or in the compiled loop.

    A subclass sets `_state` to its kernel's initial state once its parameters have been validated,
    and says how many uniform numbers each of the two choices takes.
    """

    feature_draws: ClassVar[int] = 0
    action_draws: ClassVar[int] = 0
    growing: ClassVar[frozenset[str]] = frozenset()
    """The names of the state's arrays that get longer when `_grow` is called."""
    added: ClassVar[frozenset[str]] = frozenset()
    """The names of arrays that states saved by earlier releases do not have."""
    _state: NamedTuple
    _bound: tuple[NamedTuple, BoundSteps] | None = None

    def _choose_features(self, known: Observation) -> Purchase:
        mask = np.empty(self.problem.n_features, dtype=np.bool_)
        draws = self._draws(self.feature_draws)
        steps = self._steps
        purpose = single_call.choose_features(
            steps.choose_features, steps.state, known.codes, draws, mask
        )
        return Purchase.unchecked(mask, purpose)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        draws = self._draws(self.action_draws)
        steps = self._steps
        seen = (observation.codes, available, draws, observation.purpose)
        return single_call.choose_action(
            steps.choose_action, steps.values_for_action, steps.state, *seen
        )

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        del outcome  # rewards are all that these policies learn from
        steps = self._steps
        seen = (observation.codes, observation.costs, action, reward, observation.purpose)
        while not single_call.update(steps.update, steps.has_room, steps.state, *seen):
            self._grow()
            steps = self._steps

    def _action_values(self, observation: Observation) -> NDArray[np.float64] | None:
        steps = self._steps
        if not steps.have_values:
            return None
        return single_call.action_values(steps.action_values, steps.state, observation.codes)

    @property
    def _steps(self) -> BoundSteps:
        """The steps on the present state."""
        if self._bound is None or self._bound[0] is not self._state:
            self._bound = (self._state, BoundSteps(self._state))
        return self._bound[1]

    def _draws(self, number: int) -> NDArray[np.float64]:
        return self.rng.random(number) if number else NO_DRAWS

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the bound steps, because a copy has its own arrays."""
        return {name: value for name, value in vars(self).items() if name != "_bound"}

    def can_run_compiled(self, world: Replay) -> bool:  # noqa: ARG002
        """Return True: the loop plays all tables."""
        return True

    def run_compiled(self, world: Replay, out: Record) -> None:
        """Play the first rounds of `world`, as many as `out` holds, and record them there.

        The same as `play` does round by round, and with the same random numbers.
        """
        n = self.feature_draws
        rounds = len(out[1])
        numbers = self.rng.random((rounds, n + self.action_draws))
        observed, actions, rewards, costs = out
        tables = loop.Tables(
            contexts=np.ascontiguousarray(world.contexts),
            rewards=np.ascontiguousarray(world.rewards),
            costs=np.ascontiguousarray(world.costs),
            free=world.free,
            sales=world.sales,
            feature_draws=np.ascontiguousarray(numbers[:, :n]),
            action_draws=np.ascontiguousarray(numbers[:, n:]),
            observed=observed,
            actions=actions,
            gained=rewards,
            paid=costs,
        )
        reached = 0
        while (reached := loop.play_rounds(self._steps, tables, reached)) < rounds:
            self._grow()
        self.rounds += rounds

    def _kind(self, name: str, array: NDArray[Any]) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return what must not change: the type and the shape, but for the length that grows."""
        return array.dtype, array.shape[1:] if name in self.growing else array.shape

    def _grow(self) -> None:
        raise AssertionError(f"{type(self).__name__}'s state never needs to grow")

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return the state's arrays by name."""
        return {name: array.copy() for name, array in _arrays(self._state)}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state's arrays; they must be the ones of such a policy and problem."""
        expected = {name: self._kind(name, array) for name, array in _arrays(self._state)}
        found = {name: self._kind(name, array) for name, array in state.items()}
        for name in expected.keys() | found.keys():
            if expected.get(name) != found.get(name) and not (
                name in self.added and name not in found
            ):
                raise DamagedFile(
                    f"array {name!r} is {found.get(name)} where {type(self).__name__} has "
                    f"{expected.get(name)}: it was saved by another policy, problem or version."
                )
        initial = {name: array for name, array in _arrays(self._state) if name not in state}
        self._state = _replaced(self._state, {**initial, **state})


def _arrays(state: NamedTuple, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of a state and of the states inside it, by dotted name."""
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            yield prefix + name, value
        elif isinstance(value, tuple):
            yield from _arrays(value, f"{prefix}{name}.")  # type: ignore[arg-type]


def _replaced(
    state: NamedTuple, arrays: Mapping[str, NDArray[Any]], prefix: str = ""
) -> NamedTuple:
    """Return the state with these arrays in the place of its own."""
    new: dict[str, Any] = {}
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            given = arrays[prefix + name]
            new[name] = np.empty(given.shape, value.dtype)  # a file does not keep its alignment
            new[name][...] = given
        elif isinstance(value, tuple):
            new[name] = _replaced(value, arrays, f"{prefix}{name}.")  # type: ignore[arg-type]
    return state._replace(**new)


def encoding_of(problem: Problem, encoding: str) -> tuple[NDArray[np.int64], int]:
    """Return where each feature's indicators begin (nowhere if ordinal), and the vector's size.

    >>> encoding_of(Problem.anonymous((2, 3), 1), "one-hot")
    (array([0, 2]), 5)
    """
    if encoding == "ordinal":
        return np.zeros(0, dtype=np.int64), problem.n_features
    return np.cumsum(problem.levels) - problem.levels, int(problem.levels.sum())


def require_masks_fit(problem: Problem, most: int, owner: str) -> None:
    """Refuse a problem with more features than a machine word has bits."""
    if problem.n_features > most:
        raise InvalidParameter(
            f"{owner} keeps observation sets as {most}-bit masks, and the problem has "
            f"{problem.n_features} features: leave some out or choose another policy."
        )


def require_prices(problem: Problem, prices: ArrayLike) -> NDArray[np.float64]:
    """Return a price list as an array, or refuse it."""
    array = as_array(prices, InvalidParameter)
    numbers = array.dtype.kind in "iuf" and array.shape == (problem.n_features,)
    if not numbers or not (np.isfinite(array) & (array >= 0)).all():
        raise InvalidParameter(
            f"price list {array.tolist()}: it must hold one finite price of at least 0 for each "
            f"of the {problem.n_features} features."
        )
    return array.astype(np.float64)
