"""Summaries of the benchmark of priced tables: means, and paired differences from the plan.

Splits of one table share cases, so their results are not independent. The standard error of a mean
over J splits has the correction of Nadeau and Bengio (2003): the variance between splits is
multiplied by 1/J + n_test / n_learning instead of 1/J.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from thrifty.errors import InvalidTable
from thrifty.experiments.priced import LEARNING_SHARE, SCHEMA
from thrifty.files import atomic_write
from thrifty.plans.cases import Floats

FOLDER = "priced"
"""Folder of the results, below the folder of all results."""
TABLE = "priced.parquet"
REFERENCE = "plan"
"""Label of the method that the others are compared with."""


@dataclass(frozen=True)
class PairedDifference:
    """Mean difference from the reference, in percent of the standard cost; above 0 is worse.

    Parameters
    ----------
    mean : float
        Mean over error costs and splits.
    error : float
        Its standard error; NaN with a single split.
    """

    mean: float
    error: float


@dataclass(frozen=True)
class MethodSummary:
    """Figures of a method, in percent of the standard cost.

    Parameters
    ----------
    method : str
        Label of the method.
    percent : float
        Mean over tables, error costs and splits.
    difference : PairedDifference
        Difference from the reference.
    by_table : dict
        Mean by table.
    differences : dict
        Difference from the reference by table.
    by_error_cost : dict
        Mean over tables by error cost.
    seconds : float
        Mean time to learn and decide for one split and error cost, with all labels of its method.
    """

    method: str
    percent: float
    difference: PairedDifference
    by_table: dict[str, float]
    differences: dict[str, PairedDifference]
    by_error_cost: dict[float, float]
    seconds: float


def write_table(table: pl.DataFrame, folder: Path) -> Path:
    """Write the results to FOLDER/priced.parquet."""
    path = folder / TABLE
    with atomic_write(path, make_folder=True, sync=False) as draft:
        table.write_parquet(draft)
    return path


def read_table(path: Path) -> pl.DataFrame:
    """Read results that `write_table` wrote."""
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{path} cannot be read ({str(error).splitlines()[0]}): make it with `thrifty run "
            "priced`."
        ) from error
    if table.schema != SCHEMA:
        raise InvalidTable(
            f"{path} is no table of the benchmark of priced tables: make it with `thrifty run "
            "priced`."
        )
    return table


def summarise(table: pl.DataFrame) -> list[MethodSummary]:
    """Return the summary of every method, the lowest cost first.

    Parameters
    ----------
    table : polars.DataFrame
        Results of `thrifty.experiments.priced.run_priced`.

    Returns
    -------
    list of MethodSummary
        Summaries; differences are from the plan, or from the first method if there is no plan.
    """
    methods = table["method"].unique(maintain_order=True).to_list()
    reference = REFERENCE if REFERENCE in methods else methods[0]
    expected = _split_means(table, reference)
    summaries = [_summary(table, method, expected) for method in methods]
    return sorted(summaries, key=lambda summary: summary.percent)


def _split_means(table: pl.DataFrame, method: str) -> dict[str, Floats]:
    """Return the mean over error costs of every split, by table."""
    means = (
        table.filter(pl.col("method") == method)
        .group_by("table", "split", maintain_order=True)
        .agg(pl.col("percent").mean())
        .sort("split", maintain_order=True)
    )
    return {
        str(name): group["percent"].to_numpy()
        for (name,), group in means.group_by("table", maintain_order=True)
    }


def _summary(table: pl.DataFrame, method: str, reference: dict[str, Floats]) -> MethodSummary:
    means = _split_means(table, method)
    if {name: len(values) for name, values in means.items()} != {
        name: len(values) for name, values in reference.items()
    }:
        raise InvalidTable(
            f"method {method!r} lacks results of some tables or splits, so it cannot be compared: "
            "run the benchmark again with all methods."
        )
    differences = {name: _paired(means[name] - reference[name]) for name in means}
    rows = table.filter(pl.col("method") == method)
    by_error_cost = rows.group_by("error_cost").agg(pl.col("percent").mean()).sort("error_cost")
    return MethodSummary(
        method,
        float(np.mean([values.mean() for values in means.values()])),
        _mean_over_tables(list(differences.values())),
        {name: float(values.mean()) for name, values in means.items()},
        differences,
        dict(by_error_cost.iter_rows()),
        float(rows["seconds"].to_numpy().mean()),
    )


def _paired(differences: Floats) -> PairedDifference:
    count = len(differences)
    if count < 2:
        return PairedDifference(float(differences.mean()), math.nan)
    factor = 1 / count + (1 - LEARNING_SHARE) / LEARNING_SHARE
    error = math.sqrt(factor * float(differences.var(ddof=1)))
    return PairedDifference(float(differences.mean()), error)


def _mean_over_tables(parts: list[PairedDifference]) -> PairedDifference:
    """Return the mean of differences on different tables, which are independent."""
    error = math.sqrt(sum(part.error**2 for part in parts)) / len(parts)
    return PairedDifference(float(np.mean([part.mean for part in parts])), error)
