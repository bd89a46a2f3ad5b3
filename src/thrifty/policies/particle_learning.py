"""Particle learning: Thompson sampling on linear coefficients that drift as random walks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import particle_learning as kernel
from thrifty.kernels.shared.largest_normal import ERROR
from thrifty.parameters import Real, Whole
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


class ParticleLearning(CompiledPolicy):
    """Particle learning: buy everything, follow coefficients that drift.

    Zeng, Wang, Mokhtari and Li (2016), "Online Context-Aware Recommendation with Time Varying
    Multi-Armed Bandit", ACM SIGKDD Conference on Knowledge Discovery and Data Mining. The reward of
    an action is N(x . (c + theta * eta), s), where c and theta are constant and eta is a random
    walk with steps N(0, walk^2 I), from 0. The prior is s ~ IG(1, noise) and (c, theta) ~ N(0, s
    I). After each sample of an action, its P particles are resampled with weights N(r; x . (c +
    theta * m), s + u' (S + walk^2 I) u), where u = x * theta and eta ~ N(m, S) before. Each
    particle then moves eta by a step of the Kalman filter, draws it, adds ((x, x * eta), r) to its
    regression, and draws s, c and theta. The action with the largest reward is taken, by the mean
    of a draw of the coefficients from each particle, as in the paper's policy TVTP.

    c and theta are drawn when the next sample comes, and only what it depends on: x . c, and the
    entries of theta and eta where x is not 0. The distribution is the same, in a fifth of the time.

    With walk = 0 the coefficients are constant, and with alpha = 0 too it is `LinUCB` without
    exploration. The variance of x . (c + theta * eta) is that of independent theta and eta. The
    steps are those of the paper by default, and the number of particles is chosen for speed.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Factor of the standard deviation of the drawn reward. In the paper it is 1.
    particles : int
        Number of particles of each action, P.
    walk : float
        Standard deviation of a step of the random walk.
    noise : float
        Scale of the prior of the variance of rewards.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> policy = ParticleLearning(Problem.anonymous(levels=(2,), n_actions=2), alpha=0.1, seed=0)
    >>> seen = Observation(codes=[0], costs=[0.1])
    >>> for _ in range(20):
    ...     policy.update(seen, action=1, reward=1.0)
    >>> policy.choose_action(seen)
    1
    """

    allowed = {
        "alpha": Real(0),
        "particles": Whole(1, 10**4),
        "walk": Real(0, 100),
        "noise": Real(1e-6, 100),
        "encoding": ENCODINGS,
    }
    grid = {"walk": (0.1, 0.3, 1.0), "noise": (0.1, 1.0)}
    feature_draws = kernel.FEATURE_DRAWS
    action_draws = kernel.ACTION_DRAWS
    action_error = ERROR

    def __init__(
        self,
        problem: Problem,
        *,
        alpha: float = 1.0,
        particles: int = 5,
        walk: float = 1.0,
        noise: float = 1.0,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            alpha=alpha,
            particles=particles,
            walk=walk,
            noise=noise,
            encoding=encoding,
        )
        places, size = encoding_of(problem, encoding)
        self._state = kernel.initial(
            problem.n_actions,
            float(alpha),
            int(particles),
            float(walk),
            float(noise),
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
