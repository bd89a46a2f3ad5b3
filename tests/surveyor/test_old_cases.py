"""Old cases help while the world is as it was, and are left out after it has turned round."""

from __future__ import annotations

import numpy as np
import pytest

from surveyor_cases import SCREENING, drawn_cases, joined
from thrifty.surveyor.old_cases import DEFAULT_SHARE, SHARES, share_of_old_cases


def share(
    n_new: int, *, chances: tuple[float, float], seed: int = 1, n_old: int = 300, n_hidden: int = 0
) -> float:
    """Return the share of old cases after new ones in which the test means something else."""
    old = drawn_cases(SCREENING, n_old, 100 + seed)
    new = drawn_cases(SCREENING, n_new, seed, chances=chances)
    cases = joined(old, new)
    possible = np.eye(2, dtype=np.bool_)[cases.outcomes]
    possible[len(possible) - n_hidden :] = True
    is_new = np.arange(cases.n_cases) >= n_old
    return share_of_old_cases(cases, possible, is_new, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(5))
def test_nothing_old_is_used_after_outcomes_turn_round(seed: int) -> None:
    assert share(30, chances=(0.1, 0.9), seed=seed) == 0.0


def test_old_cases_help_if_nothing_has_changed() -> None:
    found = [share(18, chances=(0.9, 0.1), seed=seed) for seed in range(9)]
    assert set(found) <= set(SHARES)
    assert np.median(found) == 1.0


def test_with_few_new_cases_a_tenth_is_used() -> None:
    assert share(14, chances=(0.1, 0.9)) == DEFAULT_SHARE
    assert share(20, chances=(0.1, 0.9), n_hidden=6) == DEFAULT_SHARE  # 14 with an outcome
    assert share(15, chances=(0.1, 0.9)) == 0.0


def test_without_old_cases_there_is_nothing_to_share() -> None:
    assert share(30, chances=(0.9, 0.1), n_old=0) == 0.0
