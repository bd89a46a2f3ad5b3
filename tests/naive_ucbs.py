"""Slow, obvious twins of the policies that buy nothing and expect changes.

They follow the pseudo-code of the papers, with lists of everything that happened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from naive import Codes, Twin, any_of, maxima
from naive_scout import Stream


def ucb(rewards: Sequence[float], alpha: float, log: float) -> float:
    """Return the mean plus sqrt(alpha log / n), infinite without rewards."""
    if not rewards:
        return math.inf
    return sum(rewards) / len(rewards) + math.sqrt(alpha * log / len(rewards))


def kl(p: float, q: float) -> float:
    """Return the relative entropy of two Bernoulli distributions."""
    if p == q:
        return 0.0
    if q in (0.0, 1.0):
        return math.inf
    one = p * math.log(p / q) if p > 0 else 0.0
    other = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return one + other


def kl_upper_bound(mean: float, level: float) -> float:
    """Return the largest q with kl(mean, q) <= level, by halving [mean, 1] a hundred times."""
    low, high = mean, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if kl(mean, middle) <= level:
            low = middle
        else:
            high = middle
    return low


def glr(rewards: Sequence[float], step: int = 1) -> float:
    """Return the statistic of the Bernoulli GLR test over splits at multiples of `step`."""
    n, mean = len(rewards), math.fsum(rewards) / max(1, len(rewards))
    best = 0.0
    for s in range(step, n, step):
        first, others = math.fsum(rewards[:s]) / s, math.fsum(rewards[s:]) / (n - s)
        best = max(best, s * kl(first, mean) + (n - s) * kl(others, mean))
    return best


def glr_step(n: int, step: int, places: int) -> int:
    """Return the distance between splits that leaves at most so many of them up to n."""
    while n // step > places:
        step *= 2
    return step


class DUCB(Twin):
    """Weights gamma^k, computed anew in every round."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int = 10_000,
        changes: int = 1,
        gamma: float | None = None,
        xi: float = 0.6,
        first_count: float = 0.0,
    ) -> None:
        super().__init__(levels, n_actions)
        self.gamma = 1 - math.sqrt(changes / horizon) / 4 if gamma is None else gamma
        self.xi, self.first_count = xi, first_count

    def values(self, codes: Codes) -> list[float]:
        t = len(self.history)
        weights = [self.gamma ** (t - 1 - s) for s in range(t)]
        values = []
        for a in range(self.n_actions):
            mine = [
                (w, r.reward) for w, r in zip(weights, self.history, strict=True) if r.action == a
            ]
            count = sum(w for w, _ in mine) + self.first_count * self.gamma**t
            if count == 0:
                values.append(math.inf)
                continue
            mean = sum(w * reward for w, reward in mine) / count
            values.append(mean + 2 * math.sqrt(self.xi * math.log(1 + sum(weights)) / count))
        return values


