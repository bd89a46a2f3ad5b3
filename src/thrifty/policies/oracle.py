"""The oracle, which knows the truth: the reference for regret."""

from __future__ import annotations

from thrifty.environments.truth import Truth
from thrifty.errors import InvalidParameter
from thrifty.kernels.baselines import oracle as kernel
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.seeds import Seed


class Oracle(CompiledPolicy):
    """Buy the best set and take the best action of equation (5), period by period.

    The oracle needs the true means, so it exists in simulations only. If the planned action is not
    available, it takes the first one that is.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    truth : Truth
        True means of the environment.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.environments import Replay
    >>> replay = Replay(contexts=[[0], [1]], rewards=[[1, 0], [0, 1]], costs=[[0.1], [0.1]])
    >>> Oracle(replay.problem, truth=replay.truth).choose_features().mask.tolist()
    [True]
    """

    random_purchases = random_actions = False

    def __init__(self, problem: Problem, *, truth: Truth, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        theirs = (truth.levels.tolist(), truth.rewards.shape[1])
        ours = (problem.levels.tolist(), problem.n_actions)
        if theirs != ours:
            raise InvalidParameter(
                f"a truth about (levels, actions) = {theirs} for a problem of {ours}: give the "
                "truth of an environment with this problem."
            )
        self._state = kernel.initial(truth.oracle_plan, problem.n_actions)
