"""The largest loss, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from surveyor_cases import LENDING
from thrifty.rounds import Observation
from thrifty.surveyor.beliefs import Beliefs
from thrifty.surveyor.evidence import Evidence
from thrifty.surveyor.loss_guard import LossGuard
from thrifty.surveyor.loss_limit import LossLimit
from thrifty.surveyor.purposes import CAUTION

NAN = float("nan")
REPAID, DEFAULT, EITHER = (np.array(x, np.bool_) for x in ([1, 0], [0, 1], [1, 1]))
APPROVE, DECLINE = range(2)


def guard(limit: float, repaid: int, defaults: int) -> LossGuard:
    """Approving earns 10 or -40, declining 0 and says nothing. Everything costs 1."""
    evidence = Evidence(LENDING)
    for outcome, n in ((REPAID, repaid), (DEFAULT, defaults)):
        for _ in range(n):
            evidence.outcome_counts.add(outcome)
    return LossGuard(evidence, LossLimit(1_000, amount=limit))


def take(kept: LossGuard, action: int, possible: np.ndarray, reward: float) -> None:
    """Count a case in which nothing was bought."""
    seen = Observation([-1, -1], [NAN, NAN], purpose=CAUTION)
    kept.count(seen, action, possible, reward, Beliefs(kept._evidence))


@pytest.mark.parametrize(
    ("repaid", "defaults", "compared"),
    [
        (8, 2, [APPROVE, DECLINE]),  # nearly the same
        (60, 40, [DECLINE]),  # approving loses 10 per case, with an error of 2.5
        (90, 10, [APPROVE]),  # and gains 5, with an error of 1.5
    ],
)
def test_gains_are_compared_with_all_actions_that_may_be_best(
    repaid: int, defaults: int, compared: list[int]
) -> None:
    assert guard(100.0, repaid, defaults).ledger.compared == compared


def test_a_loss_against_the_second_best_action_counts_as_long_as_that_may_be_the_best() -> None:
    """Approving seems best, but its defaults are a loss against declining."""
    kept = guard(100.0, repaid=9, defaults=1)
    assert kept.ledger.baseline == APPROVE
    for _ in range(2):
        take(kept, APPROVE, DEFAULT, -40.0)
    assert kept.ledger.over(APPROVE) == 0.0
    assert kept.ledger.surplus == -80.0
    # Another default would be a loss of 120. Declining is safe.
    assert kept.is_reached(0, clearness=0.0)
    assert kept.safe_actions(0).tolist() == [False, True]


def test_hidden_rewards_follow_the_estimate() -> None:
    """Ten cases were declined; what approving would have earned is estimated anew each time."""
    kept = guard(1_000.0, repaid=9, defaults=1)
    for _ in range(10):
        take(kept, DECLINE, EITHER, 0.0)
    for _ in range(3):
        values = kept._evidence.constant_values
        kept.compare()
        assert kept.ledger.over(DECLINE) == 0.0
        assert kept.ledger.over(APPROVE) == pytest.approx(10 * (values[DECLINE] - values[APPROVE]))
        kept._evidence.outcome_counts.add(DEFAULT)


def test_if_no_action_is_safe_the_one_is_taken_that_the_gain_is_farthest_below() -> None:
    kept = guard(10.0, repaid=9, defaults=2)
    kept.ledger.surpluses = [-12.0, -30.0]
    assert kept.safe_actions(0).tolist() == [False, True]
    kept.ledger.surpluses = [-31.0, -30.0]
    assert kept.safe_actions(0).tolist() == [True, False]


def test_if_no_action_is_safe_a_loss_that_is_known_counts_more_than_one_that_is_estimated() -> None:
    kept = guard(10.0, repaid=9, defaults=1)
    take(kept, DECLINE, EITHER, 0.0)  # what approving would have earned stays hidden
    kept.ledger.surpluses = [-50.0, -30.0]
    assert kept.ledger.over(APPROVE) < kept.ledger.over(DECLINE)
    assert kept.safe_actions(0).tolist() == [False, True]


def test_an_action_that_is_the_only_baseline_is_always_safe() -> None:
    kept = guard(10.0, repaid=60, defaults=40)
    kept.ledger.surpluses = [-12.0, -30.0]
    assert kept.ledger.compared == [DECLINE]
    assert kept.safe_actions(0).tolist() == [False, True]


def test_a_change_begins_the_comparison_again_with_the_least_surplus() -> None:
    kept = guard(100.0, repaid=9, defaults=1)
    take(kept, APPROVE, DEFAULT, -40.0)
    assert kept.ledger.baseline == APPROVE
    kept.begin_period()
    assert kept.ledger.surpluses == [-40.0, -40.0]


@pytest.mark.parametrize(("lost", "is_reached"), [(59.0, False), (60.0, True)])
def test_a_limit_that_was_given_has_no_exception(lost: float, is_reached: bool) -> None:
    """The next case may lose 41: 40 instead of 0, and 1 for everything."""
    kept = guard(100.0, repaid=60, defaults=40)
    assert kept.largest_case_loss == 41.0
    kept.ledger.surpluses = [0.0, -lost]
    assert kept.is_reached(0, clearness=9.0) == is_reached


@pytest.mark.parametrize(
    ("more", "clearness", "is_reached"),
    [
        (0.0, 0.0, False),
        (0.01, 0.0, True),
        (0.01, 2.0, False),
        (0.2, 2.0, True),
        (0.2, 4.0, False),
    ],
)
def test_a_clear_plan_may_lose_more_by_default(
    more: float, clearness: float, is_reached: bool
) -> None:
    kept = guard(100.0, repaid=60, defaults=40)
    kept.limit = LossLimit(1_000)
    kept.ledger.surpluses = [0.0, kept.largest_case_loss - (1 + more) * kept.allowed(0)]
    assert kept.is_reached(0, clearness) == is_reached
