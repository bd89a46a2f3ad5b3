"""DAL-NCC-UCRL2: NCC-UCRL2 that restarts when a likelihood ratio test sees a change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.baselines import dal_ncc_ucrl2 as kernel
from thrifty.kernels.ncc.ncc_ucrl2 import initial as initial_ncc_ucrl2
from thrifty.kernels.ncc.partial_states import GROWING, MAX_FEATURES
from thrifty.kernels.shared.detection import FORCED
from thrifty.parameters import Choice, Real
from thrifty.policies.compiled import CompiledPolicy, require_masks_fit
from thrifty.policies.dal_linucb import ALL_ROUNDS, DETECTION, FORCED_ROUNDS, detection_for
from thrifty.policies.ncc_ucrl2 import NCCUCRL2
from thrifty.policies.ties import chances_of_maximum
from thrifty.problem import Problem
from thrifty.propensities import one_hot
from thrifty.rounds import Observation
from thrifty.seeds import Seed


class DALNCCUCRL2(CompiledPolicy):
    """DAL-NCC-UCRL2: NCC-UCRL2, forced rounds that show changes of rewards, and restarts.

    Gerogiannis, Huang, Bose and Veeravalli (2025), "DAL: A Practical Prior-Free Black-Box Framework
    for Non-Stationary Bandits", arXiv 2501.19401. Detection-augmented learning puts a detector of
    changes around a learner, as `DALLinUCB` describes it. Here the learner is `NCCUCRL2` with a
    window as long as the horizon, because the restarts do the forgetting. In forced rounds nothing
    is bought. Changes of costs alone are not detected. Without forced rounds, and if no change is
    found, it is the learner.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T in the confidence radii and the share of forced rounds, and length of the
        window.
    delta : float
        Error probability of the confidence radii.
    cost_range : float
        Upper limit of C(i; w), as in `NCCUCRL2`.
    bounds : str
        "paper": confidence radii as in the paper. "repaired": as in `NCCUCRL2.repaired`.
    exploration : float
        Factor of the share of forced rounds. 0 for none.
    tested : str
        "all": the test uses the rewards of all rounds. "forced": of forced rounds only.
    false_alarms : float, optional
        Rate of false alarms of a test. The default is 1 / sqrt(T).
    every : int, optional
        Number of rewards of an action between two tests, and between two of the splits that are
        compared. The default is 1 for forced rounds, and 10 for all rounds.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> problem = Problem.anonymous(levels=(2, 3), n_actions=2)
    >>> policy = DALNCCUCRL2(problem, horizon=1000)
    >>> policy.choose_features().mask.tolist()  # every cost may be as low as -1: buy everything
    [True, True]
    """

    allowed = {
        "delta": Real(0, 1, open=True),
        "cost_range": Real(0),
        "bounds": Choice("paper", "repaired"),
        **DETECTION,
    }
    grid = {
        "bounds": ("paper", "repaired"),
        "tested": (FORCED_ROUNDS, ALL_ROUNDS),
        "exploration": (0.3, 1.0),
    }
    amounts = frozenset({"cost_range"})
    random_purchases = False
    action_draws = kernel.ACTION_DRAWS
    growing = frozenset(f"learner.tables.{name}" for name in GROWING)
    _state: kernel.DALNCCUCRL2State

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        delta: float = 0.04,
        cost_range: float = 1.0,
        bounds: str = "paper",
        exploration: float = 1.0,
        tested: str = ALL_ROUNDS,
        false_alarms: float | None = None,
        every: int | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            horizon=horizon,
            delta=delta,
            cost_range=cost_range,
            bounds=bounds,
            exploration=exploration,
            tested=tested,
            false_alarms=false_alarms,
            every=every,
        )
        require_masks_fit(problem, MAX_FEATURES, "DALNCCUCRL2")
        self._state = kernel.DALNCCUCRL2State(
            detection_for(problem, **{name: self.parameters[name] for name in DETECTION}),
            initial_ncc_ucrl2(problem.levels, problem.n_actions, **self._learner(problem)),
        )

    def _learner(self, problem: Problem) -> dict[str, Any]:
        """Return the parameters of the learner."""
        given = {name: self.parameters[name] for name in ("horizon", "delta", "cost_range")}
        window = self.parameters["horizon"]
        if self.parameters["bounds"] == "paper":
            return {**NCCUCRL2(problem, window=window, **given).parameters}
        del given["cost_range"]
        repaired = NCCUCRL2.repaired(problem, window=window, **given)
        return {**repaired.parameters, "cost_range": self.parameters["cost_range"]}

    @property
    def restarts(self) -> int:
        """Number of changes detected so far."""
        return int(self._state.detection.restarts[0])

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        forced = observation.purpose - FORCED
        if 0 <= forced < available.size and available[forced]:
            return one_hot(available.size, forced)
        values = self._action_values(observation)
        assert values is not None
        return chances_of_maximum(values, available)

    def _grow(self) -> None:
        self._state = kernel.grow(self._state)
