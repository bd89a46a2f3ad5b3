"""Calls with invalid arguments, which every policy must reject."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation


def bad_calls(problem: Problem) -> dict[str, Callable[[Policy], object]]:
    """Return invalid calls by a description of what is wrong."""
    seen = _everything_at_level_zero(problem.n_features)
    too_many = _everything_at_level_zero(problem.n_features + 1)
    no_such_level = Observation(codes=problem.levels, costs=np.full(problem.n_features, 0.1))
    actions = np.ones(problem.n_actions, dtype=np.bool_)
    updates: dict[str, tuple[Any, ...]] = {
        "a reward of nan": (seen, 0, float("nan")),
        "a reward of infinity": (seen, 0, float("inf")),
        "a reward of -0.1": (seen, 0, -0.1),
        "a reward of 1.5": (seen, 0, 1.5),
        "a reward that is text": (seen, 0, "1"),
        "action -1 in update": (seen, -1, 0.5),
        "an action that does not exist": (seen, problem.n_actions, 0.5),
        "action 0.5 in update": (seen, 0.5, 0.5),
        "a code out of range in update": (no_such_level, 0, 0.5),
        "an observation of too many features in update": (too_many, 0, 0.5),
    }
    outcomes = (-1, 99, "repaid", 0.5)
    choices: dict[str, tuple[Observation, Any]] = {
        "a code out of range in choose_action": (no_such_level, None),
        "an observation of too many features in choose_action": (too_many, None),
        "a mask without an available action": (seen, ~actions),
        "a mask of the wrong length": (seen, np.append(actions, True)),
        "a mask of whole numbers": (seen, actions.astype(np.int64)),
    }
    return {
        **{what: partial(_call_update, arguments) for what, arguments in updates.items()},
        **{
            f"outcome {outcome!r}": partial(_call_update, (seen, 0, 0.5), outcome=outcome)
            for outcome in outcomes
        },
        "a code out of range in choose_features": lambda policy: policy.choose_features(
            no_such_level
        ),
        **{what: partial(_call_choose_action, *given) for what, given in choices.items()},
    }


def _call_update(arguments: tuple[Any, ...], policy: Policy, *, outcome: Any = None) -> None:
    policy.update(*arguments, outcome=outcome)


def _call_choose_action(observation: Observation, available: Any, policy: Policy) -> int:
    return policy.choose_action(observation, available=available)


def _everything_at_level_zero(n_features: int) -> Observation:
    return Observation(codes=np.zeros(n_features, dtype=np.int64), costs=np.full(n_features, 0.1))
