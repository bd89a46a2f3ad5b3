"""What sets are worth, with numbers to check by hand first."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_scout
from thrifty.kernels.scout import model_weights, set_values, subsets, wide_rounds
from thrifty.kernels.scout.set_values import OPTIMISM, PRIOR_PULLS, STATES, Comparison
from thrifty.kernels.scout.wide_rounds import WideRounds

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

note = numba.njit(
    lambda rounds, codes, observed: wide_rounds.record_round(rounds, codes, observed, 0, 0, 0.0)
)
predicted = numba.njit(
    lambda tables, weights, mean, observed, codes, a: set_values.predict(
        tables, weights, mean, observed, codes, a
    )
)
best_set = numba.njit(
    lambda tables, weights, rounds, comparison, prices, mean, budget: set_values.best_set(
        tables, weights, rounds, comparison, prices, mean, budget
    )
)
best_set_given = numba.njit(
    lambda tables, rounds, comparison, prices, budget, known: set_values.best_set_given(
        tables, rounds, comparison, prices, budget, known
    )
)
worth_given = numba.njit(
    lambda tables, rounds, comparison, prices, known: set_values.worth_given(
        tables, rounds, comparison, prices, known
    )
)
make_short_list = numba.njit(lambda weights: model_weights.make_short_list(weights))


def _learn(tables: Any, basis: Any, observed: Any, codes: Any, action: Any, reward: Any) -> None:
    subsets.find_cells(tables, observed, codes)
    subsets.learn(tables, basis, observed, action, reward)


learn = numba.njit(_learn)


def made(
    levels: tuple[int, ...], n_actions: int = 2
) -> tuple[subsets.Subsets, model_weights.Weights, WideRounds, Comparison]:
    tables = subsets.initial(np.array(levels, np.int64), n_actions, len(levels))
    sizes = [len(members) for members in naive_scout.sets_that_fit(levels, n_actions)]
    n = len(levels)
    weights = model_weights.initial(np.array(sizes), n, n)
    return tables, weights, wide_rounds.initial(n), set_values.initial(n_actions)


def mask(members: naive_scout.Set, n: int) -> int:
    return sum(1 << (n - 1 - i) for i in members)


# By hand: one feature of two levels, which tells the better of two actions.


def told_by_one_feature() -> tuple[subsets.Subsets, model_weights.Weights, WideRounds, Comparison]:
    tables, weights, rounds, comparison = made((2,))
    for state in (0, 1):
        for action in (0, 1):
            for _ in range(4):
                learn(tables, 0, 1, np.array([state]), action, float(state == action))
        note(rounds, np.array([state]), 1)
    weights.log[:] = np.log([0.25, 0.75])
    make_short_list(weights)
    return tables, weights, rounds, comparison


def test_nothing_is_known_before_the_first_round() -> None:
    tables, weights, rounds, comparison = made((2,))
    assert predicted(tables, weights, 0.5, 1, np.array([1]), 0) == (0.5, 0.0)
    assert best_set(tables, weights, rounds, comparison, np.array([0.1]), 0.5, np.inf) == (0, 0.0)


def test_means_are_averaged_by_weight() -> None:
    tables, weights, _, _ = told_by_one_feature()
    k = PRIOR_PULLS
    centre = (4 + k * 0.5) / (8 + k)  # both actions have had 4 of 8
    good = (4 + k * centre) / (4 + k)
    mean, number = predicted(tables, weights, 0.5, 1, np.array([1]), 1)
    assert mean == pytest.approx(0.25 * centre + 0.75 * good)
    assert number == pytest.approx(0.25 * 8 + 0.75 * 4)
    assert predicted(tables, weights, 0.5, 0, np.array([1]), 1) == pytest.approx((centre, 8.0))


@pytest.mark.parametrize(("price", "chosen"), [(0.1, 1), (0.9, 0)])
def test_the_feature_is_bought_if_it_is_worth_its_price(price: float, chosen: int) -> None:
    tables, weights, rounds, comparison = told_by_one_feature()
    k = PRIOR_PULLS
    centre = (4 + k * 0.5) / (8 + k)
    good = min(1, (4 + k * centre) / (4 + k) + OPTIMISM / math.sqrt(5))
    blind = centre + OPTIMISM / 3
    value = (blind, 0.25 * blind + 0.75 * good - price)[chosen]
    assert best_set(tables, weights, rounds, comparison, np.array([price]), 0.5, np.inf) == (
        chosen,
        pytest.approx(value),
    )
    assert comparison.compared[0] == 2
    assert comparison.candidates[:2].tolist() == [0, 1]
    assert comparison.worth[:2, 1].tolist() == [0.0, price]


@pytest.mark.parametrize("budget", [0.0, 0.03])
def test_a_feature_beyond_the_budget_is_worth_what_it_is_as_often_as_it_can_be_bought(
    budget: float,
) -> None:
    tables, weights, rounds, comparison = told_by_one_feature()
    _, value = best_set(tables, weights, rounds, comparison, np.array([0.1]), 0.5, np.inf)
    blind = comparison.worth[0, 0]
    chosen, less = best_set(tables, weights, rounds, comparison, np.array([0.1]), 0.5, budget)
    assert chosen == int(budget > 0)
    assert less == pytest.approx(blind + budget / 0.1 * (value - blind))


def test_a_set_that_was_never_seen_whole_is_worth_nothing() -> None:
    tables, weights, rounds, comparison = told_by_one_feature()
    rounds.observed[:] = 0
    assert best_set(tables, weights, rounds, comparison, np.array([0.0]), 0.5, np.inf)[0] == 0
    assert comparison.worth[1, 0] == -np.inf


def test_without_a_budget_a_priced_set_that_was_never_seen_whole_is_no_candidate() -> None:
    tables, weights, rounds, comparison = told_by_one_feature()
    rounds.observed[:] = 0
    chosen, value = best_set(tables, weights, rounds, comparison, np.array([0.1]), 0.5, 0.0)
    assert chosen == 0
    assert value == comparison.worth[0, 0]


def test_only_the_last_states_count() -> None:
    tables, weights, rounds, comparison = told_by_one_feature()
    for unseen in range(STATES + 1):
        best_set(tables, weights, rounds, comparison, np.array([0.0]), 0.5, np.inf)
        assert (comparison.worth[1, 0] == -np.inf) == (unseen >= STATES)
        note(rounds, np.array([-1]), 0)


def test_two_listed_sets_make_a_third_candidate() -> None:
    tables, weights, rounds, comparison = made((2, 2))
    weights.log[:] = np.log([0.1, 0.45, 0.45, 0.0001])
    make_short_list(weights)
    note(rounds, np.array([0, 1]), 0b11)
    best_set(tables, weights, rounds, comparison, np.zeros(2), 0.5, np.inf)
    assert comparison.candidates[: comparison.compared[0]].tolist() == [0, 1, 2, 3]


# The twin.


@st.composite
def learnt(draw: Any) -> tuple[Any, ...]:
    """Draw levels, rounds, weights, prices and the mean of blind rewards."""
    levels = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple))
    played = []
    for _ in range(draw(st.integers(1, 25))):
        seen = [draw(st.integers(0, 4)) > 0 for _ in levels]
        codes = tuple(
            draw(st.integers(0, n - 1)) if s else -1 for n, s in zip(levels, seen, strict=True)
        )
        basis = tuple(i for i in naive_scout.seen_in(codes) if draw(st.integers(0, 3)) == 0)
        played.append((codes, basis, draw(st.integers(0, 2)), draw(st.floats(0, 1))))
    logs = [draw(st.floats(-8, 0)) for _ in range(2 ** len(levels))]
    prices = [draw(st.floats(0, 0.3)) for _ in levels]
    budget = draw(st.one_of(st.just(math.inf), st.floats(0, 0.3)))
    return levels, played, logs, prices, draw(st.floats(0, 1)), budget


@repeatable
@given(learnt())
def test_like_the_twin(given: Any) -> None:
    levels, played, logs, prices, mean, budget = given
    tables, weights, rounds, comparison = made(levels, 3)
    twin, n, states = naive_scout.Tables(levels, 3), len(levels), []
    for codes, basis, action, reward in played:
        observed = naive_scout.seen_in(codes)
        learn(tables, mask(basis, n), mask(observed, n), np.array(codes), action, reward)
        twin.learn(basis, observed, codes, action, reward)
        note(rounds, np.array(codes), mask(observed, n))
        states.append(codes)
    weights.log[:] = logs
    make_short_list(weights)
    listed = naive_scout.short_list(dict(zip(twin.sets, logs, strict=True)))

    for codes in states:
        observed = naive_scout.seen_in(codes)
        for a in range(3):
            args = (mask(observed, n), np.array(codes), a)
            value, number = predicted(tables, weights, mean, *args)
            means = {members: twin.mean(members, codes, a, mean) for members in listed}
            pulls = {members: twin.pulls(members, codes, a) for members in listed}
            assert value == pytest.approx(naive_scout.average(listed, observed, means.__getitem__))
            assert number == pytest.approx(naive_scout.average(listed, observed, pulls.__getitem__))

    optimistic = naive_scout.optimistic_means(twin, listed, states, 3, mean)
    reward = {
        members: naive_scout.value_of_set(listed, optimistic, members)
        for members in naive_scout.candidates(listed, twin.sets)
    }
    price = {members: sum(prices[i] for i in members) for members in reward}
    worth = {
        members: naive_scout.within_budget(reward[members], price[members], reward[()], budget)
        for members in reward
    }
    best, value = best_set(tables, weights, rounds, comparison, np.array(prices), mean, budget)
    assert value == pytest.approx(max(worth.values()))
    assert worth[twin.sets[best]] == pytest.approx(value)
    compared = comparison.compared[0]
    assert [twin.sets[j] for j in comparison.candidates[:compared]] == list(reward)
    assert comparison.worth[:compared, 0].tolist() == pytest.approx(list(reward.values()))
    assert comparison.worth[:compared, 1].tolist() == pytest.approx(list(price.values()))


@repeatable
@given(learnt())
def test_means_and_values_are_rewards(given: Any) -> None:
    levels, played, logs, _, mean, _ = given
    tables, weights, rounds, comparison = made(levels, 3)
    n = len(levels)
    for codes, basis, action, reward in played:
        observed = mask(naive_scout.seen_in(codes), n)
        learn(tables, mask(basis, n), observed, np.array(codes), action, reward)
        note(rounds, np.array(codes), observed)
    weights.log[:] = logs
    make_short_list(weights)
    for codes, *_ in played:
        args = (mask(naive_scout.seen_in(codes), n), np.array(codes), 0)
        assert 0 <= predicted(tables, weights, mean, *args)[0] <= 1
    _, value = best_set(tables, weights, rounds, comparison, np.zeros(n), mean, np.inf)
    assert 0 <= value <= 1


# By hand: the first feature is free, and the second tells the better action where the first is 0.


def told_in_a_subgroup() -> tuple[subsets.Subsets, model_weights.Weights, WideRounds, Comparison]:
    tables, weights, rounds, comparison = made((2, 2))
    for codes in ([0, 0], [0, 1], [1, 0], [1, 1]):
        right = codes[1] if codes[0] == 0 else 0  # elsewhere action 0 is right
        for action in (0, 1):
            for _ in range(20):
                learn(tables, 0, 3, np.array(codes), action, float(action == right))
        note(rounds, np.array(codes), 3)
    weights.log[:] = np.log([0.01, 0.01, 0.01, 0.97])
    make_short_list(weights)
    return tables, weights, rounds, comparison


@pytest.mark.parametrize(("free", "bought"), [(0, 3), (1, 2)])
def test_the_set_depends_on_the_free_value(free: int, bought: int) -> None:
    tables, weights, rounds, comparison = told_in_a_subgroup()
    prices = np.array([0.0, 0.3])
    best_set(tables, weights, rounds, comparison, prices, 0.5, np.inf)
    known = np.array([free, -1])
    place = best_set_given(tables, rounds, comparison, prices, np.inf, known)
    assert tables.masks[place] == bought, "with the free feature: 2 alone, 3 with the second"


def test_the_value_given_free_values_by_hand() -> None:
    tables, weights, rounds, comparison = told_in_a_subgroup()
    prices = np.array([0.0, 0.3])
    best_set(tables, weights, rounds, comparison, prices, 0.5, np.inf)
    worth = worth_given(tables, rounds, comparison, prices, np.array([0, -1]))
    places = comparison.candidates[: comparison.compared[0]].tolist()
    masks = [int(tables.masks[j]) for j in places]
    nothing = masks.index(0)
    shares, means = comparison.shares, comparison.means
    listed = [k for k in range(int(comparison.counted[0])) if comparison.masks[k] & ~2 == 0]
    best = []
    for t in range(4):
        codes = rounds.states[3 - t]
        values = []
        for a in (0, 1):
            mixed = sum(shares[k] * means[k, t, a] for k in listed) / sum(shares[listed])
            cell = 20.0 * (1 if codes[0] == 0 or a == 0 else 0), 40.0  # of {first}, that action
            if codes[0] == 1:
                cell = (40.0 if a == 0 else 0.0), 40.0
            k = set_values.REFINED_PULLS
            values.append((cell[0] + k * mixed) / (cell[1] + k))
        best.append((int(codes[0]), max(values)))
    alike = [value for level, value in best if level == 0]
    prior = set_values.FREE_PRIOR
    expected = (sum(alike) + prior * sum(v for _, v in best) / 4) / (len(alike) + prior)
    assert worth[nothing, 0] == pytest.approx(expected)
    assert worth[nothing, 1] == 0.0
    assert worth[masks.index(3), 1] == pytest.approx(0.3), "what is free has no price"
