"""Speed of Scout beside another version: `python -m benchmarks.scout_speed FOLDER`.

FOLDER holds the package `thrifty` of the other version, for instance unpacked by
`git archive COMMIT src | tar x -C FOLDER`, and then FOLDER/src. Both versions play the same worlds
in processes of their own, in turn. It prints the processor time per round, the median of all
repetitions, and the median of the ratios within a repetition.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).parents[1] / "src"
PLAY = """
import json, time
from functools import partial
from thrifty import simulate
from thrifty.environments import nursery
from thrifty.environments.families import FAMILIES
worlds = {
    "nursery-published": lambda seed: nursery.published(),
    "random-5x3": FAMILIES["random-tables"],
    "random-8x3": partial(FAMILIES["random-tables"], n_features=8),
}
times = {}
for name, make in worlds.items():
    replays = [make(0)] * 3 if name == "nursery-published" else [make(k).draw(k) for k in range(3)]
    simulate("scout", replays[0], seeds=[0], workers=1, rounds=100)
    start = time.process_time()
    for k, replay in enumerate(replays):
        simulate("scout", replay, seeds=[k], workers=1)
    times[name] = (time.process_time() - start) / (3 * 10_000) * 1e6
print(json.dumps(times))
"""


def played(folder: Path) -> dict[str, float]:
    """Return the microseconds per round of the version in a folder, by world."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", PLAY]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each world."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scout_speed", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args(arguments)
    played(options.folder), played(HERE)  # compile both
    pairs = [(played(options.folder), played(HERE)) for _ in range(options.repetitions)]
    print(f"{'us a round':20}{'other':>8}{'this':>8}{'ratio':>8}")
    for name in pairs[0][0]:
        times = np.array([(other[name], this[name]) for other, this in pairs])
        other, this = np.median(times, axis=0)
        ratio = np.median(times[:, 1] / times[:, 0])
        print(f"{name:20}{other:8.2f}{this:8.2f}{ratio:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
