"""Evaluation from logs in known worlds: `python -m benchmarks.evaluation [WORLD ...]`.

A world is a large table of cases with all values and the rewards of all actions, so the gain of a
plan is known exactly. The target is a plan that is learnt from other cases. Each log has other
cases, drawn with replacement, and is written by a policy that buys selectively: sometimes
everything, otherwise first one feature, and the others depending on its value. Its actions depend
on what it has seen. For each method the benchmark prints how often the 95 % interval has the true
gain, the bias with its error of two standard errors, the root mean squared error, and the mean
standard error that the method states, all in percent of the standard deviation of a case's gain
under the target. Two naive methods are compared:

- `agreeing cases`: the mean gain of logged cases that show what the target looks at and have its
  action;
- `action weights`: the same with weights for actions, as if values were missing at random.

The last lines say whether the intervals of the methods that are unbiased under the assumptions have
the true gain in 93% of the logs of each world, and in how many worlds doubly robust has the
smallest error of them. Settings of the estimators were chosen on logs with other seeds.

`python -m benchmarks.evaluation --time` measures a log of a million cases, and replays of a part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from thrifty import POLICIES
from thrifty.environments import nursery
from thrifty.environments.families import FAMILIES as SYNTHETIC
from thrifty.environments.markets import FAMILIES as MARKETS
from thrifty.evaluation.estimates import GainEstimate
from thrifty.evaluation.evaluating import (
    DOUBLY_ROBUST,
    SELF_NORMALISED,
    WEIGHTED,
    evaluate_fixed,
)
from thrifty.evaluation.logged_cases import LoggedCases
from thrifty.evaluation.purchase_weights import action_weights
from thrifty.evaluation.rejection import evaluate_learning
from thrifty.evaluation.targets import Followed, follow_plan
from thrifty.evaluation.weighting import self_normalised_scores
from thrifty.plans.cases import PastCases
from thrifty.plans.learning import learn
from thrifty.plans.tree import PlanTree
from thrifty.problem import Problem

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

POPULATION, LEARNT_FROM, CASES, LOGS, MILLION = 200_000, 2_000, 4_000, 300, 1_000_000
REPLAYED = 100_000
FIRST_SEED = 1_000
"""Seed of the first log."""
LEAST_COVERAGE = 0.93
UNBIASED = (WEIGHTED, SELF_NORMALISED, DOUBLY_ROBUST)
"""Methods that need no right model of rewards."""
EVERYTHING = 0.2
"""Probability that the logging policy buys everything at once."""
BUYS_MORE = (0.15, 0.85)
"""Probability that it buys the rest after a low and after a high first value."""
NAIVE = ("agreeing cases", "action weights")


@dataclass(frozen=True, eq=False)
class KnownWorld:
    """A population of cases, and a plan whose mean gain in it is known.

    Parameters
    ----------
    population : PastCases
        All cases.
    target : PlanTree
        The plan.
    """

    population: PastCases
    target: PlanTree

    @classmethod
    def of(cls, population: PastCases) -> KnownWorld:
        """Return a world whose target is learnt from a few of the cases, which are left out."""
        plan = learn(population.subset(np.arange(LEARNT_FROM))).plan
        rest = population.subset(np.arange(LEARNT_FROM, population.n_cases))
        return cls(rest, plan)

    @cached_property
    def gains(self) -> Floats:
        """Gain of the target in every case."""
        return self.target.decide(self.population.codes).gains(self.population)

    @cached_property
    def first(self) -> int:
        """What the logging policy buys first: what tells most about the target's gain.

        It is not what the target buys first, so that values are missing by choice.
        """
        others = [
            k for k in range(len(self.population.looks)) if k not in self.target.root.looks
        ] or [0]
        return max(others, key=lambda k: float(np.var(self._mean_gains(self._column(k)))))

    @property
    def first_column(self) -> int:
        """Position of the feature that the logging policy buys first."""
        return self._column(self.first)

    @cached_property
    def gain_by_level(self) -> Floats:
        """Mean gain of the target by level of that feature."""
        levels = self.population.problem.levels[self.first_column]
        codes = self.population.codes[:, self.first_column]
        sums = np.bincount(codes, self.gains, minlength=levels)
        return sums / np.maximum(np.bincount(codes, minlength=levels), 1)

    def _column(self, look: int) -> int:
        return self.population.looks[look].columns[0]

    def _mean_gains(self, column: int) -> Floats:
        codes = self.population.codes[:, column]
        sums, counts = np.bincount(codes, self.gains), np.bincount(codes)
        found: Floats = (sums / np.maximum(counts, 1))[codes]
        return found


def from_market(name: str) -> PastCases:
    """Return a population of cases of a market."""
    market = MARKETS[name](0)
    return market.past_cases(POPULATION, seed=0)


def from_replay(name: str) -> PastCases:
    """Return a population of cases of a synthetic world without changes; the first value is free.

    The rewards of all actions, each 0 or 1, are the outcome.
    """
    drawn = SYNTHETIC[name](0, changes=0, rounds=POPULATION).draw(0)
    n_actions = drawn.problem.n_actions
    bits = np.arange(2**n_actions)
    rewards = {
        action: {f"{b:0{n_actions}b}": float(b >> a & 1) for b in bits.tolist()}
        for a, action in enumerate(drawn.problem.actions)
    }
    outcomes = drawn.rewards.round().astype(np.int64) @ (1 << np.arange(n_actions))
    free = np.arange(drawn.problem.n_features) == 0
    return _priced(drawn.problem, rewards, drawn.contexts, outcomes, drawn.costs.mean(axis=0), free)


def from_nursery() -> PastCases:
    """Return the applications of Nursery, which earn 1 if the action is the class."""
    drawn = nursery.stationary(0)
    names = drawn.problem.actions
    rewards = {action: {name: float(action == name) for name in names} for action in names}
    nothing_free = np.zeros(drawn.problem.n_features, np.bool_)
    prices = drawn.costs.mean(axis=0)
    labels = drawn.rewards.argmax(axis=1)
    return _priced(drawn.problem, rewards, drawn.contexts, labels, prices, nothing_free)


def _priced(
    problem: Problem,
    rewards: dict[str, dict[str, float]],
    codes: NDArray[np.integer],
    outcomes: Integers,
    prices: Floats,
    free: Bools,
) -> PastCases:
    listed = {
        name: float(price)
        for name, price, is_free in zip(problem.feature_names, prices, free, strict=True)
        if not is_free
    }
    priced = Problem(problem.features, problem.actions, rewards, listed)
    return PastCases(priced, codes.astype(np.int16), outcomes, free)


WORLDS: dict[str, Callable[[], PastCases]] = {
    "nursery": from_nursery,
    **{
        name: partial(from_replay, name) for name in ("random-tables", "one-relevant", "xor-of-two")
    },
    **{name: partial(from_market, name) for name in ("shop", "lending", "triage")},
}


def write_log(world: KnownWorld, n_cases: int, rng: np.random.Generator) -> LoggedCases:
    """Return a log of a policy that buys selectively, with the probabilities of what it did."""
    cases = world.population.subset(rng.integers(0, world.population.n_cases, n_cases))
    first, rest = world.first, [k for k in world.target.used if k != world.first]
    value = _position(world, cases)
    more = np.where(value > 0.5, *BUYS_MORE[::-1])
    kind = np.where(
        rng.random(n_cases) < EVERYTHING, 2, (rng.random(n_cases) < more).astype(np.int64)
    )
    buy = np.choose(kind, [(1 - EVERYTHING) * (1 - more), (1 - EVERYTHING) * more, EVERYTHING])
    looks = np.zeros((n_cases, len(cases.looks)), np.bool_)
    looks[:, first] = True
    looks[np.ix_(np.flatnonzero(kind == 1), np.array(rest, dtype=np.int64))] = True
    looks[kind == 2] = True
    actions, act = _actions(cases, value, rng)
    settled = np.tile(cases.free, (n_cases, 1))
    for k, look in enumerate(cases.looks):
        settled[:, list(look.columns)] |= looks[:, [k]]
    return LoggedCases(
        problem=cases.problem,
        codes=np.where(settled, cases.codes, np.int16(-1)),
        settled=settled,
        free=cases.free,
        actions=actions,
        rewards=cases.rewards[actions, cases.outcomes],
        costs=_costs(cases, looks),
        action_probabilities=act,
        purchase_probabilities=buy,
        trajectories=kind,
    )


def _position(world: KnownWorld, cases: PastCases) -> Floats:
    """Return how promising the first value is, from 0 to 1: its rank by the target's gain."""
    column = world.first_column
    order = np.argsort(world.gain_by_level)
    shares = np.bincount(world.population.codes[:, column], minlength=len(order))[order]
    middles = (np.cumsum(shares) - shares / 2) / shares.sum()
    positions = np.zeros(len(order))
    positions[order] = middles
    found: Floats = positions[cases.codes[:, column]]
    return found


