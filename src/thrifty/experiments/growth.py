"""How expected regret grows with the number of rounds, beside what the theorems promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.experiments.cells import cells_of, changes_within
from thrifty.experiments.curves import interval, resampled_means
from thrifty.experiments.measures import totals
from thrifty.experiments.results import Results
from thrifty.experiments.worlds import world_named
from thrifty.policies import NCCUCRL2
from thrifty.theory import Setting, regret_bound

Floats = NDArray[np.float64]
BOUNDED = "ncc-ucrl2"
"""The policy that the theorems are about."""


@dataclass(frozen=True)
class Growth:
    """A policy's mean expected regret at every horizon, and the slope of its logarithm.

    The slope is that of the least-squares line through log regret against log T, with its 95 %
    bootstrap interval over seeds; not a number if some regret is not positive, or with a single
    horizon.
    """

    policy: str
    horizons: tuple[int, ...]
    regret: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    slope: float
    slope_low: float
    slope_high: float


def growths(table: pl.DataFrame) -> list[Growth]:
    """Return the growth of every policy's regret, in the order of the table."""
    rows = totals(table).filter(pl.col("policy").cast(pl.String).str.to_lowercase() != "oracle")
    found = []
    for (policy,), group in rows.group_by("policy", maintain_order=True):
        wide = group.pivot("horizon", index="seed", values="expected_regret").sort("seed")
        horizons = sorted(int(name) for name in wide.columns if name != "seed")
        regrets = wide.select(map(str, horizons)).to_numpy()
        low, high = interval(regrets)
        mean = regrets.mean(axis=0)
        slopes = _slopes(horizons, np.vstack([mean, resampled_means(regrets)]))
        bounds = np.quantile(slopes[1:], [0.025, 0.975])
        found.append(
            Growth(
                policy=str(policy),
                horizons=tuple(horizons),
                regret=tuple(mean.tolist()),
                low=tuple(low.tolist()),
                high=tuple(high.tolist()),
                slope=float(slopes[0]),
                slope_low=float(bounds[0]),
                slope_high=float(bounds[1]),
            )
        )
    return found


def bounds_of(results: Results) -> Mapping[int, float]:
    """Return the bound of Theorem 1 or 2 at every horizon, for the experiment's NCC-UCRL2.

    Window and delta are those of the first policy that the theorems are about; without one there
    is no bound.
    """
    experiment = results.experiment
    label = next((it.label for it in experiment.entries if it.policy == BOUNDED), None)
    bounds = {}
    for (policy, horizon, seed), cell in cells_of(experiment).items():
        if policy != label or horizon is None or seed != experiment.seeds[0]:
            continue
        replay = world_named(cell.world)(seed, **cell.parsed_world_params)
        params = NCCUCRL2(replay.problem, horizon=horizon, **cell.parsed_params).parameters
        setting = Setting(replay.problem, horizon, params["window"], params["delta"])
        bounds[horizon] = regret_bound(setting, changes=changes_within(replay, horizon)).total
    return dict(sorted(bounds.items()))


def slope_of(values: Mapping[int, float]) -> float:
    """Return the slope of log value against log T.

    >>> round(slope_of({100: 10.0, 10_000: 100.0}), 6)
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
