"""Scout, Thrifty's own policy: close to the oracle, with nothing to tune."""

from __future__ import annotations

from thrifty.kernels import scout as kernel
from thrifty.kernels.partial_states import MAX_FEATURES
from thrifty.policies.compiled import CompiledPolicy, require_masks_fit
from thrifty.problem import Problem
from thrifty.seeds import Seed


class Scout(CompiledPolicy):
    """Explores blind and wide, exploits the set that is worth most, restarts after a change."""

    allowed = {}
    feature_draws = kernel.FEATURE_DRAWS
    action_draws = kernel.ACTION_DRAWS
    _state: kernel.ScoutState

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)
        require_masks_fit(problem, MAX_FEATURES, "Scout")
        self._state = kernel.initial(problem.levels, problem.n_actions)
