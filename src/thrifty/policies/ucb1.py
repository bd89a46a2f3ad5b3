"""UCB1: upper confidence bounds on each action's mean reward."""

from __future__ import annotations

from thrifty.kernels.baselines import ucb1 as kernel
from thrifty.parameters import Real
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.seeds import Seed


class UCB1(CompiledPolicy):
    """UCB1: buy nothing, take the action with the largest upper confidence bound.

    The bound is q_a + sqrt(alpha log(t + 1) / n_a); ties go to the first action. As in the authors'
    program, the counts n_a start at 1 and t starts at 0.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Weight of the confidence term.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = UCB1(Problem.anonymous(levels=(2,), n_actions=2), alpha=0.6)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> policy.update(nothing, action=1, reward=1.0)
    >>> policy.action_values(nothing).round(3).tolist()
    [0.645, 0.956]
    """

    random_purchases = random_actions = False
    allowed = {"alpha": Real(0)}
    grid = {"alpha": (0.05, 0.2, 0.6, 1.0, 2.0)}

    def __init__(self, problem: Problem, *, alpha: float = 0.6, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed, alpha=alpha)
        self._state = kernel.initial(problem.n_actions, float(alpha))
