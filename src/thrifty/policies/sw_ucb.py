"""SW-UCB: UCB on a sliding window of each action's rewards."""

from __future__ import annotations

from thrifty.kernels.baselines import sw_ucb as kernel
from thrifty.parameters import LENGTH, Real
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.seeds import Seed


class SWUCB(CompiledPolicy):
    """Sliding-window UCB: buy nothing, use only the last rewards of each action.

    The policy takes the first maximum of mean + sqrt(alpha log(min(t + 1, tau)) / n). Mean and n
    refer to the action's own last tau rewards (tau per action, as in the authors' program, not tau
    rounds). An action that was never taken comes first.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    alpha : float
        Weight of the confidence term.
    tau : int
        Number of rewards remembered for each action.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = SWUCB(Problem.anonymous(levels=(2,), n_actions=2), alpha=0.1, tau=2)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> for reward in (1.0, 0.0, 0.0):
    ...     policy.update(nothing, action=0, reward=reward)
    >>> policy.action_values(nothing).round(3).tolist()
    [0.186, inf]
    """

    random_purchases = random_actions = False
    allowed = {"alpha": Real(0), "tau": LENGTH}
    grid = {"alpha": (0.1, 0.3, 0.6), "tau": (100, 300, 1000)}

    def __init__(
        self, problem: Problem, *, alpha: float = 0.1, tau: int = 100, seed: Seed = None
    ) -> None:
        super().__init__(problem, seed=seed, alpha=alpha, tau=tau)
        self._state = kernel.initial(problem.n_actions, float(alpha), tau)
