"""Alarms that the world has changed since the plan was learnt."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

WORSE_ODDS = 3.0
"""A change multiplies the odds of a disappointing reward by this."""
REWARD_ALARM = 12.0
OUTCOME_ALARM = 10.0
MIXED = 0.3
"""Share of the old model that still holds after a change."""
LEAST, MOST = 0.005, 0.98
SMALLEST = 0.01
MAX_STEP = 3.0
USUAL_STEPS = 30
"""Number of steps that are added to those seen when their mean is taken."""
USUAL_CASES = 5.0
"""Weight of the model's own expectation when disappointing rewards are counted."""
FEW_CASES, FEWER_CASES = 300, 20
"""Cases after a start or a change in which there is no alarm: without and with a long memory."""
LONG_MEMORY = 300
"""Number of complete cases from which on a model is trusted soon."""


@dataclass
class ChangeDetector:
    """Two CUSUM tests: of disappointing rewards, and of surprising outcomes.

    Parameters
    ----------
    rewards : float
        Sum of the log likelihood ratios of disappointing rewards; it never falls below 0.
    rewards_start : int
        Number of the case after which it was last 0.
    outcomes, outcomes_start : float, int
        The same for outcomes.
    start : int
        Number of the case in which the current period began.
    worse, expected_worse : float
        Number of disappointing rewards since then, and the number that models expected.
    steps, n_steps : float, int
        Sum and number of the steps of the test of outcomes since then.
    """

    rewards: float = 0.0
    rewards_start: int = 0
    outcomes: float = 0.0
    outcomes_start: int = 0
    start: int = 0
    worse: float = 0.0
    expected_worse: float = 0.0
    steps: float = 0.0
    n_steps: int = 0

    def add(
        self,
        number: int,
        probabilities: Floats,
        frequencies: Floats,
        action_rewards: Floats,
        possible: Bools,
        reward: float,
    ) -> None:
        """Take in a case.

        Parameters
        ----------
        number : int
            Number of the case.
        probabilities : array of float, shape (O,)
            What the model expected.
        frequencies : array of float, shape (O,)
            Frequencies of the outcomes.
        action_rewards : array of float, shape (O,)
            Rewards of the action taken.
        possible : array of bool, shape (O,)
            Outcomes that its reward leaves possible.
        reward : float
            Its reward in money.
        """
        if possible.all():
            return
        self._add_reward(number, probabilities, action_rewards, reward)
        expected = max(float(probabilities[possible].sum()), SMALLEST)
        usual = float(frequencies[possible].sum())
        step = math.log(MIXED + (1 - MIXED) * usual / expected)
        step = min(max(step, -MAX_STEP), MAX_STEP)
        # Without its usual step, a model that was never better than the frequencies gives no
        # trend. It still gives more alarms than a good model does, by chance.
        usual_step = max(self.steps / (self.n_steps + USUAL_STEPS), 0.0)
        self.steps += step
        self.n_steps += 1
        self.outcomes = max(0.0, self.outcomes + step - usual_step)
        if self.outcomes == 0.0:
            self.outcomes_start = number + 1

    def _add_reward(
        self, number: int, probabilities: Floats, action_rewards: Floats, reward: float
    ) -> None:
        mean = float(probabilities @ action_rewards)
        p = float(probabilities[action_rewards < mean - 1e-9].sum())
        # A model may have been too sure of its best action from the beginning.
        usual = (self.worse + USUAL_CASES) / (self.expected_worse + USUAL_CASES)
        self.expected_worse += p
        p = min(max(p * max(usual, 1.0), LEAST), MOST)
        worse = WORSE_ODDS * p / (1 + (WORSE_ODDS - 1) * p)
        is_worse = reward < mean - 1e-9
        self.worse += is_worse
        ratio = worse / p if is_worse else (1 - worse) / (1 - p)
        self.rewards = max(0.0, self.rewards + math.log(ratio))
        if self.rewards == 0.0:
            self.rewards_start = number + 1

    def alarm(self, number: int, n_complete: int) -> int | None:
        """Return the number of the case in which the world changed, or None.

        Parameters
        ----------
        number : int
            Number of the latest case.
        n_complete : int
            Number of complete cases since the last change.

        Returns
        -------
        int or None
            First case of the new period.
        """
        if self.rewards <= REWARD_ALARM and self.outcomes <= OUTCOME_ALARM:
            return None
        is_early = number - self.start < (FEWER_CASES if n_complete >= LONG_MEMORY else FEW_CASES)
        change = self.outcomes_start if self.outcomes > OUTCOME_ALARM else self.rewards_start
        before = self.start
        self.reset(number + 1, keep_start=is_early)
        return None if is_early else max(change, before + 1)

    def reset(self, number: int, *, keep_start: bool = False) -> None:
        """Begin again with the next case.

        Parameters
        ----------
        number : int
            Number of the next case.
        keep_start : bool
            True if the current period goes on.
        """
        self.rewards = self.outcomes = 0.0
        self.rewards_start = self.outcomes_start = number
        if not keep_start:
            self.start = number
            self.worse = self.expected_worse = self.steps = 0.0
            self.n_steps = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        return asdict(self)
