"""Summaries, intervals and tests computed from the results of an experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidTable
from thrifty.experiments.results import Results

RESAMPLES = 10_000


@dataclass(frozen=True)
class Summary:
    """Totals of a policy over its runs.

    Parameters
    ----------
    policy : str
        Label of the policy.
    seeds : int
        Number of seeds.
    gain : float
        Mean total gain.
    low : float
        Lower end of the 95 % bootstrap interval of the mean gain.
    high : float
        Upper end of the 95 % bootstrap interval of the mean gain.
    worst : float
        Lowest total gain of a seed.
    best : float
        Highest total gain of a seed.
    reward : float
        Mean total reward.
    cost : float
        Mean total cost.
    expected_regret : float
        Mean expected regret, equation (6).
    realised_regret : float
        Mean difference between the oracle's gain and the policy's.
    wins : float
        Share of the seeds in which no other policy except the oracle gained more.
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
class RegretSummary:
    """Regret of a policy over its runs, and its gain relative to the oracle's.

    Parameters
    ----------
    policy : str
        Label of the policy.
    seeds : int
        Number of seeds.
    gain : float
        Mean total gain.
    best_gain : float
        Mean total gain of the oracle on the same seeds.
    share : float
        `gain` divided by `best_gain`.
    regret : float
        Mean total regret.
    low : float
        Lower end of the 95 % bootstrap interval of the mean regret.
    high : float
        Upper end of the 95 % bootstrap interval of the mean regret.
    worst : float
        Highest total regret of a seed.
    reached : float
        Share of the gap between the best action of every period without features, which has 0, and
        the oracle, which has 1. NaN if features have no value.
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
    """Difference between two policies, paired by seed.

    Parameters
    ----------
    policy : str
        Label of the policy.
    other : str
        Label of the policy that it is compared with.
    seeds : int
        Number of seeds that both policies played.
    mean : float
        Mean of the measure of `policy` minus that of `other`.
    low : float
        Lower end of the 95 % bootstrap interval of the mean.
    high : float
        Upper end of the 95 % bootstrap interval of the mean.
    p_value : float
        Two-sided p-value of the sign-flip test of no difference.
    """

    policy: str
    other: str
    seeds: int
    mean: float
    low: float
    high: float
    p_value: float


def totals(table: pl.DataFrame) -> pl.DataFrame:
    """Return the totals of every measure without a key, for each policy, seed and horizon.

    Parameters
    ----------
    table : polars.DataFrame
        Table of an experiment.

    Returns
    -------
    polars.DataFrame
        One row for each run and one column for each measure. Policies are in the order of the
        table, then seeds and horizons in ascending order.
    """
    labels = table["policy"].unique(maintain_order=True).to_list()
    order = {label: k for k, label in enumerate(labels)}
    place = pl.col("policy").cast(pl.String).replace_strict(order, return_dtype=pl.Int64)
    return (
        table.filter(pl.col("key") == "")
        .pivot(
            "measure", index=["policy", "seed", "horizon"], values="value", aggregate_function="sum"
        )
        .sort(place, "seed", "horizon")
    )


def longest(table: pl.DataFrame) -> pl.DataFrame:
    """Return the part of the table with the longest horizon.

    Parameters
    ----------
    table : polars.DataFrame
        Table of an experiment.

    Returns
    -------
    polars.DataFrame
        The rows with the longest horizon.
    """
    return table.filter(pl.col("horizon") == pl.col("horizon").max())


def summaries(results: Results) -> list[Summary]:
    """Return a summary of every policy's longest runs.

    Parameters
    ----------
    results : Results
        Results of an experiment.

    Returns
    -------
    list[Summary]
        The summaries in the order of the table.
    """
    rows = totals(longest(results.table))
    oracles = sorted(results.experiment.oracle_labels)
    rivals = rows.filter(~pl.col("policy").cast(pl.String).is_in(oracles))
    best = rivals.group_by("seed").agg(pl.col("gain").max().alias("best_gain"))
    rows = rows.join(best, on="seed", how="left", maintain_order="left")
    return [
        _summary(str(policy), group)
        for (policy,), group in rows.group_by("policy", maintain_order=True)
    ]


def _summary(policy: str, group: pl.DataFrame) -> Summary:
    gains = group["gain"].to_numpy()
    low, high = bootstrap_interval(gains)
    return Summary(
        policy=policy,
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


def regret_summaries(results: Results) -> list[RegretSummary]:
    """Return a summary of the regret of every policy's longest runs.

    Parameters
    ----------
    results : Results
        Results of an experiment; its `regret` says which regret to use.

    Returns
    -------
    list[RegretSummary]
        The summaries in the order of the table.
    """
    rows = totals(longest(results.table)).with_columns(
        best=pl.col("gain") + pl.col("realised_regret")
    )
    return [
        _regret_summary(str(policy), group, f"{results.experiment.regret}_regret")
        for (policy,), group in rows.group_by("policy", maintain_order=True)
    ]


def _regret_summary(policy: str, group: pl.DataFrame, measure: str) -> RegretSummary:
    regrets = group[measure].to_numpy()
    low, high = bootstrap_interval(regrets)
    gain, best_gain = _mean(group, "gain"), _mean(group, "best")
    looking = _mean(group, "value_of_looking")
    return RegretSummary(
        policy=policy,
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


def difference(
    table: pl.DataFrame, policy: str, other: str, *, measure: str = "gain"
) -> Difference:
    """Compare two policies on the seeds that both played.

    Parameters
    ----------
    table : polars.DataFrame
        Table of an experiment.
    policy : str
        Label of the policy.
    other : str
        Label of the policy that it is compared with.
    measure : str
        Measure to compare.

    Returns
    -------
    Difference
        Mean difference with its interval and p-value.

    Raises
    ------
    InvalidTable
        If the policies have no seed in common.
    """
    rows = totals(longest(table)).filter(pl.col("policy").is_in([policy, other]))
    pairs = rows.pivot("policy", index="seed", values=measure).drop_nulls().sort("seed")
    if pairs.is_empty():
        raise InvalidTable(
            f"{policy!r} and {other!r} have no seed in common, so they cannot be compared: run "
            "them with the same seeds."
        )
    differences = (pairs[policy] - pairs[other]).to_numpy()
    low, high = bootstrap_interval(differences)
    return Difference(
        policy=policy,
        other=other,
        seeds=len(differences),
        mean=float(differences.mean()),
        low=low,
        high=high,
        p_value=sign_flip_test(differences),
    )


def bootstrap_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean.

    The interval is too narrow for few values: with 5 normally distributed values it contains the
    mean in about 85 % of the cases. The same values always give the same interval.

    Parameters
    ----------
    values : numpy.ndarray
        Sample.

    Returns
    -------
    tuple[float, float]
        Lower and upper end.

    Examples
    --------
    >>> bootstrap_interval(np.array([1.0, 1.0]))
    (1.0, 1.0)
    """
    rng = np.random.default_rng(0)
    chosen = rng.integers(values.size, size=(RESAMPLES, values.size))
    low, high = np.quantile(values[chosen].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def sign_flip_test(values: NDArray[np.float64]) -> float:
    """Return the two-sided p-value of the hypothesis that the mean is 0.

    The test flips signs at random. It is valid if the values are symmetric about 0 under the
    hypothesis, as paired differences between equally good policies are. The same values always
    give the same p-value.

    Parameters
    ----------
    values : numpy.ndarray
        Paired differences.

    Returns
    -------
    float
        The p-value, or NaN if a value is NaN.

    Examples
    --------
    >>> sign_flip_test(np.zeros(5))
    1.0
    >>> sign_flip_test(np.ones(20)) < 0.001
    True
    """
    if np.isnan(values).any():
        return math.nan
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(RESAMPLES, values.size))
    tolerance = 1e-12 * np.abs(values).sum()  # sums that are equal may differ by rounding
    as_extreme = np.abs(signs @ values) >= np.abs(values.sum()) - tolerance
    return float((1 + as_extreme.sum()) / (1 + RESAMPLES))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, by Holm's step-down procedure.

    Rejecting the hypotheses whose corrected p-value is at most 5 % rejects a true one with a
    probability of at most 5 %, whatever the dependence between the tests.

    Parameters
    ----------
    p_values : Sequence[float]
        Uncorrected p-values.

    Returns
    -------
    list[float]
        Corrected p-values in the same order.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[k]))
        corrected[k] = largest
    return corrected


def _mean(group: pl.DataFrame, measure: str) -> float:
    return float(group[measure].to_numpy().mean())
