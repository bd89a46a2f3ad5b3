"""Synthetic cases with a known answer: the best set, and what each feature is worth."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from thrifty.policy_file import Comments, PolicyFile, from_prices, to_toml
from thrifty.policy_file.model import ActionsSection, PolicySection
from thrifty.policy_file.writing import DEADLINE_COMMENT, WRITTEN_RULE
from thrifty.seeds import Seed, generator

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Factor:
    """An informative column: its values and their probabilities.

    `probabilities` has one row, or one for each value of the column `given`.
    """

    name: str
    values: tuple[str, ...]
    probabilities: tuple[tuple[float, ...], ...]
    given: str | None = None


@dataclass(frozen=True)
class SyntheticExample:
    """A synthetic table: informative columns, and probabilities of outcomes that change by period.

    Parameters
    ----------
    title : str
        Name of the example.
    factors : tuple of Factor
        Columns that carry information.
    outcomes : tuple of str
        Values of the target.
    risks : tuple
        For every period and every outcome but the last: a base probability under the empty key,
        and what each value adds to it; "a & b" means two values together.
    ends : tuple of float
        Share of the cases at which each period ends; the last is 1.
    rewards : mapping
        Reward of every outcome, by action.
    prices : mapping
        Price of each feature: one number, or one per period.
    bundles : mapping
        Columns of each feature that is a bundle.
    free : tuple of str
        Columns that are known in every case.
    noise : tuple of str
        Columns for sale that carry no information.
    """

    title: str
    factors: tuple[Factor, ...]
    outcomes: tuple[str, ...]
    risks: tuple[tuple[Mapping[str, float], ...], ...]
    ends: tuple[float, ...]
    rewards: Mapping[str, tuple[float, ...]]
    prices: Mapping[str, tuple[float, ...]]
    bundles: Mapping[str, tuple[str, ...]]
    free: tuple[str, ...]
    noise: tuple[str, ...]

    @cached_property
    def states(self) -> list[tuple[str, ...]]:
        """All combinations of the factors' values."""
        return list(product(*(factor.values for factor in self.factors)))

    @cached_property
    def state_probabilities(self) -> Floats:
        """The probability of each state."""
        positions = {factor.name: k for k, factor in enumerate(self.factors)}
        result = np.ones(len(self.states))
        for s, state in enumerate(self.states):
            for k, factor in enumerate(self.factors):
                row = 0
                if factor.given is not None:
                    other = positions[factor.given]
                    row = self.factors[other].values.index(state[other])
                result[s] *= factor.probabilities[row][factor.values.index(state[k])]
        return result

    @cached_property
    def outcome_probabilities(self) -> Floats:
        """The probability of each outcome, (periods, states, outcomes)."""
        result = np.zeros((len(self.risks), len(self.states), len(self.outcomes)))
        for p, risks in enumerate(self.risks):
            for s, state in enumerate(self.states):
                for k, risk in enumerate(risks):
                    result[p, s, k] = _probability(risk, state)
        # Risks may add up to more than 1; the last outcome then has probability 0.
        result[..., :-1] /= np.maximum(result.sum(axis=-1, keepdims=True), 1)
        result[..., -1] = 1 - result.sum(axis=-1)
        return result

    @cached_property
    def shares(self) -> Floats:
        """The share of the cases in each period."""
        return np.diff(self.ends, prepend=0.0)

    @cached_property
    def mean_prices(self) -> dict[str, float]:
        """The mean price of each feature."""
        return {
            name: float(np.dot(prices, self.shares)) if len(prices) > 1 else prices[0]
            for name, prices in self.prices.items()
        }

    def visible_columns(self, bought: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that are visible when these features are bought."""
        return (
            *self.free,
            *(column for name in bought for column in self.bundles.get(name, (name,))),
        )

    def reward(self, bought: Sequence[str]) -> float:
        """Return the exact mean reward of the best rule that uses these features."""
        visible = set(self.visible_columns(bought))
        used = [k for k, factor in enumerate(self.factors) if factor.name in visible]
        joint = self.state_probabilities[:, None] * np.einsum(
            "p,psk->sk", self.shares, self.outcome_probabilities
        )
        cells: dict[tuple[str, ...], Floats] = {}
        for state, row in zip(self.states, joint, strict=True):
            key = tuple(state[k] for k in used)
            cells[key] = cells.get(key, np.zeros(len(self.outcomes))) + row
        table = np.array(list(self.rewards.values()))
        return float(sum((table @ row).max() for row in cells.values()))

    @cached_property
    def informative(self) -> tuple[str, ...]:
        """The features with a price that carry information."""
        return tuple(name for name in self.prices if name not in self.noise)

    @cached_property
    def gains(self) -> dict[frozenset[str], float]:
        """The exact gain of every set of informative features."""
        sets = [
            names
            for size in range(len(self.informative) + 1)
            for names in combinations(self.informative, size)
        ]
        return {
            frozenset(names): self.reward(names) - sum(self.mean_prices[name] for name in names)
            for names in sets
        }

    @cached_property
    def best_subset(self) -> frozenset[str]:
        """The set with the largest gain."""
        return max(self.gains, key=lambda names: self.gains[names])

    @cached_property
    def break_even(self) -> dict[str, float]:
        """The price up to which each feature belongs to the best set; 0 for noise."""
        result = dict.fromkeys(self.noise, 0.0)
        for name in self.informative:
            best_with = max(gain for names, gain in self.gains.items() if name in names)
            best_without = max(gain for names, gain in self.gains.items() if name not in names)
            result[name] = best_with + self.mean_prices[name] - best_without
        return result

    def rows(self, number: int, seed: Seed) -> Iterator[list[str]]:
        """Yield the header, then a row per case in the order of time."""
        rng = generator(seed)
        period = np.searchsorted(np.array(self.ends), np.arange(number) / number, side="right")
        state = rng.choice(len(self.states), number, p=self.state_probabilities)
        cumulative = self.outcome_probabilities[period, state].cumsum(axis=1)
        outcome = (rng.random(number)[:, None] > cumulative[:, :-1]).sum(axis=1)
        noise = [rng.integers(18, 80, number) for _ in self.noise]
        drifting = {name: prices for name, prices in self.prices.items() if len(prices) > 1}
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
                *(str(prices[period[t]]) for prices in drifting.values()),
                self.outcomes[outcome[t]],
            ]

    def as_csv(self, number: int, seed: Seed) -> str:
        """Return cases as CSV."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.rows(number, seed))
        return text.getvalue()

    def policy_file(self) -> PolicyFile:
        """Return a policy file with prices and rewards, without levels."""
        single = {name: prices for name, prices in self.prices.items() if name not in self.bundles}
        return from_prices(
            {name: _price(name, prices) for name, prices in single.items()},
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
        """Return the policy file as TOML."""
        file = self.policy_file().replace(
            policy=PolicySection(name=self.title.lower()),
            actions=ActionsSection(names=tuple(self.rewards)),
            reward_rule=WRITTEN_RULE,
        )
        header = f"{self.title}: features, prices and rewards for `thrifty worth`."
        return to_toml(file, Comments((header,), DEADLINE_COMMENT))


def _probability(risk: Mapping[str, float], state: Sequence[str]) -> float:
    values = set(state)
    added = sum(more for key, more in risk.items() if key and values.issuperset(key.split(" & ")))
    # Never certain, so that every outcome occurs in every group.
    return min(max(risk[""] + added, 0.005), 0.97)


def _price(name: str, price: Sequence[float]) -> float | str:
    return price[0] if len(price) == 1 else f"{name}_price"
