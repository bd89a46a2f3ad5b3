"""Slow, obvious twins of policies that follow changes of coefficients, or detect them.

Linear Thompson sampling with a test for changes, particle learning, and detectors around other
twins; all written from the papers. A random number that a kernel hashes from a draw is hashed by
`Stream` here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from naive import Codes, LinUCB
from naive_scout import Stream

Sample = tuple[Codes, float]


def stream_of_update(purpose: int, number: int) -> Stream:
    stream = Stream(0.0)
    stream.key, stream.count = purpose, number * 2**16
    return stream


class AdaptiveTS(LinUCB):
    """Keeps the samples of each action since its last change, and the series of distances."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        alpha: float = 0.25,
        window: int = 50,
        every: int = 10,
        memory: int = 50,
        bootstraps: int = 100,
        confidence: float = 0.95,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions, alpha=alpha, encoding=encoding)
        self.window, self.every, self.memory = window, every, memory
        self.bootstraps, self.confidence = bootstraps, confidence
        self.kept: list[list[Sample]] = [[] for _ in range(n_actions)]
        self.distances: list[list[float]] = [[] for _ in range(n_actions)]
        self.draw, self.updates = 0.0, 0

    def read_draws(self, draws: Sequence[float]) -> None:
        self.draw = draws[0]

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        return (True,) * len(self.levels), int(self.draw * 2**32)

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        stream, x = Stream(draws[1]), self.x(codes)
        values = []
        for a in range(self.n_actions):
            matrix, target = self.regression(self.kept[a])
            inverse = np.linalg.inv(matrix)
            scale = self.alpha * math.sqrt(x @ inverse @ x)
            values.append(float(inverse @ target @ x) + scale * stream.normal())
        return max(available, key=lambda a: values[a])

    def distance(self, newer: list[Sample], older: list[Sample]) -> float:
        """Return the Mahalanobis distance between two posterior distributions."""
        matrix, target = self.regression(newer)
        other_matrix, other_target = self.regression(older)
        spread, other_spread = np.linalg.inv(matrix), np.linalg.inv(other_matrix)
        gap = spread @ target - other_spread @ other_target
        squared = gap @ np.linalg.inv((spread + other_spread) / 2) @ gap
        return float(np.rint(math.sqrt(squared) * 2**40) / 2**40)

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        self.updates += 1
        kept, distances, n = self.kept[action], self.distances[action], self.window
        kept.append((codes, reward))
        if len(kept) < 2 * n or (len(kept) - 2 * n) % self.every:
            return
        distances.append(self.distance(kept[-n:], kept[-2 * n : -n]))
        del distances[: -self.memory]
        share = share_below(distances, self.bootstraps, stream_of_update(purpose, self.updates))
        if share > self.confidence:
            del kept[:-n]
            distances.clear()


def range_of_sums(series: Sequence[float]) -> float:
    """Return the range of the sums of n x_i - sum x, which are exact."""
    n, total = len(series), sum(series)
    sums = np.cumsum([n * value - total for value in series])
    return float(max(0.0, sums.max()) - min(0.0, sums.min()))


def share_below(series: Sequence[float], bootstraps: int, stream: Stream) -> float:
    """Return the share of random orders in which cumulative sums have a smaller range."""
    shuffled = list(series)
    smaller = 0
    for _ in range(bootstraps):
        for k in range(len(shuffled) - 1, 0, -1):
            other = int(stream.uniform() * (k + 1))
            shuffled[k], shuffled[other] = shuffled[other], shuffled[k]
        smaller += range_of_sums(shuffled) < range_of_sums(series)
    return smaller / bootstraps
