"""PS-LinUCB: LinUCB with a test for abrupt changes."""

from __future__ import annotations

from thrifty.kernels.baselines import ps_linucb as kernel
from thrifty.parameters import LENGTH, Real
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.seeds import Seed


class PSLinUCB(CompiledPolicy):
    """LinUCB on the samples since the last detected change.

    The last omega samples of an action are compared with the predictions of the samples before. If
    the mean error is delta or more, the samples before are dropped.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Weight of the confidence term.
    omega : int
        Number of samples in the test for a change.
    delta : float
        Mean error from which on a change is detected.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> PSLinUCB(Problem.anonymous(levels=(2,), n_actions=2)).choose_features().mask.tolist()
    [True]
    """

    random_purchases = random_actions = False
    allowed = {"alpha": Real(0), "omega": LENGTH, "delta": Real(0), "encoding": ENCODINGS}
    grid = {"alpha": (0.3, 0.7), "delta": (0.05, 0.2), "encoding": ("ordinal", "one-hot")}

    def __init__(
        self,
        problem: Problem,
        *,
        alpha: float = 0.7,
        omega: int = 100,
        delta: float = 0.05,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem, seed=seed, alpha=alpha, omega=omega, delta=delta, encoding=encoding
        )
        places, size = encoding_of(problem, encoding)
        self._state = kernel.initial(
            problem.n_actions, float(alpha), omega, float(delta), places, size
        )
