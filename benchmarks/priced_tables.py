"""Real tables with price lists, read as past cases.

The tables are not part of the project. `THRIFTY_PRICED` names their folder; the default is
`shared/priced` beside the project, or beside a folder above it.
"""

from __future__ import annotations

import os
from pathlib import Path

from thrifty.errors import InvalidTable
from thrifty.experiments.priced_tables import TURNEY, VARIABLE, read_policy_file
from thrifty.plans.cases import PastCases
from thrifty.tables import Cases, read_cases

NAMES = (*TURNEY, "german")


def priced_folder() -> Path:
    """Return the folder of the tables, which may not exist."""
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    project = Path(__file__).resolve().parents[1]
    candidates = [folder / "shared" / "priced" for folder in project.parents]
    return next(filter(Path.is_dir, candidates), candidates[0])


def reason_absent(folder: Path | None = None) -> str | None:
    """Return why the tables cannot be read, or None if they can be."""
    folder = priced_folder() if folder is None else folder
    if (folder / f"{NAMES[0]}.csv").is_file():
        return None
    return f"there are no priced tables in {folder}: set {VARIABLE} to their folder"


def load(name: str, folder: Path | None = None, error_cost: float | None = None) -> PastCases:
    """Return a priced table as past cases, in the order of its rows.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    folder : Path, optional
        Folder of the tables.
    error_cost : float, optional
        Replaces the cost of every error: every negative reward becomes minus this.

    Returns
    -------
    PastCases
        The cases with uncut columns.

    Raises
    ------
    InvalidTable
        If the folder has no such table.
    """
    return load_cases(name, folder, error_cost).past_cases


def load_cases(name: str, folder: Path | None = None, error_cost: float | None = None) -> Cases:
    """Return a priced table as `thrifty worth` reads it."""
    folder = priced_folder() if folder is None else folder
    absent = reason_absent(folder)
    if absent is not None:
        raise InvalidTable(f"{absent}.")
    policy_file = read_policy_file(folder, name, error_cost)
    return read_cases(folder / f"{name}.csv", policy_file, in_order=True)
