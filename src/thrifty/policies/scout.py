"""Scout, Thrifty's own policy, which needs no tuning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.scout import chances as chances_kernel
from thrifty.kernels.scout import steps as kernel
from thrifty.kernels.scout.state import ScoutState, initial
from thrifty.kernels.shared.largest_beta import ERROR
from thrifty.parameters import FLAG, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, require_masks_fit
from thrifty.policies.random_subsets import chance_of_subset, sold
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed

MAX_FEATURES = 63
KINDS = ("exploit", "explore", "probe", "save", "recall")
EVENTS = ("restart", "regime restored", "row forgotten", "price alarm")


@dataclass(frozen=True)
class ScoutEvent:
    """A change that Scout detected.

    Parameters
    ----------
    round : int
        Number of rounds learnt before the event.
    kind : str
        "restart", "regime restored", "row forgotten" or "price alarm".
    feature : str or None
        Feature of a price alarm.
    """

    round: int
    kind: str
    feature: str | None = None


class Scout(CompiledPolicy):
    """Scout: buy the set of features with the best estimated gain, and explore after changes.

    In most rounds Scout buys the set of features with the largest estimated gain and takes the best
    action given their values. In a few rounds it explores: it buys every feature that might be
    worth its price and takes a random action. Such a round is an unbiased sample for all sets at
    once, and shows which features matter. If rewards are worse than predicted, Scout forgets what
    it has learnt and explores again. It recognises earlier regimes, and buys features again whose
    prices have changed. If values are known for free, it chooses the best set given these values.
    The page "How Scout decides" explains the maths.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    max_features : int, optional
        Largest number of features bought in a round. By default there is no limit.
    budget : float, optional
        Average cost allowed per round. After t rounds Scout has spent at most t times the budget
        plus the price of one round. When the budget is used up, it buys nothing until it has
        recovered (rounds of kind "save"). By default there is no limit.
    recall : bool
        False switches off the recognition of earlier regimes, to measure its value.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
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
    action_error = ERROR
    added = frozenset(
        {
            "comparison.masks",
            "comparison.shares",
            "comparison.counted",
            "variety",
            "scale",
            "idle",
            "usual",
            "surprise.sure",
            "regimes.values",
            "regimes.used",
        }
    )
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
        numbers = self._sales.bundles
        self._bundles = [_as_set(numbers == k) for k in range(int(numbers.max()) + 1)]

    @property
    def events(self) -> tuple[ScoutEvent, ...]:
        """The last 256 detected changes, oldest first."""
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
        """Explain the purchase that Scout has just chosen.

        Parameters
        ----------
        purchase : Purchase
            The purchase that `choose_features` returned.
        known : Observation, optional
            What was known when it was chosen.

        Returns
        -------
        callable
            Returns `kind` (the kind of round), `set_in_use`, `certainty`, and `considered`: the
            sets that Scout compared, each with `features`, `value`, `reward`, `price` and `weight`.
        """
        state, book = self._state, self._state.book[0]
        compared = int(state.comparison.compared[0])
        argument = self._steps.argument
        worth = kernel.worth_in_declared_range(argument, state.comparison.worth[:compared].copy())
        if known is not None and compared and known.mask.any():
            worth = kernel.worth_given(argument, known.codes.copy())
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

    def _purchase_probabilities(
        self, known: Observation, mask: NDArray[np.bool_]
    ) -> list[tuple[Purchase, float]]:
        chances, whole = np.empty(len(KINDS)), np.empty((2, len(KINDS)), np.int64)
        argument, (purposes, bought) = self._steps.argument, whole
        kept = chances_kernel.kinds_of_rounds(argument, known.codes, chances, purposes, bought)
        settled, sought = _as_set(known.settled), _as_set(mask)
        bundles = [bundle & ~settled for bundle in self._bundles]
        rows = zip(chances.tolist(), *whole.tolist(), strict=True)
        found = []
        for kind, (chance, purpose, features) in enumerate(rows):
            if chance > 0.0:
                kept_too = kept if kind == kernel.PROBE else 0
                is_wide = kind in (kernel.EXPLORE, kernel.PROBE)
                if is_wide and features.bit_count() > self._state.limits.features:
                    most = self._state.limits.features
                    chance *= chance_of_subset(sought, features, kept_too, most, bundles)
                elif sold(features & ~settled, bundles) != sought:
                    continue
                found.append((Purchase.unchecked(mask, purpose), chance))
        return found

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        chances = np.empty(available.size)
        chances_kernel.chances_of_actions(
            self._steps.argument, observation.codes, available, observation.purpose, chances
        )
        return chances


def _as_set(mask: NDArray[np.bool_]) -> int:
    """Return a mask as a whole number; the first feature is the highest bit."""
    return int.from_bytes(np.packbits(mask).tobytes()) >> (-mask.size % 8)


def _set_in_use(state: ScoutState, purpose: int) -> int:
    """Return the mask of the set that was in use when a purpose was made."""
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
            "features": _feature_names(names, mask),
            "value": value - price,
            "reward": value,
            "price": price,
            "weight": weight,
        }
        for mask, (value, price), weight in rows
    ]
    return {
        "kind": kind,
        "set_in_use": _feature_names(names, in_use),
        "certainty": certainty,
        "considered": sorted(considered, key=lambda candidate: -candidate["value"]),
    }


def _feature_names(names: tuple[str, ...], mask: int) -> list[str]:
    n = len(names)
    return [name for i, name in enumerate(names) if mask >> (n - 1 - i) & 1]
