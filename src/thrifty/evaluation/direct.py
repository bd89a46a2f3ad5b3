r"""The direct method: a model's rewards instead of logged ones.

    score = v(free values) + w (m(logged values, a) - cost - v(free values))

`m` is the expected reward of the target's action, `v` the expected gain given the free values, and
`w` the weight of `purchase_weights`. No action has to agree with the log, so all cases that show
what the target looks at count, and the interval is narrow. It is wrong if `m` is wrong, and the
interval does not show that.
"""

from __future__ import annotations

from thrifty.evaluation.logged_cases import Floats


def direct_scores(
    rewards: Floats, costs: Floats, by_free_values: Floats, purchases: Floats
) -> Floats:
    """Return a score for each case, whose mean is the estimate.

    Parameters
    ----------
    rewards : array of float, shape (n,)
        Expected reward of the target's action, given the logged values.
    costs : array of float, shape (n,)
        What the target pays.
    by_free_values : array of float, shape (n,)
        Expected gain of the target, given the free values.
    purchases : array of float, shape (n,)
        Weights for purchases; rewards and costs count only where they are positive.

    Returns
    -------
    array of float, shape (n,)
        Scores in money.

    Examples
    --------
    >>> import numpy as np
    >>> direct_scores(
    ...     np.array([5.0, 0.0]), np.array([1.0, 0.0]), np.array([3.0, 3.0]), np.array([2.0, 0.0])
    ... ).tolist()
    [5.0, 3.0]
    """
    return by_free_values + purchases * (rewards - costs - by_free_values)
