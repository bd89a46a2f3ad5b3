"""Made-up cases of which the truth is known: what is worth buying, and up to what price."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from thrifty.policy_file import Comments, PolicyFile, of_prices, to_toml
from thrifty.policy_file.model import ActionsSection, PolicySection
from thrifty.seeds import Seed, generator

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Factor:
    """A column that tells something: its values and, given those of another, their chances.

    `chances` are one row, or a row for each value of the column called `given`.
    """

    name: str
    values: tuple[str, ...]
    chances: tuple[tuple[float, ...], ...]
    given: str | None = None


@dataclass(frozen=True)
class Known:
    """A world of cases: columns that tell something, and the chance of each outcome by period.

    `risks` are for every period and for every outcome but the last: a base chance and what each
    value adds to it; "a & b" stands for two values together. The last outcome has the rest.
    `prices` are for each thing to buy one number, or one for each period.
    """

    title: str
    factors: tuple[Factor, ...]
    outcomes: tuple[str, ...]
    risks: tuple[tuple[Mapping[str, float], ...], ...]
    ends: tuple[float, ...]
    """The share of the cases at which each period ends; the last is 1."""
    rewards: Mapping[str, tuple[float, ...]]
    """By action: the reward of every outcome."""
    prices: Mapping[str, tuple[float, ...]]
    bundles: Mapping[str, tuple[str, ...]]
    free: tuple[str, ...]
    noise: tuple[str, ...]
    """Columns for sale that tell nothing."""

    @cached_property
    def states(self) -> list[tuple[str, ...]]:
        """All combinations of the factors' values."""
        return list(product(*(factor.values for factor in self.factors)))

    @cached_property
    def probabilities(self) -> Floats:
        """How frequent each state is."""
        places = {factor.name: k for k, factor in enumerate(self.factors)}
        result = np.ones(len(self.states))
        for s, state in enumerate(self.states):
            for k, factor in enumerate(self.factors):
                row = 0
                if factor.given is not None:
                    other = places[factor.given]
                    row = self.factors[other].values.index(state[other])
                result[s] *= factor.chances[row][factor.values.index(state[k])]
        return result

    @cached_property
    def chances(self) -> Floats:
        """The chance of each outcome, by period and state: (periods, states, outcomes)."""
        result = np.zeros((len(self.risks), len(self.states), len(self.outcomes)))
        for p, risks in enumerate(self.risks):
            for s, state in enumerate(self.states):
                for k, risk in enumerate(risks):
                    result[p, s, k] = _chance(risk, state)
        result[..., :-1] /= np.maximum(result.sum(axis=-1, keepdims=True), 1)
        result[..., -1] = 1 - result.sum(axis=-1)
        return result

    @cached_property
    def shares(self) -> Floats:
        """The share of the cases in each period."""
        return np.diff(self.ends, prepend=0.0)

    @cached_property
    def mean_prices(self) -> dict[str, float]:
        """What each thing costs on the mean of all cases."""
        return {
            name: float(np.dot(prices, self.shares)) if len(prices) > 1 else prices[0]
            for name, prices in self.prices.items()
        }

    def columns_of(self, bought: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that are seen when these things are bought."""
        seen = [*self.free, *(c for name in bought for c in self.bundles.get(name, (name,)))]
        return tuple(seen)

    def reward(self, bought: Sequence[str]) -> float:
        """Return the exact mean reward of the best rule that sees these things."""
        seen = set(self.columns_of(bought))
        places = [k for k, factor in enumerate(self.factors) if factor.name in seen]
        joint = self.probabilities[:, None] * np.einsum("p,psk->sk", self.shares, self.chances)
        cells: dict[tuple[str, ...], Floats] = {}
        for state, row in zip(self.states, joint, strict=True):
            key = tuple(state[k] for k in places)
            cells[key] = cells.get(key, np.zeros(len(self.outcomes))) + row
        table = np.array(list(self.rewards.values()))
        return float(sum((table @ row).max() for row in cells.values()))

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """The things to buy that tell something."""
        return tuple(name for name in self.prices if name not in self.noise)

    @cached_property
    def gains(self) -> dict[frozenset[str], float]:
        """The exact gain of every set of telling things."""
        sets = [it for n in range(len(self.telling) + 1) for it in combinations(self.telling, n)]
        return {
            frozenset(it): self.reward(it) - sum(self.mean_prices[name] for name in it)
            for it in sets
        }

    @cached_property
    def best_subset(self) -> frozenset[str]:
        """The set of the largest gain."""
        return max(self.gains, key=lambda it: self.gains[it])

    @cached_property
    def break_even(self) -> dict[str, float]:
        """Up to what price each thing belongs to the best set, given the others; 0 for noise."""
        result = dict.fromkeys(self.noise, 0.0)
        for name in self.telling:
            with_it = max(gain for it, gain in self.gains.items() if name in it)
            without = max(gain for it, gain in self.gains.items() if name not in it)
            result[name] = with_it + self.mean_prices[name] - without
        return result

    def rows(self, number: int, seed: Seed) -> Iterator[list[str]]:
        """Draw cases, in the order of time: the header first, then a row for each."""
        rng = generator(seed)
        period = np.searchsorted(np.array(self.ends), np.arange(number) / number, side="right")
        state = rng.choice(len(self.states), number, p=self.probabilities)
        cumulated = self.chances[period, state].cumsum(axis=1)
        outcome = (rng.random(number)[:, None] > cumulated[:, :-1]).sum(axis=1)
        noise = [rng.integers(18, 80, number) for _ in self.noise]
        drifting = {name: it for name, it in self.prices.items() if len(it) > 1}
        yield [
            "case",
            *(factor.name for factor in self.factors),
            *self.noise,
            *(f"{name}_price" for name in drifting),
            "outcome",
        ]
        for t in range(number):
            yield [
                str(t + 1),
                *self.states[state[t]],
                *(str(column[t]) for column in noise),
                *(str(it[period[t]]) for it in drifting.values()),
                self.outcomes[outcome[t]],
            ]

    def as_csv(self, number: int, seed: Seed) -> str:
        """Return cases as the text of a CSV file."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.rows(number, seed))
        return text.getvalue()

    def policy_file(self) -> PolicyFile:
        """Return the prices and rewards as a policy file, without levels."""
        alone = {name: it for name, it in self.prices.items() if name not in self.bundles}
        return of_prices(
            {name: _price(name, it) for name, it in alone.items()},
            target="outcome",
            time="case",
            free=self.free,
            bundles={
                name: (columns, _price(name, self.prices[name]))
                for name, columns in self.bundles.items()
            },
            rewards={
                action: dict(zip(self.outcomes, row, strict=True))
                for action, row in self.rewards.items()
            },
            currency="EUR",
        )

    def as_toml(self) -> str:
        """Return the policy file as text."""
        file = self.policy_file().changed(
            policy=PolicySection(name=self.title.lower()),
            actions=ActionsSection(names=tuple(self.rewards)),
        )
        header = f"{self.title}: features, prices and rewards, for `thrifty worth`."
        return to_toml(file, Comments((header,)))


def _chance(risk: Mapping[str, float], state: Sequence[str]) -> float:
    values = set(state)
    added = sum(more for key, more in risk.items() if key and values.issuperset(key.split(" & ")))
    return min(max(risk[""] + added, 0.005), 0.97)


def _price(name: str, price: Sequence[float]) -> float | str:
    return price[0] if len(price) == 1 else f"{name}_price"
