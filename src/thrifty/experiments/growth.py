"""Growth of expected regret with the number of rounds, and the bounds of the theorems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.experiments.environments import environment_named
from thrifty.experiments.measures import totals
from thrifty.experiments.results import Results
from thrifty.experiments.series import interval, resampled_means
from thrifty.experiments.single_runs import changes_within, single_runs
from thrifty.policies import NCCUCRL2
from thrifty.theory import Setting, regret_bound

Floats = NDArray[np.float64]
BOUNDED_POLICY = "ncc-ucrl2"
"""Policy that the theorems are about."""


@dataclass(frozen=True)
class RegretGrowth:
    """Mean expected regret of a policy at every horizon, and its slope on the log-log plot.

    The slope is that of the least-squares line through log regret against log T, with its 95 %
    bootstrap interval over seeds. It is NaN if a regret is not positive, and for a single horizon.
    """

    policy: str
    horizons: tuple[int, ...]
    regret: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    slope: float
    slope_low: float
    slope_high: float


def regret_growths(results: Results) -> list[RegretGrowth]:
    """Return the growth of regret of every policy but the oracle, in the order of the table."""
    oracles = sorted(results.experiment.oracle_labels)
    rows = totals(results.table).filter(~pl.col("policy").cast(pl.String).is_in(oracles))
    return [
        _regret_growth(str(policy), group)
        for (policy,), group in rows.group_by("policy", maintain_order=True)
    ]


def _regret_growth(policy: str, group: pl.DataFrame) -> RegretGrowth:
    wide = group.pivot("horizon", index="seed", values="expected_regret").sort("seed")
    horizons = sorted(int(name) for name in wide.columns if name != "seed")
    regrets = wide.select(map(str, horizons)).to_numpy()
    low, high = interval(regrets)
    mean = regrets.mean(axis=0)
    slopes = _slopes(horizons, np.vstack([mean, resampled_means(regrets)]))
    slope_low, slope_high = np.quantile(slopes[1:], [0.025, 0.975])
    return RegretGrowth(
        policy=policy,
        horizons=tuple(horizons),
        regret=tuple(mean.tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        slope=float(slopes[0]),
        slope_low=float(slope_low),
        slope_high=float(slope_high),
    )


def theorem_bounds(results: Results) -> Mapping[int, float]:
    """Return the bound of Theorem 1 or 2 at every horizon, for the experiment's NCC-UCRL2.

    The window and delta are those of the experiment's first policy that the theorems are about.
    Without such a policy there are no bounds.
    """
    experiment = results.experiment
    label = next(
        (entry.label for entry in experiment.entries if entry.policy == BOUNDED_POLICY), None
    )
    bounds = {}
    for (policy, horizon, seed), run in single_runs(experiment).items():
        if policy != label or horizon is None or seed != experiment.seeds[0]:
            continue
        replay = environment_named(run.environment)(seed, **run.parsed_environment_params)
        params = NCCUCRL2(replay.problem, horizon=horizon, **run.parsed_params).parameters
        setting = Setting(replay.problem, horizon, params["window"], params["delta"])
        bounds[horizon] = regret_bound(setting, changes=changes_within(replay, horizon)).total
    return dict(sorted(bounds.items()))


def log_log_slope(values: Mapping[int, float]) -> float:
    """Return the slope of log value against log T.

    >>> round(log_log_slope({100: 10.0, 10_000: 100.0}), 6)
    0.5
    """
    return float(_slopes(list(values), np.array([list(values.values())]))[0])


def _slopes(horizons: list[int], regrets: Floats) -> Floats:
    """Return the slope of every row of regrets."""
    if len(horizons) < 2:
        return np.full(len(regrets), np.nan)
    x = np.log(horizons)
    x -= x.mean()
    logs = np.full(regrets.shape, np.nan)
    np.log(regrets, out=logs, where=regrets > 0)
    slopes: Floats = logs @ x / (x @ x)
    return slopes
