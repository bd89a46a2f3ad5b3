"""Surveyor: models of the outcome, plans remade as cases come in, and paid exploring."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DamagedFile, InvalidParameter
from thrifty.parameters import Optional, Real, Whole
from thrifty.plans.booster import ModelRule
from thrifty.plans.cases import PastCases
from thrifty.plans.files import plan_to_dict
from thrifty.plans.printing import format_plan
from thrifty.plans.tree import ActionRule, Leaf
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.propensities import one_hot
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed
from thrifty.surveyor.budget import Account, budget_status
from thrifty.surveyor.completion import SMALLEST_CHANCE
from thrifty.surveyor.drift import ChangeDetector
from thrifty.surveyor.exploration import (
    Exploration,
    headroom,
    learning_pays,
    optimistic_headroom,
)
from thrifty.surveyor.fit import FitResult, FitSettings, PlanFit
from thrifty.surveyor.frequencies import OutcomeCounts
from thrifty.surveyor.history import History
from thrifty.surveyor.knowledge import Knowledge
from thrifty.surveyor.labels import OutcomeTable, planning_problem
from thrifty.surveyor.ledger import Ledger, PlanRecord
from thrifty.surveyor.loss_limit import LossLimit
from thrifty.surveyor.memory import CaseMemory
from thrifty.surveyor.plans_in_use import Place, PlansInUse
from thrifty.surveyor.price_book import PriceBook
from thrifty.surveyor.reasons import (
    explain_budget,
    explain_caution,
    explain_exploring,
    explain_following,
    explain_start,
)
from thrifty.surveyor.trials import action_chances

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

FOLLOW, EXPLORE, CAUTION, FOLLOW_CHEAPER = 1, 2, 3, 4
"""Purposes of purchases: carry out the plan, look at everything, or lose nothing more.