def _actions(cases: PastCases, value: Floats, rng: np.random.Generator) -> tuple[Integers, Floats]:
    """Return actions that depend on the first value, and their probabilities."""
    n_actions = cases.problem.n_actions
    usual = np.minimum((value * n_actions).astype(np.int64), n_actions - 1)
    chances = np.full((len(value), n_actions), 0.5 / n_actions)
    chances[np.arange(len(value)), usual] += 0.5
    drawn = (rng.random(len(value))[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    actions = np.minimum(drawn, n_actions - 1)
    return actions, chances[np.arange(len(value)), actions]


def _costs(cases: PastCases, looks: Bools) -> Floats:
    """Return what was paid for each feature: list prices; a setup fee with the first feature."""
    names, prices = cases.problem.feature_names, cases.problem.prices
    assert prices is not None
    costs = np.zeros(cases.codes.shape)
    for mask in np.unique(looks, axis=0):
        rows = (looks == mask).all(axis=1)
        bought = [names[i] for k in np.flatnonzero(mask) for i in cases.looks[k].columns]
        for name, cost in prices.costs(bought).items():
            assert cost is not None
            costs[rows, cases.problem.feature_index(name)] = cost
    return costs


def naive_estimates(log: LoggedCases, followed: Followed, costs: Floats) -> list[GainEstimate]:
    """Return the estimates of the two naive methods."""
    gains, weights = log.rewards - costs, action_weights(log, followed)
    agrees, shown = weights > 0, followed.shown
    return [
        GainEstimate.from_scores(gains[agrees]),
        GainEstimate.from_scores(self_normalised_scores(gains[shown], weights[shown])),
    ]


def measure(world: KnownWorld, n_logs: int, n_cases: int) -> dict[str, list[GainEstimate]]:
    """Return the estimates from many logs, by method."""
    found: dict[str, list[GainEstimate]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + n_logs):
        log = write_log(world, n_cases, np.random.default_rng(seed))
        followed = follow_plan(world.target, log)
        costs = _target_costs(world, log, followed)
        for name, estimate in evaluate_fixed(log, followed, seed=seed).estimates.items():
            found.setdefault(name, []).append(estimate)
        for name, estimate in zip(NAIVE, naive_estimates(log, followed, costs), strict=True):
            found.setdefault(name, []).append(estimate)
    return found


def _target_costs(world: KnownWorld, log: LoggedCases, followed: Followed) -> Floats:
    from thrifty.evaluation.target_costs import target_costs

    return target_costs(log, followed, world.population.problem.prices)[0]


@dataclass(frozen=True)
class Measured:
    """How one method did in the logs of a world; amounts in percent of a case's spread.

    Parameters
    ----------
    coverage : float
        Share of the intervals with the true gain.
    bias, noise : float
        Mean error of the estimates, and the standard error of this mean.
    error : float
        Root mean squared error.
    stated : float
        Mean standard error that the method states.
    """

    coverage: float
    bias: float
    noise: float
    error: float
    stated: float

    @classmethod
    def of(cls, world: KnownWorld, estimates: list[GainEstimate]) -> Measured:
        """Compare estimates with the true gain."""
        truth, scale = float(world.gains.mean()), float(world.gains.std()) / 100
        means = np.array([estimate.mean for estimate in estimates])
        return cls(
            float(np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])),
            float(means.mean() - truth) / scale,
            float(means.std()) / np.sqrt(len(means)) / scale,
            float(np.sqrt(np.mean((means - truth) ** 2))) / scale,
            float(np.mean([estimate.error for estimate in estimates])) / scale,
        )

    def __str__(self) -> str:
        return (
            f"{self.coverage:9.1%}{self.bias:+8.1f} +-{2 * self.noise:4.1f}"
            f"{self.error:8.1f}{self.stated:8.1f}"
        )


