"""Figures of an experiment: which ones it has, and how to draw each for print and for a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from matplotlib.figure import Figure

from thrifty.experiments.growth import theorem_bounds
from thrifty.experiments.results import Results
from thrifty.experiments.series import event_kinds, policy_labels, purchase_shares
from thrifty.experiments.single_runs import first_environment
from thrifty.experiments.spec import Experiment
from thrifty.experiments.tuning import Surface, surfaces
from thrifty.figures import diagnostics, interactive, paper

MAX_PERIODS = 12
"""Number of periods from which on the shares of actions are not drawn."""
_RECOMMENDERS = (
    ("oracle",),
    ("ncc-ucrl2-published", "ncc-ucrl2", "ncc-ucrl2-repaired"),
    ("ucb1",),
)
"""Policies whose shares of actions the paper compares; the first that the experiment has."""


@dataclass(frozen=True)
class FigureSpec:
    """A figure: the name of its file, its caption, and functions that draw it."""

    name: str
    caption: str
    printed: Callable[[], Figure] = field(repr=False)
    interactive: Callable[[], dict[str, Any]] = field(repr=False)


def figure_specs(results: Results) -> list[FigureSpec]:
    """Return the figures of an experiment.

    If the environment differs between seeds, the figure of the environment has the first seed.
    """
    return _with_distinct_names(_select(results))


def _select(results: Results) -> list[FigureSpec]:
    experiment = results.experiment
    if experiment.is_grid:
        return [_tuning(surface) for surface in surfaces(results)]
    if len(experiment.horizons) > 1:
        return [_growth(results)]
    changes = all_changes(results)
    if experiment.windows:
        return [_windows(results, changes), _gain_and_cost(results), _seeds(results)]
    specs = [
        _environment(results),
        _gain_and_cost(results),
        _regret(results, changes),
        _seeds(results),
    ]
    if len(changes) < MAX_PERIODS:
        specs.append(_recommendations(results, changes))
    selective = [label for label, share in purchase_shares(results.table).items() if 0 < share < 1]
    if selective:
        specs.append(_accuracy(results, selective))
    specs += [_purchases(results, label, changes) for label in selective]
    labels = policy_labels(results.table)
    return specs + [
        _events(results, label) for label in labels if event_kinds(results.table, label)
    ]


def _with_distinct_names(specs: Sequence[FigureSpec]) -> list[FigureSpec]:
    """Return the figures with a number added to names that occur more than once."""
    used: Counter[str] = Counter()
    distinct = []
    for spec in specs:
        used[spec.name] += 1
        count = used[spec.name]
        name = spec.name if count == 1 else f"{spec.name}-{count}"
        distinct.append(replace(spec, name=name))
    return distinct


def all_changes(results: Results) -> list[int]:
    """Return the rounds played in which mean rewards or costs change."""
    by_kind = changes_by_kind(results)
    return sorted({change for changes in by_kind.values() for change in changes})


def changes_by_kind(results: Results) -> dict[str, list[int]]:
    """Return the rounds played in which mean rewards change, and in which prices do."""
    replay, rounds = first_environment(results.experiment), longest_run(results)
    both = {"rewards": replay.reward_changes, "prices": replay.cost_changes}
    return {
        kind: [change for change in changes if change < rounds] for kind, changes in both.items()
    }


def longest_run(results: Results) -> int:
    """Return the number of rounds of the longest runs."""
    return int(results.table["horizon"].max())  # type: ignore[arg-type]


def _environment(results: Results) -> FigureSpec:
    replay, rounds = first_environment(results.experiment), longest_run(results)
    return FigureSpec(
        "environment",
        "Mean reward of each action and mean cost of each feature over time. Dotted lines are "
        "changes.",
        lambda: paper.environment(replay, rounds),
        lambda: interactive.environment(replay, rounds),
    )


def _gain_and_cost(results: Results) -> FigureSpec:
    return FigureSpec(
        "gain-and-cost",
        "Total reward, divided into gain and cost. Means over seeds.",
        lambda: paper.gain_and_cost(results),
        lambda: interactive.gain_and_cost(results),
    )


def _regret(results: Results, changes: Sequence[int]) -> FigureSpec:
    return FigureSpec(
        "cumulative-regret",
        "Cumulative regret: the oracle's gain minus the policy's. Lines are means over seeds, "
        "shaded areas are 95 % bootstrap intervals, dotted lines are changes.",
        lambda: paper.cumulative_regret(results, changes),
        lambda: interactive.cumulative_regret(results, changes),
    )


def _windows(results: Results, changes: Sequence[int]) -> FigureSpec:
    return FigureSpec(
        "windows",
        "Cumulative regret of NCC-UCRL2 for different windows w.",
        lambda: paper.windows(results, changes),
        lambda: interactive.cumulative_regret(results, changes),
    )


def _recommendations(results: Results, changes: Sequence[int]) -> FigureSpec:
    labels = _recommenders(results.experiment)
    return FigureSpec(
        "recommendations",
        "Share of each action in every stationary period.",
        lambda: paper.recommendations(results, changes, labels),
        lambda: interactive.recommendations(results, changes, labels),
    )


def _seeds(results: Results) -> FigureSpec:
    published = bool(results.experiment.published_gains)
    return FigureSpec(
        "seeds",
        f"Total gain of every seed{', and the totals that the authors printed' * published}.",
        lambda: paper.seeds(results),
        lambda: interactive.seeds(results),
    )


def _accuracy(results: Results, labels: Sequence[str]) -> FigureSpec:
    return FigureSpec(
        "accuracy",
        "Accuracy: mean reward of the rounds in which at most this number of features was bought, "
        "for the policies that choose which features to buy.",
        lambda: paper.accuracy(results, labels),
        lambda: interactive.accuracy(results, labels),
    )


def _purchases(results: Results, label: str, changes: Sequence[int]) -> FigureSpec:
    return FigureSpec(
        f"purchases-{slug(label)}",
        f"{label}: share of the rounds in which it buys each feature, over time.",
        lambda: paper.purchases(results, label, changes),
        lambda: interactive.purchases(results, label, changes),
    )


def _events(results: Results, label: str) -> FigureSpec:
    changes = changes_by_kind(results)
    return FigureSpec(
        f"events-{slug(label)}",
        f"{label}: recorded events of the first seed, and their mean number over all seeds. Dotted "
        "lines are changes of rewards, dashed lines changes of prices.",
        lambda: diagnostics.events(results, label, changes),
        lambda: interactive.events(results, label, changes),
    )


def _tuning(surface: Surface) -> FigureSpec:
    return FigureSpec(
        f"tuning-{slug(surface.policy)}",
        f"{surface.policy}: mean gain by parameters. The square marks the best parameters, the "
        "cross the paper's.",
        lambda: diagnostics.tuning(surface),
        lambda: interactive.tuning(surface),
    )


def _growth(results: Results) -> FigureSpec:
    bounds = theorem_bounds(results)
    return FigureSpec(
        "growth",
        "Expected regret against the number of rounds, with the slope of each line, and the bound "
        "of the theorem.",
        lambda: diagnostics.growth(results, bounds),
        lambda: interactive.growth(results, bounds),
    )


def _recommenders(experiment: Experiment) -> list[str]:
    """Return the labels of the policies that the paper compares, or else the first three."""
    found = [
        next((entry.label for entry in experiment.entries if entry.policy in policies), None)
        for policies in _RECOMMENDERS
    ]
    labels = [entry.label for entry in experiment.entries]
    return [label for label in found if label is not None] or labels[:3]


def slug(label: str) -> str:
    """Return a label in a form that fits a file name.

    >>> slug("NCC-UCRL2, text")
    'ncc-ucrl2-text'
    """
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
