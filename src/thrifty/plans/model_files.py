"""Models of a plan as JSON values: the bins of the levels, and the trees that are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidParameter
from thrifty.plans.binning import MAX_BINS, Binning
from thrifty.plans.booster import Booster, ModelRule
from thrifty.problem import Outcomes, Problem

KIND = "boosting"


def model_to_dict(rule: ModelRule, problem: Problem) -> dict[str, Any]:
    """Return a model as JSON values; its features and outcomes are named.

    Parameters
    ----------
    rule : ModelRule
        A model that `require_valid_model` accepts.
    problem : Problem
        Names of features, actions and outcomes.

    Returns
    -------
    dict
        Input for `model_from_dict`. The bins of features that the model does not use are left out.
    """
    names = problem.feature_names
    return {
        "kind": KIND,
        "features": [names[i] for i in rule.columns],
        "bins": {names[i]: rule.binning.lookups[i].tolist() for i in rule.columns},
        "rewards": {
            action: dict(zip(_outcomes(problem).names, row, strict=True))
            for action, row in zip(problem.actions, rule.rewards.tolist(), strict=True)
        },
        "boosters": [
            {
                "first": booster.first.tolist(),
                "features": booster.features.tolist(),
                "thresholds": booster.thresholds.tolist(),
                "values": booster.values.tolist(),
            }
            for booster in rule.boosters
        ],
    }


def model_from_dict(plain: dict[str, Any], problem: Problem) -> ModelRule:
    """Make a model from the output of `model_to_dict`; the caller checks that it is valid.

    Parameters
    ----------
    plain : dict
        Output of `model_to_dict`.
    problem : Problem
        The problem of the plan.

    Returns
    -------
    ModelRule
        A model with the same values to the last bit.
    """
    columns = tuple(problem.feature_index(name) for name in plain["features"])
    lookups = [np.zeros(levels + 1, np.uint8) for levels in problem.levels.tolist()]
    for name, i in zip(plain["features"], columns, strict=True):
        lookups[i] = _whole(plain["bins"][name], np.uint8)
    n_bins = np.array([int(lookup.max(initial=0)) + 1 for lookup in lookups])
    rewards = [
        [float(plain["rewards"][action][outcome]) for outcome in _outcomes(problem).names]
        for action in problem.actions
    ]
    boosters = tuple(_booster(columns, booster) for booster in plain["boosters"])
    return ModelRule(Binning(tuple(lookups), n_bins), boosters, np.array(rewards))


def require_valid_model(rule: ModelRule, problem: Problem) -> None:
    """Raise `InvalidParameter` if a model does not fit its problem.

    The compiled code does not check its arguments, so an index out of range would read memory that
    does not belong to the model.
    """
    n_outcomes = len(_outcomes(problem).names)
    _require(
        rule.rewards.shape == (problem.n_actions, n_outcomes)
        and bool(np.isfinite(rule.rewards).all()),
        f"its rewards have shape {rule.rewards.shape} or are not finite",
    )
    _require(len(rule.boosters) > 0, "it has no boosters")
    columns = rule.columns
    _require(
        list(columns) == sorted({*columns} & {*range(problem.n_features)}),
        f"it uses the features {list(columns)}, which are not positions in order",
    )
    _require(
        len(rule.binning.lookups) == problem.n_features
        and all(
            lookup.dtype == np.uint8 and lookup.shape == (levels + 1,)
            for lookup, levels in zip(rule.binning.lookups, problem.levels.tolist(), strict=True)
        ),
        "its bins do not fit the levels of the features",
    )
    for booster in rule.boosters:
        _require(booster.columns == columns, "its boosters use different features")
        _require_valid_booster(booster, 1 if n_outcomes == 2 else n_outcomes)


def _require_valid_booster(booster: Booster, n_scores: int) -> None:
    features, thresholds, values = booster.features, booster.thresholds, booster.values
    _require(
        booster.first.shape == (n_scores,) and bool(np.isfinite(booster.first).all()),
        f"a booster has {booster.first.shape} first scores, not {n_scores} finite ones",
    )
    _require(
        features.ndim == values.ndim == 3
        and features.shape == thresholds.shape
        and features.shape[:2] == values.shape[:2] == (len(features), n_scores)
        and values.shape[2] == features.shape[2] + 1
        and values.shape[2].bit_count() == 1
        and values.shape[2] <= MAX_BINS,
        f"a booster has trees of shapes {features.shape}, {thresholds.shape} and {values.shape}",
    )
    _require(
        features.dtype == np.int16 and thresholds.dtype == np.uint8,
        f"a booster has features of {features.dtype} and thresholds of {thresholds.dtype}",
    )
    _require(bool(np.isfinite(values).all()), "a booster has values that are not finite")
    in_range = (features >= -1) & (features < max(len(booster.columns), 1))
    _require(bool(in_range.all()), "a booster compares features that the model does not use")


def _booster(columns: tuple[int, ...], plain: dict[str, Any]) -> Booster:
    first = _floats(plain["first"])
    features = _whole(plain["features"], np.int16)
    thresholds = _whole(plain["thresholds"], np.uint8)
    values = _floats(plain["values"])
    if not (features.size or thresholds.size or values.size):
        # A list cannot keep the shape of an array without entries.
        features, thresholds = (array.reshape(0, len(first), 1) for array in (features, thresholds))
        values = values.reshape(0, len(first), 2)
    return Booster(columns, first, features, thresholds, values)


def _whole(plain: Sequence[Any], dtype: Any) -> NDArray[Any]:
    array = np.array(plain, dtype=None if plain else dtype)
    limits = np.iinfo(dtype)
    _require(
        array.dtype.kind in "iu" and bool(((array >= limits.min) & (array <= limits.max)).all()),
        f"{str(plain)[:60]} are not whole numbers from {limits.min} to {limits.max}",
    )
    return array.astype(dtype)


def _floats(plain: Sequence[Any]) -> NDArray[np.float64]:
    array = np.array(plain, dtype=None if plain else np.float64)
    _require(array.dtype == np.float64, f"{str(plain)[:60]} are not numbers")
    return array


def _outcomes(problem: Problem) -> Outcomes:
    if problem.outcomes is None:
        raise InvalidParameter(
            "a leaf acts by a model of the outcome, but the problem declares no outcomes: give "
            "`outcomes` with the reward of each action."
        )
    return problem.outcomes


def _require(is_true: bool, problem: str) -> None:
    if not is_true:
        raise InvalidParameter(f"a leaf acts by a model that does not fit the problem: {problem}.")
