"""The stream replayed: what policies would have kept, case after case."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.agent import Agent
from thrifty.kernels.shared import out_of_fold as kernel
from thrifty.policies import NCCUCRL2, Scout
from thrifty.policies.compiled import CompiledPolicy
from thrifty.policies.scout import ScoutEvent
from thrifty.tables.cases import Cases
from thrifty.worth.selection import LEVEL, Estimate, Judge, Places, choose, places_of, searched
from thrifty.worth.sets import CASES_PER_CELL, Folded

Floats = NDArray[np.float64]

MOST_REPLAYED = 200_000
"""Of a longer stream every k-th case is replayed."""
MOST_RUNS = 3
LONG = 50_000
SHORT = 5_000
"""Streams up to these lengths are played several times, by Scout and by NCC-UCRL2."""
MOST_SWEPT = 3_000_000
"""NCC-UCRL2 remembers partial states of all 2^D sets that its first sweep has bought, so it begins
with a sweep only if there are at most so many of them."""
FIRST_PART = 0.2
"""The share of the stream on which the fixed set is chosen."""
BLOCKS = 50
"""Intervals come from the means of so many stretches of the stream."""
TENTHS = 10
PARTS = (1, 2, 5, 10)
"""Into how many parts hindsight divides the stream to learn what to do."""
STRENGTH = 5.0
"""How many cases a coarser cell counts for when a fixed set learns."""

LEAST_STRETCH = 20
"""A price is in force for so many cases at least."""

SCOUT, NCC, FIXED = "Scout", "NCC-UCRL2", "Fixed set"
EVERYTHING, NOTHING, HINDSIGHT = "Buy everything", "Buy nothing", "Hindsight"


@dataclass(frozen=True, eq=False)
class Played:
    """What one policy earned and paid in every case, in money; the mean over its runs."""

    policy: str
    what: str
    rewards: Floats
    costs: Floats
    runs: int = 1
    bought: Floats | None = None
    """How often each feature was bought, (D,)."""

    @property
    def gains(self) -> Floats:
        """Reward minus cost."""
        return self.rewards - self.costs

    def per_case(self) -> Estimate:
        """Return the mean gain with an interval that allows for neighbours being alike."""
        return over_blocks(self.gains)


def over_blocks(values: Floats) -> Estimate:
    """Return the mean of a series with an interval from the means of its stretches.

    >>> over_blocks(np.ones(100))
    Estimate(mean=1.0, low=1.0, high=1.0)
    """
    blocks = min(BLOCKS, len(values) // 2)
    means = np.array([it.mean() for it in np.array_split(values, blocks)])
    reach = LEVEL * float(means.std(ddof=1)) / math.sqrt(blocks)
    mean = float(values.mean())
    return Estimate(mean, mean - reach, mean + reach)


@dataclass(frozen=True, eq=False)
class Stream:
    """The replayed cases, who played them, and what happened on the way."""

    cases: Cases
    every: int
    """Every how many-th case was replayed."""
    played: tuple[Played, ...]
    events: tuple[ScoutEvent, ...]
    """What Scout noticed in its first run."""
    price_changes: tuple[tuple[int, str, float, float], ...]
    """Case, feature, mean price before and after."""
    fixed: Places
    first_part: int
    hindsight: tuple[Places, ...]
    """The best set of each tenth."""
    agent: Agent

    def of(self, policy: str) -> Played:
        """Return what the policy of this name played."""
        return next(it for it in self.played if it.policy == policy)

    def difference(self, policy: str, other: str) -> Estimate:
        """Return how much more a case gains with one policy than with the other."""
        return over_blocks(self.of(policy).gains - self.of(other).gains)


def replay(cases: Cases, sets: Sequence[Places], seed: int) -> Stream:
    """Let every policy play the cases in their order; `sets` may be best in hindsight."""
    every = math.ceil(cases.number / MOST_REPLAYED)
    if every > 1:
        cases = cases.taken(np.arange(0, cases.number, every))
    runs = MOST_RUNS if cases.number <= LONG else 1
    scouts = [Scout(cases.problem, seed=seed + k) for k in range(runs)]
    scout = _compiled(
        SCOUT, "learns what to buy and what to do, and notices changes", cases, scouts
    )
    nccs = [_ncc(cases, seed + k) for k in range(runs if cases.number <= SHORT else 1)]
    ncc = _compiled(NCC, "is the paper's policy, with a window of 250 cases", cases, nccs)
    everything = tuple(range(len(cases.features)))
    early = cases.taken(np.arange(max(int(cases.number * FIRST_PART), 1)))
    order = Folded.of(early, seed).order
    all_bought = _always(
        EVERYTHING, "learns what to do with all features", cases, everything, order
    )
    fixed, places = _fixed(cases, early, all_bought, order, seed)
    hindsight, best = _hindsight(cases, sets, seed)
    return Stream(
        cases=cases,
        every=every,
        played=(
            scout,
            ncc,
            fixed,
            all_bought,
            _always(NOTHING, "learns what to do with what is free", cases, _free(cases), order),
            hindsight,
        ),
        events=scouts[0].events,
        price_changes=tuple(_price_changes(cases)),
        fixed=places,
        first_part=early.number,
        hindsight=best,
        agent=Agent(cases.problem, scouts[0]),
    )


def _ncc(cases: Cases, seed: int) -> NCCUCRL2:
    prices = [cases.listed, *cases.varying.values()]
    highest = max(float(it.max()) for it in prices) / cases.rewards.span
    return NCCUCRL2(
        cases.problem,
        horizon=cases.number,
        window=250,
        delta=0.04,
        cost_range=max(highest, 1e-6),
        sweep_first=2 ** len(cases.features) * cases.number <= MOST_SWEPT,
        seed=seed,
    )


def _compiled(name: str, what: str, cases: Cases, policies: Sequence[CompiledPolicy]) -> Played:
    world = cases.replay()
    number, n_features = world.contexts.shape

    def run(policy: CompiledPolicy) -> tuple[Floats, Floats, Floats]:
        observed = np.zeros((number, n_features), dtype=np.bool_)
        actions = np.zeros(number, dtype=np.int64)
        gained, paid = np.zeros(number), np.zeros(number)
        policy.run_compiled(world, (observed, actions, gained, paid))
        rewards = cases.rewards.table[actions, cases.outcomes]
        return rewards, paid * cases.rewards.span, observed.mean(axis=0)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(run, policies))
    rewards, costs, bought = (np.mean(it, axis=0) for it in zip(*runs, strict=True))
    return Played(name, what, rewards, costs, len(policies), bought)


def _free(cases: Cases) -> Places:
    return places_of(cases.free)


def _always(name: str, what: str, cases: Cases, places: Places, order: Sequence[int]) -> Played:
    actions = _followed(cases, places, order, 0)
    return _acted(name, what, cases, actions, np.zeros(cases.number) + cases.price_by_case(places))


def _acted(name: str, what: str, cases: Cases, actions: NDArray[Any], costs: Floats) -> Played:
    return Played(name, what, cases.rewards.table[actions, cases.outcomes], costs)


def _fixed(
    cases: Cases, early: Cases, all_bought: Played, order: Sequence[int], seed: int
) -> tuple[Played, Places]:
    """Buy everything in the first part, choose by it, and keep to the chosen set."""
    places = choose(searched(early, seed), Judge(Folded.of(early, seed)))
    start = early.number
    what = (
        f"buys everything in the first {start:,} cases, then keeps to the set that was best in them"
    )
    then = _acted(
        FIXED,
        what,
        cases,
        _followed(cases, places, order, start),
        np.zeros(cases.number) + cases.price_by_case(places),
    )
    then.rewards[:start], then.costs[:start] = all_bought.rewards[:start], all_bought.costs[:start]
    return then, places


def _followed(cases: Cases, places: Places, order: Sequence[int], start: int) -> NDArray[np.int64]:
    """Return what is done in every case from `start` on, by the outcomes of all cases before it."""
    chain = _chain(cases, [i for i in order if i in places])
    n_cells = [int(it.max()) + 1 for it in chain]
    offsets = np.cumsum([0, *n_cells[:-1]])
    counts = np.zeros((sum(n_cells), len(cases.rewards.outcomes)))
    stacked = np.ascontiguousarray(np.stack(chain, axis=1))
    for m, cells in enumerate(chain):
        np.add.at(counts, (offsets[m] + cells[:start], cases.outcomes[:start]), 1)
    actions = np.zeros(cases.number, np.int64)
    table = cases.rewards.table
    kernel.follow(stacked, offsets, cases.outcomes, table, STRENGTH, start, counts, actions)
    return actions


def _chain(cases: Cases, places: Sequence[int]) -> list[NDArray[Any]]:
    """Return the cells of ever larger parts of a set, as long as they hold several cases."""
    chain = [np.zeros(cases.number, np.int32)]
    n_cells = 1
    for i in places:
        cells = np.empty_like(chain[0])
        n_levels = int(cases.levels[i])
        parents = kernel.divide(chain[-1], cases.codes[i], n_cells, n_levels, cells)
        if len(parents) * CASES_PER_CELL <= cases.number:
            chain.append(cells)
            n_cells = len(parents)
    return chain


def _hindsight(
    cases: Cases, sets: Sequence[Places], seed: int
) -> tuple[Played, tuple[Places, ...]]:
    """Take in each tenth of the stream the set and the rule that turn out best in it.

    A rule is learnt on all cases, or on those of the half, fifth or tenth that a case is in; never
    on the case itself.
    """
    rules = [rule for parts in PARTS for rule in _rules(cases, sets, parts, seed)]
    actions = np.zeros(cases.number, np.int64)
    costs = np.zeros(cases.number)
    best: list[Places] = []
    for rows in np.array_split(np.arange(cases.number), TENTHS):
        places, acts, price = max(rules, key=lambda it: it.gain(cases, rows))
        actions[rows], costs[rows] = acts[rows], price[rows]
        best.append(places)
    what = "knows the best set and rule of each tenth of the stream beforehand"
    return _acted(HINDSIGHT, what, cases, actions, costs), tuple(best)


class _Rule(NamedTuple):
    places: Places
    actions: NDArray[Any]
    prices: Floats

    def gain(self, cases: Cases, rows: NDArray[Any]) -> float:
        rewards = cases.rewards.table[self.actions[rows], cases.outcomes[rows]]
        return float(rewards.mean() - self.prices[rows].mean())


def _rules(cases: Cases, sets: Sequence[Places], parts: int, seed: int) -> list[_Rule]:
    """Return a rule for each set, learnt on the part of the stream that a case is in."""
    pieces = np.array_split(np.arange(cases.number), parts)
    folded = [Folded.of(cases.taken(it), seed) for it in pieces]
    return [
        _Rule(
            places,
            np.concatenate([it.actions_by_case(places) for it in folded]),
            np.zeros(cases.number) + cases.price_by_case(places),
        )
        for places in sets
    ]


def _price_changes(cases: Cases) -> list[tuple[int, str, float, float]]:
    found = []
    for i, column in cases.varying.items():
        points = changes_of(column)
        for k, point in enumerate(points):
            before = column[points[k - 1] if k else 0 : point].mean()
            after = column[point : points[k + 1] if k + 1 < len(points) else None].mean()
            found.append((point, cases.features[i].name, float(before), float(after)))
    return sorted(found)


def changes_of(values: Floats) -> list[int]:
    """Return where the mean of a series changes, by cutting it in two as long as that is clear.

    >>> changes_of(np.repeat([1.0, 2.0, 1.5], 50))
    [50, 100]
    """
    noise = float(np.abs(np.diff(values)).std()) if len(values) > 2 else 0.0
    noise = max(noise if np.median(np.abs(np.diff(values))) > 0 else 0.0, 1e-9)
    threshold = 2 * math.sqrt(2 * math.log(max(len(values), 3)))

    def cut(start: int, stop: int) -> list[int]:
        part = values[start:stop]
        if len(part) < 2 * LEAST_STRETCH:
            return []
        k = np.arange(1, len(part))
        apart = np.abs(np.cumsum(part)[:-1] - k * part.mean())
        score = apart / np.sqrt(k * (len(part) - k) / len(part))
        score = score[LEAST_STRETCH - 1 : len(part) - LEAST_STRETCH]
        best = int(np.argmax(score))
        if score[best] <= threshold * noise:
            return []
        point = start + best + LEAST_STRETCH
        return [*cut(start, point), point, *cut(point, stop)]

    return cut(0, len(values))
