"""Surveyor: models of the outcome, plans remade as cases come in, and paid exploring."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidParameter
from thrifty.parameters import Optional, Whole
from thrifty.plans.booster import ModelRule
from thrifty.plans.cases import PastCases, list_looks
from thrifty.plans.steps import Step
from thrifty.plans.tree import Leaf, PlanTree, walk
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed
from thrifty.surveyor.drift import ChangeDetector
from thrifty.surveyor.exploration import Exploration, headroom, optimistic_headroom
from thrifty.surveyor.knowledge import (
    Knowledge,
    complete_outcomes,
    learn_plans,
    refit_models,
)
from thrifty.surveyor.labels import OutcomeTable, planning_problem
from thrifty.surveyor.memory import CaseMemory
from thrifty.surveyor.old_cases import share_of_old_cases
from thrifty.surveyor.partial_bank import PartialCases

Floats = NDArray[np.float64]

@dataclass
class PlanRecord:
    """How much more a plan has gained than the best constant action."""

    n: int = 0
    mean: float = 0.0
    n_hidden: int = 0

    def add(self, value: float, is_known: bool) -> None:
        """Take in a case."""
        self.n += 1
        self.n_hidden += not is_known
        self.mean += (value - self.mean) / self.n

    @property
    def is_proved(self) -> bool:
        """True if the plan has gained, and hardly any of it is only believed."""
        is_known = self.n_hidden <= HIDDEN_SHARE * self.n
        return self.n >= PROVED_CASES and is_known and self.mean > 0


FOLLOW, EXPLORE, CAUTION = 1, 2, 3
"""Purposes of purchases."""
MAX_COMPLETE, MAX_PARTIAL = 6_000, 6_000
FIRST_ROWS = 40
"""Number of complete cases for the first models."""
MORE_ROWS, MORE_ROWS_WITHOUT_PLAN = 1.4, 1.15
"""A plan is searched for again when there are this many times as many complete cases."""
MORE_CASES, MOST_CASES = 1.35, 1_500
"""Models are fitted again after this many times as many cases, and at least this often."""
PLAN_ROWS, PLAN_RARE = 150, 15
"""A plan needs so many complete cases, or so many with a rare outcome."""
INFORMATIVE = 0.05
SMALL_GAP = 0.02
DOUBTED_ROWS = 30
"""Number of complete cases at which a model counts half when changes are looked for."""
LOSS_SHARE = 0.025
"""Largest loss, as a share of the headroom of all cases."""
HIDDEN_SHARE = 0.05
PROVED_CASES = 100
"""Number of cases after which the gains of a plan count as evidence."""
PRICE_MEMORY = 0.02
"""Weight of the latest price in the running mean of a feature's price."""


