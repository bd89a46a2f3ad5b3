"""NCC-UCRL2, the paper's algorithm."""

from __future__ import annotations

from typing import Any

from thrifty.kernels.ncc import ncc_ucrl2 as kernel
from thrifty.kernels.ncc.partial_states import GROWING, MAX_FEATURES
from thrifty.parameters import FLAG, LENGTH, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, require_masks_fit
from thrifty.problem import Problem
from thrifty.seeds import Seed


class NCCUCRL2(CompiledPolicy):
    """Buys the set of largest optimistic gain (18) and acts by the largest optimistic reward (19).

    Rewards r~ = r_hat + C(a, psi; w) and costs c~ = c_hat - C(i; w) (15) are estimated from the
    last rounds, probabilities of partial states (13) from all; Problem (17) is solved in closed
    form, and only sets bought inside the window are ever looked at one by one.

    The defaults are the paper's text. What the authors' program does differently has a name:

    - `cost_range`: C(i; w) is at most this, instead of 1 (theirs: 0.05, the range of mean costs).
    - `sweep_first`: the first 2^D rounds buy every subset once, in binary counting order, and act
      at random; their observations count for the bought set only, not for its subsets.
    - `simplex=False`: q in (17) sums to 1 but may be negative.
    - `whole_window`: the last w rounds count, instead of t - w < tau < t, which are w - 1.
    - `last_tie`: of several best actions the last one, or any if all tie; otherwise any of the
      best. (Of several best sets the first in binary counting order, always.)

    `unseen_mass` is the one reading of the text that is not the default: taken literally, the
    numerator max{1, count} of (13) gives a state never seen the probability of one seen once, so
    that probabilities add up to more than 1 and (17) may have no solution; then the nearest points
    of the simplex count. By default a state never seen has probability 0, as in the program.

    What repairs the algorithm, all together, has names as well (see `repaired`):

    - `unseen`: what an action is worth in a partial state in which it has no reward inside the
      window, instead of the radius of a count of 0.
    - `reward_scale`, `cost_scale`, `probability_scale`: each radius is multiplied by its scale. A
      `probability_scale` of 0 leaves no ball: the frequencies themselves count.
    - `clip`: r~ is at most 1, instead of its radius.
    - `observed_range`: the radius of costs is in units of the range of all costs paid so far.

    `horizon` is T of the confidence radii; playing on beyond it is possible, without their
    guarantee. A window longer than the horizon holds as many rounds as the horizon.

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
    amounts = frozenset({"cost_range"})
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
        """Return the policy of the authors' program: every difference from the text at once."""
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
        """Return the policy of the same structure whose optimism is no larger than it can bear.

        >>> problem = Problem.anonymous(levels=(2, 3), n_actions=2)
        >>> policy = NCCUCRL2.repaired(problem, horizon=1000)
        >>> policy.choose_features().mask.tolist()  # nothing is known to be better than nothing
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

    def _grow(self) -> None:
        self._state = kernel.grow(self._state)
