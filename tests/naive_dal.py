"""Slow, obvious twins of policies that follow changes of coefficients, or detect them.

Linear Thompson sampling with a test for changes, particle learning, and detectors around other
twins; all written from the papers. A random number that a kernel hashes from a draw is hashed by
`Stream` here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

import naive_ucbs
from naive import NCCUCRL2, Codes, Floats, LinUCB, Twin
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


@dataclass
class Particle:
    """Statistics of one particle: nu = (c, theta), and eta; and the draws of x . c and theta."""

    nu_mean: Floats
    nu_spread: Floats
    shape: float
    scale: float
    eta_mean: Floats
    eta_spread: Floats
    constant: float = 0.0
    theta: Floats = field(default_factory=lambda: np.zeros(0))
    variance: float = 0.0

    def draw_variance(self, stream: Stream) -> None:
        self.variance = self.scale / stream.gamma(self.shape)

    def draw_nu(self, x: Floats, stream: Stream) -> None:
        size = x.size
        rows = np.vstack([np.append(x, np.zeros(size)), np.eye(2 * size)[size:]])
        spread = self.variance * rows @ self.nu_spread @ rows.T
        draw = drawn(rows @ self.nu_mean, spread, np.append(1.0, x), stream)
        self.constant, self.theta = float(draw[0]), draw[1:]

    def prediction(self, x: Floats, step: float) -> tuple[float, float, Floats]:
        """Return mean and variance of the reward, and the gain of the Kalman filter."""
        u = x * self.theta
        spread = self.eta_spread + step * np.eye(x.size)
        variance = self.variance + u @ spread @ u
        return float(self.constant + u @ self.eta_mean), float(variance), spread @ u / variance

    def move(self, x: Floats, reward: float, step: float, stream: Stream) -> None:
        mean, variance, gain = self.prediction(x, step)
        self.eta_mean = self.eta_mean + gain * (reward - mean)
        self.eta_spread = self.eta_spread + step * np.eye(x.size) - variance * np.outer(gain, gain)
        z = np.concatenate([x, x * drawn(self.eta_mean, self.eta_spread, x, stream)])
        precision = np.linalg.inv(self.nu_spread)
        new_precision = precision + np.outer(z, z)
        spread = np.linalg.inv(new_precision)
        mean_then = spread @ (z * reward + precision @ self.nu_mean)
        self.shape += 0.5
        before = self.nu_mean @ precision @ self.nu_mean
        after = mean_then @ new_precision @ mean_then
        self.scale += float(before + reward**2 - after) / 2
        self.nu_mean, self.nu_spread = mean_then, spread
        self.draw_variance(stream)


def drawn(mean: Floats, covariance: Floats, needed: Floats, stream: Stream) -> Floats:
    """Draw the entries that are needed; those where `needed` is 0 are multiplied by 0."""
    seen = np.flatnonzero(needed)
    normals = np.array([stream.normal() for _ in seen])
    draw = np.zeros(mean.size)
    draw[seen] = mean[seen] + np.linalg.cholesky(covariance[np.ix_(seen, seen)]) @ normals
    return draw


class ParticleLearning(AdaptiveTS):
    """Each particle is an object; Bayes' rule with inverted matrices at every step."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        alpha: float = 1.0,
        particles: int = 5,
        walk: float = 1.0,
        noise: float = 1.0,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions, alpha=alpha, encoding=encoding)
        self.step, self.noise, self.n_particles = walk**2, noise, particles
        size = len(self.x((0,) * len(levels)))
        self.particles = [[self.prior(size) for _ in range(particles)] for _ in range(n_actions)]
        self.counts = [0] * n_actions

    def prior(self, size: int) -> Particle:
        return Particle(
            nu_mean=np.zeros(2 * size),
            nu_spread=np.eye(2 * size),
            shape=1.0,
            scale=self.noise,
            eta_mean=np.zeros(size),
            eta_spread=np.zeros((size, size)),
            variance=self.noise,
        )

    def moments(self, particle: Particle, x: Floats) -> tuple[float, float]:
        """Return mean and variance of x . (c + theta * eta), with independent theta and eta."""
        z = np.concatenate([x, x * particle.eta_mean])
        spread = particle.variance * particle.nu_spread
        theta, theta_spread = particle.nu_mean[x.size :], spread[x.size :, x.size :]
        eta_spread = particle.eta_spread + self.step * np.eye(x.size)
        second = np.outer(theta, theta) + theta_spread
        variance = z @ spread @ z + x @ (eta_spread * second) @ x
        return float(z @ particle.nu_mean), float(variance)

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        stream, x, n = Stream(draws[1]), self.x(codes), self.n_particles
        values = []
        for particles in self.particles:
            means, variances = zip(*(self.moments(p, x) for p in particles), strict=True)
            width = math.sqrt(sum(variances) / n**2)
            values.append(sum(means) / n + self.alpha * width * stream.normal())
        return max(available, key=lambda a: values[a])

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        x, particles = self.x(codes), self.particles[action]
        stream = stream_of_update(purpose, sum(self.counts))
        for particle in particles:
            if self.counts[action] == 0:
                particle.draw_variance(stream)
            particle.draw_nu(x, stream)
        self.counts[action] += 1
        predicted = [particle.prediction(x, self.step) for particle in particles]
        weights = [
            math.exp(-((reward - mean) ** 2) / variance / 2) / math.sqrt(variance)
            for mean, variance, _ in predicted
        ]
        survivors = systematic(weights, stream.uniform())
        for k, parent in enumerate(survivors):
            if parent != k:
                particles[k] = replace(particles[parent])
        for particle in particles:
            particle.move(x, reward, self.step, stream)


