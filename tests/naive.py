"""Slow, obvious twins of the compiled policies, written from the paper's definitions.

They keep every round in a list and go through it again whenever they need a number. A twin takes
the same uniform numbers as its compiled counterpart, so the two can be compared round by round.
Numbers within TIE of the largest count as equally large. Scout's twin is in naive_scout.py.
"""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

TIE = 1e-10
NOT_BOUGHT = -1

Codes = tuple[int, ...]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Solver = Callable[[Sequence[float], Sequence[float], float, bool], float]


# Problem (17): the largest mean over an L1 ball around an estimate.


def optimistic_mean_by_lp(
    values: Sequence[float], masses: Sequence[float], radius: float, simplex: bool
) -> float:
    """Hand Problem (17) to a general solver: maximise <q, values>, with d >= |q - masses|."""
    n = len(values)
    if sum(masses) == 0:
        return max(values)
    nearest = abs(sum(masses) - 1)  # no q that sums to 1 is nearer than this
    eye = np.eye(n)
    result = linprog(
        c=np.concatenate([-np.asarray(values), np.zeros(n)]),
        A_ub=np.block(
            [[eye, -eye], [-eye, -eye], [np.zeros((1, n)), np.ones((1, n))]],
        ),
        b_ub=np.concatenate([masses, -np.asarray(masses), [max(radius, nearest)]]),
        A_eq=np.concatenate([np.ones((1, n)), np.zeros((1, n))], axis=1),
        b_eq=[1.0],
        bounds=[(0.0 if simplex else None, None)] * n + [(0.0, None)] * n,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise ArithmeticError(result.message)
    return -float(result.fun)


def optimistic_mean_by_sorting(
    values: Sequence[float], masses: Sequence[float], radius: float, simplex: bool
) -> float:
    """Solve Problem (17) like the inner maximisation of UCRL2: up at the best, down from below."""
    if sum(masses) == 0:
        return max(values)
    q = list(masses)
    surplus = sum(masses) - 1
    order = sorted(range(len(values)), key=lambda k: values[k])
    best, worst = order[-1], order[0]
    up = max(0.0, (radius - surplus) / 2)
    if not simplex:
        q[best] += up
        q[worst] -= up + surplus
    else:
        q[best] = min(1.0, q[best] + up)
        for k in order:
            q[k] = max(0.0, q[k] - max(0.0, sum(q) - 1))
    return sum(mass * value for mass, value in zip(q, values, strict=True))


# Choices.


def maxima(values: Sequence[float], candidates: Sequence[int]) -> list[int]:
    top = max(values[a] for a in candidates)
    return [a for a in candidates if values[a] == top or values[a] >= top - TIE]


def any_of(candidates: Sequence[int], draw: float) -> int:
    return candidates[int(draw * len(candidates))]


def last_unless_all_tie(values: Sequence[float], candidates: Sequence[int], draw: float) -> int:
    tied = maxima(values, candidates)
    return any_of(tied, draw) if len(tied) == len(candidates) else tied[-1]


def subsets(n_features: int) -> Iterator[tuple[bool, ...]]:
    """Count in binary, feature 1 the most significant bit."""
    return product((False, True), repeat=n_features)


# Policies.


@dataclass(frozen=True)
class Round:
    codes: Codes
    costs: tuple[float, ...]
    action: int
    reward: float
    sweep: bool

    def bought(self, i: int) -> bool:
        return self.codes[i] != NOT_BOUGHT

    def bought_all(self, mask: tuple[bool, ...]) -> bool:
        return all(self.bought(i) for i, wanted in enumerate(mask) if wanted)

    def bought_exactly(self, mask: tuple[bool, ...]) -> bool:
        return all(self.bought(i) == wanted for i, wanted in enumerate(mask))


def part(codes: Sequence[int], mask: tuple[bool, ...]) -> Codes:
    return tuple(c if wanted else NOT_BOUGHT for c, wanted in zip(codes, mask, strict=True))


class Twin:
    """Buys nothing; a subclass says how it acts."""

    def __init__(self, levels: Sequence[int], n_actions: int) -> None:
        self.levels = tuple(int(n) for n in levels)
        self.n_actions = n_actions
        self.history: list[Round] = []
        self.known: Codes = (NOT_BOUGHT,) * len(self.levels)

    def read_known(self, known: Codes) -> None:
        """Take the free values of the round."""
        self.known = known

    def read_draws(self, draws: Sequence[float]) -> None:
        pass

    def read_prices(self, prices: Sequence[float]) -> None:
        pass

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        return (False,) * len(self.levels), 0

    def values(self, codes: Codes) -> list[float]:
        raise NotImplementedError

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        return maxima(self.values(codes), available)[0]

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        self.history.append(Round(codes, tuple(costs), action, reward, purpose == 1))

    def rewards_of(self, action: int) -> list[float]:
        return [r.reward for r in self.history if r.action == action]


class Uniform(Twin):
    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        return any_of(available, draws[0])


class EpsilonGreedy(Twin):
    def __init__(self, levels: Sequence[int], n_actions: int, *, epsilon: float = 0.03) -> None:
        super().__init__(levels, n_actions)
        self.epsilon = epsilon

    def values(self, codes: Codes) -> list[float]:
        means = []
        for a in range(self.n_actions):
            mean = 0.0
            for n, reward in enumerate(self.rewards_of(a), start=1):
                mean += (reward - mean) / n
            means.append(mean)
        return means

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        if draws[0] <= self.epsilon:
            return any_of(available, draws[1])
        return super().choose_action(codes, draws, purpose, available)


class UCB1(Twin):
    """Counts start at 1, as if every action had had one reward of 0 already."""

    def __init__(self, levels: Sequence[int], n_actions: int, *, alpha: float = 0.6) -> None:
        super().__init__(levels, n_actions)
        self.alpha = alpha

    def values(self, codes: Codes) -> list[float]:
        t = len(self.history)
        values = []
        for a in range(self.n_actions):
            rewards = [0.0, *self.rewards_of(a)]
            bonus = math.sqrt(self.alpha * math.log(t + 1) / len(rewards))
            values.append(sum(rewards) / len(rewards) + bonus)
        return values


class SWUCB(Twin):
    """The last tau rewards of every action."""

    def __init__(
        self, levels: Sequence[int], n_actions: int, *, alpha: float = 0.1, tau: int = 100
    ) -> None:
        super().__init__(levels, n_actions)
        self.alpha, self.tau = alpha, tau

    def values(self, codes: Codes) -> list[float]:
        t = len(self.history)
        values = []
        for a in range(self.n_actions):
            recent = self.rewards_of(a)[-self.tau :]
            if not recent:
                values.append(math.inf)
                continue
            bonus = math.sqrt(self.alpha * math.log(min(t + 1, self.tau)) / len(recent))
            values.append(sum(recent) / len(recent) + bonus)
        return values


class LinUCB(Twin):
    """A regression per action, inverted anew in every round."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        alpha: float = 0.5,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions)
        self.alpha, self.encoding = alpha, encoding

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        return (True,) * len(self.levels), 0

    def x(self, codes: Codes) -> Floats:
        if self.encoding == "ordinal":
            return np.array([code + 1.0 for code in codes])
        indicators = [
            float(code == level)
            for code, n in zip(codes, self.levels, strict=True)
            for level in range(n)
        ]
        return np.array(indicators)

    def regression(self, samples: Sequence[tuple[Codes, float]]) -> tuple[Floats, Floats]:
        """Return A and b."""
        size = len(self.levels) if self.encoding == "ordinal" else sum(self.levels)
        matrix, target = np.eye(size), np.zeros(size)
        for codes, reward in samples:
            matrix += np.outer(self.x(codes), self.x(codes))
            target += reward * self.x(codes)
        return matrix, target

    def score(self, samples: Sequence[tuple[Codes, float]], codes: Codes) -> float:
        matrix, target = self.regression(samples)
        inverse, x = np.linalg.inv(matrix), self.x(codes)
        return float(inverse @ target @ x + self.alpha * math.sqrt(x @ inverse @ x))

    def samples(self, action: int) -> list[tuple[Codes, float]]:
        return [(r.codes, r.reward) for r in self.history if r.action == action]

    def values(self, codes: Codes) -> list[float]:
        return [self.score(self.samples(a), codes) for a in range(self.n_actions)]


class PSLinUCB(LinUCB):
    """Lists of samples: `before` the ones that predict, `queue` the ones they are compared with.

    The text keeps three matrices per action; here the samples that are in them are kept.
    """

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        alpha: float = 0.7,
        omega: int = 100,
        delta: float = 0.05,
        encoding: str = "ordinal",
    ) -> None:
        super().__init__(levels, n_actions, alpha=alpha, encoding=encoding)
        self.omega, self.delta = omega, delta
        self.before: list[list[tuple[Codes, float]]] = [[] for _ in range(n_actions)]
        self.queue: list[list[tuple[Codes, float]]] = [[] for _ in range(n_actions)]

    def samples(self, action: int) -> list[tuple[Codes, float]]:
        return self.before[action] + self.queue[action]

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        before, queue = self.before[action], self.queue[action]
        queue.append((codes, reward))
        if len(queue) < self.omega:
            return
        matrix, target = self.regression(before)
        theta = np.linalg.inv(matrix) @ target
        errors = [float(theta @ self.x(seen)) - gained for seen, gained in queue]
        if abs(sum(errors) / self.omega) >= self.delta:
            before[:] = queue
            queue.clear()
        else:
            before.append(queue.pop(0))


class Lookers(Twin):
    """What NCC-UCRL2 and Sim-OOS share: counts of partial states, and a sweep at first."""

    sweeps = True
    simplex = True
    unseen_mass = False
    solvers: ClassVar[Mapping[bool, Solver]] = {
        False: optimistic_mean_by_sorting,
        True: optimistic_mean_by_lp,
    }
    by_lp = False

    @property
    def psi_tot(self) -> int:
        return sum(1 for _ in product(*(range(n + 1) for n in self.levels)))

    def partial_states(self, mask: tuple[bool, ...]) -> Iterator[Codes]:
        """Return Psi+(I)."""
        return product(
            *(
                range(n) if wanted else (NOT_BOUGHT,)
                for n, wanted in zip(self.levels, mask, strict=True)
            )
        )

    def rounds_with(self, mask: tuple[bool, ...]) -> list[Round]:
        """Return T_t(I) of (11); rounds of a sweep count for the very set they bought."""
        return [
            r for r in self.history if (r.bought_exactly(mask) if r.sweep else r.bought_all(mask))
        ]

    def probabilities(self, mask: tuple[bool, ...]) -> list[float]:
        """Return p_hat of (13) for all of Psi+(I), by the counts (11) and (12)."""
        rounds = self.rounds_with(mask)
        counts = Counter(part(r.codes, mask) for r in rounds)
        least = 1 if self.unseen_mass else 0
        total = max(1, len(rounds))
        return [max(least, counts[psi]) / total for psi in self.partial_states(mask)]

    def rewards(self, rounds: Sequence[Round]) -> dict[tuple[int, Codes], list[float]]:
        """Return the rewards of every (a, psi) taken in these rounds."""
        rewards: dict[tuple[int, Codes], list[float]] = defaultdict(list)
        for r in rounds:
            rewards[r.action, r.codes].append(r.reward)
        return rewards

    def first_best_set(
        self,
        best_reward: Callable[[Codes], float],
        radius: Callable[[int], float],
        prices: Sequence[float],
    ) -> tuple[bool, ...]:
        """Return the first subset whose V_hat (17) is within TIE of the largest."""
        solve = self.solvers[self.by_lp]
        worth = {}
        for mask in subsets(len(self.levels)):
            values = [best_reward(psi) for psi in self.partial_states(mask)]
            price = sum(p for p, wanted in zip(prices, mask, strict=True) if wanted)
            n = len(self.rounds_with(mask))
            masses = self.probabilities(mask) if n else [0.0] * len(values)
            worth[mask] = solve(values, masses, radius(n), self.simplex) - price
        self.worth = worth
        top = max(worth.values())
        return next(mask for mask, value in worth.items() if value >= top - TIE)

    def swept_set(self) -> tuple[bool, ...] | None:
        """Return the subset that the sweep has come to, if it is not over."""
        t = len(self.history)
        if self.sweeps and t < 2 ** len(self.levels):
            return list(subsets(len(self.levels)))[t]
        return None


class NCCUCRL2(Lookers):
    """Equations (7) to (19), and the choices of the authors' program by name."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        horizon: int,
        window: int = 250,
        delta: float = 0.04,
        cost_range: float = 1.0,
        sweep_first: bool = False,
        simplex: bool = True,
        unseen_mass: bool = False,
        whole_window: bool = False,
        last_tie: bool = False,
        unseen: float | None = None,
        reward_scale: float = 1.0,
        cost_scale: float = 1.0,
        probability_scale: float = 1.0,
        clip: bool = False,
        observed_range: bool = False,
        by_lp: bool = False,
    ) -> None:
        super().__init__(levels, n_actions)
        self.horizon, self.window, self.delta = horizon, window, delta
        self.cost_range, self.sweeps, self.simplex = cost_range, sweep_first, simplex
        self.unseen_mass, self.whole_window, self.last_tie = unseen_mass, whole_window, last_tie
        self.unseen, self.clip, self.observed_range = unseen, clip, observed_range
        self.reward_scale, self.cost_scale = reward_scale, cost_scale
        self.probability_scale = probability_scale
        self.by_lp = by_lp

    def in_window(self) -> list[Round]:
        """Return the rounds t - w < tau < t, and tau = t - w too if the whole window counts."""
        t = len(self.history)
        first = t - self.window + (0 if self.whole_window else 1)
        return self.history[max(0, first) : t]

    def reward_radius(self, count: int) -> float:
        psis = self.psi_tot
        log = math.log(self.horizon * self.n_actions * psis * self.window / self.delta)
        radius = math.sqrt(log / max(1, count))
        return self.reward_scale * (radius if self.clip else min(1.0, radius))

    def cost_radius(self, count: int) -> float:
        log = math.log(self.horizon * len(self.levels) * self.window / self.delta)
        radius = self.cost_scale * min(self.cost_range, math.sqrt(2 * log / max(1, count)))
        if not self.observed_range:
            return radius
        paid = [cost for r in self.history for cost in r.costs if not math.isnan(cost)]
        return radius * (max(paid) - min(paid)) if paid else 0.0

    def probability_radius(self, count: int) -> float:
        log = math.log(2 * self.horizon * 2 ** len(self.levels) / self.delta)
        radius = min(1.0, math.sqrt(2 * self.psi_tot * log / max(1, count)))
        return self.probability_scale * radius

    def optimistic_reward(self, rewards: Sequence[float]) -> float:
        if not rewards:
            return min(1.0, self.reward_radius(0)) if self.unseen is None else self.unseen
        value = sum(rewards) / len(rewards) + self.reward_radius(len(rewards))
        return min(1.0, value) if self.clip else value

    def values(self, codes: Codes) -> list[float]:
        rewards = self.rewards(self.in_window())
        return [self.optimistic_reward(rewards.get((a, codes), [])) for a in range(self.n_actions)]

    def prices(self) -> list[float]:
        """Return c~ (15) of every feature."""
        prices = []
        for i in range(len(self.levels)):
            paid = [r.costs[i] for r in self.in_window() if not math.isnan(r.costs[i])]
            prices.append(sum(paid) / max(1, len(paid)) - self.cost_radius(len(paid)))
        return prices

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        swept = self.swept_set()
        if swept is not None:
            return swept, 1
        rewards = self.rewards(self.in_window())
        optimistic = {pair: self.optimistic_reward(got) for pair, got in rewards.items()}
        unknown = self.optimistic_reward([])

        def best_reward(psi: Codes) -> float:
            return max(optimistic.get((a, psi), unknown) for a in range(self.n_actions))

        return self.first_best_set(best_reward, self.probability_radius, self.prices()), 0

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        if purpose == 1:
            return any_of(available, draws[0])
        values = self.values(codes)
        if self.last_tie:
            return last_unless_all_tie(values, available, draws[0])
        return any_of(maxima(values, available), draws[0])


