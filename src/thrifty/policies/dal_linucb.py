"""DAL-LinUCB: LinUCB that restarts when a likelihood ratio test sees a change."""

from __future__ import annotations

import math
from collections.abc import Mapping

from thrifty.kernels.baselines import dal_linucb as kernel
from thrifty.kernels.baselines.linucb import initial as initial_linucb
from thrifty.kernels.shared.detection import Detection, initial_detection
from thrifty.parameters import LENGTH, Choice, Constraint, Optional, Real, Whole
from thrifty.policies.compiled import CompiledPolicy, encoding_of
from thrifty.policies.linucb import ENCODINGS
from thrifty.problem import Problem
from thrifty.seeds import Seed

FORCED_ROUNDS, ALL_ROUNDS = "forced", "all"
DETECTION: Mapping[str, Constraint] = {
    "horizon": Whole(1),
    "exploration": Real(0),
    "tested": Choice(FORCED_ROUNDS, ALL_ROUNDS),
    "false_alarms": Optional(Real(0, 1, open=True)),
    "every": Optional(LENGTH),
}
"""The parameters of the detector, the same around every learner."""


def detection_for(
    problem: Problem,
    *,
    horizon: int,
    exploration: float,
    tested: str,
    false_alarms: float | None,
    every: int | None,
) -> Detection:
    """Return the detector of detection-augmented learning before the first round.

    >>> detection = detection_for(
    ...     Problem.anonymous((2,), 4),
    ...     horizon=10_000,
    ...     exploration=1.0,
    ...     tested="all",
    ...     false_alarms=None,
    ...     every=None,
    ... )
    >>> round(detection.rate, 3), detection.false_alarms, detection.every
    (0.061, 0.01, 10)
    """
    n = problem.n_actions
    in_all_rounds = tested == ALL_ROUNDS
    return initial_detection(
        n,
        rate=exploration * math.sqrt(n * math.log(horizon) / horizon),
        false_alarms=1 / math.sqrt(horizon) if false_alarms is None else float(false_alarms),
        every=(10 if in_all_rounds else 1) if every is None else int(every),
        all_rounds=in_all_rounds,
    )


class DALLinUCB(CompiledPolicy):
    """DAL-LinUCB: LinUCB, forced rounds that show changes of rewards, and restarts.

    Gerogiannis, Huang, Bose and Veeravalli (2025), "DAL: A Practical Prior-Free Black-Box Framework
    for Non-Stationary Bandits", arXiv 2501.19401. Detection-augmented learning puts a detector of
    changes around a learner for worlds that do not change, here `LinUCB`. In every period of
    ceil(K / alpha_k) rounds each of the K actions is forced once. The learner does not see these
    rounds, and nothing is bought in them. When the Bernoulli GLR test (see `GLRKLUCB`) finds a
    change in the rewards of an action, above the threshold log(n^(3/2) / false_alarms), the learner
    and the tests start from the beginning. With k restarts so far, alpha_k = exploration sqrt((k +
    1) K log(T) / T), and a period has at least 2 K rounds. Without forced rounds, and if no change
    is found, it is the learner.

    The test of forced rounds looks at the mean reward of each action over all contexts. It misses
    changes that leave this mean as it was. The test of all rounds also looks at the rewards of the
    learner, and sees those changes if the learner depends on what has changed. But it may take
    progress of the learner for a change.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    horizon : int
        Number of rounds T, for the share of forced rounds and the default of `false_alarms`.
    alpha : float
        Weight of the confidence term of LinUCB.
    exploration : float
        Factor of the share of forced rounds. 0 for none.
    tested : str
        "all": the test uses the rewards of all rounds. "forced": of forced rounds only.
    false_alarms : float, optional
        Rate of false alarms of a test. The default is 1 / sqrt(T).
    every : int, optional
        Number of rewards of an action between two tests, and between two of the splits that are
        compared. The default is 1 for forced rounds, and 10 for all rounds.
    encoding : str
        "ordinal" or "one-hot", as in `LinUCB`.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> from thrifty.rounds import Observation
    >>> problem = Problem.anonymous(levels=(2,), n_actions=2)
    >>> policy = DALLinUCB(problem, tested="all", false_alarms=0.5, every=1)
    >>> seen = Observation(codes=[0], costs=[0.1])
    >>> for reward in (0.0, 0.0, 0.0, 1.0, 1.0):  # the statistic is 3.37, the threshold 3.11
    ...     policy.update(seen, action=0, reward=reward)
    >>> policy.restarts, policy.action_values(seen).tolist()
    (1, [0.5, 0.5])
    """

    random_purchases = random_actions = False
    allowed = {"alpha": Real(0), "encoding": ENCODINGS, **DETECTION}
    grid = {"tested": (FORCED_ROUNDS, ALL_ROUNDS), "exploration": (0.1, 0.3, 1.0)}
    _state: kernel.DALLinUCBState

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int = 10_000,
        alpha: float = 0.5,
        exploration: float = 1.0,
        tested: str = ALL_ROUNDS,
        false_alarms: float | None = None,
        every: int | None = None,
        encoding: str = "ordinal",
        seed: Seed = None,
    ) -> None:
        super().__init__(
            problem,
            seed=seed,
            horizon=horizon,
            alpha=alpha,
            exploration=exploration,
            tested=tested,
            false_alarms=false_alarms,
            every=every,
            encoding=encoding,
        )
        places, size = encoding_of(problem, encoding)
        detection = detection_for(problem, **{name: self.parameters[name] for name in DETECTION})
        learner = initial_linucb(problem.n_actions, float(alpha), places, size)
        self._state = kernel.DALLinUCBState(detection, learner)

    @property
    def restarts(self) -> int:
        """Number of changes detected so far."""
        return int(self._state.detection.restarts[0])