def systematic(weights: Sequence[float], draw: float) -> list[int]:
    """Return the parent of each particle; particles that survive stay where they are."""
    n, upper = len(weights), np.cumsum(weights) / sum(weights)
    parents = [min(n - 1, int(np.searchsorted(upper, (k + draw) / n))) for k in range(n)]
    spare = [p for k, p in enumerate(parents) if k and parents[k - 1] == p]
    return [k if k in parents else spare.pop(0) for k in range(n)]


class Augmented(Twin):
    """A learner, forced rounds that it does not see, and tests of the rewards since a restart."""

    forced_purposes = 16

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        make_learner: Callable[[], Twin],
        *,
        horizon: int,
        exploration: float,
        tested: str,
        false_alarms: float | None,
        every: int | None,
    ) -> None:
        super().__init__(levels, n_actions)
        self.make_learner, self.learner = make_learner, make_learner()
        self.rate = exploration * math.sqrt(n_actions * math.log(horizon) / horizon)
        self.tests_all = tested == "all"
        self.delta = horizon**-0.5 if false_alarms is None else false_alarms
        self.every = every or (10 if self.tests_all else 1)
        self.restarts = self.rounds = 0
        self.tested: list[list[float]] = [[] for _ in range(n_actions)]

    def turn(self) -> int | None:
        """Return the action whose turn it is, in the last rounds of a period."""
        if self.rate == 0:
            return None
        n, rate = self.n_actions, self.rate * math.sqrt(self.restarts + 1)
        period = max(2 * n, math.ceil(n / rate))
        turns = list(range(period - n, period))
        now = self.rounds % period
        return turns.index(now) if now in turns else None

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        turn = self.turn()
        if turn is not None:
            return (False,) * len(self.levels), self.forced_purposes + turn
        return self.learner.choose_features()

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        if purpose - self.forced_purposes in available:
            return purpose - self.forced_purposes
        return self.learner.choose_action(codes, draws, 0, available)

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        self.rounds += 1
        forced = purpose == self.forced_purposes + action
        if not forced:
            self.learner.update(codes, costs, action, reward, 0)
        if forced or self.tests_all:
            self.tested[action].append(reward)
            if self.has_changed(self.tested[action]):
                self.restart()

    def has_changed(self, rewards: Sequence[float]) -> bool:
        n = len(rewards)
        if n % self.every:
            return False
        statistic = naive_ucbs.glr(rewards, naive_ucbs.glr_step(n, self.every, 256))
        return statistic > math.log(n**1.5 / self.delta)

    def restart(self) -> None:
        self.learner = self.make_learner()
        self.rounds = 0
        self.restarts += 1
        for rewards in self.tested:
            rewards.clear()


class DALLinUCB(Augmented):
    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int = 10_000,
        alpha: float = 0.5,
        exploration: float = 1.0,
        tested: str = "all",
        false_alarms: float | None = None,
        every: int | None = None,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(
            levels,
            n_actions,
            lambda: LinUCB(levels, n_actions, alpha=alpha, encoding=encoding),
            horizon=horizon,
            exploration=exploration,
            tested=tested,
            false_alarms=false_alarms,
            every=every,
        )


class DALNCCUCRL2(Augmented):
    repairs: ClassVar[dict[str, Any]] = {
        "unseen": 0.7,
        "reward_scale": 0.05,
        "cost_scale": 0.02,
        "probability_scale": 0.0,
        "clip": True,
        "observed_range": True,
    }

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int = 10_000,
        delta: float = 0.04,
        cost_range: float = 1.0,
        bounds: str = "paper",
        exploration: float = 1.0,
        tested: str = "all",
        false_alarms: float | None = None,
        every: int | None = None,
    ) -> None:
        own: dict[str, Any] = {"window": horizon, "delta": delta, "cost_range": cost_range}
        if bounds == "repaired":
            own.update(self.repairs)
        super().__init__(
            levels,
            n_actions,
            lambda: NCCUCRL2(levels, n_actions, horizon=horizon, **own),
            horizon=horizon,
            exploration=exploration,
            tested=tested,
            false_alarms=false_alarms,
            every=every,
        )


TWINS: dict[str, Callable[..., Twin]] = {
    "adaptive-ts": AdaptiveTS,
    "dal-linucb": DALLinUCB,
    "dal-ncc-ucrl2": DALNCCUCRL2,
    "particle-learning": ParticleLearning,
}
