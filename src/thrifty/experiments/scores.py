"""Scores of runs: 0 for the uniform choice of an action, 1 for the oracle.

The score of a run is 1 - regret / regret of the uniform choice, which buys nothing and takes every
action equally often. Both regrets are sums over the rounds of the run, and the uniform choice has
its expected regret by the true means, without luck. The uniform choice is the zero because there is
always something to win by deciding well, also where features are worth nothing: the gap between the
best action without features and the oracle may be zero, and scores would explode. A policy that
pays for useless features may score below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.experiments.aggregates import Floats
from thrifty.experiments.measures import longest, totals
from thrifty.experiments.results import Results

LITTLE = 1e-9
"""With less than this to win in a round, a world has no scores."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores by policy, world and seed.

    Parameters
    ----------
    labels : tuple of str
        Labels of the policies.
    worlds : tuple of str
        Names of the worlds.
    values : array of float, shape (L, W, S)
        Scores; NaN where a policy has not played.
    shares : array of float, shape (L, W, S), optional
        Gains as shares of the oracle's gain.
    """

    labels: tuple[str, ...]
    worlds: tuple[str, ...]
    values: Floats
    shares: Floats | None = None

    @property
    def played(self) -> NDArray[np.bool_]:
        """True where a policy has played a world, shape (L, W)."""
        played: NDArray[np.bool_] = np.invert(np.isnan(self.values).all(axis=-1))
        return played

    def of(self, label: str) -> Floats:
        """Return the scores of a policy in its worlds, with the seeds that it has in all of them.

        Parameters
        ----------
        label : str
            Label of the policy.

        Returns
        -------
        array of float, shape (number of its worlds, number of seeds)
            Its scores.
        """
        return self.of_both(label, label)[0]

    def of_both(self, label: str, other: str) -> tuple[Floats, Floats]:
        """Return the scores of two policies in the worlds and with the seeds that both have.

        Parameters
        ----------
        label : str
            Label of a policy.
        other : str
            Label of another one.

        Returns
        -------
        tuple of arrays, shape (W, S)
            Scores of both.
        """
        pair = self.values[[self.labels.index(label), self.labels.index(other)]]
        pair = pair[:, ~np.isnan(pair).all(axis=-1).any(axis=0)]
        pair = pair[:, :, ~np.isnan(pair).any(axis=(0, 1))]
        return pair[0], pair[1]

    def in_worlds(self, wanted: Sequence[str]) -> Scores:
        """Return the scores of some of the worlds.

        Parameters
        ----------
        wanted : sequence of str
            Names of worlds.

        Returns
        -------
        Scores
            Scores of the policies that have played at least one of them.
        """
        kept = [k for k, world in enumerate(self.worlds) if world in wanted]
        values = self.values[:, kept]
        rows = np.flatnonzero(~np.isnan(values).all(axis=(1, 2)))
        return replace(
            self,
            labels=tuple(self.labels[k] for k in rows),
            worlds=tuple(self.worlds[k] for k in kept),
            values=values[rows],
            shares=None if self.shares is None else self.shares[:, kept][rows],
        )


def run_scores(results: Sequence[Results]) -> pl.DataFrame:
    """Return the totals of every run with its score.

    Parameters
    ----------
    results : sequence of Results
        Results of experiments; the last part of an id is the name of the world.

    Returns
    -------
    polars.DataFrame
        Columns `world`, `policy` (the label), `seed`, `horizon`, the measures without a key,
        `oracle_gain` and `score`. Oracles are included.
    """
    parts = []
    for result in results:
        regret = pl.col(f"{result.experiment.regret}_regret")
        possible = pl.col("uniform_regret") > LITTLE * pl.col("horizon")
        rows = totals(longest(result.table)).with_columns(
            pl.lit(world_name(result.experiment.id)).alias("world"),
            pl.col("policy").cast(pl.String),
            (pl.col("gain") + pl.col("realised_regret")).alias("oracle_gain"),
            pl.when(possible).then(1 - regret / pl.col("uniform_regret")).alias("score"),
        )
        parts.append(rows.select("world", pl.exclude("world")))
    return pl.concat(parts, how="diagonal")


def scores_of(results: Sequence[Results]) -> Scores:
    """Return the scores of all policies but oracles.

    Parameters
    ----------
    results : sequence of Results
        Results of experiments.

    Returns
    -------
    Scores
        Worlds in the order of the results, policies in the order of the longest list. Worlds in
        which there is nothing to win are left out.
    """
    oracles = {label for result in results for label in result.experiment.oracle_labels}
    lists = sorted((result.experiment.entries for result in results), key=len, reverse=True)
    labels = dict.fromkeys(entry.label for entries in lists for entry in entries)
    rows = run_scores(results).filter(pl.col("score").is_not_null())
    return scores_table(
        rows.with_columns(share=pl.col("gain") / pl.col("oracle_gain")),
        [label for label in labels if label not in oracles],
    )


def scores_table(rows: pl.DataFrame, labels: Sequence[str]) -> Scores:
    """Return scores from a table with the columns `world`, `policy`, `seed`, `score` and `share`.

    Parameters
    ----------
    rows : polars.DataFrame
        One row for each run. The column `share` is optional.
    labels : sequence of str
        Labels of the policies to keep, in order.

    Returns
    -------
    Scores
        The scores.

    Examples
    --------
    >>> rows = pl.DataFrame(
    ...     {"world": ["a", "a"], "policy": ["x", "y"], "seed": [3, 3], "score": [0.5, 1.0]}
    ... )
    >>> scores_table(rows, ["y", "x"]).values.tolist()
    [[[1.0]], [[0.5]]]
    """
    rows = rows.filter(pl.col("policy").is_in(list(labels)))
    worlds = rows["world"].unique(maintain_order=True).to_list()
    seeds = sorted(rows["seed"].unique().to_list())
    places = tuple(
        np.array([order.index(value) for value in rows[name].to_list()], dtype=np.int64)
        for name, order in (("policy", list(labels)), ("world", worlds), ("seed", seeds))
    )
    arrays = []
    for name in ("score", "share"):
        array = np.full((len(labels), len(worlds), len(seeds)), np.nan)
        if name in rows.columns:
            array[places] = rows[name].to_numpy()
        arrays.append(array)
    shares = arrays[1] if "share" in rows.columns else None
    return Scores(tuple(labels), tuple(worlds), arrays[0], shares)


def world_name(experiment_id: str) -> str:
    """Return the last part of an experiment's id.

    Parameters
    ----------
    experiment_id : str
        Id such as "worlds/xor-of-two".

    Returns
    -------
    str
        Name of the world.

    Examples
    --------
    >>> world_name("worlds/xor-of-two")
    'xor-of-two'
    """
    return PurePosixPath(experiment_id).name
