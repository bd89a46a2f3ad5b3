"""The records that pass between policies and environments."""

import math
from typing import Any

import numpy as np
import pytest

from thrifty.errors import InvalidObservation, InvalidPurchase
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase, Run, Runs

NAN = math.nan
PROBLEM = Problem.anonymous((2, 3), 2)


def test_a_purchase_keeps_a_copy_that_nobody_can_write_to() -> None:
    mask = np.array([True, False])
    purchase = Purchase(mask, purpose=3)
    mask[0] = False
    assert purchase.mask.tolist() == [True, False]
    assert purchase.purpose == 3
    with pytest.raises(ValueError, match="read-only"):
        purchase.mask[0] = False
    with pytest.raises(AttributeError):
        purchase.purpose = 1  # type: ignore[misc]


def test_nothing_and_everything() -> None:
    assert Purchase.nothing(PROBLEM).mask.tolist() == [False, False]
    assert Purchase.everything(PROBLEM).mask.tolist() == [True, True]


@pytest.mark.parametrize("mask", [[0, 1], [1.0, 0.0], True, [[True]], ["yes"], []])
def test_a_mask_that_is_none_is_refused(mask: Any) -> None:
    with pytest.raises(InvalidPurchase, match="one True or False per feature"):
        Purchase(mask)


def test_an_observation_by_hand() -> None:
    seen = Observation([1, -1, 0], [0.25, NAN, 0.5], purpose=2)
    assert seen.mask.tolist() == [True, False, True]
    assert seen.total_cost == 0.75
    assert seen.codes.dtype == np.int64
    assert seen.purpose == 2


def test_the_four_states_of_a_feature() -> None:
    seen = Observation([1, 0, -1, -1], [0.25, NAN, 0.5, NAN])
    assert seen.mask.tolist() == [True, True, False, False]
    assert seen.bought.tolist() == [True, False, False, False]
    assert seen.free.tolist() == [False, True, False, False]
    assert seen.settled.tolist() == [True, True, True, False], "what failed is not bought again"
    assert seen.total_cost == 0.75, "what could not be had may have cost something"


def test_what_is_known_before_anything_is_bought() -> None:
    known = Observation.from_free(PROBLEM, {1: 2})
    assert known.codes.tolist() == [-1, 2]
    assert known.free.tolist() == [False, True]
    assert not Observation.nothing(PROBLEM).mask.any()


def test_an_observation_keeps_copies_that_nobody_can_write_to() -> None:
    codes, costs = np.array([1, -1]), np.array([0.25, NAN])
    seen = Observation(codes, costs)
    codes[0], costs[0] = 0, 9.0
    assert seen.codes.tolist() == [1, -1]
    assert seen.total_cost == 0.25
    for array in (seen.codes, seen.costs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_an_empty_purchase_costs_nothing() -> None:
    assert Observation([-1, -1], [NAN, NAN]).total_cost == 0.0


def test_costs_are_added_up_in_the_order_of_the_features() -> None:
    costs = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    total = 0.0
    for cost in costs:
        total += cost
    assert Observation([0] * 9, costs).total_cost == total


@pytest.mark.parametrize(
    ("codes", "costs", "culprit"),
    [
        ([0, 1], [0.1], r"shape \(1,\)"),
        ([0.0, 1.0], [0.1, 0.1], "float64"),
        ([[0]], [[0.1]], r"shape \(1, 1\)"),
        ([-2, 0], [NAN, 0.1], "code -2"),
        ([0, -1], [math.inf, NAN], "inf"),
        ([0, -1], [-0.1, NAN], "-0.1"),
        ([0, 0], [0.1, -math.inf], "inf"),
        ([True, False], [0.1, 0.1], "bool"),
    ],
)
def test_what_cannot_have_been_seen_is_refused(codes: Any, costs: Any, culprit: str) -> None:
    with pytest.raises(InvalidObservation, match=culprit):
        Observation(codes, costs)


def runs_of(seeds: tuple[int, ...]) -> Runs:
    shape = (len(seeds), 4)
    return Runs(
        observed=np.zeros((*shape, 2), np.bool_),
        actions=np.arange(math.prod(shape)).reshape(shape),
        rewards=np.ones(shape),
        costs=np.full(shape, 0.25),
        seeds=seeds,
    )


def test_gains_are_rewards_less_costs() -> None:
    run = Run(np.zeros((2, 1), np.bool_), np.zeros(2, np.int64), np.ones(2), np.array([0, 0.25]))
    assert run.gains.tolist() == [1.0, 0.75]
    assert run.rounds == 2


def test_runs_are_a_sequence_of_runs() -> None:
    runs = runs_of((5, 3, 8))
    assert (len(runs), runs.rounds, runs.gains.shape) == (3, 4, (3, 4))
    assert [run.actions[0] for run in runs] == [0, 4, 8]
    assert type(runs[1]) is Run
    assert runs[-1].actions.tolist() == [8, 9, 10, 11]
    with pytest.raises(IndexError):
        runs[3]
