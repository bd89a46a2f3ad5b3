"""The oracle: it knows the truth, and is here to be compared with."""

from __future__ import annotations

from thrifty.environments.truth import Truth
from thrifty.kernels import oracle as kernel
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.seeds import Seed


class Oracle(CompiledPolicy):
    """Buys the best set and takes the best action of equation (5), period by period.

    It needs the truth of a simulated world, so it is of no use outside of a simulation.

    >>> from thrifty.environments import Replay
    >>> world = Replay(contexts=[[0], [1]], rewards=[[1, 0], [0, 1]], costs=[[0.1], [0.1]])
    >>> Oracle(world.problem, truth=world.truth).choose_features().mask.tolist()
    [True]
    """

    def __init__(self, problem: Problem, *, truth: Truth, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        self._state = kernel.initial(truth.oracle_plan, problem.n_actions)
