"""Ada-ILTCB: ILOVETOCONBANDITS with tests for changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import ada_iltcb as kernel
from thrifty.parameters import LENGTH, Constraint, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import Seed

ENDLESS = 2**62
CONSTRAINTS: Mapping[str, Constraint] = {
    "horizon": Whole(1),
    "delta": Real(0, 1, open=True),
    "block": Optional(LENGTH),
    "psi": Real(0.001),
    "threshold": Real(0.001),
    "memory": Whole(2, 10**6),
}


class RestartingPolicy(CompiledPolicy):
    """What Ada-ILTCB and Ada-ILTCB+ share."""

    action_draws = kernel.ACTION_DRAWS
    _state: kernel.AdaILTCBState

    @property
    def restarts(self) -> int:
        """The number of restarts so far."""
        return int(self._state.book[kernel.SEGMENT])

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        argument = self._steps.argument
        chances = kernel.probabilities(argument, observation.codes, observation.purpose)
        allowed: NDArray[np.float64] = np.where(available, chances, 0.0)
        return np.asarray(allowed / allowed.sum())


class AdaILTCB(RestartingPolicy):
    """Ada-ILTCB: buy everything, act by a distribution over policies, restart after changes.

    The paper leaves the class Pi of policies open. Here a policy is a feature and an action for
    each of its levels, so constant policies are among them. In this class the best policy is found
    exactly, from sums by level and action. No policy of it uses two features together.

    Rounds since the last restart are divided into blocks that end after L, 2L, 4L, ... rounds. In
    block j action a has the probability

    Q^nu(a | x) = nu_j + (1 - K nu_j) times the weight in Q_j of the policies with pi(x) = a,

    where nu_j = min{1 / 2K, sqrt(C_0 / (K 2^j L))} and C_0 = log(8 T^3 |Pi|^2 / delta). Q_0 has
    equal weights on the constant policies. For j > 0, Q_j solves the optimisation problem (OP) on
    the rounds so far: the mean estimated regret of Q is at most 2 psi K nu_j, and for every policy
    V(Q, pi) = mean of 1 / Q^nu(pi(x) | x) <= 2K + Reg(pi) / (psi nu_j). Rewards are estimated by
    r / p. The solver is the coordinate descent of ILOVETOCONBANDITS (Agarwal and others, 2014).

    Intervals A of L / 4, L / 2, L, ... rounds of a block, one after another, are compared with the
    rounds B before the block, when they end. The policy restarts if for some pi

    Reg_A(pi) - 4 Reg_B(pi) or Reg_B(pi) - 4 Reg_A(pi) >= threshold (K nu + C_0 / (nu |A|)) / 2,
    or V_A(Q_j, pi) - 41 V_B(Q_j, pi) >= threshold K,

    and after `interval` rounds in any case. In the paper each test has constants that are made for
    the proof, and with which no test can fail in runs of practical length, because estimated
    regrets are about 1 at most. Here `threshold` stands for all of them. With a very large
    threshold it is ILOVETOCONBANDITS with blocks that double in length.

    Luo, Wei, Agarwal, Langford (2018). Efficient contextual bandits in non-stationary worlds. COLT.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T in C_0. You may play longer, without the guarantee.
    interval : int, optional
        Largest number of rounds between two restarts, which the paper sets by the number of
        changes. By default there is no limit.
    delta : float
        Error probability of the tests.
    block : int, optional
        L, the length of block 0. By default the ceiling of 4 K C_0, as in `AdaILTCBPlus`.
    psi : float
        Weight of regret in (OP). A larger value explores more. In the analysis of
        ILOVETOCONBANDITS it is 100.
    threshold : float
        Factor of the bounds of the tests.
    memory : int
        Number of contexts that (OP) and V use. If there are more, every second one is dropped.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Attributes
    ----------
    restarts : int
        Number of restarts so far.

    Examples
    --------
    >>> policy = AdaILTCB(Problem.anonymous(levels=(2, 3), n_actions=2), seed=0)
    >>> policy.choose_features().mask.tolist(), policy.restarts
    ([True, True], 0)
    """

    allowed = {"interval": Optional(LENGTH), **CONSTRAINTS}
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"threshold": (0.3, 0.5, 1.0), "block": (None, 100), "psi": (0.1, 1.0)}
    )
    random_purchases = False

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        interval: int | None = None,
        delta: float = 0.05,
        block: int | None = None,
        psi: float = 1.0,
        threshold: float = 0.5,
        memory: int = 1000,
        seed: Seed = None,
    ) -> None:
        others = {"block": block, "psi": psi, "threshold": threshold, "memory": memory}
        super().__init__(
            problem, seed=seed, horizon=horizon, interval=interval, delta=delta, **others
        )
        self._state = initial_state(self.problem, self.parameters, replays=False)


def initial_state(
    problem: Problem, parameters: Mapping[str, Any], *, replays: bool
) -> kernel.AdaILTCBState:
    """Return the state before the first round."""
    n_actions, horizon = problem.n_actions, float(parameters["horizon"])
    log_term = math.log(8 / parameters["delta"]) + 3 * math.log(horizon)
    log_term += 2 * log_number_of_policies(problem)
    block = parameters["block"] or math.ceil(4 * n_actions * log_term)
    settings = kernel.Settings(
        replays=replays,
        block=block,
        longest=parameters.get("interval") or ENDLESS,
        log_term=log_term,
        psi=parameters["psi"],
        threshold=parameters["threshold"],
    )
    return kernel.initial(problem.levels, n_actions, parameters["memory"], settings)


def log_number_of_policies(problem: Problem) -> float:
    """Return the logarithm of the number of policies, with constant ones counted for each feature.

    >>> round(math.exp(log_number_of_policies(Problem.anonymous((2, 3), 2))), 9)
    12.0
    """
    logs = problem.levels * math.log(problem.n_actions)
    return float(np.logaddexp.reduce(logs))
