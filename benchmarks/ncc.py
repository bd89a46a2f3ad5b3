"""NCC-UCRL2 on the published arrays: compiled, in Python, and with a linear-program solver."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measuring import ROOT, Say, Times, interleaved, number
from benchmarks.report import Goal, Part, Table, format_goals
from thrifty import POLICIES, Replay, Run, play, simulate
from thrifty.environments import nursery
from thrifty.seeds import generator, policy_seed

if TYPE_CHECKING:
    import naive

METHOD = """\
The same rounds in three ways. *compiled*: `simulate` with one seed and all {rounds:,} rounds,
already compiled. *plain*: `play`, which calls the Python interface in every round. *LP twin*:
`tests/naive.py`, which solves Problem (17) of each of the 2^D feature sets with HiGHS (scipy), for
{turns} rounds from round {first} on; it learns from the rounds before. *same choices* counts the
rounds in which the twin buys and acts as the compiled loop did. Medians of {repetitions}
repetitions before the twin's rounds and {repetitions} after them, and of the twin's rounds; spread
is min .. max."""
HEADERS = (
    "variant",
    "compiled, us a round",
    "spread",
    "plain, us a round",
    "spread",
    "LP twin, ms a round",
    "spread",
    "plain / compiled",
    "LP twin / compiled",
    "same choices",
    "target",
)


@dataclass(frozen=True)
class Variant:
    """A variant of the policy: registered name, parameters, and parameters of its twin."""

    label: str
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    twin: Mapping[str, Any] = field(default_factory=dict)


PROGRAM = {"sweep_first": True, "simplex": False, "whole_window": True, "last_tie": True}
SIMPLEX = {"cost_range": 0.05, "sweep_first": True}
VARIANTS = (
    Variant("authors' program", "ncc-ucrl2-published", twin={"cost_range": 0.05, **PROGRAM}),
    Variant("simplex: cost range, sweep", "ncc-ucrl2", SIMPLEX, SIMPLEX),
    Variant("the paper's text", "ncc-ucrl2"),
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of the measurements."""

    rounds: int = 10_000
    repetitions: int = 4
    first: int = 500
    turns: int = 30


def measure(quick: bool, say: Say) -> Part:
    """Measure every variant."""
    sizes = Sizes(rounds=60, repetitions=1, first=40, turns=2) if quick else Sizes()
    world = nursery.published()
    rows: list[tuple[str, ...]] = []
    goals: list[Goal] = []
    for variant in VARIANTS:
        say(variant.label)
        row, variant_goals = _measure_variant(variant, world, sizes)
        rows.append(row)
        goals.extend(variant_goals)
    return Part(
        "NCC-UCRL2 on the published arrays",
        METHOD.format(**vars(sizes)),
        (Table("Time a round", HEADERS, tuple(rows)),),
        tuple(goals),
    )


def _measure_variant(
    variant: Variant, world: Replay, sizes: Sizes
) -> tuple[tuple[str, ...], tuple[Goal, Goal]]:
    rounds = sizes.rounds
    compiled = partial(
        simulate, variant.name, world, seeds=[0], workers=1, rounds=rounds, **variant.params
    )
    plain = partial(_play, variant, world, rounds)
    jobs: dict[str, Callable[[], object]] = {"compiled": compiled, "plain": plain}
    run = compiled()[0]
    before = interleaved(jobs, sizes.repetitions, units=rounds)
    twin, same = _time_twin(variant, world, run, sizes)
    after = interleaved(jobs, sizes.repetitions, units=rounds)
    fast, slow = (Times(before[name].seconds + after[name].seconds) for name in jobs)
    goals = (
        Goal(f"NCC-UCRL2, {variant.label}: a round", fast.of("us"), 3, "us"),
        Goal(
            f"NCC-UCRL2, {variant.label}: faster than the LP twin",
            twin.median / fast.median,
            20_000,
            "times",
            at_least=True,
        ),
    )
    shown = [(fast, "us"), (slow, "us"), (twin, "ms")]
    row = (
        variant.label,
        *(text for times, unit in shown for text in (times.shown(unit), times.spread(unit))),
        number(slow.median / fast.median),
        number(twin.median / fast.median),
        f"{same} of {sizes.turns}",
        format_goals(goals),
    )
    return row, goals


def _play(variant: Variant, world: Replay, rounds: int) -> Run:
    policy = POLICIES[variant.name](world.problem, horizon=rounds, seed=0, **variant.params)
    return play(policy, world, rounds=rounds)


def _time_twin(variant: Variant, world: Replay, run: Run, sizes: Sizes) -> tuple[Times, int]:
    """Continue the run with the twin; return its times and the number of equal choices."""
    twin = _twin(variant, world, sizes.rounds)
    draws = generator(policy_seed(0)).random((sizes.rounds, 1))
    times, same = [], 0
    for t in range(sizes.first + sizes.turns):
        if t >= sizes.first:
            start = perf_counter()
            choice = _choose(twin, world, t, draws)
            times.append(perf_counter() - start)
            same += choice == (tuple(run.observed[t].tolist()), int(run.actions[t]))
        _update(twin, world, run, t)
    return Times(tuple(times)), same


def _twin(variant: Variant, world: Replay, horizon: int) -> naive.NCCUCRL2:
    tests = str(ROOT / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    import naive

    levels, n_actions = world.problem.levels.tolist(), world.problem.n_actions
    return naive.NCCUCRL2(levels, n_actions, horizon=horizon, by_lp=True, **variant.twin)


def _choose(
    twin: naive.NCCUCRL2, world: Replay, t: int, draws: Any
) -> tuple[tuple[bool, ...], int]:
    mask, purpose = twin.choose_features()
    codes = tuple(np.where(mask, world.contexts[t], -1).tolist())
    return mask, twin.choose_action(codes, draws[t].tolist(), purpose, range(twin.n_actions))


def _update(twin: naive.NCCUCRL2, world: Replay, run: Run, t: int) -> None:
    """Update the twin with a round of the compiled run."""
    mask = run.observed[t]
    codes = tuple(np.where(mask, world.contexts[t], -1).tolist())
    costs = np.where(mask, world.costs[t], np.nan).tolist()
    sweeping = int(twin.swept_set() is not None)
    twin.update(codes, costs, int(run.actions[t]), float(run.rewards[t]), sweeping)