class DiscountedTS(Twin):
    """S and F, as the paper updates them."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        gamma: float = 0.75,
        optimistic: bool = False,
    ) -> None:
        super().__init__(levels, n_actions)
        self.gamma, self.optimistic = gamma, optimistic

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        stream, thetas = Stream(draws[0]), []
        for a in range(self.n_actions):
            s = f = 0.0
            for r in self.history:
                s, f = s * self.gamma, f * self.gamma
                if r.action == a:
                    s, f = s + r.reward, f + 1 - r.reward
            theta = stream.beta(s + 1, f + 1)
            thetas.append(max(theta, (s + 1) / (s + f + 2)) if self.optimistic else theta)
        return maxima(thetas, available)[0]


class Restarting(Twin):
    """Lists of rewards since the last restart, and the round in which each list began."""

    def __init__(self, levels: Sequence[int], n_actions: int) -> None:
        super().__init__(levels, n_actions)
        self.rewards: list[list[float]] = [[] for _ in range(n_actions)]
        self.begins = [0] * n_actions
        self.restarts = 0

    def restart(self, actions: Sequence[int]) -> None:
        self.restarts += 1
        for a in actions:
            self.rewards[a] = []
            self.begins[a] = len(self.history)

    def has_changed(self, rewards: list[float]) -> bool:
        raise NotImplementedError

    def who_restarts(self, action: int) -> Sequence[int]:
        return [action]

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        super().update(codes, costs, action, reward, purpose)
        self.rewards[action].append(reward)
        if self.has_changed(self.rewards[action]):
            self.restart(self.who_restarts(action))


class CUSUMUCB(Restarting):
    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int = 10_000,
        changes: int = 1,
        exploration: float | None = None,
        samples: int = 200,
        epsilon: float = 0.1,
        h: float | None = None,
        xi: float = 1.0,
    ) -> None:
        super().__init__(levels, n_actions)
        log = math.log(horizon / changes)
        self.exploration = (
            math.sqrt(changes * log / horizon) if exploration is None else exploration
        )
        self.samples, self.epsilon, self.xi = samples, epsilon, xi
        self.h = log if h is None else h

    def has_changed(self, rewards: list[float]) -> bool:
        u = sum(rewards[: self.samples]) / self.samples
        up = down = 0.0
        for y in rewards[self.samples :]:
            up = max(0.0, up + y - u - self.epsilon)
            down = max(0.0, down + u - y - self.epsilon)
        return max(up, down) >= self.h

    def values(self, codes: Codes) -> list[float]:
        log = math.log(1 + sum(map(len, self.rewards)))
        return [ucb(rewards, self.xi, log) for rewards in self.rewards]

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        if draws[0] < self.exploration:
            return any_of(available, draws[1])
        return super().choose_action(codes, draws, purpose, available)


class MUCB(Restarting):
    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int = 10_000,
        changes: int = 1,
        window: int = 200,
        b: float | None = None,
        gamma: float | None = None,
    ) -> None:
        super().__init__(levels, n_actions)
        w, k = window, n_actions
        self.w = w
        self.b = math.sqrt(w * math.log(2 * k * horizon**2) / 2) if b is None else b
        share = changes * k * (2 * self.b + 3 * math.sqrt(w)) / (2 * horizon)
        self.gamma = min(1.0, math.sqrt(share)) if gamma is None else gamma

    def has_changed(self, rewards: list[float]) -> bool:
        if len(rewards) < self.w:
            return False
        last = rewards[-self.w :]
        return abs(sum(last[self.w // 2 :]) - sum(last[: self.w // 2])) > self.b

    def who_restarts(self, action: int) -> Sequence[int]:
        return range(self.n_actions)

    def values(self, codes: Codes) -> list[float]:
        log = math.log(len(self.history) - self.begins[0] + 1)
        return [ucb(rewards, 2.0, log) for rewards in self.rewards]

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        t = len(self.history) - self.begins[0]
        if self.gamma > 0 and t % int(self.n_actions / self.gamma) in available:
            return t % int(self.n_actions / self.gamma)
        return super().choose_action(codes, draws, purpose, available)


class GLRKLUCB(Restarting):
    places = 256

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int = 10_000,
        restart: str = "local",
        exploration: float = 1.0,
        delta: float | None = None,
        every: int = 10,
    ) -> None:
        super().__init__(levels, n_actions)
        self.everywhere = restart == "global"
        self.alpha = exploration * math.sqrt(n_actions * math.log(horizon) / horizon)
        self.delta = horizon**-0.5 if delta is None else delta
        self.every = every

    def has_changed(self, rewards: list[float]) -> bool:
        n = len(rewards)
        if n % self.every:
            return False
        step = glr_step(n, self.every, self.places)
        return glr(rewards, step) > math.log(n**1.5 / self.delta)

    def who_restarts(self, action: int) -> Sequence[int]:
        return range(self.n_actions) if self.everywhere else [action]

    def values(self, codes: Codes) -> list[float]:
        values = []
        for a, rewards in enumerate(self.rewards):
            if not rewards:
                values.append(math.inf)
                continue
            log, n = math.log(len(self.history) - self.begins[a] + 1), len(rewards)
            values.append(kl_upper_bound(sum(rewards) / n, log / n))
        return values

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        alpha = self.alpha * math.sqrt(self.restarts + 1)
        if alpha > 0:
            turn = len(self.history) % max(self.n_actions, int(self.n_actions / alpha))
            if turn in available:
                return turn
        return super().choose_action(codes, draws, purpose, available)


@dataclass
class Instance:
    """An instance of UCB1, which lasts from one round of the block to another."""

    begin: int
    end: int
    rewards: list[list[float]]


@dataclass
class Block:
    """A block of 2^order rounds: its instances, optimistic values and rewards."""

    order: int
    instances: list[Instance] = field(default_factory=list)
    optimistic: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)


class MASTER(Twin):
    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int = 10_000,
        delta: float = 0.05,
        alpha: float = 2.0,
        scale: float = 1.0,
    ) -> None:
        super().__init__(levels, n_actions)
        self.alpha, self.log = alpha, math.log(horizon / delta)
        self.factor = scale * 6 * (math.log2(horizon) + 1) * self.log
        self.block = Block(0)
        self.restarts = 0
        self.draw = 0.0

    def rho(self, t: int) -> float:
        return math.sqrt(self.n_actions * self.log / t) + self.n_actions * self.log / t

    def read_draws(self, draws: Sequence[float]) -> None:
        self.draw = draws[0]

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        """Schedule the instances that begin now, as the paper does before the block."""
        stream, block = Stream(self.draw), self.block
        tau, purpose = len(block.rewards), 0
        for m in range(block.order, -1, -1):
            if tau % 2**m == 0 and stream.uniform() < self.rho(2**block.order) / self.rho(2**m):
                purpose += 2**m
                rewards: list[list[float]] = [[] for _ in range(self.n_actions)]
                block.instances.append(Instance(tau, tau + 2**m, rewards))
        return super().choose_features()[0], purpose

    def acting(self) -> Instance:
        tau = len(self.block.rewards)
        running = [i for i in self.block.instances if i.begin <= tau < i.end]
        return min(running, key=lambda i: i.end - i.begin)

    def values(self, codes: Codes) -> list[float]:
        return [ucb(rewards, self.alpha, self.log) for rewards in self.acting().rewards]

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        super().update(codes, costs, action, reward, purpose)
        block = self.block
        block.optimistic.append(min(1.0, max(self.values(codes))))
        self.acting().rewards[action].append(reward)
        block.rewards.append(reward)
        if self.fails():
            self.block = Block(0)
            self.restarts += 1
        elif len(block.rewards) == 2**block.order:
            self.block = Block(block.order + 1)

    def fails(self) -> bool:
        block, t = self.block, len(self.block.rewards)
        for i in block.instances:
            length = i.end - i.begin
            mean = sum(block.rewards[i.begin : i.end]) / length
            least = min(block.optimistic)
            if i.end == t and mean >= least + 9 * self.factor * self.rho(length):
                return True
        excess = sum(f - r for f, r in zip(block.optimistic, block.rewards, strict=True))
        return excess / t >= 3 * self.factor * self.rho(t)


TWINS: dict[str, Any] = {
    "cusum-ucb": CUSUMUCB,
    "d-ucb": DUCB,
    "discounted-ts": DiscountedTS,
    "glr-klucb": GLRKLUCB,
    "m-ucb": MUCB,
    "master": MASTER,
}
