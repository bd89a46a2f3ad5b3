"""Problem (17) in closed form against a general solver."""

import os
from collections.abc import Sequence

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import naive
from thrifty.kernels.ncc.optimism import optimistic_mean

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
INSTANCES = 2000 if COMPILED else 300
RADII = (0.0, 0.1, 0.5, 1.0, 2.0)


def closed_form(
    values: Sequence[float], masses: Sequence[float], radius: float, *, simplex: bool = True
) -> float:
    surplus = sum(masses) - 1 if sum(masses) > 0 else 0.0
    return float(optimistic_mean(np.array(values), np.array(masses), radius, surplus, simplex))


def test_half_the_radius_goes_from_the_worst_state_to_the_best() -> None:
    assert closed_form([1.0, 0.0], [0.5, 0.5], 0.4) == pytest.approx(0.7)


def test_a_radius_of_0_leaves_the_estimate() -> None:
    assert closed_form([1.0, 0.5, 0.0], [0.2, 0.4, 0.4], 0.0) == pytest.approx(0.4)


def test_the_worst_states_give_first_and_no_more_than_they_have() -> None:
    # 0.3 moves: 0.1 from the worst state, 0.2 from the next one.
    assert closed_form([1.0, 0.5, 0.0], [0.5, 0.4, 0.1], 0.6) == pytest.approx(0.8 + 0.2 * 0.5)


def test_a_state_never_seen_can_get_mass() -> None:
    assert closed_form([1.0, 0.2], [0.0, 1.0], 1.0) == pytest.approx(0.6)


@pytest.mark.parametrize("radius", [2.0, 5.0])
def test_a_radius_of_2_allows_everything(radius: float) -> None:
    assert closed_form([0.3, 0.9, 0.1], [0.5, 0.0, 0.5], radius) == pytest.approx(0.9)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("simplex", [True, False])
def test_a_single_state_has_its_own_value(radius: float, simplex: bool) -> None:
    assert closed_form([0.7], [1.0], radius, simplex=simplex) == pytest.approx(0.7)


@pytest.mark.parametrize("simplex", [True, False])
def test_without_any_count_every_distribution_is_possible(simplex: bool) -> None:
    assert closed_form([0.3, 1.2, 0.4], [0.0, 0.0, 0.0], 0.0, simplex=simplex) == 1.2


def test_without_the_simplex_the_worst_state_goes_below_0() -> None:
    # <p, r> + C/2 (max r - min r), as the authors' program has it.
    values, masses = [1.0, 0.5, 0.0], [0.5, 0.4, 0.1]
    assert closed_form(values, masses, 0.6, simplex=False) == pytest.approx(0.7 + 0.3)


def test_a_surplus_is_paid_out_of_the_radius() -> None:
    # Masses sum to 1.5. Of the radius 0.7 the surplus takes 0.5, and 0.1 moves to the best state:
    # q = (0.6, 0.4, 0).
    assert closed_form([1.0, 0.5, 0.0], [0.5, 0.5, 0.5], 0.7) == pytest.approx(0.8)


def test_a_surplus_beyond_the_radius_leaves_the_nearest_distributions() -> None:
    assert closed_form([1.0, 0.5, 0.0], [0.5, 0.5, 0.5], 0.1) == pytest.approx(0.75)


def test_the_best_state_may_have_to_give_too() -> None:
    # Two best states of mass 1 each: one unit must go, wherever from.
    assert closed_form([1.0, 1.0], [1.0, 1.0], 0.5) == pytest.approx(1.0)


def random_instance(rng: np.random.Generator) -> tuple[list[float], list[float]]:
    n = int(rng.choice([1, 2, 3, 5, 8, 20]))
    values = rng.random(n) * 2
    if rng.random() < 0.5:
        values = np.round(values * 4) / 4  # ties and zeros
    counts = rng.integers(0, rng.choice([2, 5, 50]), size=n)
    kind = rng.integers(4)
    if kind == 0:  # unseen states have the mass of one that was seen once
        return values.tolist(), (np.maximum(counts, 1) / max(1, counts.sum())).tolist()
    if kind == 1:
        return values.tolist(), rng.dirichlet(np.ones(n)).tolist()
    return values.tolist(), (counts / max(1, counts.sum())).tolist()


def test_random_instances_agree_with_a_general_solver() -> None:
    rng = np.random.default_rng(1)
    kinds = {"surplus": 0, "empty": 0, "infeasible": 0}
    for _ in range(INSTANCES):
        values, masses = random_instance(rng)
        radius = float(rng.choice([*RADII, rng.random()]))
        simplex = bool(rng.random() < 0.5)
        expected = naive.optimistic_mean_by_lp(values, masses, radius, simplex)
        found = closed_form(values, masses, radius, simplex=simplex)
        assert abs(found - expected) < 1e-9, (values, masses, radius, simplex)
        kinds["surplus"] += sum(masses) > 1 + 1e-9
        kinds["infeasible"] += sum(masses) > 1 + radius + 1e-9
        kinds["empty"] += sum(masses) == 0
    assert min(kinds.values()) > INSTANCES // 100


def test_the_two_ways_of_the_twin_agree() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        values, masses = random_instance(rng)
        radius, simplex = float(rng.choice(RADII)), bool(rng.random() < 0.5)
        by_lp = naive.optimistic_mean_by_lp(values, masses, radius, simplex)
        by_sorting = naive.optimistic_mean_by_sorting(values, masses, radius, simplex)
        assert by_sorting == pytest.approx(by_lp, abs=1e-9)


counts_and_values = st.lists(
    st.tuples(st.integers(0, 20), st.floats(0, 2)), min_size=1, max_size=12
).filter(lambda pairs: any(count for count, _ in pairs))


@given(counts_and_values, st.floats(0, 2), st.floats(0, 2))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_a_larger_ball_is_worth_no_less_and_never_more_than_the_best_state(
    pairs: list[tuple[int, float]], one: float, other: float
) -> None:
    total = sum(count for count, _ in pairs)
    masses, values = [count / total for count, _ in pairs], [value for _, value in pairs]
    smaller, larger = sorted((one, other))
    mean = sum(mass * value for mass, value in zip(masses, values, strict=True))
    found = [closed_form(values, masses, radius) for radius in (smaller, larger)]
    assert mean - 1e-12 <= found[0] <= found[1] + 1e-12 <= max(values) + 2e-12


@given(counts_and_values, st.floats(0, 2), st.booleans(), st.randoms(use_true_random=False))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_the_order_of_the_states_does_not_matter(
    pairs: list[tuple[int, float]], radius: float, simplex: bool, random: object
) -> None:
    total = sum(count for count, _ in pairs)
    mixed = list(pairs)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    found = [
        closed_form([v for _, v in order], [c / total for c, _ in order], radius, simplex=simplex)
        for order in (pairs, mixed)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-12)
