"""What is gained compared with the baseline, and whether another case may be risked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.tree import PlanTree
from thrifty.rounds import Observation
from thrifty.surveyor.baseline import Baseline, GainRecord
from thrifty.surveyor.beliefs import Beliefs
from thrifty.surveyor.evidence import Evidence
from thrifty.surveyor.explorer import CLEAR
from thrifty.surveyor.knowledge import Knowledge
from thrifty.surveyor.ledger import Ledger
from thrifty.surveyor.loss_limit import LossLimit
from thrifty.surveyor.purposes import CAUTION, EXPLORE, is_plan
from thrifty.surveyor.reasons import explain_baseline, explain_caution

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

EXPLORING_SHARE = 0.75
"""Share of the largest loss at which exploring stops if there is a plan to try with the rest."""
TRIAL_SHARE = 1.15
"""A clearly better plan may lose up to this share of the default limit."""
VERY_CLEAR = 4.0
"""Standard errors by which a plan must seem better than buying nothing not to need the limit."""
RULED_OUT = 2.0
"""Standard errors by which a constant action must seem worse than the best one not to count."""
SAME_REWARD = 1e-9
"""Rewards that differ by less than this share of the range are the same."""
ACCEPTED = 1.0
"""Standard errors by which a plan must seem better than buying nothing. After the first phase a
plan is tried if it seems better at all, unless one has lost before, or a loss could stay hidden."""


class LossGuard:
    """Compare gains with those of the baseline, and stop before the largest loss is exceeded.

    The baseline is the best constant action, or a given plan. As long as several constant actions
    may be the best one, the limit holds for each of them.

    Parameters
    ----------
    evidence : Evidence
        Everything that was seen.
    limit : LossLimit
        How far the total gain may fall below that of the baseline.
    tree : PlanTree, optional
        The plan that is the baseline.

    Attributes
    ----------
    baseline : Baseline or None
        The same plan, with what is known of its gains.
    ledger : Ledger
        Gains compared with those of constant actions, and of the baseline.
    """

    def __init__(self, evidence: Evidence, limit: LossLimit, tree: PlanTree | None = None) -> None:
        self.limit = limit
        self.baseline = None if tree is None else Baseline(tree)
        self._evidence = evidence
        self.use_rewards()
        self.ledger = Ledger.of(len(self._worst))
        self.compare()

    def use_rewards(self) -> None:
        """Use the rewards of the outcomes, which move as long as undeclared ones are learnt."""
        self._table = self._evidence.table.table
        # The most that an action may lose against another one, (A, A).
        self._gaps = (self._table[None] - self._table[:, None]).max(axis=2)
        self._worst: list[float] = self._gaps.max(axis=0).tolist()
        if self.baseline is not None:
            self._worst.append(float(np.ptp(self._table, axis=0).max()))

    def compare(self) -> None:
        """Note which constant actions may be the best one."""
        values, n_actions = self._evidence.constant_values, len(self._table)
        if self.baseline is not None:
            self.ledger.compare(n_actions, [n_actions], values)
            return
        plausible = self._evidence.counts.plausible(self._table, RULED_OUT)
        self.ledger.compare(int(values.argmax()), np.flatnonzero(plausible).tolist(), values)

    def begin_period(self) -> None:
        """Begin the comparison again, because the world has changed."""
        self.ledger.begin_period()
        if self.baseline is not None:
            self.baseline.record = GainRecord()
        self.compare()

    def allowed(self, rounds: int) -> float:
        """Return the largest loss that is allowed after this many cases, in money."""
        mean = None if self.baseline is None else self.baseline.record.mean
        return self.limit.allowed(self._evidence.counts, self._table, rounds, mean)

    @property
    def largest_case_loss(self) -> float:
        """The most that a case may lose against what it is compared with, in money."""
        worst = max(self._worst[k] for k in self.ledger.compared)
        return float(worst) + self._evidence.book.price_of_everything

    def is_reached(self, rounds: int, clearness: float) -> bool:
        """Return True if only the baseline may be carried out in the next case.

        Parameters
        ----------
        rounds : int
            Number of cases so far.
        clearness : float
            Standard errors by which the plan seems better than buying nothing. By default a clear
            plan may lose a little more than exploring. A very clear one needs no limit, unless it
            has lost before. A limit that was given, or one against a given plan, has no exception.

        Returns
        -------
        bool
            True if another case might exceed the largest loss.
        """
        if self._allows_another_case(rounds):
            return False
        has_exception = not self.limit.is_given and self.baseline is None
        if not has_exception or self.ledger.record.is_doubtful or clearness < CLEAR:
            return True
        return clearness < VERY_CLEAR and not self._allows_another_case(rounds, TRIAL_SHARE)

    def allows_exploring(self, rounds: int, *, has_plan: bool) -> bool:
        """Return True if the loss so far leaves room for exploring."""
        return self._allows_another_case(rounds, EXPLORING_SHARE if has_plan else 1.0)

    def _allows_another_case(self, rounds: int, share: float = 1.0) -> bool:
        """Return True if the next case cannot exceed a share of the largest loss."""
        floor = self._evidence.book.price_of_everything - share * self.allowed(rounds)
        ledger = self.ledger
        return all(ledger.over(k) - self._worst[k] >= floor for k in ledger.compared)

    def safe_actions(self, rounds: int) -> Bools:
        """Return the constant actions that cannot exceed the largest loss.

        Parameters
        ----------
        rounds : int
            Number of cases so far.

        Returns
        -------
        array of bool, shape (A,)
            True for each of them. If the gain is too far below several actions that may be the best
            one, no action is safe: then the one whose reward was hidden least often, so that the
            loss against it is best known; of several, the one that the gain is farthest below.
        """
        compared = self.ledger.compared
        over = np.array([self.ledger.over(k) for k in compared])
        left, gaps = over + self.allowed(rounds), self._gaps[:, compared]
        safe: Bools = ((gaps <= 0) | (gaps <= left)).all(axis=1)
        if not safe.any():
            hidden = [sum(counts[k] for counts in self.ledger.hidden) for k in compared]
            safe[min(zip(hidden, over.tolist(), compared, strict=True))[2]] = True
        return safe

    def accepted(self, *, is_learning: bool) -> float:
        """Return the standard errors by which a new plan must seem better than buying nothing.

        Parameters
        ----------
        is_learning : bool
            True if the first phase of exploring goes on.

        Returns
        -------
        float
            Standard errors.
        """
        tells = self._evidence.table.tells
        is_hidden = bool(tells[self._evidence.best_constant] and not tells.all())
        return ACCEPTED if is_hidden or is_learning or self.ledger.n_disproved else 0.0

    def prefers_baseline(self, knowledge: Knowledge | None) -> bool:
        """Return True if a given plan is carried out because nothing better is known."""
        if self.baseline is None:
            return False
        return knowledge is None or not self.baseline.is_beaten(knowledge.gain)

    def count(
        self,
        observation: Observation,
        action: int,
        possible: Bools,
        reward: float,
        beliefs: Beliefs,
    ) -> None:
        """Add up how much more is gained than by each constant action, and by the baseline.

        Parameters
        ----------
        observation : Observation
            What was known when the action was chosen.
        action : int
            Action taken.
        possible : array of bool, shape (O,)
            Outcomes that are possible after the reward.
        reward : float
            Reward in money.
        beliefs : Beliefs
            By which the action was chosen.
        """
        rewards, span = self._table[:, possible], self._evidence.table.scale.span
        is_known: Bools = np.ptp(rewards, axis=1) <= SAME_REWARD * span
        paid = observation.total_cost * span
        surpluses, hidden = np.where(is_known, reward - rewards[:, 0], 0.0), ~is_known
        if beliefs.leaf(observation) is not None:
            # What another action would have earned is hidden: believe models in part.
            trust = 1.0 if beliefs.knowledge is None else beliefs.knowledge.trust
            values = beliefs.values(observation)
            surpluses[hidden] = trust * (values[action] - values)[hidden]
            hidden = np.zeros_like(is_known)
        surpluses -= paid
        if self.baseline is not None:
            more, is_sure = self._over_baseline(observation, reward - paid, possible, beliefs)
            surpluses, hidden = np.append(surpluses, more), np.append(hidden, False)
            is_known = np.append(is_known, is_sure)
        is_plan_case, baseline = is_plan(observation.purpose), self.ledger.baseline
        self.ledger.add(surpluses, is_known=bool(is_known[baseline]), is_plan=is_plan_case)
        if hidden.any():
            self.ledger.add_hidden(action, hidden)

    def add_history(self) -> None:
        """Learn what complete past cases say about constant actions and about the baseline."""
        self.compare()
        if self.baseline is None:
            return
        kept = self._evidence.complete.cases
        known = np.flatnonzero(kept.possible.sum(axis=1) == 1)
        decisions = self.baseline.tree.decide(kept.codes[known])
        prices = self._evidence.book.prices
        listed = np.array([prices.get(look.name, 0.0) for look in self.baseline.tree.looks])
        rewards = self._table[decisions.actions, kept.possible[known].argmax(axis=1)]
        for gain in (rewards - decisions.bought @ listed).tolist():
            self.baseline.record.add(gain)

    def reasons(
        self, rounds: int, seen: Observation, *, is_cautious: bool
    ) -> Callable[[], dict[str, Any]]:
        """Explain a case in which the baseline is carried out.

        Parameters
        ----------
        rounds : int
            Number of cases so far.
        seen : Observation
            What is known about the case.
        is_cautious : bool
            True if another case might exceed the largest loss.

        Returns
        -------
        callable
            Returns the explanation.
        """
        loss, more = 0.0 - self.ledger.surplus, self.largest_case_loss
        tree = None if self.baseline is None else (self.baseline.tree, self.baseline.step)
        if is_cautious or tree is None:
            return partial(explain_caution, loss, more, self.allowed(rounds), tree, seen)
        return partial(explain_baseline, *tree, seen)

    def baseline_sums(self) -> dict[str, Any] | None:
        """Return what is known of a given baseline, as JSON values."""
        return None if self.baseline is None else self.baseline.to_dict()

    def restore(self, sums: Mapping[str, Any]) -> None:
        """Restore the sums of a saved policy."""
        self.ledger = Ledger.from_dict(sums["ledger"])
        if self.baseline is not None:
            self.baseline.restore(sums["baseline"])
        self.use_rewards()

    def _over_baseline(
        self, observation: Observation, gain: float, possible: Bools, beliefs: Beliefs
    ) -> tuple[float, bool]:
        """Return how much more was gained than by the baseline, and whether that is known."""
        baseline = self.baseline
        assert baseline is not None
        if observation.purpose == CAUTION:
            return 0.0, True
        would_do = baseline.would_do(observation)
        if would_do is None:
            return gain - baseline.hidden_gain(float(self._table.max())), False
        action, cost = would_do
        rewards, likely = self._table[action], beliefs.probabilities(observation) * possible
        its_gain = float(rewards @ likely / max(float(likely.sum()), 1e-12))
        its_gain -= cost * self._evidence.table.scale.span
        if observation.purpose == EXPLORE:
            baseline.record.add(its_gain)
        return gain - its_gain, bool(np.ptp(rewards[possible]) == 0)
