"""Scout with other declared ranges: `python -m benchmarks.scout_placements [WORLD ...]`.

What Scout does must not depend on where the rewards lie in their declared range. So the same
worlds are played with five ranges. For each world and range it prints the mean gain in money per
round, and how much it differs from that of the range of the rewards themselves, with a 95 %
interval of the paired difference. Seeds are those that are reported; `--choosing` uses the others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thrifty import simulate
from thrifty.environments.safe_families import safe_action
from thrifty.environments.world import World

RANGES = ((-90, 60), (-900, 120), (-5_000, 5_000), (-90, 4_000), (-4_000, 60))
WORLDS: dict[str, Callable[..., World]] = {
    "three-turns": safe_action,
    "stationary": partial(safe_action, turns=0),
    "eight-turns": partial(safe_action, turns=8),
}
SEEDS, CHOOSING = range(40), range(1000, 1040)


def gains(make: Callable[..., World], low: float, high: float, seeds: range) -> NDArray[np.float64]:
    """Return the gain in money per round, for each seed."""
    runs = simulate("scout", partial(make, low=low, high=high), seeds=seeds, workers=1)
    found: NDArray[np.float64] = low + (high - low) * runs.gains.mean(axis=1)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each world and range."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scout_placements", description=__doc__
    )
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help=", ".join(WORLDS))
    parser.add_argument("--choosing", action="store_true")
    options = parser.parse_args(arguments)
    seeds = CHOOSING if options.choosing else SEEDS
    print(f"{'':20}{'range':>18}{'gain':>8}{'difference':>12}{'95 %':>8}", flush=True)
    for name in options.worlds or WORLDS:
        usual = gains(WORLDS[name], *RANGES[0], seeds)
        for low, high in RANGES:
            found = usual if (low, high) == RANGES[0] else gains(WORLDS[name], low, high, seeds)
            share = (found - usual) / usual.mean()
            error = 1.96 * share.std(ddof=1) / np.sqrt(share.size)
            print(
                f"{name:20}{f'{low:,} to {high:,}':>18}{found.mean():8.2f}"
                f"{share.mean():12.1%}{error:8.1%}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
