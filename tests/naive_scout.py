"""The slow, obvious twin of Scout, piece by piece, from the page "How Scout decides".

It keeps dictionaries, since Scout forgets, and takes the constants from Scout's kernels. A set of
features is a tuple in ascending order. What the kernel keeps in places of arrays is here a list of
the sets that have grown, with None where there is none.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from naive import NOT_BOUGHT, Codes, Twin, any_of
from thrifty.kernels.scout import (
    change_detection,
    exploration,
    growth,
    likelihood,
    model_weights,
    prices,
    regimes,
    reward_scale,
    set_values,
    state,
    steps,
    sure_actions,
    wide_rounds,
)
from thrifty.kernels.scout import subsets as tables_of_subsets

Set = tuple[int, ...]
Cell = tuple[Set, Codes, int]
Known = defaultdict[Cell, tuple[float, float]]


def n_cells(it: Set, levels: Sequence[int]) -> int:
    return math.prod(levels[i] for i in it)


def all_fit(levels: Sequence[int], n_actions: int, most: int | None = None) -> bool:
    """Whether there is room for tables of all sets."""
    return numbers(levels, n_actions, most or len(levels)) <= tables_of_subsets.MAX_MEANS


def numbers(levels: Sequence[int], n_actions: int, most: int) -> int:
    """Return how many means all sets of at most so many features have, set by set or all at once.

    All subsets together have the product of (levels + 1) partial states.
    """
    if most >= len(levels):
        return n_actions * math.prod(n + 1 for n in levels)
    sizes = range(most + 1)
    return n_actions * sum(
        n_cells(it, levels) for size in sizes for it in combinations(range(len(levels)), size)
    )


def sets_that_fit(levels: Sequence[int], n_actions: int, most: int | None = None) -> list[Set]:
    """Return all sets, smaller ones first, or else those of at most K features.

    K is the largest that fits when sets grow, or 1.
    """
    largest = min(most or len(levels), len(levels))
    if not all_fit(levels, n_actions, most):
        room, largest = tables_of_subsets.MAX_MEANS_WHEN_GROWING, 1
        while numbers(levels, n_actions, largest + 1) <= room:
            largest += 1
    return [it for size in range(largest + 1) for it in combinations(range(len(levels)), size)]


def between(basis: Set, it: Set, observed: Set) -> bool:
    return set(basis) <= set(it) <= set(observed)


def seen_in(codes: Sequence[int]) -> Set:
    return tuple(i for i, code in enumerate(codes) if code != NOT_BOUGHT)


def cell(it: Set, codes: Sequence[int], action: int) -> Cell:
    return it, tuple(codes[i] for i in it), action


class Tables:
    """The number and sum of the rewards of every cell: of all rounds, and of the wide ones."""

    def __init__(self, levels: Sequence[int], n_actions: int, most: int | None = None) -> None:
        self.fixed = sets_that_fit(levels, n_actions, most)
        places = 0 if all_fit(levels, n_actions, most) else tables_of_subsets.MAX_GROWN_SETS
        self.grown: list[Set | None] = [None] * places
        self.memory = tables_of_subsets.MEMORY
        self.forget()

    @property
    def sets(self) -> list[Set]:
        return [*self.fixed, *(it for it in self.grown if it is not None)]

    def forget(self) -> None:
        self.known: Known = defaultdict(lambda: (0.0, 0.0))
        self.compared: Known = defaultdict(lambda: (0.0, 0.0))

    def forget_set(self, it: Set) -> None:
        for table in (self.known, self.compared):
            for known in [known for known in table if known[0] == it]:
                del table[known]

    def forget_state(self, it: Set, codes: Sequence[int], n_actions: int) -> None:
        for a in range(n_actions):
            self.known.pop(cell(it, codes, a), None)

    def learn_one(self, it: Set, codes: Sequence[int], action: int, reward: float) -> None:
        n, total = self.known[cell(it, codes, action)]
        most = self.memory - 1
        if n > most:
            n, total = most, total * (most / n)
        self.known[cell(it, codes, action)] = n + 1, total + reward

    def learn(
        self, basis: Set, observed: Set, codes: Sequence[int], action: int, reward: float
    ) -> None:
        for it in self.sets:
            if between(basis, it, observed):
                self.learn_wide(it, codes, action, reward)

    def learn_wide(self, it: Set, codes: Sequence[int], action: int, reward: float) -> None:
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

    def centre_in_wide_rounds(self, action: int, blind_mean: float) -> float:
        n, total = self.compared[cell((), (), action)]
        return (total + blind_mean) / (n + 1)

    def mean_in_wide_rounds(
        self, it: Set, codes: Sequence[int], action: int, blind_mean: float
    ) -> float:
        centre = self.centre_in_wide_rounds(action, blind_mean)
        if not it:
            return centre
        n, total = self.compared[cell(it, codes, action)]
        return (total + model_weights.PRIOR_PULLS * centre) / (n + model_weights.PRIOR_PULLS)


def log_prior(size: int, n_features: int, most: int) -> float:
    """Give every size up to the largest equal weight, and within a size every set."""
    return -math.log((most + 1) * math.comb(n_features, size))


def normalised(log_weights: Mapping[Set, float]) -> dict[Set, float]:
    total = math.log(sum(math.exp(log) for log in log_weights.values()))
    return {it: log - total for it, log in log_weights.items()}


def clip(p: float) -> float:
    return min(max(p, likelihood.MIN_MEAN), likelihood.MAX_MEAN)


def log_likelihood(reward: float, p: float) -> float:
    return reward * math.log(p) + (1 - reward) * math.log(1 - p)


def weighed(
    log_weights: Mapping[Set, float], prior: Mapping[Set, float], gains: Mapping[Set, float]
) -> dict[Set, float]:
    """Add the competitors' gains but keep their total; then everybody's share goes to the prior."""
    if not gains:
        return dict(log_weights)
    new = {it: log + gains.get(it, 0.0) for it, log in log_weights.items()}
    before = sum(math.exp(log_weights[it]) for it in gains)
    change = math.log(before / sum(math.exp(new[it]) for it in gains))
    for it in gains:
        new[it] += change
    total = sum(math.exp(log) for log in new.values())
    share = model_weights.SHARE
    return {
        it: math.log((1 - share) * math.exp(log) / total + share * math.exp(prior[it]))
        for it, log in new.items()
    }


def tempered(log_weights: Mapping[Set, float], prior: Mapping[Set, float]) -> dict[Set, float]:
    keep = model_weights.TEMPER
    return normalised({it: keep * log + (1 - keep) * prior[it] for it, log in log_weights.items()})


def short_list(log_weights: Mapping[Set, float]) -> dict[Set, float]:
    """Return the empty set and the heaviest others near the heaviest of all, with their weights."""
    best = max(log_weights.values())
    near = [it for it, log in log_weights.items() if it and log > best - model_weights.BAND]
    near.sort(key=lambda it: -log_weights[it])
    listed = [(), *near[: model_weights.MAX_LISTED - 1]]
    return {it: math.exp(log_weights[it]) for it in listed}


def average(listed: Mapping[Set, float], observed: Set, values: Callable[[Set], float]) -> float:
    """Return the mean of the values of the listed sets that were observed, by their weights."""
    allowed = [it for it in listed if set(it) <= set(observed)]
    return sum(listed[it] * values(it) for it in allowed) / sum(listed[it] for it in allowed)


Means = list[tuple[Codes, dict[Set, list[float]]]]


def optimistic_means(
    tables: Tables,
    listed: Mapping[Set, float],
    states: Sequence[Codes],
    n_actions: int,
    blind_mean: float,
) -> Means:
    """Return every state with the means of the listed sets in it, larger where little is known."""

    def mean(it: Set, codes: Codes, a: int) -> float:
        bonus = set_values.OPTIMISM / math.sqrt(tables.pulls(it, codes, a) + 1)
        return min(1.0, tables.mean(it, codes, a, blind_mean) + bonus)

    return [
        (
            codes,
            {
                it: [mean(it, codes, a) for a in range(n_actions)]
                for it in listed
                if set(it) <= set(seen_in(codes))
            },
        )
        for codes in states
    ]


def value_of_set(listed: Mapping[Set, float], means: Means, it: Set) -> float:
    """Return the mean over the states of max_a m(a, psi_I)."""
    allowed = [other for other in listed if set(other) <= set(it)]
    total = sum(listed[other] for other in allowed)
    best = [
        max(
            sum(listed[other] * mean for other, mean in zip(allowed, of_action, strict=True))
            for of_action in zip(*(of_set[other] for other in allowed), strict=True)
        )
        / total
        for codes, of_set in means
        if set(it) <= set(seen_in(codes))
    ]
    return sum(best) / len(best) if best else -math.inf


def given(mean: float, known: tuple[float, float]) -> float:
    """Return the mean of a set's own cell, drawn towards the average over the listed sets."""
    n, total = known
    return (total + set_values.REFINED_PULLS * mean) / (n + set_values.REFINED_PULLS)


