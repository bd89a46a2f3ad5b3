"""Larger sets grow from the heaviest ones: numbers to check by hand, the twin, what never happens.

Tables are made so small that only single features fit, with room for a few larger sets. What is
changed for that is read by Python alone, when tables are made.
"""

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_scout
from thrifty.kernels.runtime.arrays import NONE
from thrifty.kernels.scout import growth, model_weights, subsets, wide_rounds
from thrifty.kernels.scout.growth import GROWTH_INTERVAL, MIN_EXTRA_ROUNDS
from thrifty.kernels.scout.model_weights import PRIOR_PULLS
from thrifty.kernels.scout.subsets import MAX_CELLS, NO_SET

repeatable = settings(derandomize=True, deadline=None, max_examples=40)

grow = numba.njit(
    lambda state, tables, weights, rounds, in_use, most, mean, phi: growth.grow(
        state, tables, weights, rounds, in_use, most, mean, phi
    )
)


def _play(tables: Any, weights: Any, rounds: Any, codes: Any, action: int, reward: float) -> None:
    """Let a blind round that saw everything be weighed, learnt and written down."""
    observed = (1 << codes.size) - 1
    subsets.find_cells(tables, observed, codes)
    model_weights.weigh(tables, weights, 0, observed, action, reward, 0.5, 1.0)
    subsets.learn(tables, 0, observed, action, reward)
    wide_rounds.record_round(rounds, codes, observed, 0, action, reward)


play = numba.njit(_play)
close = numba.njit(lambda rounds: wide_rounds.close(rounds))


class Pieces:
    """The tables of single features, the weights, the log, and room for so many larger sets."""

    def __init__(self, levels: tuple[int, ...], n_actions: int = 1, places: int = 3) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subsets, "MAX_MEANS", 1)
            patch.setattr(subsets, "MAX_MEANS_WHEN_GROWING", 1)
            patch.setattr(subsets, "MAX_GROWN_SETS", places)
            self.tables = subsets.initial(np.array(levels, np.int64), n_actions, len(levels))
        n = len(levels)
        sizes = np.array([0] + [1] * n + [NONE] * places)
        self.levels, self.fixed = levels, n + 1
        self.weights = model_weights.initial(sizes, n, n)
        self.rounds = wide_rounds.initial(n)
        self.growth = growth.initial(n_actions)

    def play(self, codes: tuple[int, ...], action: int, reward: float) -> None:
        play(self.tables, self.weights, self.rounds, np.array(codes), action, reward)

    def grow(self, *, in_use: int = 0, most: int | None = None) -> int:
        most = most or len(self.levels)
        pieces = (self.growth, self.tables, self.weights, self.rounds)
        return int(grow(*pieces, np.int64(in_use), most, 0.5, 1.0))

    @property
    def grown(self) -> list[int]:
        found: list[int] = self.tables.masks[self.fixed :].tolist()
        return found


# By hand: two features of two levels, rewards of 1 where they differ.


