"""Ada-ILTCB+: Ada-ILTCB that replays earlier distributions to notice changes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import ada_iltcb as kernel
from thrifty.policies.ada_iltcb import CONSTRAINTS, RestartingPolicy, initial_state
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


class AdaILTCBPlus(RestartingPolicy):
    """Ada-ILTCB+: replay earlier distributions at random, and compare them with the past.

    Policies, blocks, nu_j, Q_j, V, and the estimates are those of `AdaILTCB`. In a round of block j
    a replay of index m < j begins with probability 2^(-(j + m) / 2) / L. It lasts 2^m L rounds, and
    not longer than the block. In rounds of one or more replays, one of their indices m is drawn,
    each equally likely, and the action is drawn from Q_m with nu_m; in all other rounds from Q_j
    with nu_j. So explorative distributions come back for short times in late blocks, and a large
    change is noticed soon without much exploration.

    When a replay A of index m ends, it is compared with the rounds B before the block. The policy
    restarts if for some pi in Pi

    Reg_A(pi) - 4 Reg_B(pi) or Reg_B(pi) - 4 Reg_A(pi) >= threshold K nu_m,
    or V_A(Q_m, pi) - 41 V_B(Q_m, pi) >= threshold K.

    At the end of a block all rounds since the restart are compared with the first 2^k L of them in
    the same way, for all k < j, with nu_k and Q_(k+1). As in `AdaILTCB`, `threshold` stands for
    constants that are made for the proof. The number of changes need not be known.

    Chen, Lee, Luo, Wei (2019). A new algorithm for non-stationary contextual bandits: efficient,
    optimal, and parameter-free. COLT.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T in C_0. You may play longer, without the guarantee.
    delta : float
        Error probability of the tests.
    block : int, optional
        L, the length of block 0. By default the ceiling of 4 K C_0, as in the paper.
    psi : float
        Weight of regret in (OP), as in `AdaILTCB`.
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
    >>> policy = AdaILTCBPlus(Problem.anonymous(levels=(2, 3), n_actions=2), seed=0)
    >>> policy.choose_features().mask.tolist(), policy.restarts
    ([True, True], 0)
    """

    allowed = CONSTRAINTS
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"threshold": (0.3, 0.5, 1.0), "block": (None, 100), "psi": (0.1, 1.0)}
    )
    feature_draws = kernel.REPLAY_DRAWS

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        delta: float = 0.05,
        block: int | None = None,
        psi: float = 1.0,
        threshold: float = 0.5,
        memory: int = 1000,
        seed: Seed = None,
    ) -> None:
        others = {"block": block, "psi": psi, "threshold": threshold, "memory": memory}
        super().__init__(problem, seed=seed, horizon=horizon, delta=delta, **others)
        self._state = initial_state(self.problem, self.parameters, replays=True)

    def _purchase_probabilities(
        self,
        known: Observation,  # noqa: ARG002
        mask: NDArray[np.bool_],  # noqa: ARG002
    ) -> list[tuple[Purchase, float]]:
        state = self._state
        segment, j = int(state.book[kernel.SEGMENT]), int(state.book[kernel.BLOCK])
        going_on = {m for m in state.trials[:, kernel.PLAYED].tolist() if m >= 0}
        begins = {m: 2 ** (-(j + m) / 2) / state.settings.block for m in range(j)}
        begins[-1] = 1 - sum(begins.values())
        found = []
        for new, chance in begins.items():
            played = (going_on | {new}) - {-1} or {j}
            for m in sorted(played):
                everything = np.ones(self.problem.n_features, dtype=np.bool_)
                purpose = kernel.purpose_of(segment, new, m)
                found.append((Purchase.unchecked(everything, purpose), chance / len(played)))
        return found
