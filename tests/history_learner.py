"""A policy that counts the outcomes of a history, for tests of everything around it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.cases import PastCases
from thrifty.policy import Policy
from thrifty.problem import Feature, Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed
from thrifty.surveyor.history import History

LENDING = Problem(
    [
        Feature("home", ("rent", "own")),
        Feature.number("income", edges=(20, 40)),
        Feature.number("score", edges=(500, 600), missing=True),
    ],
    ["approve", "decline"],
    outcomes={"approve": {"repaid": 10, "default": -90}, "decline": 0},
    prices={"income": 1.0, "score": 2.0},
)
TABLE: dict[str, list[Any]] = {
    "home": ["rent", "own", "own", "rent"],
    "income": [15, None, 30, 50],
    "score": [510, 700, None, 400],
    "outcome": ["default", "repaid", None, "repaid"],
}


class Learner(Policy):
    """Buys nothing and takes the action that was best in the history."""

    def __init__(
        self, problem: Problem, *, history: PastCases | History | None = None, seed: Seed = None
    ) -> None:
        super().__init__(problem, seed=seed)
        assert problem.outcomes is not None
        self.counts = np.zeros(len(problem.outcomes.names))
        self.history = history
        if isinstance(history, History):
            self.counts += history.possible[history.is_labelled].sum(axis=0)

    def get_state(self) -> dict[str, NDArray[Any]]:
        return {"counts": self.counts}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.counts = state["counts"].copy()

    def _choose_features(self, known: Observation) -> Purchase:
        del known
        return Purchase.nothing(self.problem)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        del observation
        assert self.problem.outcomes is not None
        values = self.problem.outcomes.table @ self.counts
        return int(np.where(available, values, -np.inf).argmax())

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        del observation, action, reward
        if outcome is not None:
            self.counts[outcome] += 1
