"""Runs experiments: in parallel, and so that nothing finished is ever lost or done again.

Workers are handed small batches of cells and return their tables; each goes into a file of its own
as soon as it arrives. A run that was interrupted finds these files and goes on; a worker that dies
costs its batch only, which is computed again. The table of the experiment is put together from
them at the end, in the order of the specification, so it does not depend on who computed what when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from itertools import groupby
from pathlib import Path

import polars as pl

from thrifty.errors import InvalidTable
from thrifty.experiments.cells import SCHEMA, Cell, Place, cells_of
from thrifty.experiments.engines import Engine, engine_of
from thrifty.experiments.results import Results, reason_of, write_results
from thrifty.experiments.spec import Experiment
from thrifty.files import atomic_write

CELLS = "cells"
BATCH = 16


def run(
    experiment: Experiment,
    out: Path,
    *,
    workers: int | None = None,
    fresh: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Results:
    """Compute what is missing in `out`, and return (and write to OUT/ID) the experiment's table.

    `fresh` computes everything anew. `progress` is called with the number of cells that have
    become available.
    """
    store = Store(out, fresh=fresh)
    with engine_of(workers) as engine:
        return run_all([experiment], store, engine=engine, progress=progress)[0]


def run_all(
    experiments: Sequence[Experiment],
    store: Store,
    *,
    engine: Engine,
    progress: Callable[[int], None] | None = None,
) -> list[Results]:
    """Run several experiments on one engine; cells that they share are computed once."""
    cells = dict.fromkeys(cell for it in experiments for cell in cells_of(it).values())
    missing = [cell for cell in cells if not store.has(cell)]
    report = progress or (lambda _: None)
    report(len(cells) - len(missing))
    batches = _batches(missing)
    for place, files in engine.run([partial(_computed, batch) for batch in batches]):
        for cell, content in zip(batches[place], files, strict=True):
            store.add(cell, content)
        report(len(batches[place]))
    results = [Results(it, store.table(cells_of(it))) for it in experiments]
    for it in results:
        write_results(it, store.out)
    return results


class Store:
    """The folder of all cells: a file for each, which appears complete or not at all.

    A fresh store takes no notice of cells that it has not been given itself.
    """

    def __init__(self, out: Path, *, fresh: bool = False) -> None:
        self.out = out
        self.folder = out / CELLS
        self._own: set[Cell] | None = set() if fresh else None

    def has(self, cell: Cell) -> bool:
        """Whether the cell has been computed."""
        return self.path(cell).exists() if self._own is None else cell in self._own

    def add(self, cell: Cell, content: bytes) -> None:
        """Keep a cell's table, which is a file's content."""
        with atomic_write(self.path(cell), make_folder=True, sync=False) as draft:
            draft.write_bytes(content)
        if self._own is not None:
            self._own.add(cell)

    def table(self, cells: dict[Place, Cell]) -> pl.DataFrame:
        """Return the tables of all cells, each with its policy and its seed, in this order."""
        paths = [str(self.path(cell)) for cell in cells.values()]
        try:
            rows = pl.read_parquet(
                list(dict.fromkeys(paths)), schema=SCHEMA, include_file_paths="path"
            )
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InvalidTable(
                f"a file in {self.folder} is spoilt ({reason_of(error)}): remove it, or run with "
                "--fresh."
            ) from error
        places = pl.DataFrame(
            [(path, label, seed) for path, (label, _, seed) in zip(paths, cells, strict=True)],
            schema={"path": pl.String, "policy": pl.String, "seed": pl.Int64},
            orient="row",
        )
        joined = places.join(rows, on="path", maintain_order="left_right")
        return joined.select("policy", "seed", *SCHEMA)

    def path(self, cell: Cell) -> Path:
        """Return where the cell's table is, or will be."""
        return self.folder / f"{cell.key}.parquet"


def _batches(cells: list[Cell]) -> list[list[Cell]]:
    """Return the cells in batches that share a world, so that it is made once."""
    worlds = groupby(cells, key=lambda cell: (cell.world, cell.world_params, cell.seed))
    groups = [list(group) for _, group in worlds]
    return [group[k : k + BATCH] for group in groups for k in range(0, len(group), BATCH)]


def _computed(cells: Sequence[Cell]) -> list[bytes]:
    """Return the tables of cells, each as the content of a file."""
    return [_parquet(cell.compute()) for cell in cells]


def _parquet(table: pl.DataFrame) -> bytes:
    file = BytesIO()
    table.write_parquet(file)
    return file.getvalue()
