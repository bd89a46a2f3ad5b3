"""Time of every policy's compiled loop on the published arrays."""

from __future__ import annotations

from functools import partial

from benchmarks.measuring import Say, interleaved, number
from benchmarks.report import Part, Table
from thrifty import POLICIES, simulate
from thrifty.environments import nursery

METHOD = """\
`simulate` with one seed, {rounds:,} rounds, and default parameters (the paper's), already compiled.
Medians of {repetitions} repetitions, taken in turn; spread is min .. max."""
HEADERS = ("policy", "us a round", "spread", "times uniform", "gain of seed 0")


def measure(quick: bool, say: Say) -> Part:
    """Time all policies in turn."""
    rounds, repetitions = (60, 2) if quick else (10_000, 15)
    replay = nursery.published()
    jobs = {
        name: partial(simulate, name, replay, seeds=[0], workers=1, rounds=rounds)
        for name in POLICIES
        if name != "plan"  # it needs a plan for this problem
    }
    gains = {}
    for name, job in jobs.items():
        say(f"{name}: compiling")
        gains[name] = float(job().gains.sum())
    say(f"all {len(jobs)}, {repetitions} times in turn")
    times = interleaved(jobs, repetitions, units=rounds)
    rows = [
        (
            name,
            policy_times.shown("us"),
            policy_times.spread("us"),
            number(policy_times.median / times["uniform"].median),
            f"{gains[name]:.1f}",
        )
        for name, policy_times in times.items()
    ]
    return Part(
        "Every policy, compiled",
        METHOD.format(rounds=rounds, repetitions=repetitions),
        (Table("Time a round", HEADERS, tuple(rows)),),
    )
