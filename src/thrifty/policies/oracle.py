"""The oracle: it knows the truth, and is here to be compared with."""

from __future__ import annotations

from thrifty.environments.truth import Truth
from thrifty.errors import InvalidParameter
from thrifty.kernels.baselines import oracle as kernel
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.seeds import Seed


class Oracle(CompiledPolicy):
    """Buys the best set and takes the best action of equation (5), period by period.

    It needs the truth of a simulated world, so it is of no use outside of a simulation. If the
    planned action is not available, it takes the first one that is.

    >>> from thrifty.environments import Replay
    >>> world = Replay(contexts=[[0], [1]], rewards=[[1, 0], [0, 1]], costs=[[0.1], [0.1]])
    >>> Oracle(world.problem, truth=world.truth).choose_features().mask.tolist()
    [True]
    """

    def __init__(self, problem: Problem, *, truth: Truth, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        theirs = (truth.levels.tolist(), truth.rewards.shape[1])
        ours = (problem.levels.tolist(), problem.n_actions)
        if theirs != ours:
            raise InvalidParameter(
                f"a truth about (levels, actions) = {theirs} for a problem of {ours}: give the "
                "truth of a world with this problem."
            )
        self._state = kernel.initial(truth.oracle_plan, problem.n_actions)
