"""Actions that are tried for what their rewards tell about the outcome."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.surveyor.labels import OutcomeTable

Floats = NDArray[np.float64]

INFORMATIVE = 0.05
"""An action is tried for its label if it resolves this share of the uncertainty more."""
LEAST_CHANCE = 0.2
"""Smallest probability of an informative action in a case in which everything was bought."""
SMALL_GAP = 0.02
"""A difference of this share of the range of rewards is small."""


def action_chances(
    table: OutcomeTable, probabilities: Floats, values: Floats, paid: float, blind_gap: float
) -> Floats:
    """Return the probability of each action in a case in which everything was bought.

    A purchase without a label teaches little, so a label may cost as much as the purchase. It may
    cost more if it is the only way to learn anything, as behind a safe action.

    Parameters
    ----------
    table : OutcomeTable
        Rewards by action and outcome.
    probabilities : array of float, shape (O,)
        Probabilities of the outcomes.
    values : array of float, shape (A,)
        Expected rewards, -inf for actions that are not available.
    paid : float
        Price of what was bought.
    blind_gap : float
        How much the best constant action gains more than the second.

    Returns
    -------
    array of float, shape (A,)
        Probabilities.

    Examples
    --------
    Approving reveals what declining hides, and seems to lose 8:

    >>> from thrifty.problem import Feature, Problem
    >>> rewards = {"approve": {"good": 20, "bad": -50}, "decline": {"good": 0, "bad": 0}}
    >>> problem = Problem([Feature("score", ("low", "high"))], list(rewards), outcomes=rewards)
    >>> chances = action_chances(
    ...     OutcomeTable.of(problem), np.array([0.6, 0.4]), np.array([-8.0, 0.0]), 2.0, 0.0
    ... )
    >>> chances.round(2).tolist()
    [0.25, 0.75]
    """
    best = int(values.argmax())
    extra = table.information_beyond(best, probabilities)
    extra[(extra < INFORMATIVE) | np.isinf(values)] = 0.0
    gaps = np.where(np.isinf(values), np.inf, values[best] - values)
    small = SMALL_GAP * table.scale.span
    scores = extra / (gaps + small)
    worth = np.maximum(max(small, paid), blind_gap * extra**2)
    least = 0.0 if table.tells[best] else LEAST_CHANCE
    chances: Floats = scores / max(float(scores.sum()), 1e-12)
    chances *= np.clip(worth / np.maximum(gaps, 1e-9), least, 1.0) * extra
    chances[best] = max(0.0, 1.0 - float(chances.sum()))  # not -1e-16
    return chances
