"""Slow, obvious twins of the compiled policies, written from the paper's definitions.

They keep every round in a list and go through it again whenever they need a number. A twin takes
the same uniform numbers as its compiled counterpart, so the two can be compared round by round.
Numbers within TIE of the largest count as equally large. Scout's twin keeps dictionaries instead of
a list, since Scout forgets, and takes the constants from Scout's kernels.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from thrifty.kernels import averaging, likelihood, prices, regimes, scout, set_values, surprise
from thrifty.kernels import subsets as tables_of_subsets

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
        paid = [cost for r in self.history for i, cost in enumerate(r.costs) if r.bought(i)]
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
            paid = [r.costs[i] for r in self.in_window() if r.bought(i)]
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
                if r.bought(i):
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


# Scout, piece by piece. A set of features is a tuple in ascending order.

Set = tuple[int, ...]
Cell = tuple[Set, Codes, int]
Known = defaultdict[Cell, tuple[float, float]]


def sets_that_fit(levels: Sequence[int], n_actions: int, most: int | None = None) -> list[Set]:
    """Return all sets of at most K features, smaller ones first, K the largest that fits, or 1."""
    chosen: list[Set] = [()]
    for size in range(1, min(most or len(levels), len(levels)) + 1):
        more = [*chosen, *combinations(range(len(levels)), size)]
        cells = sum(math.prod(levels[i] for i in it) for it in more)
        if size > 1 and cells > tables_of_subsets.MOST_NUMBERS // n_actions:
            break
        chosen = more
    return chosen


def between(basis: Set, it: Set, observed: Set) -> bool:
    return set(basis) <= set(it) <= set(observed)


def seen_in(codes: Sequence[int]) -> Set:
    return tuple(i for i, code in enumerate(codes) if code != NOT_BOUGHT)


def cell(it: Set, codes: Sequence[int], action: int) -> Cell:
    return it, tuple(codes[i] for i in it), action


class Tables:
    """The number and sum of the rewards of every cell: of all rounds, and of the wide ones."""

    def __init__(self, levels: Sequence[int], n_actions: int, most: int | None = None) -> None:
        self.sets = sets_that_fit(levels, n_actions, most)
        self.forget()

    def forget(self) -> None:
        self.known: Known = defaultdict(lambda: (0.0, 0.0))
        self.compared: Known = defaultdict(lambda: (0.0, 0.0))

    def forget_state(self, it: Set, codes: Sequence[int], n_actions: int) -> None:
        for a in range(n_actions):
            self.known.pop(cell(it, codes, a), None)

    def learn_one(self, it: Set, codes: Sequence[int], action: int, reward: float) -> None:
        n, total = self.known[cell(it, codes, action)]
        most = tables_of_subsets.MEMORY - 1
        if n > most:
            n, total = most, total * (most / n)
        self.known[cell(it, codes, action)] = n + 1, total + reward

    def learn(
        self, basis: Set, observed: Set, codes: Sequence[int], action: int, reward: float
    ) -> None:
        for it in self.sets:
            if between(basis, it, observed):
                self.learn_one(it, codes, action, reward)
                n, total = self.compared[cell(it, codes, action)]
                self.compared[cell(it, codes, action)] = n + 1, total + reward

    def mean(self, it: Set, codes: Sequence[int], action: int, blind_mean: float) -> float:
        """Return m_J(a, psi_J): the action's own mean, and rewards of that size, shrink it."""
        k = set_values.PRIOR_PULLS
        n, total = self.known[cell((), codes, action)]
        centre = (total + k * blind_mean) / (n + k)
        if not it:
            return centre
        n, total = self.known[cell(it, codes, action)]
        return (total + k * centre) / (n + k)

    def pulls(self, it: Set, codes: Sequence[int], action: int) -> float:
        return self.known[cell(it, codes, action)][0]

    def mean_in_wide_rounds(
        self, it: Set, codes: Sequence[int], action: int, blind_mean: float
    ) -> float:
        n, total = self.compared[cell((), codes, action)]
        centre = (total + blind_mean) / (n + 1)
        if not it:
            return centre
        n, total = self.compared[cell(it, codes, action)]
        return (total + averaging.PRIOR_PULLS * centre) / (n + averaging.PRIOR_PULLS)


