"""What a table says: functions of the tidy table of an experiment, and of nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidTable

RESAMPLES = 10_000


@dataclass(frozen=True)
class Summary:
    """A policy's totals over the seeds: gain with its 95 % interval and range, and the rest.

    `wins` is the share of seeds in which no other policy but the oracle gained more.
    """

    policy: str
    seeds: int
    gain: float
    low: float
    high: float
    worst: float
    best: float
    reward: float
    cost: float
    expected_regret: float
    realised_regret: float
    wins: float


@dataclass(frozen=True)
class Standing:
    """How far a policy stays behind the oracle: its total regret, its share of the gain.

    `regret` is the mean over the seeds, with its 95 % interval, and `worst` that of the worst seed;
    `best_gain` is the oracle's own mean gain on the same seeds. `reached` is the share of the gap
    between the best action of every period without a look and the oracle: 1 for the oracle, 0 for
    that action, nan where looking is worth nothing.
    """

    policy: str
    seeds: int
    gain: float
    best_gain: float
    share: float
    regret: float
    low: float
    high: float
    worst: float
    reached: float


@dataclass(frozen=True)
class Difference:
    """How much more of a measure one policy has than another, seed by seed.

    `p_value` says how likely such a difference is by chance.
    """

    policy: str
    other: str
    seeds: int
    mean: float
    low: float
    high: float
    p_value: float


def totals(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each policy, seed and horizon: the totals of every measure without a key.

    Rows come in the order of the table: policies as in the specification, then seeds.
    """
    place = pl.col("policy").cast(pl.String).replace_strict(_order(table), return_dtype=pl.Int64)
    return (
        table.filter(pl.col("key") == "")
        .pivot(
            "measure", index=["policy", "seed", "horizon"], values="value", aggregate_function="sum"
        )
        .sort(place, "seed", "horizon")
    )


def longest(table: pl.DataFrame) -> pl.DataFrame:
    """Return the part of the table with the longest runs, if they have several horizons."""
    return table.filter(pl.col("horizon") == pl.col("horizon").max())


def summaries(table: pl.DataFrame, *, oracle: str = "Oracle") -> list[Summary]:
    """Return every policy's summary over its longest runs, in the order of the table.

    The oracle is the policy of that label, however it is capitalised.
    """
    rows = totals(longest(table))
    lower = pl.col("policy").cast(pl.String).str.to_lowercase()
    rivals = rows.filter(lower != oracle.lower())
    best = rivals.group_by("seed").agg(pl.col("gain").max().alias("best_gain"))
    rows = rows.join(best, on="seed", how="left", maintain_order="left")
    result = []
    for (policy,), group in rows.group_by("policy", maintain_order=True):
        gains = group["gain"].to_numpy()
        low, high = bootstrap_interval(gains)
        result.append(
            Summary(
                policy=str(policy),
                seeds=len(group),
                gain=float(gains.mean()),
                low=low,
                high=high,
                worst=float(gains.min()),
                best=float(gains.max()),
                wins=float((gains >= group["best_gain"].to_numpy()).mean()),
                **{name: _mean(group, name) for name in ("reward", "cost")},
                **{name: _mean(group, name) for name in ("expected_regret", "realised_regret")},
            )
        )
    return result


def standings(table: pl.DataFrame, *, regret: str = "expected") -> list[Standing]:
    """Return every policy's standing over its longest runs, by "expected" or "realised" regret."""
    rows = totals(longest(table)).with_columns(best=pl.col("gain") + pl.col("realised_regret"))
    result = []
    for (policy,), group in rows.group_by("policy", maintain_order=True):
        regrets = group[f"{regret}_regret"].to_numpy()
        low, high = bootstrap_interval(regrets)
        gain, best_gain = _mean(group, "gain"), _mean(group, "best")
        looking = _mean(group, "value_of_looking")
        result.append(
            Standing(
                policy=str(policy),
                seeds=len(group),
                gain=gain,
                best_gain=best_gain,
                share=gain / best_gain if best_gain > 0 else math.nan,
                regret=float(regrets.mean()),
                low=low,
                high=high,
                worst=float(regrets.max()),
                reached=1 - float(regrets.mean()) / looking if looking > 0 else math.nan,
            )
        )
    return result


def difference(
    table: pl.DataFrame, policy: str, other: str, *, measure: str = "gain"
) -> Difference:
    """Compare two policies on the seeds that both played."""
    rows = totals(longest(table)).filter(pl.col("policy").is_in([policy, other]))
    pairs = rows.pivot("policy", index="seed", values=measure).drop_nulls().sort("seed")
    if pairs.is_empty():
        raise InvalidTable(
            f"no seed was played by both {policy!r} and {other!r}, so nothing can be paired: run "
            "them with the same seeds."
        )
    more = (pairs[policy] - pairs[other]).to_numpy()
    low, high = bootstrap_interval(more)
    return Difference(policy, other, len(more), float(more.mean()), low, high, sign_flip_test(more))


def bootstrap_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean, the same for the same values.

    Of few values it is too narrow: of 5 normal ones it holds the mean in some 85 % of cases.

    >>> bootstrap_interval(np.array([1.0, 1.0]))
    (1.0, 1.0)
    """
    rng = np.random.default_rng(0)
    chosen = rng.integers(values.size, size=(RESAMPLES, values.size))
    low, high = np.quantile(values[chosen].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def sign_flip_test(values: NDArray[np.float64]) -> float:
    """Return the two-sided p-value of "the mean is 0", by flipping signs at random.

    Valid if the differences are symmetric about 0 under the hypothesis, as paired ones are when
    both policies are alike. The same for the same values; not a number if one of them is none.

    >>> sign_flip_test(np.zeros(5))
    1.0
    >>> sign_flip_test(np.ones(20)) < 0.001
    True
    """
    if np.isnan(values).any():
        return math.nan
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(RESAMPLES, values.size))
    rounding = 1e-12 * np.abs(values).sum()  # equal sums come out a little different
    as_far = np.abs(signs @ values) >= np.abs(values.sum()) - rounding
    return float((1 + as_far.sum()) / (1 + RESAMPLES))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, by Holm's step-down procedure.

    Rejecting where the corrected one is at most 5 % rejects any true hypothesis with a probability
    of at most 5 %, whatever depends on what.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    reached = 0.0
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    for rank, k in enumerate(order):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[k]))
        corrected[k] = reached
    return corrected


def _mean(group: pl.DataFrame, measure: str) -> float:
    return float(group[measure].to_numpy().mean())


def _order(table: pl.DataFrame) -> dict[str, int]:
    names = table["policy"].unique(maintain_order=True).to_list()
    return {name: k for k, name in enumerate(names)}
