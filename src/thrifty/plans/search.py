"""Which sets of looks are worth considering: forward, backward, and with lower prices."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.bank import Bank
from thrifty.plans.cases import LookSet

PRICE_FACTORS = (1.0, 0.3, 0.1)
"""Sets that pay only in a subgroup of the cases are found with lower prices."""
BEAM = 2
PATIENCE = 2
MAX_LOOKS = 8
KEPT_SHARE = 0.75
"""Share of the looks that each step of the way down from everything keeps."""
MAX_EXTENSIONS = 10
"""From the third step on, only this many looks are tried: those that added most so far."""


def search_sets(bank: Bank) -> None:
    """Fit models to the promising sets of looks; the bank keeps them.

    Parameters
    ----------
    bank : Bank
        The bank to fill.
    """
    search = _Search(bank)
    bank.add([()])
    # First, because `backward` starts from the best set found: where single looks do not pay,
    # that is often a set of many looks, some of them worthless.
    search.drop_paths()
    for factor in PRICE_FACTORS:
        # Only the real prices deserve the wide search.
        is_real = factor == 1.0
        search.forward(factor, BEAM if is_real else 1, PATIENCE if is_real else 1)
        search.backward(factor)


class _Search:
    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.looks = range(len(bank.cases.looks))
        self._costs: dict[LookSet, float] = {}

    def value(self, looks: LookSet, factor: float) -> float:
        """Return the mean gain of a set if prices are multiplied by a factor."""
        if looks not in self._costs:
            self._costs[looks] = float(self.bank.cases.cost(looks).mean())
        return float(self.bank.rewards(looks).mean()) - factor * self._costs[looks]

    def best(self, sets: Iterable[LookSet], factor: float) -> LookSet:
        """Return the set with the highest value."""
        return max(sets, key=lambda looks: self.value(looks, factor))

    def forward(self, factor: float, width: int, patience: int) -> None:
        """Extend the best sets by one look at a time, until that stops helping."""
        beam: list[LookSet] = [()]
        extensions = list(self.looks)
        highest, failures = self.value((), factor), 0
        for step in range(min(MAX_LOOKS, len(self.looks))):
            steps = [
                (looks, look, tuple(sorted((*looks, look))))
                for looks in beam
                for look in extensions
                if look not in looks
            ]
            larger = list(dict.fromkeys(after for _, _, after in steps))
            if not larger:
                return
            self.bank.add(larger)
            beam = sorted(larger, key=lambda looks: -self.value(looks, factor))[:width]
            if step > 0:
                extensions = self._helpful(steps, factor)
                extensions += [k for looks in beam for k in looks if k not in extensions]
            top = self.value(beam[0], factor)
            failures = 0 if top > highest else failures + 1
            highest = max(highest, top)
            if failures >= patience:
                return

    def _helpful(self, steps: list[tuple[LookSet, int, LookSet]], factor: float) -> list[int]:
        """Return the looks that added most."""
        added: dict[int, float] = {}
        for before, look, after in steps:
            gain = self.value(after, factor) - self.value(before, factor)
            added[look] = max(added.get(look, gain), gain)
        return sorted(added, key=lambda look: -added[look])[:MAX_EXTENSIONS]

    def backward(self, factor: float) -> None:
        """Remove looks from the best set as long as that does not lower its value."""
        best = self.best(self.bank.sets, factor)
        while best:
            smaller = [_without(best, look) for look in best]
            self.bank.add(smaller)
            candidate = self.best(smaller, factor)
            if self.value(candidate, factor) < self.value(best, factor):
                return
            best = candidate

    def drop_paths(self) -> None:
        """Start from everything, and drop the looks that matter least until few are left.

        Looks are ordered by how much they matter in the model of all looks, and once more by how
        much they matter per price.
        """
        everything = tuple(self.looks)
        matter = self._importance(everything)
        prices = np.array([float(self.bank.cases.cost([look]).mean()) for look in everything])
        for order in (np.argsort(-matter), np.argsort(-matter / np.maximum(prices, 1e-12))):
            left = len(everything)
            while left > 1:
                self.bank.add([tuple(sorted(order[:left].tolist()))])
                left = int(left * KEPT_SHARE)

    def _importance(self, looks: LookSet) -> NDArray[np.float64]:
        """Return how much each look matters in the model of a set."""
        booster = self.bank.rule(looks).boosters[0]
        by_column = dict(zip(booster.columns, booster.importance.tolist(), strict=True))
        return np.array(
            [sum(by_column[c] for c in self.bank.cases.looks[look].columns) for look in looks]
        )


def _without(looks: LookSet, look: int) -> LookSet:
    return tuple(k for k in looks if k != look)