def differing(rounds: int = 2 * MIN_EXTRA_ROUNDS) -> Pieces:
    pieces = Pieces((2, 2))
    for t in range(rounds):
        codes = (t % 2, t // 2 % 2)
        pieces.play(codes, 0, float(codes[0] != codes[1]))
    return pieces


def score_by_hand(pieces: Pieces, features: tuple[int, ...], rounds: int) -> float:
    """Add up how well a set would have predicted, learning as it goes."""
    tables = pieces.tables
    centre = (tables.wide_sums[0, 0] + 0.5) / (tables.wide_pulls[0, 0] + 1)
    seen: dict[tuple[int, ...], list[float]] = {}
    total = 0.0
    for t in range(rounds):
        codes = (t % 2, t // 2 % 2)
        reward = float(codes[0] != codes[1])
        rewards = seen.setdefault(tuple(codes[i] for i in features), [])
        p = (sum(rewards) + PRIOR_PULLS * centre) / (len(rewards) + PRIOR_PULLS)
        total += math.log(p if reward == 1 else 1 - p)
        rewards.append(reward)
    return total


def test_nobody_grows_before_there_are_a_few_rounds() -> None:
    pieces = differing(MIN_EXTRA_ROUNDS - 1)
    assert pieces.grow() == NONE
    pieces.play((0, 1), 0, 1.0)
    assert pieces.grow() == pieces.fixed


def test_a_child_begins_with_the_weight_that_it_would_have_had() -> None:
    n = 2 * MIN_EXTRA_ROUNDS
    pieces = differing(n)
    pieces.weights.log[: pieces.fixed] = np.log([0.2, 0.3, 0.5])
    place = pieces.grow()
    # There are two parents; the lighter one grows first, and the prior of pairs is twice theirs.
    lead = score_by_hand(pieces, (0, 1), n) - score_by_hand(pieces, (0,), n)
    weight = 0.3 * math.exp(lead) * (1 / 3) / (1 / 6)
    assert pieces.grown == [0b11, NO_SET, NO_SET]
    expected = np.array([0.2, 0.3, 0.5, weight]) / (1 + weight)
    assert np.exp(pieces.weights.log[: place + 1]).tolist() == pytest.approx(expected.tolist())
    assert math.exp(pieces.weights.prior[place]) == pytest.approx(1 / 3)


def test_a_child_knows_what_the_log_teaches() -> None:
    pieces = differing(10)
    place = pieces.grow()
    start = pieces.tables.offsets[place]
    # Rounds 0 to 9 see the states 00, 10, 01, 11 in turn.
    assert pieces.tables.wide_pulls[start : start + 4, 0].tolist() == [3, 3, 2, 2]
    assert pieces.tables.wide_sums[start : start + 4, 0].tolist() == [0, 3, 2, 0]
    assert pieces.tables.pulls[start : start + 4].tolist() == [[3], [3], [2], [2]]


def test_one_parent_grows_at_a_time_and_then_more_rounds_are_needed() -> None:
    pieces = Pieces((2,) * 3)
    rng = np.random.default_rng(0)
    for _ in range(MIN_EXTRA_ROUNDS):
        pieces.play(tuple(rng.integers(0, 2, 3).tolist()), 0, float(rng.random()))
    pieces.weights.log[1:4] = [-1.0, -2.0, -3.0]
    for left in (2, 1, 0):
        pieces.grow()
        assert pieces.growth.book.tolist() == [MIN_EXTRA_ROUNDS, left]
    needed = math.ceil(GROWTH_INTERVAL * MIN_EXTRA_ROUNDS + MIN_EXTRA_ROUNDS)
    for _ in range(needed - MIN_EXTRA_ROUNDS):
        assert pieces.grow() == NONE
        assert pieces.growth.book.tolist() == [MIN_EXTRA_ROUNDS, 0]
        pieces.play(tuple(rng.integers(0, 2, 3).tolist()), 0, float(rng.random()))
    pieces.grow()
    assert pieces.growth.book[0] == needed


def test_of_sets_that_weigh_the_same_one_is_a_parent() -> None:
    pieces = Pieces((2,) * 4)
    for _ in range(MIN_EXTRA_ROUNDS):
        pieces.play((0, 0, 0, 0), 0, 0.5)
    pieces.weights.log[1:5] = [-1.0, -2.0, -2.0, -3.0]
    pieces.grow()
    assert pieces.growth.parents[:3].tolist() == [0b1000, 0b0010, 0b0001]


def test_after_a_restart_a_few_rounds_suffice_again() -> None:
    pieces = differing(50)
    while pieces.growth.book[0] == 0 or pieces.growth.book[1] > 0:
        pieces.grow()
    close(pieces.rounds)
    for t in range(MIN_EXTRA_ROUNDS):
        assert pieces.grow() == NONE
        pieces.play((t % 2, 0), 0, 0.5)
    pieces.grow()
    assert pieces.growth.book[0] == MIN_EXTRA_ROUNDS


def test_the_lightest_loses_its_place_unless_it_is_in_use() -> None:
    pieces = Pieces((2, 2, 2), places=2)
    for t in range(3 * MIN_EXTRA_ROUNDS):
        codes = (t % 2, t // 2 % 2, t // 4 % 2)
        pieces.play(codes, 0, float(codes[0] != codes[1]))
    tables, weights = pieces.tables, pieces.weights
    for place, mask, log in ((4, 0b101, -30.0), (5, 0b011, -20.0)):
        tables.masks[place], weights.log[place] = mask, log
    pieces.growth.book[1], pieces.growth.parents[0] = 1, 0b010
    assert pieces.grow(in_use=0b101) == 5  # the second feature has one pair left
    assert pieces.grown == [0b101, 0b110]


def test_a_child_lighter_than_all_gets_no_place() -> None:
    pieces = Pieces((2, 2, 2), places=1)
    for t in range(MIN_EXTRA_ROUNDS):
        pieces.play((t % 2, 0, 0), 0, 0.5)
    pieces.tables.masks[4], pieces.weights.log[4] = 0b111, 5.0
    assert [pieces.grow() for _ in range(3)] == [NONE] * 3
    assert pieces.grown == [0b111]


def test_no_set_gets_more_than_the_most_features() -> None:
    pieces = differing()
    assert pieces.grow(most=1) == NONE
    assert pieces.grown == [NO_SET] * 3


def test_a_parent_of_too_many_partial_states_does_not_grow() -> None:
    pieces = Pieces((MAX_CELLS + 1, 2, MAX_CELLS // 2))
    rng = np.random.default_rng(0)
    for _ in range(MIN_EXTRA_ROUNDS):
        pieces.play(tuple(rng.integers(0, pieces.levels).tolist()), 0, float(rng.random()))
    pieces.weights.log[1:4] = [-1.0, -2.0, -3.0]  # else the first would tie with the last
    for left in (2, 1, 0):
        pieces.grow()
        assert pieces.growth.book[1] == left
    assert pieces.growth.parents[0] == 0b100
    assert pieces.grown == [0b011, NO_SET, NO_SET]
    assert len(pieces.growth.pulls) == MAX_CELLS


# The twin.


@st.composite
def logs(draw: Any) -> tuple[tuple[int, ...], list[naive_scout.WideRound]]:
    levels = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4).map(tuple))
    played = []
    for _ in range(draw(st.integers(MIN_EXTRA_ROUNDS, 20))):
        codes = tuple(draw(st.integers(0, n - 1)) for n in levels)
        played.append(
            naive_scout.WideRound(codes, (), draw(st.integers(0, 1)), draw(st.floats(0, 1)))
        )
    return levels, played


@repeatable
@given(logs())
def test_the_best_child_like_the_twin(given: Any) -> None:
    levels, log = given
    n, pieces = len(levels), Pieces(levels, 2)
    for round_ in log:
        pieces.play(round_.codes, round_.action, round_.reward)
    before = dict(zip(pieces.tables.masks.tolist(), pieces.weights.log.tolist(), strict=True))
    place = pieces.grow()
    parent = int(pieces.growth.parents[pieces.growth.book[1]])
    (one,) = (i for i in range(n) if parent >> (n - 1 - i) & 1)
    totals = [[round_.reward for round_ in log if round_.action == a] for a in range(2)]
    centres = [(sum(rewards) + 0.5) / (len(rewards) + 1) for rewards in totals]
    children = [tuple(sorted((one, i))) for i in range(n) if i != one]
    leads = naive_scout.leads((one,), children, log, centres)
    child = sum(
        1 << (n - 1 - i) for i in max(children, key=lambda members: round(leads[members], 9))
    )
    assert place == pieces.fixed
    assert max(leads.values()) == pytest.approx(
        leads[tuple(i for i in range(n) if pieces.grown[0] >> (n - 1 - i) & 1)], abs=1e-9
    )
    if len({round(lead, 9) for lead in leads.values()}) == len(leads):
        assert pieces.grown[0] == child
    prior = naive_scout.log_prior(2, n, n) - naive_scout.log_prior(1, n, n)
    log_weight = before[parent] + max(leads.values()) + prior
    assert pieces.weights.log[place] - pieces.weights.log[0] == pytest.approx(
        log_weight - before[0], abs=1e-8
    )


# What never happens, whatever is played.


@repeatable
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 4))
def test_places_sizes_and_tables(seed: int, most: int, places: int) -> None:
    rng, pieces = np.random.default_rng(seed), Pieces((2, 3, 2, 2), 2, places)
    tables, weights = pieces.tables, pieces.weights
    for t in range(60):
        codes = tuple(rng.integers(0, pieces.levels).tolist())
        reward = float(rng.random() < (0.9 if (codes[0] + codes[1] + codes[3]) % 2 else 0.1))
        pieces.play(codes, int(rng.integers(2)), reward)
        in_use = int(rng.choice(tables.masks[tables.masks != NO_SET]))
        changed = pieces.grow(in_use=in_use, most=most)
        having = [mask for mask in tables.masks.tolist() if mask != NO_SET]
        assert len(set(having)) == len(having)
        assert in_use in having
        assert max(mask.bit_count() for mask in having) <= max(most, 1)
        assert changed == NONE or changed >= pieces.fixed
        assert np.exp(weights.log).sum() == pytest.approx(1, abs=1e-2 if changed == NONE else 1e-9)
        for place in range(pieces.fixed, len(tables.masks)):
            if tables.masks[place] != NO_SET:  # every round was blind and saw everything
                start, stop = tables.offsets[place : place + 2]
                assert tables.wide_pulls[start:stop].sum() == t + 1
                assert tables.wide_sums[start:stop].sum() == pytest.approx(
                    tables.wide_sums[0].sum()
                )


def test_two_features_that_matter_only_together_are_found() -> None:
    # All single features are parents, so that the pair is offered. It is worth log 2 - H(0.1), or
    # 0.37 a round, more than nothing; another feature makes eight more means, which cost about
    # log(300)/2 each to learn. So after 300 rounds nothing comes near the pair.
    for seed in range(10):
        rng, pieces = np.random.default_rng(seed), Pieces((2,) * 6, 2, 8)
        for _ in range(300):
            codes, action = rng.integers(0, 2, 6), int(rng.integers(2))
            good = (codes[2] + codes[5]) % 2 == action
            pieces.play(tuple(codes.tolist()), action, float(rng.random() < (0.9 if good else 0.1)))
            pieces.grow()
        assert pieces.tables.masks[np.argmax(pieces.weights.log)] == 0b001001
