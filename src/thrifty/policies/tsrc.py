"""TSRC: Thompson sampling with a restricted number of features."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import tsrc as kernel
from thrifty.kernels.shared.largest_normal import ERROR
from thrifty.parameters import Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class TSRC(CompiledPolicy):
    """TSRC: buy d features by Thompson sampling, then act by contextual Thompson sampling.

    Feature i has the posterior Beta(1 + r_i, 1 + n_i - r_i), where n_i
    is the number of rounds in which it was bought and r_i the sum of their rewards. The d features
    with the largest draws are bought. Features that were not observed are 0 in the context c.
    Action k has the posterior N(mu_k, v^2 B_k^-1), where B_k = I + sum of c c' and
    mu_k = B_k^-1 times the sum of r c over its rounds. The action with the largest c . draw is
    taken. Only the product with c matters, so one normal variate is drawn for each action. Prices
    do not enter.

    With d = D it is contextual Thompson sampling. See `WTSRC` for features that change.

    Bouneffouf, Rish, Cecchi, Feraud (2017). Context attentive bandits: contextual bandit with
    restricted context. IJCAI.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    max_features : int, optional
        Number of features bought in each round, d; all of them if there are fewer. By default a
        quarter of the features, rounded up, one of the shares in the paper's experiments.
    v : float
        Scale of the Gaussian posterior. The paper's v = R sqrt(24 d log(1 / gamma) / z) is made
        for a proof. It is 9.5 for R = 0.5, z = 1, d = 5 and gamma = 0.05, with which actions are
        nearly random, so the default is smaller.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> policy = TSRC(Problem.anonymous(levels=(2, 2, 2), n_actions=2), max_features=2, seed=0)
    >>> int(policy.choose_features().mask.sum())
    2
    """

    allowed = {"max_features": Optional(Whole(1)), "v": Real(0), "encoding": ENCODINGS}
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"max_features": (None, 1, 3), "v": (0.25, 1.0), "encoding": ("ordinal", "one-hot")}
    )
    feature_draws = kernel.FEATURE_DRAWS
    action_draws = kernel.ACTION_DRAWS
    action_error = ERROR
    _state: kernel.TSRCState

    def __init__(
        self,
        problem: Problem,
        *,
        max_features: int | None = None,
        v: float = 0.25,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(problem, seed=seed, max_features=max_features, v=v, encoding=encoding)
        self._state = initial_state(problem, max_features, v, encoding, window=0)

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        return kernel.action_chances(self._steps.argument, observation.codes, available)


def initial_state(
    problem: Problem, max_features: int | None, v: float, encoding: str, window: int
) -> kernel.TSRCState:
    """Return the state before the first round; a window of 0 keeps all rounds."""
    n_features = problem.n_features
    if max_features is None:
        max_features = (n_features + 3) // 4
    places, size = encoding_of(problem, encoding)
    return kernel.initial(
        n_features,
        problem.n_actions,
        max_features=min(int(max_features), n_features),
        v=float(v),
        window=window,
        places=places,
        size=size,
    )
