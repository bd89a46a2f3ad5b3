"""LinUCB: upper confidence bounds on one ridge regression per action."""

from __future__ import annotations

from thrifty.kernels.baselines import linucb as kernel
from thrifty.parameters import Choice, Real
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.problem import Problem
from thrifty.seeds import Seed

ENCODINGS = Choice("ordinal", "one-hot")


class LinUCB(CompiledPolicy):
    """LinUCB: buy everything, take the first maximum of theta_a . x + alpha sqrt(x' A_a^-1 x).

    A starts as the identity and b as 0; each sample adds x x' to A and r x to b.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Weight of the confidence term.
    encoding : str
        "ordinal": x contains the codes, counted from 1, without an intercept, as in the authors'
        program. "one-hot": x contains an indicator for each level.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = LinUCB(Problem.anonymous(levels=(2,), n_actions=2), alpha=1.0)
    >>> seen = Observation(codes=[0], costs=[0.1])
    >>> policy.update(seen, action=0, reward=1.0)
    >>> policy.action_values(seen).round(3).tolist()
    [1.207, 1.0]
    """

    random_purchases = random_actions = False
    allowed = {"alpha": Real(0), "encoding": ENCODINGS}
    grid = {"alpha": (0.1, 0.5, 1.0), "encoding": ("ordinal", "one-hot")}

    def __init__(
        self,
        problem: Problem,
        *,
        alpha: float = 0.5,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(problem, seed=seed, alpha=alpha, encoding=encoding)
        places, size = encoding_of(problem, encoding)
        self._state = kernel.initial(problem.n_actions, float(alpha), places, size)
