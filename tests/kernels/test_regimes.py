"""Former regimes: stored, compared, restored."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_scout
from thrifty.kernels.runtime.arrays import NONE
from thrifty.kernels.scout import model_weights, regimes, subsets, wide_rounds
from thrifty.kernels.scout.regimes import (
    DROPPED,
    EMPTY,
    FAILED,
    HANDICAP,
    KEPT,
    MIN_AGE_TO_STORE,
    PROBATION,
    SLOTS,
    WAITING,
)

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

store = numba.njit(
    lambda stored, tables, weights, blind, age, restart, value=0.0, kept=NONE: regimes.store(
        stored, tables, weights, blind, 0, value, age, restart, kept
    )
)
recognise = numba.njit(
    lambda stored, tables, observed, codes, a, r, p, phi: regimes.recognise(
        stored, tables, observed, codes, a, r, p, phi
    )
)
record_round = numba.njit(
    lambda rounds, codes, observed, basis, a, r: wide_rounds.record_round(
        rounds, codes, observed, basis, a, r
    )
)
restore = numba.njit(
    lambda stored, k, tables, weights, rounds, blind: regimes.restore(
        stored, k, tables, weights, rounds, blind
    )
)

OLD = MIN_AGE_TO_STORE + 1
BLIND = np.array([3.0, 5.0])


def made(levels: tuple[int, ...] = (2,)) -> tuple[Any, Any, Any]:
    tables = subsets.initial(np.array(levels, np.int64), 2, len(levels))
    sizes = [len(members) for members in naive_scout.sets_that_fit(levels, 2)]
    weights = model_weights.initial(np.array(sizes), len(levels), len(levels))
    return tables, weights, regimes.initial(tables.pulls.shape, len(sizes))


def known(pulls: float, sums: float) -> tuple[Any, Any, Any]:
    """Return pieces whose every cell has so many rewards, and more faith in the feature."""
    tables, weights, stored = made()
    tables.pulls[:], tables.sums[:] = pulls, sums
    weights.log[:] = np.log([0.2, 0.8])
    return tables, weights, stored


def test_a_regime_is_stored_as_it_was() -> None:
    tables, weights, stored = known(10.0, 9.0)
    store(stored, tables, weights, BLIND, OLD, 1)
    assert stored.books["status"].tolist() == [WAITING] + [EMPTY] * (SLOTS - 1)
    assert stored.books["evidence"][0] == HANDICAP
    assert (stored.books["age"][0], stored.books["stored"][0]) == (OLD, 1)
    assert (stored.books["blind_sum"][0], stored.books["blind_pulls"][0]) == tuple(BLIND)
    tables.pulls[:] = 0.0
    assert (stored.pulls[0] == 10).all()
    assert (stored.sums[0] == 9).all()
    assert stored.log_weights[0].tolist() == weights.log.tolist()


def test_a_short_regime_is_not_stored() -> None:
    tables, weights, stored = known(10.0, 9.0)
    store(stored, tables, weights, BLIND, MIN_AGE_TO_STORE, 1)
    assert (stored.books["status"] == EMPTY).all()


def test_the_oldest_makes_room() -> None:
    tables, weights, stored = known(10.0, 9.0)
    for restart in range(1, SLOTS + 3):
        store(stored, tables, weights, BLIND, OLD + restart, restart)
    assert sorted(stored.books["stored"].tolist()) == list(range(3, SLOTS + 3))
    assert sorted(stored.books["evidence"].tolist()) == [HANDICAP] + [0.0] * (SLOTS - 1)


def gain(reward: float, theirs: float, p: float) -> float:
    return naive_scout.log_likelihood(reward, theirs) - naive_scout.log_likelihood(reward, p)


def test_evidence_for_a_regime_by_hand() -> None:
    # Its cells have 9 of 10, so it predicts (9 + 0.5)/(10 + 1); what is learnt anew predicts 0.5.
    tables, weights, stored = known(10.0, 9.0)
    store(stored, tables, weights, BLIND, OLD, 1)
    step = gain(1.0, 9.5 / 11, 0.5)
    needed = math.floor((regimes.EVIDENCE_TO_RESTORE - HANDICAP) / step) + 1
    args = (tables, 1, np.array([1]), 0)
    for _ in range(needed - 1):
        assert recognise(stored, *args, 1.0, 0.5, 1.0) == NONE
    assert stored.books["evidence"][0] == pytest.approx(HANDICAP + (needed - 1) * step)
    assert recognise(stored, *args, 1.0, 0.5, 1.0) == 0


def test_a_regime_that_predicts_worse_is_dropped_until_the_next_restart() -> None:
    tables, weights, stored = known(10.0, 9.0)
    store(stored, tables, weights, BLIND, OLD, 1)
    for _ in range(20):
        assert recognise(stored, tables, 1, np.array([1]), 0, 0.0, 0.5, 1.0) == NONE
    assert stored.books["status"][0] == DROPPED
    assert regimes.EVIDENCE_TO_DROP + gain(0.0, 9.5 / 11, 0.5) <= stored.books["evidence"][0]
    assert stored.books["evidence"][0] < regimes.EVIDENCE_TO_DROP
    store(stored, tables, weights, BLIND, 1, 2)
    assert stored.books["status"][0] == WAITING
    assert stored.books["evidence"][0] == 0


def test_the_heaviest_set_that_was_observed_predicts() -> None:
    tables, weights, stored = made((2, 2))
    tables.pulls[:] = 10.0
    tables.sums[:] = np.repeat([[2.0], [4.0], [6.0], [8.0]], [1, 2, 2, 4], axis=0)
    weights.log[:] = np.log([0.1, 0.2, 0.3, 0.4])
    store(stored, tables, weights, BLIND, OLD, 1)
    for observed, codes, total in (
        (0b11, [0, 1], 8.0),
        (0b10, [0, -1], 4.0),
        (0b01, [-1, 1], 6.0),
        (0b00, [-1, -1], 2.0),
    ):
        before = stored.books["evidence"][0]
        recognise(stored, tables, observed, np.array(codes), 1, 1.0, 0.5, 1.0)
        step = gain(1.0, (total + 0.5) / 11, 0.5)
        assert stored.books["evidence"][0] - before == pytest.approx(step)


def test_restoring_adds_what_was_known_and_frees_the_place() -> None:
    tables, weights, stored = known(10.0, 9.0)
    for restart in (1, 2):
        store(stored, tables, weights, BLIND, OLD + restart, restart)
    tables.pulls[:], tables.sums[:] = 2.0, 1.0
    weights.log[:] = np.log([0.5, 0.5])
    blind = np.array([0.5, 1.0])
    assert restore(stored, 0, tables, weights, wide_rounds.initial(1), blind) == OLD + 1
    assert (tables.pulls == 12).all()
    assert (tables.sums == 10).all()
    assert np.exp(weights.log).tolist() == pytest.approx([0.2, 0.8])
    assert blind.tolist() == [3.5, 6.0]
    assert stored.books["status"][:2].tolist() == [EMPTY, DROPPED]
    store(stored, tables, weights, blind, OLD, 3)
    assert stored.books["stored"][:2].tolist() == [3, 2]
    assert stored.books["status"][:2].tolist() == [WAITING, WAITING]


def test_grown_sets_come_back_with_the_regime(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only single features fit; the regime knew the pair, and another set has its place since.
    for name in ("MAX_MEANS", "MAX_MEANS_WHEN_GROWING"):
        monkeypatch.setattr(subsets, name, 10)
    monkeypatch.setattr(subsets, "MAX_GROWN_SETS", 1)
    tables = subsets.initial(np.array([2, 2, 2]), 2, 3)
    weights = model_weights.initial(np.array([0, 1, 1, 1, NONE]), 3, 3)
    stored, rounds = regimes.initial(tables.pulls.shape, 5), wide_rounds.initial(3)
    first = int(tables.offsets[4])
    tables.masks[4], weights.log[4] = 0b110, 0.0
    tables.pulls[first + 3, 0], tables.sums[first + 3, 0] = 10.0, 9.0
    store(stored, tables, weights, BLIND, OLD, 1)
    tables.masks[4] = 0b011
    tables.pulls[:], tables.sums[:], tables.wide_pulls[:] = 5.0, 5.0, 5.0
    before = stored.books["evidence"][0]
    recognise(stored, tables, 0b111, np.array([1, 1, 0]), 0, 1.0, 0.5, 1.0)
    assert stored.books["evidence"][0] - before == pytest.approx(gain(1.0, 9.5 / 11, 0.5))
    record_round(rounds, np.array([1, 0, 1]), 0b111, 0, 0, 1.0)
    binding = tables.bindings[4]
    restore(stored, 0, tables, weights, rounds, np.array([0.5, 1.0]))
    assert tables.masks[4] == 0b110
    assert tables.bindings[4] == binding + 1
    assert tables.pulls[first : first + 4, 0].tolist() == [0, 1, 0, 10]
    assert tables.sums[first : first + 4, 0].tolist() == [0, 1, 0, 9]
    assert tables.wide_pulls[first : first + 4, 0].tolist() == [0, 1, 0, 0]
    assert (weights.log[4], weights.prior[4]) == (0.0, weights.prior_of_size[2])


@st.composite
def rounds(draw: Any) -> list[tuple[Any, ...]]:
    played = []
    for _ in range(draw(st.integers(1, 30))):
        codes = (draw(st.integers(-1, 1)), draw(st.integers(-1, 2)))
        reward = draw(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)))
        p, phi = draw(st.floats(0.02, 0.98)), draw(st.floats(0.1, 1))
        played.append((codes, draw(st.integers(0, 1)), reward, p, phi))
    return played


def stored_twins(rng: np.random.Generator) -> tuple[Any, Any, list[naive_scout.Regime]]:
    """Store three random regimes, twice."""
    tables, weights, stored = made((2, 3))
    sets = naive_scout.sets_that_fit((2, 3), 2)
    twins: list[naive_scout.Regime] = []
    for restart in (1, 2, 3):
        tables.pulls[:] = rng.integers(0, 20, size=tables.pulls.shape)
        tables.sums[:] = tables.pulls * rng.random(tables.pulls.shape)
        weights.log[:] = np.log(rng.dirichlet(np.ones(4)))
        store(stored, tables, weights, BLIND, OLD, restart)
        for other in twins:
            other.evidence = 0.0
        cells = {}
        for j, s in enumerate(sets):
            levels = [(2, 3)[i] for i in s]
            for k, values in enumerate(np.ndindex(*reversed(levels))):
                for a in range(2):
                    at = (tables.offsets[j] + k, a)
                    cells[s, tuple(reversed(values)), a] = (tables.pulls[at], tables.sums[at])
        logs = dict(zip(sets, weights.log.tolist(), strict=True))
        twins.append(
            naive_scout.Regime(cells, [], logs, (3.0, 5.0), OLD, restart, HANDICAP, 0.0, ())
        )
    return tables, stored, twins


@repeatable
@given(rounds(), st.integers(0, 2**32))
def test_recognising_like_the_twin(played: list[tuple[Any, ...]], seed: int) -> None:
    tables, stored, twins = stored_twins(np.random.default_rng(seed))
    for codes, action, reward, p, phi in played:
        observed = naive_scout.seen_in(codes)
        mask = sum(1 << (1 - i) for i in observed)
        found = recognise(stored, tables, mask, np.array(codes), action, reward, p, phi)
        for twin in twins:
            if not twin.dropped:
                twin.evidence += gain(reward, twin.explains(observed, codes, action), p) / phi
                twin.dropped = twin.evidence < regimes.EVIDENCE_TO_DROP
        assert stored.books["evidence"][:3].tolist() == pytest.approx([r.evidence for r in twins])
        assert (stored.books["status"][:3] == DROPPED).tolist() == [r.dropped for r in twins]
        clear = [
            k
            for k, r in enumerate(twins)
            if not r.dropped and r.evidence > regimes.EVIDENCE_TO_RESTORE
        ]
        assert found == max(clear, key=lambda k: twins[k].evidence, default=NONE)


def test_a_regime_that_is_kept_does_not_make_room() -> None:
    tables, weights, stored = known(10.0, 9.0)
    for restart in range(1, SLOTS + 1):
        store(stored, tables, weights, BLIND, OLD, restart)
    store(stored, tables, weights, BLIND, OLD, SLOTS + 1, 0.5, 0)
    assert stored.books["stored"].tolist() == [1, SLOTS + 1, *range(3, SLOTS + 1)]
    assert stored.values.tolist() == [0, 0.5] + [0] * (SLOTS - 2)


note_round = numba.njit(lambda stored: regimes.note_round(stored))
note_restart = numba.njit(lambda stored: regimes.note_restart(stored))
evidence_to_restore = numba.njit(lambda stored: regimes.evidence_to_restore(stored))
best_former = numba.njit(lambda stored: regimes.best_former(stored))
has_returned = numba.njit(
    lambda stored, k, r, theirs, p: regimes.has_returned(stored, k, r, theirs, p, 1.0)
)


def test_the_former_regime_with_the_largest_value() -> None:
    tables, weights, stored = known(10.0, 9.0)
    assert best_former(stored) == NONE
    for restart, value in enumerate((0.3, 0.7, 0.5), start=1):
        store(stored, tables, weights, BLIND, OLD, restart, value)
    assert best_former(stored) == 1


def test_a_young_regime_is_not_recalled() -> None:
    tables, weights, stored = known(10.0, 9.0)
    store(stored, tables, weights, BLIND, MIN_AGE_TO_STORE, 1, 0.9)
    assert best_former(stored) == NONE
    store(stored, tables, weights, BLIND, OLD, 2, 0.3)
    assert best_former(stored) == 0


def test_mistakes_raise_the_evidence_that_is_needed() -> None:
    tables, weights, stored = known(10.0, 9.0)
    for failed, kept in ((1, 0), (2, 0), (2, 1), (2, 2), (2, 3)):
        store(stored, tables, weights, BLIND, OLD, 1)
        restore(stored, 0, tables, weights, wide_rounds.initial(1), BLIND.copy())
        for _ in range(PROBATION - (kept == stored.trials[KEPT])):
            note_round(stored)
        for _ in range(2):  # the second restart is no mistake
            note_restart(stored)
        assert stored.trials.tolist() == [kept, failed, PROBATION]
        more = regimes.DISTRUST * max(0.0, math.log((failed + 1) / (kept + 1)))
        needed = evidence_to_restore(stored)
        assert needed == pytest.approx(regimes.EVIDENCE_TO_RESTORE + more)


def test_a_regime_needs_that_evidence() -> None:
    tables, weights, stored = known(10.0, 9.0)
    store(stored, tables, weights, BLIND, OLD, 1)
    stored.trials[FAILED] = 3  # 4 + 2 log 4
    step = gain(1.0, 9.5 / 11, 0.5)
    needed = math.floor((4 + 2 * math.log(4) - HANDICAP) / step) + 1
    for k in range(needed):
        found = recognise(stored, tables, 1, np.array([1]), 0, 1.0, 0.5, 1.0)
        assert found == (NONE if k < needed - 1 else 0)


def test_a_return_needs_as_much_evidence_after_a_long_absence() -> None:
    """A reward of 1 is log(.9 / .3) = 1.1 for the former regime, so 5 of them are enough."""
    tables, weights, stored = known(10.0, 9.0)
    store(stored, tables, weights, BLIND, OLD, 1)
    stored.books["evidence"] = 0.0
    for _ in range(50):
        assert not has_returned(stored, 0, 0.0, 0.9, 0.3)
    assert stored.books["evidence"][0] == 0.0
    assert [bool(has_returned(stored, 0, 1.0, 0.9, 0.3)) for _ in range(5)] == [False] * 4 + [True]
