r"""Inverse propensity weighting: logged gains of cases in which the target acts as the log did.

    weighted         = mean of w u (reward - cost)
    self-normalised  = sum of w u (reward - cost) / sum of w u

The weights make up for all decisions of the target that the log does not show. The first is
unbiased. The second has a bias that vanishes as the log grows; it does not depend on where rewards
have their zero, and its error is mostly much smaller.
"""

from __future__ import annotations

import numpy as np

from thrifty.evaluation.logged_cases import Floats


def weighted_scores(gains: Floats, weights: Floats) -> Floats:
    """Return a score for each case, whose mean is the weighted estimate.

    Parameters
    ----------
    gains : array of float, shape (n,)
        Logged reward minus what the target pays.
    weights : array of float, shape (n,)
        Weights for purchases and action.

    Returns
    -------
    array of float, shape (n,)
        Scores in money.

    Examples
    --------
    >>> weighted_scores(np.array([4.0, 1.0]), np.array([2.0, 0.0])).mean()
    np.float64(4.0)
    """
    return weights * gains


def self_normalised_scores(gains: Floats, weights: Floats) -> Floats:
    """Return a score for each case, whose mean is the self-normalised estimate.

    The score of a case is the estimate plus the influence of the case on it, so that the standard
    error of the mean is that of the estimate.

    Parameters
    ----------
    gains : array of float, shape (n,)
        Logged reward minus what the target pays.
    weights : array of float, shape (n,)
        Weights for purchases and action; one of them is positive.

    Returns
    -------
    array of float, shape (n,)
        Scores in money.

    Examples
    --------
    >>> self_normalised_scores(np.array([4.0, 1.0, 7.0]), np.array([2.0, 2.0, 0.0])).mean()
    np.float64(2.5)
    """
    estimate = float(np.average(gains, weights=weights))
    influence: Floats = weights * (gains - estimate) / weights.mean()
    return estimate + influence
