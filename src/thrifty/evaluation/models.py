"""Models of rewards, each fitted without the cases that it predicts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.evaluation.logged_cases import Floats, Integers, LoggedCases
from thrifty.evaluation.regression import Regression, fit_regression
from thrifty.evaluation.targets import Followed

N_FOLDS = 3


def draw_folds(n_cases: int, rng: np.random.Generator) -> Integers:
    """Return the fold of every case, at random.

    Parameters
    ----------
    n_cases : int
        Number of cases.
    rng : Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (n,)
        Folds, counted from 0; their sizes differ by at most one.

    Examples
    --------
    >>> sorted(draw_folds(6, np.random.default_rng(1)).tolist())
    [0, 0, 1, 1, 2, 2]
    """
    return rng.permutation(np.arange(n_cases) % N_FOLDS)


def expected_rewards(
    log: LoggedCases,
    followed: Followed,
    weights: Floats,
    folds: Integers,
    rng: np.random.Generator,
) -> Floats:
    """Return the expected reward of the target's action, given all that the log shows of a case.

    Whether a value was bought depended on values that the case shows. So cases with the same known
    values have the same expected reward, whatever else the log did, and a single model serves all
    patterns of missing values. It is shifted so that its weighted mean error is 0 in the cases that
    it was fitted to, which helps where it is poor.

    Parameters
    ----------
    log : LoggedCases
        The cases.
    followed : Followed
        What the target does.
    weights : array of float, shape (n,)
        Weights for purchases and action.
    folds : array of int, shape (n,)
        Fold of each case, whose prediction comes from the other folds.
    rng : Generator
        Source of randomness.

    Returns
    -------
    array of float, shape (n,)
        Rewards in money; 0 in cases that do not show the target's action.
    """
    expected = np.zeros(log.n_cases)
    low, high = log.problem.rewards.low, log.problem.rewards.high
    for action in np.unique(followed.actions[followed.shown]).tolist():
        taken = log.actions == action
        wanted = followed.shown & (followed.actions == action)
        for fold in range(N_FOLDS):
            rows = np.flatnonzero(taken & (folds != fold))
            inside = np.flatnonzero(wanted & (folds == fold))
            model = fit_regression(log.codes[rows], log.rewards[rows], rng)
            shift = _mean_error(model, log, rows[weights[rows] > 0], weights)
            expected[inside] = (model.predict(log.codes[inside]) + shift).clip(low, high)
    return expected


def _mean_error(
    model: Regression, log: LoggedCases, rows: NDArray[np.intp], weights: Floats
) -> float:
    """Return the weighted mean error of a model in the cases that the target may meet."""
    if not rows.size:
        return 0.0
    errors = log.rewards[rows] - model.predict(log.codes[rows])
    return float(np.average(errors, weights=weights[rows]))


def expected_gains(
    log: LoggedCases, gains: Floats, weights: Floats, folds: Integers, rng: np.random.Generator
) -> Floats:
    """Return what the target is expected to gain, given the free values alone.

    Parameters
    ----------
    log : LoggedCases
        The cases.
    gains : array of float, shape (n,)
        Expected gain of the cases that show what the target looks at.
    weights : array of float, shape (n,)
        What each case counts for; 0 in cases that do not show what the target looks at.
    folds : array of int, shape (n,)
        Fold of each case, whose prediction comes from the other folds.
    rng : Generator
        Source of randomness.

    Returns
    -------
    array of float, shape (n,)
        Gains in money, for all cases.
    """
    expected = np.zeros(log.n_cases)
    codes = log.codes[:, log.free]
    for fold in range(N_FOLDS):
        rows = np.flatnonzero((folds != fold) & (weights > 0))
        inside = folds == fold
        if not rows.size:
            continue
        if not codes.shape[1]:
            expected[inside] = float(np.average(gains[rows], weights=weights[rows]))
            continue
        model = fit_regression(codes[rows], gains[rows], rng, weights[rows])
        expected[inside] = model.predict(codes[inside])
    return expected
