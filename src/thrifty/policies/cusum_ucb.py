"""CUSUM-UCB: UCB with a CUSUM test for changes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import cusum_ucb as kernel
from thrifty.parameters import LENGTH, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy
from thrifty.policies.ties import equal_chances
from thrifty.problem import Problem
from thrifty.propensities import one_hot
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class CUSUMUCB(CompiledPolicy):
    """CUSUM-UCB: buy nothing, forget an action's rewards when a CUSUM test sees a change.

    With probability `exploration` the policy takes a random action, else the first maximum of
    X_a + sqrt(xi log(n + 1) / N_a): the mean and the number of the action's rewards since its last
    restart, and n the sum over all actions. An action without rewards comes first. The first M
    rewards give a mean u. Each later reward y updates

        g+ = max(0, g+ + y - u - epsilon),  g- = max(0, g- + u - y - epsilon),

    and the action restarts when one of them reaches h. This is CUSUM-UCB of Liu, Lee and Shroff
    (2018), "A Change-Detection Based Framework for Piecewise-Stationary Multi-Armed Bandit
    Problem", AAAI, but for the 1 in the logarithm, which counts the coming round.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T, for the defaults of `exploration` and `h`.
    changes : int
        Number of changes expected in T rounds, for the same defaults.
    exploration : float, optional
        Probability of a random action. The default is the paper's choice,
        sqrt(changes log(T / changes) / T).
    samples : int
        Number of rewards M that give the mean. The default is the smaller one of the experiments of
        Besson et al. (2022).
    epsilon : float
        Change of the mean that the test ignores. The default comes from the same experiments.
    h : float, optional
        Threshold of the test. The default is the paper's choice, log(T / changes).
    xi : float
        Weight of the confidence term.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> problem = Problem.anonymous(levels=(2,), n_actions=2)
    >>> policy = CUSUMUCB(problem, samples=2, epsilon=0.25, h=1.5)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> for reward in (0.0, 0.0, 1.0):  # then g+ is 0.75
    ...     policy.update(nothing, action=0, reward=reward)
    >>> policy.restarts
    0
    >>> policy.update(nothing, action=0, reward=1.0)  # and now 1.5
    >>> policy.restarts
    1
    """

    random_purchases = False
    allowed = {
        "horizon": Whole(1),
        "changes": Whole(1),
        "exploration": Optional(Real(0, 1)),
        "samples": LENGTH,
        "epsilon": Real(0),
        "h": Optional(Real(0)),
        "xi": Real(0),
    }
    grid = {"samples": (50, 100, 200), "epsilon": (0.05, 0.1), "changes": (1, 10)}
    action_draws = kernel.ACTION_DRAWS
    _state: kernel.CUSUMUCBState

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        changes: int = 1,
        exploration: float | None = None,
        samples: int = 200,
        epsilon: float = 0.1,
        h: float | None = None,
        xi: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            horizon=horizon,
            changes=changes,
            exploration=exploration,
            samples=samples,
            epsilon=epsilon,
            h=h,
            xi=xi,
        )
        threshold = math.log(max(math.e, horizon / changes))
        if exploration is None:
            exploration = min(1.0, math.sqrt(changes / horizon * threshold))
        self._state = kernel.initial(
            problem.n_actions,
            alpha=float(xi),
            exploration=float(exploration),
            samples=samples,
            slack=float(epsilon),
            threshold=threshold if h is None else float(h),
        )

    @property
    def restarts(self) -> int:
        """Number of changes detected so far."""
        return int(self._state.restarts[0])

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        values = self._action_values(observation)
        best = int(np.where(available, values, -np.inf).argmax())  # type: ignore[arg-type]
        share = self._state.exploration
        return share * equal_chances(available) + (1 - share) * one_hot(available.size, best)
