"""Sim-OOS: simultaneous optimistic observation selection, for fixed prices and rewards."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.kernels.ncc import sim_oos as kernel
from thrifty.kernels.ncc.partial_states import GROWING, MAX_FEATURES
from thrifty.kernels.ncc.sweep import SWEEP
from thrifty.kernels.runtime import single_call
from thrifty.parameters import FLAG, Real
from thrifty.policies.compiled import CompiledPolicy, require_masks_fit, require_prices
from thrifty.policies.ties import chances_of_untried_or_last, equal_chances
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class SimOOS(CompiledPolicy):
    """Sim-OOS: follow a plan of purchases and actions for an episode, then make a new plan.

    **Only this policy and `SeqOOS` get prices in advance.** It was designed for a fixed price list,
    and the paper's authors give it the prices of each round; `play` and `simulate` do the same,
    through `read_price_list`. A list is valid until the next one. Before the first list, the last
    price paid for a feature is used.

    The first 2^D rounds buy every subset once and take random actions. An episode ends when some
    count N(a, psi) has doubled since its start. The plan uses r~ = r_hat + min{1,
    sqrt(log(20 Psi_tot A t^5 / delta) / 2N)} (1 for a pair that was never tried) and state
    probabilities within min{1, sqrt(10 Psi_tot log(4t / delta) / N(I))} of the estimate. An action
    that was never tried in the current partial state is tried first.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    delta : float
        Error probability of the confidence radii.
    simplex : bool
        False allows negative probabilities, as in `NCCUCRL2`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> policy = SimOOS(Problem.anonymous(levels=(2, 2), n_actions=2), seed=0)
    >>> policy.choose_features().mask.tolist()
    [False, False]
    """

    allowed = {"delta": Real(0, 1, open=True), "simplex": FLAG}
    grid = {"delta": (0.1, 0.4, 0.8)}
    reads_price_list = True
    random_purchases = False
    action_draws = kernel.ACTION_DRAWS
    growing = frozenset({"planned_pulls", "planned_sums", *(f"tables.{name}" for name in GROWING)})
    _state: kernel.SimOOSState

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float = 0.8,
        simplex: bool = True,
        seed: Seed = None,
    ) -> None:
        super().__init__(problem, seed=seed, delta=delta, simplex=simplex)
        require_masks_fit(problem, MAX_FEATURES, "SimOOS")
        self._state = kernel.initial(
            problem.levels, problem.n_actions, delta=delta, simplex=simplex
        )

    def read_price_list(self, prices: ArrayLike) -> None:
        """Set the current prices, for the next plan.

        Parameters
        ----------
        prices : array_like of float, shape (D,)
            Price of each feature, on the policy's scale.
        """
        steps = self._steps
        single_call.read_prices(
            steps.read_prices, steps.state, require_prices(self.problem, prices)
        )

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        if observation.purpose == SWEEP:
            return equal_chances(available)
        values = self._action_values(observation)
        assert values is not None
        return chances_of_untried_or_last(values, available)

    def _grow(self) -> None:
        self._state = kernel.grow(self._state)
