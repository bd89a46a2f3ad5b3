"""Scout in every world of the catalogue: `python -m benchmarks.scout_worlds [WORLD ...]`.

For each world it prints the mean regret, the share of the oracle's gain in money with a 95 %
interval, and the share of the worst seed. Seeds are those that are reported; `--choosing` uses the
seeds that constants are chosen on. `--folder stationary` plays the worlds in which nothing changes,
and `--policy NAME` another policy with its default parameters.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thrifty import expected_regret, simulate
from thrifty.environments import Replay
from thrifty.experiments.environments import environment_named
from thrifty.experiments.spec import Experiment, catalogue, find, for_choosing

Floats = NDArray[np.float64]


def measure(
    name: str, choosing: bool = False, folder: str = "worlds", policy: str = "scout"
) -> tuple[Floats, Floats]:
    """Return the regret of each seed, and the share of the oracle's gain, both in expectation.

    The published arrays are fixed, so there it is the realised gain.
    """
    experiment = find(f"{folder}/{name}")
    experiment = for_choosing(experiment) if choosing else experiment
    make = partial(environment_named(experiment.environment), **experiment.environment_params)
    runs = simulate(policy, make, seeds=experiment.seeds, workers=1)
    best, spans = zip(
        *(_gain_of_oracle(experiment, make(seed)) for seed in runs.seeds), strict=True
    )
    if experiment.regret == "realised":
        regret = np.array(best) - runs.gains.sum(axis=1)
    else:
        regret = expected_regret(runs, make).sum(axis=1)
    return regret, 1 - regret * np.array(spans) / np.array(best)


def _gain_of_oracle(experiment: Experiment, replay: Replay) -> tuple[float, float]:
    """Return the oracle's total gain in money, and the span of rewards."""
    if experiment.regret == "realised":
        oracle = simulate("oracle", replay, seeds=[0], workers=1)
        return float(oracle.gains.sum()), 1.0
    plan, scale = replay.truth.oracle_plan, replay.problem.rewards
    gains = plan.gains[plan.plan_of_round]
    return float((scale.low + scale.span * gains).sum()), scale.span


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each world."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scout_worlds", description=__doc__)
    parser.add_argument("worlds", nargs="*")
    parser.add_argument("--choosing", action="store_true")
    parser.add_argument("--folder", default="worlds")
    parser.add_argument("--policy", default="scout")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    start = f"{options.folder}/"
    every = [name.removeprefix(start) for name in catalogue() if name.startswith(start)]
    names = options.worlds or every
    print(f"{'':22}{'regret':>8}{'share':>8}{'95 %':>8}{'worst':>8}", flush=True)
    with ProcessPoolExecutor(options.workers) as pool:
        play = partial(
            measure, choosing=options.choosing, folder=options.folder, policy=options.policy
        )
        found = pool.map(play, names)
        for name, (regret, shares) in zip(names, found, strict=True):
            error = 1.96 * shares.std(ddof=1) / np.sqrt(shares.size)
            print(
                f"{name:22}{regret.mean():8.1f}{shares.mean():8.1%}{error:8.1%}{shares.min():8.1%}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
