"""NCC-UCRL2: the algorithm of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.ncc import ncc_ucrl2 as kernel
from thrifty.kernels.ncc.partial_states import GROWING, MAX_FEATURES
from thrifty.kernels.ncc.sweep import SWEEP
from thrifty.parameters import FLAG, LENGTH, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, require_masks_fit
from thrifty.policies.ties import chances_of_last_maximum, chances_of_maximum, equal_chances
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class NCCUCRL2(CompiledPolicy):
    """NCC-UCRL2: buy the set with the largest optimistic gain, then act optimistically.

    The set maximises the optimistic gain (18), the action the optimistic reward (19). Rewards
    r~ = r_hat + C(a, psi; w) and costs c~ = c_hat - C(i; w) (15) are estimated from the last
    rounds, probabilities of partial states (13) from all rounds. Problem (17) is solved in closed
    form, and only sets bought inside the window are evaluated one by one.

    The defaults follow the text of the paper. `cost_range`, `sweep_first`, `simplex`,
    `whole_window` and `last_tie` are the differences of the authors' program, which `published`
    sets all together. `unseen`, the three scales, `clip` and `observed_range` repair the
    algorithm (see `repaired`).

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T in the confidence radii. You may play longer, without their guarantee.
    window : int
        Length of the window in rounds, w. A window longer than the horizon is cut to the horizon.
    delta : float
        Error probability of the confidence radii.
    cost_range : float
        Upper limit of C(i; w). In the authors' program it is 0.05, the range of mean costs.
    sweep_first : bool
        True buys every subset once in the first 2^D rounds, in binary counting order, and takes
        random actions. These observations count for the bought set only, not for its subsets.
    simplex : bool
        False allows q in (17) to be negative; it still sums to 1.
    unseen_mass : bool
        True takes the numerator max{1, count} of (13) literally: a state that was never seen gets
        the probability of a state seen once. Then probabilities add up to more than 1, (17) may
        have no solution, and the nearest points of the simplex are used. By default a state that
        was never seen has probability 0, as in the authors' program.
    whole_window : bool
        True uses the last w rounds. By default t - w < tau < t, which are w - 1 rounds.
    last_tie : bool
        True takes the last of several best actions, or a random one if all actions tie. By default
        a random one of the best. Of several best sets, the first in binary counting order is
        always taken.
    unseen : float, optional
        Value of an action in a partial state in which it has no reward inside the window. By
        default the radius of a count of 0.
    reward_scale : float
        Factor of the confidence radius of rewards.
    cost_scale : float
        Factor of the confidence radius of costs.
    probability_scale : float
        Factor of the confidence radius of probabilities. 0 uses the frequencies themselves.
    clip : bool
        True limits r~ to 1. By default only its radius is limited.
    observed_range : bool
        True measures the radius of costs in units of the range of all costs paid so far.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> problem = Problem.anonymous(levels=(2, 3), n_actions=2)
    >>> policy = NCCUCRL2(problem, horizon=1000, window=100, delta=0.05)
    >>> policy.choose_features().mask.tolist()  # every cost may be as low as -1: buy everything
    [True, True]
    """

    allowed = {
        "horizon": Whole(1),
        "window": LENGTH,
        "delta": Real(0, 1, open=True),
        "cost_range": Real(0),
        "sweep_first": FLAG,
        "simplex": FLAG,
        "unseen_mass": FLAG,
        "whole_window": FLAG,
        "last_tie": FLAG,
        "unseen": Optional(Real(0)),
        "reward_scale": Real(0),
        "cost_scale": Real(0),
        "probability_scale": Real(0),
        "clip": FLAG,
        "observed_range": FLAG,
    }
    grid = {"window": (250, 500, 1000), "delta": (0.04, 0.2)}
    amounts = frozenset({"cost_range"})
    random_purchases = False
    action_draws = kernel.ACTION_DRAWS
    growing = frozenset(f"tables.{name}" for name in GROWING)
    _state: kernel.NCCUCRL2State

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int,
        window: int = 250,
        delta: float = 0.04,
        cost_range: float = 1.0,
        sweep_first: bool = False,
        simplex: bool = True,
        unseen_mass: bool = False,
        whole_window: bool = False,
        last_tie: bool = False,
        unseen: float | None = None,
        reward_scale: float = 1.0,
        cost_scale: float = 1.0,
        probability_scale: float = 1.0,
        clip: bool = False,
        observed_range: bool = False,
        seed: Seed = None,
    ) -> None:
        parameters: dict[str, Any] = {
            "horizon": horizon,
            "window": window,
            "delta": delta,
            "cost_range": cost_range,
            "sweep_first": sweep_first,
            "simplex": simplex,
            "unseen_mass": unseen_mass,
            "whole_window": whole_window,
            "last_tie": last_tie,
            "unseen": unseen,
            "reward_scale": reward_scale,
            "cost_scale": cost_scale,
            "probability_scale": probability_scale,
            "clip": clip,
            "observed_range": observed_range,
        }
        super().__init__(problem, seed=seed, **parameters)
        require_masks_fit(problem, MAX_FEATURES, "NCCUCRL2")
        self._state = kernel.initial(problem.levels, problem.n_actions, **self.parameters)

    @classmethod
    def published(
        cls,
        problem: Problem,
        *,
        horizon: int,
        window: int = 250,
        delta: float = 0.04,
        cost_range: float = 0.05,
        seed: Seed = None,
    ) -> NCCUCRL2:
        """Make the policy of the authors' program, with all its differences from the text.

        Parameters
        ----------
        problem : Problem
            Features and actions.
        horizon : int
            Number of rounds T in the confidence radii.
        window : int
            Length of the window in rounds, w.
        delta : float
            Error probability of the confidence radii.
        cost_range : float
            Upper limit of C(i; w).
        seed : int, SeedSequence, Generator or None
            Source of all randomness.

        Returns
        -------
        NCCUCRL2
            The policy.
        """
        return cls(
            problem,
            horizon=horizon,
            window=window,
            delta=delta,
            cost_range=cost_range,
            sweep_first=True,
            simplex=False,
            whole_window=True,
            last_tie=True,
            seed=seed,
        )

    @classmethod
    def repaired(
        cls,
        problem: Problem,
        *,
        horizon: int,
        window: int = 500,
        delta: float = 0.04,
        unseen: float = 0.7,
        reward_scale: float = 0.05,
        cost_scale: float = 0.02,
        probability_scale: float = 0.0,
        seed: Seed = None,
    ) -> NCCUCRL2:
        """Make the repaired policy: the same structure with scaled-down confidence bonuses.

        Parameters
        ----------
        problem : Problem
            Features and actions.
        horizon : int
            Number of rounds T in the confidence radii.
        window : int
            Length of the window in rounds, w.
        delta : float
            Error probability of the confidence radii.
        unseen : float
            Value of an action in a partial state in which it has no reward inside the window.
        reward_scale : float
            Factor of the confidence radius of rewards.
        cost_scale : float
            Factor of the confidence radius of costs.
        probability_scale : float
            Factor of the confidence radius of probabilities.
        seed : int, SeedSequence, Generator or None
            Source of all randomness.

        Returns
        -------
        NCCUCRL2
            The policy.

        Examples
        --------
        >>> problem = Problem.anonymous(levels=(2, 3), n_actions=2)
        >>> policy = NCCUCRL2.repaired(problem, horizon=1000)
        >>> policy.choose_features().mask.tolist()  # no set looks better than buying nothing
        [False, False]
        """
        return cls(
            problem,
            horizon=horizon,
            window=window,
            delta=delta,
            unseen=unseen,
            reward_scale=reward_scale,
            cost_scale=cost_scale,
            probability_scale=probability_scale,
            clip=True,
            observed_range=True,
            seed=seed,
        )

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        if observation.purpose == SWEEP:
            return equal_chances(available)
        values = self._action_values(observation)
        assert values is not None
        if self._state.bounds.last_tie:
            return chances_of_last_maximum(values, available)
        return chances_of_maximum(values, available)

    def _grow(self) -> None:
        self._state = kernel.grow(self._state)
