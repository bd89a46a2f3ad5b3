"""Adaptive Thompson sampling: linear Thompson sampling with a test for changes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import adaptive_ts as kernel
from thrifty.kernels.shared.largest_normal import ERROR
from thrifty.parameters import Real, Whole
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


class AdaptiveTS(CompiledPolicy):
    """Adaptive Thompson sampling: buy everything, restart after a change of the coefficients.

    Hariri, Mobasher and Burke (2015), "Adapting to User Preference Changes in Interactive
    Recommendation", International Joint Conference on Artificial Intelligence. The coefficients of
    each action are drawn from N(A^-1 b, alpha^2 A^-1), and the action with the largest x . theta is
    taken, where A = I + sum x x' and b = sum r x over the samples of the action since the last
    change. The posterior of the last N samples, N(m, S), is compared with the one of the N samples
    before, N(m', S'), by the Mahalanobis distance, the root of (m - m')' ((S + S') / 2)^-1
    (m - m'). A change is detected in the series of distances with cumulative sums and a bootstrap:
    the range of the sums of (distance - mean distance) is compared with its values for random
    orders of the series. If the share of orders with a smaller range is above the confidence, only
    the last N samples are kept. With a confidence of 1 nothing is ever detected.

    Here every action has coefficients of its own, as in `LinUCB`. A distance is computed after
    every few samples of an action, and the last `memory` distances are tested, because a test of
    all of them after every sample takes time that grows with the number of samples. The windows
    overlap, so neighbouring distances are alike, and there are more false alarms than the
    confidence says. The defaults are chosen for rewards in [0, 1].

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Standard deviation of drawn coefficients, in units of A^(-1/2).
    window : int
        Number of samples in each of the two halves that are compared, N.
    every : int
        Number of samples of an action between two distances.
    memory : int
        Number of distances in the test.
    bootstraps : int
        Number of random orders.
    confidence : float
        Share of random orders above which a change is detected.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> policy = AdaptiveTS(Problem.anonymous(levels=(2,), n_actions=2), alpha=0.1, seed=0)
    >>> seen = Observation(codes=[0], costs=[0.1])
    >>> for _ in range(20):
    ...     policy.update(seen, action=1, reward=1.0)
    >>> policy.choose_action(seen)
    1
    """

    allowed = {
        "alpha": Real(0),
        "window": Whole(1, 10**6),
        "every": Whole(1, 10**6),
        "memory": Whole(2, 1000),
        "bootstraps": Whole(1, 10**4),
        "confidence": Real(0, 1),
        "encoding": ENCODINGS,
    }
    grid = {"alpha": (0.1, 0.25, 0.5), "window": (25, 50, 100)}
    feature_draws = kernel.FEATURE_DRAWS
    action_draws = kernel.ACTION_DRAWS
    action_error = ERROR

    def __init__(
        self,
        problem: Problem,
        *,
        alpha: float = 0.25,
        window: int = 50,
        every: int = 10,
        memory: int = 50,
        bootstraps: int = 100,
        confidence: float = 0.95,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            alpha=alpha,
            window=window,
            every=every,
            memory=memory,
            bootstraps=bootstraps,
            confidence=confidence,
            encoding=encoding,
        )
        places, size = encoding_of(problem, encoding)
        self._state = kernel.initial(
            problem.n_actions,
            float(alpha),
            int(window),
            int(every),
            int(memory),
            int(bootstraps),
            float(confidence),
            places,
            size,
        )

    def _purchase_probabilities(
        self, known: Observation, mask: NDArray[np.bool_]
    ) -> Iterable[tuple[Purchase, float]]:
        del known, mask  # the note of a purchase is for the update: no decision depends on it
        return [(Purchase.everything(self.problem), 1.0)]

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        return kernel.action_chances(self._steps.argument, observation.codes, available)