From `FOLLOW_CHEAPER` on: carry out one of the plans that spend less, counted from 0.
"""
MAX_COMPLETE = MAX_PARTIAL = 6_000
"""Number of cases that are remembered: those in which everything was bought, and the others."""
FIRST_ROWS = 40
"""Number of complete cases from which the first models are learnt."""
MORE_ROWS, MORE_ROWS_WITHOUT_PLAN = 1.2, 1.15
"""A plan is searched for again when there are this many times as many complete cases."""
MORE_ROWS_AT_LIMIT = 1.05
"""The same without a plan when the largest loss is reached. Exploring may only go on later."""
MORE_CASES, MOST_CASES = 1.35, 1_500
"""Models are fitted again after this many times as many cases, and at least this often."""
ACCEPTED = 1.0
"""Standard errors by which a plan must seem better than buying nothing. After the first phase a
plan is tried if it seems better at all, unless one has lost before, or a loss could stay hidden."""
CLEAR = 2.0
"""Standard errors by which a plan must seem better than buying nothing for exploring to end."""
DOUBTED_ROWS = 30
"""Number of complete cases at which a model counts half when changes are looked for."""
EXPLORING_SHARE = 0.75
"""Share of the largest loss at which exploring stops if there is a plan to try with the rest."""
LEARNING_RATE = 0.25
"""Share of the cases in which everything is bought as long as a better plan pays for that."""
COUNTS_KEPT = 20.0
"""Number of cases that the frequencies of outcomes count after a change."""


class Surveyor(Policy):
    """Surveyor: learn models of the outcome, plan what to look at, and pay for exploring.

    Surveyor carries out a plan, as `thrifty worth` learns it from a table. In some cases it buys
    everything instead, to learn a better plan. It spends a share of what may be gained on that.
    Alarms restart it when outcomes or rewards are no longer as expected.

    Parameters
    ----------
    problem : Problem
        Features and actions. Declare outcomes with rewards, so that one case teaches every action.
        Without them Surveyor models which actions succeed.
    history : PastCases or History, optional
        Past cases to learn from first.
    horizon : int
        Number of cases over which exploring has to pay.
    max_loss : float, optional
        How far the total gain may fall below that of the best constant action before Surveyor
        takes that action only. By default 2.55% of the headroom of `horizon` cases: the difference
        between perfect foresight and the best constant action.
    max_loss_share : float, optional
        The same as a share of what the best constant action gains, or loses, in the cases so far.
        Exploring then begins slowly. Give either this or `max_loss`.
    max_steps : int, optional
        1 if a case may have only one purchase. By default there may be any number.
    budget : float, optional
        Average spend per case that is allowed, exploring included. It is not a limit of a single
        case. If the plan spends more, cheaper plans are followed in some cases or in all.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Attributes
    ----------
    knowledge : Knowledge or None
        Plans in use, and what they are expected to gain.
    ledger : Ledger
        Gains compared with those of the best constant action.
    account : Account or None
        What was spent, compared with the budget.
    changes : list of int
        Rounds in which a change began, as far as it was noticed.

    Examples
    --------
    >>> from thrifty.problem import Feature
    >>> problem = Problem(
    ...     [Feature("test", ("low", "high"))],
    ...     ["treat", "wait"],
    ...     outcomes={"treat": {"ill": 50, "well": -20}, "wait": {"ill": -60, "well": 0}},
    ...     prices={"test": 2},
    ... )
    >>> test = np.arange(400) % 2
    >>> past = PastCases(problem, test[:, None].astype(np.int16), 1 - test, np.array([False]))
    >>> surveyor = Surveyor(problem, history=past, seed=1)
    >>> surveyor.knowledge.buys, round(surveyor.knowledge.gain, 2)
    (True, 23.0)
    """

    stepwise = True
    allowed = {
        "horizon": Whole(1),
        "max_loss": Optional(Real(0)),
        "max_loss_share": Optional(Real(0)),
        "max_steps": Optional(Whole(1, 1)),
        "budget": Optional(Real(0)),
    }
    amounts = frozenset({"max_loss", "budget"})

    def __init__(
        self,
        problem: Problem,
        *,
        history: PastCases | History | None = None,
        horizon: int = 10_000,
        max_loss: float | None = None,
        max_loss_share: float | None = None,
        max_steps: int | None = None,
        budget: float | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            horizon=horizon,
            max_loss=max_loss,
            max_loss_share=max_loss_share,
            max_steps=max_steps,
            budget=budget,
        )
        if max_loss is not None and max_loss_share is not None:
            raise InvalidParameter(
                f"max_loss is {max_loss} and max_loss_share is {max_loss_share}: give one of them, "
                "because each limits the same loss."
            )
        self.horizon = horizon
        amount = None if max_loss is None else max_loss * problem.rewards.span
        self._limit = LossLimit(horizon, amount, max_loss_share)
        self._one_purchase = max_steps == 1
        self._table = OutcomeTable.of(problem)
        self._planning = planning_problem(problem, self._table)
        self._span = problem.rewards.span
        n, n_outcomes = problem.n_features, self._table.n_outcomes
        size = n, n_outcomes, problem.n_actions
        self._complete = CaseMemory(*size, MAX_COMPLETE)
        self._partial = CaseMemory(*size, MAX_PARTIAL)
        self._book = PriceBook(self._planning)
        self._counts = OutcomeCounts(n_outcomes)
        self._exploration = Exploration(horizon)
        self._detector = ChangeDetector()
        self.ledger = Ledger.of(problem.n_actions)
        self.account: Account | None = None
        if budget is not None:
            self.account = Account.open(budget * problem.rewards.span, horizon=horizon)
        self.changes: list[int] = []
        self._planned_rows = self._fitted_at = self._fits = 0
        self._due: PlanFit | None = None
        self._seed = int(self.rng.integers(2**31))
        self._use(None)
        if history is not None:
            self._learn_history(history)

    @property
    def headroom(self) -> float:
        """What information may still bring per case, in money."""
        full = headroom(self._counts.frequencies, self._table.table)
        if self.knowledge is None:
            return full
        n_rare = self._rows_since_change() * (1 - float(self._counts.frequencies.max()))
        return optimistic_headroom(full, self.knowledge.informed_gain, n_rare)

    @property
    def max_loss(self) -> float:
        """How far the total gain may fall below that of the best constant action, in money."""
        return self._limit.allowed(self._counts, self._table.table, self.rounds)

    @property
    def _largest_loss(self) -> float:
        """The most that a case may lose against the best constant action, in money."""
        gaps = self._table.table[self.ledger.baseline] - self._table.table
        return float(gaps.max()) + self._book.price_of_everything

    @property
    def is_cautious(self) -> bool:
        """True if another case might exceed the largest loss.

        Then only the best constant action is taken. By default a plan that is clearly better than
        nothing is carried out all the same; a limit that was given has no exception.
        """
        if self.ledger.surplus - self._largest_loss >= -self.max_loss:
            return False
        is_clear = self.knowledge is not None and self.knowledge.clearness >= CLEAR
        return self._limit.is_given or not is_clear or self.ledger.record.is_doubtful

    @property
    def can_explore(self) -> bool:
        """True if the loss so far leaves room for exploring."""
        has_plan = self.knowledge is not None and self.knowledge.buys
        share = EXPLORING_SHARE if has_plan else 1.0
        return self.ledger.surplus - self._largest_loss >= -share * self.max_loss

    @property
    def exploring_rate(self) -> float:
        """The probability of looking at everything in the next case."""
        if not self.can_explore:
            return 0.0
        price = self._book.price_of_everything
        hidden = 0.0 if self._table.tells.all() else 0.5 * self._blind_gap()
        cost = max(price - self._spend, 0.0) + hidden
        rate = self._exploration.rate(self.rounds, self.headroom, cost)
        if self._pays_for_more_cases(cost):
            rate = max(rate, LEARNING_RATE)
        if self.account is None:
            return rate
        first_cases = self.horizon if self._exploration.is_first else 0
        spent = self._exploration.spent
        limit = self.account.exploring_limit(price, spent, first_cases, self._spend)
        return min(rate, limit)

    @property
    def shadow_price(self) -> float | None:
        """What another unit of spend would gain; None without a budget or without a plan."""
        return None if self._plans is None else self._plans.shadow_price(self.account)

    @property
    def _spend(self) -> float:
        """What the plan spends per case, in money."""
        return 0.0 if self._plans is None else self._plans.spend

    @property
    def due_fit(self) -> PlanFit | None:
        """The fit that was prepared and has not been applied, with `fits_beside` only."""
        return self._due

    def apply_fit(self, number: int, result: bytes) -> None:
        """Use the result of the due fit.

        Parameters
        ----------
        number : int
            Number of the due fit.
        result : bytes
            What its `run` returned.
        """
        self._require_due_fit(number)
        found = FitResult.from_bytes(result)
        self._due = None
        self._apply(found)

    def reasons(
        self, purchase: Purchase, known: Observation | None = None
    ) -> Callable[[], dict[str, Any]]:
        """Explain the purchase that Surveyor has just chosen, or why it stops.

        Parameters
        ----------
        purchase : Purchase
            The purchase that `choose_features` returned.
        known : Observation, optional
            What was known when it was chosen.

        Returns
        -------
        callable
            Returns `kind` (follow, explore or caution) and `why`, a few sentences; for `follow`
            also `path`, the comparisons that led there. With a budget also `budget`: the average
            spend that is `allowed`, what was `spent` on average, and the `shadow_price`.
        """
        explain = self._reasons(purchase, self._nothing_known if known is None else known)
        if self.account is None:
            return explain
        return partial(explain_budget, explain, self.account, self.shadow_price)

    def _reasons(self, purchase: Purchase, seen: Observation) -> Callable[[], dict[str, Any]]:
        if purchase.purpose == EXPLORE:
            spent, more = self._exploration.spent, self.headroom
            return partial(explain_exploring, bool(purchase.mask.any()), spent, more)
        if purchase.purpose == CAUTION:
            loss, more = 0.0 - self.ledger.surplus, self._largest_loss
            return partial(explain_caution, loss, more, self.max_loss)
        if self._plans is None:
            return partial(explain_start, self.rounds)
        tree, steps = self._plans.at(_place(purchase.purpose))
        return partial(explain_following, tree, steps, seen)

    def status(self) -> dict[str, Any]:
        """Return what Surveyor does and has found so far.

        Returns
        -------
        dict
            JSON values; amounts are in money.
        """
        knowledge, account = self.knowledge, self.account
        return {
            "plan": None if knowledge is None else plan_to_dict(knowledge.plan),
            "plan_text": [] if knowledge is None else format_plan(knowledge.plan).splitlines(),
            "gain_expected": None if knowledge is None else knowledge.gain,
            "spend_expected": self._spend,
            "explored": {"cases": self._exploration.n_cases, "cost": self._exploration.total},
            "changes": list(self.changes),
            "budget": None if account is None else budget_status(account, self.shadow_price),
            "max_loss": self.max_loss,
            "surplus": self.ledger.surplus,
            "cautious": self.is_cautious,
            "fits": self._fits,
        }

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return everything Surveyor has learnt: cases, plans with their models, and sums.

        Returns
        -------
        dict of str to array
            Input for `set_state`.
        """
        sums = {
            "exploration": self._exploration.to_dict(),
            "detector": self._detector.to_dict(),
            "ledger": self.ledger.to_dict(),
            "account": None if self.account is None else self.account.to_dict(),
            "counts": self._counts.to_dict(),
            "changes": self.changes,
            "planned_rows": self._planned_rows,
            "fitted_at": self._fitted_at,
            "fits": self._fits,
            "seed": self._seed,
            "free": None if self._book.free is None else self._book.free.tolist(),
            "knowledge": None if self.knowledge is None else self.knowledge.to_dict(),
            "is_due": self._due is not None,
        }
        state = {
            "rounds": np.array(self.rounds),
            "paid": self._book.paid.copy(),
            "sums": np.frombuffer(json.dumps(sums).encode(), np.uint8),
            **self._complete.get_state("complete"),
            **self._partial.get_state("partial"),
        }
        return state if self._due is None else {**state, **self._due.to_state("due")}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what Surveyor had learnt.

        Parameters
        ----------
        state : mapping of str to array
            Output of `get_state`.
        """
        if _form(state) != _form(self.get_state()):
            raise DamagedFile(
                f"the saved arrays {sorted(state)} are not those of a Surveyor: load them with the "
                "policy that saved them."
            )
        sums = json.loads(state["sums"].tobytes())
        self.rounds = int(state["rounds"])
        self._book.paid = state["paid"].copy()
        self._counts = OutcomeCounts.from_dict(sums["counts"])
        self._complete.set_state(state, "complete")
        self._partial.set_state(state, "partial")
        self._exploration = Exploration(**sums["exploration"])
        self._detector = ChangeDetector(**sums["detector"])
        self.ledger = Ledger.from_dict(sums["ledger"])
        spent = sums.get("account")
        self.account = None if spent is None else Account.from_dict(spent)
        self.changes = sums["changes"]
        self._planned_rows, self._fitted_at = sums["planned_rows"], sums["fitted_at"]
        self._fits, self._seed = sums["fits"], sums["seed"]
        if sums["free"] is not None:
            self._book.set_free(np.array(sums["free"], np.bool_))
        learnt = sums["knowledge"]
        self._use(None if learnt is None else Knowledge.from_dict(learnt))
        self._due = PlanFit.from_state(state, "due", self._planning) if sums["is_due"] else None

    def _choose_features(self, known: Observation) -> Purchase:
        # Decisions change no state, so that a log of rewards is enough to restore it.
        if self._is_new(known):
            if self.is_cautious:
                return _nothing(known, CAUTION)
            unknown = self._unknown(known)
            if unknown.any() and self.rng.random() < self.exploring_rate:
                return Purchase.unchecked(unknown, EXPLORE)
        if self._plans is None or known.purpose in (EXPLORE, CAUTION):
            return _nothing(known, known.purpose)
        if known.purpose:
            return self._follow(self._plans, known, known.purpose)
        place = self._plans.choose(self.account, self.rng.random)
        return self._follow(self._plans, known, _purpose(place))

    def _purchase_probabilities(
        self, known: Observation, mask: Bools
    ) -> Iterable[tuple[Purchase, float]]:
        del mask  # there are few purchases
        unknown, explore = self._unknown(known), 0.0
        if self._is_new(known):
            if self.is_cautious:
                return [(_nothing(known, CAUTION), 1.0)]
            if unknown.any():
                explore = min(1.0, self.exploring_rate)
        exploring = (Purchase.unchecked(unknown, EXPLORE), explore)
        plans = self._plans
        if plans is None or known.purpose in (EXPLORE, CAUTION):
            return [exploring, (_nothing(known, known.purpose), 1 - explore)]
        chosen = [(_purpose(place), chance) for place, chance in plans.chances(self.account)]
        if known.purpose:
            chosen = [(known.purpose, 1.0)]
        follow = [(self._follow(plans, known, z), (1 - explore) * p) for z, p in chosen]
        return [exploring, *follow]

    @staticmethod
    def _is_new(known: Observation) -> bool:
        """Return True if nothing was bought in the case."""
        return bool(np.isnan(known.costs).all())

    def _unknown(self, known: Observation) -> Bools:
        """Return the features that can still be bought."""
        free = known.free if self._book.free is None else self._book.free
        unknown: Bools = ~known.settled & ~free
        return unknown

    @staticmethod
    def _follow(plans: PlansInUse, known: Observation, purpose: int) -> Purchase:
        """Return the purchase by which a plan goes on."""
        mask = np.zeros(known.codes.size, np.bool_)
        mask[list(plans.at(_place(purpose))[1].follow(known)[1])] = True
        return Purchase.unchecked(mask, purpose)

    def _action_probabilities(self, observation: Observation, available: Bools) -> Floats:
        values = np.where(available, self._values(observation), -np.inf)
        if observation.purpose != EXPLORE:
            return one_hot(values.size, int(values.argmax()))
        return self._action_chances(observation, values)

    def _choose_action(self, observation: Observation, available: Bools) -> int:
        values = np.where(available, self._values(observation), -np.inf)
        best = int(values.argmax())
        if observation.purpose != EXPLORE:
            return best
        chances = self._action_chances(observation, values)
        return int(self.rng.choice(chances.size, p=chances))

    def _action_chances(self, observation: Observation, values: Floats) -> Floats:
        """Return the probability of each action in a case in which everything was bought."""
        probabilities, paid = self._probabilities(observation), observation.total_cost * self._span
        return action_chances(self._table, probabilities, values, paid, self._blind_gap())

    def _action_values(self, observation: Observation) -> Floats:
        scale = self.problem.rewards
        scaled: Floats = (self._values(observation) - scale.low) / scale.span
        return scaled

    def _values(self, observation: Observation) -> Floats:
        """Return the value of each action in money."""
        if observation.purpose == EXPLORE:
            informed: Floats = self._table.table @ self._probabilities(observation)
            return informed
        leaf = self._leaf(observation)
        if observation.purpose == CAUTION:
            return self._counts.values(self._table.table)
        if leaf is None:
            return self._blind_values
        values: Floats = leaf.rule.action_values(observation.codes.astype(np.int16)[None])[0]
        return values

    @property
    def _blind_values(self) -> Floats:
        """Values of constant actions, higher for actions that reveal the outcome."""
        information = self._table.information(self._counts.frequencies)
        return self._counts.optimistic_values(self._table.table, information)

    def _probabilities(self, observation: Observation) -> Floats:
        """Return the probabilities of the outcomes in a case."""
        knowledge, leaf = self.knowledge, self._leaf(observation)
        if leaf is None or knowledge is None:
            return self._counts.frequencies
        if not isinstance(leaf.rule, ModelRule):
            assert self._plans is not None
            return self._plans.leaf_frequencies.get(id(leaf), knowledge.frequencies)
        found: Floats = leaf.rule.probabilities(observation.codes.astype(np.int16)[None])[0]
        if observation.purpose == EXPLORE:
            # A model counts as far as unseen cases confirmed it.
            share = knowledge.confidence
            found = share * found + (1 - share) * self._counts.frequencies
        return found

    def _leaf(self, observation: Observation) -> Leaf | None:
        """Return the leaf that decides in a case, or None if a constant action is taken."""
        if self.knowledge is None or self._plans is None or observation.purpose == CAUTION:
            return None
        if observation.purpose == EXPLORE:
            node = self.knowledge.everything.root
            assert isinstance(node, Leaf)
        else:
            node = self._plans.leaf(_place(observation.purpose), observation.codes.tolist())
        is_constant = node is self.knowledge.plan.root and isinstance(node.rule, ActionRule)
        return None if is_constant and not node.looks else node

    def _blind_gap(self) -> float:
        """Return how much the best constant action gains more than the second."""
        values = np.sort(self._counts.values(self._table.table))
        return float(values[-1] - values[-2]) if values.size > 1 else 0.0

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        if self._book.free is None:
            self._book.set_free(observation.free)
        draw = 0.0 if self._table.is_declared else float(self.rng.random())
        possible = self._table.possible(action, reward, outcome, draw)
        money = self.problem.rewards.money(reward)
        probabilities = self._probabilities(observation)
        values = self._values(observation)
        self._count_surplus(observation, action, possible, money)
        self._remember(observation, action, possible)
        self.ledger.baseline = int(self._counts.values(self._table.table).argmax())
        if observation.purpose == EXPLORE:
            more = max(observation.total_cost * self._span - self._spend, 0.0)
            self._exploration.add(more + float(values.max() - values[action]))
        if self.account is not None:
            self.account = self.account.after(observation.total_cost * self._span)
        self._check_plan()
        if self.knowledge is not None:
            self._watch(probabilities, action, possible, money)
        self._learn_if_due()

    def _remember(self, observation: Observation, action: int, possible: Bools) -> None:
        settled = observation.settled
        chances = self._chances_of_taking(action, observation)
        is_selected = observation.purpose != EXPLORE and not self._table.tells.all()
        is_complete = bool(settled.all()) and not is_selected
        if is_complete or possible.sum() == 1:
            memory = self._complete if is_complete else self._partial
            memory.add(observation.codes, settled, possible, self.rounds, chances)
        is_blind = self._leaf(observation) is None
        if not possible.all() and (is_blind or not is_selected):
            by = None if is_blind else self._probabilities(observation)
            chance = min(float(chances[self._table.tells].sum()), 1.0)
            self._counts.add(possible, 1 / max(chance, SMALLEST_CHANCE), by)
        self._book.add(observation.costs)

    def _chances_of_taking(self, action: int, observation: Observation) -> Floats:
        """Return the probability with which each action was taken in a case."""
        if self._table.reveals_all:
            return np.ones(self.problem.n_actions)
        if observation.purpose != EXPLORE:
            return one_hot(self.problem.n_actions, action)
        return self._action_probabilities(observation, self._every_action)

    def _count_surplus(
        self, observation: Observation, action: int, possible: Bools, reward: float
    ) -> None:
        """Add up how much more is gained than by each constant action."""
        is_blind = self._leaf(observation) is None
        rewards = self._table.table[:, possible]
        is_known = np.ptp(rewards, axis=1) <= 1e-9 * self._span
        # What another action would have earned may be hidden: believe models in part.
        trust, values = 1.0, self._counts.values(self._table.table)
        if self.knowledge is not None and not is_blind:
            trust, values = self.knowledge.trust, self._values(observation)
        estimated = trust * (values[action] - values)
        surpluses = np.where(is_known, reward - rewards[:, 0], estimated)
        self.ledger.add(
            surpluses - observation.total_cost * self._span,
            is_known=bool(is_known[self.ledger.baseline]),
            is_plan=_is_plan(observation.purpose),
        )

    def _check_plan(self) -> None:
        """Give the plan up if it has lost, and explore more if it earns less than expected."""
        if self.knowledge is None or not self.knowledge.buys:
            return
        record = self.ledger.record
        if record.is_disproved:
            self.ledger.drop_plan()
            self._use(self.knowledge.without_purchases())
        elif record.falls_short(self.knowledge.gain - self.knowledge.nothing_gain):
            self.ledger.record = PlanRecord()
            self._exploration.resume(self.rounds, self._rows_since_change())

    def _watch(self, probabilities: Floats, action: int, possible: Bools, reward: float) -> None:
        """Look for a change, and begin again after one."""
        assert self.knowledge is not None
        # Models of few cases are too sure of themselves.
        n_cases, frequencies = self.knowledge.n_cases, self.knowledge.frequencies
        belief = self.knowledge.confidence * n_cases / (n_cases + DOUBTED_ROWS)
        self._detector.add(
            self.rounds,
            belief * probabilities + (1 - belief) * frequencies,
            frequencies,
            self._table.table[action],
            possible,
            reward,
        )
        change = self._detector.alarm(self.rounds, self._rows_since_change())
        if change is None:
            return
        self.changes.append(change)
        self.ledger.begin_period()
        self._exploration.restart(self.rounds)
        self._planned_rows = 0
        self._counts.forget(COUNTS_KEPT)
        self._learn(search=True)

    def _learn_if_due(self) -> None:
        rows = self._rows_since_change()
        has_plan = self.knowledge is not None and self.knowledge.buys
        is_clear = self.knowledge is not None and self.knowledge.clearness >= CLEAR
        has_ended = self._exploration.advance(
            self.rounds,
            rows,
            has_plan,
            is_clear,
            self.headroom,
            # Without a plan, or if the limit grows, reaching it only interrupts exploring.
            self.can_explore or not has_plan or self._limit.share is not None,
        )
        if self._due is not None:
            return
        growth = MORE_ROWS if has_plan else MORE_ROWS_WITHOUT_PLAN
        if not has_plan and (has_ended or not self.can_explore):
            growth = MORE_ROWS_AT_LIMIT
        if rows >= FIRST_ROWS and rows >= growth * self._planned_rows:
            self._learn(search=True)
        elif self.knowledge is not None and self.rounds >= min(
            MORE_CASES * self._fitted_at, self._fitted_at + MOST_CASES
        ):
            self._learn(search=False)

    def _pays_for_more_cases(self, cost: float) -> bool:
        """Return True if another complete case probably earns more than it costs."""
        knowledge = self.knowledge
        if knowledge is None or not knowledge.buys or knowledge.clearness < CLEAR:
            return False
        n_rare = self._rows_since_change() * (1 - float(self._counts.frequencies.max()))
        return learning_pays(
            knowledge.gain - knowledge.nothing_gain,
            n_rows=self._rows_since_change(),
            n_rare=n_rare,
            n_left=self.horizon - self.rounds,
            cost=cost,
        )

    def _since(self) -> int:
        """Return the number of the case in which the last change began."""
        return self.changes[-1] if self.changes else -(2**62)

    def _rows_since_change(self) -> int:
        return self._complete.count_since(self._since())

    def _learn(self, *, search: bool) -> None:
        """Fit models again, and with `search` look for another plan; at once, or beside."""
        self._fitted_at = max(self.rounds, 1)
        if search:
            self._planned_rows = self._rows_since_change()
        fit = self._prepare(search=search)
        self._fits += 1
        if self.fits_beside:
            self._due = fit
        else:
            self._apply(fit.learn())

    def _accepted(self) -> float:
        """Return the standard errors by which a new plan must seem better than buying nothing."""
        constant = int(self._counts.values(self._table.table).argmax())
        tells = self._table.tells
        is_hidden = bool(tells[constant] and not tells.all())
        is_learning = self._exploration.is_first and self.can_explore
        if is_hidden or is_learning or self.ledger.n_disproved:
            return ACCEPTED
        return 0.0

    def _prepare(self, *, search: bool) -> PlanFit:
        free = self._book.free
        settings = FitSettings(
            search=search,
            seed=self._seed,
            since=self._since(),
            accepted=self._accepted(),
            keep_plan=self.ledger.record.is_proved,
            one_purchase=self._one_purchase,
            is_selected=not self._table.reveals_all,
            budget=None if self.account is None else self.account.ceiling,
        )
        return PlanFit(
            number=self._fits,
            settings=settings,
            problem=self._planning,
            free=np.zeros(self.problem.n_features, np.bool_) if free is None else free,
            prices=self._book.prices,
            complete=self._complete.cases.copy(),
            partial=self._partial.cases.copy(),
            knowledge=self.knowledge,
        )

    def _apply(self, result: FitResult) -> None:
        self._use(result.knowledge)
        if result.is_new_plan:
            self.ledger.record = PlanRecord()

    def _learn_history(self, history: PastCases | History) -> None:
        if isinstance(history, PastCases):
            history = History.from_past_cases(history)
        history.require_problem(self.problem)
        self._book.set_free(history.free)
        is_complete, n_possible = history.is_complete, history.possible.sum(axis=1)
        for k in range(history.n_cases):
            memory = self._complete if is_complete[k] else self._partial
            if is_complete[k] or n_possible[k] == 1:
                number = k - history.n_cases
                memory.add(history.codes[k], history.settled[k], history.possible[k], number)
            if n_possible[k] == 1:
                self._counts.add(history.possible[k])
        if self._complete.size >= FIRST_ROWS:
            self._learn(search=True)
        self._exploration.skip_first(self._complete.size)

    def _use(self, knowledge: Knowledge | None) -> None:
        """Carry out these plans from now on."""
        self.knowledge = knowledge
        self._plans = None if knowledge is None else PlansInUse.of(knowledge, self.account)


def _nothing(known: Observation, purpose: int) -> Purchase:
    return Purchase.unchecked(np.zeros(known.codes.size, np.bool_), purpose)


def _purpose(place: Place) -> int:
    """Return the purpose of purchases by which a plan is carried out."""
    return FOLLOW if place is None else FOLLOW_CHEAPER + place


def _place(purpose: int) -> Place:
    """Return the place of the plan that purchases of this purpose carry out."""
    return None if purpose < FOLLOW_CHEAPER else purpose - FOLLOW_CHEAPER


def _is_plan(purpose: int) -> bool:
    """Return True if a plan that buys something was carried out."""
    return purpose == FOLLOW or purpose > FOLLOW_CHEAPER


def _form(state: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the types of arrays and their shapes, but not how many cases they have."""
    whole = ("paid", "rounds")
    return {
        name: (array.dtype, array.shape if name in whole else array.shape[1:])
        for name, array in state.items()
        if not name.startswith("due")
    }
