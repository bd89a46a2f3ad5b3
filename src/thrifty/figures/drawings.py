"""What can be drawn of an experiment: each figure once for print and once interactive."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from thrifty.environments import Replay
from thrifty.experiments.cells import world_of
from thrifty.experiments.curves import bought_shares, event_kinds, policies_of
from thrifty.experiments.growth import bounds_of, growths
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Experiment
from thrifty.experiments.tuning import Surface, surfaces
from thrifty.figures import beyond, interactive, paper
from thrifty.figures.style import WINDOW

MOST_PERIODS = 12
_RECOMMENDING = ("oracle", "ncc-ucrl2", "ucb1")


@dataclass(frozen=True)
class Drawing:
    """A figure by its file's name, its caption, and both ways of drawing it."""

    name: str
    caption: str
    printed: Callable[[], Figure] = field(repr=False)
    interactive: Callable[[], dict[str, Any]] = field(repr=False)


def drawings_of(results: Results) -> list[Drawing]:
    """Return every figure that makes sense for the experiment.

    A world that differs from seed to seed is drawn for the first seed.
    """
    return _distinct(_drawings(results))


def _drawings(results: Results) -> list[Drawing]:
    experiment = results.experiment
    if experiment.is_grid:
        return [_surface(it) for it in surfaces(results)]
    if len(experiment.horizons) > 1:
        return [_growth(results)]
    table = results.table
    changes = changes_of(results)
    labels = policies_of(table)
    if all(WINDOW.match(label) for label in labels):
        return [_windows(table, changes), _gain_and_cost(table), _seeds(table, experiment)]
    drawings = [
        _world(world_of(experiment), results),
        _gain_and_cost(table),
        _regret(table, changes),
        _seeds(table, experiment),
    ]
    if len(changes) < MOST_PERIODS:
        drawings.append(_recommendations(table, changes, _recommending(labels)))
    choosy = [label for label, share in bought_shares(table).items() if 0 < share < 1]
    if choosy:
        drawings.append(_accuracy(table, choosy))
    drawings += [_purchases(table, label, changes) for label in choosy]
    return drawings + [_events(results, label) for label in labels if event_kinds(table, label)]


def _distinct(drawings: Sequence[Drawing]) -> list[Drawing]:
    """Return the drawings with a number in the names that would be the same."""
    used: Counter[str] = Counter()
    named = []
    for drawing in drawings:
        used[drawing.name] += 1
        count = used[drawing.name]
        name = drawing.name if count == 1 else f"{drawing.name}-{count}"
        named.append(replace(drawing, name=name))
    return named


def changes_of(results: Results) -> list[int]:
    """Return the change points of rewards and costs that lie within the rounds played."""
    replay = world_of(results.experiment)
    cuts = {*replay.reward_changes, *replay.cost_changes}
    return sorted(change for change in cuts if change < rounds_of(results))


def rounds_of(results: Results) -> int:
    """Return how many rounds the longest runs have."""
    return int(results.table["horizon"].max())  # type: ignore[arg-type]


def _world(replay: Replay, results: Results) -> Drawing:
    rounds = rounds_of(results)
    return Drawing(
        "world",
        "Mean reward of each action and mean cost of each feature over time, and the changes of "
        "each.",
        lambda: paper.world(replay, rounds),
        lambda: interactive.world(replay, rounds),
    )


def _gain_and_cost(table: pl.DataFrame) -> Drawing:
    return Drawing(
        "gain-and-cost",
        "Total reward is gain plus cost; means over seeds.",
        lambda: paper.gain_and_cost(table),
        lambda: interactive.gain_and_cost(table),
    )


def _regret(table: pl.DataFrame, changes: Sequence[int]) -> Drawing:
    return Drawing(
        "cumulative-regret",
        "Cumulative regret: the oracle's gain minus the policy's. Lines are means over seeds, "
        "shades their 95 % bootstrap intervals, dotted lines the changes.",
        lambda: paper.cumulative_regret(table, changes),
        lambda: interactive.cumulative_regret(table, changes),
    )


def _windows(table: pl.DataFrame, changes: Sequence[int]) -> Drawing:
    return Drawing(
        "windows",
        "Cumulative regret of NCC-UCRL2 for different windows w.",
        lambda: paper.windows(table, changes),
        lambda: interactive.cumulative_regret(table, changes),
    )


def _recommendations(
    table: pl.DataFrame, changes: Sequence[int], policies: Sequence[str]
) -> Drawing:
    return Drawing(
        "recommendations",
        "How often each action was chosen in every stationary period.",
        lambda: paper.recommendations(table, changes, policies),
        lambda: interactive.recommendations(table, changes, policies),
    )


def _seeds(table: pl.DataFrame, experiment: Experiment) -> Drawing:
    printed = {entry.label: entry.published for entry in experiment.entries if entry.published}
    return Drawing(
        "seeds",
        f"Total gain of every seed{' and the totals that the authors printed' if printed else ''}.",
        lambda: paper.seeds(table, printed),
        lambda: interactive.seeds(table, printed),
    )


def _accuracy(table: pl.DataFrame, policies: Sequence[str]) -> Drawing:
    return Drawing(
        "accuracy",
        "Accuracy: the mean reward of the rounds with up to so many features bought, of the "
        "policies that choose what to buy.",
        lambda: paper.accuracy(table, policies),
        lambda: interactive.accuracy(table, policies),
    )


def _purchases(table: pl.DataFrame, policy: str, changes: Sequence[int]) -> Drawing:
    return Drawing(
        f"purchases-{slug(policy)}",
        f"{policy}: share of the rounds in which it buys each feature, over time.",
        lambda: paper.purchases(table, policy, changes),
        lambda: interactive.purchases(table, policy, changes),
    )


def _events(results: Results, policy: str) -> Drawing:
    replay, rounds = world_of(results.experiment), rounds_of(results)
    both = {"rewards": replay.reward_changes, "prices": replay.cost_changes}
    changes = {of: [it for it in found if it < rounds] for of, found in both.items()}
    return Drawing(
        f"events-{slug(policy)}",
        f"{policy}: what it noticed, in the first seed and in all; dotted lines are the changes of "
        "rewards, dashed ones those of prices.",
        lambda: beyond.events(results.table, policy, changes),
        lambda: interactive.events(results.table, policy, changes),
    )


def _surface(found: Surface) -> Drawing:
    return Drawing(
        f"tuning-{slug(found.policy)}",
        f"{found.policy}: mean gain by its parameters; the best is framed, the paper's crossed.",
        lambda: beyond.surface(found),
        lambda: interactive.surface(found),
    )


def _growth(results: Results) -> Drawing:
    found, bounds = growths(results.table), bounds_of(results)
    return Drawing(
        "growth",
        "Expected regret against the number of rounds, with the slope of each line, below the "
        "theorem's bound.",
        lambda: beyond.growth(found, bounds),
        lambda: interactive.growth(found, bounds),
    )


def _recommending(labels: Sequence[str]) -> list[str]:
    """Return the first label of each policy that the paper compares, or else the first three."""
    found = [
        next((label for label in labels if label.lower().startswith(prefix)), None)
        for prefix in _RECOMMENDING
    ]
    return [label for label in found if label is not None] or list(labels[:3])


def slug(label: str) -> str:
    """Return a label as part of a file's name.

    >>> slug("NCC-UCRL2, text")
    'ncc-ucrl2-text'
    """
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
