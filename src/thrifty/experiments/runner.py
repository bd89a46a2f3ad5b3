"""Runs experiments: in parallel, and so that nothing finished is ever lost or done again.

Every cell's table goes into a file of its own as soon as it is computed. A run that was
interrupted finds these files and goes on; a worker that dies costs its cell only, which is
computed again. The table of the experiment is put together from them at the end, in the order of
the specification, so it does not depend on who computed what when.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import polars as pl

from thrifty.errors import SaveError
from thrifty.experiments.cells import SCHEMA, Cell, cells_of
from thrifty.experiments.spec import Experiment

TABLE = "table.parquet"
MOST_DEATHS = 10


def run(
    experiment: Experiment,
    folder: Path,
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Compute what is missing in `folder`, and return (and write there) the experiment's table.

    `progress` is called with the number of cells that have become available.
    """
    cells = cells_of(experiment)
    store = Store(folder)
    missing = [cell for cell in cells.values() if not store.has(cell)]
    report = progress or (lambda _: None)
    report(len(cells) - len(missing))
    count = workers or os.cpu_count() or 1
    compute_all = _compute_here if count == 1 or len(missing) <= 1 else _compute_in_processes
    for cell in compute_all(missing, store, count):
        del cell
        report(1)
    table = pl.concat(
        store.read(cell).select(
            pl.lit(label).alias("policy"), pl.lit(seed, pl.Int64).alias("seed"), *SCHEMA
        )
        for (label, seed), cell in cells.items()
    )
    store.write(table, folder / TABLE)
    return table


class Store:
    """The folder of an experiment: a file for each cell, which appears complete or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            (folder / "cells").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(folder, error) from error

    def has(self, cell: Cell) -> bool:
        """Whether the cell has been computed."""
        return self._path(cell).exists()

    def read(self, cell: Cell) -> pl.DataFrame:
        """Return the cell's table."""
        return pl.read_parquet(self._path(cell))

    def add(self, cell: Cell) -> None:
        """Compute the cell and keep its table."""
        self.write(cell.compute(), self._path(cell))

    def write(self, table: pl.DataFrame, path: Path) -> None:
        """Write a table to a file that appears complete or not at all."""
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            table.write_parquet(draft)
            draft.replace(path)
        except OSError as error:
            raise _unwritable(path, error) from error
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)

    def _path(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.key}.parquet"


def _unwritable(path: Path, error: OSError) -> SaveError:
    return SaveError(
        f"{path} cannot be written ({error}): choose a folder that is writable and has room; what "
        "was finished before is kept."
    )


def _compute_here(missing: list[Cell], store: Store, workers: int) -> Iterable[Cell]:
    del workers
    for cell in missing:
        store.add(cell)
        yield cell


def _compute_in_processes(missing: list[Cell], store: Store, workers: int) -> Iterable[Cell]:
    """Compute the cells in processes; if one dies, start again with what is left."""
    deaths = 0
    left = dict.fromkeys(missing)
    while left:
        # Spawned, not forked: the parent may hold threads and compiled code.
        # An interrupt is the parent's to handle: it waits for the cells that are under way.
        pool = ProcessPoolExecutor(
            workers,
            mp_context=get_context("spawn"),
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),
        )
        try:
            futures = {pool.submit(store.add, cell): cell for cell in left}
            for future in as_completed(futures):
                future.result()
                del left[futures[future]]
                yield futures[future]
        except BrokenProcessPool as error:
            deaths += 1
            for cell in [cell for cell in left if store.has(cell)]:
                del left[cell]
                yield cell
            if deaths > MOST_DEATHS:
                raise SaveError(
                    f"worker processes died {deaths} times, so something kills them (too little "
                    f"memory?): {len(missing) - len(left)} cells are kept; run again with fewer "
                    "workers to go on."
                ) from error
        finally:
            pool.shutdown(cancel_futures=True)
