"""Tables small enough to check by hand: blocks of ten rounds, two features, two actions."""

from collections.abc import Mapping, Sequence

import polars as pl

from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment

BLOCK = 10
NAMES = ["policy", "seed", "horizon", "measure", "key", "round", "value"]
WITHOUT_KEY = (
    "gain",
    "reward",
    "cost",
    "expected_regret",
    "realised_regret",
    "value_of_looking",
    "uniform_regret",
)

POLICIES = {
    "Oracle": "oracle",
    "oracle": "oracle",
    "Scout": "scout",
    "NCC-UCRL2": "ncc-ucrl2",
    "NCC-UCRL2, text": "ncc-ucrl2",
    "Uniform": "uniform",
}
"""Policies of some labels; all others are "ucb1"."""

Row = tuple[str, int, int, str, str, int, float]


def rows(
    policy: str,
    seed: int,
    *,
    rewards: Sequence[float],
    costs: Sequence[float],
    regrets: Sequence[float],
    left: Sequence[float] | None = None,
    bought: Sequence[int] | None = None,
) -> list[Row]:
    """Return one run, block by block: number of choices of left, and of features bought.

    By default the run chooses left 4 times in the first block and never later, and buys x in every
    round of the first block and nothing later. The second feature that it buys is y.
    """
    n = len(rewards)
    left = [4.0] + [0.0] * (n - 1) if left is None else left
    bought = [1] + [0] * (n - 1) if bought is None else bought
    series = {
        ("gain", ""): [r - c for r, c in zip(rewards, costs, strict=True)],
        ("reward", ""): rewards,
        ("cost", ""): costs,
        ("expected_regret", ""): regrets,
        ("realised_regret", ""): regrets,
        ("value_of_looking", ""): [5.0] * n,
        ("uniform_regret", ""): [8.0] * n,
        ("purchases", "x"): [BLOCK * float(number > 0) for number in bought],
        ("purchases", "y"): [BLOCK * float(number > 1) for number in bought],
        ("choices", "left"): left,
        ("choices", "right"): [BLOCK - count for count in left],
    }
    for number in range(3):
        matches = [float(count == number) for count in bought]
        series["rounds_by_observations", str(number)] = [BLOCK * match for match in matches]
        series["reward_by_observations", str(number)] = [
            reward * match for reward, match in zip(rewards, matches, strict=True)
        ]
    return [
        (policy, seed, BLOCK * n, measure, key, k * BLOCK, float(value))
        for (measure, key), values in series.items()
        for k, value in enumerate(values)
    ]


def table_from(runs: Sequence[Row]) -> pl.DataFrame:
    """Return the rows as a table."""
    return pl.DataFrame(runs, schema=NAMES, orient="row")


def table_of(*labels: str) -> pl.DataFrame:
    """Return two seeds and two blocks for every label; label k has k more regret in each block."""
    return table_from(
        [
            row
            for k, label in enumerate(labels)
            for seed in (0, 1)
            for row in rows(
                label,
                seed,
                rewards=[8.0 - k, 6.0 + 2 * seed],
                costs=[1.0, 0.0],
                regrets=[1.0 + k, 1.0 + k + 2 * seed],
            )
        ]
    )


def results_of(
    table: pl.DataFrame, published: Mapping[str, Sequence[float]] | None = None
) -> Results:
    """Return the table as the results of an experiment with these labels."""
    labels = table["policy"].unique(maintain_order=True).to_list()
    seeds = table["seed"].unique().sort().to_list()
    entries = tuple(
        Entry(label, POLICIES.get(label, "ucb1"), published=tuple((published or {}).get(label, ())))
        for label in labels
    )
    return Results(Experiment("small", "Small", "random", entries, tuple(seeds)), table)


def with_events(
    table: pl.DataFrame, policy: str, events: Sequence[tuple[int, str, int]]
) -> pl.DataFrame:
    """Return the table with these events of the policy: seed, kind, round."""
    horizon = int(table["horizon"].max())  # type: ignore[arg-type]
    more = [(policy, seed, horizon, "events", kind, at, 1.0) for seed, kind, at in events]
    return pl.concat([table, table_from(more)])


def table_of_gains(gains: Mapping[str, Sequence[float]]) -> pl.DataFrame:
    """Return a table with these gains by seed, in two equal blocks, all of it reward."""
    return table_from(
        [
            (label, seed, 2 * BLOCK, measure, "", start, half * (measure in ("gain", "reward")))
            for label, values in gains.items()
            for seed, value in enumerate(values)
            for half in [value / 2]
            for measure in WITHOUT_KEY
            for start in (0, BLOCK)
        ]
    )


def table_of_regrets(regrets: Mapping[str, Mapping[int, Sequence[float]]]) -> pl.DataFrame:
    """Return a table with these total regrets by horizon and seed, and nothing else."""
    return table_from(
        [
            (label, seed, horizon, measure, "", 0, value * ("regret" in measure))
            for label, by_horizon in regrets.items()
            for horizon, values in by_horizon.items()
            for seed, value in enumerate(values)
            for measure in WITHOUT_KEY
        ]
    )


def plus(
    table: pl.DataFrame, policy: str, more: float, measures: Sequence[str] = WITHOUT_KEY
) -> pl.DataFrame:
    """Return the table with a larger value of these measures in the policy's first blocks."""
    wanted = (
        (pl.col("policy") == policy)
        & pl.col("measure").is_in(measures)
        & (pl.col("key") == "")
        & (pl.col("round") == 0)
    )
    value = pl.when(wanted).then(pl.col("value") + more).otherwise(pl.col("value"))
    return table.with_columns(value.alias("value"))