def prior_of(sets: Sequence[Set]) -> dict[Set, float]:
    """Return equal weight for every size, and within a size for every set."""
    sizes = Counter(len(it) for it in sets)
    return {it: 1 / (len(sizes) * sizes[len(it)]) for it in sets}


def clip(p: float) -> float:
    return min(max(p, likelihood.LEAST), likelihood.MOST)


def log_likelihood(reward: float, p: float) -> float:
    return reward * math.log(p) + (1 - reward) * math.log(1 - p)


def weighed(
    log_weights: Mapping[Set, float], prior: Mapping[Set, float], gains: Mapping[Set, float]
) -> dict[Set, float]:
    """Add the competitors' gains but keep their total; then everybody's share goes to the prior."""
    new = {it: log + gains.get(it, 0.0) for it, log in log_weights.items()}
    before = sum(math.exp(log_weights[it]) for it in gains)
    change = math.log(before / sum(math.exp(new[it]) for it in gains))
    for it in gains:
        new[it] += change
    total = sum(math.exp(log) for log in new.values())
    share = averaging.SHARE
    return {
        it: math.log((1 - share) * math.exp(log) / total + share * math.exp(prior[it]))
        for it, log in new.items()
    }


def tempered(log_weights: Mapping[Set, float], prior: Mapping[Set, float]) -> dict[Set, float]:
    keep = averaging.TEMPER
    new = {it: keep * log + (1 - keep) * prior[it] for it, log in log_weights.items()}
    total = math.log(sum(math.exp(log) for log in new.values()))
    return {it: log - total for it, log in new.items()}


def short_list(log_weights: Mapping[Set, float]) -> dict[Set, float]:
    """Return the empty set and the heaviest others near the heaviest of all, with their weights."""
    best = max(log_weights.values())
    near = [it for it, log in log_weights.items() if it and log > best - averaging.BAND]
    near.sort(key=lambda it: -log_weights[it])
    listed = [(), *near[: averaging.MOST_LISTED - 1]]
    return {it: math.exp(log_weights[it]) for it in listed}


def average(listed: Mapping[Set, float], observed: Set, values: Callable[[Set], float]) -> float:
    """Return the mean of the values of the listed sets that were observed, by their weights."""
    allowed = [it for it in listed if set(it) <= set(observed)]
    return sum(listed[it] * values(it) for it in allowed) / sum(listed[it] for it in allowed)


def value_of_set(
    tables: Tables,
    listed: Mapping[Set, float],
    pool: Sequence[Codes],
    it: Set,
    n_actions: int,
    blind_mean: float,
) -> float:
    """Return the mean over the pool of max_a m(a, psi_I), optimistic where little is known."""

    def mean(codes: Codes, a: int) -> float:
        means = {}
        for j in listed:
            bonus = set_values.OPTIMISM / math.sqrt(tables.pulls(j, codes, a) + 1)
            means[j] = min(1.0, tables.mean(j, codes, a, blind_mean) + bonus)
        return average(listed, it, means.__getitem__)

    def best_mean(codes: Codes) -> float:
        return max(mean(codes, a) for a in range(n_actions))

    whole = [codes for codes in pool if set(it) <= set(seen_in(codes))]
    return sum(best_mean(codes) for codes in whole) / len(whole) if whole else -math.inf


def candidates(listed: Mapping[Set, float], sets: Sequence[Set]) -> list[Set]:
    """Return the unions of two listed sets, or of one with itself, each once."""
    found: list[Set] = []
    for k, one in enumerate(listed):
        for two in list(listed)[k:]:
            union = tuple(sorted({*one, *two}))
            if union in sets and union not in found:
                found.append(union)
    return found


def within_budget(reward: float, price: float, for_nothing: float, budget: float) -> float:
    """Return what a set is worth that is bought as often as the budget allows, else nothing."""
    often = budget / price if price > budget else 1.0
    return often * (reward - price) + (1 - often) * for_nothing


