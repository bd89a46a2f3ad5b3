"""Scout, Thrifty's own policy: close to the oracle, with nothing to tune."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.scout import steps as kernel
from thrifty.kernels.scout.state import ScoutState, initial
from thrifty.parameters import FLAG, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, require_masks_fit
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed

MAX_FEATURES = 63
KINDS = ("exploit", "explore", "probe", "save")
EVENTS = ("restart", "regime restored", "row forgotten", "price alarm")


@dataclass(frozen=True)
class ScoutEvent:
    """Something that Scout noticed after so many rounds; a price alarm is about a feature."""

    round: int
    kind: str
    feature: str | None = None


class Scout(CompiledPolicy):
    """Explores blind and wide, exploits the set worth most, and starts afresh after a change.

    In most rounds Scout buys the set of features that is worth most now and acts by it. In a few it
    buys every feature that might pay for itself and acts blindly: such a round is an unbiased
    sample for all sets at once, and tells which features matter. Rewards that are worse than
    predicted make it forget and explore anew; former regimes are recognised; prices that jump are
    looked at again. Where values are known for free, the set is the one worth most given them. The
    page "How Scout decides" has the maths.

    There is nothing to tune. `max_features` is the largest number of features that a round may
    buy. `budget` is what a round may spend on average: after t rounds at most t times the budget
    has been spent, and the price of one round more; when it is gone Scout buys nothing until it has
    recovered (rounds of kind "save"). With `recall=False` former regimes are not recognised, to see
    what that is worth.

    >>> problem = Problem.anonymous(levels=(2, 3), n_actions=2)
    >>> scout = Scout(problem, seed=1)
    >>> scout.choose_features().mask.tolist()  # nothing is known yet, so it explores
    [True, True]
    >>> scout.events
    ()
    """

    allowed = {"max_features": Optional(Whole(1)), "budget": Optional(Real(0)), "recall": FLAG}
    amounts = frozenset({"budget"})
    feature_draws = kernel.FEATURE_DRAWS
    action_draws = kernel.ACTION_DRAWS
    added = frozenset({"comparison.masks", "comparison.shares", "comparison.counted"})
    _state: ScoutState

    def __init__(
        self,
        problem: Problem,
        *,
        max_features: int | None = None,
        budget: float | None = None,
        recall: bool = True,
        seed: Seed = None,
    ) -> None:
        limits: dict[str, Any] = {"max_features": max_features, "budget": budget, "recall": recall}
        super().__init__(problem, seed=seed, **limits)
        require_masks_fit(problem, MAX_FEATURES, "Scout")
        self._state = initial(problem.levels, problem.n_actions, **self.parameters)

    @property
    def events(self) -> tuple[ScoutEvent, ...]:
        """What was noticed, oldest first: restarts, price alarms and the like; the last 256."""
        happened, rows = int(self._state.happened[0]), self._state.events
        return tuple(
            self._event(rows[k % len(rows)].tolist())
            for k in range(max(0, happened - len(rows)), happened)
        )

    def _event(self, row: list[int]) -> ScoutEvent:
        round_, kind, i = row
        return ScoutEvent(round_, EVENTS[kind], None if i < 0 else self.problem.feature_names[i])

    def reasons(
        self, purchase: Purchase, known: Observation | None = None
    ) -> Callable[[], dict[str, Any]]:
        """Say why it bought: the kind of round, how sure it is, and the sets that it compared."""
        state, book = self._state, self._state.book[0]
        compared = int(state.comparison.compared[0])
        worth = state.comparison.worth[:compared].copy()
        if known is not None and compared and known.mask.any():
            worth = kernel.worth_given(self._steps.argument, known.codes.copy())
        candidates = state.comparison.candidates[:compared]
        return partial(
            _reasons,
            self.problem.feature_names,
            KINDS[purchase.purpose % kernel.KINDS],
            _set_in_use(state, purchase.purpose),
            float(book["certainty"]),
            state.subsets.masks[candidates],
            worth,
            np.exp(state.weights.log[candidates]),
        )


def _set_in_use(state: ScoutState, purpose: int) -> int:
    """Return the mask of the set that a purpose was made for."""
    place = purpose % kernel.GIVEN // kernel.KINDS % len(state.subsets.masks)
    return int(state.subsets.masks[place])


def _reasons(
    names: tuple[str, ...],
    kind: str,
    in_use: int,
    certainty: float,
    masks: NDArray[np.int64],
    worth: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> dict[str, Any]:
    rows = zip(masks.tolist(), worth.tolist(), weights.tolist(), strict=True)
    considered = [
        {
            "features": _named(names, mask),
            "value": value - price,
            "reward": value,
            "price": price,
            "weight": weight,
        }
        for mask, (value, price), weight in rows
    ]
    return {
        "kind": kind,
        "set_in_use": _named(names, in_use),
        "certainty": certainty,
        "considered": sorted(considered, key=lambda it: -it["value"]),
    }


def _named(names: tuple[str, ...], mask: int) -> list[str]:
    n = len(names)
    return [name for i, name in enumerate(names) if mask >> (n - 1 - i) & 1]
