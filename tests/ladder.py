"""A policy in plain Python that buys in steps: the next feature only if the last value was high.

`register` adds it to the registry of this process. A command that is started with the environment
of `environment` has it as well.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.parameters import Real
from thrifty.policies import registry as registered
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed

NAME = "ladder"


class Ladder(Policy):
    """Climbs the features in their order, as long as each has its highest level.

    With probability `epsilon` it stops climbing, or takes any action. Otherwise it takes the action
    with the highest mean reward of the known levels; an outcome teaches it about all actions.
    """

    stepwise = True
    allowed = MappingProxyType({"epsilon": Real(0, 1)})

    def __init__(self, problem: Problem, *, epsilon: float = 0.2, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed, epsilon=epsilon)
        self._epsilon = epsilon
        size = (problem.n_actions, int(problem.levels.sum()) + 1)
        self._sums, self._counts = np.zeros(size), np.zeros(size)
        self._purposes = np.zeros(problem.n_features + 1)

    def _choose_features(self, known: Observation) -> Purchase:
        mask = np.zeros(self.problem.n_features, dtype=np.bool_)
        place = self._next(known)
        if place is None or self.rng.random() < self._epsilon:
            return Purchase(mask, known.purpose)
        mask[place] = True
        return Purchase(mask, place + 1)

    def _next(self, known: Observation) -> int | None:
        for i, code in enumerate(known.codes.tolist()):
            if known.free[i]:
                continue
            if not known.settled[i]:
                return i
            if code < self.problem.levels[i] - 1:
                return None
        return None

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        if self.rng.random() < self._epsilon:
            return int(self.rng.choice(np.flatnonzero(available)))
        return int(np.argmax(np.where(available, self._means(observation), -np.inf)))

    def _action_values(self, observation: Observation) -> NDArray[np.float64]:
        return self._means(observation)

    def _means(self, observation: Observation) -> NDArray[np.float64]:
        cells = self._cells(observation)
        sums: NDArray[np.float64] = self._sums[:, cells].sum(axis=1)
        means: NDArray[np.float64] = sums / np.maximum(self._counts[:, cells].sum(axis=1), 1)
        return means

    def _cells(self, observation: Observation) -> NDArray[np.int64]:
        """Return the column of each known level; the last column belongs to all cases."""
        starts = np.cumsum(self.problem.levels) - self.problem.levels
        known = (starts + observation.codes)[observation.mask]
        return np.append(known, self._sums.shape[1] - 1)

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        cells, outcomes = self._cells(observation), self.problem.outcomes
        self._purposes[observation.purpose] += 1
        if outcome is None or outcomes is None:
            self._sums[action, cells] += reward
            self._counts[action, cells] += 1
            return
        for other in range(self.problem.n_actions):
            money = outcomes.reward(other, outcome)
            self._sums[other, cells] += self.problem.rewards.scaled_reward(money)
            self._counts[other, cells] += 1

    def reasons(
        self, purchase: Purchase, known: Observation | None = None
    ) -> Callable[[], dict[str, Any]]:
        """Say how far it has climbed, and what an average case pays on the policy's scale."""
        steps = 0 if known is None else int((~np.isnan(known.costs)).sum())
        mean = float(self._means(self._nothing_known).max())
        return lambda: {"climbed": steps, "reward": mean, "buys": int(purchase.mask.sum())}

    def get_state(self) -> dict[str, NDArray[Any]]:
        return {
            "sums": self._sums.copy(),
            "counts": self._counts.copy(),
            "purposes": self._purposes.copy(),
        }

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._sums, self._counts = state["sums"].copy(), state["counts"].copy()
        self._purposes = state["purposes"].copy()


def registry() -> Mapping[str, Any]:
    """Return the registry with this policy in it."""
    return MappingProxyType({**registered.POLICIES, NAME: Ladder})


def register() -> None:
    """Add the policy to the registry of this process."""
    registered.POLICIES = registry()


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a command that knows the policy; a file is made in the folder."""
    (folder / "sitecustomize.py").write_text("import ladder\nladder.register()\n")
    paths = [str(folder), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
