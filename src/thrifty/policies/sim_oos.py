"""Sim-OOS: simultaneous optimistic observation selection, for fixed prices and rewards."""

from __future__ import annotations

from numpy.typing import ArrayLike

from thrifty.kernels.ncc import sim_oos as kernel
from thrifty.kernels.ncc.partial_states import GROWING, MAX_FEATURES
from thrifty.kernels.runtime import single_call
from thrifty.parameters import FLAG, Real
from thrifty.policies.compiled import CompiledPolicy, require_masks_fit, require_prices
from thrifty.problem import Problem
from thrifty.seeds import Seed


class SimOOS(CompiledPolicy):
    """Follows a plan (what to buy, what to do) for an episode, then makes a new one.

    **The one policy that is told prices beforehand.** It was made for a fixed price list, and the
    paper's authors hand it each round's own prices; `play` and `simulate` do the same, through
    `read_price_list`; a list holds until the next one. Before the first, the last price paid for
    a feature stands in.

    The first 2^D rounds buy every subset once and act at random. An episode ends when some count
    N(a, psi) has doubled since its start. The plan takes r~ = r_hat + min{1,
    sqrt(log(20 Psi_tot A t^5 / delta) / 2N)} (1 for a pair never tried) and state probabilities
    within min{1, sqrt(10 Psi_tot log(4t / delta) / N(I))} of the estimate; an action never tried
    in the partial state at hand goes first. `simplex` as in `NCCUCRL2`.

    >>> policy = SimOOS(Problem.anonymous(levels=(2, 2), n_actions=2), seed=0)
    >>> policy.choose_features().mask.tolist()
    [False, False]
    """

    allowed = {"delta": Real(0, 1, open=True), "simplex": FLAG}
    reads_price_list = True
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
        """Take the prices now in force, one per feature, for the next plan."""
        steps = self._steps
        single_call.read_prices(
            steps.read_prices, steps.state, require_prices(self.problem, prices)
        )

    def _grow(self) -> None:
        self._state = kernel.grow(self._state)
