"""MASTER over UCB1: restarts without knowledge of how often the world changes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import master as kernel
from thrifty.parameters import Real, Whole
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


class MASTER(CompiledPolicy):
    """MASTER: buy nothing, run UCB1 on many time scales at once, restart when a test fails.

    Rounds are divided into blocks of 2^n rounds, n = 0, 1, ... In round tau of a block, counted
    from 0, an instance of UCB1 that lasts 2^m rounds begins with probability rho(2^n) / rho(2^m)
    for each m <= n for which tau is a multiple of 2^m. The shortest running instance takes the
    action with its largest bound X_a + sqrt(alpha L / N_a) and alone learns the reward, where
    L = log(T / delta). The largest bound, at most 1, is the optimistic value f of the round. With
    rho(t) = sqrt(K L / t) + K L / t and rho^(t) = 6 scale (log2(T) + 1) L rho(t), blocks begin
    again with n = 0 if

    1. the mean reward in the 2^m rounds of an instance that ends now is at least the smallest f of
       the block plus 9 rho^(2^m), or
    2. the mean of f minus reward over the t rounds of the block is at least 3 rho^(t).

    These are the algorithms MALG and MASTER of Wei and Luo (2021), "Non-stationary Reinforcement
    Learning without Prior Knowledge: An Optimal Black-box Approach", COLT. The paper gives UCB1's
    regret up to constants, which are 1 here. No test can fail while rho^ is above 1 / 3, which with
    a scale of 1 is the case in all runs of practical length: see Gerogiannis, Huang and Veeravalli
    (2024), "Is Prior-Free Black-Box Non-Stationary Reinforcement Learning Feasible?". The policy is
    therefore the baseline of theory. Smaller scales give up the guarantee.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T.
    delta : float
        Error probability of the bounds.
    alpha : float
        Weight of the confidence term of UCB1. The default is that of UCB1 in Auer, Cesa-Bianchi and
        Fischer (2002).
    scale : float
        Factor of the thresholds of both tests. 1 is the paper's choice.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = MASTER(Problem.anonymous(levels=(2,), n_actions=2), scale=0.0)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> policy.update(nothing, action=0, reward=0.5)  # less than f = 1, and the threshold is 0
    >>> policy.restarts
    1
    """

    random_actions = False
    allowed = {
        "horizon": Whole(1),
        "delta": Real(0, 1, open=True),
        "alpha": Real(0),
        "scale": Real(0),
    }
    grid = {"scale": (1.0, 0.001, 0.0005, 0.0003), "alpha": (0.5, 2.0)}
    feature_draws = kernel.FEATURE_DRAWS
    _state: kernel.MASTERState

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        delta: float = 0.05,
        alpha: float = 2.0,
        scale: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(problem, seed=seed, horizon=horizon, delta=delta, alpha=alpha, scale=scale)
        confidence = math.log(horizon / delta)
        self._state = kernel.initial(
            problem.n_actions,
            alpha=float(alpha),
            confidence=confidence,
            factor=6 * scale * (math.log2(horizon) + 1) * confidence,
        )

    def _purchase_probabilities(
        self,
        known: Observation,  # noqa: ARG002
        mask: NDArray[np.bool_],  # noqa: ARG002
    ) -> list[tuple[Purchase, float]]:
        nothing = np.zeros(self.problem.n_features, np.bool_)
        *chances, none = kernel.chances_of_shortest(self._steps.argument).tolist()
        notes = [(1 << m, chance) for m, chance in enumerate(chances)]
        return [(Purchase.unchecked(nothing, note), p) for note, p in (*notes, (0, none))]

    @property
    def restarts(self) -> int:
        """Number of tests that failed so far."""
        return int(self._state.restarts[0])
