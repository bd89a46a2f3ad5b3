"""What to do in a stream of cases by models that are fitted again after each tenth of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from thrifty.plans.bank import Bank
from thrifty.plans.cases import Integers, PastCases
from thrifty.plans.learning import Learnt

TENTHS = 10
MIN_TO_LEARN = 20
"""With fewer cases no model is fitted: the action that was best so far is taken."""


def refitted_actions(
    cases: PastCases, *, seed: int, kinds: Iterable[str] = ("everything",)
) -> dict[str, Integers]:
    """Return the actions of strategies that know the outcomes of all earlier cases.

    Parameters
    ----------
    cases : PastCases
        Cases in their order.
    seed : int
        Random seed of the models.
    kinds : iterable of str
        "everything", "nothing" or both: what is bought in every case.

    Returns
    -------
    dict
        Actions of every case, (T,), by kind.
    """
    actions = {kind: best_so_far(cases) for kind in kinds}
    for rows in np.array_split(np.arange(cases.n_cases), TENTHS)[1:]:
        if rows.size and rows[0] >= MIN_TO_LEARN:
            earlier = Learnt(Bank(cases.subset(np.arange(rows[0])), seed=seed))
            for kind, found in actions.items():
                found[rows] = getattr(earlier, kind).decide(cases.codes[rows]).actions
    return actions


def best_so_far(cases: PastCases) -> Integers:
    """Return for every case the action that would have earned most in the cases before it."""
    happened = np.eye(cases.rewards.shape[1])[cases.outcomes]
    # One case of every outcome to begin with, so that the first action is not arbitrary.
    before = happened.cumsum(axis=0) - happened + 1
    best: Integers = (before @ cases.rewards.T).argmax(axis=1)
    return best
