"""Results on disk: a table in one Parquet file, which says itself which experiment it is of."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from thrifty._version import __version__
from thrifty.errors import InvalidTable
from thrifty.experiments.cells import SCHEMA_VERSION
from thrifty.experiments.spec import Entry, Experiment, Target
from thrifty.files import atomic_write

TABLE = "table.parquet"
_ABOUT = "thrifty"


@dataclass(frozen=True)
class Results:
    """An experiment and its table: all that figures, tables and reports are functions of.

    In memory the table's names are kept as numbers (`polars.Enum`), and are found much faster; in
    the file they are strings.
    """

    experiment: Experiment
    table: pl.DataFrame

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", quick(self.table))


def quick(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with its strings kept as numbers."""
    named = [name for name, kind in table.schema.items() if kind == pl.String]
    kinds = {name: pl.Enum(table[name].unique(maintain_order=True)) for name in named}
    return table.cast(kinds)  # type: ignore[arg-type]


def plain(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with strings again, as it stands in files."""
    return table.cast({name: pl.String for name, kind in table.schema.items() if kind == pl.Enum})


def write_results(results: Results, out: Path) -> Path:
    """Write the table, and what it is of, to OUT/ID/table.parquet."""
    about = {
        "schema": SCHEMA_VERSION,
        "version": __version__,
        "experiment": asdict(results.experiment),
    }
    path = out / results.experiment.id / TABLE
    with atomic_write(path, make_folder=True) as draft:
        write_parquet(plain(results.table), draft, {_ABOUT: json.dumps(about)})
    return path


def read_results(folder: Path) -> Results:
    """Read what `write_results` wrote to OUT/ID, the folder."""
    path = folder / TABLE
    try:
        about = pl.read_parquet_metadata(path).get(_ABOUT)
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{folder} holds no table of results ({reason_of(error)}): give a folder that `thrifty "
            "run` wrote, such as results/nursery/published."
        ) from error
    described: dict[str, Any] = json.loads(about or '{"schema": 1}')  # the first one said nothing
    if described["schema"] != SCHEMA_VERSION:
        raise InvalidTable(
            f"{path} has schema {described['schema']}, and this version of Thrifty reads schema "
            f"{SCHEMA_VERSION}: run the experiment again."
        )
    return Results(_experiment(described["experiment"]), table)


def write_parquet(table: pl.DataFrame, path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a table; whatever polars calls a failure to write is an OSError."""
    try:
        table.write_parquet(path, metadata=metadata)
    except pl.exceptions.PolarsError as error:
        raise OSError(reason_of(error)) from error


def _experiment(content: dict[str, Any]) -> Experiment:
    entries = tuple(
        Entry(**{**entry, "published": tuple(entry["published"]), "grid": tuple(entry["grid"])})
        for entry in content["entries"]
    )
    listed = {
        name: tuple(content.get(name, ())) for name in ("seeds", "horizons", "choosing_seeds")
    }
    targets = tuple(Target(**it) for it in content.get("targets", ()))
    return Experiment(**{**content, **listed, "entries": entries, "targets": targets})


def reason_of(error: Exception) -> str:
    """Return what an error says, on one line."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
