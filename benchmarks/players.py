"""Players of the live benchmark: Thrifty's policies and agents, and policies of other packages.

A player makes a decision in each round and learns from it. Only calls of the package itself are
timed; the preparation of their arguments is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from benchmarks.measuring import Stopwatch
from thrifty import POLICIES, Agent, Observation, Policy, Replay


class Player(Protocol):
    """Plays the rows of a table in order."""

    def decide(self, t: int, watch: Stopwatch) -> tuple[int, float]:
        """Return the action of round t and the costs of its features."""

    def learn(self, t: int, action: int, reward: float, watch: Stopwatch) -> None:
        """Learn from round t."""


@dataclass(frozen=True)
class Entry:
    """A function that makes a player for a table and a seed, and the entry to compare it with.

    `slower_than_thrifty` sets the goal that Thrifty is several times as fast, and `limit` the goal
    that a round takes at most this many microseconds.
    """

    label: str
    settings: str
    make: Callable[[Replay, int], Player]
    like: str = ""
    slower_than_thrifty: bool = False
    limit: float | None = None


class ThriftyPolicy:
    """One of Thrifty's policies, used through `Policy`."""

    def __init__(self, replay: Replay, policy: Policy) -> None:
        self.replay, self.policy = replay, policy

    def decide(self, t: int, watch: Stopwatch) -> tuple[int, float]:
        """Buy, observe, act."""
        purchase = watch.time("choose_features", self.policy.choose_features)
        codes = np.where(purchase.mask, self.replay.contexts[t], -1)
        costs = np.where(purchase.mask, self.replay.costs[t], np.nan)
        self.seen = watch.time("Observation", Observation, codes, costs, purchase.purpose)
        return watch.time("choose_action", self.policy.choose_action, self.seen), float(
            costs[purchase.mask].sum()
        )

    def learn(self, t: int, action: int, reward: float, watch: Stopwatch) -> None:  # noqa: ARG002
        """Update."""
        watch.time("update", self.policy.update, self.seen, action, reward)


class ThriftyAgent:
    """One of Thrifty's policies, used through `Agent`."""

    def __init__(self, replay: Replay, agent: Agent) -> None:
        self.replay, self.agent = replay, agent
        self.features = {f.name: (i, f.levels) for i, f in enumerate(replay.problem.features)}
        self.actions = {name: a for a, name in enumerate(replay.problem.actions)}

    def decide(self, t: int, watch: Stopwatch) -> tuple[int, float]:
        """Ask, look up the features to buy, observe."""
        self.case = watch.time("ask", self.agent.ask)
        places = {name: self.features[name] for name in self.case.buy}
        values = {name: levels[self.replay.contexts[t, i]] for name, (i, levels) in places.items()}
        costs = {name: float(self.replay.costs[t, i]) for name, (i, _) in places.items()}
        if places:
            self.case = watch.time("observe", self.agent.observe, self.case, values, costs)
        assert self.case.action is not None
        return self.actions[self.case.action], sum(costs.values())

    def learn(self, t: int, action: int, reward: float, watch: Stopwatch) -> None:  # noqa: ARG002
        """Tell."""
        watch.time("tell", self.agent.tell, self.case, reward)


@dataclass
class River:
    """A bandit of river. With contexts it buys all features, without contexts none."""

    replay: Replay
    policy: Any
    contextual: bool = False
    arms: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.arms = list(range(self.replay.problem.n_actions))

    def _context(self, t: int) -> tuple[dict[str, float], ...]:
        if not self.contextual:
            return ()
        names = (feature.name for feature in self.replay.problem.features)
        codes = (self.replay.contexts[t] + 1.0).tolist()
        return (dict(zip(names, codes, strict=True)),)

    def decide(self, t: int, watch: Stopwatch) -> tuple[int, float]:
        """Pull."""
        self.context = self._context(t)
        action = watch.time("pull", self.policy.pull, self.arms, *self.context)
        return action, float(self.replay.costs[t].sum()) if self.contextual else 0.0

    def learn(self, t: int, action: int, reward: float, watch: Stopwatch) -> None:  # noqa: ARG002
        """Update."""
        watch.time("update", self.policy.update, action, *self.context, reward)


@dataclass
class MABWiser:
    """A bandit of MABWiser, fitted row by row.

    It cannot predict before it has seen a row, and UCB1 never tries an arm that it has not seen. So
    the first rounds try each arm once without contexts, or only the first arm with contexts.
    """

    replay: Replay
    bandit: Any
    contextual: bool = False

    def _context(self, t: int) -> tuple[Any, ...]:
        return (self.replay.contexts[t : t + 1] + 1.0,) if self.contextual else ()

    def decide(self, t: int, watch: Stopwatch) -> tuple[int, float]:
        """Predict."""
        self.context = self._context(t)
        cost = float(self.replay.costs[t].sum()) if self.contextual else 0.0
        if t < (1 if self.contextual else self.replay.problem.n_actions):
            watch.seconds.setdefault("predict", 0.0)
            return t, cost
        return int(watch.time("predict", self.bandit.predict, *self.context)), cost

    def learn(self, t: int, action: int, reward: float, watch: Stopwatch) -> None:  # noqa: ARG002
        """Fit the row."""
        watch.time("partial_fit", self.bandit.partial_fit, [action], [reward], *self.context)


