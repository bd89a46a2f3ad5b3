"""Results on disk: one Parquet file per experiment, with the experiment in its metadata."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from thrifty._version import __version__
from thrifty.errors import InvalidTable
from thrifty.experiments.roles import Role
from thrifty.experiments.single_runs import SCHEMA_VERSION
from thrifty.experiments.spec import Entry, Experiment, Target
from thrifty.files import atomic_write

TABLE = "table.parquet"
_METADATA_KEY = "thrifty"
_NAMES_IN_FILES = {"environment": "world", "environment_params": "world_params"}
"""Fields of an experiment whose names in files are those of the first release."""


@dataclass(frozen=True)
class Results:
    """An experiment and its table. Figures, tables and reports need nothing else.

    In memory, columns of text are of type `polars.Enum`, which makes filters much faster; in files
    they are strings.

    Parameters
    ----------
    experiment : Experiment
        The experiment that was run.
    table : polars.DataFrame
        Its results in long form (see `thrifty.experiments.single_runs`), with the columns `policy`
        (the label) and `seed` in front.
    """

    experiment: Experiment
    table: pl.DataFrame

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", with_enums(self.table))


def with_enums(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with its strings as `polars.Enum`."""
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    kinds = {name: pl.Enum(table[name].unique(maintain_order=True)) for name in texts}
    return table.cast(kinds)  # type: ignore[arg-type]


def with_strings(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with strings, as in files."""
    return table.cast({name: pl.String for name, kind in table.schema.items() if kind == pl.Enum})


def write_results(results: Results, out: Path) -> Path:
    """Write the table and its experiment to OUT/ID/table.parquet."""
    experiment = asdict(results.experiment)
    metadata = {
        "schema": SCHEMA_VERSION,
        "version": __version__,
        "experiment": {_NAMES_IN_FILES.get(key, key): value for key, value in experiment.items()},
    }
    path = out / results.experiment.id / TABLE
    with atomic_write(path, make_folder=True) as draft:
        write_parquet(with_strings(results.table), draft, {_METADATA_KEY: json.dumps(metadata)})
    return path


def read_results(folder: Path) -> Results:
    """Read the results that `write_results` wrote to the folder OUT/ID."""
    path = folder / TABLE
    try:
        text = pl.read_parquet_metadata(path).get(_METADATA_KEY)
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{folder} contains no results ({first_line(error)}): give a folder that `thrifty run` "
            "wrote, such as results/nursery/published."
        ) from error
    metadata: dict[str, Any] = json.loads(text or '{"schema": 1}')  # the first schema had none
    if metadata["schema"] != SCHEMA_VERSION:
        raise InvalidTable(
            f"{path} has schema {metadata['schema']}, but this version of Thrifty reads schema "
            f"{SCHEMA_VERSION}: run the experiment again."
        )
    return Results(_experiment_from(metadata["experiment"]), table)


def write_parquet(table: pl.DataFrame, path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a table; raise OSError for every kind of failure."""
    try:
        table.write_parquet(path, metadata=metadata)
    except pl.exceptions.PolarsError as error:
        raise OSError(first_line(error)) from error


def _experiment_from(content: dict[str, Any]) -> Experiment:
    for name, name_in_file in _NAMES_IN_FILES.items():
        content[name] = content.pop(name_in_file)
    for name in ("seeds", "horizons", "choosing_seeds"):
        content[name] = tuple(content.get(name, ()))
    content["entries"] = tuple(_entry_from(entry) for entry in content["entries"])
    content["targets"] = tuple(Target(**target) for target in content.get("targets", ()))
    return Experiment(**content)


def _entry_from(content: dict[str, Any]) -> Entry:
    role = content.get("role")  # files of earlier releases have no roles
    return Entry(
        **{
            **content,
            "published": tuple(content["published"]),
            "grid": tuple(content["grid"]),
            "role": None if role is None else Role(role),
        }
    )


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or the name of its class."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
