"""Write the figures of an experiment to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from thrifty.experiments.results import Results
from thrifty.figures.figure_list import figure_specs
from thrifty.figures.formats import FORMATS, require_formats
from thrifty.figures.style import print_quality
from thrifty.files import atomic_write

FOLDER = "figures"

_OPTIONS: dict[str, dict[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None}},  # without a date, equal tables give equal files
    "png": {"pil_kwargs": {"compress_level": 2}},  # twice as fast, hardly larger
    "svg": {"metadata": {"Date": None}},
}


def write_figures(
    folder: Path,
    results: Results,
    formats: Sequence[str] = FORMATS,
    *,
    part: int = 0,
    parts: int = 1,
) -> list[Path]:
    """Write the figures of an experiment to FOLDER/figures/NAME.FORMAT.

    With `parts`, write only every `parts`-th figure, starting with number `part`, so that several
    processes can share the work.
    """
    require_formats(formats)
    paths = []
    for spec in figure_specs(results)[part::parts]:
        figure = spec.printed()
        files = [folder / FOLDER / f"{spec.name}.{format_}" for format_ in formats]
        paths += [save(figure, file) for file in files]
    return paths


def save(figure: Figure, path: Path) -> Path:
    """Write a figure in the format of the path's suffix. Equal figures give equal bytes."""
    format_ = path.suffix.removeprefix(".")
    require_formats([format_])
    with atomic_write(path, make_folder=True, sync=False) as draft, print_quality():
        figure.savefig(draft, format=format_, **_OPTIONS[format_])
    return path
