"""Building blocks of the families of markets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.market import Market, Regime, Rewards
from thrifty.environments.market_columns import Column, joint_from_outcome
from thrifty.prices import Group

Floats = NDArray[np.float64]


def parameters_stream(family: str, seed: int) -> np.random.Generator:
    """Return the random stream of a market's parameters, which is not that of its cases."""
    return np.random.default_rng([seed, crc32(family.encode())])


@dataclass(frozen=True, eq=False)
class Signal:
    """An informative column, independent of the others given the outcome.

    `likelihood` (O, L) has one row of probabilities of the levels for every outcome. Without names
    of levels it is a number; with `has_missing`, its last level means that there is no value.
    """

    name: str
    price: float | None
    likelihood: Floats
    levels: tuple[str, ...] = ()
    has_missing: bool = False

    def column(self, shares: Floats) -> Column:
        """Return the column; the thresholds of a number are percentiles, given the outcomes."""
        if self.levels:
            return Column(self.name, self.price, levels=self.levels)
        frequencies = shares @ self.likelihood
        present = frequencies[:-1] if self.has_missing else frequencies
        ends = 100 * np.cumsum(present) / present.sum()
        return Column(
            self.name, self.price, ends=(0.0, *ends[:-1], 100.0), has_missing=self.has_missing
        )


def vary(rng: np.random.Generator, value: float, spread: float = 0.2) -> float:
    """Return a value that differs by a random share, rounded to three digits."""
    return float(f"{value * rng.uniform(1 - spread, 1 + spread):.3g}")


def tilted(frequencies: Sequence[float] | Floats, tilts: Sequence[float] | Floats) -> Floats:
    """Return likelihoods (O, L): for each outcome the frequencies, tilted to high or low levels.

    A tilt multiplies the odds of the highest against the lowest level by e to twice its value.

    >>> tilted([0.5, 0.5], [0.0, 1.0]).round(3).tolist()
    [[0.5, 0.5], [0.119, 0.881]]
    """
    base = np.array(frequencies)
    scores = np.linspace(-1, 1, len(base))
    table = base * np.exp(np.multiply.outer(np.array(tilts), scores))
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def changing_shares(rng: np.random.Generator, n_regimes: int) -> list[float]:
    """Return shares of regimes that are roughly equal.

    >>> round(sum(changing_shares(np.random.default_rng(0), 4)), 9)
    1.0
    """
    lengths = rng.uniform(0.85, 1.15, n_regimes)
    shares: list[float] = (lengths / lengths.sum()).tolist()
    return shares


def useless_columns(price: float, *, n_categories: int = 12) -> list[Column]:
    """Return two useless numbers and a useless category."""
    return [
        Column("noise1", price, ends=(0.0, 100.0)),
        Column("noise2", 2 * price, ends=(0.0, 100.0)),
        Column("code", price, levels=tuple(f"c{k}" for k in range(n_categories))),
    ]


def make_market(
    rng: np.random.Generator,
    columns: Sequence[Column],
    useless: Sequence[Column],
    rewards: Rewards,
    regimes: Sequence[Regime],
    *,
    rounds: int,
    seed: int,
    groups: Sequence[Group] = (),
) -> Market:
    """Make a market with its columns in random order."""
    every = [*columns, *useless]
    return Market(
        [every[i] for i in rng.permutation(len(every))],
        rewards,
        regimes,
        informative=[column.name for column in columns],
        groups=groups,
        rounds=rounds,
        seed=seed,
    )


def signal_market(
    rng: np.random.Generator,
    signals: Sequence[Signal],
    shares: Floats,
    useless: Sequence[Column],
    rewards: Rewards,
    *,
    rounds: int,
    seed: int,
    groups: Sequence[Group] = (),
) -> Market:
    """Make a market without changes, given the shares of the outcomes."""
    joint = joint_from_outcome(shares, *(signal.likelihood for signal in signals))
    columns = [signal.column(shares) for signal in signals]
    return make_market(
        rng, columns, useless, rewards, [Regime(joint)], rounds=rounds, seed=seed, groups=groups
    )
