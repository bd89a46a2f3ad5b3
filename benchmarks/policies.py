"""Time of every policy's compiled loop on the published arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.measuring import Say, Times, interleaved, number
from benchmarks.report import Goal, Part, Table
from thrifty import POLICIES, simulate
from thrifty.environments import Replay, nursery
from thrifty.environments.restricted import best_fixed_set, restricted
from thrifty.experiments.spec import ALL, Entry, find

METHOD = """\
`simulate` with one seed, {rounds:,} rounds, and default parameters (the paper's), already compiled.
Medians of {repetitions} repetitions, taken in turn; spread is min .. max. Surveyor has no compiled
loop, and is left out. The second table has the policies of related work with the parameters of the
benchmark, `thrifty run worlds`: most of them see indicators of all levels. "Best set" is
the same method with the features of the best fixed set. Seq-OOS is above 10 us because it plans for
each of the 1,200 partial states, 2,400 times in 10,000 rounds."""
HEADERS = ("policy", "us a round", "spread", "times uniform", "gain of seed 0")
WORLD = "worlds/nursery-published"
RELATED_LIMIT = 10.0
RELATED = (
    "d-ucb",
    "discounted-ts",
    "cusum-ucb",
    "m-ucb",
    "glr-klucb",
    "master",
    "d-linucb",
    "sw-linucb",
    "bob-sw-linucb",
    "dlinucb",
    "dlinucb-ensemble",
    "dal-linucb",
    "adaptive-ts",
    "particle-learning",
    "ada-iltcb",
    "ada-iltcb-plus",
    "dal-ncc-ucrl2",
    "tsrc",
    "wtsrc",
    "seq-oos",
)

Jobs = dict[str, Callable[[], float]]


def measure(quick: bool, say: Say) -> Part:
    """Time all policies in turn."""
    rounds, repetitions = (60, 2) if quick else (10_000, 15)
    own, related = _own_jobs(rounds), _related_jobs(rounds, RELATED[:6] if quick else RELATED)
    gains = {}
    for name, job in (own | related).items():
        say(f"{name}: compiling")
        gains[name] = job()
    say(f"all {len(own) + len(related)}, {repetitions} times in turn")
    times = interleaved(own | related, repetitions, units=rounds)
    uniform = times["uniform"].median
    rows = [
        (*_shown(name, times[name]), number(times[name].median / uniform), f"{gains[name]:.1f}")
        for name in own
    ]
    goals = {
        name: Goal(f"a round of {name}", times[name].of("us"), RELATED_LIMIT, "us")
        for name in related
    }
    related_rows = [(*_shown(name, times[name]), str(goals[name])) for name in related]
    return Part(
        "Every policy, compiled",
        METHOD.format(rounds=rounds, repetitions=repetitions),
        (
            Table("Time a round", HEADERS, tuple(rows)),
            Table("Related work in the benchmark", (*HEADERS[:3], "target"), tuple(related_rows)),
        ),
        tuple(goals.values()),
    )


def _own_jobs(rounds: int) -> Jobs:
    """Return a run of every policy with its default parameters."""
    replay = nursery.published()

    def play(name: str) -> float:
        runs = simulate(name, replay, seeds=[0], workers=1, rounds=rounds)
        return float(runs.gains.sum())

    # "plan" needs a plan for this problem.
    return {name: partial(play, name) for name in POLICIES if name not in ("plan", "surveyor")}


def _related_jobs(rounds: int, names: Sequence[str]) -> Jobs:
    """Return a run of these policies as the benchmark plays them, by label."""
    replay = nursery.published()
    fewer = restricted(replay, best_fixed_set(replay, None))
    jobs: Jobs = {}
    for entry in find(WORLD).entries:
        if entry.policy in names:
            world = replay if entry.features == ALL else fewer
            jobs[entry.label] = partial(_gain, entry, world, rounds)
    return jobs


def _gain(entry: Entry, world: Replay, rounds: int) -> float:
    runs = simulate(entry.policy, world, seeds=[0], workers=1, rounds=rounds, **entry.params)
    return float(runs.gains.sum())


def _shown(name: str, times: Times) -> tuple[str, str, str]:
    return name, times.shown("us"), times.spread("us")
