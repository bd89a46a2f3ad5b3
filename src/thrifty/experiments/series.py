"""Arrays computed from the table of an experiment: block sums, running totals, shares, events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidTable
from thrifty.experiments.measures import RESAMPLES
from thrifty.experiments.single_runs import EVENTS
from thrifty.policies.scout import EVENTS as SCOUT_KINDS

Floats = NDArray[np.float64]


def policy_labels(table: pl.DataFrame) -> list[str]:
    """Return the labels of the policies in the order of the table."""
    return table["policy"].unique(maintain_order=True).to_list()


def measure_keys(table: pl.DataFrame, measure: str) -> list[str]:
    """Return the keys of a measure in the order of the table."""
    return table.filter(pl.col("measure") == measure)["key"].unique(maintain_order=True).to_list()


def block_sums(table: pl.DataFrame, policy: str, measure: str, key: str = "") -> Floats:
    """Return the sums over blocks of rounds, shape (seeds, blocks)."""
    wanted = (pl.col("policy") == policy) & (pl.col("measure") == measure) & (pl.col("key") == key)
    rows = table.filter(wanted).sort("seed", "round")
    seeds, starts = rows["seed"].n_unique(), rows["round"].n_unique()
    if not rows.height or rows.height != seeds * starts:
        raise InvalidTable(
            f"the table is incomplete: it has {rows.height} sums of {measure} {key!r} for policy "
            f"{policy!r}, but {seeds} seeds and {starts} blocks need {seeds * starts}. Compute it "
            "again with `thrifty run`."
        )
    return rows["value"].to_numpy().reshape(seeds, starts)


def block_edges(table: pl.DataFrame) -> Floats:
    """Return the first round of every block, and the number of rounds at the end."""
    policy = policy_labels(table)[0]
    numbers = measure_keys(table, "rounds_by_observations")
    lengths = sum(block_sums(table, policy, "rounds_by_observations", key)[0] for key in numbers)
    return np.concatenate([[0.0], np.cumsum(lengths)])


def running_totals(table: pl.DataFrame, policy: str, measure: str) -> Floats:
    """Return the running totals of every seed, starting at 0, shape (seeds, blocks + 1)."""
    return np.pad(np.cumsum(block_sums(table, policy, measure), axis=1), ((0, 0), (1, 0)))


def interval(values: Floats) -> tuple[Floats, Floats]:
    """Return the 95 % bootstrap interval of the mean over the rows, for every column.

    Each column has the interval of `thrifty.experiments.measures.bootstrap_interval`.
    """
    low, high = np.quantile(resampled_means(values), [0.025, 0.975], axis=0)
    return low, high


def resampled_means(values: Floats) -> Floats:
    """Return the mean over the rows in every resample. Equal numbers of rows share resamples."""
    means: Floats = _resamples(len(values)) @ values / len(values)
    return means


def accuracy_up_to(table: pl.DataFrame, policy: str) -> tuple[Floats, Floats, Floats]:
    """Return the mean reward of rounds with up to 0, 1, ... features bought, with 95 % intervals.

    Rounds of all seeds have the same weight. Values are NaN where there are no such rounds, and
    intervals where a resample of the seeds may have none.
    """
    mean, draws = accuracy_draws(table, policy)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return mean, low, high


def accuracy_draws(table: pl.DataFrame, policy: str) -> tuple[Floats, Floats]:
    """Return the mean reward as `accuracy_up_to` does, and the same for every resample.

    Resamples draw the same seeds for every policy, so that they can be subtracted.
    """
    numbers = sorted(measure_keys(table, "rounds_by_observations"), key=int)
    rewards, rounds = (
        np.cumsum(_totals(table, policy, measure, numbers), axis=1)
        for measure in ("reward_by_observations", "rounds_by_observations")
    )
    draws = _resamples(len(rounds))
    mean = _ratio(rewards.sum(axis=0), rounds.sum(axis=0))
    return mean, _ratio(draws @ rewards, draws @ rounds)


def shares_by_period(table: pl.DataFrame, policy: str, changes: Sequence[int]) -> Floats:
    """Return the share of every action, shape (seeds, periods, actions).

    A block belongs to the period that contains its middle.
    """
    times = block_edges(table)
    period = np.searchsorted(sorted(changes), (times[:-1] + times[1:]) / 2, side="right")
    member = np.equal.outer(period, np.arange(len(changes) + 1)).astype(np.float64)
    chosen = [block_sums(table, policy, "choices", key) @ member for key in action_names(table)]
    counts = np.stack(chosen, axis=-1)
    return _ratio(counts, counts.sum(axis=-1, keepdims=True))


def action_distance(table: pl.DataFrame, policy: str, other: str, changes: Sequence[int]) -> Floats:
    """Return the distance between the actions of two policies, for every seed.

    It is the total variation distance between their shares of actions, averaged over periods.
    """
    gaps = np.abs(
        shares_by_period(table, policy, changes) - shares_by_period(table, other, changes)
    )
    distance: Floats = gaps.sum(axis=-1).mean(axis=-1) / 2
    return distance


def action_names(table: pl.DataFrame) -> list[str]:
    """Return the names of the actions in the order of the problem."""
    return measure_keys(table, "choices")


def purchase_rate(table: pl.DataFrame, policy: str, feature: str) -> Floats:
    """Return the share of each block's rounds in which the feature was bought, over all seeds."""
    share: Floats = block_sums(table, policy, "purchases", feature).mean(axis=0) / np.diff(
        block_edges(table)
    )
    return share


