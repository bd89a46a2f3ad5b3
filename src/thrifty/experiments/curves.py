"""What a table says, as arrays: functions of the tidy table of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidTable
from thrifty.experiments.cells import EVENTS
from thrifty.experiments.measures import RESAMPLES
from thrifty.policies.scout import EVENTS as KINDS

Floats = NDArray[np.float64]


def policies_of(table: pl.DataFrame) -> list[str]:
    """Return the labels in the order of the table."""
    return table["policy"].unique(maintain_order=True).to_list()


def keys_of(table: pl.DataFrame, measure: str) -> list[str]:
    """Return the keys of a measure in the order of the table."""
    return table.filter(pl.col("measure") == measure)["key"].unique(maintain_order=True).to_list()


def blocks(table: pl.DataFrame, policy: str, measure: str, key: str = "") -> Floats:
    """Return the sums over blocks, shape (seeds, blocks)."""
    wanted = (pl.col("policy") == policy) & (pl.col("measure") == measure) & (pl.col("key") == key)
    rows = table.filter(wanted).sort("seed", "round")
    seeds, starts = rows["seed"].n_unique(), rows["round"].n_unique()
    if not rows.height or rows.height != seeds * starts:
        raise InvalidTable(
            f"the table has {rows.height} sums of {measure} {key!r} for policy {policy!r} where "
            f"{seeds} seeds and {starts} blocks ask for one each: compute it again with "
            "`thrifty run`."
        )
    return rows["value"].to_numpy().reshape(seeds, starts)


def ends(table: pl.DataFrame) -> Floats:
    """Return how many rounds have been played before the first and after every block."""
    policy = policies_of(table)[0]
    numbers = keys_of(table, "rounds_by_observations")
    lengths = sum(blocks(table, policy, "rounds_by_observations", key)[0] for key in numbers)
    return np.concatenate([[0.0], np.cumsum(lengths)])


def cumulated(table: pl.DataFrame, policy: str, measure: str) -> Floats:
    """Return the running totals of every seed from 0 on, shape (seeds, blocks + 1)."""
    return np.pad(np.cumsum(blocks(table, policy, measure), axis=1), ((0, 0), (1, 0)))


def interval(values: Floats) -> tuple[Floats, Floats]:
    """Return the 95 % bootstrap interval of the mean over the rows, for every column.

    For each column it is what `thrifty.experiments.measures.bootstrap_interval` gives.
    """
    low, high = np.quantile(resampled_means(values), [0.025, 0.975], axis=0)
    return low, high


def resampled_means(values: Floats) -> Floats:
    """Return the mean over the rows of every resample, drawn the same for the same number."""
    means: Floats = _resamples(len(values)) @ values / len(values)
    return means


def accuracy_up_to(table: pl.DataFrame, policy: str) -> tuple[Floats, Floats, Floats]:
    """Return the mean reward of rounds with up to 0, 1, ... observations, and its 95 % interval.

    Rounds of all seeds count alike. It is not a number where there are none, and the interval
    where resampling the seeds may leave none.
    """
    mean, draws = accuracy_draws(table, policy)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return mean, low, high


def accuracy_draws(table: pl.DataFrame, policy: str) -> tuple[Floats, Floats]:
    """Return the accuracy of `accuracy_up_to`, and that of every resample of the seeds.

    Resamples draw the same seeds for every policy, so that they can be subtracted.
    """
    numbers = sorted(keys_of(table, "rounds_by_observations"), key=int)
    rewards, rounds = (
        np.cumsum(_totals(table, policy, measure, numbers), axis=1)
        for measure in ("reward_by_observations", "rounds_by_observations")
    )
    draws = _resamples(len(rounds))
    mean = _ratio(rewards.sum(axis=0), rounds.sum(axis=0))
    return mean, _ratio(draws @ rewards, draws @ rounds)


def shares_by_period(table: pl.DataFrame, policy: str, changes: Sequence[int]) -> Floats:
    """Return the share of every action in every period of every seed: (seeds, periods, actions).

    A block belongs to the period in which its middle lies.
    """
    times = ends(table)
    period = np.searchsorted(sorted(changes), (times[:-1] + times[1:]) / 2, side="right")
    member = np.equal.outer(period, np.arange(len(changes) + 1)).astype(np.float64)
    chosen = [blocks(table, policy, "choices", key) @ member for key in actions_of(table)]
    counts = np.stack(chosen, axis=-1)
    return _ratio(counts, counts.sum(axis=-1, keepdims=True))


def distance_from(table: pl.DataFrame, policy: str, other: str, changes: Sequence[int]) -> Floats:
    """Return how far a policy's choices are from another's, for every seed.

    It is the total variation distance between their shares of actions, the mean over periods.
    """
    apart = np.abs(
        shares_by_period(table, policy, changes) - shares_by_period(table, other, changes)
    )
    distance: Floats = apart.sum(axis=-1).mean(axis=-1) / 2
    return distance


def actions_of(table: pl.DataFrame) -> list[str]:
    """Return the actions in the order of the problem."""
    return keys_of(table, "choices")


def bought_share(table: pl.DataFrame, policy: str, feature: str) -> Floats:
    """Return the share of every block's rounds in which the feature was bought, over all seeds."""
    share: Floats = blocks(table, policy, "purchases", feature).mean(axis=0) / np.diff(ends(table))
    return share


