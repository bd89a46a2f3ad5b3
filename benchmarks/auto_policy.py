"""What "auto" chooses, and what the choice gains: `python -m benchmarks.auto_policy`.

Nursery: "auto" and Scout on the same seeds. Tables: the examples of `thrifty worth` and the priced
tables as streams without past cases, Surveyor on uncut columns and Scout on the few levels that
`thrifty worth` codes them with.
"""

from __future__ import annotations

import argparse
import io
import sys
import tomllib
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from benchmarks.priced_tables import NAMES, load_cases, reason_absent
from thrifty.environments import Replay, nursery
from thrifty.environments.past_cases import replay_of
from thrifty.examples import SYNTHETIC, example_csv, example_policy
from thrifty.frames.reader import Table
from thrifty.playing import play
from thrifty.policies import Scout, Surveyor
from thrifty.policies.auto import AUTO, chosen_by_auto
from thrifty.policy import Policy
from thrifty.policy_file import parse_policy_file
from thrifty.simulation import simulate
from thrifty.tables import Cases, read_cases

NURSERY: dict[str, Callable[[], Replay]] = {
    "nursery/published": nursery.published,
    "nursery/shuffled": nursery.shuffled,
}
ROWS = 10_000


def nursery_line(name: str, seeds: int) -> str:
    """Return the mean total gains of "auto" and of Scout, and how much they differ."""
    world = NURSERY[name]()
    chosen = chosen_by_auto(world.problem).__name__
    own, scout = (
        simulate(policy, world, seeds=range(seeds), workers=1).gains.sum(axis=1).mean()
        for policy in (AUTO, "scout")
    )
    difference = (own - scout) / abs(scout)
    return f"{name}: {chosen}, auto {own:.1f}, Scout {scout:.1f}, difference {difference:.2%}"


def example_cases(name: str, rows: int, seed: int) -> Cases:
    """Return the cases of an example, in order."""
    frame = pl.read_csv(io.StringIO(example_csv(name, rows, seed)), infer_schema=False)
    return read_cases(Table(frame), parse_policy_file(tomllib.loads(example_policy(name))))


def table_line(name: str, cases: Cases, seed: int) -> str:
    """Return what is chosen for a table, and the gain per case of both policies."""
    past = cases.past_cases
    free = np.array(past.problem.feature_names)[past.free].tolist()
    chosen = [
        chosen_by_auto(past.problem, free=free, has_history=has_history).__name__
        for has_history in (False, True)
    ]
    surveyor = Surveyor(past.problem, horizon=past.n_cases, seed=seed)
    gains = _gain(surveyor, replay_of(past)), _gain(Scout(cases.problem, seed=seed), cases.replay())
    return (
        f"{name}: {chosen[0]}, with a history {chosen[1]}; gain per case of Surveyor {gains[0]:.4g}"
        f", of Scout {gains[1]:.4g}"
    )


def _gain(policy: Policy, world: Replay) -> float:
    """Return the gain per case in money."""
    run, scale = play(policy, world), world.problem.rewards
    return float(np.mean(scale.low + scale.span * (run.rewards - run.costs)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for every world and table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto_policy", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds on Nursery")
    parser.add_argument("--rows", type=int, default=ROWS, help="number of cases of an example")
    options = parser.parse_args(arguments)
    for name in NURSERY:
        print(nursery_line(name, options.seeds), flush=True)
    for name in SYNTHETIC:
        print(table_line(name, example_cases(name, options.rows, 1), 1), flush=True)
    absent = reason_absent()
    if absent is not None:
        print(f"priced tables: left out, {absent}")
        return 0
    for name in NAMES:
        cases = load_cases(name)
        order = np.random.default_rng(1).permutation(cases.n_cases)
        print(table_line(name, cases.subset(order), 1), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
