"""Discounted Thompson sampling: beta posteriors that forget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import discounted_ts as kernel
from thrifty.kernels.shared.largest_beta import ERROR, chances_of_largest
from thrifty.parameters import FLAG, Real
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class DiscountedTS(CompiledPolicy):
    """Discounted Thompson sampling: buy nothing, draw from beta distributions that forget.

    A number is drawn from Beta(S_a + 1, F_a + 1) for every action, and the largest one decides. In
    each round S and F of all actions are multiplied by gamma; the reward r of the action taken is
    then added to its S, and 1 - r to its F. So the distribution of an action that is not taken
    returns to the uniform one. This is the algorithm dTS of Raj and Kalyani (2017), "Taming
    Non-stationary Bandits: A Bayesian Approach", arXiv 1707.09727. There a coin first makes a
    reward inside (0, 1) 0 or 1. With gamma = 1 it is Thompson sampling.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    gamma : float
        Discount. The default is the value that the program of Besson et al. (2022) recommends. It
        remembers about four rounds; worlds that change less often need more.
    optimistic : bool
        True replaces numbers below their distribution's mean by the mean (dOTS in the paper).
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = DiscountedTS(Problem.anonymous(levels=(2,), n_actions=2), gamma=0.5, seed=0)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> for reward in (1.0, 1.0):
    ...     policy.update(nothing, action=0, reward=reward)
    >>> policy.action_values(nothing).round(3).tolist()  # means of Beta(2.5, 1) and Beta(1, 1)
    [0.714, 0.5]
    >>> round(policy.propensity(nothing, 0).probability, 3)  # 2.5 / 3.5
    0.714
    """

    allowed = {"gamma": Real(0, 1), "optimistic": FLAG}
    grid = {"gamma": (0.75, 0.9, 0.97, 0.99, 0.997, 0.999)}
    random_purchases = False
    action_draws = kernel.ACTION_DRAWS
    action_error = ERROR
    _state: kernel.DiscountedTSState

    def __init__(
        self,
        problem: Problem,
        *,
        gamma: float = 0.75,
        optimistic: bool = False,
        seed: Seed = None,
    ) -> None:
        super().__init__(problem, seed=seed, gamma=gamma, optimistic=optimistic)
        self._state = kernel.initial(problem.n_actions, float(gamma), optimistic)

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64] | None:
        del observation
        state = self._state
        if state.optimistic:
            return None
        chances = np.empty(available.size)
        chances_of_largest(
            state.gained + kernel.PRIOR, state.missed + kernel.PRIOR, available, chances
        )
        return chances
