"""Slow, obvious twins of the policies of related work that buy few features or test for changes.

Like those in naive.py they keep every round in a list and go through it again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from naive import (
    NOT_BOUGHT,
    TIE,
    Codes,
    Floats,
    Played,
    SimOOS,
    Twin,
    maxima,
    optimistic_mean_by_sorting,
    part,
    subsets,
)
from naive_scout import Stream
from thrifty.environments import Replay


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


class SeqOOS(SimOOS):
    """Buys one feature after another: values of partial states by recursion, from all rounds.

    `orders` holds the features bought in each round, in their order.
    """

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        delta: float = 0.8,
        reward_scale: float = 1.0,
        probability_scale: float = 1.0,
    ) -> None:
        super().__init__(levels, n_actions, delta=delta)
        self.scales = reward_scale, probability_scale
        self.orders: list[list[int]] = []
        self.planned_once = False

    def optimistic_reward(self, rewards: Sequence[float]) -> float:
        if not rewards:
            return 1.0
        mean = sum(rewards) / len(rewards)
        return mean + self.scales[0] * (super().optimistic_reward(rewards) - mean)

    def steps(self, number: int) -> Iterator[tuple[Codes, int, Codes]]:
        """Yield the purchases of the first rounds: state before, feature, state after."""
        for r, order in zip(self.history[:number], self.orders, strict=False):
            for k, i in enumerate(order):
                known = [j for j in range(len(r.codes)) if j not in order[k:]]
                before = tuple(c if j in known else NOT_BOUGHT for j, c in enumerate(r.codes))
                yield before, i, with_code(before, i, r.codes[i])

    def begin_episode(self) -> None:
        self.start, self.planned_once = len(self.history), True
        rewards = self.rewards(self.history)
        moves = Counter(self.steps(self.start))
        prices = self.prices()

        @cache
        def stop(psi: Codes) -> float:
            return max(
                self.optimistic_reward(rewards.get((a, psi), [])) for a in range(self.n_actions)
            )

        @cache
        def gain(psi: Codes, i: int) -> float:
            after = [with_code(psi, i, b) for b in range(self.levels[i])]
            counts = [moves[psi, i, state] for state in after]
            n = sum(counts)
            masses = [count / n if n else 0.0 for count in counts]
            radius = self.scales[1] * self.probability_radius(n)
            values = [value(state) for state in after]
            return optimistic_mean_by_sorting(values, masses, radius, True) - prices[i]

        def value(psi: Codes) -> float:
            unknown = [i for i, code in enumerate(psi) if code == NOT_BOUGHT]
            return max([stop(psi), *(gain(psi, i) for i in unknown)])

        self.stop, self.gain = stop, gain

    def buy(self, codes: Codes, order: Sequence[int]) -> list[int]:
        """Return the features to buy now, none to stop."""
        t, n = len(self.history), len(self.levels)
        if t < 2**n:
            wanted = [i for i, on in enumerate(list(subsets(n))[t]) if on]
            return [i for i in wanted if codes[i] == NOT_BOUGHT and not order]
        if not order and (not self.planned_once or self.episode_is_over()):
            self.begin_episode()
        unknown = [i for i in range(n) if codes[i] == NOT_BOUGHT]
        if not unknown:
            return []
        best = max(self.gain(codes, i) for i in unknown)
        if best <= self.stop(codes) + TIE:
            return []
        return [next(i for i in unknown if self.gain(codes, i) >= best - TIE)]


def with_code(psi: Codes, i: int, code: int) -> Codes:
    return (*psi[:i], code, *psi[i + 1 :])


def run_in_steps(twin: SeqOOS, replay: Replay, draws: Floats) -> Played:
    """Play all rounds of the table, one purchase after another."""
    observed, actions, gained, paid = [], [], [], []
    for t, codes in enumerate(replay.contexts.tolist()):
        order: list[int] = []
        seen = part(codes, tuple(replay.free.tolist()))
        twin.read_prices(replay.costs[t].tolist())
        sweeps = t < 2 ** len(codes)
        while bought := twin.buy(seen, order):
            order += bought
            for i in bought:
                seen = with_code(seen, i, codes[i])
        action = twin.choose_action(seen, [draws[t]], int(sweeps), range(twin.n_actions))
        reward = float(replay.rewards[t, action])
        twin.orders.append(order)
        twin.update(seen, [math.nan] * len(codes), action, reward, int(sweeps))
        mask = [i in order for i in range(len(codes))]
        observed.append(mask)
        actions.append(action)
        gained.append(reward)
        paid.append(sum(c for c, on in zip(replay.costs[t].tolist(), mask, strict=True) if on))
    return Played(np.array(observed), np.array(actions), np.array(gained), np.array(paid))