class SimOOS(Lookers):
    """Plans for an episode, from all rounds before it and a price list."""

    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        delta: float = 0.8,
        simplex: bool = True,
    ) -> None:
        super().__init__(levels, n_actions)
        self.delta, self.simplex = delta, simplex
        self.price_list: list[float] | None = None
        self.planned: tuple[bool, ...] | None = None
        self.start = 0

    def read_prices(self, prices: Sequence[float]) -> None:
        self.price_list = list(prices)

    def prices(self) -> list[float]:
        """Return the price list; without one, what was last paid for each feature, or 0."""
        if self.price_list is not None:
            return self.price_list
        prices = [0.0] * len(self.levels)
        for r in self.history:
            for i in range(len(prices)):
                if not math.isnan(r.costs[i]):
                    prices[i] = r.costs[i]
        return prices

    def episode_is_over(self) -> bool:
        before = self.rewards(self.history[: self.start])
        now = self.rewards(self.history)
        grown = {pair: len(now[pair]) - len(before.get(pair, [])) for pair in now}
        return any(grown[pair] >= max(1, len(before.get(pair, []))) for pair in now)

    def optimistic_reward(self, rewards: Sequence[float]) -> float:
        if not rewards:
            return 1.0
        t, n = max(1, self.start), len(rewards)
        log = math.log(20 * self.psi_tot * self.n_actions * t**5 / self.delta)
        return sum(rewards) / n + min(1.0, math.sqrt(log / (2 * n)))

    def probability_radius(self, count: int) -> float:
        log = math.log(4 * max(1, self.start) / self.delta)
        return min(1.0, math.sqrt(10 * self.psi_tot * log / max(1, count)))

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        swept = self.swept_set()
        if swept is not None:
            return swept, 1
        if self.planned is None or self.episode_is_over():
            self.start = len(self.history)
            rewards = self.rewards(self.history)
            optimistic = {pair: self.optimistic_reward(got) for pair, got in rewards.items()}

            def best_reward(psi: Codes) -> float:
                return max(optimistic.get((a, psi), 1.0) for a in range(self.n_actions))

            self.planned = self.first_best_set(best_reward, self.probability_radius, self.prices())
        return self.planned, 0

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        if purpose == 1:
            return any_of(available, draws[0])
        ever = self.rewards(self.history)
        never_tried = [a for a in available if (a, codes) not in ever]
        if never_tried:
            return never_tried[0]
        planned = self.rewards(self.history[: self.start])
        values = [
            self.optimistic_reward(planned.get((a, codes), [])) for a in range(self.n_actions)
        ]
        return last_unless_all_tie(values, available, draws[0])


