from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from thrifty.environments import Replay, nursery

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "nursery_published.npz"


def sha256(array: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def oracle_total(replay: Replay) -> float:
    plan, total = replay.truth.oracle_plan, 0.0
    for t in range(replay.horizon):
        bought = plan.masks[plan.plan_of_round[t]]
        action = plan.action(t, np.where(bought, replay.contexts[t], 0))
        total += replay.rewards[t, action] - replay.costs[t][bought].sum()
    return total


def test_the_data_set() -> None:
    lines = "".join(",".join(row) + "\n" for row in nursery.table())
    assert (
        hashlib.sha256(lines.encode()).hexdigest()
        == "1f2ff809b36c4524f8619d9cf0952e9937ff9e281eab7b2784acf604b45df879"
    )
    assert Counter(row[-1] for row in nursery.table()) == {
        "not_recom": 4320,
        "priority": 4266,
        "spec_prior": 4044,
        "very_recom": 328,
        "recommend": 2,
    }


def test_the_published_arrays() -> None:
    replay = nursery.published()
    assert (
        sha256(replay.contexts + 1)
        == "7a5f9b60b0f1512e856b3110e4384f5db48fc5e71b8db21544714de0e8d14e9b"
    )
    assert (
        sha256(replay.rewards) == "933638c06a97276028feed59f7387773cefa28bb87cf6d7765f2043b30e67c36"
    )
    assert (
        sha256(replay.costs) == "53dcce2257782aea293dd75032fed3bba4e140c11ed1957d94c53570d9cbe59e"
    )
    assert replay.reward_changes == (1000, 2000, 5000, 8000)
    assert replay.cost_changes == (3000, 5000, 7000, 9000)


def test_the_published_oracle() -> None:
    replay = nursery.published()
    plan = replay.truth.oracle_plan
    health = replay.problem.feature_index("health")
    assert [np.flatnonzero(mask).tolist() for mask in plan.masks] == [[health]] * 8
    cuts = np.flatnonzero(np.diff(plan.plan_of_round)) + 1
    assert cuts.tolist() == [1000, 2000, 3000, 5000, 7000, 8000, 9000]
    assert oracle_total(replay) == pytest.approx(8780.690620524, abs=1e-6)


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference arrays are not here")
def test_the_published_arrays_one_by_one() -> None:
    with np.load(REFERENCE) as reference:
        replay, tuning = nursery.published(), nursery.tuning()
        assert np.array_equal(replay.contexts + 1, reference["contexts"])
        assert np.array_equal(replay.rewards, reference["rewards"])
        assert np.array_equal(replay.costs, reference["costs"])
        assert np.array_equal(tuning.contexts + 1, reference["tuning_contexts"])
        first = slice(1000)
        assert np.array_equal(tuning.rewards[first], reference["tuning_rewards"][first])


def test_tuning() -> None:
    replay = nursery.tuning()
    assert replay.horizon == 2630
    assert replay.reward_changes == (1000, 2000)
    assert replay.cost_changes == ()
    first_cost_means = nursery._published_cost_means()[0]
    np.testing.assert_allclose(replay.costs.mean(axis=0), first_cost_means, atol=1e-4)
    assert replay.costs[:3].tolist() == nursery.published().costs[:3].tolist()
    # not_recom <=> health not_recom, so this class shows the label shifts 0, 2 and 4.
    ill = replay.contexts[:, 4] == 0
    for region, arm in ((slice(1000), 0), (slice(1000, 2000), 2), (slice(2000, None), 1)):
        assert np.array_equal(replay.rewards[region, arm] == 1, ill[region])


def test_tuning_without_changes() -> None:
    changing, replay = nursery.tuning(), nursery.tuning(changes=False)
    assert (replay.horizon, replay.reward_changes, replay.cost_changes) == (2630, (), ())
    assert label_shifts(replay) == [0]
    assert np.array_equal(replay.contexts, changing.contexts)
    assert np.array_equal(replay.costs, changing.costs)
    # Only labels are shifted, and those before the first change are not.
    assert np.array_equal(replay.rewards[:1000], changing.rewards[:1000])
    for later in (slice(1000, 2000), slice(2000, None)):
        assert not np.array_equal(replay.rewards[later], changing.rewards[later])


def label_shifts(replay: Replay) -> list[int]:
    """Return the arm that pays for health not_recom in each region: its label's shift."""
    ill = replay.contexts[:, 4] == 0
    cuts = [0, *replay.reward_changes, replay.horizon]
    arms = [np.unique(replay.rewards[a:b][ill[a:b]], axis=0) for a, b in pairwise(cuts)]
    assert all(len(paid) == 1 for paid in arms)
    return [int(paid[0].argmax()) for paid in arms]


def test_shuffled() -> None:
    replay = nursery.shuffled(3)
    assert label_shifts(replay) == [0, 1, 2, 0, 1]
    assert replay.cost_changes == (3000, 5000, 7000, 9000)
    assert replay.reward_changes == (1000, 2000, 5000, 8000)
    assert len(np.unique(replay.truth.costs.round(3), axis=0)) == 5
    # Costs change in the round that is named: noise of sd 0.001 stays within 6 sd.
    for a, b in pairwise([0, *replay.cost_changes, replay.horizon]):
        assert np.abs(replay.costs[a:b] - replay.costs[a:b].mean(axis=0)).max() < 0.006
    assert replay.costs.min() >= 0


def test_stationary() -> None:
    replay = nursery.stationary(3)
    assert label_shifts(replay) == [0]
    assert (replay.reward_changes, replay.cost_changes) == ((), ())
    assert np.abs(replay.costs - replay.costs.mean(axis=0)).max() < 0.006


def test_random_orders_hold_the_evaluation_rows_in_random_order() -> None:
    one, other = nursery.stationary(1), nursery.stationary(2)
    rows = np.concatenate([one.contexts, one.rewards], axis=1)
    others = np.concatenate([other.contexts, other.rewards], axis=1)
    assert not np.array_equal(rows, others)
    assert np.array_equal(rows[np.lexsort(rows.T)], others[np.lexsort(others.T)])
    # Each half has its share of every class: 0.03 is six standard deviations (p < 1e-8).
    assert np.abs(one.rewards[:5000].mean(axis=0) - one.rewards.mean(axis=0)).max() < 0.03


@pytest.mark.parametrize("make", [nursery.shuffled, nursery.stationary])
def test_seeds(make: Callable[..., Replay]) -> None:
    for seed in (5, np.random.SeedSequence(5)):
        assert np.array_equal(make(seed).costs, make(seed).costs)
    assert np.array_equal(make().contexts, make(0).contexts)
    one, other = make(np.random.default_rng(5)), make(np.random.default_rng(5))
    assert np.array_equal(one.contexts, other.contexts)
    assert not np.array_equal(make(5).contexts, make(6).contexts)


@pytest.mark.parametrize(
    ("make", "total"),
    [(nursery.shuffled, 6687.753206), (nursery.stationary, 6671.662087)],
)
def test_oracle_totals_stay_what_they_are(make: Callable[..., Replay], total: float) -> None:
    replay = make(0)
    assert oracle_total(replay) == pytest.approx(total, abs=1e-6)
    bought = {tuple(mask) for mask in replay.truth.oracle_plan.masks.tolist()}
    assert bought == {(False, False, False, False, True)}


@pytest.mark.parametrize(
    "make",
    [
        nursery.published,
        nursery.tuning,
        partial(nursery.tuning, changes=False),
        nursery.shuffled,
        nursery.stationary,
    ],
)
def test_one_action_pays_in_every_round(make: Callable[..., Replay]) -> None:
    replay = make()
    assert replay.problem.actions == ("not_recom", "priority", "spec_prior")
    assert [f.name for f in replay.problem.features] == [
        "form",
        "children",
        "housing",
        "finance",
        "health",
    ]
    assert replay.problem.features[4].levels == ("not_recom", "recommended", "priority")
    assert np.array_equal(np.sort(replay.rewards), np.tile([0, 0, 1], (replay.horizon, 1)))
