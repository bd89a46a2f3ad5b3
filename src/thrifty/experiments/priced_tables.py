"""Real tables with price lists: NAME.csv with past cases, and NAME.json with what they cost.

The JSON file has `target` (the column with the outcome), `prices` by column, `groups` (a setup fee
that is included in each member's price and paid once per case) and `rewards` by action and outcome.
A column that is neither priced nor the target is free.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.errors import InvalidParameter, InvalidTable, UnknownName
from thrifty.plans.cases import PastCases
from thrifty.policy_file import PolicyFile, parse_policy_file
from thrifty.problem import Outcomes, Problem
from thrifty.tables import read_cases

TURNEY = ("thyroid", "heart", "pima", "hepatitis", "liver")
"""The tables that Turney (1995) published prices for."""
VARIABLE = "THRIFTY_PRICED"
"""Environment variable with the folder of the tables."""


@dataclass(frozen=True, eq=False)
class PricedTable:
    """A table of past cases with prices, rewards and outcomes.

    Parameters
    ----------
    name : str
        Name of the table.
    cases : PastCases
        Its cases, with the rewards of the JSON file.
    digest : str
        Hash of both files.
    """

    name: str
    cases: PastCases
    digest: str = field(default="", repr=False)

    @property
    def total_price(self) -> float:
        """T, the price of all looks, every setup fee paid once."""
        return float(self.cases.cost(range(len(self.cases.looks))).mean())

    @cached_property
    def error_share(self) -> float:
        """Share of the cases that are not in the most frequent class."""
        return 1.0 - float(np.bincount(self.cases.outcomes).max()) / self.cases.n_cases

    def standard_cost(self, error_cost: float) -> float:
        """Return Turney's standard cost: buy everything, and say the most frequent class."""
        return self.total_price + self.error_share * error_cost

    def with_error_cost(self, error_cost: float) -> PastCases:
        """Return the cases with this cost of every error, instead of the table's own."""
        problem = self.cases.problem
        assert problem.outcomes is not None
        rewards = _with_error_cost(problem.outcomes.rewards, error_cost)
        outcomes = Outcomes(problem.outcomes.names, rewards)
        changed = Problem(problem.features, problem.actions, outcomes, problem.prices)
        return replace(self.cases, problem=changed)


def require_folder(folder: Path | None) -> Path:
    """Return the folder of the tables, or say where to get them."""
    reason = "no folder was given" if folder is None else f"{folder} is not a folder"
    if folder is None or not folder.is_dir():
        raise InvalidParameter(
            f"the tables with prices are not part of Thrifty, and {reason}: put NAME.csv and "
            f"NAME.json of {', '.join(TURNEY)} into a folder and give it with --data or the "
            f"environment variable {VARIABLE}. docs/priced.md describes the files."
        )
    return folder


def read_priced_table(folder: Path, name: str) -> PricedTable:
    """Read NAME.csv and NAME.json.

    Parameters
    ----------
    folder : Path
        Folder with both files.
    name : str
        Name of the table.

    Returns
    -------
    PricedTable
        The table, in the order of its rows, with uncut columns.

    Raises
    ------
    UnknownName
        If a file is missing.
    InvalidTable
        If a file cannot be read, or the two do not fit.
    """
    csv, description = folder / f"{name}.csv", folder / f"{name}.json"
    absent = next((path for path in (csv, description) if not path.is_file()), None)
    if absent is not None:
        known = ", ".join(sorted(path.stem for path in folder.glob("*.csv"))) or "none"
        raise UnknownName(
            f"{absent} does not exist, so the table {name!r} cannot be read: the tables in "
            f"{folder} are: {known}."
        )
    try:
        cases = read_cases(csv, read_policy_file(folder, name), in_order=True).past_cases
        contents = description.read_bytes() + csv.read_bytes()
    except (OSError, ValueError, KeyError) as error:
        raise InvalidTable(
            f"table {name!r} in {folder} cannot be used ({_reason(error)}): correct {name}.csv or "
            f"{name}.json."
        ) from error
    return PricedTable(name, cases, hashlib.sha256(contents).hexdigest()[:16])


def _reason(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def read_policy_file(folder: Path, name: str, error_cost: float | None = None) -> PolicyFile:
    """Return the policy file of a table, from NAME.json and the head of NAME.csv.

    With `error_cost`, every negative reward becomes minus this.
    """
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        columns = file.readline().strip().split(",")
    groups = about.get("groups", {})
    fees = {member: group["setup"] for group in groups.values() for member in group["members"]}
    features: list[dict[str, Any]] = []
    for column in columns:
        if column in about["prices"]:
            # The description includes the setup fee in the price; a policy file adds it.
            price = round(about["prices"][column] - fees.get(column, 0.0), 6)
            features.append({"name": column, "price": price})
        elif column != about["target"]:
            features.append({"name": column, "free": True})
    return parse_policy_file(
        {
            "table": {"target": about["target"]},
            "features": features,
            "groups": [
                {"name": group, "features": entry["members"], "setup": entry["setup"]}
                for group, entry in groups.items()
            ],
            "outcomes": {"rewards": _with_error_cost(about["rewards"], error_cost)},
        }
    )


def _with_error_cost(
    rewards: Mapping[str, Mapping[str, float]], error_cost: float | None
) -> dict[str, dict[str, float]]:
    """Return the rewards with minus the error cost instead of every negative one, if given."""
    replaced = None if error_cost is None else -error_cost
    return {
        action: {
            outcome: money if replaced is None or money >= 0 else replaced
            for outcome, money in row.items()
        }
        for action, row in rewards.items()
    }
