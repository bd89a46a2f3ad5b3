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
from thrifty.plans.cases import PastCases
from thrifty.plans.files import plan_to_dict
from thrifty.plans.tree import PlanTree
from thrifty.policies.plan import PlanConstraint, PlanContent, as_tree, require_same_problem
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed
from thrifty.surveyor.beliefs import Beliefs
from thrifty.surveyor.budget import Account
from thrifty.surveyor.drift import ChangeDetector
from thrifty.surveyor.evidence import Evidence
from thrifty.surveyor.exploration import Exploration
from thrifty.surveyor.explorer import Explorer, is_clear
from thrifty.surveyor.fit import FitResult, PlanFit
from thrifty.surveyor.fit_schedule import FIRST_ROWS, FitSchedule
from thrifty.surveyor.history import History
from thrifty.surveyor.knowledge import Knowledge
from thrifty.surveyor.ledger import Ledger, PlanRecord
from thrifty.surveyor.loss_guard import LossGuard
from thrifty.surveyor.loss_limit import LossLimit
from thrifty.surveyor.memory import state_form
from thrifty.surveyor.plans_in_use import PlansInUse
from thrifty.surveyor.purchases import NextPurchase, is_new
from thrifty.surveyor.purposes import CAUTION, EXPLORE, place_of
from thrifty.surveyor.reasons import (
    explain_budget,
    explain_exploring,
    explain_following,
    explain_start,
)
from thrifty.surveyor.status import loss_status, plan_status, spending_status

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


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
    baseline : PlanTree or mapping, optional
        A plan, or the content of a plan.json. It then takes the place of the best constant action:
        it is carried out until a better plan is known, and when nothing more may be lost.
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
    account : Account or None
        What was spent, compared with the budget.

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
        "baseline": Optional(PlanConstraint()),
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
        baseline: PlanTree | Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        budget: float | None = None,
        seed: Seed = None,
    ) -> None:
        tree = None if baseline is None else as_tree(baseline)
        super().__init__(
            problem,
            seed=seed,
            horizon=horizon,
            max_loss=max_loss,
            max_loss_share=max_loss_share,
            baseline=None if tree is None else PlanContent(plan_to_dict(tree)),
            max_steps=max_steps,
            budget=budget,
        )
        if max_loss is not None and max_loss_share is not None:
            raise InvalidParameter(
                f"max_loss is {max_loss} and max_loss_share is {max_loss_share}: give one of them, "
                "because each limits the same loss."
            )
        if tree is not None:
            require_same_problem(tree, problem)
        self.horizon = horizon
        self._span = problem.rewards.span
        amount = None if max_loss is None else max_loss * self._span
        self._evidence = Evidence(problem)
        self._guard = LossGuard(self._evidence, LossLimit(horizon, amount, max_loss_share), tree)
        self._exploration = Exploration(horizon)
        self._detector = ChangeDetector()
        ceiling = None if budget is None else budget * self._span
        self.account = None if ceiling is None else Account.open(ceiling, horizon=horizon)
        seed_of_fits, is_one_shot = int(self.rng.integers(2**31)), max_steps == 1
        self._schedule = FitSchedule(seed_of_fits, one_purchase=is_one_shot, budget=ceiling)
        self._first_rates: tuple[float | None] | None = None
        self._use(None)
        if history is not None:
            self._evidence.add_history(history)
            n_complete = self._evidence.complete.size
            self._exploration.skip_first(n_complete)
            if n_complete >= FIRST_ROWS:
                self._learn(search=True)
            self._guard.add_history()

    @property
    def changes(self) -> list[int]:
        """Rounds in which a change began, as far as it was noticed."""
        return self._evidence.changes

    @property
    def ledger(self) -> Ledger:
        """Gains compared with those of the best constant action, or of a given plan."""
        return self._guard.ledger

    @property
    def max_loss(self) -> float:
        """How far the total gain may fall below that of the best constant action, in money."""
        return self._guard.allowed(self.rounds)

    @property
    def is_cautious(self) -> bool:
        """True if another case might exceed the largest loss.

        Then only the baseline is carried out: the best constant action, or the plan that is given.
        By default a plan that is clearly better than nothing may lose a little more.
        """
        clearness = 0.0 if self.knowledge is None else self.knowledge.clearness
        return self._guard.is_reached(self.rounds, clearness)

    @property
    def can_explore(self) -> bool:
        """True if the loss so far leaves room for exploring."""
        return self._guard.allows_exploring(self.rounds, has_plan=self._has_plan)

    @property
    def exploring_rate(self) -> float:
        """The probability of looking at everything in the next case."""
        return self._explorer.rate(self.rounds) if self.can_explore else 0.0

    @property
    def _explorer(self) -> Explorer:
        state = self._evidence, self._exploration, self.knowledge, self.account
        return Explorer(*state, self._spend)

    @property
    def _has_plan(self) -> bool:
        """True if there is a plan that buys something."""
        return self.knowledge is not None and self.knowledge.buys

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
        return self._schedule.due

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
        self._apply(FitResult.from_bytes(result))
        self._schedule.due = None

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
            spent, more = self._exploration.spent, self._explorer.headroom
            return partial(explain_exploring, bool(purchase.mask.any()), spent, more)
        if purchase.purpose == CAUTION:
            return self._guard.reasons(self.rounds, seen, is_cautious=self.is_cautious)
        if self._plans is None:
            return partial(explain_start, self.rounds)
        tree, steps = self._plans.at(place_of(purchase.purpose))
        return partial(explain_following, tree, steps, seen)

    def status(self) -> dict[str, Any]:
        """Return what Surveyor does and has found so far.

        Returns
        -------
        dict
            JSON values; amounts are in money.
        """
        surplus, is_cautious = self.ledger.surplus, self.is_cautious
        return {
            **plan_status(self.knowledge, self._spend),
            **spending_status(self._exploration, self.account, self.shadow_price),
            **loss_status(self.changes, self.max_loss, surplus, is_cautious),
            "fits": self._schedule.n_fits,
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
            "baseline": self._guard.baseline_sums(),
            "account": None if self.account is None else self.account.to_dict(),
            "knowledge": None if self.knowledge is None else self.knowledge.to_dict(),
            **self._evidence.sums(),
            **self._schedule.sums(),
        }
        return {
            "rounds": np.array(self.rounds),
            "sums": np.frombuffer(json.dumps(sums).encode(), np.uint8),
            **self._evidence.arrays(),
            **self._schedule.arrays(),
        }

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what Surveyor had learnt.

        Parameters
        ----------
        state : mapping of str to array
            Output of `get_state`.
        """
        if state_form(state) != state_form(self.get_state()):
            raise DamagedFile(
                f"the saved arrays {sorted(state)} are not those of a Surveyor: load them with the "
                "policy that saved them."
            )
        sums = json.loads(state["sums"].tobytes())
        self.rounds = int(state["rounds"])
        self._exploration = Exploration(**sums["exploration"])
        self._detector = ChangeDetector(**sums["detector"])
        spent = sums.get("account")
        self.account = None if spent is None else Account.from_dict(spent)
        self._evidence.restore(sums, state)
        self._guard.restore(sums)
        self._schedule.restore(sums, state, self._evidence.planning)
        learnt = sums["knowledge"]
        self._use(None if learnt is None else Knowledge.from_dict(learnt))

    def _choose_features(self, known: Observation) -> Purchase:
        # Decisions change no state, so that a log of rewards is enough to restore it.
        return self._next_purchase.choose(known, self._rate(known), self.rng.random)

    def _purchase_probabilities(
        self, known: Observation, mask: Bools
    ) -> Iterable[tuple[Purchase, float]]:
        del mask  # there are few purchases
        return self._next_purchase.chances(known, self._rate(known))

    @property
    def _next_purchase(self) -> NextPurchase:
        prefers_baseline = self._guard.prefers_baseline(self.knowledge)
        state = self._plans, self._guard.baseline, prefers_baseline, self.account
        return NextPurchase(*state, self._evidence.book)

    def _rate(self, known: Observation) -> float | None:
        """Return how likely a new case is to explore; None if it must not lose anything."""
        if not is_new(known):
            return 0.0
        if self._first_rates is None:  # kept until something is learnt
            self._first_rates = (None if self.is_cautious else self.exploring_rate,)
        return self._first_rates[0]

    def _action_probabilities(self, observation: Observation, available: Bools) -> Floats:
        if observation.purpose == CAUTION and self._guard.baseline is None:
            allowed = available & self._guard.safe_actions(self.rounds)
            available = allowed if allowed.any() else available
        return self._beliefs.chances(observation, available)

    def _choose_action(self, observation: Observation, available: Bools) -> int:
        chances = self._action_probabilities(observation, available)
        if observation.purpose != EXPLORE:
            return int(chances.argmax())
        return int(self.rng.choice(chances.size, p=chances))

    def _action_values(self, observation: Observation) -> Floats:
        scale = self.problem.rewards
        scaled: Floats = (self._beliefs.values(observation) - scale.low) / scale.span
        return scaled

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        self._first_rates = None
        evidence, is_exploring = self._evidence, observation.purpose == EXPLORE
        if evidence.book.free is None:
            evidence.book.set_free(observation.free)
        if evidence.see_reward(action, reward):
            self._guard.use_rewards()
            self._schedule.begin_period()
        possible = evidence.possible(action, reward, self.rounds, outcome)
        money, paid = self.problem.rewards.money(reward), observation.total_cost * self._span
        is_blind = self._beliefs.leaf(observation) is None
        believed = self._beliefs.probabilities(observation)
        values = self._beliefs.values(observation)
        self._guard.count(observation, action, possible, money, self._beliefs)
        evidence.remember(
            observation,
            action,
            reward,
            possible,
            self.rounds,
            self._beliefs.chances_of_taking(action, observation),
            is_exploring=is_exploring,
            believed=None if is_blind else believed,
        )
        self._guard.compare()
        if is_exploring:
            lost = float(values.max() - values[action])
            self._exploration.add(max(paid - self._spend, 0.0) + lost)
        if self.account is not None:
            self.account = self.account.after(paid)
        self._check_plan()
        if self.knowledge is not None:
            self._watch(believed, action, possible, money)
        self._learn_if_due()

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
            self._exploration.resume(self.rounds, self._evidence.n_rows)

    def _watch(self, probabilities: Floats, action: int, possible: Bools, reward: float) -> None:
        """Look for a change, and begin again after one."""
        assert self.knowledge is not None
        self._detector.add(
            self.rounds,
            self._beliefs.doubted(probabilities),
            self.knowledge.frequencies,
            self._evidence.table.table[action],
            possible,
            reward,
        )
        change = self._detector.alarm(self.rounds, self._evidence.n_rows)
        if change is None:
            return
        self._evidence.begin_period(change)
        self._guard.begin_period()
        self._exploration.restart(self.rounds)
        self._schedule.begin_period()
        self._learn(search=True)

    def _learn_if_due(self) -> None:
        rows, can_explore = self._evidence.n_rows, self.can_explore
        has_ended = self._exploration.advance(
            self.rounds,
            rows,
            self._has_plan,
            is_clear(self.knowledge),
            self._explorer.headroom,
            # Without a plan, or if the limit grows, reaching it only interrupts exploring.
            can_explore or not self._has_plan or self._guard.limit.share is not None,
        )
        if self._schedule.due is not None:
            return
        is_stopped = has_ended or not can_explore
        if self._schedule.needs_plan(rows, has_plan=self._has_plan, is_stopped=is_stopped):
            self._learn(search=True)
        elif self.knowledge is not None and self._schedule.needs_models(self.rounds):
            self._learn(search=False)

    def _learn(self, *, search: bool) -> None:
        """Fit models again, and with `search` look for another plan; at once, or beside."""
        is_learning = self._exploration.is_first and self.can_explore
        fit = self._schedule.prepare(
            self.rounds,
            self._evidence,
            self.knowledge,
            search=search,
            accepted=self._guard.accepted(is_learning=is_learning),
            keep_plan=self.ledger.record.is_proved,
        )
        if self.fits_beside:
            self._schedule.due = fit
        else:
            self._apply(fit.learn())

    def _apply(self, result: FitResult) -> None:
        self._use(result.knowledge)
        if result.is_new_plan:
            self.ledger.record = PlanRecord()

    def _use(self, knowledge: Knowledge | None) -> None:
        """Carry out these plans from now on."""
        self.knowledge = knowledge
        self._first_rates = None
        self._plans = None if knowledge is None else PlansInUse.of(knowledge, self.account)
        self._beliefs = Beliefs(self._evidence, knowledge, self._plans, self._guard.baseline)