def some_of(mask: Set, kept: Set, most: int, draw: float) -> Set:
    """Return the kept features and as many others at random as may be bought, each as likely."""
    others = [i for i in mask if i not in kept]
    free, left = most - len(kept), len(others)
    if left <= free:
        return tuple(sorted({*mask, *kept}))
    stream, chosen = Stream(draw), list(kept)
    for i in others:
        if stream.uniform() * left < free:
            chosen.append(i)
            free -= 1
        left -= 1
    return tuple(sorted(chosen))


class PriceBook:
    """What one feature costs, and two sums of standardised deviations."""

    def __init__(self) -> None:
        self.mean, self.seen = 0.0, 0
        self.squares, self.deviations = 0.0, 0.0
        self.up, self.down = 0.0, 0.0

    def pay(self, cost: float) -> bool:
        jumped = self.seen >= 3 and self.jumps(cost)
        if jumped:
            self.seen, self.up, self.down = 0, 0.0, 0.0
        self.seen = min(self.seen + 1, prices.MEMORY)
        if self.seen == 1:
            self.mean = cost
            return jumped
        deviation = cost - self.mean
        self.mean += deviation / self.seen
        self.squares += deviation * deviation * (1 - 1 / self.seen)
        self.deviations += 1
        fading = min(1.0, prices.SPREAD_MEMORY / self.deviations)
        self.squares *= fading
        self.deviations *= fading
        return jumped

    def jumps(self, cost: float) -> bool:
        deviation = math.sqrt(self.squares / self.deviations) + prices.LEAST_SPREAD
        step = (cost - self.mean) / (deviation * math.sqrt(1 + 1 / self.seen))
        step = min(max(step, -prices.LARGEST_STEP), prices.LARGEST_STEP)
        self.up = max(0.0, self.up + step - prices.SLACK)
        self.down = max(0.0, self.down - step - prices.SLACK)
        return max(self.up, self.down) > prices.ALARM


class Alarm:
    """Sums, one for each guess of how much worse rewards have become."""

    def __init__(self, worse: Sequence[float]) -> None:
        self.worse = worse
        self.sums = [0.0] * len(worse)

    def add(self, reward: float, p: float, phi: float) -> bool:
        for k, share in enumerate(self.worse):
            gain = (log_likelihood(reward, share * p) - log_likelihood(reward, p)) / phi
            self.sums[k] = max(0.0, self.sums[k] + gain)
        return max(self.sums) > surprise.ALARM


@dataclass
class Regime:
    known: dict[Cell, tuple[float, float]]
    log_weights: dict[Set, float]
    blind: tuple[float, float]
    age: int
    stored: int
    evidence: float
    dropped: bool = False

    def explains(self, observed: Set, codes: Codes, action: int) -> float:
        """Return the mean that its heaviest observed set predicts."""
        allowed = [it for it in self.log_weights if set(it) <= set(observed)]
        heaviest = max(allowed, key=lambda it: self.log_weights[it])
        n, total = self.known.get(cell(heaviest, codes, action), (0.0, 0.0))
        return clip((total + 0.5) / (n + 1))


class Stream:
    """Random variates out of one uniform number."""

    def __init__(self, draw: float) -> None:
        self.key, self.count = int(draw * 2**32), 0

    @staticmethod
    def mixed(x: int) -> int:
        x = (x ^ x >> 16) * 0x21F0AAAD % 2**32
        x = (x ^ x >> 15) * 0x735A2D97 % 2**32
        return x ^ x >> 15

    def uniform(self) -> float:
        self.count += 1
        return (self.mixed(self.key ^ self.mixed(self.count)) + 0.5) / 2**32

    def normal(self) -> float:
        size = math.sqrt(-2 * math.log(self.uniform()))
        return size * math.cos(2 * math.pi * self.uniform())

    def gamma(self, shape: float) -> float:
        if shape < 1:
            boost: float = self.uniform() ** (1 / shape)
            return self.gamma(shape + 1) * boost
        d = shape - 1 / 3
        while True:
            x = self.normal()
            v = (1 + x / math.sqrt(9 * d)) ** 3
            if v > 0 and math.log(self.uniform()) < x * x / 2 + d - d * v + d * math.log(v):
                return d * v

    def beta(self, one: float, other: float) -> float:
        x, y = self.gamma(one), self.gamma(other)
        return x / (x + y) if x + y > 0 else one / (one + other)


