"""A correct policy, and policies and environments that each break one promise.

`BROKEN_POLICIES` and `BROKEN_ENVIRONMENTS` pair them with the check that must notice.
"""

import random
import sys
import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fitter import Fitter, MeanFit
from thrifty.checks.tables import RoundTables
from thrifty.errors import EnvironmentEnded, InvalidAction, InvalidPurchase, OutOfTurn
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


class Means(Policy):
    """Correct: buys the first feature now and then, and explores at random."""

    def __init__(self, problem: Problem, *, seed: Seed = None, **parameters: Any) -> None:
        super().__init__(problem, seed=seed, **parameters)
        self.sums = np.zeros((int(problem.levels[0]) + 1, problem.n_actions))
        self.counts = np.zeros_like(self.sums)

    def _choose_features(self, known: Observation) -> Purchase:
        mask = np.zeros(self.problem.n_features, dtype=np.bool_)
        mask[0] = self.counts.sum() % 7 < 4
        mask[-1] |= self.rng.random() < 0.2
        return Purchase(mask, purpose=int(mask[-1]))

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        if self.rng.random() < 0.1:
            return int(self.rng.choice(np.flatnonzero(available)))
        return int(np.argmax(np.where(available, self._action_values(observation), -1.0)))

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        self.sums[observation.codes[0], action] += reward
        self.counts[observation.codes[0], action] += 1

    def _action_values(self, observation: Observation) -> NDArray[np.float64]:
        state = observation.codes[0]
        values: NDArray[np.float64] = (self.sums[state] + 1) / (self.counts[state] + 1)
        return values

    def get_state(self) -> dict[str, NDArray[Any]]:
        return {"sums": self.sums.copy(), "counts": self.counts.copy()}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.sums, self.counts = state["sums"].copy(), state["counts"].copy()


class NoTypes(Means):
    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        return float(super()._choose_action(observation, available))  # type: ignore[return-value]