def bought_shares(table: pl.DataFrame) -> dict[str, float]:
    """Return by policy the share of all features in all rounds that it bought."""
    rows = table.filter(pl.col("measure").is_in(["purchases", "choices"]))
    sums = rows.group_by("policy", "measure", maintain_order=True).agg(pl.col("value").sum())
    features = len(keys_of(table, "purchases"))
    wide = sums.pivot("measure", index="policy", values="value")
    shares = wide.select(pl.col("policy"), pl.col("purchases") / pl.col("choices") / features)
    return dict(shares.iter_rows())


def event_kinds(table: pl.DataFrame, policy: str) -> list[str]:
    """Return the kinds of events that a policy noted, in Scout's order, others after them."""
    noted = keys_of(table.filter(pl.col("policy") == policy), EVENTS)
    return sorted(noted, key=lambda it: KINDS.index(it) if it in KINDS else len(KINDS))


def event_rounds(table: pl.DataFrame, policy: str, kind: str) -> dict[int, Floats]:
    """Return the rounds of all events of a kind, by seed; a seed may have none."""
    own = table.filter(pl.col("policy") == policy)
    rows = own.filter((pl.col("measure") == EVENTS) & (pl.col("key") == kind)).sort("round")
    rounds = {seed: np.empty(0) for seed in own["seed"].unique().sort().to_list()}
    for (seed,), group in rows.group_by("seed"):
        times = group["value"].cast(pl.Int64).to_numpy()
        rounds[int(str(seed))] = np.repeat(group["round"].to_numpy(), times).astype(np.float64)
    return rounds


def event_rates(table: pl.DataFrame, policy: str, kind: str) -> Floats:
    """Return how many events of a kind a seed has in each block, on average."""
    rounds = list(event_rounds(table, policy, kind).values())
    counts, _ = np.histogram(np.concatenate(rounds), bins=ends(table))
    return counts / len(rounds)


def _totals(table: pl.DataFrame, policy: str, measure: str, keys: Sequence[str]) -> Floats:
    return np.stack([blocks(table, policy, measure, key).sum(axis=1) for key in keys], axis=1)


def _ratio(above: Floats, below: Floats) -> Floats:
    below = np.broadcast_to(below, above.shape)
    ratio: Floats = np.full(above.shape, np.nan)
    np.divide(above, below, out=ratio, where=below > 0)
    return ratio


@lru_cache(maxsize=1)
def _resamples(seeds: int) -> Floats:
    """Return how often each seed is drawn in each resample, shape (resamples, seeds)."""
    chosen = np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))
    offsets = np.arange(RESAMPLES)[:, None] * seeds
    counts = np.bincount((chosen + offsets).ravel(), minlength=RESAMPLES * seeds)
    return counts.reshape(RESAMPLES, seeds).astype(np.float64)
