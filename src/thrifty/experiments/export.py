"""One table with every run of a folder of experiments, to recompute all figures of the benchmark.

===================  =======  =====================================================================
`world`              String   last part of the experiment's id
`changes`, ...       Float64  attributes of the world (see `thrifty.experiments.attributes`)
`policy`             String   label of the policy
`name`               String   registered name of the policy, or FILE.py:Class
`parameters`         String   parameters, as JSON
`feature_set`        String   "all", or "best-fixed" for the best fixed set
`seed`               Int64    seed
`rounds`             Int64    number of rounds
`gain`, ...          Float64  totals: gain, reward, cost, oracle_gain, expected_regret,
                              realised_regret, uniform_regret
`regret`             String   the regret that counts in this world: "expected" or "realised"
`score`              Float64  1 - regret / uniform_regret; null where there is nothing to win
`thrifty`, ...       String   versions of Thrifty, numpy, numba and Python
`digest`             String   hash of the run's contents and of the code that computed it
===================  =======  =====================================================================
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from thrifty._version import __version__
from thrifty.errors import InvalidTable
from thrifty.experiments.attributes import ATTRIBUTES
from thrifty.experiments.results import Results, first_line, write_parquet
from thrifty.experiments.scores import Scores, run_scores, scores_table, world_name
from thrifty.experiments.single_runs import single_runs, versions
from thrifty.files import atomic_write

RUNS = "runs.parquet"
TOTALS = (
    "gain",
    "reward",
    "cost",
    "oracle_gain",
    "expected_regret",
    "realised_regret",
    "uniform_regret",
)


def runs_table(results: Sequence[Results]) -> pl.DataFrame:
    """Return one row for each run; see the head of this module.

    Parameters
    ----------
    results : sequence of Results
        Results of experiments.

    Returns
    -------
    polars.DataFrame
        All runs, world by world.
    """
    rows = run_scores(results).rename({"horizon": "rounds"})
    joined = rows.join(_descriptions(results), on=["world", "policy", "seed"], how="left")
    own = {"thrifty": __version__, **versions()}
    return joined.select(
        "world",
        *ATTRIBUTES,
        *("policy", "name", "parameters", "feature_set", "seed", "rounds"),
        *TOTALS,
        *("regret", "score"),
        *(pl.lit(version).alias(name) for name, version in own.items()),
        "digest",
    )


def write_runs(results: Sequence[Results], folder: Path) -> Path:
    """Write the table of all runs to FOLDER/runs.parquet.

    Parameters
    ----------
    results : sequence of Results
        Results of experiments.
    folder : Path
        Folder of the experiments' results.

    Returns
    -------
    Path
        Path of the table.
    """
    path = folder / RUNS
    with atomic_write(path, make_folder=True) as draft:
        write_parquet(runs_table(results), draft)
    return path


def read_runs(path: Path) -> pl.DataFrame:
    """Read a table that `write_runs` wrote.

    Parameters
    ----------
    path : Path
        Path of the table.

    Returns
    -------
    polars.DataFrame
        All runs.

    Raises
    ------
    InvalidTable
        If the file cannot be read, or is another table.
    """
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidTable(
            f"{path} cannot be read ({first_line(error)}): run the folder again."
        ) from error
    missing = [name for name in ("world", "policy", "seed", "score") if name not in table.columns]
    if missing:
        raise InvalidTable(
            f"{path} has no column {missing[0]!r}: give a table that `thrifty run` wrote for a "
            "folder, such as results/worlds/runs.parquet."
        )
    return table


def scores_from_runs(table: pl.DataFrame) -> Scores:
    """Return the scores of a table of runs, without oracles.

    Parameters
    ----------
    table : polars.DataFrame
        Table of `runs_table`.

    Returns
    -------
    Scores
        The same as `scores_of` returns for the results.
    """
    rows = table.filter((pl.col("name") != "oracle") & pl.col("score").is_not_null())
    counts = rows.group_by("policy", maintain_order=True).agg(pl.col("world").n_unique())
    labels = counts.sort("world", descending=True, maintain_order=True)["policy"].to_list()
    return scores_table(rows.with_columns(share=pl.col("gain") / pl.col("oracle_gain")), labels)


def attributes_of(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return the known attributes of every world of a table of runs.

    Parameters
    ----------
    table : polars.DataFrame
        Table of `runs_table`.

    Returns
    -------
    dict
        Attributes by world.
    """
    worlds = table.select("world", *ATTRIBUTES).unique("world", maintain_order=True)
    return {
        row.pop("world"): {name: value for name, value in row.items() if value is not None}
        for row in worlds.iter_rows(named=True)
    }


def _descriptions(results: Sequence[Results]) -> pl.DataFrame:
    """Return what the tables of results do not tell about the runs: one row for each run."""
    rows = []
    for result in results:
        experiment = result.experiment
        entries = {entry.label: entry for entry in experiment.entries}
        known = [_as_number(experiment.attributes.get(name)) for name in ATTRIBUTES]
        longest = max(experiment.horizons, default=None)
        for (label, horizon, seed), run in single_runs(experiment).items():
            if horizon == longest:
                entry = entries[label]
                text = json.dumps(dict(entry.params), sort_keys=True)
                own = (label, entry.policy, text, entry.features, seed, run.key)
                rows.append((world_name(experiment.id), *known, *own, experiment.regret))
    names = ("policy", "name", "parameters", "feature_set", "seed", "digest", "regret")
    kinds = dict.fromkeys(ATTRIBUTES, pl.Float64) | {"seed": pl.Int64}
    schema = {name: kinds.get(name, pl.String) for name in ("world", *ATTRIBUTES, *names)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _as_number(value: float | None) -> float | None:
    return None if value is None else float(value)