def values_given(
    tables: Tables, listed: Mapping[Set, float], means: Means, it: Set, n_actions: int
) -> dict[int, float]:
    """Return max_a m(a, psi_I) in every state that shows I, by the state's number."""
    values = {}
    for t, (codes, of_set) in enumerate(means):
        if set(it) <= set(seen_in(codes)):
            best = 0.0
            for a in range(n_actions):
                mean = average(listed, it, lambda other, a=a, of=of_set: of[other][a])  # type: ignore[misc]
                if it in tables.sets:
                    mean = given(mean, tables.known[cell(it, codes, a)])
                best = max(best, mean)
            values[t] = best
    return values


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
    if often == 0:
        return for_nothing
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


@dataclass(frozen=True)
class WideRound:
    codes: Codes
    basis: Set
    action: int
    reward: float

    def teaches(self, it: Set) -> bool:
        return between(self.basis, it, seen_in(self.codes))


def scores(it: Set, rounds: Sequence[WideRound], centres: Sequence[float]) -> list[float]:
    """Play rounds again, and return how well a set predicts each reward before it learns it."""
    tables: Known = defaultdict(lambda: (0.0, 0.0))
    found = []
    for played in rounds:
        at = cell(it, played.codes, played.action)
        n, total = tables[at]
        pulls = model_weights.PRIOR_PULLS
        p = (total + pulls * centres[played.action]) / (n + pulls)
        found.append(log_likelihood(played.reward, clip(p)))
        tables[at] = n + 1, total + played.reward
    return found


