"""The chance to be the largest beta variate, and the chance of a random subset."""

from itertools import combinations

import numpy as np
import pytest
from scipy import special

from thrifty.kernels.runtime.arrays import Bools, Floats
from thrifty.kernels.shared.largest_beta import BOTTOM, ERROR, TOP, chances_of_largest
from thrifty.policies.random_subsets import chance_of_subset, sold

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def computed(ones: Floats, others: Floats, available: Bools) -> Floats:
    chances = np.empty(ones.size)
    chances_of_largest(ones, others, available, chances)
    return chances


def test_by_hand() -> None:
    two = np.array([True, True])
    same = np.array([3.0, 3.0])
    assert computed(same, same, two) == pytest.approx([0.5, 0.5], abs=ERROR)
    # P(X > U) = E X for a uniform U.
    found = computed(np.array([2.0, 1.0]), np.array([5.0, 1.0]), two)
    assert found == pytest.approx([2 / 7, 5 / 7], abs=ERROR)
    assert computed(same, same, np.array([False, True])) == pytest.approx([0, 1], abs=ERROR)


def drawn(rng: np.random.Generator, n: int, smallest: float) -> tuple[Floats, Floats]:
    size = 2 + np.exp(rng.uniform(-3, 9, n))
    mean = np.clip(rng.beta(0.5, 0.5, n), smallest, 1 - smallest)
    return mean * size, (1 - mean) * size


@pytest.mark.parametrize("seed", range(60))
def test_dense_quadrature_with_incomplete_beta_functions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    ones, others = drawn(rng, n, 0.02)
    available = rng.random(n) < 0.8
    available[0] |= not available.any()
    found = computed(ones, others, available)
    assert found == pytest.approx(dense(ones, others, available), abs=ERROR)
    assert found.sum() == pytest.approx(1, abs=ERROR)


def dense(ones: Floats, others: Floats, available: Bools) -> Floats:
    """Return the chances by many panels around every peak."""
    places = np.flatnonzero(available).tolist()
    steps = np.concatenate([np.arange(0, 30, 0.25), 30 * 1.2 ** np.arange(20)])
    spread = np.sqrt(1 / ones + 1 / others)
    peaks = np.log(ones / others)
    edges = np.concatenate(
        [peaks[k] + side * spread[k] * steps for k in places for side in (-1, 1)]
    )
    edges = np.sort(np.append(edges[(edges < TOP) & (edges > BOTTOM)], [TOP, BOTTOM]))
    half = np.diff(edges)[:, None] / 2
    s = edges[:-1, None] + half * (1 + NODES)
    below = {
        k: np.where(
            s < 0,
            special.betainc(ones[k], others[k], special.expit(s)),
            special.betaincc(others[k], ones[k], special.expit(-s)),
        )
        for k in places
    }
    chances, nobody = np.zeros(ones.size), 1.0
    for k in places:
        logs = ones[k] * s - (ones[k] + others[k]) * np.logaddexp(0, s)
        density = np.exp(logs - special.betaln(ones[k], others[k]))
        rest = np.prod([below[b] for b in places if b != k] or [np.ones_like(s)], axis=0)
        top = special.betainc(others[k], ones[k], np.exp(-TOP))
        chances[k] = (half * WEIGHTS * density * rest).sum() + nobody * top
        nobody *= 1 - top
    return chances


@pytest.mark.parametrize("seed", range(5))
def test_very_many_draws(seed: int) -> None:
    """Each test fails once in 10,000 seeds: five standard errors, of at most five actions."""
    rng = np.random.default_rng(seed)
    ones, others = drawn(rng, 4, 0.05)
    n = 200_000
    largest = rng.beta(ones, others, (n, 4)).argmax(axis=1)
    shares = np.bincount(largest, minlength=4) / n
    found = computed(ones, others, np.ones(4, np.bool_))
    assert (abs(shares - found) <= 5 * np.sqrt(found * (1 - found) / n) + 1e-4).all()


def test_values_that_are_1_in_double_precision_go_to_the_first() -> None:
    ones, others = np.array([1.998, 1.998]), np.array([0.002, 0.002])
    found = computed(ones, others, np.array([True, True]))
    assert found.sum() == pytest.approx(1, abs=ERROR)
    assert found[0] > 0.9


@pytest.mark.parametrize("n_actions", [1, 2, 60])
def test_any_number_of_actions(n_actions: int) -> None:
    ones, others = drawn(np.random.default_rng(1), n_actions, 0.01)
    found = computed(ones, others, np.ones(n_actions, np.bool_))
    assert found.sum() == pytest.approx(1, abs=ERROR)


def subsets_of(features: int, number: int) -> list[int]:
    bits = [1 << i for i in range(8) if features >> i & 1]
    return [sum(chosen) for chosen in combinations(bits, number)]


@pytest.mark.parametrize("seed", range(30))
def test_random_subsets_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    candidates, kept = (int(number) for number in rng.integers(0, 64, 2))
    bundles: list[int] = [[], [0b000011], [0b110000, 0b000110]][seed % 3]
    most = kept.bit_count() + int(rng.integers(0, 4))
    others = candidates & ~kept
    number = min(most - kept.bit_count(), others.bit_count())
    results = [sold(kept | chosen, bundles) for chosen in subsets_of(others, number)]
    for sought in range(64):
        if sold(sought, bundles) == sought:
            share = results.count(sought) / len(results)
            found = chance_of_subset(sought, candidates, kept, most, bundles)
            assert found == pytest.approx(share)
