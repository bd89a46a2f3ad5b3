"""Gain of Scout with and without free values: `python -m benchmarks.scout_free_values`.

Compares Scout with variants whose purchases or actions do not use free values, in environments in
which the first feature is free. Each variant is a copy of the package (see `scout_constants`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.scout_constants import copy_package
from thrifty import Problem, Replay, Schedule, World, simulate

VARIANTS: Mapping[str, Mapping[str, str]] = {
    "as it is": {},
    "sets by the values over all cases": {"FREE_PRIOR": "1e18"},
    "actions by the average over sets": {"REFINED_PULLS": "1e18"},
    "free values are not used": {"FREE_PRIOR": "1e18", "REFINED_PULLS": "1e18"},
}
CHOOSING, REPORTING = range(100, 120), range(200, 240)
ROUNDS = 4000


def subgroup(share: float, price: float, others: int = 1, turns: Sequence[int] = ()) -> World:
    """Return a world in which a test is worth its price only in a subgroup.

    The first feature is free and identifies the subgroup. Where it is 0, the second feature tells
    which of two actions pays .9 and which .1; elsewhere the third action is best. The `others`
    features have no information.
    """
    levels = (3, *(2,) * (1 + others))
    chances = np.ones(())
    for p in ([share, (1 - share) / 2, (1 - share) / 2], *([0.5, 0.5],) * (1 + others)):
        chances = np.multiply.outer(chances, np.array(p))
    tables = []
    for k in range(len(turns) + 1):
        table = np.empty((3, *levels))
        for x in (0, 1):
            right = [0.9, 0.1] if x == k % 2 else [0.1, 0.9]
            for action, mean in enumerate((*right, 0.3)):
                table[action, 0, x] = mean
        for level, best in ((1, 0.8), (2, 0.6)):
            table[:2, level], table[2, level] = 0.2, best
        tables.append(table)
    return World(
        Problem.anonymous(levels, 3),
        probabilities=chances,
        rewards=tables,
        costs=[[0.05, *(price,) * (1 + others)]],
        rounds=ROUNDS,
        reward_schedule=Schedule(turns),
        free=[True, *(False,) * (1 + others)],
        seed=1,
    )


def first_is_free(seed: int) -> Replay:
    """Return random tables with a change in the middle; the first of four features is free."""
    world = World.random(
        levels=(3, 3, 2, 2), rounds=ROUNDS, reward_changes=(ROUNDS // 2,), seed=seed
    )
    replay = world.draw(seed)
    return Replay(
        replay.contexts,
        replay.rewards,
        replay.costs,
        [True, False, False, False],
        problem=replay.problem,
    )


ENVIRONMENTS: dict[str, World | Callable[[int], Replay]] = {
    "test pays in 30 % of cases": subgroup(0.3, 0.15),
    "test pays in 15 % of cases": subgroup(0.15, 0.15),
    "cheap test": subgroup(0.3, 0.05),
    "the meaning of the test reverses": subgroup(0.3, 0.15, turns=(2000,)),
    "three useless tests in addition": subgroup(0.3, 0.15, others=3),
    "random tables": first_is_free,
}


def main() -> None:
    """Run every variant in its own process, and print the mean gain per round."""
    seeds = CHOOSING if "--choosing" in sys.argv else REPORTING
    print(f"Gain per round, seeds {seeds.start} to {seeds.stop - 1}, standard errors in brackets\n")
    print(f"| variant | {' | '.join(ENVIRONMENTS)} |")
    print("|---|" + "---:|" * len(ENVIRONMENTS))
    for name, constants in VARIANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            home = copy_package(Path(folder), constants)
            paths = f"{home}{os.pathsep}{Path(__file__).parents[1]}"
            environment = {**os.environ, "PYTHONPATH": paths}
            command = [sys.executable, "-m", "benchmarks.scout_free_values", "--play"]
            done = subprocess.run(
                [*command, str(seeds.start), str(seeds.stop)],
                env=environment,
                stdout=subprocess.PIPE,
                check=True,
            )
        cells = [f"{mean:.4f} ({error:.4f})" for mean, error in json.loads(done.stdout)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def measure_gains(seeds: range) -> list[tuple[float, float]]:
    """Return the mean gain per round in every environment, with its standard error."""
    found = []
    for environment in ENVIRONMENTS.values():
        gains = simulate("scout", environment, seeds=seeds).gains.mean(axis=1)
        found.append((float(gains.mean()), float(gains.std(ddof=1) / len(gains) ** 0.5)))
    return found


if __name__ == "__main__":
    if "--play" in sys.argv:
        print(json.dumps(measure_gains(range(int(sys.argv[-2]), int(sys.argv[-1])))))
    else:
        main()
