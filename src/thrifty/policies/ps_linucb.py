"""PS-LinUCB: LinUCB for worlds that change abruptly."""

from __future__ import annotations

from thrifty.kernels.baselines import ps_linucb as kernel
from thrifty.parameters import LENGTH, Real
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.seeds import Seed


class PSLinUCB(CompiledPolicy):
    """Buys everything and scores like LinUCB, from the samples since the last change it noticed.

    An action's last omega samples are compared with what the ones before predict; if the mean
    error is delta or more, the ones before are dropped.

    >>> PSLinUCB(Problem.anonymous(levels=(2,), n_actions=2)).choose_features().mask.tolist()
    [True]
    """

    allowed = {"alpha": Real(0), "omega": LENGTH, "delta": Real(0), "encoding": ENCODINGS}

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
