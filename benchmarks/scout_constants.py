"""Mean regret of Scout with other constants: `python -m benchmarks.scout_constants [VARIANT ...]`.

Constants are compiled into the kernels. So each variant is a copy of the package with changed
lines, which runs in its own process, on the seeds that are reserved for choosing constants.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "thrifty"
EXPERIMENTS = (
    "random-5x3",
    "random-5x5",
    "random-8x3",
    "additive",
    "dear-noisy-prices",
    "gradual-drift",
    "recurring-regimes",
    "nursery-shuffled",
    "30-features",
)
SEEDS = 16

VARIANTS: Mapping[str, Mapping[str, str]] = {
    "as it is": {},
    "loss from .5, cubed": {"LOSS": "0.5", "CAUTION, YOUNG_CAUTION": "3, 3"},
    "loss from .65": {"LOSS": "0.65"},
    "headroom beside a loss of .5 at least": {"HEADROOM, MIN_LOSS": "0.8, 0.5"},
    "no caution": {"CAUTION, YOUNG_CAUTION": "0, 0"},
    "four times the probes": {"PROBES": "1.0"},
    "no probes": {"PROBES": "0.0", "GROWING_PROBES": "0.0"},
    "doubt counts half": {"AMBIGUITY": "3.0"},
    "half as much exploring": {"EPSILON, MIN_EPSILON, MAX_EPSILON": "0.35, 0.0025, 0.25"},
    "memory of 80 visits": {"MEMORY, MEMORY_OF_AGE, MAX_MEMORY": "80.0, 0.05, 80.0"},
    "memory of 40 visits": {"MEMORY, MEMORY_OF_AGE, MAX_MEMORY": "40.0, 0.05, 40.0"},
    "alarms from 6": {"ALARM": "6.0"},
    "alarms from 12": {"ALARM": "12.0"},
    "weights forgotten": {"TEMPER": "0.0"},
    "weights kept": {"TEMPER": "1.0"},
    "no optimism": {"OPTIMISM": "0.0"},
    "campaign of 300": {"CAMPAIGN, CAMPAIGN_LOSS, CAMPAIGN_DOUBT": "300.0, 1.0, 0.3"},
}


def change_constants(source: str, constants: Mapping[str, str]) -> str:
    """Return the kernel with other values for those of the constants that it defines.

    >>> change_constants("ALARM = 8.0", {"ALARM": "6.0", "OPTIMISM": "0.0"})
    'ALARM = 6.0'
    """
    for name, value in constants.items():
        source = re.sub(rf"^{name} = .*$", f"{name} = {value}", source, flags=re.M)
    return source


def copy_package(folder: Path, constants: Mapping[str, str]) -> Path:
    """Copy the package with other constants; return the folder to import it from."""
    package = folder / "thrifty"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    missing = set(constants)
    for file in (package / "kernels").rglob("*.py"):
        source = file.read_text()
        missing -= {name for name in constants if re.search(rf"^{name} = ", source, flags=re.M)}
        if file.name != "prices.py":  # its constant of the same name is about prices
            file.write_text(change_constants(source, constants))
    if missing:
        raise SystemExit(f"no kernel defines {', '.join(sorted(missing))}: correct the variants.")
    return folder


def regrets() -> Iterator[tuple[str, float]]:
    """Yield Scout's mean regret in every experiment, on the first seeds for choosing constants."""
    from thrifty import expected_regret, simulate
    from thrifty.experiments.environments import environment_named
    from thrifty.experiments.spec import find, for_choosing

    for name in EXPERIMENTS:
        experiment = for_choosing(find(f"worlds/{name}"))
        make = partial(environment_named(experiment.environment), **experiment.environment_params)
        seeds = experiment.seeds[:SEEDS]
        runs = simulate("scout", make, seeds=seeds)
        yield name, float(expected_regret(runs, make).sum() / len(seeds))


def main(*labels: str) -> None:
    print(
        f"| | {' | '.join(EXPERIMENTS)} | mean |\n|---{'|---:' * (len(EXPERIMENTS) + 1)}|",
        flush=True,
    )
    for label in labels or VARIANTS:
        constants = VARIANTS[label]
        with tempfile.TemporaryDirectory() as folder:
            copy_package(Path(folder), constants)
            environment = {**os.environ, "PYTHONPATH": folder}
            command = [sys.executable, __file__, "play"]
            played = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        found = json.loads(played.stdout)
        row = [*found.values(), sum(found.values()) / len(found)]
        print(f"| {label} | {' | '.join(f'{regret:,.0f}' for regret in row)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["play"]:
        print(json.dumps(dict(regrets())))
    else:
        main(*sys.argv[1:])
