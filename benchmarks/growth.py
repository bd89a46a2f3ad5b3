"""Growth of time and memory with features, actions, window and horizon."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from benchmarks.growth_point import Point
from benchmarks.measuring import Say, Times, number, run_python
from benchmarks.report import Goal, Part, Table, format_goals

METHOD = """\
NCC-UCRL2's compiled loop on tables with 3 levels per feature, uniform contexts, and rewards that
depend on the first three features. The defaults are 5 features, 3 actions, window 1,000 and
{rounds:,} rounds. Each point is measured in a new process. The algorithm of the paper's text buys
every feature in every round, which gives the most partial states. *peak MB* is memory above that of
a process that has imported and compiled everything; it includes the table and the record of the
rounds. *state MB* is the size of the policy's state. In the curves over windows the clock starts
when the window is full. Medians of up to 5 repetitions (fewer if they take long); spread is min ..
max. Slopes are least squares of logarithms: 1 is proportional."""
HEADERS = ("", "us a round", "spread", "repetitions", "peak MB", "state MB", "target")
SLOPES = ("curve", "from .. to", "time", "peak MB", "target")


@dataclass(frozen=True)
class Outcome:
    """Measurements at one point."""

    point: Point
    times: Times
    peak: float
    state: float


GoalFinder = Callable[["Outcome", Sequence["Outcome"]], tuple[Goal, ...]]


def _no_goals(outcome: Outcome, curve: Sequence[Outcome]) -> tuple[Goal, ...]:  # noqa: ARG001
    return ()


@dataclass(frozen=True)
class Curve:
    """Points that differ in one number, `axis`; the slope is fitted from `slope_from` on."""

    title: str
    axis: str
    points: tuple[Point, ...]
    find_goals: GoalFinder = _no_goals
    slope_from: int = 0
    slope_limit: float | None = None
    outcomes: list[Outcome] = field(default_factory=list, compare=False)

    def x(self, outcome: Outcome) -> int:
        """Return the number that differs."""
        return int(getattr(outcome.point, self.axis))


def _many_features_goals(title: str) -> GoalFinder:
    def find(outcome: Outcome, curve: Sequence[Outcome]) -> tuple[Goal, ...]:  # noqa: ARG001
        if outcome.point.features < 40:
            return ()
        what = f"{title}: {outcome.point.features}, {outcome.point.rounds:,} rounds"
        return (
            Goal(f"{what}, time a round", outcome.times.of("us"), 30, "us"),
            Goal(f"{what}, peak memory", outcome.peak, 500, "MB"),
        )

    return find


def _long_window_goals(title: str) -> GoalFinder:
    def find(outcome: Outcome, curve: Sequence[Outcome]) -> tuple[Goal, ...]:
        short = [other for other in curve if other.point.window == 1000]
        if outcome.point.window < 100_000 or not short:
            return ()
        ratio = outcome.times.median / short[0].times.median
        return (Goal(f"{title}: 100,000 against 1,000, time a round", ratio, 2, "times"),)

    return find


def _curves(quick: bool) -> tuple[Curve, ...]:
    base = Point(rounds=60, window=20) if quick else Point()
    features = (3, 4) if quick else (5, 8, 10, 15, 20, 40)
    windows = (5, 20) if quick else (100, 1000, 10_000, 100_000)
    timed = 40 if quick else 10_000
    text, bounded = "features, the paper's text", "features, cost_range = 0.05"
    curves = [
        Curve(title, "features", tuple(points), _many_features_goals(title), 10, 1.5)
        for title, cost_range in ([(text, 1.0)] if quick else [(text, 1.0), (bounded, 0.05)])
        for points in [[replace(base, features=n, cost_range=cost_range) for n in features]]
    ]
    actions = tuple(replace(base, actions=n) for n in ((2, 4) if quick else (2, 5, 10, 20, 50)))
    curves.append(Curve("actions", "actions", actions))
    for n in (3,) if quick else (5, 10):
        title = f"window, {n} features"
        full = (replace(base, features=n, window=w, rounds=timed, before=w) for w in windows)
        curves.append(Curve(title, "window", tuple(full), _long_window_goals(title)))
    horizons = (40, 80) if quick else (10_000, 100_000, 1_000_000)
    long = tuple(replace(base, rounds=n) for n in horizons)
    return (*curves, Curve("horizon", "rounds", long))


def measure(quick: bool, say: Say) -> Part:
    """Measure all curves, point by point."""
    curves = _curves(quick)
    for curve in curves:
        for point in curve.points:
            say(f"{curve.title}: {getattr(point, curve.axis):,}")
            curve.outcomes.append(_outcome(point))
    goals = [
        goal for curve in curves for outcome in curve.outcomes for goal in _goals(curve, outcome)
    ]
    goals += [goal for curve in curves for goal in _slope_goals(curve)]
    return Part(
        "Growth",
        METHOD.format(rounds=curves[0].points[0].rounds),
        (*map(_table, curves), _slopes_table(curves)),
        tuple(goals),
    )


def _outcome(point: Point) -> Outcome:
    output = run_python("-m", "benchmarks.growth_point", json.dumps(asdict(point)))
    found = json.loads(output)
    return Outcome(point, Times(tuple(found["seconds"])), found["peak"], found["state"])


def _goals(curve: Curve, outcome: Outcome) -> tuple[Goal, ...]:
    return curve.find_goals(outcome, curve.outcomes)


def _table(curve: Curve) -> Table:
    rows = [
        (
            f"{curve.x(outcome):,}",
            outcome.times.shown("us"),
            outcome.times.spread("us"),
            f"{len(outcome.times.seconds)}",
            number(outcome.peak),
            number(outcome.state),
            format_goals(_goals(curve, outcome)),
        )
        for outcome in curve.outcomes
    ]
    title = curve.title[0].upper() + curve.title[1:]
    return Table(title, (curve.axis, *HEADERS[1:]), tuple(rows))


def _part_for_slope(curve: Curve) -> list[Outcome]:
    chosen = [outcome for outcome in curve.outcomes if curve.x(outcome) >= curve.slope_from]
    return chosen if len(chosen) > 1 else curve.outcomes


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the exponent b of the best y = a x^b."""
    positive = np.maximum(ys, 1e-9)
    return float(np.polyfit(np.log(xs), np.log(positive), 1)[0])


def _time_slope(curve: Curve) -> float:
    chosen = _part_for_slope(curve)
    return slope(
        [curve.x(outcome) for outcome in chosen], [outcome.times.median for outcome in chosen]
    )


def _slope_goals(curve: Curve) -> tuple[Goal, ...]:
    if curve.slope_limit is None:
        return ()
    xs = [curve.x(outcome) for outcome in _part_for_slope(curve)]
    what = f"{curve.title}: slope of time from {min(xs)} to {max(xs)}"
    return (Goal(what, _time_slope(curve), curve.slope_limit, ""),)


def _slopes_table(curves: Sequence[Curve]) -> Table:
    rows = []
    for curve in curves:
        chosen = _part_for_slope(curve)
        xs = [curve.x(outcome) for outcome in chosen]
        rows.append(
            (
                curve.title,
                f"{min(xs):,} .. {max(xs):,}",
                f"{_time_slope(curve):.2f}",
                f"{slope(xs, [max(outcome.peak, 0.1) for outcome in chosen]):.2f}",
                format_goals(_slope_goals(curve)),
            )
        )
    return Table("Slopes", SLOPES, tuple(rows))
