"""Backtest: replay the cases in order and record what each strategy would have earned."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.agent import Agent
from thrifty.kernels.shared import out_of_fold as kernel
from thrifty.playing import play
from thrifty.policies import NCCUCRL2, Scout
from thrifty.policies.compiled import CompiledPolicy
from thrifty.policies.scout import ScoutEvent
from thrifty.tables.cases import Cases
from thrifty.worth.money import join_names
from thrifty.worth.selection import (
    Z_95,
    Estimate,
    Evaluator,
    FeatureSet,
    choose_set,
    indices_of,
    search_sets,
)
from thrifty.worth.sets import CASES_PER_CELL, CrossValidation

Floats = NDArray[np.float64]

MAX_REPLAYED = 200_000
"""Longer tables are thinned: every k-th case is replayed."""
MAX_RUNS = 3
MAX_CASES_SCOUT_RUNS = 50_000
MAX_CASES_NCC_RUNS = 5_000
"""Scout and NCC-UCRL2 are run several times up to these numbers of cases."""
MAX_SWEPT = 3_000_000
"""NCC-UCRL2 starts with a sweep only if it has to remember at most this many partial states."""
FIRST_PART = 0.2
"""Share of the cases on which the fixed set is chosen."""
BLOCKS = 50
TENTHS = 10
HINDSIGHT_PARTS = (1, 2, 5, 10)
"""Hindsight learns its rules on all cases, or on each half, fifth or tenth of them."""
PRIOR_STRENGTH = 5.0
"""Number of cases that a coarser cell counts for when a fixed set learns."""
MIN_STRETCH = 20
"""Least number of cases between two changes of a price."""


class Strategy(StrEnum):
    """The strategies of the backtest, by the name that tables and worth.json show."""

    SCOUT = "Scout"
    NCC = "NCC-UCRL2"
    FIXED = "Fixed set"
    EVERYTHING = "Buy everything"
    NOTHING = "Buy nothing"
    HINDSIGHT = "Hindsight"


@dataclass(frozen=True, eq=False)
class StrategyResult:
    """What a strategy earned and paid in every case, in money.

    `rewards` and `costs` are means over `runs` runs; `purchase_rates` (D,) are the shares of cases
    in which each feature was bought.
    """

    strategy: Strategy
    description: str
    rewards: Floats
    costs: Floats
    runs: int = 1
    purchase_rates: Floats | None = None

    @property
    def gains(self) -> Floats:
        """Reward minus cost of every case."""
        return self.rewards - self.costs

    def gain_per_case(self) -> Estimate:
        """Return the mean gain with an interval that allows for correlated neighbours."""
        return block_mean(self.gains)


class PriceChange(NamedTuple):
    """A change of a feature's mean price, at the case with this index."""

    case: int
    feature: str
    before: float
    after: float


