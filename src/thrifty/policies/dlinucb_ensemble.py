"""DenBand: an ensemble of LinUCB models, each used where its errors are small."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from thrifty.kernels.baselines import dlinucb_ensemble as kernel
from thrifty.parameters import LENGTH, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.dlinucb import PROBABILITY, noise_margin
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.seeds import Seed


class DynamicEnsemble(CompiledPolicy):
    """DenBand: buy everything; use each of several LinUCB models where its errors are small.

    Every model has an auditor: a ridge regression beta_a of the model's errors r - theta_a . x in
    the last tau rounds since it began, with the matrix C_a. A model is admissible for x and an
    action a if |beta_a . x| <= audit sqrt(x' C_a^-1 x) + B + tolerance, with B = alpha_t sqrt(x'
    A_a^-1 x) and alpha_t as in `DynamicLinUCB`. Of the admissible models the one with the least
    |beta_a . x| - audit sqrt(x' C_a^-1 x) values the action, by theta_a . x + alpha sqrt(x' A_a^-1
    x). The policy takes the first maximum of these values. After each round a model is added if
    some action has no admissible one; a model that is admissible for the action taken learns from
    the sample if |theta_a . x - r| <= B + epsilon, with epsilon as in `DynamicLinUCB`; and all
    auditors learn. Models are never dropped, so they are there when an old situation comes back. If
    there are too many, the one that has not learnt for longest makes room.

    An action without an admissible model has the value that a new model would give it. The authors'
    program takes the tolerance for epsilon too; rewards of 0 and 1 are noisier than those it was
    made for. The paper has one regression on features of actions; one regression per action is the
    same with a block of x for each action. If every model is always admissible and no sample is
    refused, the policy is LinUCB.

    Reference: Q. Wu, H. Wang, Y. Li and H. Wang (2019), Dynamic ensemble of contextual bandits to
    satisfy users' changing interests, WWW.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Weight of the confidence term in the choice of an action.
    tau : int
        Number of rounds from which auditors learn.
    noise : float
        Standard deviation of rewards, sigma.
    delta : float
        Probability of refusing a sample by chance.
    audit : float
        Weight of the auditors' confidence term.
    tolerance : float
        Mean error of an admissible model, beyond what is uncertain.
    models : int
        Largest number of models.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = DynamicEnsemble(Problem.anonymous(levels=(2,), n_actions=1), alpha=0.0)
    >>> seen = Observation(codes=[1], costs=[0.1])
    >>> for reward in [1.0] * 50 + [0.0] * 50:
    ...     policy.update(seen, action=0, reward=reward)
    >>> policy.n_started
    2
    """

    random_purchases = random_actions = False
    allowed = {
        "alpha": Real(0),
        "tau": LENGTH,
        "noise": Real(0),
        "delta": PROBABILITY,
        "audit": Real(0),
        "tolerance": Real(0),
        "models": Whole(1, 1000),
        "encoding": ENCODINGS,
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"alpha": (0.1, 0.5), "tau": (100, 200), "tolerance": (0.05, 0.1, 0.2)}
    )
    _state: kernel.DynamicEnsembleState

    def __init__(
        self,
        problem: Problem,
        *,
        alpha: float = 0.5,
        tau: int = 100,
        noise: float = 0.2,
        delta: float = 0.01,
        audit: float = 0.5,
        tolerance: float = 0.1,
        models: int = 5,
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
            audit=audit,
            tolerance=tolerance,
            models=models,
            encoding=encoding,
        )
        places, size = encoding_of(problem, encoding)
        settings = kernel.EnsembleSettings(
            float(alpha),
            float(noise),
            noise_margin(noise, delta),
            float(delta),
            float(audit),
            float(tolerance),
        )
        self._state = kernel.initial(
            problem.n_actions,
            problem.n_features,
            settings,
            tau=tau,
            models=models,
            places=places,
            size=size,
        )

    @property
    def n_started(self) -> int:
        """Number of models started so far."""
        return int(self._state.models.started[0])