class Oracle(Twin):
    """Compares all subsets in every period, cut at every change point, from the table itself."""

    def __init__(
        self, contexts: Ints, rewards: Floats, costs: Floats, levels: Sequence[int], cuts: set[int]
    ) -> None:
        super().__init__(levels, rewards.shape[1])
        self.contexts, self.all_rewards, self.costs = contexts, rewards, costs
        edges = [0, *sorted(cuts), len(contexts)]
        self.plans = {(start, stop): self.plan(start, stop) for start, stop in pairwise(edges)}

    def plan(self, start: int, stop: int) -> tuple[tuple[bool, ...], dict[Codes, list[float]]]:
        """Return the best subset of a period and the mean rewards in its partial states."""
        worth, means = {}, {}
        for mask in subsets(len(self.levels)):
            all_parts = [part(codes, mask) for codes in self.contexts.tolist()]
            sums: dict[Codes, list[Floats]] = defaultdict(list)
            for t in range(start, stop):
                sums[all_parts[t]].append(self.all_rewards[t])
            mean = {psi: np.mean(got, axis=0).tolist() for psi, got in sums.items()}
            price = self.costs[start:stop].mean(axis=0) @ np.array(mask, dtype=float)
            shares = Counter(all_parts)
            gain = sum(
                count / len(all_parts) * max(mean.get(psi, [0.0])) for psi, count in shares.items()
            )
            worth[mask], means[mask] = gain - price, mean
        top = max(worth.values())
        chosen = next(mask for mask, value in worth.items() if value >= top - 1e-12)
        return chosen, means[chosen]

    def now(self) -> tuple[tuple[bool, ...], dict[Codes, list[float]]]:
        t = len(self.history)
        return next(plan for (start, stop), plan in self.plans.items() if start <= t < stop)

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        return self.now()[0], 0

    def values(self, codes: Codes) -> list[float]:
        mask, values = self.now()
        return values[part(codes, mask)]


