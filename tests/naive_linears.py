"""Slow twins of the linear policies that forget, restart or keep several regressions.

They keep all rounds and compute every regression again whenever they need it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

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


def quantile(p: float) -> float:
    """Return the quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(p)


class Slave:
    """A LinUCB model: its samples, one list for each action, and the results of its tests."""

    def __init__(self, n_actions: int) -> None:
        self.learnt: list[list[Sample]] = [[] for _ in range(n_actions)]
        self.failed: list[bool] = []

    def n_learnt(self) -> int:
        return sum(map(len, self.learnt))


class DynamicLinUCB(naive.LinUCB):
    """Algorithm 1 of Wu, Iyer and Wang (2018)."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        alpha: float = 0.5,
        tau: int = 100,
        noise: float = 0.2,
        delta: float = 0.01,
        test_delta: float = 0.1,
        spare_delta: float = 0.002,
        models: int = 10,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions, alpha=alpha, encoding=encoding)
        self.tau, self.noise, self.delta, self.test_delta = tau, noise, delta, test_delta
        self.spare_delta, self.models = spare_delta, models
        self.slaves = [Slave(n_actions)]

    def badness(self, slave: Slave) -> tuple[float, float]:
        """Return the mean of the last tests and its deviation."""
        last = slave.failed[-self.tau :]
        return sum(last) / len(last), math.sqrt(math.log(1 / self.test_delta) / (2 * len(last)))

    def lower_bound(self, slave: Slave) -> float:
        if not slave.failed:
            return -math.inf
        mean, deviation = self.badness(slave)
        return mean - math.sqrt(math.log(self.tau)) * deviation

    def first(self, bounds: Sequence[float]) -> Slave:
        """Return the oldest of the slaves with the largest bound; they are in order of age."""
        return self.slaves[naive.maxima(bounds, range(len(bounds)))[0]]

    def values(self, codes: Codes) -> list[float]:
        slave = self.first([-self.lower_bound(s) for s in self.slaves])
        return [self.score(slave.learnt[a], codes) for a in range(self.n_actions)]

    def radius(self, n: int, size: int) -> float:
        d = size * self.n_actions
        return self.noise**2 * math.sqrt(d * math.log(1 + n / self.delta)) + 1

    def is_surprising(self, slave: Slave, codes: Codes, action: int, reward: float) -> bool:
        x = self.x(codes)
        matrix, target = self.regression(slave.learnt[action])
        inverse = np.linalg.inv(matrix)
        width = self.radius(slave.n_learnt(), len(x)) * math.sqrt(x @ inverse @ x)
        epsilon = self.noise * quantile(1 - self.delta / 2)
        return bool(abs(inverse @ target @ x - reward) > width + epsilon)

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        good, kept = False, []
        for slave in self.slaves:
            failed = self.is_surprising(slave, codes, action, reward)
            slave.failed.append(failed)
            if not failed:
                slave.learnt[action].append((codes, reward))
            mean, deviation = self.badness(slave)
            if mean < self.spare_delta + deviation:
                good = True
                kept.append(slave)
            elif mean < self.delta + deviation:
                kept.append(slave)
        self.slaves = kept
        if not good or not kept:
            if len(self.slaves) == self.models:
                self.slaves.remove(self.first([self.lower_bound(s) for s in self.slaves]))
            self.slaves.append(Slave(self.n_actions))


class Expert(Slave):
    """A LinUCB model with the rounds since it began."""

    def __init__(self, n_actions: int) -> None:
        super().__init__(n_actions)
        self.seen: list[tuple[Codes, int, float]] = []
        self.last_learnt = 0


class DynamicEnsemble(DynamicLinUCB):
    """The ensemble of Wu, Wang, Li and Wang (2019)."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        alpha: float = 0.5,
        tau: int = 100,
        noise: float = 0.2,
        delta: float = 0.01,
        audit: float = 0.5,
        tolerance: float = 0.1,
        models: int = 5,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(
            levels, n_actions, alpha=alpha, tau=tau, noise=noise, delta=delta, models=models,
            encoding=encoding,
        )  # fmt: skip
        self.audit, self.tolerance = audit, tolerance
        self.experts = [Expert(n_actions)]

    def theta(self, samples: Sequence[Sample]) -> Floats:
        matrix, target = self.regression(samples)
        theta: Floats = np.linalg.inv(matrix) @ target
        return theta

    def width(self, samples: Sequence[Sample], codes: Codes) -> float:
        matrix, _ = self.regression(samples)
        return math.sqrt(self.x(codes) @ np.linalg.inv(matrix) @ self.x(codes))

    def bound(self, expert: Expert, codes: Codes, action: int) -> float:
        """Return B."""
        radius = self.radius(expert.n_learnt(), len(self.x(codes)))
        return radius * self.width(expert.learnt[action], codes)

    def audited(self, expert: Expert, codes: Codes, action: int) -> tuple[bool, float]:
        """Return whether the expert is admissible, and the lower bound of its badness."""
        theta = self.theta(expert.learnt[action])
        last = [(c, r) for c, a, r in expert.seen[-self.tau :] if a == action]
        errors = [(c, r - float(theta @ self.x(c))) for c, r in last]
        badness = abs(float(self.theta(errors) @ self.x(codes)))
        spread = self.audit * self.width(errors, codes)
        slack = spread + self.bound(expert, codes, action) + self.tolerance
        return badness <= slack, badness - spread

    def values(self, codes: Codes) -> list[float]:
        values = []
        for a in range(self.n_actions):
            audits = [self.audited(expert, codes, a) for expert in self.experts]
            good = [k for k, (admissible, _) in enumerate(audits) if admissible]
            if good:
                k = naive.maxima([-low for _, low in audits], good)[0]
                values.append(self.score(self.experts[k].learnt[a], codes))
            else:
                values.append(self.score([], codes))
        return values

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        t = len(self.history)
        super(DynamicLinUCB, self).update(codes, costs, action, reward, purpose)
        admissible = [
            [self.audited(expert, codes, a)[0] for expert in self.experts]
            for a in range(self.n_actions)
        ]
        learners = [e for e, good in zip(self.experts, admissible[action], strict=True) if good]
        if not all(any(good) for good in admissible):
            if len(self.experts) == self.models:
                longest = min(self.experts, key=lambda expert: expert.last_learnt)
                self.experts.remove(longest)
            learners.append(Expert(self.n_actions))
            learners[-1].last_learnt = t - 1
            self.experts.append(learners[-1])
        for expert in self.experts:
            if expert in learners and not self.is_surprising(expert, codes, action, reward):
                expert.learnt[action].append((codes, reward))
                expert.last_learnt = t
            expert.seen.append((codes, action, reward))
