"""dLinUCB: LinUCB models that are tested, dropped and added."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, ClassVar

from thrifty.kernels.baselines import dlinucb as kernel
from thrifty.parameters import LENGTH, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.seeds import Seed

PROBABILITY = Real(0, 1, open=True)


class DynamicLinUCB(CompiledPolicy):
    """dLinUCB: buy everything; a master lets one of several LinUCB models act, and tests all.

    Algorithm 1 of the paper. After each round a model fails the test if |theta_a . x - r| > alpha_t
    sqrt(x' A_a^-1 x) + epsilon, with alpha_t = sigma^2 sqrt(d log(1 + n / delta_1)) + 1 after n
    samples, where d counts the entries of x for all actions, and epsilon = sigma Phi^-1(1 -
    delta_1 / 2). Otherwise it learns from the sample. Its badness e is the share of its last
    m = min(age, tau) tests that it failed, with the deviation d_m = sqrt(log(1 / delta_2) / (2 m)).
    It is dropped if e >= delta_1 + d_m. A new model is added if no model has e < spare_delta + d_m
    or none is left. The model with the least e - sqrt(log tau) d_m acts: it takes the first maximum
    of theta_a . x + alpha sqrt(x' A_a^-1 x). A model without tests comes first, then an older one.

    The paper has one regression on features of actions; one regression per action is the same with
    a block of x for each action. It also keeps any number of models; here the one with the largest
    e - sqrt(log tau) d_m makes room if there are too many. If no test is ever failed, the policy is
    LinUCB; with rewards in [0, 1] this is so if epsilon is large, which means very noisy rewards.

    Reference: Q. Wu, N. Iyer and H. Wang (2018), Learning contextual bandits in a non-stationary
    environment, SIGIR.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Weight of the confidence term in the choice of an action.
    tau : int
        Number of tests that count, as many as the authors' program takes by default.
    noise : float
        Standard deviation of rewards, sigma. The paper takes it as known.
    delta : float
        Probability delta_1 of failing a test by chance. The default is that of the authors'
        program, as are those of the other two.
    test_delta : float
        Probability delta_2 of a larger deviation of the badness.
    spare_delta : float
        Excess of the badness over its deviation up to which a model is good; in the paper at most
        `delta`.
    models : int
        Largest number of models.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = DynamicLinUCB(Problem.anonymous(levels=(2,), n_actions=1), alpha=0.0)
    >>> seen = Observation(codes=[1], costs=[0.1])
    >>> for reward in [1.0] * 50 + [0.0] * 20:
    ...     policy.update(seen, action=0, reward=reward)
    >>> policy.action_values(seen).tolist()  # a new model has taken over
    [0.0]
    """

    random_purchases = random_actions = False
    allowed = {
        "alpha": Real(0),
        "tau": LENGTH,
        "noise": Real(0),
        "delta": PROBABILITY,
        "test_delta": PROBABILITY,
        "spare_delta": Real(0, 1),
        "models": Whole(1, 1000),
        "encoding": ENCODINGS,
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"alpha": (0.1, 0.5), "tau": (100, 200), "noise": (0.1, 0.2, 0.3)}
    )
    _state: kernel.DynamicLinUCBState

    def __init__(
        self,
        problem: Problem,
        *,
        alpha: float = 0.5,
        tau: int = 100,
        noise: float = 0.2,
        delta: float = 0.01,
        test_delta: float = 0.1,
        spare_delta: float = 0.002,
        models: int = 10,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            alpha=alpha,
            tau=tau,
            noise=noise,
            delta=delta,
            test_delta=test_delta,
            spare_delta=spare_delta,
            models=models,
            encoding=encoding,
        )
        places, size = encoding_of(problem, encoding)
        self._state = kernel.initial(
            problem.n_actions,
            alpha=float(alpha),
            noise=float(noise),
            margin=noise_margin(noise, delta),
            delta=float(delta),
            spare_delta=float(spare_delta),
            test_delta=float(test_delta),
            tau=tau,
            models=models,
            places=places,
            size=size,
        )

    @property
    def n_started(self) -> int:
        """Number of models started so far; one more for every change that was detected."""
        return int(self._state.started[0])


def noise_margin(noise: float, delta: float) -> float:
    """Return what Gaussian noise of this standard deviation exceeds with probability `delta`.

    >>> round(noise_margin(0.5, 0.01), 3)
    1.288
    """
    return float(noise) * NormalDist().inv_cdf(1 - delta / 2)
