"""What features cost, and when a price has jumped."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import naive_scout
from thrifty.kernels.scout import prices

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

pay = numba.njit(lambda book, i, cost: prices.pay(book, i, cost, 1.0))
total = numba.njit(lambda book, mask: prices.total(book, mask))
means = numba.njit(lambda book, out: prices.means(book, 1.0, out))

FEWEST_UNTIL_ALARM = math.floor(prices.ALARM / (prices.MAX_STEP - prices.SLACK)) + 1
"""If each payment deviates by more than can be counted."""


def alarms(costs: list[float]) -> list[bool]:
    """Pay for one feature; return after which payments there was an alarm."""
    book = prices.initial(1)
    return [bool(pay(book, 0, cost)) for cost in costs]


def test_the_mean_of_what_was_paid() -> None:
    book = prices.initial(3)
    for cost in (0.1, 0.2, 0.6):
        pay(book, 1, cost)
    pay(book, 2, 0.05)
    out = np.empty(3)
    means(book, out)
    assert out.tolist() == pytest.approx([0.0, 0.3, 0.05])
    assert book["seen"].tolist() == [0, 3, 1]
    assert total(book, np.array([True, True, False])) == pytest.approx(0.3)
    assert total(book, np.array([False, True, True])) == pytest.approx(0.35)


def test_a_price_that_never_changes_gives_no_alarm() -> None:
    assert not any(alarms([0.05] * 300))
    assert not any(alarms([0.0] * 300))


def test_one_payment_counts_so_much_at_the_most() -> None:
    book = prices.initial(1)
    for cost in [0.1] * 20 + [0.5]:
        pay(book, 0, cost)
    assert (book["up"][0], book["down"][0]) == (prices.MAX_STEP - prices.SLACK, 0.0)


@pytest.mark.parametrize("after", [0.5, 0.0])
def test_a_jump_of_a_fixed_price_is_noticed_at_once(after: float) -> None:
    # The first payments after it make the price seem to vary, and so count for less.
    before = 20
    found = alarms([0.1] * before + [after] * 20)
    payments = found.index(True) + 1 - before
    assert FEWEST_UNTIL_ALARM <= payments <= 2 * FEWEST_UNTIL_ALARM
    assert sum(found) == 1


def test_after_an_alarm_the_mean_starts_afresh() -> None:
    book = prices.initial(1)
    for _ in range(20):
        pay(book, 0, 0.1)
    while not pay(book, 0, 0.5):
        assert book["mean"][0] < 0.3
    assert book["mean"][0] == 0.5
    assert book["seen"][0] == 1
    assert book["up"][0] == book["down"][0] == 0


def test_the_memory_is_limited() -> None:
    book = prices.initial(1)
    for _ in range(3 * prices.MEMORY):
        pay(book, 0, 0.1)
    assert book["seen"][0] == prices.MEMORY
    mean = book["mean"][0]
    pay(book, 0, 0.1001)
    assert book["mean"][0] - mean == pytest.approx(0.0001 / prices.MEMORY)


def test_two_payments_are_too_few_for_an_alarm() -> None:
    assert not any(alarms([0.0, 1.0, 0.0]))


COSTS = st.lists(
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.05, 0.3])), min_size=1, max_size=60
)


@repeatable
@given(COSTS)
def test_like_the_twin(costs: list[float]) -> None:
    twin, book = naive_scout.PriceBook(), prices.initial(2)
    for cost in costs:
        assert bool(pay(book, 1, cost)) == twin.pay(cost)
        assert book["mean"][1] == pytest.approx(twin.mean, abs=1e-12)
        assert book["up"][1] == pytest.approx(twin.up, abs=1e-9)
        assert book["down"][1] == pytest.approx(twin.down, abs=1e-9)
    assert book["seen"][0] == 0


@repeatable
@given(COSTS)
def test_mean_and_spread_are_those_of_the_payments_since_each_alarm(costs: list[float]) -> None:
    book, stretches = prices.initial(1), [[costs[0]]]
    pay(book, 0, costs[0])
    for cost in costs[1:]:
        if pay(book, 0, cost):
            stretches.append([cost])
        else:
            stretches[-1].append(cost)
    squares = sum(
        float(((np.array(stretch) - np.mean(stretch)) ** 2).sum()) for stretch in stretches
    )
    assert book["mean"][0] == pytest.approx(np.mean(stretches[-1]), abs=1e-12)
    assert book["squares"][0] == pytest.approx(squares, abs=1e-12)
    assert book["deviations"][0] == sum(len(stretch) - 1 for stretch in stretches)


@repeatable
@given(COSTS)
def test_the_mean_is_within_what_was_paid_and_the_sums_never_negative(costs: list[float]) -> None:
    book = prices.initial(1)
    for cost in costs:
        pay(book, 0, cost)
        assert min(costs) - 1e-12 <= book["mean"][0] <= max(costs) + 1e-12
        assert book["up"][0] >= 0
        assert book["down"][0] >= 0


def test_noisy_prices_rarely_give_a_false_alarm() -> None:
    # 1 % of runs of 100 payments at the most; more than that of ours with probability 1/10,000.
    rng, runs = np.random.default_rng(0), 300
    false = sum(any(alarms(rng.normal(0.3, 0.05, size=100).tolist())) for _ in range(runs))
    assert false <= binom.ppf(1 - 1e-4, runs, 0.01)


def test_a_jump_of_three_deviations_is_noticed_within_twenty_payments() -> None:
    # The sum grows by 3 - SLACK a payment, so that it reaches ALARM within about five of them.
    rng, noticed = np.random.default_rng(1), []
    for sign in (-1, 1):
        for _ in range(50):
            costs = np.concatenate(
                [rng.normal(0.3, 0.05, size=60), rng.normal(0.3 + sign * 0.15, 0.05, size=20)]
            )
            noticed.append(any(alarms(costs.tolist())[60:]))
    assert all(noticed)