def purchase_shares(table: pl.DataFrame) -> dict[str, float]:
    """Return the share of all features in all rounds that each policy bought, by label."""
    rows = table.filter(pl.col("measure").is_in(["purchases", "choices"]))
    sums = rows.group_by("policy", "measure", maintain_order=True).agg(pl.col("value").sum())
    features = len(measure_keys(table, "purchases"))
    wide = sums.pivot("measure", index="policy", values="value")
    shares = wide.select(pl.col("policy"), pl.col("purchases") / pl.col("choices") / features)
    return dict(shares.iter_rows())


def event_kinds(table: pl.DataFrame, policy: str) -> list[str]:
    """Return the kinds of events that a policy recorded: Scout's in its order, then others."""
    kinds = measure_keys(table.filter(pl.col("policy") == policy), EVENTS)
    order = {kind: k for k, kind in enumerate(SCOUT_KINDS)}
    return sorted(kinds, key=lambda kind: order.get(kind, len(order)))


def event_rounds(table: pl.DataFrame, policy: str, kind: str) -> dict[int, Floats]:
    """Return the rounds of all events of a kind, by seed."""
    own = table.filter(pl.col("policy") == policy)
    rows = own.filter((pl.col("measure") == EVENTS) & (pl.col("key") == kind)).sort("round")
    rounds = {seed: np.empty(0) for seed in own["seed"].unique().sort().to_list()}
    for (seed,), group in rows.group_by("seed"):
        times = group["value"].cast(pl.Int64).to_numpy()
        rounds[int(str(seed))] = np.repeat(group["round"].to_numpy(), times).astype(np.float64)
    return rounds


def event_rates(table: pl.DataFrame, policy: str, kind: str) -> Floats:
    """Return the mean number of events of a kind in each block of a seed."""
    rounds = list(event_rounds(table, policy, kind).values())
    counts, _ = np.histogram(np.concatenate(rounds), bins=block_edges(table))
    return counts / len(rounds)


def _totals(table: pl.DataFrame, policy: str, measure: str, keys: Sequence[str]) -> Floats:
    return np.stack([block_sums(table, policy, measure, key).sum(axis=1) for key in keys], axis=1)


def _ratio(above: Floats, below: Floats) -> Floats:
    below = np.broadcast_to(below, above.shape)
    ratio: Floats = np.full(above.shape, np.nan)
    np.divide(above, below, out=ratio, where=below > 0)
    return ratio


@lru_cache(maxsize=1)
def _resamples(seeds: int) -> Floats:
    """Return the number of draws of each seed in each resample, shape (resamples, seeds)."""
    chosen = np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))
    offsets = np.arange(RESAMPLES)[:, None] * seeds
    counts = np.bincount((chosen + offsets).ravel(), minlength=RESAMPLES * seeds)
    return counts.reshape(RESAMPLES, seeds).astype(np.float64)
