"""Weights of the hypotheses, with numbers to check by hand first."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive_scout
from thrifty.kernels.runtime.arrays import NONE
from thrifty.kernels.scout import model_weights, subsets
from thrifty.kernels.scout.model_weights import MAX_LISTED, PRIOR_PULLS, SHARE, TEMPER

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

Ints = NDArray[np.int64]


def _weigh(tables: Any, weights: Any, observed: Any, rest: Any) -> None:
    """Find the cells, let the sets compete, and teach them."""
    basis, codes, action, reward, mean, phi = rest
    subsets.find_cells(tables, observed, codes)
    model_weights.weigh(tables, weights, basis, observed, action, reward, mean, phi)
    subsets.learn(tables, basis, observed, action, reward)


weigh = numba.njit(_weigh)
temper = numba.njit(lambda weights: model_weights.temper(weights))
normalise = numba.njit(lambda weights: model_weights.normalise(weights))
take_priors = numba.njit(lambda weights, tables: model_weights.take_priors(weights, tables))
make_short_list = numba.njit(lambda weights: model_weights.make_short_list(weights))


def made(levels: tuple[int, ...]) -> tuple[subsets.Subsets, model_weights.Weights]:
    tables = subsets.initial(np.array(levels, np.int64), 2, len(levels))
    sizes = [len(members) for members in naive_scout.sets_that_fit(levels, 2)]
    return tables, model_weights.initial(np.array(sizes), len(levels), len(levels))


def total(weights: model_weights.Weights) -> float:
    return float(np.exp(weights.log).sum())


# By hand.


def test_every_size_is_equally_likely_and_so_is_every_set_of_a_size() -> None:
    _, weights = made((2, 2, 2))
    expected = [1 / 4] + [1 / 12] * 6 + [1 / 4]
    assert np.exp(weights.prior).tolist() == pytest.approx(expected)
    assert weights.log.tolist() == pytest.approx(weights.prior.tolist())
    assert (weights.length[0], weights.listed[0], weights.shares[0]) == (1, 0, 1.0)


def test_of_many_features_the_prior_knows_sizes_that_have_no_place_yet() -> None:
    # Of ten features the sets of none and one have tables, and two places wait for larger ones.
    sizes = np.array([0] + [1] * 10 + [NONE, NONE])
    weights = model_weights.initial(sizes, 10, 3)
    by_size = [1 / 4, 1 / 4 / 10, 1 / 4 / 45, 1 / 4 / 120, 1 / 4 / 210]
    assert np.exp(weights.prior_of_size[:5]).tolist() == pytest.approx(by_size)
    assert np.exp(weights.prior[:2]).tolist() == pytest.approx(by_size[:2])
    assert (weights.prior[11:] == model_weights.NOTHING).all()
    assert np.exp(weights.log[:2]).tolist() == pytest.approx([1 / 2, 1 / 20])
    assert total(weights) == pytest.approx(1)


def test_grown_sets_take_the_priors_of_their_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsets, "MAX_MEANS", 15)
    monkeypatch.setattr(subsets, "MAX_MEANS_WHEN_GROWING", 15)
    monkeypatch.setattr(subsets, "MAX_GROWN_SETS", 2)
    tables = subsets.initial(np.array([2, 2, 2]), 1, 3)
    weights = model_weights.initial(np.array([0, 1, 1, 1, NONE, NONE]), 3, 3)
    assert tables.masks.tolist() == [0, 0b100, 0b010, 0b001, NONE, NONE]
    tables.masks[5] = 0b111
    take_priors(weights, tables)
    expected = [1 / 4, 1 / 12, 1 / 12, 1 / 12, 0, 1 / 4]
    assert np.exp(weights.prior).tolist() == pytest.approx(expected)


def test_where_nobody_competes_nothing_changes() -> None:
    # The action was drawn from both features, of which only single ones have tables.
    tables = subsets.initial(np.array([2, 2]), 2, 1)
    weights = model_weights.initial(np.array([0, 1, 1]), 2, 1)
    before = weights.log.copy()
    weigh(tables, weights, 0b11, (0b11, np.array([1, 0]), 0, 1.0, 0.5, 1.0))
    assert weights.log.tolist() == before.tolist()
    assert not tables.pulls.any()


def test_normalising_divides_by_the_total() -> None:
    _, weights = made((2,))
    weights.log[:] = np.log([2.0, 6.0])
    normalise(weights)
    assert np.exp(weights.log).tolist() == pytest.approx([0.25, 0.75])


def test_tables_that_predict_the_same_keep_their_weights() -> None:
    tables, weights = made((2,))
    weigh(tables, weights, 1, (0, np.array([1]), 0, 1.0, 0.5, 1.0))
    assert np.exp(weights.log).tolist() == pytest.approx([0.5, 0.5])


def test_one_feature_that_tells_everything() -> None:
    # Eight blind rewards of 1 in state 1 and eight of 0 in state 0, and another 1 in state 1: the
    # empty set predicts (8 + 1/2)/(16 + 1), the feature 8 of 8, shrunk_mean towards that.
    tables, weights = made((2,))
    tables.wide_pulls[:, 0] = [16, 8, 8]
    tables.wide_sums[:, 0] = [8, 0, 8]
    weigh(tables, weights, 1, (0, np.array([1]), 0, 1.0, 0.5, 1.0))
    empty = naive_scout.clip(8.5 / 17)
    feature = naive_scout.clip((8 + PRIOR_PULLS * 0.5) / (8 + PRIOR_PULLS))
    posterior = feature / (empty + feature)
    expected = (1 - SHARE) * posterior + SHARE / 2
    assert math.exp(weights.log[1]) == pytest.approx(expected)
    assert total(weights) == pytest.approx(1)


def test_a_share_of_half_the_reward_counts_half_of_each_likelihood() -> None:
    tables, weights = made((2,))
    tables.wide_pulls[:, 0], tables.wide_sums[:, 0] = [16, 8, 8], [8, 0, 8]
    weigh(tables, weights, 1, (0, np.array([1]), 0, 0.5, 0.5, 0.25))
    feature = naive_scout.clip((8 + PRIOR_PULLS * 0.5) / (8 + PRIOR_PULLS))
    ratio = (math.sqrt(feature * (1 - feature)) / 0.5) ** (1 / 0.25)
    expected = (1 - SHARE) * ratio / (1 + ratio) + SHARE / 2
    assert math.exp(weights.log[1]) == pytest.approx(expected)


def test_tempering_keeps_a_power_of_the_weights() -> None:
    _, weights = made((2,))
    weights.log[:] = np.log([0.1, 0.9])
    temper(weights)
    # The prior is the same for both, so that only the ratio's power is left.
    assert weights.log[1] - weights.log[0] == pytest.approx(TEMPER * math.log(9))
    assert total(weights) == pytest.approx(1)


def test_the_short_list() -> None:
    _, weights = made((2, 2))
    weights.log[:] = [-9.0, -1.0, -2.0, -0.5]
    weights.log[0] = -0.5 - 2 * model_weights.BAND
    assert make_short_list(weights) == pytest.approx(math.exp(-0.5))
    assert weights.listed[: weights.length[0]].tolist() == [0, 3, 1, 2]
    assert weights.shares[:4].tolist() == pytest.approx(np.exp(weights.log[[0, 3, 1, 2]]).tolist())
    weights.log[2] = -0.5 - model_weights.BAND
    make_short_list(weights)
    assert weights.listed[: weights.length[0]].tolist() == [0, 3, 1]


# Properties, and the twin.


@st.composite
def rounds(draw: Any) -> tuple[tuple[int, ...], list[tuple[Any, ...]]]:
    levels = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple))
    features = st.sets(st.integers(0, len(levels) - 1)).map(sorted).map(tuple)
    played = []
    for _ in range(draw(st.integers(1, 15))):
        observed = draw(features)
        codes = tuple(
            draw(st.integers(0, n - 1)) if i in observed else -1 for i, n in enumerate(levels)
        )
        basis = tuple(i for i in observed if draw(st.booleans()))
        reward = draw(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)))
        phi, mean = draw(st.floats(0.05, 1)), draw(st.floats(0.1, 0.9))
        played.append((codes, observed, basis, draw(st.integers(0, 1)), reward, mean, phi))
    return levels, played


def mask(members: naive_scout.Set, n: int) -> int:
    return sum(1 << (n - 1 - i) for i in members)


@repeatable
@given(rounds())
def test_weighing_like_the_twin(given: Any) -> None:
    levels, played = given
    tables, weights = made(levels)
    twin, n = naive_scout.Tables(levels, 2), len(levels)
    prior = {members: naive_scout.log_prior(len(members), n, n) for members in twin.sets}
    log_weights = naive_scout.normalised(prior)
    for codes, observed, basis, action, reward, mean, phi in played:
        rest = (mask(basis, n), np.array(codes), action, reward, mean, phi)
        weigh(tables, weights, mask(observed, n), rest)
        gains = {}
        for members in twin.sets:
            if naive_scout.between(basis, members, observed):
                p = naive_scout.clip(twin.mean_in_wide_rounds(members, codes, action, mean))
                gains[members] = naive_scout.log_likelihood(reward, p) / phi
        log_weights = naive_scout.weighed(log_weights, prior, gains)
        twin.learn(basis, observed, codes, action, reward)
        assert weights.log.tolist() == pytest.approx(list(log_weights.values()), abs=1e-8)
        assert total(weights) == pytest.approx(1)
    temper(weights)
    assert weights.log.tolist() == pytest.approx(
        list(naive_scout.tempered(log_weights, prior).values()), abs=1e-8
    )
    assert total(weights) == pytest.approx(1)


@repeatable
@given(rounds())
def test_the_competitors_keep_their_total_but_for_the_share(given: Any) -> None:
    levels, played = given
    tables, weights = made(levels)
    for codes, observed, basis, action, reward, mean, phi in played:
        n = len(levels)
        took_part = np.array([naive_scout.between(basis, s, observed) for s in sets_of(levels)])
        before = np.exp(weights.log)
        rest = (mask(basis, n), np.array(codes), action, reward, mean, phi)
        weigh(tables, weights, mask(observed, n), rest)
        after = np.exp(weights.log)
        prior = np.exp(weights.prior)
        kept = (after - SHARE * prior) / (1 - SHARE)
        assert kept[took_part].sum() == pytest.approx(before[took_part].sum(), abs=1e-9)
        assert kept[~took_part].tolist() == pytest.approx(before[~took_part].tolist(), abs=1e-9)
        assert (after >= SHARE * prior * (1 - 1e-9)).all()


def sets_of(levels: tuple[int, ...]) -> list[naive_scout.Set]:
    return naive_scout.sets_that_fit(levels, 2)


@repeatable
@given(st.lists(st.integers(-60, 0), min_size=32, max_size=32))
def test_the_list_like_the_twin(halves: list[int]) -> None:
    _, weights = made((2,) * 5)
    weights.log[:] = np.array(halves) / 5
    log_weights = dict(zip(sets_of((2,) * 5), weights.log.tolist(), strict=True))
    largest = make_short_list(weights)
    expected = naive_scout.short_list(log_weights)
    length = weights.length[0]
    listed = [sets_of((2,) * 5)[j] for j in weights.listed[:length]]
    assert listed == list(expected)
    assert weights.shares[:length].tolist() == pytest.approx(list(expected.values()))
    assert largest == pytest.approx(math.exp(max(weights.log)))
    assert length <= MAX_LISTED
    assert listed[0] == ()


# What it is for.


def weights_after(blind_rounds: int, seed: int, edge: float) -> NDArray[np.float64]:
    """Return the weights after blind rounds in which feature 1 tells the better action."""
    rng = np.random.default_rng(seed)
    tables, weights = made((2, 2, 2))
    for _ in range(blind_rounds):
        codes, action = rng.integers(0, 2, size=3), int(rng.integers(2))
        chance = 0.5 + (edge if codes[1] == action else -edge)
        reward = float(rng.random() < chance)
        weigh(tables, weights, 0b111, (0b000, codes, action, reward, 0.5, 1.0))
    return np.exp(weights.log)


def test_blind_rounds_find_the_feature_that_matters() -> None:
    found = [weights_after(150, seed, 0.3) for seed in range(20)]
    without = [j for j, members in enumerate(sets_of((2, 2, 2))) if 1 not in members]
    assert np.mean([weights[without].sum() for weights in found]) < 0.05
    assert sum(int(np.argmax(weights)) == 2 for weights in found) >= 16


def test_where_nothing_matters_the_empty_set_gains_weight() -> None:
    found = [weights_after(150, seed, 0.0) for seed in range(20)]
    assert np.mean([weights[0] for weights in found]) > 1 / 4
    assert sum(int(np.argmax(weights)) == 0 for weights in found) >= 16
