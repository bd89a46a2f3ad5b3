"""Slow twins of the linear policies that forget, restart or keep several regressions.

They keep all rounds and compute every regression again whenever they need it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import naive
from naive import Codes, Floats

Sample = tuple[Codes, float]


class DLinUCB(naive.LinUCB):
    """Algorithm 1 of Russac, Vernade and Cappé (2019), with a block of x for each action."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        alpha: float = 0.5,
        discount: float = 0.998,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions, alpha=alpha, encoding=encoding)
        self.discount = discount

    def block(self, codes: Codes, action: int) -> Floats:
        x = self.x(codes)
        out = np.zeros((self.n_actions, len(x)))
        out[action] = x
        return out.ravel()

    def values(self, codes: Codes) -> list[float]:
        gamma = self.discount
        eye = np.eye(len(self.x(codes)) * self.n_actions)
        v, squared, b = eye.copy(), eye.copy(), np.zeros(len(eye))
        for r in self.history:
            x = self.block(r.codes, r.action)
            v = gamma * v + np.outer(x, x) + (1 - gamma) * eye
            squared = gamma**2 * squared + np.outer(x, x) + (1 - gamma**2) * eye
            b = gamma * b + r.reward * x
        inverse = np.linalg.inv(v)
        theta = inverse @ b
        values = []
        for a in range(self.n_actions):
            x = self.block(codes, a)
            width = math.sqrt(x @ inverse @ squared @ inverse @ x)
            values.append(float(theta @ x + self.alpha * width))
        return values


class SWLinUCB(naive.LinUCB):
    """LinUCB on the last rounds."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        alpha: float = 0.5,
        window: int = 539,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions, alpha=alpha, encoding=encoding)
        self.window = window

    def samples(self, action: int) -> list[Sample]:
        recent = self.history[-self.window :]
        return [(r.codes, r.reward) for r in recent if r.action == action]


class BOBSWLinUCB(naive.LinUCB):
    """Algorithm 2 of Cheung, Simchi-Levi and Zhu (2019)."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int = 10_000,
        alpha: float = 0.5,
        block: int | None = None,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions, alpha=alpha, encoding=encoding)
        size = len(self.x((0,) * len(self.levels))) * n_actions
        self.block = math.floor(size * math.sqrt(horizon)) if block is None else block
        k = math.ceil(math.log(self.block))
        self.windows = [math.floor(self.block ** (j / k) + 1e-9) for j in range(k)] + [self.block]
        n = len(self.windows)
        blocks = math.ceil(horizon / self.block)
        self.gamma = min(1.0, math.sqrt(n * math.log(n) / ((math.e - 1) * blocks)))
        self.s = [1.0] * n
        self.j = 0
        self.now: list[naive.Round] = []

    def chances(self) -> list[float]:
        uniform = self.gamma / len(self.s)
        return [(1 - self.gamma) * s / sum(self.s) + uniform for s in self.s]

    def read_draws(self, draws: Sequence[float]) -> None:
        if not self.now:
            ends = np.cumsum(self.chances())
            self.j = min(int(np.searchsorted(ends, draws[0], side="right")), len(ends) - 1)

    def samples(self, action: int) -> list[Sample]:
        recent = self.now[-self.windows[self.j] :]
        return [(r.codes, r.reward) for r in recent if r.action == action]

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        self.now.append(naive.Round(codes, tuple(costs), action, reward, sweep=False))
        if len(self.now) == self.block:
            mean = sum(r.reward for r in self.now) / self.block
            p = self.chances()[self.j]
            self.s[self.j] *= math.exp(self.gamma / len(self.s) * mean / p)
            self.now = []
