"""`Market`: cases with prices and money, drawn from known distributions that may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.drawn import DrawnEnvironment
from thrifty.environments.market_columns import Column, encode
from thrifty.environments.past_cases import replay_of
from thrifty.environments.replay import Replay
from thrifty.environments.streams import seed_sequence, streams
from thrifty.errors import InvalidParameter, InvalidTable
from thrifty.outcomes import Outcomes
from thrifty.parameters import Whole, check_parameter
from thrifty.plans.cases import PastCases
from thrifty.plans.exact import ExactPlan, KnownDistribution
from thrifty.plans.frontier import Frontier, Point, mixed
from thrifty.prices import Group, PriceList
from thrifty.problem import Problem
from thrifty.seeds import Seed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rewards = Mapping[str, Mapping[str, float] | float]
ROUNDS = 8_000
"""Number of cases of a market, unless a number is given."""


@dataclass(frozen=True, eq=False)
class Regime:
    """A part of the cases with one distribution.

    Parameters
    ----------
    joint : array of float, shape (levels of each informative column..., O)
        Probability of each combination of levels and outcome.
    share : float
        Share of the cases.
    """

    joint: Floats
    share: float = 1.0


@dataclass(frozen=True)
class MarketTruth:
    """Exact expected gains of a case, in money.

    Parameters
    ----------
    constant : float
        Gain of the best constant action.
    free : float
        Gain of acting on the free values only.
    fixed : float
        Gain of the best fixed set of purchases.
    stepwise : float
        Gain of the best stepwise plan.
    foresight : float
        Gain if the outcome were known for nothing.
    """

    constant: float
    free: float
    fixed: float
    stepwise: float
    foresight: float

    @property
    def headroom(self) -> float:
        """Gain with foresight minus that of the best constant action."""
        return self.foresight - self.constant

    @property
    def has_something_to_gain(self) -> bool:
        """True if the best stepwise plan gains more than the best constant action."""
        return self.stepwise - self.constant > 1e-9 * self.headroom

    def share(self, advantage: float) -> float:
        """Return how far a strategy is on the way from the best constant action to the best plan.

        Parameters
        ----------
        advantage : float
            Gain of a case minus that of the best constant action, in money.

        Returns
        -------
        float
            0 for the best constant action, 1 for the best stepwise plan. If there is nothing to
            gain, the advantage as a share of the headroom, which is at most 0.

        Examples
        --------
        >>> MarketTruth(constant=0, free=0, fixed=3, stepwise=4, foresight=10).share(1.0)
        0.25
        >>> MarketTruth(constant=0, free=0, fixed=0, stepwise=0, foresight=10).share(-1.0)
        -0.1
        """
        reach = self.stepwise - self.constant
        return advantage / (reach if self.has_something_to_gain else self.headroom)


class MarketDecisions(NamedTuple):
    """What a strategy does in every case of a stream: actions (T,), and costs (T,) in money."""

    actions: Integers
    costs: Floats


class _Drawn(NamedTuple):
    """Levels of the informative columns (n, K), codes of all columns (n, D), and outcomes (n,)."""

    levels: Integers
    codes: NDArray[np.int16]
    outcomes: Integers


class Market(DrawnEnvironment):
    """An environment of cases with list prices, and money for each action and outcome.

    Every case is drawn from a known distribution of a few informative columns and the outcome, so
    the best gain is known exactly. The other columns are useless: independent of everything, with
    equally frequent levels. The distribution may change between regimes. The outcome of a case is
    not reported: a policy learns about it only from the reward of its action.

    Parameters
    ----------
    columns : sequence of Column
        All columns, in the order of the problem's features.
    rewards : mapping
        Money by action and outcome, `{action: {outcome: money}}`.
    regimes : sequence of Regime
        The distributions in the order of time. Their shares sum to 1.
    informative : sequence of str, optional
        Names of the columns that the distributions are about, in the order of their axes. By
        default all columns.
    groups : sequence of Group
        Columns that share a setup fee.
    rounds : int
        Number of cases.
    seed : int, SeedSequence, Generator or None
        Seed of the cases that are played before the first `reset` with a seed.

    Examples
    --------
    >>> test = Column("test", 1.0, levels=("low", "high"))
    >>> rewards = {"treat": {"well": -10, "ill": 10}, "wait": 0}
    >>> regime = Regime(np.array([[0.45, 0.05], [0.05, 0.45]]))
    >>> market = Market([test], rewards, [regime], rounds=100, seed=1)
    >>> market.truth.constant, round(market.truth.stepwise, 9)
    (0.0, 3.0)
    >>> market.past_cases(50, seed=1).n_cases
    50
    """

    def __init__(
        self,
        columns: Sequence[Column],
        rewards: Rewards,
        regimes: Sequence[Regime],
        *,
        informative: Sequence[str] | None = None,
        groups: Sequence[Group] = (),
        rounds: int = ROUNDS,
        seed: Seed = None,
    ) -> None:
        self.columns = tuple(columns)
        self.regimes = tuple(regimes)
        self.horizon = int(check_parameter("rounds", rounds, Whole(1), owner="Market"))
        prices = {column.name: column.price for column in columns if column.price is not None}
        self.problem = Problem(
            [column.feature() for column in columns],
            tuple(rewards),
            outcomes=rewards,
            prices=PriceList(prices, groups),
        )
        names = self.problem.feature_names if informative is None else tuple(informative)
        self._informative = tuple(map(self.problem.feature_index, names))
        self.free = np.array([column.price is None for column in columns])
        self._require_regimes()
        super().__init__(seed_sequence(seed))
        self._last_drawn: tuple[int, _Drawn] | None = None

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """First case of every regime, and the number of cases."""
        ends = np.cumsum([regime.share for regime in self.regimes]) * self.horizon
        return (0, *np.round(ends).astype(int).tolist())

    @cached_property
    def regime_of_case(self) -> Integers:
        """Index of every case's regime, shape (T,)."""
        return np.repeat(np.arange(len(self.regimes)), np.diff(self.starts))

    @cached_property
    def distributions(self) -> tuple[KnownDistribution, ...]:
        """The distribution of each regime, over the informative columns."""
        assert self.problem.prices is not None
        names = [self.columns[i].name for i in self._informative]
        free = tuple(k for k, i in enumerate(self._informative) if self.free[i])
        return tuple(
            KnownDistribution(regime.joint, self._rewards, names, free, self.problem.prices)
            for regime in self.regimes
        )

    @cached_property
    def best_plans(self) -> tuple[ExactPlan, ...]:
        """The best stepwise plan of each regime."""
        return tuple(known.best_plan() for known in self.distributions)

    @cached_property
    def truths(self) -> tuple[MarketTruth, ...]:
        """Exact gains in each regime."""
        return tuple(
            MarketTruth(
                constant=known.set_value(()),
                free=known.set_value(known.free),
                fixed=known.set_value(known.best_set()),
                stepwise=plan.value,
                foresight=known.foresight,
            )
            for known, plan in zip(self.distributions, self.best_plans, strict=True)
        )

    @cached_property
    def frontier(self) -> Frontier:
        """The largest expected gain of a case at each average spend, over all cases.

        It assumes that every change is noticed at once, like `truth`.
        """
        plans = [known.frontier() for known in self.distributions]
        curves = [[Point(plan.spend, plan.value) for plan in corners] for corners in plans]
        return mixed([Frontier.of(curve) for curve in curves], np.diff(self.starts).tolist())

    @cached_property
    def truth(self) -> MarketTruth:
        """Exact gains over all cases."""
        return self.truth_from(0)

    def truth_from(self, start: int) -> MarketTruth:
        """Return the exact gains over the cases from one on.

        Parameters
        ----------
        start : int
            First case, counted from 0.

        Returns
        -------
        MarketTruth
            The gains of the regimes, weighted by their numbers of cases.
        """
        lengths = np.bincount(self.regime_of_case[start:], minlength=len(self.regimes))
        gains = [astuple(truth) for truth in self.truths]
        return MarketTruth(*np.average(gains, axis=0, weights=lengths).tolist())

    def stream(self, seed: int) -> PastCases:
        """Return the cases that are played with a seed, as if all of them were known.

        Reference strategies and tests use them. A policy never sees them.

        Parameters
        ----------
        seed : int
            Seed of the cases.

        Returns
        -------
        PastCases
            All cases in their order, with outcomes.
        """
        return self._cases(self._drawn(seed))

    def past_cases(self, n: int, seed: int, *, regime: int = 0) -> PastCases:
        """Draw cases from before the stream, with all values and outcomes.

        Parameters
        ----------
        n : int
            Number of cases.
        seed : int
            Seed of the stream. Its past cases are independent of it.
        regime : int
            Regime of the cases; by default the first one.

        Returns
        -------
        PastCases
            The cases.
        """
        check_parameter("n", n, Whole(1), owner="Market.past_cases")
        check_parameter("regime", regime, Whole(0, len(self.regimes) - 1), owner="Market")
        rng = streams(seed, regime + 2)[-1]  # the first stream draws the cases that are played
        return self._cases(self._draw_cases(np.full(n, regime), rng))

    def expected_rewards(self, seed: int) -> Floats:
        """Return the expected reward of every action in every case that is played with a seed.

        The expectation is over the outcome, given the values of all columns. Scores made from it
        are free of the luck of single outcomes.

        Parameters
        ----------
        seed : int
            Seed of the cases.

        Returns
        -------
        array of float, shape (T, A)
            Expected rewards in money.
        """
        rewards = np.zeros((self.horizon, self.problem.n_actions))
        for k, rows, levels in self._by_regime(seed):
            chances = self.regimes[k].joint[tuple(levels.T)]
            rewards[rows] = chances @ self._rewards.T / chances.sum(axis=1, keepdims=True)
        return rewards

    def best_constants(self) -> Integers:
        """Return the best constant action of every case's regime.

        Returns
        -------
        array of int, shape (T,)
            Actions.
        """
        best = [
            int((known.marginal(()).ravel() @ self._rewards.T).argmax())
            for known in self.distributions
        ]
        return np.array(best)[self.regime_of_case]

    def best_decisions(self, seed: int) -> MarketDecisions:
        """Carry out the best stepwise plan of every regime.

        Parameters
        ----------
        seed : int
            Seed of the cases.

        Returns
        -------
        MarketDecisions
            Actions and costs.
        """
        actions, costs = np.zeros(self.horizon, np.int64), np.zeros(self.horizon)
        for k, rows, levels in self._by_regime(seed):
            choices = self.best_plans[k].follow(levels)
            actions[rows], costs[rows] = choices.actions, self.best_plans[k].costs(choices)
        return MarketDecisions(actions, costs)

    def draw(self, seed: Seed) -> Replay:
        """Draw all cases.

        Parameters
        ----------
        seed : int, SeedSequence, Generator or None
            The same seed gives the same cases.

        Returns
        -------
        Replay
            Codes, rewards and costs as tables, without outcomes.
        """
        return replay_of(self._cases(self._drawn(seed)), reward_changes=self.starts[1:-1])

    @property
    def _rewards(self) -> Floats:
        outcomes: Outcomes | None = self.problem.outcomes
        assert outcomes is not None
        return outcomes.table

    def _drawn(self, seed: Seed) -> _Drawn:
        """Draw the cases of a seed; the last ones are kept, because scores need them again."""
        if not isinstance(seed, int):
            return self._draw_cases(self.regime_of_case, streams(seed, 1)[0])
        if self._last_drawn is None or self._last_drawn[0] != seed:
            drawn = self._draw_cases(self.regime_of_case, streams(seed, 1)[0])
            self._last_drawn = seed, drawn
        return self._last_drawn[1]

    def _draw_cases(self, regimes: Integers, rng: np.random.Generator) -> _Drawn:
        shape = self.regimes[0].joint.shape
        chances, cells = rng.random(len(regimes)), np.zeros(len(regimes), np.int64)
        for k in np.unique(regimes).tolist():
            ends = self.regimes[k].joint.ravel().cumsum()[:-1]
            cells[regimes == k] = np.searchsorted(ends, chances[regimes == k], side="right")
        *levels, outcomes = np.unravel_index(cells, shape)
        codes = np.zeros((len(regimes), len(self.columns)), np.int16)
        level_of = dict(zip(self._informative, levels, strict=True))
        for i, (column, feature) in enumerate(
            zip(self.columns, self.problem.features, strict=True)
        ):
            drawn = level_of.get(i)
            if drawn is None:
                drawn = rng.integers(0, column.n_levels, len(regimes))
            codes[:, i] = encode(feature, column.draw(drawn, rng))
        return _Drawn(np.stack(levels, axis=1), codes, outcomes)

    def _cases(self, drawn: _Drawn) -> PastCases:
        return PastCases(self.problem, drawn.codes, drawn.outcomes, self.free)

    def _by_regime(self, seed: int) -> list[tuple[int, Integers, Integers]]:
        """Return each regime with the cases in it, and their levels."""
        levels = self._drawn(seed).levels
        parts = [np.flatnonzero(self.regime_of_case == k) for k in range(len(self.regimes))]
        return [(k, rows, levels[rows]) for k, rows in enumerate(parts)]

    def _require_regimes(self) -> None:
        levels = [self.columns[i].n_levels for i in self._informative]
        expected = (*levels, self._rewards.shape[1])
        for regime in self.regimes:
            if regime.joint.shape != expected or not _is_distribution(regime.joint):
                raise InvalidTable(
                    f"a regime has a table of shape {regime.joint.shape} with the sum "
                    f"{regime.joint.sum()}: give probabilities of shape {expected} that sum to 1."
                )
        shares = [regime.share for regime in self.regimes]
        if not _is_distribution(np.array(shares)):
            raise InvalidParameter(
                f"the shares of the regimes are {shares}: give positive shares that sum to 1."
            )

    def __repr__(self) -> str:
        return (
            f"Market({self.horizon} cases, {self.problem.n_features} features, "
            f"{self.problem.n_actions} actions)"
        )


def _is_distribution(table: Floats) -> bool:
    return bool((table >= 0).all()) and abs(float(table.sum()) - 1) <= 1e-9
