"""Figures of experiments: what makes sense for an experiment, written to files fit for print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from thrifty.errors import InvalidParameter
from thrifty.experiments.results import Results
from thrifty.figures.drawings import drawings_of
from thrifty.figures.report import write_report
from thrifty.figures.style import print_quality
from thrifty.files import atomic_write

__all__ = ["FORMATS", "draw_all", "require_formats", "save", "write_report"]

FORMATS = ("pdf", "png", "svg")
FOLDER = "figures"

_OPTIONS: dict[str, dict[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None}},  # no date: the same table gives the same file
    "png": {"pil_kwargs": {"compress_level": 2}},  # twice as fast, hardly larger
    "svg": {"metadata": {"Date": None}},
}


def draw_all(folder: Path, results: Results, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write every figure that makes sense for the experiment to folder/figures/NAME.FORMAT."""
    require_formats(formats)
    paths = []
    for drawing in drawings_of(results):
        figure = drawing.printed()
        files = [folder / FOLDER / f"{drawing.name}.{format_}" for format_ in formats]
        paths += [save(figure, file) for file in files]
    return paths


def save(figure: Figure, path: Path) -> Path:
    """Write a figure in the format of the path's suffix; the file appears complete or not at all.

    The same figure gives the same bytes.
    """
    format_ = path.suffix.removeprefix(".")
    require_formats([format_])
    with atomic_write(path, make_folder=True) as draft, print_quality():
        figure.savefig(draft, format=format_, **_OPTIONS[format_])
    return path


def require_formats(formats: Sequence[str]) -> None:
    """Refuse formats that figures cannot be written in."""
    unknown = [format_ for format_ in formats if format_ not in FORMATS]
    if unknown or not formats:
        raise InvalidParameter(
            f"formats {','.join(formats)!r}: figures are written as {', '.join(FORMATS)}, so name "
            "one or more of these, with commas between them."
        )
