"""Figures of experiments: what makes sense for an experiment, written to files fit for print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from thrifty.environments import Replay
from thrifty.errors import InvalidParameter
from thrifty.experiments.spec import Experiment
from thrifty.experiments.worlds import world_named
from thrifty.figures import paper
from thrifty.figures.curves import bought_share, keys_of, policies_of
from thrifty.figures.files import draft_of
from thrifty.figures.style import WINDOW, print_quality

FORMATS = ("pdf", "png", "svg")
FOLDER = "figures"
MOST_PERIODS = 12

# Files hold no date, so that the same table gives the same files.
_METADATA = {"pdf": {"CreationDate": None}, "png": {}, "svg": {"Date": None}}
_RECOMMENDING = ("oracle", "ncc-ucrl2", "ucb1")


def draw_all(
    folder: Path, experiment: Experiment, table: pl.DataFrame, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write every figure that makes sense for the experiment to folder/figures/NAME.FORMAT."""
    require_formats(formats)
    return [
        save(figure, folder / FOLDER / f"{name}.{format_}")
        for name, figure in figures_of(experiment, table)
        for format_ in formats
    ]


def figures_of(experiment: Experiment, table: pl.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Draw one figure after the other, each with its name.

    A world that differs from seed to seed is drawn for the first seed of the table.
    """
    replay = _world(experiment, table)
    changes = _changes(replay, experiment.rounds)
    labels = policies_of(table)
    yield "world", paper.world(replay, experiment.rounds)
    yield "gain-and-cost", paper.gain_and_cost(table)
    are_windows = all(WINDOW.match(label) for label in labels)
    if are_windows:
        yield "windows", paper.windows(table, changes)
    else:
        yield "cumulative-regret", paper.cumulative_regret(table, changes)
    if len(changes) < MOST_PERIODS:
        yield "recommendations", paper.recommendations(table, changes, _recommending(labels))
    published = {entry.label: entry.published for entry in experiment.entries if entry.published}
    yield "seeds", paper.seeds(table, published)
    choosy = [label for label in labels if _is_choosy(table, label)]
    if choosy and not are_windows:
        yield "accuracy", paper.accuracy(table, choosy)
    for label in choosy:
        yield f"purchases-{_slug(label)}", paper.purchases(table, label, changes)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure in the format of the path's suffix; the file appears complete or not at all.

    The same figure gives the same bytes.
    """
    format_ = path.suffix.removeprefix(".")
    require_formats([format_])
    with draft_of(path) as draft, print_quality():
        figure.savefig(draft, format=format_, metadata=_METADATA[format_])
    return path


def write_report(folder: Path, experiment: Experiment, table: pl.DataFrame) -> Path:
    """Write folder/report.html: one file with interactive figures that works offline."""
    from thrifty.figures.report import write_report as write  # nothing else here needs plotly

    changes = _changes(_world(experiment, table), experiment.rounds)
    return write(folder, experiment, table, changes)


def require_formats(formats: Sequence[str]) -> None:
    """Refuse formats that figures cannot be written in."""
    unknown = [format_ for format_ in formats if format_ not in FORMATS]
    if unknown or not formats:
        raise InvalidParameter(
            f"formats {','.join(formats)!r}: figures are written as {', '.join(FORMATS)}, so name "
            "one or more of these, with commas between them."
        )


def _world(experiment: Experiment, table: pl.DataFrame) -> Replay:
    return world_named(experiment.world)(int(table["seed"][0]), **experiment.world_params)


def _changes(replay: Replay, rounds: int | None) -> list[int]:
    stop = replay.horizon if rounds is None else rounds
    cuts = {*replay.reward_changes, *replay.cost_changes}
    return sorted(change for change in cuts if change < stop)


def _recommending(labels: Sequence[str]) -> list[str]:
    """Return the first label of each policy that the paper compares, or else the first three."""
    found = [
        next((label for label in labels if label.lower().startswith(prefix)), None)
        for prefix in _RECOMMENDING
    ]
    return [label for label in found if label is not None] or list(labels[:3])


def _is_choosy(table: pl.DataFrame, policy: str) -> bool:
    """Return whether the policy buys some features in some rounds, neither all nor none ever."""
    shares = [bought_share(table, policy, key).mean() for key in keys_of(table, "purchases")]
    return bool(0 < sum(shares) < len(shares))


def _slug(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
