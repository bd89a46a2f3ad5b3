"""Rounds for checking policies, of which every hidden value is known and can be changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase


@dataclass(frozen=True)
class RoundDecision:
    """The purchase and the action of one round, comparable with ==."""

    features: tuple[bool, ...]
    purpose: int
    action: int


@dataclass(frozen=True, eq=False)
class RoundTables:
    """Tables of rounds; they repeat from the start when they run out.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    codes : array of int, shape (T, D)
        Code of each feature.
    costs : array of float, shape (T, D)
        Cost of each feature.
    rewards : array of float, shape (T, A)
        Reward of each action.
    prices : array of float, shape (D,)
        Mean cost of each feature.
    """

    problem: Problem
    codes: NDArray[np.int64]
    costs: NDArray[np.float64]
    rewards: NDArray[np.float64]
    prices: NDArray[np.float64]

    @classmethod
    def draw(cls, problem: Problem, rounds: int, seed: int) -> RoundTables:
        """Draw rounds whose rewards depend on the action, the first feature and noise."""
        rng = np.random.default_rng(seed)
        codes = rng.integers(problem.levels, size=(rounds, problem.n_features))
        means = rng.random((int(problem.levels[0]), problem.n_actions))
        prices = rng.uniform(0.02, 0.2, problem.n_features)
        return cls(
            problem,
            codes=codes,
            costs=prices * rng.uniform(0.8, 1.2, codes.shape),
            rewards=(means[codes[:, 0]] + rng.random((rounds, problem.n_actions))) / 2,
            prices=prices,
        )

    def free_of_charge(self) -> RoundTables:
        """Return the same rounds with all costs 0."""
        return replace(self, costs=np.zeros_like(self.costs), prices=np.zeros_like(self.prices))

    def scrambled(self, decisions: list[RoundDecision], seed: int) -> RoundTables:
        """Change everything that a policy with these decisions did not see, and nothing else."""
        rng = np.random.default_rng(seed)
        rounds = len(decisions)
        bought = np.array([decision.features for decision in decisions])
        taken = np.zeros((rounds, self.problem.n_actions), dtype=np.bool_)
        taken[np.arange(rounds), [decision.action for decision in decisions]] = True
        shift = rng.integers(self.problem.levels, size=bought.shape)
        codes = (self.codes[:rounds] + shift) % self.problem.levels
        costs = rng.uniform(0, 0.4, bought.shape)
        return replace(
            self,
            codes=np.where(bought, self.codes[:rounds], codes),
            costs=np.where(bought, self.costs[:rounds], costs),
            rewards=np.where(taken, self.rewards[:rounds], rng.random(taken.shape)),
        )

    def known(self, t: int, free: Iterable[int] = ()) -> Observation:
        """Return what is known about round t before anything is bought."""
        row = self.codes[t % len(self.codes)]
        return Observation.from_free(self.problem, {i: int(row[i]) for i in free})

    def observe(
        self, t: int, purchase: Purchase, known: Observation | None = None, *, had: bool = True
    ) -> Observation:
        """Return what is known after a purchase; with `had=False` no feature was obtained."""
        t %= len(self.codes)
        known = Observation.nothing(self.problem) if known is None else known
        sold = purchase.mask & ~known.settled
        return Observation(
            codes=np.where(sold & had, self.codes[t], known.codes),
            costs=np.where(sold, self.costs[t], known.costs),
            purpose=purchase.purpose,
        )

    def reward(self, t: int, action: int) -> float:
        """Return the reward of an action in round t."""
        return float(self.rewards[t % len(self.rewards), action])


def ask(policy: Policy, tables: RoundTables, known: Observation | None = None) -> Purchase:
    """Let the policy choose features, with the price list if it reads one."""
    if policy.reads_price_list:
        policy.read_price_list(tables.prices)
    return policy.choose_features(known)


def look(policy: Policy, tables: RoundTables, t: int, free: Iterable[int] = ()) -> Observation:
    """Buy what the policy chooses in round t, step by step if it is stepwise."""
    known = tables.known(t, free)
    while True:
        purchase = ask(policy, tables, known)
        known = tables.observe(t, purchase, known)
        if not policy.stepwise or not purchase.mask.any():
            return known


def play_round(
    policy: Policy, tables: RoundTables, t: int, free: Iterable[int] = ()
) -> RoundDecision:
    """Play round t from the purchase to the reward."""
    observation = look(policy, tables, t, free)
    action = policy.choose_action(observation)
    policy.update(observation, action, tables.reward(t, action))
    return RoundDecision(tuple(observation.bought.tolist()), observation.purpose, action)


def play_rounds(policy: Policy, tables: RoundTables, rounds: Iterable[int]) -> list[RoundDecision]:
    """Play rounds in the given order."""
    return [play_round(policy, tables, t) for t in rounds]


def first_difference(one: list[RoundDecision], other: list[RoundDecision]) -> str | None:
    """Describe the first difference between two lists of decisions, or return None."""
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        if mine != theirs:
            return f"round {t} has {mine} in one and {theirs} in the other"
    return None
