"""WTSRC: TSRC that chooses features by the last rounds only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import tsrc as kernel
from thrifty.kernels.shared.largest_normal import ERROR
from thrifty.parameters import LENGTH, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy
from thrifty.policies.linucb import ENCODINGS
from thrifty.policies.tsrc import initial_state
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class WTSRC(CompiledPolicy):
    """WTSRC: TSRC whose features are chosen by the last w rounds.

    As `TSRC`, but n_i and r_i of the posterior Beta(1 + r_i, 1 + n_i - r_i) of a feature count
    only the last w rounds. As in the paper, the posteriors of the actions count all rounds. With a
    window as long as the run it is TSRC.

    Bouneffouf, Rish, Cecchi, Feraud (2017). Context attentive bandits: contextual bandit with
    restricted context. IJCAI.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    window : int
        Number of rounds that count for the choice of features, w. The paper leaves it open; the
        default is the window of `NCCUCRL2`.
    max_features : int, optional
        Number of features bought in each round, d, as in `TSRC`.
    v : float
        Scale of the Gaussian posterior, as in `TSRC`.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> policy = WTSRC(Problem.anonymous(levels=(2, 2, 2), n_actions=2), max_features=2, seed=0)
    >>> int(policy.choose_features().mask.sum())
    2
    """

    allowed = {
        "window": LENGTH,
        "max_features": Optional(Whole(1)),
        "v": Real(0),
        "encoding": ENCODINGS,
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"window": (100, 250, 1000), "max_features": (None, 1), "encoding": ("ordinal", "one-hot")}
    )
    feature_draws = kernel.FEATURE_DRAWS
    action_draws = kernel.ACTION_DRAWS
    action_error = ERROR
    _state: kernel.TSRCState

    def __init__(
        self,
        problem: Problem,
        *,
        window: int = 250,
        max_features: int | None = None,
        v: float = 0.25,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem, seed=seed, window=window, max_features=max_features, v=v, encoding=encoding
        )
        self._state = initial_state(problem, max_features, v, encoding, window=window)

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        return kernel.action_chances(self._steps.argument, observation.codes, available)
