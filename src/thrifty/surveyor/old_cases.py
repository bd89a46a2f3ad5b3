"""How many cases from before a change still help to predict those after it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.cases import PastCases
from thrifty.surveyor.completion import fit_model

Bools = NDArray[np.bool_]

SHARES = (0.0, 0.1, 1.0)
"""Shares of the old cases that are compared."""
DEFAULT_SHARE = 0.1
"""Used while there are too few new cases."""
MIN_NEW = 15
N_FOLDS = 3
SMALLEST = 1e-3


def share_of_old_cases(
    cases: PastCases, possible: Bools, is_new: Bools, rng: np.random.Generator
) -> float:
    """Return the share of the old cases with which a model predicts the new ones best.

    Parameters
    ----------
    cases : PastCases
        Complete cases, in order; their outcomes are not used.
    possible : array of bool, shape (n, O)
        Outcomes that are possible in each case.
    is_new : array of bool, shape (n,)
        True for cases after the change.
    rng : Generator
        Source of randomness.

    Returns
    -------
    float
        One of `SHARES`.
    """
    labelled = possible.sum(axis=1) < possible.shape[1]
    new = np.flatnonzero(is_new & labelled)
    old = np.flatnonzero(~is_new & labelled)
    if not old.size:
        return 0.0
    if new.size < MIN_NEW:
        return DEFAULT_SHARE
    folds = np.arange(new.size) % N_FOLDS
    losses = []
    for share in SHARES:
        kept = old[:: round(1 / share)] if share > 0 else old[:0]
        loss = 0.0
        for fold in range(N_FOLDS):
            rows = np.concatenate([kept, new[folds != fold]])
            inside = new[folds == fold]
            model = fit_model(cases.subset(rows), possible[rows], rng)
            found = model.probabilities(cases.codes[inside])
            own = (found * possible[inside]).sum(axis=1)
            loss -= float(np.log(np.maximum(own, SMALLEST)).sum())
        losses.append(loss)
    return SHARES[int(np.argmin(losses))]