class Scout(Twin):
    def __init__(
        self,
        levels: Sequence[int],
        n_actions: int,
        *,
        max_features: int | None = None,
        budget: float | None = None,
        recall: bool = True,
    ) -> None:
        super().__init__(levels, n_actions)
        self.recall = recall
        self.tables = Tables(self.levels, n_actions, max_features)
        self.most = min(max_features or len(levels), len(levels))
        self.budget = math.inf if budget is None else budget
        self.spent = 0.0
        self.prior = {it: math.log(w) for it, w in prior_of(self.tables.sets).items()}
        self.log_weights = dict(self.prior)
        self.listed: dict[Set, float] = {(): 1.0}
        self.pool: list[Codes] = []
        self.prices = [PriceBook() for _ in levels]
        self.alarm = Alarm(surprise.WORSE)
        self.cell_alarms: dict[tuple[Set, Codes], Alarm] = {}
        self.regimes: list[Regime] = []
        self.spread = [0.05, 0.05]
        self.blind = (0.5, 1.0)
        self.habits = [1 / n_actions] * n_actions
        self.in_use: Set = ()
        self.value, self.certainty = 0.0, 0.0
        self.age, self.rounds, self.probes_due = 0, 0, 0
        self.restarts, self.restored = 0, 0
        self.stale = False
        self.draws: Sequence[float] = ()

    def read_draws(self, draws: Sequence[float]) -> None:
        self.draws = draws

    @property
    def blind_mean(self) -> float:
        return self.blind[0] / self.blind[1]

    @property
    def phi(self) -> float:
        return min(max(self.spread[0] / self.spread[1], likelihood.LEAST_DISPERSION), 1.0)

    @property
    def headroom(self) -> float:
        return max(0.0, 1.0 - self.value)

    def predicted(self, observed: Set, codes: Codes, action: int) -> tuple[float, float]:
        """Return m(a, psi) and the number of rewards behind it."""
        tables, mu = self.tables, self.blind_mean
        mean = average(self.listed, observed, lambda it: tables.mean(it, codes, action, mu))
        return mean, average(self.listed, observed, lambda it: tables.pulls(it, codes, action))

    def choose_set(self) -> None:
        self.listed = short_list(self.log_weights)
        self.certainty = math.exp(max(self.log_weights.values()))
        self.stale = False
        if not self.pool:
            self.in_use, self.value = (), 0.0
            return
        worth: dict[Set, float] = {}
        for it in candidates(self.listed, self.tables.sets):
            reward = value_of_set(
                self.tables, self.listed, self.pool, it, self.n_actions, self.blind_mean
            )
            price = sum(self.prices[i].mean for i in it)
            worth[it] = within_budget(reward, price, worth.get((), reward), self.budget)
        self.in_use = max(worth, key=lambda it: worth[it])
        self.value = worth[self.in_use]

    def explored(self) -> Set:
        return tuple(
            i
            for i, price in enumerate(self.prices)
            if self.age <= scout.YOUNG or price.seen == 0 or price.mean < self.headroom
        )

    def epsilon(self) -> float:
        if self.age == 0:
            return 1.0
        doubt = 1 - self.certainty
        chance = scout.EPSILON * (1 + scout.AMBIGUITY * doubt) / math.sqrt(self.age)
        chance = max(scout.LEAST_EPSILON, chance)
        if self.age <= scout.YOUNG:
            return min(1.0, chance)
        matters = 1 - math.exp(self.log_weights[()])
        price = sum(self.prices[i].mean for i in self.explored())
        loss = self.value - self.blind_mean + price
        cheap = scout.LOSS / max(loss, scout.LOSS)
        scope = min(1.0, self.headroom / scout.HEADROOM)
        chance = min(scout.MOST_EPSILON, chance * max(scout.LEAST_MATTERING, matters))
        return chance * scope * cheap**3

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        if self.stale or self.age % scout.REFRESH == 0:
            self.choose_set()
        if self.spent > 0 and self.spent > self.budget * self.rounds:
            return (False,) * len(self.levels), scout.SAVE
        chance, kind, bought = self.epsilon(), scout.EXPLOIT, self.in_use
        draw, another = self.draws[:2]
        if draw < chance:
            kind, bought = scout.EXPLORE, some_of(self.explored(), (), self.most, another)
        elif self.probes_due or draw < chance * (1 + scout.PROBES):
            kind = scout.PROBE
            bought = some_of(self.explored(), self.in_use, self.most, another)
        mask = tuple(i in bought for i in range(len(self.levels)))
        return mask, scout.KINDS * self.tables.sets.index(self.in_use) + kind

    def basis(self, purpose: int, observed: Set) -> Set:
        kind, planned = purpose % scout.KINDS, self.tables.sets[purpose // scout.KINDS]
        if kind == scout.EXPLORE:
            return ()
        if kind != scout.PROBE and observed in self.tables.sets:
            return observed
        return tuple(i for i in planned if i in observed)

    def values(self, codes: Codes) -> list[float]:
        return [self.predicted(seen_in(codes), codes, a)[0] for a in range(self.n_actions)]

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        if purpose % scout.KINDS == scout.EXPLORE:
            return self.blind_action(draws[2], available)
        stream, basis = Stream(draws[2]), self.basis(purpose, seen_in(codes))
        drawn = []
        for a in range(self.n_actions):
            mean, number = self.predicted(basis, codes, a)
            mean = min(max(mean, scout.LEAST_CHANCE), 1 - scout.LEAST_CHANCE)
            size = number / self.phi + scout.THOMPSON_PULLS
            drawn.append(stream.beta(mean * size, (1 - mean) * size))
        return max(available, key=lambda a: drawn[a])

    def blind_action(self, draw: float, available: Sequence[int]) -> int:
        if self.age <= scout.YOUNG:
            return any_of(available, draw)
        if draw < 0.5:
            return any_of(available, 2 * draw)
        left = (2 * draw - 1) * sum(self.habits[a] for a in available)
        for a in available:
            left -= self.habits[a]
            if left < 0:
                return a
        return any_of(available, 2 * draw - 1)

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, reward: float, purpose: int
    ) -> None:
        kind, observed = purpose % scout.KINDS, seen_in(codes)
        basis = self.basis(purpose, observed)
        for i in observed:
            self.spent += costs[i]
            if self.prices[i].pay(costs[i]):
                self.probes_due, self.stale = scout.PROBES_AFTER_ALARM, True
        if self.recall and self.restarts and self.age < scout.RECOGNITION:
            self.recognise(observed, codes, action, reward)
        if kind != scout.EXPLORE:
            self.judge(basis, codes, action, reward)
        if kind in (scout.EXPLOIT, scout.SAVE):
            self.habits = [scout.ACTION_MEMORY * f for f in self.habits]
            self.habits[action] += 1 - scout.ACTION_MEMORY
            self.tables.learn_one(basis, codes, action, reward)
        else:
            self.learn_wide(basis, observed, codes, action, reward)
            if kind == scout.EXPLORE:
                self.blind = self.blind[0] + reward, self.blind[1] + 1
            else:
                self.probes_due = max(0, self.probes_due - 1)
        self.age += 1
        self.rounds += 1

    def learn_wide(
        self, basis: Set, observed: Set, codes: Codes, action: int, reward: float
    ) -> None:
        gains = {}
        for it in self.tables.sets:
            if between(basis, it, observed):
                p = self.tables.mean_in_wide_rounds(it, codes, action, self.blind_mean)
                gains[it] = log_likelihood(reward, clip(p)) / self.phi
        self.log_weights = weighed(self.log_weights, self.prior, gains)
        self.tables.learn(basis, observed, codes, action, reward)
        self.pool = [*self.pool, codes][-set_values.POOL :]
        self.stale = self.stale or self.age > scout.YOUNG

    def judge(self, basis: Set, codes: Codes, action: int, reward: float) -> None:
        mean, number = self.predicted(basis, codes, action)
        if number < scout.ENOUGH_TO_JUDGE:
            return
        p, phi = clip(mean), self.phi
        if number >= scout.ENOUGH_FOR_SPREAD:
            self.spread[0] += likelihood.RATE * ((reward - p) ** 2 - self.spread[0])
            self.spread[1] += likelihood.RATE * (p * (1 - p) - self.spread[1])
        if self.alarm.add(reward, p, phi):
            self.restart()
            return
        alone = Alarm([surprise.WORSE_IN_CELL])
        alarm = self.cell_alarms.setdefault((basis, cell(basis, codes, 0)[1]), alone)
        if alarm.add(reward, p, phi):
            alarm.sums = [0.0]
            self.tables.forget_state(basis, codes, self.n_actions)

    def calm_down(self) -> None:
        self.alarm = Alarm(surprise.WORSE)
        self.cell_alarms = {}

    def restart(self) -> None:
        self.restarts += 1
        for regime in self.regimes:
            regime.evidence, regime.dropped = 0.0, False
        if self.age > regimes.OLD_ENOUGH:
            self.regimes = self.regimes[-(regimes.SLOTS - 1) :]
            self.regimes.append(
                Regime(
                    dict(self.tables.known),
                    dict(self.log_weights),
                    self.blind,
                    self.age,
                    self.restarts,
                    regimes.HANDICAP,
                )
            )
        self.tables.forget()
        self.log_weights = tempered(self.log_weights, self.prior)
        self.calm_down()
        self.blind = (0.5, 1.0)
        self.age, self.stale = 0, True

    def recognise(self, observed: Set, codes: Codes, action: int, reward: float) -> None:
        p = clip(self.predicted(observed, codes, action)[0])
        for regime in self.regimes:
            if not regime.dropped:
                theirs = regime.explains(observed, codes, action)
                gain = log_likelihood(reward, theirs) - log_likelihood(reward, p)
                regime.evidence += gain / self.phi
                regime.dropped = regime.evidence < regimes.TOO_LITTLE
        clear = [it for it in self.regimes if not it.dropped and it.evidence > regimes.ENOUGH]
        if clear:
            self.restore(max(clear, key=lambda it: it.evidence))

    def restore(self, regime: Regime) -> None:
        for known, (n, total) in regime.known.items():
            now = self.tables.known[known]
            self.tables.known[known] = now[0] + n, now[1] + total
        self.log_weights = dict(regime.log_weights)
        self.blind = self.blind[0] + regime.blind[0], self.blind[1] + regime.blind[1]
        self.regimes.remove(regime)
        for other in self.regimes:
            other.dropped = True
        self.calm_down()
        self.age = max(self.age, min(regime.age, scout.MOST_AGE_RESTORED))
        self.stale = True
        self.restored += 1


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
        return self.now()[1][codes]


# The loop.


@dataclass(frozen=True, eq=False)
class Played:
    observed: NDArray[np.bool_]
    actions: Ints
    rewards: Floats
    costs: Floats


def run(twin: Twin, contexts: Ints, rewards: Floats, costs: Floats, draws: Floats) -> Played:
    """Play all rounds of the table; `draws` (T, k) are the policy's uniform numbers."""
    observed, actions, gained, paid = [], [], [], []
    for t, codes in enumerate(contexts.tolist()):
        twin.read_prices(costs[t].tolist())
        twin.read_draws(draws[t].tolist())
        mask, purpose = twin.choose_features()
        seen = part(codes, mask)
        prices = [c if wanted else math.nan for c, wanted in zip(costs[t], mask, strict=True)]
        action = twin.choose_action(seen, draws[t].tolist(), purpose, range(twin.n_actions))
        reward = float(rewards[t, action])
        twin.update(seen, prices, action, reward, purpose)
        observed.append(mask)
        actions.append(action)
        gained.append(reward)
        paid.append(sum(c for c, wanted in zip(costs[t].tolist(), mask, strict=True) if wanted))
    return Played(np.array(observed), np.array(actions), np.array(gained), np.array(paid))
