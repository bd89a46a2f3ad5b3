"""Surveyor told rewards only, beside declared outcomes: `python -m benchmarks.surveyor_rewards`.

The same markets are played twice: with outcomes declared in the problem, and without them, so that
a reward tells about the action taken only. Cold starts, no past cases.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import mean
from typing import NamedTuple

import numpy as np

from thrifty.environments.market import Market
from thrifty.environments.markets import FAMILIES
from thrifty.playing import play
from thrifty.policies import Surveyor
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed

NAMES = ("shop", "lending", "triage", "router", "fees")
REPORTING = range(200, 240)


class RewardsOnly:
    """A market whose problem declares no outcomes.

    Parameters
    ----------
    market : Market
        The market.
    """

    def __init__(self, market: Market) -> None:
        declared = market.problem
        self.problem = Problem(
            declared.features, declared.actions, None, declared.prices, declared.rewards
        )
        self.horizon = market.horizon
        self._market = market

    def reset(self, *, seed: Seed = None) -> None:
        """Begin with the first case."""
        self._market.reset(seed=seed)

    def known(self) -> Observation:
        """Return the free values of the next case."""
        return self._market.known()

    def reveal(self, purchase: Purchase) -> Observation:
        """Return what was bought."""
        return self._market.reveal(purchase)

    def step(self, action: int) -> float:
        """Return the reward of an action, and go on to the next case."""
        return self._market.step(action)


class Trial(NamedTuple):
    """One run."""

    family: str
    seed: int
    is_declared: bool


def share(trial: Trial) -> float:
    """Return the share of the way from the best constant action to the best stepwise plan."""
    market = FAMILIES[trial.family](trial.seed)
    environment = market if trial.is_declared else RewardsOnly(market)
    environment.reset(seed=trial.seed)
    policy = Surveyor(environment.problem, horizon=market.horizon, seed=trial.seed)
    run = play(policy, environment)
    rows, expected = np.arange(market.horizon), market.expected_rewards(trial.seed)
    gains = expected[rows, run.actions] - market.problem.rewards.span * run.costs
    more = float((gains - expected[rows, market.best_constants()]).mean())
    return more / (market.truth.stepwise - market.truth.constant)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each family."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.surveyor_rewards", description=__doc__
    )
    parser.add_argument("names", nargs="*", help=f"among {', '.join(NAMES)}")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    seeds = REPORTING[: options.seeds]
    print(
        f"mean share over {len(seeds)} seeds, from {seeds[0]} on: declared outcomes, rewards only"
    )
    with ProcessPoolExecutor(options.workers) as pool:
        for name in options.names or NAMES:
            declared, rewards = (
                mean(pool.map(share, [Trial(name, seed, is_declared) for seed in seeds]))
                for is_declared in (True, False)
            )
            print(f"{name}: {declared:.2f}, {rewards:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
