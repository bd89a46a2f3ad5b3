"""Epsilon-greedy: the action with the best mean so far, and sometimes a random one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import epsilon_greedy as kernel
from thrifty.parameters import Real
from thrifty.policies.compiled import CompiledPolicy
from thrifty.policies.ties import equal_chances
from thrifty.problem import Problem
from thrifty.propensities import one_hot
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class EpsilonGreedy(CompiledPolicy):
    """Buy nothing; take a random action with probability epsilon, else the one with the best mean.

    Means start at 0, and ties go to the first action.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    epsilon : float
        Probability of a random action.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = EpsilonGreedy(Problem.anonymous(levels=(2,), n_actions=2), epsilon=0.0)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> policy.update(nothing, action=1, reward=0.5)
    >>> policy.choose_action(nothing)
    1
    """

    allowed = {"epsilon": Real(0, 1)}
    grid = {"epsilon": (0.01, 0.03, 0.1, 0.2)}
    random_purchases = False
    action_draws = kernel.ACTION_DRAWS
    _state: kernel.EpsilonGreedyState

    def __init__(self, problem: Problem, *, epsilon: float = 0.03, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed, epsilon=epsilon)
        self._state = kernel.initial(problem.n_actions, float(epsilon))

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        del observation
        state = self._state
        means = state.sums / np.maximum(1, state.counts)
        best = int(np.where(available, means, -np.inf).argmax())
        return state.epsilon * equal_chances(available) + (1 - state.epsilon) * one_hot(
            available.size, best
        )
