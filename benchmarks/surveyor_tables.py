"""Surveyor on whole tables as streams: `python -m benchmarks.surveyor_tables [NAME ...]`.

The examples of `thrifty worth` are drawn with each seed; priced tables are shuffled with it. A warm
start learns from the first 2,000 cases of the stream, and the gain is that of the other cases.
"""

from __future__ import annotations

import argparse
import io
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np
import polars as pl

from benchmarks.plans_on_made_up_tables import T_95
from benchmarks.priced_tables import load, reason_absent
from thrifty.environments.past_cases import replay_of
from thrifty.examples import SYNTHETIC, example_csv, example_policy
from thrifty.frames.reader import Table
from thrifty.plans.cases import PastCases
from thrifty.playing import play
from thrifty.policies import Surveyor
from thrifty.policy_file import parse_policy_file
from thrifty.tables import read_cases

NAMES = ("lending", "triage", "thyroid", "german")
WARM = 2_000
REPORTING = range(200, 210)


class Trial(NamedTuple):
    """One run."""

    name: str
    seed: int
    n_history: int


def table(name: str, seed: int) -> PastCases:
    """Return the cases of a stream, in order."""
    if name in SYNTHETIC:
        frame = pl.read_csv(io.StringIO(example_csv(name, None, seed)), infer_schema=False)
        file = parse_policy_file(tomllib.loads(example_policy(name)))
        return read_cases(Table(frame), file).past_cases
    cases = load(name)
    return cases.subset(np.random.default_rng(seed).permutation(cases.n_cases))


def run(trial: Trial) -> tuple[float, float]:
    """Return the gain per case, and that of the best constant action."""
    cases = table(trial.name, trial.seed)
    first, rest = np.split(np.arange(cases.n_cases), [trial.n_history])
    stream = cases.subset(rest)
    history = cases.subset(first) if trial.n_history else None
    policy = Surveyor(cases.problem, history=history, horizon=len(rest), seed=trial.seed)
    played, scale = play(policy, replay_of(stream)), cases.problem.rewards
    gains = scale.low + scale.span * played.rewards - scale.span * played.costs
    constant = cases.rewards[:, stream.outcomes].mean(axis=1).max()
    return float(gains.mean()), float(constant)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every table cold and warm, and print a line for each."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.surveyor_tables", description=__doc__
    )
    parser.add_argument("names", nargs="*", help=f"among {', '.join(NAMES)}")
    parser.add_argument("--seeds", type=int, default=len(REPORTING))
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    seeds = REPORTING[: options.seeds]
    print("table, start: gain per case with its 95% interval, worst seed, best constant action")
    with ProcessPoolExecutor(options.workers) as pool:
        for name in options.names or NAMES:
            if name not in SYNTHETIC and reason_absent():
                print(f"{name}: skipped, {reason_absent()}")
                continue
            for n_history in (0, WARM) if name != "german" else (0,):
                found = list(pool.map(run, [Trial(name, seed, n_history) for seed in seeds]))
                gains, constants = zip(*found, strict=True)
                margin = T_95.get(len(gains), 2.2) * stdev(gains) / len(gains) ** 0.5
                print(
                    f"{name}, {'warm' if n_history else 'cold'}: {mean(gains):.4g} +- "
                    f"{margin:.2g}, worst {min(gains):.4g}, constant {mean(constants):.4g}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
