r"""The doubly robust method: the direct method, corrected by the model's errors in logged cases.

    score = direct score + w u (logged reward - m(logged values, a))

`w` is the weight of `purchase_weights`, `u` that of `action_weights`. With true probabilities the
expectation of `w` is 1 given x, and that of `w u f` is the same as of `w f` at the target's action.
So all terms with the models `m` and `v` cancel in expectation: the estimate is unbiased whatever
they say, because each is fitted without the case that it predicts, and the better they are, the
narrower the interval.
"""

from __future__ import annotations

from thrifty.evaluation.logged_cases import Floats


def doubly_robust_scores(
    direct: Floats, logged: Floats, expected: Floats, weights: Floats
) -> Floats:
    """Return a score for each case, whose mean is the estimate.

    Parameters
    ----------
    direct : array of float, shape (n,)
        Scores of the direct method.
    logged : array of float, shape (n,)
        Logged rewards.
    expected : array of float, shape (n,)
        Expected reward of the target's action, given the logged values.
    weights : array of float, shape (n,)
        Weights for purchases and action.

    Returns
    -------
    array of float, shape (n,)
        Scores in money.

    Examples
    --------
    >>> import numpy as np
    >>> doubly_robust_scores(
    ...     np.array([5.0, 3.0]), np.array([6.0, 9.0]), np.array([5.0, 0.0]), np.array([2.0, 0.0])
    ... ).tolist()
    [7.0, 3.0]
    """
    return direct + weights * (logged - expected)