# The loop.


@dataclass(frozen=True, eq=False)
class Played:
    observed: NDArray[np.bool_]
    actions: Ints
    rewards: Floats
    costs: Floats


def run(
    twin: Twin,
    contexts: Ints,
    rewards: Floats,
    costs: Floats,
    draws: Floats,
    free: Sequence[bool] | None = None,
) -> Played:
    """Play all rounds of the table; `draws` (T, k) are the policy's uniform numbers."""
    observed, actions, gained, paid = [], [], [], []
    always = tuple(free or [False] * contexts.shape[1])
    for t, codes in enumerate(contexts.tolist()):
        twin.read_known(part(codes, always))
        twin.read_prices(costs[t].tolist())
        twin.read_draws(draws[t].tolist())
        chosen, purpose = twin.choose_features()
        mask = tuple(wanted and not given for wanted, given in zip(chosen, always, strict=True))
        seen = part(codes, tuple(map(operator.or_, mask, always)))
        prices = [c if wanted else math.nan for c, wanted in zip(costs[t], mask, strict=True)]
        action = twin.choose_action(seen, draws[t].tolist(), purpose, range(twin.n_actions))
        reward = float(rewards[t, action])
        twin.update(seen, prices, action, reward, purpose)
        observed.append(mask)
        actions.append(action)
        gained.append(reward)
        paid.append(sum(c for c, wanted in zip(costs[t].tolist(), mask, strict=True) if wanted))
    return Played(np.array(observed), np.array(actions), np.array(gained), np.array(paid))