class VowpalWabbit:
    """`cb_explore_adf` takes text and returns probabilities, from which the action is drawn."""

    def __init__(self, replay: Replay, workspace: Any, seed: int) -> None:
        self.replay, self.workspace = replay, workspace
        self.rng = np.random.default_rng(seed)
        self.actions = [f"|A a={a}" for a in range(replay.problem.n_actions)]

    def _shared(self, t: int) -> str:
        rows = zip(self.replay.problem.features, self.replay.contexts[t].tolist(), strict=True)
        return "shared |U " + " ".join(f"{f.name}={f.levels[code]}" for f, code in rows)

    def decide(self, t: int, watch: Stopwatch) -> tuple[int, float]:
        """Predict, and draw."""
        self.lines = [self._shared(t), *self.actions]
        self.chances = watch.time("predict", self.workspace.predict, self.lines)
        drawn = int(np.searchsorted(np.cumsum(self.chances), self.rng.random()))
        return min(drawn, len(self.actions) - 1), float(self.replay.costs[t].sum())

    def learn(self, t: int, action: int, reward: float, watch: Stopwatch) -> None:  # noqa: ARG002
        """Learn from the labelled lines; costs are negative rewards."""
        label = f"0:{-reward}:{self.chances[action]}"
        self.lines[1 + action] = f"{label} {self.lines[1 + action]}"
        watch.time("learn", self.workspace.learn, self.lines)


POLICY_LIMITS = {"ncc-ucrl2-published": 20.0}
AGENT_LIMITS = {"ncc-ucrl2-published": 40.0}
"""Most microseconds per round, for the policies that have a goal."""
UCB_ALPHA, LINUCB_ALPHA = 0.6, 0.5
# Thrifty's UCB1 adds sqrt(alpha log t / n), the others factor * sqrt(2 log t / n).
UCB_FACTOR = math.sqrt(UCB_ALPHA / 2)


def _policy(name: str, params: Mapping[str, Any]) -> Callable[[Replay, int], Player]:
    return lambda replay, seed: ThriftyPolicy(
        replay, POLICIES[name](replay.problem, seed=seed, **params)
    )


def _agent(name: str, params: Mapping[str, Any]) -> Callable[[Replay, int], Player]:
    return lambda replay, seed: ThriftyAgent(
        replay, Agent(replay.problem, name, seed=seed, **params)
    )


def _river_ucb(replay: Replay, seed: int) -> Player:
    return River(replay, import_module("river.bandit").UCB(delta=UCB_FACTOR, seed=seed))


def _river_linucb(replay: Replay, seed: int) -> Player:
    return River(replay, import_module("river.bandit").LinUCBDisjoint(seed=seed), contextual=True)


def _mabwiser(policy: str, alpha: float, contextual: bool) -> Callable[[Replay, int], Player]:
    def make(replay: Replay, seed: int) -> Player:
        mab = import_module("mabwiser.mab")
        learning = getattr(mab.LearningPolicy, policy)(alpha=alpha)
        arms = list(range(replay.problem.n_actions))
        return MABWiser(replay, mab.MAB(arms, learning, seed=seed), contextual=contextual)

    return make


def _vowpal_wabbit(replay: Replay, seed: int) -> Player:
    options = f"--cb_explore_adf -q UA --quiet --random_seed {seed}"
    return VowpalWabbit(replay, import_module("vowpalwabbit").Workspace(options), seed)


def entries(horizon: int) -> tuple[Entry, ...]:
    """Return all players. UCB and LinUCB have the paper's alpha if the package allows it."""
    ucb, linucb = "Thrifty ucb1", "Thrifty linucb"
    thrifty: list[tuple[str, dict[str, Any], str]] = [
        ("ncc-ucrl2-published", {"horizon": horizon}, "window 250, delta 0.04"),
        ("ucb1", {"alpha": UCB_ALPHA}, f"alpha {UCB_ALPHA}"),
        ("linucb", {"alpha": LINUCB_ALPHA}, f"alpha {LINUCB_ALPHA}"),
    ]
    same_bonus = f"{UCB_FACTOR:.3f}, the bonus of Thrifty's"
    return (
        *(
            Entry(f"Thrifty {n}", s, _policy(n, p), f"Thrifty {n}", limit=POLICY_LIMITS.get(n))
            for n, p, s in thrifty
        ),
        *(
            Entry(f"Thrifty Agent {n}", s, _agent(n, p), f"Thrifty {n}", limit=AGENT_LIMITS.get(n))
            for n, p, s in thrifty
        ),
        Entry("river UCB", f"delta {same_bonus}", _river_ucb, ucb),
        Entry("river LinUCBDisjoint", "defaults", _river_linucb, linucb),
        Entry("MABWiser UCB1", f"alpha {same_bonus}", _mabwiser("UCB1", UCB_FACTOR, False), ucb),
        Entry(
            "MABWiser LinUCB",
            f"alpha {LINUCB_ALPHA}",
            _mabwiser("LinUCB", LINUCB_ALPHA, True),
            linucb,
            slower_than_thrifty=True,
        ),
        Entry(
            "Vowpal Wabbit cb_explore_adf",
            "-q UA, defaults",
            _vowpal_wabbit,
            linucb,
            slower_than_thrifty=True,
        ),
    )
