"""D-UCB: UCB on rewards that count less the older they are."""

from __future__ import annotations

import math

from thrifty.kernels.baselines import d_ucb as kernel
from thrifty.parameters import Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy
from thrifty.problem import Problem
from thrifty.seeds import Seed


class DUCB(CompiledPolicy):
    """Discounted UCB: buy nothing, weight a reward that is k rounds old by gamma^k.

    The policy takes the first maximum of X_a + 2 sqrt(xi log(n + 1) / N_a), where X_a is the
    weighted mean of the action's rewards, N_a the sum of their weights and n the sum over all
    actions. An action that was never taken comes first. This is Algorithm 1 of Garivier and
    Moulines (2011), "On Upper-Confidence Bound Policies for Switching Bandit Problems", ALT, but
    for the 1 in the logarithm, which counts the coming round, as in `UCB1`. With gamma = 1 and
    `first_count` = 1 the policy is `UCB1` with alpha = 4 xi.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T, for the default of `gamma`. The default is that of the paper's
        experiments.
    changes : int
        Number of changes expected in T rounds, for the default of `gamma`.
    gamma : float, optional
        Discount. The default is the paper's choice, 1 - sqrt(changes / T) / 4.
    xi : float
        Weight of the confidence term. The paper's theorems need more than 1 / 2.
    first_count : float
        Weight of the reward of 0 that every action starts with.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> policy = DUCB(Problem.anonymous(levels=(2,), n_actions=2), gamma=0.5, xi=0.25)
    >>> nothing = Observation(codes=[-1], costs=[float("nan")])
    >>> for action in (0, 1):
    ...     policy.update(nothing, action=action, reward=1.0)
    >>> policy.action_values(nothing).round(3).tolist()  # the weights are 0.5 and 1
    [2.354, 1.957]
    """

    random_purchases = random_actions = False
    allowed = {
        "horizon": Whole(1),
        "changes": Whole(1),
        "gamma": Optional(Real(0, 1)),
        "xi": Real(0),
        "first_count": Real(0),
    }
    grid = {"changes": (1, 10, 100), "xi": (0.05, 0.15, 0.6)}

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        changes: int = 1,
        gamma: float | None = None,
        xi: float = 0.6,
        first_count: float = 0.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            horizon=horizon,
            changes=changes,
            gamma=gamma,
            xi=xi,
            first_count=first_count,
        )
        if gamma is None:
            gamma = 1 - math.sqrt(min(1.0, changes / horizon)) / 4
        self._state = kernel.initial(
            problem.n_actions, 4 * float(xi), float(gamma), float(first_count)
        )
