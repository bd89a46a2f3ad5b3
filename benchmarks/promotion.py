"""`python -m benchmarks.promotion`: how often and how soon a shadow takes over by itself.

- An equal policy: in simulated months with a look every hour, the share of months in which a shadow
  with the same mean gain takes over. It may be 5% at most.
- A policy 5% better: the number of cases within which it takes over in 80% of the simulations.

Rewards are 0 or 1, with a mean of 0.60 for the acting policy and 0.63 for the better shadow, and
nothing costs anything. By lot, the shadow decides its share of the cases. By coverage, outcomes are
known, and the shadow would have decided one case in ten otherwise. The estimates are those of the
service (`thrifty.service.comparison`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty import Problem
from thrifty.service.comparison import Result, ShadowComparison, ShadowResult

MONTH_HOURS = 720
CASES_PER_HOUR = 20
MEAN, BETTER = 0.60, 0.63
OTHERWISE = 0.1
"""Share of the cases that a shadow without traffic would have decided otherwise."""
MAX_FALSE = 0.05
QUANTILE = 0.8
PROBLEM = Problem(
    Problem.anonymous((2,), 2).features,
    ("treat", "wait"),
    outcomes={"treat": {"ill": 1, "well": 0}, "wait": {"ill": 0, "well": 1}},
    prices={"x1": 0.0},
)


@dataclass(frozen=True)
class World:
    """Rewards of the two policies in each case, and which of them decides it.

    Parameters
    ----------
    acting, shadow : array of float
        Reward of each policy.
    drawn : array of bool
        True for the cases that the shadow decides; none without traffic.
    """

    acting: NDArray[np.float64]
    shadow: NDArray[np.float64]
    drawn: NDArray[np.bool_]


def by_lot(rng: np.random.Generator, cases: int, mean: float, traffic: float) -> World:
    """Draw independent rewards, and the cases of the shadow."""
    acting, shadow = rng.random(cases) < MEAN, rng.random(cases) < mean
    return World(acting.astype(float), shadow.astype(float), rng.random(cases) < traffic)


def by_coverage(rng: np.random.Generator, cases: int, mean: float) -> World:
    """Draw rewards that differ only where the shadow decides otherwise."""
    acting, draw = rng.random(cases) < MEAN, rng.random(cases)
    # Otherwise means the opposite reward: wins are more frequent than losses by the difference.
    wins = draw < (OTHERWISE + mean - MEAN) / 2 / (1 - MEAN)
    losses = draw < (OTHERWISE - mean + MEAN) / 2 / MEAN
    shadow = np.where(acting, ~losses, wins)
    return World(acting.astype(float), shadow.astype(float), np.zeros(cases, np.bool_))


def promotion(world: World, traffic: float) -> int | None:
    """Return after how many cases an hourly look promotes the shadow; None if it never does."""
    comparison = ShadowComparison.start(PROBLEM, traffic)
    pairs = zip(world.acting.tolist(), world.shadow.tolist(), world.drawn.tolist(), strict=True)
    for k, (acting, shadow, drawn) in enumerate(pairs, start=1):
        if traffic:
            comparison.add_by_lot(Result(shadow if drawn else acting, 0.0), decided=drawn)
        else:
            result, own = Result(acting, 0.0), ShadowResult(0.0, shadow)
            comparison.add_by_coverage(result, own, same=acting == shadow)
        if k % CASES_PER_HOUR == 0 and comparison.sequence.interval()[0] > 0:
            return k
    return None


def promotions(
    simulations: int, cases: int, mean: float, traffic: float, seed: int
) -> Iterator[int | None]:
    """Yield the number of cases until the promotion, for each simulation."""
    for k in range(simulations):
        rng = np.random.default_rng([seed, k])
        if traffic:
            yield promotion(by_lot(rng, cases, mean, traffic), traffic)
        else:
            yield promotion(by_coverage(rng, cases, mean), traffic)


def main() -> int:
    """Simulate, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.promotion", description=__doc__)
    parser.add_argument("--months", type=int, default=1000)
    parser.add_argument("--simulations", type=int, default=200)
    options = parser.parse_args()
    begun, failed, month = time.monotonic(), False, MONTH_HOURS * CASES_PER_HOUR
    print(f"an equal policy, {options.months} months of {month:,} cases, a look every hour")
    for label, traffic in (("by coverage", 0.0), ("by lot, 10%", 0.1), ("by lot, 50%", 0.5)):
        found = [k for k in promotions(options.months, month, MEAN, traffic, 1) if k is not None]
        share = len(found) / options.months
        failed |= share > MAX_FALSE
        print(f"  {label:12s} false promotions {share:.1%} (limit {MAX_FALSE:.0%})", flush=True)
    print(f"a policy 5% better, {options.simulations} simulations")
    for label, traffic, cases in (
        ("by coverage", 0.0, 20_000),
        ("by lot, 50%", 0.5, 100_000),
        ("by lot, 10%", 0.1, 300_000),
    ):
        taken = promotions(options.simulations, cases, BETTER, traffic, 2)
        times = sorted(cases + 1 if k is None else k for k in taken)
        within = times[int(np.ceil(QUANTILE * len(times))) - 1]
        failed |= within > cases
        shown = f"{within:,}" if within <= cases else f"more than {cases:,}"
        print(f"  {label:12s} promoted within {shown} cases in {QUANTILE:.0%}", flush=True)
    print(f"took {time.monotonic() - begun:.0f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