def leads(
    parent: Set, children: Sequence[Set], rounds: Sequence[WideRound], centres: Sequence[float]
) -> dict[Set, float]:
    """Return by how much better each child predicts the rounds that the parent predicted, too."""
    common = [played for played in rounds if played.teaches(parent)]
    before = dict(zip(map(id, common), scores(parent, common, centres), strict=True))
    found = {}
    for child in children:
        seen = [played for played in common if set(child) <= set(seen_in(played.codes))]
        lead = 0.0
        for played, score in zip(seen, scores(child, seen, centres), strict=True):
            lead += score - before[id(played)]
        found[child] = lead
    return found


class PriceBook:
    """What one feature costs, and two sums of standardised deviations."""

    def __init__(self) -> None:
        self.mean, self.seen = 0.0, 0
        self.squares, self.deviations = 0.0, 0.0
        self.up, self.down = 0.0, 0.0

    def pay(self, cost: float, span: float = 1.0) -> bool:
        jumped = self.seen >= 3 and self.jumps(cost, span)
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

    def jumps(self, cost: float, span: float) -> bool:
        deviation = math.sqrt(self.squares / self.deviations) + prices.MIN_SPREAD * span
        step = (cost - self.mean) / (deviation * math.sqrt(1 + 1 / self.seen))
        step = min(max(step, -prices.MAX_STEP), prices.MAX_STEP)
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
        return max(self.sums) > change_detection.ALARM


@dataclass
class Regime:
    known: dict[Cell, tuple[float, float]]
    grown: list[Set | None]
    log_weights: dict[Set, float]
    blind: tuple[float, float]
    age: int
    stored: int
    evidence: float
    value: float
    in_use: Set
    dropped: bool = False

    def heaviest(self, observed: Set) -> Set:
        allowed = [it for it in self.log_weights if set(it) <= set(observed)]
        return max(allowed, key=lambda it: self.log_weights[it])

    def used(self, observed: Set) -> Set:
        """Return the set that it used, or its heaviest observed one."""
        if self.in_use and set(self.in_use) <= set(observed):
            return self.in_use
        return self.heaviest(observed)

    def mean(self, it: Set, codes: Codes, action: int) -> float:
        n, total = self.known.get(cell(it, codes, action), (0.0, 0.0))
        return (total + 0.5) / (n + 1)

    def explains(self, observed: Set, codes: Codes, action: int) -> float:
        """Return the mean that its heaviest observed set predicts."""
        return clip(self.mean(self.heaviest(observed), codes, action))


