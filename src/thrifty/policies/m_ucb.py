"""M-UCB: UCB with a test that compares two halves of a window."""

from __future__ import annotations

import math

from thrifty.errors import InvalidParameter
from thrifty.kernels.baselines import m_ucb as kernel
from thrifty.parameters import Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.seeds import Seed


class MUCB(CompiledPolicy):
    """M-UCB: buy nothing, forget all rewards when the halves of a window of rewards differ.

    The policy takes each of the K actions in turn once in floor(K / gamma) rounds, and otherwise
    the first maximum of X_a + sqrt(2 log(t) / N_a), with the mean and the number of the action's
    rewards since the last restart and the round t since then. An action without rewards comes
    first. Everything restarts when the sums of the first and of the second half of an action's last
    w rewards differ by more than b. This is M-UCB of Cao, Wen, Kveton and Xie (2019), "Nearly
    Optimal Adaptive Procedure with Change Detection for Piecewise-Stationary Bandit", AISTATS.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T, for the defaults of `b` and `gamma`.
    changes : int
        Number of changes expected in T rounds, for the default of `gamma`.
    window : int
        Number of rewards w, even. The default is the shorter of the two windows in the experiments
        of Besson et al. (2022).
    b : float, optional
        Threshold of the test. The default is the paper's choice, sqrt(w log(2 K T^2) / 2).
    gamma : float, optional
        Share of rounds in which the actions take turns; 0 for none. The default is the paper's
        choice where the size of changes is not known, sqrt(changes K (2 b + 3 sqrt(w)) / (2 T)).
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> problem = Problem.anonymous(levels=(2,), n_actions=2)
    >>> policy = MUCB(problem, window=4, b=1.5, gamma=0.0)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> for reward in (0.0, 0.0, 0.0, 1.0):  # the last two are 1 more than the first two
    ...     policy.update(nothing, action=0, reward=reward)
    >>> policy.restarts
    0
    >>> policy.update(nothing, action=0, reward=1.0)  # and now 2 more
    >>> policy.restarts
    1
    """

    random_purchases = random_actions = False
    allowed = {
        "horizon": Whole(1),
        "changes": Whole(1),
        "window": Whole(2, 10**8),
        "b": Optional(Real(0)),
        "gamma": Optional(Real(0, 1)),
    }
    grid = {"window": (100, 200, 800), "changes": (1, 10)}
    _state: kernel.MUCBState

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        changes: int = 1,
        window: int = 200,
        b: float | None = None,
        gamma: float | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem, seed=seed, horizon=horizon, changes=changes, window=window, b=b, gamma=gamma
        )
        if window % 2:
            raise InvalidParameter(
                f"window={window!r}: the window is cut into two halves of the same length, so give "
                "an even number."
            )
        n = problem.n_actions
        if b is None:
            b = math.sqrt(window * math.log(2 * n * horizon**2) / 2)
        if gamma is None:
            gamma = min(
                1.0, math.sqrt(changes * n * (2 * b + 3 * math.sqrt(window)) / (2 * horizon))
            )
        period = min(2**53, n / gamma) if gamma > 0 else 0
        self._state = kernel.initial(n, 2.0, window, float(b), int(period))

    @property
    def restarts(self) -> int:
        """Number of changes detected so far."""
        return int(self._state.restarts[0])
