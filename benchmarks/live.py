"""Time of a single decision, in Thrifty and in other packages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

from benchmarks.measuring import Say, Stopwatch, Times, number
from benchmarks.players import Entry, Player, entries
from benchmarks.report import Goal, Part, Table, format_goals
from thrifty import Replay
from thrifty.environments import nursery

METHOD = """\
Every player plays the first {rounds:,} rows of the published arrays, with one decision and one
update per round, and no batches. Only the package's own calls are timed, without the preparation of
their arguments. Thrifty's policies buy the features that they choose. The other contextual policies
see all features and pay for them (LinUCB: codes from 1, as in Thrifty; Vowpal Wabbit: names of
levels). UCB buys nothing. Medians of {repetitions} repetitions, seeds 0 to {last}, all players in
turn; spread is min .. max. *gain* is reward minus costs: median and range over the seeds."""
HEADERS = (
    "player",
    "settings",
    "its calls, us",
    "us a round",
    "spread",
    "relative",
    "to",
    "gain",
    "min .. max",
    "target",
)
CALLS = ("choose_features", "choose_action", "update")


@dataclass(frozen=True)
class Laps:
    """One play: seconds per round for each step, and the total gain."""

    steps: Mapping[str, float]
    gain: float


def measure(quick: bool, say: Say) -> Part:
    """Run all players in turn."""
    rounds, repetitions = (60, 2) if quick else (10_000, 5)
    world = nursery.published()
    able, missing = _split_by_availability(entries(rounds), world)
    laps: dict[str, list[Laps]] = {entry.label: [] for entry in able}
    for entry in able:
        say(f"{entry.label}: first calls")
        _played(entry.make(world, 0), world, 40)
    for seed in range(repetitions):
        for entry in able:
            say(f"{entry.label}: {seed + 1} of {repetitions}")
            laps[entry.label].append(_played(entry.make(world, seed), world, rounds))
    goals = {entry.label: _goals(entry, laps) for entry in able}
    rows = [(*_row(entry, laps), format_goals(goals[entry.label])) for entry in able]
    rows += [(label, reason, *("",) * (len(HEADERS) - 2)) for label, reason in missing]
    method = METHOD.format(rounds=rounds, repetitions=repetitions, last=repetitions - 1)
    tables = (Table("Time a round", HEADERS, tuple(rows)),)
    return Part("One live decision", method, tables, tuple(chain.from_iterable(goals.values())))


def _split_by_availability(
    all_entries: Sequence[Entry], world: Replay
) -> tuple[list[Entry], list[tuple[str, str]]]:
    """Return the players that can be made, and the reasons for those that cannot."""
    able, missing = [], []
    for entry in all_entries:
        try:
            entry.make(world, 0)
        except (ImportError, AttributeError) as error:
            missing.append((entry.label, f"not measured: {error}"))
        else:
            able.append(entry)
    return able, missing


def _played(player: Player, world: Replay, rounds: int) -> Laps:
    watch, gain = Stopwatch(), 0.0
    for t in range(rounds):
        action, paid = player.decide(t, watch)
        reward = float(world.rewards[t, action])
        player.learn(t, action, reward, watch)
        gain += reward - paid
    return Laps({step: taken / rounds for step, taken in watch.seconds.items()}, gain)


def _sums(laps: Sequence[Laps]) -> Times:
    return Times(tuple(sum(lap.steps.values()) for lap in laps))


def _goals(entry: Entry, laps: Mapping[str, Sequence[Laps]]) -> tuple[Goal, ...]:
    mine = laps[entry.label]
    if entry.limit is not None and {*CALLS} <= {*mine[0].steps}:
        taken = _three_calls(mine).of("us")
        return (Goal("live decision, all three calls", taken, entry.limit, "us"),)
    if entry.limit is not None:
        return (Goal("live decision through Agent", _sums(mine).of("us"), entry.limit, "us"),)
    if entry.slower_than_thrifty:
        ratio = _sums(mine).median / _three_calls(laps[entry.like]).median
        what = f"{entry.label} against all three calls of {entry.like}"
        return (Goal(what, ratio, 3, "times", at_least=True),)
    return ()


def _three_calls(laps: Sequence[Laps]) -> Times:
    """Return the time of the decision itself, without making the observation."""
    return Times(tuple(sum(lap.steps[step] for step in CALLS) for lap in laps))


def _row(entry: Entry, laps: Mapping[str, Sequence[Laps]]) -> tuple[str, ...]:
    mine = laps[entry.label]
    steps = {step: Times(tuple(lap.steps[step] for lap in mine)) for step in mine[0].steps}
    gains = [lap.gain for lap in mine]
    times = _sums(mine)
    return (
        entry.label,
        entry.settings,
        ", ".join(f"{step} {times_of_step.shown('us')}" for step, times_of_step in steps.items()),
        times.shown("us"),
        times.spread("us"),
        number(times.median / _sums(laps[entry.like]).median),
        entry.like,
        f"{median(gains):.1f}",
        f"{min(gains):.1f} .. {max(gains):.1f}",
    )