def summary(found: dict[str, dict[str, Measured]]) -> list[str]:
    """Return what all worlds show together."""
    written = []
    for method in UNBIASED:
        world, least = min(
            ((name, methods[method].coverage) for name, methods in found.items()),
            key=lambda pair: pair[1],
        )
        written.append(
            f"{method}: coverage at least {least:.1%} ({world}; goal {LEAST_COVERAGE:.0%})"
        )
    best = [
        name
        for name, methods in found.items()
        if min(UNBIASED, key=lambda method: methods[method].error) == DOUBLY_ROBUST
    ]
    written.append(f"doubly robust has the smallest error in {len(best)} of {len(found)} worlds")
    return written


def is_covered(found: dict[str, dict[str, Measured]]) -> bool:
    """Return True if the intervals of the unbiased methods have the truth often enough."""
    return all(
        methods[method].coverage >= LEAST_COVERAGE
        for methods in found.values()
        for method in UNBIASED
    )


def time_a_million() -> None:
    """Print how long an evaluation of a million cases takes, and replays of learning policies."""
    world = KnownWorld.of(from_market("lending"))
    log = write_log(world, MILLION, np.random.default_rng(0))
    started = perf_counter(), process_time()
    evaluate_fixed(log, follow_plan(world.target, log))
    _print_time(f"{log.n_cases:,} cases", started)
    part = log.subset(np.arange(REPLAYED))
    for name in ("ucb1", "linucb", "scout"):
        started = perf_counter(), process_time()
        evaluate_learning(part, partial(POLICIES[name], part.problem, seed=1))
        _print_time(f"{part.n_cases:,} cases, replay of {name}", started)


def _print_time(what: str, started: tuple[float, float]) -> None:
    wall, processor = perf_counter() - started[0], process_time() - started[1]
    print(f"{what}: {wall:.1f} s, {processor:.1f} s of processor time", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every world, and print a line for each method."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"among {', '.join(WORLDS)}")
    parser.add_argument("--logs", type=int, default=LOGS)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--time", action="store_true", help="time a million cases instead")
    options = parser.parse_args(arguments)
    if options.time:
        time_a_million()
        return 0
    print(f"{options.logs} logs of {options.cases:,} cases")
    print(f"{'world':14}{'method':17}{'coverage':>9}{'bias':>14}{'rmse':>8}{'stated':>8}")
    found: dict[str, dict[str, Measured]] = {}
    for name in options.names or WORLDS:
        world = KnownWorld.of(WORLDS[name]())
        estimates = measure(world, options.logs, options.cases)
        found[name] = {method: Measured.of(world, made) for method, made in estimates.items()}
        for method, measured in found[name].items():
            print(f"{name:14}{method:17}{measured}", flush=True)
    print("\n".join(summary(found)))
    return int(not is_covered(found))


if __name__ == "__main__":
    sys.exit(main())