def block_mean(values: Floats) -> Estimate:
    """Return the mean of a series with an interval from the means of consecutive blocks.

    Neighbouring cases are often similar, so an interval from single cases would be too narrow.

    >>> block_mean(np.ones(100))
    Estimate(mean=1.0, low=1.0, high=1.0)
    """
    n_blocks = min(BLOCKS, len(values) // 2)
    means = np.array([block.mean() for block in np.array_split(values, n_blocks)])
    margin = Z_95 * float(means.std(ddof=1)) / math.sqrt(n_blocks)
    mean = float(values.mean())
    return Estimate(mean, mean - margin, mean + margin)


@dataclass(frozen=True, eq=False)
class Backtest:
    """Results of replaying the cases.

    Parameters
    ----------
    cases : Cases
        The replayed cases: every `every`-th case of the table.
    every : int
        1 if all cases were replayed.
    results : tuple of StrategyResult
        What each strategy earned and paid.
    events : tuple of ScoutEvent
        What Scout noticed in its first run.
    price_changes : tuple of PriceChange
        Changes of prices that vary by case.
    fixed_set : tuple of int
        The set chosen on the first part of the cases.
    n_first : int
        Number of cases in the first part.
    hindsight_sets : tuple
        The best set in each tenth of the cases.
    agent : Agent
        The agent that has learnt from the cases, for live decisions.
    """

    cases: Cases
    every: int
    results: tuple[StrategyResult, ...]
    events: tuple[ScoutEvent, ...]
    price_changes: tuple[PriceChange, ...]
    fixed_set: FeatureSet
    n_first: int
    hindsight_sets: tuple[FeatureSet, ...]
    agent: Agent

    def result(self, strategy: Strategy) -> StrategyResult:
        """Return the result of a strategy."""
        return next(result for result in self.results if result.strategy is strategy)

    def difference(self, strategy: Strategy, other: Strategy) -> Estimate:
        """Return how much more one strategy gains per case than another."""
        return block_mean(self.result(strategy).gains - self.result(other).gains)


def run_backtest(cases: Cases, sets: Sequence[FeatureSet], seed: int) -> Backtest:
    """Run every strategy on the cases in their order; hindsight chooses among `sets`."""
    every = math.ceil(cases.n_cases / MAX_REPLAYED)
    if every > 1:
        cases = cases.subset(np.arange(0, cases.n_cases, every))
    runs = MAX_RUNS if cases.n_cases <= MAX_CASES_SCOUT_RUNS else 1
    scouts = [Scout(cases.problem, seed=seed + k) for k in range(runs)]
    ncc_runs = runs if cases.n_cases <= MAX_CASES_NCC_RUNS else 1
    nccs = [_ncc_policy(cases, seed + k) for k in range(ncc_runs)]
    scout = _run_policies(
        Strategy.SCOUT, "learns what to buy and what to do, and adapts to changes", cases, scouts
    )
    ncc = _run_policies(Strategy.NCC, "the paper's policy, window of 250 cases", cases, nccs)
    first_part = cases.subset(np.arange(max(int(cases.n_cases * FIRST_PART), 1)))
    order = CrossValidation.stratified(first_part, seed).order
    everything = _always_buy(
        Strategy.EVERYTHING,
        "always buys all features, and learns what to do",
        cases,
        tuple(range(len(cases.features))),
        order,
    )
    nothing = _always_buy(
        Strategy.NOTHING,
        "uses free features only, and learns what to do",
        cases,
        indices_of(cases.free),
        order,
    )
    fixed, fixed_set = _fixed_set(cases, first_part, everything, order, seed)
    hindsight, hindsight_sets = _hindsight(cases, sets, seed)
    return Backtest(
        cases=cases,
        every=every,
        results=(scout, ncc, fixed, everything, nothing, hindsight),
        events=scouts[0].events,
        price_changes=tuple(_find_price_changes(cases)),
        fixed_set=fixed_set,
        n_first=first_part.n_cases,
        hindsight_sets=hindsight_sets,
        agent=_trained_agent(cases, scouts[0], seed),
    )


def _trained_agent(cases: Cases, scout: Scout, seed: int) -> Agent:
    """Return an agent with the policy that the policy file asks for, after all cases.

    Scout with its default parameters has played the cases already.
    """
    section = cases.policy_file.policy
    if section is None or (section.policy == "scout" and not section.parameters):
        return Agent(cases.problem, scout)
    agent = Agent(cases.problem, section.policy, seed=seed, **section.parameters)
    if isinstance(agent.policy, CompiledPolicy):
        _run_compiled(agent.policy, cases)
    else:
        play(agent.policy, cases.replay())
    return agent


def _ncc_policy(cases: Cases, seed: int) -> NCCUCRL2:
    # The policy needs the highest possible price in advance; this gives it an advantage.
    prices = [cases.list_prices, *cases.varying_prices.values()]
    highest = max(float(column.max()) for column in prices) / cases.rewards.span
    return NCCUCRL2(
        cases.problem,
        horizon=cases.n_cases,
        window=250,
        delta=0.04,
        cost_range=max(highest, 1e-6),
        sweep_first=2 ** len(cases.features) * cases.n_cases <= MAX_SWEPT,
        seed=seed,
    )


def _run_policies(
    strategy: Strategy, description: str, cases: Cases, policies: Sequence[CompiledPolicy]
) -> StrategyResult:
    # Compiled policies release the GIL, so threads are enough.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda policy: _run_compiled(policy, cases), policies))
    rewards, costs, rates = (np.mean(column, axis=0) for column in zip(*runs, strict=True))
    return StrategyResult(strategy, description, rewards, costs, len(policies), rates)


def _run_compiled(policy: CompiledPolicy, cases: Cases) -> tuple[Floats, Floats, Floats]:
    """Return rewards and costs by case, in money, and how often each feature was bought."""
    world = cases.replay()
    n_cases, n_features = world.contexts.shape
    observed = np.zeros((n_cases, n_features), dtype=np.bool_)
    actions = np.zeros(n_cases, dtype=np.int64)
    scaled_rewards, scaled_costs = np.zeros(n_cases), np.zeros(n_cases)
    policy.run_compiled(world, (observed, actions, scaled_rewards, scaled_costs))
    rewards = cases.rewards.table[actions, cases.outcomes]
    return rewards, scaled_costs * cases.rewards.span, observed.mean(axis=0)


def _always_buy(
    strategy: Strategy,
    description: str,
    cases: Cases,
    features: FeatureSet,
    order: Sequence[int],
) -> StrategyResult:
    actions = _learned_actions(cases, features, order, 0)
    return _result(strategy, description, cases, actions, _price_by_case(cases, features))


def _price_by_case(cases: Cases, features: FeatureSet) -> Floats:
    return np.zeros(cases.n_cases) + cases.total_price(features)


def _result(
    strategy: Strategy, description: str, cases: Cases, actions: NDArray[Any], costs: Floats
) -> StrategyResult:
    rewards = cases.rewards.table[actions, cases.outcomes]
    return StrategyResult(strategy, description, rewards, costs)


def _fixed_set(
    cases: Cases, first_part: Cases, everything: StrategyResult, order: Sequence[int], seed: int
) -> tuple[StrategyResult, FeatureSet]:
    """Buy everything in the first part, choose a set on it, and buy that set from then on."""
    features = choose_set(search_sets(first_part, seed), Evaluator.stratified(first_part, seed))
    start = first_part.n_cases
    chosen = join_names([cases.names[i] for i in features if not cases.free[i]] or ["nothing"])
    result = _result(
        Strategy.FIXED,
        f"buys everything in the first {start:,} cases, then what was best in them, {chosen}",
        cases,
        _learned_actions(cases, features, order, start),
        _price_by_case(cases, features),
    )
    # Choosing needs all features, so the first part costs as much as buying everything.
    result.rewards[:start] = everything.rewards[:start]
    result.costs[:start] = everything.costs[:start]
    return result, features


def _learned_actions(
    cases: Cases, features: FeatureSet, order: Sequence[int], start: int
) -> NDArray[np.int64]:
    """Return the action of every case from `start` on, learnt from the outcomes before it."""
    chain = _nested_cells(cases, [i for i in order if i in features])
    n_cells = [int(cells.max()) + 1 for cells in chain]
    offsets = np.cumsum([0, *n_cells[:-1]])
    counts = np.zeros((sum(n_cells), len(cases.rewards.outcomes)))
    stacked = np.ascontiguousarray(np.stack(chain, axis=1))
    for m, cells in enumerate(chain):
        np.add.at(counts, (offsets[m] + cells[:start], cases.outcomes[:start]), 1)
    actions = np.zeros(cases.n_cases, np.int64)
    table = cases.rewards.table
    kernel.follow(stacked, offsets, cases.outcomes, table, PRIOR_STRENGTH, start, counts, actions)
    return actions


def _nested_cells(cases: Cases, features: Sequence[int]) -> list[NDArray[Any]]:
    """Return the cells of growing subsets of the features, as long as cells are large enough."""
    chain = [np.zeros(cases.n_cases, np.int32)]
    n_cells = 1
    for i in features:
        cells = np.empty_like(chain[0])
        n_levels = int(cases.levels[i])
        parents = kernel.divide(chain[-1], cases.codes[i], n_cells, n_levels, cells)
        if len(parents) * CASES_PER_CELL <= cases.n_cases:
            chain.append(cells)
            n_cells = len(parents)
    return chain


def _hindsight(
    cases: Cases, sets: Sequence[FeatureSet], seed: int
) -> tuple[StrategyResult, tuple[FeatureSet, ...]]:
    """Use in each tenth of the cases the set and the rule that turn out best in it.

    A rule is learnt on all cases, or on the half, fifth or tenth that a case is in; never on the
    case itself.
    """
    rules = [rule for parts in HINDSIGHT_PARTS for rule in _rules(cases, sets, parts, seed)]
    actions = np.zeros(cases.n_cases, np.int64)
    costs = np.zeros(cases.n_cases)
    best: list[FeatureSet] = []
    for rows in np.array_split(np.arange(cases.n_cases), TENTHS):
        gains = [rule.gain(cases, rows) for rule in rules]
        rule = rules[int(np.argmax(gains))]
        actions[rows], costs[rows] = rule.actions[rows], rule.prices[rows]
        best.append(rule.features)
    description = "knows the best set and rule of each tenth of the cases in advance"
    return _result(Strategy.HINDSIGHT, description, cases, actions, costs), tuple(best)


class _Rule(NamedTuple):
    features: FeatureSet
    actions: NDArray[Any]
    prices: Floats

    def gain(self, cases: Cases, rows: NDArray[Any]) -> float:
        rewards = cases.rewards.table[self.actions[rows], cases.outcomes[rows]]
        return float(rewards.mean() - self.prices[rows].mean())


def _rules(cases: Cases, sets: Sequence[FeatureSet], parts: int, seed: int) -> list[_Rule]:
    """Return a rule for each set, learnt on the part of the cases that a case is in."""
    pieces = np.array_split(np.arange(cases.n_cases), parts)
    validations = [CrossValidation.stratified(cases.subset(rows), seed) for rows in pieces]
    return [
        _Rule(
            features,
            np.concatenate([validation.actions_by_case(features) for validation in validations]),
            _price_by_case(cases, features),
        )
        for features in sets
    ]


def _find_price_changes(cases: Cases) -> list[PriceChange]:
    changes = []
    for i, column in cases.varying_prices.items():
        points = [0, *change_points(column), len(column)]
        for start, point, stop in zip(points, points[1:], points[2:], strict=False):
            before, after = float(column[start:point].mean()), float(column[point:stop].mean())
            changes.append(PriceChange(point, cases.names[i], before, after))
    return sorted(changes)


def change_points(values: Floats) -> list[int]:
    """Return where the mean of a series changes, by binary segmentation.

    >>> change_points(np.repeat([1.0, 2.0, 1.5], 50))
    [50, 100]
    """
    noise = float(np.abs(np.diff(values)).std()) if len(values) > 2 else 0.0
    # A price list that rarely changes has differences of 0: every step is then real.
    noise = max(noise if np.median(np.abs(np.diff(values))) > 0 else 0.0, 1e-9)
    threshold = 2 * math.sqrt(2 * math.log(max(len(values), 3)))

    def cut(start: int, stop: int) -> list[int]:
        part = values[start:stop]
        if len(part) < 2 * MIN_STRETCH:
            return []
        k = np.arange(1, len(part))
        deviation = np.abs(np.cumsum(part)[:-1] - k * part.mean())
        score = deviation / np.sqrt(k * (len(part) - k) / len(part))
        score = score[MIN_STRETCH - 1 : len(part) - MIN_STRETCH]
        best = int(np.argmax(score))
        if score[best] <= threshold * noise:
            return []
        point = start + best + MIN_STRETCH
        return [*cut(start, point), point, *cut(point, stop)]

    return cut(0, len(values))