class ForgetsItsParameter(Means):
    def __init__(self, problem: Problem, *, rate: float = 0.3, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        self.rate = rate


class WrongMask(Means):
    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase(np.ones(self.problem.n_features + 1, dtype=np.bool_))


class TalkativeUpdate(Means):
    def update(  # type: ignore[misc]
        self, observation: Observation, action: int, reward: float, *, outcome: int | None = None
    ) -> Any:
        super().update(observation, action, reward, outcome=outcome)
        return self


class IgnoresAvailable(Means):
    def choose_action(self, observation: Observation, *, available: Any = None) -> int:  # type: ignore[misc]
        self._require_observation(observation)
        if available is not None:
            self._require_available(available)
        return self._choose_action(observation, self._every_action)


class EditsObservation(Means):
    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        super()._update(observation, action, reward, outcome)
        observation.codes.flags.writeable = True
        observation.codes[0] = 0


class EditsOldPurchase(Means):
    old: Purchase | None = None

    def _choose_features(self, known: Observation) -> Purchase:
        if self.old is not None:
            self.old.mask.flags.writeable = True
            self.old.mask[:] = True
        self.old = super()._choose_features(known)
        return self.old


class GlobalNumpy(Means):
    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        return int(np.random.choice(np.flatnonzero(available)))  # noqa: NPY002


class GlobalRandom(Means):
    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        return int(random.choice(np.flatnonzero(available).tolist()))


class SeedsTheWorld(Means):
    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        np.random.seed(7)  # noqa: NPY002


class Clock(Means):
    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        allowed = np.flatnonzero(available)
        return int(allowed[time.perf_counter_ns() // 100 % len(allowed)])


class Address(Means):
    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        self.rng = np.random.default_rng(id(self))


class SharedCounts(Means):
    everyone: ClassVar[dict[tuple[int, int], Any]] = {}

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        self.sums = self.everyone.setdefault(self.sums.shape, self.sums)


def hidden_tables() -> RoundTables:
    """Find the world among the variables of the callers, as no policy should."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        for value in frame.f_locals.values():
            if isinstance(value, RoundTables):
                return value
    raise LookupError("no world among the callers' variables")


class PeeksAtRewards(Means):
    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        world = hidden_tables()
        row = world.rewards[self.rounds % len(world.rewards)]
        return int(np.argmax(np.where(available, row, -1.0)))


class PeeksAtCosts(Means):
    def _choose_features(self, known: Observation) -> Purchase:
        world = hidden_tables()
        return Purchase(world.costs[self.rounds % len(world.costs)] < 0.1)


class LearnsFirstValidatesLater(Means):
    def update(  # type: ignore[misc]
        self, observation: Observation, action: int, reward: float, *, outcome: int | None = None
    ) -> None:
        self.sums[0, 0] += 1
        super().update(observation, action, reward, outcome=outcome)


class AcceptsAnyReward(Means):
    def _require_reward(self, reward: float) -> None:
        pass


class DrawsBeforeValidating(Means):
    def choose_action(self, observation: Observation, *, available: Any = None) -> int:  # type: ignore[misc]
        self.rng.random()
        return super().choose_action(observation, available=available)


class RemembersObservation(Means):
    last: Observation | None = None

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        self.last = observation
        return super()._choose_action(observation, available)

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        assert self.last is not None
        super()._update(self.last, action, reward, outcome)


class RemembersPurpose(Means):
    exploring = False

    def _choose_features(self, known: Observation) -> Purchase:
        purchase = super()._choose_features(known)
        self.exploring = bool(purchase.purpose)
        return purchase

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        if not self.exploring:
            super()._update(observation, action, reward, outcome)


class RemembersBesideWhatItLearns(Means):
    """The open round is kept among what was learnt, where no snapshot tells them apart."""

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        self.table = np.zeros((len(self.sums), problem.n_actions + 1))

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        self.table[0, -1] = observation.codes[0]
        return super()._choose_action(observation, available)

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        state = int(self.table[0, -1])
        self.table[state, action] += 0.3 * (reward - self.table[state, action])

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase.everything(self.problem)

    def _action_values(self, observation: Observation) -> NDArray[np.float64]:
        return self.table[observation.codes[0], :-1]


class OneRoundAtATime(Means):
    due = 0

    def _choose_features(self, known: Observation) -> Purchase:
        if self.due:
            raise RuntimeError("the last round has had no reward")
        self.due = 1
        return super()._choose_features(known)

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        self.due = 0
        super()._update(observation, action, reward, outcome)


class DividesByCost(Means):
    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        _ = reward / observation.total_cost if observation.mask.any() else 0
        super()._update(observation, action, reward, outcome)


class NeedsTwoActions(Means):
    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        _ = self.sums[:, 1]
        return super()._choose_action(observation, available)


class Hoarder(Means):
    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        self.log: list[tuple[int, float]] = []

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        super()._update(observation, action, reward, outcome)
        self.log.append((action, reward))


class ValuesDraw(Means):
    def action_values(self, observation: Observation) -> NDArray[np.float64]:
        return self._action_values(observation) + self.rng.random() / 100


class DrawsWhenAsked(Means):
    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        self.rng.random()
        shares: NDArray[np.float64] = available / available.sum()
        return shares


class SaysThatAllActionsAreEquallyLikely(Means):
    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = available / available.sum()
        return shares


class SaysThatItNeverExplores(Means):
    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        values = np.where(available, self._action_values(observation), -1.0)
        certain: NDArray[np.float64] = 1.0 * (np.arange(values.size) == values.argmax())
        return certain


class ForgetsCounts(Means):
    def get_state(self) -> dict[str, NDArray[Any]]:
        return {"sums": self.sums.copy()}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.sums = state["sums"].copy()


class SharesState(Means):
    def get_state(self) -> dict[str, NDArray[Any]]:
        return {"sums": self.sums, "counts": self.counts}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.sums, self.counts = state["sums"], state["counts"]


class BuysWhatIsKnown(Means):
    def choose_features(self, known: Observation | None = None) -> Purchase:  # type: ignore[misc]
        if known is None:
            return super().choose_features()
        self._require_observation(known)
        return self._choose_features(known)


class RemembersItsStep(Means):
    stepwise = True
    step = 0

    def _choose_features(self, known: Observation) -> Purchase:
        self.step = 1 - self.step
        return Purchase(np.arange(self.problem.n_features) == self.step)


class NeedsTheOutcome(Means):
    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        if self.problem.outcomes is not None:
            _ = self.sums[outcome % 2]  # type: ignore[operator]
        super()._update(observation, action, reward, outcome)


class RanLater(MeanFit):
    """The result of a fit depends on when it was run."""

    calls = 0

    def run(self) -> bytes:
        RanLater.calls += 1
        return super().run() + b" " * (RanLater.calls % 2)


class FitsByTheClock(Fitter):
    def _fit(self) -> MeanFit:
        fit = super()._fit()
        return RanLater(fit.number, fit.actions, fit.rewards, fit.n_actions)


class AcceptsAnyFit(Fitter):
    def _require_due_fit(self, number: int) -> MeanFit:
        return super()._fit()


class LosesItsFit(Fitter):
    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().set_state(state)
        self._due = None


class DoubtsWhatOthersRan(Fitter):
    def apply_fit(self, number: int, result: bytes) -> None:
        super().apply_fit(number, result)
        if self.fits_beside:
            self.means = -self.means


BROKEN_POLICIES: dict[type[Policy], str] = {
    NoTypes: "decisions_are_well_formed",
    WrongMask: "decisions_are_well_formed",
    TalkativeUpdate: "decisions_are_well_formed",
    IgnoresAvailable: "only_available_actions",
    EditsObservation: "arguments_stay_unchanged",
    EditsOldPurchase: "arguments_stay_unchanged",
    ForgetsItsParameter: "parameters_are_kept",
    GlobalNumpy: "no_global_randomness",
    GlobalRandom: "no_global_randomness",
    SeedsTheWorld: "no_global_randomness",
    Clock: "same_seed_same_run",
    Address: "same_seed_same_run",
    SharedCounts: "same_seed_same_run",
    PeeksAtRewards: "nothing_leaks",
    PeeksAtCosts: "nothing_leaks",
    LearnsFirstValidatesLater: "refused_input_changes_nothing",
    AcceptsAnyReward: "refused_input_changes_nothing",
    DrawsBeforeValidating: "refused_input_changes_nothing",
    RemembersObservation: "update_needs_only_its_arguments",
    RemembersPurpose: "update_needs_only_its_arguments",
    OneRoundAtATime: "update_needs_only_its_arguments",
    RemembersBesideWhatItLearns: "rewards_in_any_order",
    DividesByCost: "accepts_zero_costs_and_missing_values",
    BuysWhatIsKnown: "uses_free_values",
    RemembersItsStep: "purchases_end",
    NeedsTheOutcome: "accepts_outcomes",
    NeedsTwoActions: "any_size_of_problem",
    Hoarder: "memory_is_bounded",
    ValuesDraw: "action_values_change_nothing",
    DrawsWhenAsked: "asking_for_propensities_changes_nothing",
    SaysThatAllActionsAreEquallyLikely: "propensities_are_frequencies",
    SaysThatItNeverExplores: "propensities_are_frequencies",
    ForgetsCounts: "state_can_be_restored",
    SharesState: "state_can_be_restored",
    FitsByTheClock: "fits_may_run_beside",
    AcceptsAnyFit: "fits_may_run_beside",
    LosesItsFit: "fits_may_run_beside",
    DoubtsWhatOthersRan: "fits_may_run_beside",
}


class Table:
    """Correct: a small world drawn from a seed."""

    horizon = 80
    free = np.array([False, False])

    def __init__(self) -> None:
        self.problem = Problem.anonymous((2, 3), 2)
        self.reset(seed=0)

    def reset(self, *, seed: Seed = None) -> None:
        if seed is not None:
            rng = np.random.default_rng(seed)
            self.codes = rng.integers(self.problem.levels, size=(self.horizon, 2))
            self.costs = rng.random((self.horizon, 2))
            self.rewards = rng.random((self.horizon, 2))
        self.t, self.revealed, self.bought = 0, False, np.zeros(2, np.bool_)

    def known(self) -> Observation:
        if self.t >= self.horizon:
            raise EnvironmentEnded("all rounds are played: reset.")
        return self.observation(Purchase(self.bought))

    def reveal(self, purchase: Purchase) -> Observation:
        if self.t >= self.horizon:
            raise EnvironmentEnded("all rounds are played: reset.")
        if purchase.mask.shape != (2,):
            raise InvalidPurchase("two features: give two flags.")
        self.revealed = True
        self.bought = self.bought | (purchase.mask & ~self.free)
        return self.observation(Purchase(self.bought, purchase.purpose))

    def observation(self, purchase: Purchase) -> Observation:
        return Observation(
            np.where(purchase.mask | self.free, self.codes[self.t], -1),
            np.where(purchase.mask, self.costs[self.t], np.nan),
            purchase.purpose,
        )

    def step(self, action: int) -> float:
        if not self.revealed:
            raise OutOfTurn("not revealed yet: reveal.")
        if action not in (0, 1):
            raise InvalidAction("two actions: give 0 or 1.")
        reward = self.reward(action)
        self.t, self.revealed, self.bought = self.t + 1, False, np.zeros(2, np.bool_)
        return reward

    def reward(self, action: int) -> float:
        return float(self.rewards[self.t, action])


class NoProblem(Table):
    problem: Any

    def __init__(self) -> None:
        super().__init__()
        self.problem = None


class ShowsTooMuch(Table):
    def observation(self, purchase: Purchase) -> Observation:
        return super().observation(Purchase(purchase.mask | True, purchase.purpose))


class DropsPurpose(Table):
    def observation(self, purchase: Purchase) -> Observation:
        return super().observation(Purchase(purchase.mask))


class BigRewards(Table):
    def reward(self, action: int) -> float:
        return 2 * super().reward(action)


class OwnRandomness(Table):
    def reset(self, *, seed: Seed = None) -> None:
        super().reset(seed=None if seed is None else np.random.default_rng())


class RedrawsOnReset(Table):
    def reset(self, *, seed: Seed = None) -> None:
        super().reset(seed=3 + getattr(self, "t", 0) if seed is None else seed)


class GrowsDearer(Table):
    """What was bought before makes later purchases cost more."""

    paid = 0.0

    def reset(self, *, seed: Seed = None) -> None:
        super().reset(seed=seed)
        self.paid = 0.0

    def observation(self, purchase: Purchase) -> Observation:
        seen = super().observation(purchase)
        self.paid += seen.total_cost
        return Observation(seen.codes, seen.costs + self.paid, seen.purpose)


class SellsTwice(Table):
    """Charges once more for what is known already."""

    def reveal(self, purchase: Purchase) -> Observation:
        again = purchase.mask & self.bought
        seen = super().reveal(purchase)
        return Observation(seen.codes, np.where(again, 2 * seen.costs, seen.costs), seen.purpose)


class ChargesForFreeValues(Table):
    free = np.array([True, False])

    def known(self) -> Observation:
        seen = super().known()
        return Observation(seen.codes, np.where(seen.free, 0.0, seen.costs))


class ActsUnseen(Table):
    def step(self, action: int) -> float:
        self.revealed = True
        return super().step(action)


class TellsUndeclaredOutcomes(Table):
    def outcome(self) -> int:
        return 1


class WrapsActions(Table):
    def step(self, action: int) -> float:
        return super().step(action % 2 if isinstance(action, int) else action)


class CountsRefusedPurchases(Table):
    def reveal(self, purchase: Purchase) -> Observation:
        if purchase.mask.shape != (2,):
            self.t = min(self.t + 1, self.horizon - 1)
        return super().reveal(purchase)


class NeverEnds(Table):
    def reveal(self, purchase: Purchase) -> Observation:
        self.t %= self.horizon
        return super().reveal(purchase)


BROKEN_ENVIRONMENTS: dict[type[Table], str] = {
    NoProblem: "has_the_interface",
    ShowsTooMuch: "shows_exactly_what_was_bought",
    DropsPurpose: "purpose_is_returned",
    BigRewards: "rewards_are_in_range",
    OwnRandomness: "same_seed_same_rounds",
    RedrawsOnReset: "reset_replays",
    GrowsDearer: "rounds_do_not_depend_on_the_player",
    SellsTwice: "steps_add_up",
    ChargesForFreeValues: "shows_exactly_what_was_bought",
    TellsUndeclaredOutcomes: "outcomes_are_declared",
    ActsUnseen: "wrong_order_is_refused",
    WrapsActions: "refused_input_changes_nothing",
    CountsRefusedPurchases: "refused_input_changes_nothing",
    NeverEnds: "ends_at_its_horizon",
}