class Surveyor(Policy):
    """Surveyor: learn models of the outcome, plan what to look at, and pay for exploring.

    Parameters
    ----------
    problem : Problem
        Features and actions. Declare outcomes with rewards, so that one case teaches every action.
    history : PastCases, optional
        Past cases to learn from first.
    horizon : int
        Number of cases over which exploring has to pay.
    max_steps : int, optional
        Largest number of purchases per case; None means any number, and only 1 is a limit.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.
    """

    stepwise = True
    allowed = {"horizon": Whole(1), "max_steps": Optional(Whole(1, 1))}

    def __init__(
        self,
        problem: Problem,
        *,
        history: PastCases | None = None,
        horizon: int = 10_000,
        max_steps: int | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(problem, seed=seed, horizon=horizon, max_steps=max_steps)
        self.horizon = horizon
        self.one_purchase = max_steps == 1
        self.table = OutcomeTable.of(problem)
        self._planning = planning_problem(problem, self.table)
        self._span = problem.rewards.span
        n, n_outcomes = problem.n_features, self.table.n_outcomes
        self._complete = CaseMemory(n, n_outcomes, MAX_COMPLETE)
        self._partial = CaseMemory(n, n_outcomes, MAX_PARTIAL)
        self._free: NDArray[np.bool_] | None = None
        self._paid = np.full(n, np.nan)
        self._counts = np.zeros(n_outcomes)
        self._exploration = Exploration(horizon)
        self._detector = ChangeDetector()
        self._changes: list[int] = []
        self._old_share = 1.0
        self._planned_rows = 0
        self._surplus = 0.0
        self._record = PlanRecord()
        self._fitted_at = 0
        self._fits = 0
        self._seed = int(self.rng.integers(2**31))
        self._use(None)
        if history is not None:
            self._learn_history(history)

    # --- decisions

    def _choose_features(self, known: Observation) -> Purchase:
        if self._free is None:
            self._free = known.free
        if np.isnan(known.costs).all():
            if self._is_cautious:
                return Purchase.unchecked(np.zeros(known.codes.size, np.bool_), CAUTION)
            mask = ~known.settled & ~self._free
            if mask.any() and self.rng.random() < self.exploring_rate:
                return Purchase.unchecked(mask, EXPLORE)
        if self._steps is None or known.purpose == EXPLORE:
            return Purchase.unchecked(np.zeros(known.codes.size, np.bool_), known.purpose)
        mask = np.zeros(known.codes.size, np.bool_)
        mask[list(self._steps.follow(known)[1])] = True
        return Purchase.unchecked(mask, FOLLOW)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        values = self._values(observation)
        values = np.where(available, values, -np.inf)
        best = int(values.argmax())
        if observation.purpose != EXPLORE:
            return best
        return self._exploring_action(observation, values, best)

    def _exploring_action(self, observation: Observation, values: Floats, best: int) -> int:
        """Return the action of a case in which everything was bought: sometimes to see more."""
        chances = self._action_chances(observation, values, best)
        return int(self.rng.choice(chances.size, p=chances))

    def _action_chances(self, observation: Observation, values: Floats, best: int) -> Floats:
        """Return the probability of each action in a case in which everything was bought."""
        information = self.table.information(self._probabilities(observation))
        extra = information - information[best]
        extra[(extra < INFORMATIVE) | np.isinf(values)] = 0.0
        gaps = np.where(np.isinf(values), np.inf, values[best] - values)
        small = SMALL_GAP * self._span
        scores = extra / (gaps + small)
        # A purchase without a label teaches little, so a label may cost as much as the purchase.
        # It may cost more if it is the only way to learn anything, as behind a safe action.
        paid = observation.total_cost * self._span
        worth = np.maximum(max(small, paid), self._blind_gap() * extra**2)
        chances = scores / max(float(scores.sum()), 1e-12)
        chances *= np.minimum(1.0, worth / np.maximum(gaps, 1e-9)) * extra
        chances[best] = 1.0 - chances.sum()
        return chances

    def _values(self, observation: Observation) -> Floats:
        """Return the expected reward of each action in money."""
        leaf = self._leaf(observation)
        if leaf is None:
            return self.table.table @ self._prior()
        values: Floats = leaf.rule.action_values(observation.codes.astype(np.int16)[None])[0]
        return values

    def _probabilities(self, observation: Observation) -> Floats:
        """Return the probabilities of the outcomes in a case."""
        leaf = self._leaf(observation)
        if leaf is None:
            return self._prior()
        if isinstance(leaf.rule, ModelRule):
            found: Floats = leaf.rule.probabilities(observation.codes.astype(np.int16)[None])[0]
            return found
        assert self.knowledge is not None
        return self._leaf_frequencies.get(id(leaf), self.knowledge.frequencies)

    def _leaf(self, observation: Observation) -> Leaf | None:
        if self.knowledge is None or observation.purpose == CAUTION:
            return None
        if observation.purpose == EXPLORE:
            # A model of noise is worse than no model.
            helps = self.knowledge.informed_gain > 0
            root = (self.knowledge.everything if helps else self.knowledge.nothing).root
            assert isinstance(root, Leaf)
            return root
        assert self._steps is not None
        node = self._steps.leaf(observation.codes.tolist()).node
        assert isinstance(node, Leaf)
        return node

    def _action_values(self, observation: Observation) -> Floats:
        scale = self.problem.rewards
        scaled: Floats = (self._values(observation) - scale.low) / scale.span
        return scaled

    def _prior(self) -> Floats:
        """Return the frequencies of the outcomes so far, each counted once too often."""
        return (self._counts + 1) / (self._counts.sum() + self._counts.size)

    def _blind_gap(self) -> float:
        """Return how much the best constant action gains more than the second."""
        values = np.sort(self.table.table @ self._prior())
        return float(values[-1] - values[-2]) if values.size > 1 else 0.0

    # --- exploring

    @property
    def exploring_rate(self) -> float:
        """The probability of looking at everything in the next case."""
        cost = max(self._price_of_everything() - self._spend, 0.0) + 0.5 * self._blind_gap()
        return self._exploration.rate(self.rounds, self.headroom, cost)

    @property
    def _is_cautious(self) -> bool:
        """True if the largest loss is reached: the best constant action is taken until it is not.

        A plan that has gained so far is carried out all the same.
        """
        if self._surplus > -self.max_loss:
            return False
        return not self._record.is_proved

    @property
    def max_loss(self) -> float:
        """How far the total gain may fall below that of the best constant action, in money."""
        return LOSS_SHARE * headroom(self._prior(), self.table.table) * self.horizon

    @property
    def headroom(self) -> float:
        """What information may still bring per case, in money."""
        frequencies = self._prior()
        full = headroom(frequencies, self.table.table)
        if self.knowledge is None:
            return full
        recent = self._counts.sum()
        rare = float(recent - self._counts.max())
        return optimistic_headroom(full, self.knowledge.informed_gain, rare)

    def _price_of_everything(self) -> float:
        free = np.zeros(self.problem.n_features, np.bool_) if self._free is None else self._free
        looks = list_looks(self._planning, free)
        prices = self._planning.prices
        fees = {look.group for look in looks if look.group >= 0}
        assert prices is not None
        return sum(self._price(look) for look in looks) + sum(prices.groups[g].setup for g in fees)

    def _price(self, look: Any) -> float:
        paid = self._paid[list(look.columns)]
        return look.price if np.isnan(paid).any() else float(paid.sum()) * self._span

    # --- learning

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        draw = 0.0 if self.table.is_declared else float(self.rng.random())
        possible = self.table.possible(action, reward, outcome, draw)
        money = self.problem.rewards.money(reward)
        probabilities = self._probabilities(observation)
        self._remember(observation, possible, probabilities)
        if observation.purpose == EXPLORE:
            self._count_exploring(observation, action)
        self._count_surplus(observation, action, possible, money)
        if self.knowledge is not None:
            self._watch(probabilities, action, possible, money)
        self._learn_if_due()

    def _remember(
        self, observation: Observation, possible: NDArray[np.bool_], probabilities: Floats
    ) -> None:
        settled = observation.settled
        is_complete = bool(settled.all())
        if is_complete or possible.sum() == 1:
            memory = self._complete if is_complete else self._partial
            memory.add(observation.codes, settled, possible, self.rounds)
        likely = probabilities * possible
        self._counts += likely / max(float(likely.sum()), 1e-12)
        paid = observation.costs
        first = np.isnan(self._paid)
        self._paid = np.where(
            np.isnan(paid),
            self._paid,
            np.where(first, paid, self._paid + PRICE_MEMORY * (paid - self._paid)),
        )

    def _count_exploring(self, observation: Observation, action: int) -> None:
        values = self._values(observation)
        paid = observation.total_cost * self._span
        self._exploration.spent += max(paid - self._spend, 0.0)
        self._exploration.spent += float(values.max() - values[action])

    def _count_surplus(
        self, observation: Observation, action: int, possible: NDArray[np.bool_], reward: float
    ) -> None:
        """Add up how much more is gained than by the best constant action."""
        constant = int((self.table.table @ self._prior()).argmax())
        rewards = self.table.table[constant][possible]
        is_known = bool(rewards.max() - rewards.min() <= 1e-9 * self._span)
        if is_known:
            advantage = reward - float(rewards[0])
        else:
            # What the constant action would have earned is hidden: believe models in part.
            values = self._values(observation)
            trust = 0.0 if self.knowledge is None else self.knowledge.trust
            advantage = trust * float(values[action] - values[constant])
        surplus = advantage - observation.total_cost * self._span
        self._surplus += surplus
        if observation.purpose == FOLLOW:
            self._record.add(surplus, is_known)

    def _watch(
        self,
        probabilities: Floats,
        action: int,
        possible: NDArray[np.bool_],
        reward: float,
    ) -> None:
        assert self.knowledge is not None
        # Models of few cases are too sure of themselves.
        doubt = DOUBTED_ROWS / (DOUBTED_ROWS + self.knowledge.n_cases)
        frequencies = self.knowledge.frequencies
        self._detector.add(
            self.rounds,
            (1 - doubt) * probabilities + doubt * frequencies,
            frequencies,
            self.table.table[action],
            possible,
            reward,
        )
        change = self._detector.alarm(self.rounds, self._rows_since_change())
        if change is not None:
            self._changes.append(change)
            self._record = PlanRecord()
            self._exploration.restart(self.rounds)
            self._planned_rows = 0
            self._counts *= 20 / max(self._counts.sum(), 20)
            self._learn(search=True)

    def _learn_if_due(self) -> None:
        rows = self._rows_since_change()
        has_plan = self.knowledge is not None and self.knowledge.buys
        self._exploration.advance(self.rounds, rows, has_plan, self.headroom)
        growth = MORE_ROWS if has_plan else MORE_ROWS_WITHOUT_PLAN
        if rows >= FIRST_ROWS and rows >= growth * self._planned_rows:
            self._learn(search=True)
        elif self.knowledge is not None and self.rounds >= min(
            MORE_CASES * self._fitted_at, self._fitted_at + MOST_CASES
        ):
            self._learn(search=False)

    def _rows_since_change(self) -> int:
        since = self._changes[-1] if self._changes else -(2**62)
        return int((self._complete.numbers >= since).sum())

    def _learn(self, *, search: bool) -> None:
        """Fit models again, and with `search` look for another plan."""
        self._fitted_at = max(self.rounds, 1)
        rng = np.random.default_rng([self._seed, self._fits])
        self._fits += 1
        rows = self._chosen_rows(rng)
        cases, possible = self._cases(self._complete, rows)
        outcomes = complete_outcomes(cases, possible, rng)
        if len(set(outcomes.tolist())) < 2:
            return
        cases = replace(cases, outcomes=outcomes)
        partial_cases = self._partial_cases(cases)
        seed = int(rng.integers(2**31))
        if search or self.knowledge is None:
            self._planned_rows = self._rows_since_change()
            knowledge = learn_plans(
                cases, partial_cases, seed=seed, one_purchase=self.one_purchase
            )
            rare = len(outcomes) - np.bincount(outcomes).max()
            if knowledge.buys and len(rows) < PLAN_ROWS and rare < PLAN_RARE:
                knowledge = replace(
                    knowledge,
                    plan=knowledge.nothing,
                    gain=knowledge.nothing_gain,
                    spend=0.0,
                    leaf_frequencies=(knowledge.frequencies,),
                )
            if self._keeps_plan(knowledge):
                assert self.knowledge is not None
                knowledge = refit_models(self.knowledge, cases, partial_cases, seed=seed)
            else:
                self._record = PlanRecord()
        else:
            knowledge = refit_models(self.knowledge, cases, partial_cases, seed=seed)
        self._use(knowledge)

    def _keeps_plan(self, found: Knowledge) -> bool:
        """Return True if the present plan has proved itself and the search found none."""
        if found.buys or self.knowledge is None or not self.knowledge.buys:
            return False
        return self._record.is_proved

    def _chosen_rows(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return the complete cases to learn from: those since the change, and some before."""
        numbers = self._complete.numbers
        if not self._changes:
            return np.arange(len(numbers))
        is_new = numbers >= self._changes[-1]
        self._old_share = share_of_old_cases(*self._cases(self._complete, np.arange(len(numbers))), is_new, rng)
        old = np.flatnonzero(~is_new)
        kept = old[:: round(1 / self._old_share)] if self._old_share > 0 else old[:0]
        return np.concatenate([kept, np.flatnonzero(is_new)])

    def _cases(
        self, memory: CaseMemory, rows: NDArray[np.intp]
    ) -> tuple[PastCases, NDArray[np.bool_]]:
        free = np.zeros(self.problem.n_features, np.bool_) if self._free is None else self._free
        looks = list_looks(self._planning, free)
        prices = {look.name: np.full(len(rows), self._price(look)) for look in looks}
        outcomes = np.zeros(len(rows), np.int64)
        cases = PastCases(self._planning, memory.codes[rows], outcomes, free, prices)
        return cases, memory.possible[rows]

    def _partial_cases(self, cases: PastCases) -> PartialCases:
        memory = self._partial
        since = self._changes[-1] if self._changes else -(2**62)
        rows = np.flatnonzero(memory.numbers >= since)
        settled = memory.settled[rows]
        bought = np.stack(
            [settled[:, list(look.columns)].all(axis=1) for look in cases.looks], axis=1
        )
        outcomes = memory.possible[rows].argmax(axis=1)
        return PartialCases(memory.codes[rows], outcomes, bought, not self.table.reveals_all)

    def _learn_history(self, history: PastCases) -> None:
        if history.problem.feature_names != self.problem.feature_names:
            raise InvalidParameter(
                f"the history has the features {history.problem.feature_names}, but the problem "
                f"has {self.problem.feature_names}: use the same features in the same order."
            )
        self._free = history.free.copy()
        every = np.ones(self.problem.n_features, np.bool_)
        n_outcomes = self.table.n_outcomes
        first = max(0, history.n_cases - MAX_COMPLETE)
        for k in range(first, history.n_cases):
            possible = np.arange(n_outcomes) == history.outcomes[k]
            self._complete.add(history.codes[k], every, possible, k - history.n_cases)
            self._counts += possible
        if self._complete.size >= FIRST_ROWS:
            self._learn(search=True)
            rows, has_plan = self._complete.size, self.knowledge is not None and self.knowledge.buys
            self._exploration.advance(0, rows, has_plan, self.headroom)
            self._exploration.is_first = False
            self._exploration.start_rows = rows

    def _use(self, knowledge: Knowledge | None) -> None:
        """Carry out these plans from now on."""
        self.knowledge = knowledge
        self._steps: Step | None = None
        self._spend = 0.0
        self._leaf_frequencies: dict[int, Floats] = {}
        if knowledge is None:
            return
        self._steps = Step.of(knowledge.plan, knowledge.plan.root)
        self._spend = knowledge.spend
        leaves = [node for node in walk(knowledge.plan.root) if isinstance(node, Leaf)]
        for leaf, frequencies in zip(leaves, knowledge.leaf_frequencies, strict=True):
            self._leaf_frequencies[id(leaf)] = frequencies
