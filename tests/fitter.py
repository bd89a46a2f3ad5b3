"""A policy in plain Python whose fits can run in another process.

`register` adds it to the registry of this process. A command that is started with the environment
of `environment` has it as well. While the variable `GATE` names a file that does not exist, fits
wait for it.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.parameters import Whole
from thrifty.plans.files import plan_to_dict
from thrifty.plans.tree import ActionRule, Leaf, PlanTree, Split
from thrifty.policies import registry as registered
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed

NAME, GATE = "fitter", "THRIFTY_TEST_GATE"
MEMORY = 64


@dataclass(frozen=True)
class MeanFit:
    """The mean reward of each action in the cases that are remembered."""

    number: int
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    n_actions: int

    def run(self) -> bytes:
        gate = os.environ.get(GATE)
        while gate and not Path(gate).exists():
            time.sleep(0.005)
        counts = np.bincount(self.actions, minlength=self.n_actions)
        sums = np.bincount(self.actions, self.rewards, minlength=self.n_actions)
        return json.dumps((sums / np.maximum(counts, 1)).tolist()).encode()


class Fitter(Policy):
    """Buy the first feature, and take the action with the best mean reward of the last fit.

    A fit is due after every few cases. A reward of 0 counts as a change: the fit that is due is
    then replaced by a newer one.
    """

    allowed = MappingProxyType({"every": Whole(1)})

    def __init__(self, problem: Problem, *, every: int = 5, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed, every=every)
        self._every = every
        self._actions = np.zeros(0, np.int64)
        self._rewards = np.zeros(0)
        self._fits = self._waits = 0
        self._due: MeanFit | None = None
        self.means = np.zeros(problem.n_actions)

    @property
    def due_fit(self) -> MeanFit | None:
        return self._due

    def apply_fit(self, number: int, result: bytes) -> None:
        self._require_due_fit(number)
        self.means = np.array(json.loads(result), np.float64)
        self._due = None

    def status(self) -> dict[str, Any]:
        """Return all that a dashboard can show; the numbers are made up."""
        return {
            "plan": plan_to_dict(two_looks(self.problem)) if self.problem.prices else None,
            "plan_text": ["buy"],
            "gain_expected": 12.5,
            "spend_expected": 1.15,
            "explored": {"cases": 3, "cost": 1.5},
            "changes": [7, 1200],
            "max_loss": 250.0,
            "surplus": -31.25,
            "cautious": False,
            "fits": self._fits,
            "budget": {"ceiling": 400.0, "spend": 125.5, "shadow_price": 0.125},
        }

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase(np.arange(self.problem.n_features) == 0)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        if self.rng.random() < 0.2:
            return int(self.rng.choice(np.flatnonzero(available)))
        return int(np.argmax(np.where(available, self.means, -np.inf)))

    def _action_values(self, observation: Observation) -> NDArray[np.float64]:
        return self.means.copy()

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        self._actions = np.append(self._actions, action)[-MEMORY:]
        self._rewards = np.append(self._rewards, reward)[-MEMORY:]
        self._waits += 1
        if (self._waits >= self._every and self._due is None) or reward == 0:
            self._prepare()

    def _prepare(self) -> None:
        self._fits, self._waits = self._fits + 1, 0
        self._due = self._fit()
        if not self.fits_beside:
            self.apply_fit(self._due.number, self._due.run())

    def _fit(self) -> MeanFit:
        return MeanFit(
            self._fits, self._actions.copy(), self._rewards.copy(), self.problem.n_actions
        )

    def get_state(self) -> dict[str, NDArray[Any]]:
        due = self._due
        return {
            "actions": self._actions.copy(),
            "rewards": self._rewards.copy(),
            "means": self.means.copy(),
            "counts": np.array([self._fits, self._waits, 0 if due is None else due.number]),
            "due_actions": self._actions[:0] if due is None else due.actions.copy(),
            "due_rewards": self._rewards[:0] if due is None else due.rewards.copy(),
        }

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._actions, self._rewards = state["actions"].copy(), state["rewards"].copy()
        self.means = state["means"].copy()
        self._fits, self._waits, due = state["counts"].tolist()
        actions, rewards = state["due_actions"].copy(), state["due_rewards"].copy()
        self._due = MeanFit(due, actions, rewards, self.problem.n_actions) if due else None


def two_looks(problem: Problem) -> PlanTree:
    """Return a plan that buys the first feature and, if its level is not the first, the second."""
    rules = [ActionRule(a, np.eye(2)[a]) for a in range(2)]
    no, yes = Leaf((), rules[0], 30, 2.0), Leaf((), rules[1], 20, 40.0)
    second = Split((1,), 1, _first_level(problem, 1), no, yes, 50)
    root = Split((0,), 0, _first_level(problem, 0), Leaf((), rules[0], 50, -0.4), second, 100)
    has_price = [problem.list_prices([name]) != [None] for name in problem.feature_names]
    return PlanTree(problem, ~np.array(has_price), root)


def _first_level(problem: Problem, feature: int) -> NDArray[np.bool_]:
    chosen: NDArray[np.bool_] = np.arange(problem.levels[feature] + 1) == 0
    return chosen


def registry() -> Mapping[str, Any]:
    """Return the registry with this policy in it."""
    return MappingProxyType({**registered.POLICIES, NAME: Fitter})


def register() -> None:
    """Add the policy to the registry of this process."""
    registered.POLICIES = registry()


def environment(folder: Path, gate: Path | None = None) -> dict[str, str]:
    """Return the environment of a command that knows the policy; a file is made in the folder."""
    (folder / "sitecustomize.py").write_text("import fitter\nfitter.register()\n")
    paths = [str(folder), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, paths))
    return {**os.environ, "PYTHONPATH": path} | ({} if gate is None else {GATE: str(gate)})
