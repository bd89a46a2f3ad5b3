"""Uniform: random actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import uniform as kernel
from thrifty.policies.compiled import CompiledPolicy
from thrifty.policies.ties import equal_chances
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class Uniform(CompiledPolicy):
    """Buy nothing and take a random action, all equally likely ("Random" in the paper).

    Parameters
    ----------
    problem : Problem
        Features and actions.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> policy = Uniform(Problem.anonymous(levels=(2,), n_actions=3), seed=0)
    >>> policy.choose_features().mask.tolist()
    [False]
    """

    random_purchases = False
    action_draws = kernel.ACTION_DRAWS

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        self._state = kernel.initial()

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        del observation
        return equal_chances(available)