class BlindRewards:
    """Mean and variance of the rewards of one action in blind rounds; old ones fade."""

    def __init__(self) -> None:
        self.seen, self.mean, self.scatter = 0.0, 0.0, 0.0

    def add(self, reward: float) -> None:
        self.seen = min(self.seen + 1, sure_actions.MEMORY)
        before = reward - self.mean
        self.mean += before / self.seen
        self.scatter += (before * (reward - self.mean) - self.scatter) / self.seen

    def convert(self, f: float, g: float) -> None:
        if self.seen:
            self.mean, self.scatter = f * self.mean + g, f * f * self.scatter

    @property
    def variance(self) -> float:
        imagined = sure_actions.PRIOR_VARIANCE
        return (self.scatter * self.seen + imagined) / (self.seen + 1)


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
        self.grows = bool(self.tables.grown)
        self.likely = min(self.most, state.LIKELY_SIZE) if self.grows else self.most
        self.log_weights = normalised(self.prior)
        self.listed: dict[Set, float] = {(): 1.0}
        self.last_states: list[Codes] = []
        self.log: list[WideRound] = []
        self.wide_rounds = 0
        self.parents: list[Set] = []
        self.rounds_when_grown = 0
        self.tickets: list[tuple[Set, int]] = []
        self.births: dict[Set, int] = {}
        self.prices = [PriceBook() for _ in levels]
        self.alarm, self.sure_alarm = (Alarm(change_detection.WORSE) for _ in range(2))
        self.low, self.span = 0.0, 1.0
        self.idle, self.wait, self.usual = 0, state.FIRST_WAIT, 0.0
        self.paid: list[float] = []
        self.blind_rewards = [BlindRewards() for _ in range(n_actions)]
        self.cell_alarms: dict[tuple[Set, Codes], Alarm] = {}
        self.regimes: list[Regime] = []
        self.spread = [[0.05, 0.05] for _ in range(n_actions)]
        self.blind = (0.5, 1.0)
        self.habits = [1 / n_actions] * n_actions
        self.in_use: Set = ()
        self.value, self.certainty = 0.0, 0.0
        self.age, self.rounds, self.probes_due = 0, 0, 0
        self.restarts, self.restored, self.recalled = 0, 0, 0
        self.rightly, self.wrongly = 0, 0
        self.since_restored: int | None = None
        self.stale = False
        self.draws: Sequence[float] = ()
        self.compared: list[Set] = []
        self.compared_by: tuple[dict[Set, float], Means] = ({}, [])

    def read_draws(self, draws: Sequence[float]) -> None:
        self.draws = draws

    @property
    def prior(self) -> dict[Set, float]:
        n = len(self.levels)
        return {it: log_prior(len(it), n, self.likely) for it in self.tables.sets}

    @property
    def blind_mean(self) -> float:
        return self.blind[0] / self.blind[1]

    def phi(self, action: int) -> float:
        real, binary = self.spread[action]
        return min(max(real / binary, likelihood.MIN_DISPERSION), 1.0)

    @property
    def headroom(self) -> float:
        top = self.low + self.span
        return max(exploration.UNSEEN if top < 1 - 1e-6 else 0.0, 1.0 - self.value)

    def predicted(self, observed: Set, codes: Codes, action: int) -> tuple[float, float]:
        """Return m(a, psi) and the number of rewards behind it."""
        tables, mu = self.tables, self.blind_mean
        mean = average(self.listed, observed, lambda it: tables.mean(it, codes, action, mu))
        return mean, average(self.listed, observed, lambda it: tables.pulls(it, codes, action))

    def choose_set(self) -> None:
        self.listed = short_list(self.log_weights)
        self.certainty = math.exp(max(self.log_weights.values()))
        self.stale = False
        self.compared = []
        if not self.last_states:
            self.in_use, self.value = (), 0.0
            return
        means = optimistic_means(
            self.tables, self.listed, self.last_states, self.n_actions, self.blind_mean
        )
        worth: dict[Set, float] = {}
        self.compared = candidates(self.listed, self.tables.sets)
        self.compared_by = dict(self.listed), means
        for it in self.compared:
            reward = value_of_set(self.listed, means, it)
            price = self.price(it)
            budget = self.budget / self.span
            worth[it] = within_budget(reward, price, worth.get((), reward), budget)
        self.in_use = max(worth, key=lambda it: worth[it])
        self.value = worth[self.in_use]

    def best_set_given(self) -> Set:
        """Return the set that is worth most with the free values of the round."""
        if not self.compared:
            return self.in_use
        free = seen_in(self.known)
        worth: dict[Set, float] = {}
        listed, means = self.compared_by
        for it in self.compared:
            whole = tuple(sorted({*it, *free}))
            values = values_given(self.tables, listed, means, whole, self.n_actions)
            alike = [
                value
                for t, value in values.items()
                if all(means[t][0][i] == self.known[i] for i in free)
            ]
            reward = -math.inf
            if values:
                prior = set_values.FREE_PRIOR
                everywhere = sum(values.values()) / len(values)
                reward = (sum(alike) + prior * everywhere) / (len(alike) + prior)
            price = self.price([i for i in it if i not in free])
            budget = self.budget / self.span
            worth[it] = within_budget(reward, price, worth.get((), reward), budget)
        best = max(worth, key=lambda it: worth[it])
        whole = tuple(sorted({*best, *free}))
        return whole if whole in self.tables.sets else best

    def price(self, it: Sequence[int]) -> float:
        """Return the price of features as a share of the range of rewards seen."""
        return sum(self.prices[i].mean / self.span for i in it)

    def explored(self) -> Set:
        return tuple(
            i
            for i, price in enumerate(self.prices)
            if self.known[i] == NOT_BOUGHT
            if self.age <= exploration.YOUNG
            or price.seen == 0
            or price.mean < self.headroom * self.span
        )

    def epsilon(self) -> float:
        if self.age == 0:
            return 1.0
        sure = sum(self.habits[a] for a in range(self.n_actions) if self.is_sure(a))
        asleep = sure > exploration.ASLEEP and not self.grows
        doubt = 0.0 if asleep else 1 - self.certainty
        chance = exploration.EPSILON * (1 + exploration.AMBIGUITY * doubt) / math.sqrt(self.age)
        chance = max(exploration.MIN_EPSILON, chance)
        wide = self.explored()
        price = self.price(wide) * min(1.0, self.most / max(1, len(wide)))
        if self.age <= exploration.YOUNG:
            cheap = (
                1.0 if self.grows else min(1.0, exploration.LOSS / (price + exploration.YOUNG_LOSS))
            )
            return min(1.0, chance) * cheap**exploration.YOUNG_CAUTION
        matters = max(0.0, 1 - math.exp(self.log_weights[()]))
        if not self.grows and not asleep:
            doubted = min(1.0, max(0.0, self.headroom / exploration.CAREFUL - 1))
            matters **= 1 - 0.5 * doubted
        loss = self.value - self.blind_mean + price
        cheap = min(1.0, exploration.LOSS / loss) ** exploration.CAUTION if loss > 0 else 1.0
        if self.grows:
            cheap = exploration.GROWING_LOSS / max(loss, exploration.GROWING_LOSS)
        enough = exploration.HEADROOM * max(loss, exploration.MIN_LOSS)
        if self.grows and enough > exploration.GROWING_HEADROOM:
            enough = exploration.GROWING_HEADROOM
        scope = min(1.0, self.headroom / enough)
        if self.grows and doubt > exploration.CAMPAIGN_DOUBT:
            dear = max(1.0, loss / exploration.CAMPAIGN_LOSS)
            if len(self.log) < exploration.CAMPAIGN * scope / dear:
                return exploration.MAX_EPSILON
        chance = min(exploration.MAX_EPSILON, chance * max(exploration.MIN_MATTERING, matters))
        return chance * scope * cheap

    def probes(self) -> float:
        often = exploration.PROBES * self.epsilon()
        if self.age <= exploration.YOUNG or not self.grows:
            return often
        scope = min(1.0, self.headroom / exploration.GROWING_HEADROOM)
        return max(often, exploration.GROWING_PROBES * scope**2 / math.sqrt(self.age))

    def choose_features(self) -> tuple[tuple[bool, ...], int]:
        if self.stale or self.age % steps.ROUNDS_BETWEEN_CHOICES == 0:
            self.choose_set()
        if self.spent > 0 and self.spent > self.budget * self.rounds:
            return (False,) * len(self.levels), steps.SAVE
        free = seen_in(self.known)
        in_use = self.best_set_given() if free else self.in_use
        chance, kind, bought = self.epsilon(), steps.EXPLOIT, in_use
        draw, another = self.draws[:2]
        if draw < chance:
            kind, bought = steps.EXPLORE, some_of(self.explored(), (), self.most, another)
        elif self.probes_due or draw < chance + self.probes():
            kind = steps.PROBE
            kept = tuple(i for i in in_use if i not in free)
            bought = some_of(self.explored(), kept, self.most, another)
        elif draw < chance + self.probes() + self.recalls():
            kind = steps.RECALL
            self.recalled += 1
            former = self.former_regime()
            assert former is not None
            in_use = bought = former.used(tuple(range(len(self.levels))))
        mask = tuple(i in bought for i in range(len(self.levels)))
        purpose = steps.KINDS * self.ticket(in_use) + kind
        return mask, purpose + (steps.GIVEN if free else 0)

    def is_sure(self, action: int) -> bool:
        largest = max(seen.variance for seen in self.blind_rewards)
        return self.blind_rewards[action].variance < sure_actions.SURE * largest

    def former_regime(self) -> Regime | None:
        """Return the former regime that may be back while only sure actions are exploited."""
        sure = sum(self.habits[a] for a in range(self.n_actions) if self.is_sure(a))
        is_late = self.age >= steps.RECOGNITION_ROUNDS
        asleep = sure > exploration.ASLEEP and not self.grows
        if self.recall and self.regimes and is_late and asleep:
            return max(self.regimes, key=lambda it: it.value)
        return None

    def recalls(self) -> float:
        former = self.former_regime()
        if former is None or former.value <= self.value:
            return 0.0
        used = former.used(tuple(range(len(self.levels))))
        price = self.price(used) * min(1.0, self.most / max(1, len(used)))
        loss = max(exploration.MIN_LOSS, self.value - self.blind_mean + price)
        stake = former.value - self.value
        return min(
            exploration.MAX_RECALL, math.sqrt(exploration.TESTS * self.hazard * stake / loss)
        )

    @property
    def hazard(self) -> float:
        """Return how many changes there are per round."""
        return (self.restarts + 0.5) / (self.rounds + exploration.HAZARD_ROUNDS)

    def ticket(self, in_use: Set) -> int:
        """Return a number for the set in use, and for which time it has tables."""
        self.tickets.append((in_use, self.births.get(in_use, 0)))
        return len(self.tickets) - 1

    def expected(self, purpose: int, basis: Set, codes: Codes, action: int) -> tuple[float, float]:
        """Return what an action is predicted to pay, by the set's own cell with free values."""
        mean, number = self.predicted(basis, codes, action)
        if purpose < steps.GIVEN or basis not in self.tables.sets:
            return mean, number
        known = self.tables.known[cell(basis, codes, action)]
        return given(mean, known), known[0] + set_values.REFINED_PULLS

    def basis(self, purpose: int, observed: Set) -> Set:
        kind = purpose % steps.KINDS
        if kind == steps.EXPLORE:
            return ()
        ticket = purpose % steps.GIVEN // steps.KINDS
        planned, birth = self.tickets[ticket] if kind != steps.SAVE else ((), 0)
        if planned not in self.tables.sets or self.births.get(planned, 0) != birth:
            return observed
        if kind not in (steps.PROBE, steps.RECALL) and observed in self.tables.fixed:
            return observed
        return tuple(i for i in planned if i in observed)

    def values(self, codes: Codes) -> list[float]:
        means = [self.predicted(seen_in(codes), codes, a)[0] for a in range(self.n_actions)]
        return [self.low + self.span * mean for mean in means]

    def choose_action(
        self, codes: Codes, draws: Sequence[float], purpose: int, available: Sequence[int]
    ) -> int:
        if purpose % steps.KINDS == steps.EXPLORE:
            return self.blind_action(draws[2], available)
        stream, basis = Stream(draws[2]), self.basis(purpose, seen_in(codes))
        former = self.former_regime()
        if purpose % steps.KINDS == steps.RECALL and former is not None:
            return max(available, key=lambda a: former.mean(former.used(basis), codes, a))
        drawn = []
        for a in range(self.n_actions):
            mean, number = self.expected(purpose, basis, codes, a)
            mean = min(max(mean, steps.MIN_CHANCE), 1 - steps.MIN_CHANCE)
            size = number / self.phi(a) + steps.THOMPSON_PULLS
            drawn.append(stream.beta(mean * size, (1 - mean) * size))
        return max(available, key=lambda a: drawn[a])

    def blind_action(self, draw: float, available: Sequence[int]) -> int:
        if self.age <= exploration.YOUNG:
            return any_of(available, draw)
        if draw < 0.5:
            return any_of(available, 2 * draw)
        left = (2 * draw - 1) * sum(self.habits[a] for a in available)
        for a in available:
            left -= self.habits[a]
            if left < 0:
                return a
        return any_of(available, 2 * draw - 1)

    def see_reward(self, reward: float) -> None:
        """Learn the range of rewards, and convert everything to it."""
        self.paid.append(reward)
        low, span = min(self.paid), max(self.paid) - min(self.paid)
        if len(self.paid) < reward_scale.MIN_REWARDS or span < reward_scale.MIN_SPAN:
            return
        if span > reward_scale.MAX_SPAN:
            low, span = 0.0, 1.0
        if (low, span) == (self.low, self.span):
            return
        f, g = self.span / span, (self.low - low) / span
        tables = [self.tables.known, self.tables.compared, *(it.known for it in self.regimes)]
        for table in tables:
            for at, (n, total) in table.items():
                table[at] = n, f * total + g * n
        for regime in self.regimes:
            total, n = regime.blind
            regime.blind = f * (total - 0.5) + g * (n - 1) + 0.5, n
            regime.value = f * regime.value + g
        self.log = [replace(it, reward=f * it.reward + g) for it in self.log]
        self.blind = f * (self.blind[0] - 0.5) + g * (self.blind[1] - 1) + 0.5, self.blind[1]
        for seen in self.blind_rewards:
            seen.convert(f, g)
        self.value, self.stale = f * self.value + g, True
        self.usual = f * self.usual + g
        self.low, self.span = low, span

    def update(
        self, codes: Codes, costs: Sequence[float], action: int, paid: float, purpose: int
    ) -> None:
        self.see_reward(paid)
        reward = (paid - self.low) / self.span
        kind, observed = purpose % steps.KINDS, seen_in(codes)
        basis = self.basis(purpose, observed)
        for i in observed:
            if math.isnan(costs[i]):
                continue
            self.spent += costs[i]
            if self.prices[i].pay(costs[i], self.span):
                self.probes_due, self.stale = steps.PROBES_AFTER_ALARM, True
        if self.recall and self.restarts and self.age < steps.RECOGNITION_ROUNDS:
            self.recognise(observed, codes, action, reward)
        former = self.former_regime()
        if former is not None and kind in (steps.EXPLORE, steps.RECALL):
            self.recognise_return(former, observed, codes, action, reward)
        if kind not in (steps.EXPLORE, steps.RECALL):
            self.judge(purpose, basis, codes, action, reward)
        if kind in (steps.EXPLOIT, steps.SAVE):
            self.habits = [steps.ACTION_MEMORY * f for f in self.habits]
            self.habits[action] += 1 - steps.ACTION_MEMORY
            if basis in self.tables.sets:
                self.tables.learn_one(basis, codes, action, reward)
        else:
            self.learn_wide(basis, observed, codes, action, reward)
            if kind == steps.EXPLORE:
                self.blind = self.blind[0] + reward, self.blind[1] + 1
                self.blind_rewards[action].add(reward)
            elif kind == steps.PROBE:
                self.probes_due = max(0, self.probes_due - 1)
        self.age += 1
        self.rounds += 1
        self.usual += max(1 / self.age, steps.USUAL_RATE) * (self.value - self.usual)
        self.try_restored()
        self.look_again()
        grown = tables_of_subsets.MEMORY_OF_AGE * self.age
        longest = tables_of_subsets.MAX_MEMORY
        self.tables.memory = sorted([tables_of_subsets.MEMORY, grown, longest])[1]

    def try_restored(self) -> None:
        """Count a restored regime as right if it has lasted long enough."""
        if self.since_restored is not None:
            self.since_restored += 1
            if self.since_restored == regimes.PROBATION:
                self.rightly += 1
                self.since_restored = None

    def look_again(self) -> None:
        """Restart after a long time without purchases, if much could be gained."""
        if self.in_use != ():
            self.idle, self.wait = 0, state.FIRST_WAIT
            return
        loss = self.value - self.blind_mean + self.price(range(len(self.levels)))
        much = self.headroom >= max(exploration.MUCH, exploration.HEADROOM * loss)
        rarely = self.hazard <= exploration.MAX_HAZARD
        if self.budget == math.inf and much and rarely:
            self.idle += 1
        if self.idle >= self.wait:
            self.idle, self.wait = 0, 2 * self.wait
            self.restart()

    def learn_wide(
        self, basis: Set, observed: Set, codes: Codes, action: int, reward: float
    ) -> None:
        gains = {}
        for it in self.tables.sets:
            if between(basis, it, observed):
                p = self.tables.mean_in_wide_rounds(it, codes, action, self.blind_mean)
                gains[it] = log_likelihood(reward, clip(p)) / self.phi(action)
        self.log_weights = weighed(self.log_weights, self.prior, gains)
        self.tables.learn(basis, observed, codes, action, reward)
        self.last_states = [codes, *self.last_states][: set_values.STATES]
        self.log.append(WideRound(codes, basis, action, reward))
        self.log = self.log[-wide_rounds.MAX_ROUNDS :]
        self.wide_rounds += 1
        if self.grows:
            self.grow()
        self.stale = self.stale or self.age > exploration.YOUNG

    def grow(self) -> None:
        """Let the lightest of the parents grow; choose them first if it is time to."""
        if not self.parents:
            if self.wide_rounds < self.rounds_when_grown:
                self.rounds_when_grown = 0
            if (
                self.wide_rounds
                < growth.GROWTH_INTERVAL * self.rounds_when_grown + growth.MIN_EXTRA_ROUNDS
            ):
                return
            self.rounds_when_grown = self.wide_rounds
            self.parents = self.heaviest()
        if not self.parents:
            return
        parent = self.parents.pop()
        if parent in self.tables.sets and len(parent) < self.most:
            self.let_grow(parent)

    def heaviest(self) -> list[Set]:
        """Return the heaviest of the largest sets, one of each weight."""
        largest = max(len(it) for it in self.tables.fixed)
        by_weight: dict[float, Set] = {}
        for it in self.tables.sets:
            if len(it) >= largest:
                by_weight[self.log_weights[it]] = it
        return [by_weight[log] for log in sorted(by_weight, reverse=True)][: growth.MAX_PARENTS]

    def let_grow(self, parent: Set) -> None:
        """Give tables to the child that would have predicted best, if it is heavy enough."""
        more = [i for i in range(len(self.levels)) if i not in parent]
        children = [tuple(sorted((*parent, i))) for i in more]
        children = [
            it
            for it in children
            if n_cells(it, self.levels) <= tables_of_subsets.MAX_CELLS
            and it not in self.tables.sets
        ]
        if not children:
            return
        centres = [
            self.tables.centre_in_wide_rounds(a, self.blind_mean) for a in range(self.n_actions)
        ]
        lead = leads(parent, children, self.log, centres)
        child = max(children, key=lambda it: lead[it])
        ratio = self.log_prior(child) - self.log_prior(parent)
        phi = max(self.phi(a) for a in range(self.n_actions))
        log_weight = self.log_weights[parent] + lead[child] / phi + ratio
        place = self.lightest_place()
        lost = self.tables.grown[place]
        if lost is None or self.log_weights[lost] < log_weight:
            self.bind(place, child)
            weights = {**self.log_weights, child: log_weight}
            self.log_weights = normalised({it: weights[it] for it in self.tables.sets})
            self.listed = short_list(self.log_weights)

    def log_prior(self, it: Set) -> float:
        return log_prior(len(it), len(self.levels), self.likely)

    def lightest_place(self) -> int:
        """Return where there is no set, or the lightest one that is not in use."""
        grown = self.tables.grown
        if None in grown:
            return grown.index(None)
        logs = [math.inf if it in (None, self.in_use) else self.log_weights[it] for it in grown]
        return logs.index(min(logs))

    def bind(self, place: int, it: Set | None) -> None:
        """Give the place to a set, and teach it what the wide rounds since the restart can."""
        lost = self.tables.grown[place]
        self.tables.grown[place] = it
        if lost is not None:
            self.tables.forget_set(lost)
            for known in [known for known in self.cell_alarms if known[0] == lost]:
                del self.cell_alarms[known]
        if it is not None:
            self.births[it] = self.births.get(it, 0) + 1
            for played in self.log:
                if played.teaches(it):
                    self.tables.learn_wide(it, played.codes, played.action, played.reward)

    def judge(self, purpose: int, basis: Set, codes: Codes, action: int, reward: float) -> None:
        mean, number = self.expected(purpose, basis, codes, action)
        if number < steps.MIN_PULLS_TO_JUDGE:
            return
        p, phi = clip(mean), self.phi(action)
        if number >= steps.MIN_PULLS_FOR_SPREAD:
            spread = self.spread[action]
            spread[0] += likelihood.RATE * ((reward - p) ** 2 - spread[0])
            spread[1] += likelihood.RATE * (p * (1 - p) - spread[1])
        is_sure = self.is_sure(action)
        if (self.sure_alarm if is_sure else self.alarm).add(reward, p, phi):
            self.restart()
            return
        if is_sure:
            return
        if basis not in self.tables.sets:
            return
        alone = Alarm([change_detection.WORSE_IN_CELL])
        alarm = self.cell_alarms.setdefault((basis, cell(basis, codes, 0)[1]), alone)
        if alarm.add(reward, p, phi):
            alarm.sums = [0.0]
            self.tables.forget_state(basis, codes, self.n_actions)

    def calm_down(self) -> None:
        self.alarm, self.sure_alarm = (Alarm(change_detection.WORSE) for _ in range(2))
        self.cell_alarms = {}

    def restart(self, kept: Regime | None = None) -> None:
        self.restarts += 1
        for regime in self.regimes:
            regime.evidence, regime.dropped = 0.0, False
        if self.age > regimes.MIN_AGE_TO_STORE:
            if len(self.regimes) == regimes.SLOTS:
                self.regimes.remove(next(it for it in self.regimes if it is not kept))
            self.regimes.append(
                Regime(
                    dict(self.tables.known),
                    list(self.tables.grown),
                    dict(self.log_weights),
                    self.blind,
                    self.age,
                    self.restarts,
                    regimes.HANDICAP,
                    self.usual,
                    self.in_use,
                )
            )
        if self.since_restored is not None:
            self.wrongly += 1
            self.since_restored = None
        self.tables.forget()
        self.log = []
        self.wide_rounds = 0
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
                regime.evidence += gain / self.phi(action)
                regime.dropped = regime.evidence < regimes.EVIDENCE_TO_DROP
        odds_against = (self.wrongly + 1) / (self.rightly + 1)
        needed = regimes.EVIDENCE_TO_RESTORE
        if odds_against > 1:
            needed += regimes.DISTRUST * math.log(odds_against)
        clear = [it for it in self.regimes if not it.dropped and it.evidence > needed]
        if clear:
            self.restore(max(clear, key=lambda it: it.evidence))

    def recognise_return(
        self, former: Regime, observed: Set, codes: Codes, action: int, reward: float
    ) -> None:
        if self.is_sure(action):
            return
        p = clip(self.predicted(observed, codes, action)[0])
        theirs = clip(former.mean(former.used(observed), codes, action))
        gain = (log_likelihood(reward, theirs) - log_likelihood(reward, p)) / self.phi(action)
        former.evidence = max(0.0, former.evidence + gain)
        if former.evidence > regimes.EVIDENCE_OF_RETURN:
            self.restart(kept=former)
            self.restore(former)

    def restore(self, regime: Regime) -> None:
        for place in range(len(self.tables.grown)):
            self.bind(place, None)
        for place, it in enumerate(regime.grown):
            self.bind(place, it)
        for known, (n, total) in regime.known.items():
            now = self.tables.known[known]
            self.tables.known[known] = now[0] + n, now[1] + total
        self.log_weights = dict(regime.log_weights)
        self.usual = regime.value
        self.blind = self.blind[0] + regime.blind[0], self.blind[1] + regime.blind[1]
        self.regimes.remove(regime)
        for other in self.regimes:
            other.dropped = True
        self.calm_down()
        if self.grows:
            self.listed, self.in_use = short_list(self.log_weights), ()
        self.age = max(self.age, min(regime.age, steps.MAX_RESTORED_AGE))
        self.stale = True
        self.since_restored = 0
        self.restored += 1
