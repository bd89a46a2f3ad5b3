"""Summaries of the benchmark of markets: mean shares over seeds with their intervals."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import polars as pl

from thrifty.environments.market import MarketTruth
from thrifty.errors import InvalidTable
from thrifty.experiments.market_strategies import STRATEGIES, ReferenceStrategy
from thrifty.experiments.measures import bootstrap_interval
from thrifty.experiments.results import first_line
from thrifty.experiments.scores import Scores, scores_table
from thrifty.files import atomic_write
from thrifty.plans.cases import Floats

FOLDER = "markets"
"""Folder of the results, below the folder of all results."""
TABLE = "markets.parquet"


@dataclass(frozen=True)
class MeanShare:
    """Mean share over seeds.

    Parameters
    ----------
    mean : float
        Mean over seeds.
    low : float
        Lower end of the 95 % bootstrap interval of the mean.
    high : float
        Upper end of it.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class StrategySummary:
    """Figures of a strategy.

    Parameters
    ----------
    strategy : str
        Label of the strategy.
    seeds : int
        Number of seeds.
    share : MeanShare, optional
        Share of the way from the best constant action to the best plan, the mean over families
        with something to gain; None if there is no such family.
    by_family : dict
        The same by family. In a family with nothing to gain it is minus the loss as a share of the
        headroom.
    late : dict
        Mean over seeds by family, over the last quarter of the cases only.
    gain : dict
        Mean gain of a case in money, by family.
    seconds : float
        Mean time to play one market.
    """

    strategy: str
    seeds: int
    share: MeanShare | None
    by_family: dict[str, MeanShare]
    late: dict[str, float]
    gain: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class FamilySummary:
    """Exact gains of a case in a family, in money, as means over seeds.

    Parameters
    ----------
    family : str
        Name of the family.
    truth : MarketTruth
        Means over seeds.
    """

    family: str
    truth: MarketTruth


def write_table(table: pl.DataFrame, folder: Path) -> Path:
    """Write the results to FOLDER/markets.parquet."""
    path = folder / TABLE
    with atomic_write(path, make_folder=True, sync=False) as draft:
        table.write_parquet(draft)
    return path


def read_market_table(folder: Path) -> pl.DataFrame:
    """Read the results that `write_table` wrote to FOLDER/markets.parquet."""
    path = folder / TABLE
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{path} cannot be read ({first_line(error)}): run the markets again."
        ) from error


def summarise_families(table: pl.DataFrame) -> list[FamilySummary]:
    """Return the exact gains of every family.

    Parameters
    ----------
    table : polars.DataFrame
        Results of `thrifty.experiments.markets.run_markets`.

    Returns
    -------
    list of FamilySummary
        In the order of the table.
    """
    gains = [field.name for field in fields(MarketTruth)]
    means = table.group_by("family", maintain_order=True).agg(pl.col(gains).mean())
    return [FamilySummary(name, MarketTruth(*truth)) for name, *truth in means.iter_rows()]


def summarise(table: pl.DataFrame) -> list[StrategySummary]:
    """Return the summary of every strategy, the largest share first.

    Parameters
    ----------
    table : polars.DataFrame
        Results of `thrifty.experiments.markets.run_markets`.

    Returns
    -------
    list of StrategySummary
        Summaries. The mean over families is taken seed by seed before its interval is computed.
    """
    gainful = [
        known.family for known in summarise_families(table) if known.truth.has_something_to_gain
    ]
    groups = table.group_by("strategy", maintain_order=True)
    summaries = [_summary(str(label), rows, gainful) for (label,), rows in groups]
    return sorted(summaries, key=_order, reverse=True)


def market_scores(table: pl.DataFrame) -> Scores:
    """Return the shares of all policies as scores, in the families with something to gain.

    References, which know more than a policy, are left out.

    Parameters
    ----------
    table : polars.DataFrame
        Results of `thrifty.experiments.markets.run_markets`.

    Returns
    -------
    Scores
        Scores by strategy, family and seed.
    """
    gainful = [
        known.family for known in summarise_families(table) if known.truth.has_something_to_gain
    ]
    references = {one.label for one in STRATEGIES if isinstance(one, ReferenceStrategy)}
    labels = table["strategy"].unique(maintain_order=True).to_list()
    rows = table.filter(pl.col("family").is_in(gainful)).select(
        "seed", world="family", policy="strategy", score="share"
    )
    return scores_table(rows, [label for label in labels if label not in references])


def _order(summary: StrategySummary) -> float:
    shares = list(summary.by_family.values()) if summary.share is None else [summary.share]
    return float(np.mean([share.mean for share in shares]))


def _summary(label: str, rows: pl.DataFrame, gainful: list[str]) -> StrategySummary:
    families = rows["family"].unique(maintain_order=True).to_list()
    wide = rows.pivot(on="family", index="seed", values="share")
    overall = wide.select(gainful).mean_horizontal().to_numpy() if gainful else None
    means = rows.group_by("family", maintain_order=True).agg(pl.col("late", "gain").mean())
    return StrategySummary(
        strategy=label,
        seeds=len(wide),
        share=None if overall is None else _mean_share(overall),
        by_family={name: _mean_share(wide[name].to_numpy()) for name in families},
        late=dict(zip(means["family"], means["late"], strict=True)),
        gain=dict(zip(means["family"], means["gain"], strict=True)),
        seconds=float(rows["seconds"].to_numpy().mean()),
    )


def _mean_share(shares: Floats) -> MeanShare:
    return MeanShare(float(shares.mean()), *bootstrap_interval(shares))
