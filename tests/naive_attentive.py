"""Slow, obvious twins of the policies of related work that buy few features or test for changes.

Like those in naive.py they keep every round in a list and go through it again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from naive import (
    NOT_BOUGHT,
    TIE,
    Codes,
    Floats,
    Played,
    SimOOS,
    Twin,
    any_of,
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


Policy = tuple[int, tuple[int, ...]]
Cells = dict[tuple[int, int, int], float]


@dataclass(frozen=True)
class Weighed:
    """A round with the probability of its action."""

    codes: Codes
    action: int
    reward: float
    chance: float


@dataclass(frozen=True)
class Trial:
    """A replay, or an interval of Ada-ILTCB: rounds start <= t < stop of the segment."""

    played: int
    start: int
    stop: int


class AdaILTCB(Twin):
    """Goes through all policies of the class, one feature and an action for each of its levels."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int,
        interval: int | None = None,
        delta: float = 0.05,
        block: int | None = None,
        psi: float = 1.0,
        threshold: float = 0.5,
        memory: int = 1000,
    ) -> None:
        super().__init__(levels, n_actions)
        self.policies: list[Policy] = [
            (i, actions)
            for i, n in enumerate(levels)
            for actions in product(range(n_actions), repeat=n)
        ]
        self.c0 = math.log(8 * horizon**3 * len(self.policies) ** 2 / delta)
        self.block = math.ceil(4 * n_actions * self.c0) if block is None else block
        self.interval = interval or math.inf
        self.psi, self.threshold, self.memory = psi, threshold, memory
        self.segment = 0
        self.draws: Sequence[float] = []
        self.begin_segment()

    def begin_segment(self) -> None:
        self.rounds: list[Weighed] = []
        self.j = 0
        constant = {(0, (a,) * self.levels[0]): 1 / self.n_actions for a in range(self.n_actions)}
        self.q: list[dict[Policy, float]] = [constant]
        self.trials: list[Trial] = []

    def nu(self, k: int) -> float:
        rounds = 2**k * self.block
        return min(1 / (2 * self.n_actions), math.sqrt(self.c0 / (self.n_actions * rounds)))

    def chances(self, q: dict[Policy, float], least: float, codes: Codes) -> list[float]:
        chances = [least] * self.n_actions
        for (i, actions), weight in q.items():
            chances[actions[codes[i]]] += (1 - self.n_actions * least) * weight
        return chances

    # Sums over rounds, by feature, level and action; and over the cells of a policy.

    def reward_cells(self, start: int, stop: int) -> Cells:
        cells = self.no_cells()
        for r in self.rounds[start:stop]:
            for i, code in enumerate(r.codes):
                cells[i, code, r.action] += r.reward / r.chance
        return {cell: on_grid(total / (stop - start)) for cell, total in cells.items()}

    def variance_cells(self, k: int, contexts: Sequence[Codes]) -> Cells:
        cells = self.no_cells()
        for codes in contexts:
            for a, chance in enumerate(self.chances(self.q[k], self.nu(k), codes)):
                for i, code in enumerate(codes):
                    cells[i, code, a] += 1 / (chance * len(contexts))
        return cells

    def no_cells(self) -> Cells:
        every = range(self.n_actions)
        return {(i, b, a): 0.0 for i, n in enumerate(self.levels) for b in range(n) for a in every}

    def kept(self, start: int, stop: int) -> list[Codes]:
        """Return the contexts of an interval that there was room for."""
        stride = 1
        while math.ceil(len(self.rounds) / stride) > self.memory:
            stride *= 2
        return [self.rounds[t].codes for t in range(start, stop) if t % stride == 0]

    def solve(self, cells: Cells, contexts: Sequence[Codes], least: float) -> dict[Policy, float]:
        """Return Q of (OP), as the coordinate descent of ILOVETOCONBANDITS finds it."""
        reward = {pi: value_of(pi, cells) for pi in self.policies}
        best = max(self.policies, key=reward.__getitem__)
        b = {pi: (reward[best] - reward[pi]) / (self.psi * least) for pi in self.policies}
        k, q = self.n_actions, dict[Policy, float]()
        while True:
            total = sum(weight * (2 * k + b[pi]) for pi, weight in q.items())
            if total > 2 * k:
                q = {pi: weight * 2 * k / total for pi, weight in q.items()}
            chances = [self.chances(q, least, codes) for codes in contexts]
            table = self.no_cells()
            for codes, row in zip(contexts, chances, strict=True):
                for a, chance in enumerate(row):
                    for i, code in enumerate(codes):
                        table[i, code, a] += 1 / (chance * len(contexts))
            table = {c: on_grid(v + cells[c] / (self.psi * least)) for c, v in table.items()}
            worst = max(self.policies, key=lambda pi: value_of(pi, table))
            offset = reward[best] / (self.psi * least) + 2 * k
            excess = on_grid(value_of(worst, table) - offset)
            if excess <= 0:
                break
            i, actions = worst
            pairs = zip(contexts, chances, strict=True)
            inverses = [1 / row[actions[codes[i]]] for codes, row in pairs]
            once = sum(inverses) / len(contexts)
            twice = sum(x * x for x in inverses) / len(contexts)
            weight = (once + excess) / (2 * (1 - k * least) * twice)
            q[worst] = q.get(worst, 0.0) + weight
        q[best] = q.get(best, 0.0) + max(0.0, 1 - sum(q.values()))
        return q

    # Tests.

    def differ(
        self, k: int, one: Cells, other: Cells, bound: float, contexts: list[list[Codes]]
    ) -> bool:
        rewards = [[value_of(pi, cells) for pi in self.policies] for cells in (one, other)]
        regrets = np.array([max(row) - np.array(row) for row in rewards])
        now, before = (self.variance_cells(k, part) for part in contexts)
        variances = [value_of(pi, now) - 41 * value_of(pi, before) for pi in self.policies]
        return bool(
            (regrets[0] - 4 * regrets[1]).max() >= self.threshold * bound
            or (regrets[1] - 4 * regrets[0]).max() >= self.threshold * bound
            or max(variances) >= self.threshold * self.n_actions
        )

    def trial_fails(self, trial: Trial) -> bool:
        start, nu, length = self.block_start, self.nu(trial.played), trial.stop - trial.start
        return self.differ(
            trial.played,
            self.reward_cells(trial.start, trial.stop),
            self.reward_cells(0, start),
            (self.n_actions * nu + self.c0 / (nu * length)) / 2,
            [self.kept(trial.start, trial.stop), self.kept(0, start)],
        )

    @property
    def block_start(self) -> int:
        return self.block * 2 ** (self.j - 1) if self.j else 0

    def block_fails(self) -> bool:
        return False

    def begin_block(self) -> None:
        n = len(self.rounds)
        self.j += 1
        self.q.append(self.solve(self.reward_cells(0, n), self.kept(0, n), self.nu(self.j)))
        self.trials = []
        self.begin_trials()

    def begin_trials(self) -> None:
        n, length = len(self.rounds), max(1, self.block // 4)
        while length <= n:
            self.trials.append(Trial(self.j, n, n + length))
            length *= 2

    def after(self, trial: Trial) -> list[Trial]:
        """Return what follows a trial that has ended."""
        return [Trial(trial.played, trial.stop, 2 * trial.stop - trial.start)]

    # The round.

    def read_draws(self, draws: Sequence[float]) -> None:
        self.draws = draws

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        return (True,) * len(self.levels), self.note(-1, self.j)

    def note(self, new: int, played: int) -> int:
        return self.segment * 10_000 + (new + 1) * 100 + played

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        played = purpose % 100
        rest = draws[-1]
        for a, chance in enumerate(self.chances(self.q[played], self.nu(played), codes)):
            rest -= chance
            if rest < 0:
                return a
        return self.n_actions - 1

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        played, new = purpose % 100, purpose // 100 % 100 - 1
        if new >= 0:
            n = len(self.rounds)
            self.trials.append(Trial(new, n, n + 2**new * self.block))
        chance = self.chances(self.q[played], self.nu(played), codes)[action]
        self.rounds.append(Weighed(codes, action, reward, chance))
        n = len(self.rounds)
        ended = [trial for trial in self.trials if trial.stop == n]
        failed = any(self.trial_fails(trial) for trial in ended)
        self.trials = [trial for trial in self.trials if trial.stop > n]
        self.trials += [following for trial in ended for following in self.after(trial)]
        if not failed and n == 2**self.j * self.block:
            failed = self.block_fails()
            if not failed:
                self.begin_block()
        if failed or n >= self.interval:
            self.segment += 1
            self.begin_segment()


class AdaILTCBPlus(AdaILTCB):
    def begin_trials(self) -> None:
        pass

    def after(self, trial: Trial) -> list[Trial]:
        return []

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        new, threshold = -1, 0.0
        for m in range(self.j):
            threshold += 2 ** (-(self.j + m) / 2) / self.block
            if new < 0 and self.draws[0] < threshold:
                new = m
        indices = sorted({trial.played for trial in self.trials} | ({new} - {-1})) or [self.j]
        return (True,) * len(self.levels), self.note(new, any_of(indices, self.draws[1]))

    def block_fails(self) -> bool:
        n = len(self.rounds)
        for k in range(self.j):
            first = 2**k * self.block
            nu = self.nu(k)
            bound = (self.n_actions * nu + self.c0 / (nu * first)) / 2
            cells = self.reward_cells(0, n), self.reward_cells(0, first)
            if self.differ(k + 1, *cells, bound, [self.kept(0, n), self.kept(0, first)]):
                return True
        return False


def value_of(policy: Policy, cells: Cells) -> float:
    i, actions = policy
    total = 0.0
    for b, a in enumerate(actions):
        total += cells[i, b, a]
    return total


def on_grid(x: float) -> float:
    return round(x * 2**40) / 2**40
