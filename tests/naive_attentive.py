"""Slow, obvious twins of the policies of related work that buy few features or test for changes.

Like those in naive.py they keep every round in a list and go through it again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from naive import NOT_BOUGHT, Codes, Floats, Twin, maxima
from naive_scout import Stream


class TSRC(Twin):
    """Two Thompson samplings: of features, by their rewards, and of actions, by regressions."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        window: int | None = None,
        max_features: int | None = None,
        v: float = 0.25,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions)
        quarter = math.ceil(len(levels) / 4)
        self.d = min(len(levels), quarter if max_features is None else max_features)
        self.window, self.v, self.encoding = window, v, encoding
        self.draw = 0.0

    def read_draws(self, draws: Sequence[float]) -> None:
        self.draw = draws[0]

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        stream = Stream(self.draw)
        rounds = self.history if self.window is None else self.history[-self.window :]
        theta = []
        for i in range(len(self.levels)):
            rewards = [r.reward for r in rounds if r.bought(i)]
            gained = sum(rewards)
            theta.append(stream.beta(1 + gained, 1 + len(rewards) - gained))
        unknown = [i for i in range(len(theta)) if self.known[i] == NOT_BOUGHT]
        best = sorted(unknown, key=lambda i: -theta[i])[: self.d]
        return tuple(i in best for i in range(len(theta))), 0

    def c(self, codes: Codes) -> Floats:
        if self.encoding == "ordinal":
            return np.array([code + 1.0 for code in codes])
        pairs = zip(codes, self.levels, strict=True)
        return np.array([float(code == level) for code, n in pairs for level in range(n)])

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        stream, c, values = Stream(draws[1]), self.c(codes), []
        for a in range(self.n_actions):
            rounds = [r for r in self.history if r.action == a]
            matrix = np.eye(c.size) + sum(
                np.outer(self.c(r.codes), self.c(r.codes)) for r in rounds
            )
            target = sum((r.reward * self.c(r.codes) for r in rounds), np.zeros(c.size))
            inverse = np.linalg.inv(matrix)
            spread = self.v * math.sqrt(c @ inverse @ c)
            values.append(float(c @ inverse @ target + spread * stream.normal()))
        return maxima(values, available)[0]


class WTSRC(TSRC):
    def __init__(
        self, levels: Sequence[int], n_actions: int, *, window: int = 250, **others: object
    ) -> None:
        super().__init__(levels, n_actions, window=window, **others)  # type: ignore[arg-type]
