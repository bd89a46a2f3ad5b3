"""Bandit over bandit: SW-LinUCB with windows that EXP3 chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import bob_sw_linucb as kernel
from thrifty.parameters import LENGTH, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


class BOBSWLinUCB(CompiledPolicy):
    """Bandit over bandit: SW-LinUCB in blocks of rounds, with a window that EXP3 chooses per block.

    As in Algorithm 2 of the paper, each block has H rounds and starts without samples. Its window
    has floor(H^(j / k)) rounds, where j is a number from 0 to k = ceil(log H). EXP3 draws j with
    the probability (1 - gamma) s_j / (s_0 + ... + s_k) + gamma / (k + 1), where gamma = min{1,
    sqrt((k + 1) log(k + 1) / ((e - 1) ceil(T / H)))}. The first weights s_j are 1. After the block,
    s_j is multiplied by exp(gamma m / ((k + 1) p_j)), where p_j was that probability and m is the
    mean reward of the block. The paper scales sums of unbounded rewards instead.

    A window is drawn with the first purchase of a block. If several rounds are open then, the first
    reward that comes in decides whose window is used.

    Reference: W. C. Cheung, D. Simchi-Levi and R. Zhu (2019), Learning to optimize under
    non-stationarity, AISTATS.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds, T. `simulate` sets it.
    alpha : float
        Weight of the confidence term.
    block : int, optional
        Number of rounds in a block, H. By default floor(d sqrt(T)), as in the paper, where d is the
        size of x times the number of actions.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> policy = BOBSWLinUCB(Problem.anonymous(levels=(2,), n_actions=2), horizon=1000, block=100)
    >>> policy.windows.tolist()
    [1, 2, 6, 15, 39, 100]
    """

    random_actions = False
    feature_draws = kernel.FEATURE_DRAWS
    allowed = {
        "horizon": Whole(1),
        "alpha": Real(0),
        "block": Optional(LENGTH),
        "encoding": ENCODINGS,
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"alpha": (0.1, 0.5, 1.0), "block": (None, 250, 1000)}
    )
    _state: kernel.BOBSWLinUCBState

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        alpha: float = 0.5,
        block: int | None = None,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem, seed=seed, horizon=horizon, alpha=alpha, block=block, encoding=encoding
        )
        places, size = encoding_of(problem, encoding)
        if block is None:
            block = math.floor(problem.n_actions * size * math.sqrt(horizon))
        lengths = windows_of(block)
        self._state = kernel.initial(
            problem.n_actions,
            problem.n_features,
            alpha=float(alpha),
            exploration=exploration_of(lengths.size, math.ceil(horizon / block)),
            block=block,
            lengths=lengths,
            places=places,
            size=size,
        )

    @property
    def windows(self) -> NDArray[np.int64]:
        """Lengths of the windows, from the shortest to the longest."""
        return self._state.lengths.copy()

    def _purchase_probabilities(
        self,
        known: Observation,  # noqa: ARG002
        mask: NDArray[np.bool_],  # noqa: ARG002
    ) -> list[tuple[Purchase, float]]:
        everything = np.ones(self.problem.n_features, np.bool_)
        chances = kernel.window_chances(self._steps.argument).tolist()
        return [(Purchase.unchecked(everything, j), chance) for j, chance in enumerate(chances)]


def windows_of(block: int) -> NDArray[np.int64]:
    """Return the lengths of windows for a block: floor(H^(j / k)) with k = ceil(log H).

    >>> windows_of(1).tolist(), windows_of(8).tolist()
    ([1], [1, 2, 4, 8])
    """
    steps = math.ceil(math.log(block))
    powers = [block ** (j / steps) for j in range(steps)]
    # A power such as 8^(1/3) must not be rounded down to 1.
    return np.array([*(math.floor(power + 1e-9) for power in powers), block], np.int64)


def exploration_of(n_windows: int, n_blocks: int) -> float:
    """Return the share of EXP3's choices that are uniform.

    >>> round(exploration_of(4, 100), 4), exploration_of(9, 1), exploration_of(1, 5)
    (0.1796, 1.0, 0.0)
    """
    share = n_windows * math.log(n_windows) / ((math.e - 1) * n_blocks)
    return min(1.0, math.sqrt(share))
