r"""Weights for purchases: a case that shows what the target looks at stands for others.

Let S(x) be what the target looks at in a case with the values x, and let tau be the logged sequence
of purchases, with probability P(tau | x), which depends on values that it shows. The weight is

    w = 1{tau shows S(x)} q(tau | x) / P(tau | x)

with a reference q: for every x a distribution over the sequences that show S(x), computable from
what these show. Then the expectation of w, given x and the rewards of all actions, is

    sum over tau that show S(x) of P(tau | x) q(tau | x) / P(tau | x) = sum of q(tau | x) = 1

if P(tau | x) > 0 wherever q(tau | x) > 0. So weighted means are unbiased, whatever q is. The best q
is P itself, restricted to sequences that show S(x): the weight is then 1 over the probability that
the log shows S(x). That probability is not in a log, which has P(tau | x) for the logged tau alone.
Here q is estimated, from other folds of the cases, by shares of the sequences among cases that show
what the target looks at, in cells of values that all these sequences show. A bad estimate of q
costs precision, not bias. If features were decided one by one, the best q is known: purchases that
the target needs are made, all others are those of the log. Their probabilities cancel.
"""

from __future__ import annotations

import numpy as np

from thrifty.evaluation.cells import MAX_FITTED, find_cells, known_everywhere
from thrifty.evaluation.logged_cases import Floats, Integers, LoggedCases
from thrifty.evaluation.target_costs import by_set
from thrifty.evaluation.targets import Followed

Rows = np.ndarray[tuple[int], np.dtype[np.intp]]

RARE = 0.05
"""Sequences less frequent than this share of the most frequent one in a cell are not used."""


def purchase_weights(log: LoggedCases, followed: Followed, folds: Integers) -> Floats:
    """Return the weight of every case for what the target looks at.

    Parameters
    ----------
    log : LoggedCases
        The cases.
    followed : Followed
        What the target looks at.
    folds : array of int, shape (n,)
        Fold of each case. Its weight depends on q of the other folds.

    Returns
    -------
    array of float, shape (n,)
        Weights; 0 in cases that do not show what the target looks at.
    """
    if log.feature_probabilities is not None:
        needed = np.where(followed.bought, log.feature_probabilities, 1.0)
        return np.where(followed.shown, 1.0 / needed.prod(axis=1), 0.0)
    assert log.purchase_probabilities is not None
    return reference_shares(log, followed, folds) / log.purchase_probabilities


def reference_shares(log: LoggedCases, followed: Followed, folds: Integers) -> Floats:
    """Return q(tau | x), the share of each case's sequence of purchases.

    Parameters
    ----------
    log : LoggedCases
        The cases.
    followed : Followed
        What the target looks at.
    folds : array of int, shape (n,)
        Fold of each case.

    Returns
    -------
    array of float, shape (n,)
        Shares; 0 in cases that do not show what the target looks at.
    """
    shares = np.zeros(log.n_cases)
    rows = np.flatnonzero(followed.shown)
    for _, members in by_set(followed.bought[rows]):
        fill_shares(shares, log, rows[members], folds)
    return shares


def fill_shares(shares: Floats, log: LoggedCases, rows: Rows, folds: Integers) -> None:
    """Fill q(tau | x) of cases that show a set which the target looks at.

    Parameters
    ----------
    shares : array of float, shape (n,)
        Shares, which are filled in the rows of these cases.
    log : LoggedCases
        All cases of the log.
    rows : array of int
        Positions of cases that show the set.
    folds : array of int, shape (n,)
        Fold of each case. Its share comes from the other folds.
    """
    names, classes = np.unique(log.purchase_classes[rows], return_inverse=True)
    if len(names) == 1 and len(np.unique(folds[rows])) > 1:
        shares[rows] = 1.0
        return
    columns = known_everywhere(log.settled[rows] | log.free)
    codes = log.codes[rows]
    for fold in np.unique(folds[rows]).tolist():
        inside = folds[rows] == fold
        outside = np.flatnonzero(~inside)
        if not outside.size:
            continue  # this purchase was made in one fold only, so its cases are not used
        fitted = _thinned(outside)
        cells = find_cells(codes[fitted], classes[fitted], columns, len(names))
        for node, share in cells.shares.items():
            kept = np.where(share < RARE * share.max(), 0.0, share)
            cells.shares[node] = kept / kept.sum()
        shares[rows[inside]] = cells.shares_of(codes[inside], classes[inside])


def _thinned(rows: Rows) -> Rows:
    """Return at most `MAX_FITTED` of the rows, evenly spread."""
    step = max(1, -(-len(rows) // MAX_FITTED))
    return rows[::step]


def action_weights(log: LoggedCases, followed: Followed) -> Floats:
    """Return 1 over the probability of the action if the target takes it too, and otherwise 0.

    Parameters
    ----------
    log : LoggedCases
        The cases.
    followed : Followed
        What the target does.

    Returns
    -------
    array of float, shape (n,)
        Weights.

    Examples
    --------
    >>> from thrifty.problem import Problem
    >>> problem = Problem.anonymous(levels=(2,), n_actions=2)
    >>> seen = problem, [[0], [0]], [[True], [True]], [True]
    >>> log = LoggedCases(*seen, [0, 1], [1, 0], [[0.0], [0.0]], [0.5, 0.25], [1, 1])
    >>> followed = Followed(np.full((2, 1), -1), np.ones(2, np.bool_), np.array([1, 1]))
    >>> action_weights(log, followed).tolist()
    [0.0, 4.0]
    """
    same = followed.shown & (followed.actions == log.actions)
    return np.where(same, 1.0 / log.action_probabilities, 0.0)
