"""Environments with fewer features: a table restricted to some of its columns.

A policy that buys every feature pays for useless ones too. Restricted to the best fixed set it pays
for the features of one well-chosen set only, which makes comparisons with it fairer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.environments.oracle_plan import all_subsets, best_rewards_of, first_best
from thrifty.environments.replay import Replay
from thrifty.environments.truth import Truth
from thrifty.errors import InvalidProblem, InvalidPurchase
from thrifty.prices import Group, PriceList
from thrifty.problem import Problem
from thrifty.rounds import Run

Bools = NDArray[np.bool_]


def best_fixed_set(replay: Replay, rounds: int | None = None) -> Bools:
    """Return the best set of features to buy in every round, in hindsight and by the true means.

    The set is the same in all rounds, and the best action of every period is taken for what it
    shows. Among equally good sets the first in binary counting order is chosen, where feature 1 is
    the most significant bit. All subsets of the relevant features are compared, as for the oracle,
    and single irrelevant features.

    Parameters
    ----------
    replay : Replay
        The rounds.
    rounds : int, optional
        Number of rounds that count, from the first one. By default all of them.

    Returns
    -------
    array of bool, shape (D,)
        The features of the set: at least one, and every free one.

    Examples
    --------
    >>> replay = Replay([[0, 0], [1, 1]], [[1, 0], [0, 1]], [[0.1, 0.3]] * 2)
    >>> best_fixed_set(replay).tolist()
    [True, False]
    """
    truth = replay.truth
    span = slice(rounds)
    weights = np.bincount(truth.reward_piece[span], minlength=len(truth.rewards))
    cost_weights = np.bincount(truth.cost_piece[span], minlength=len(truth.costs))
    relevant = all_subsets(truth.relevant)
    rewards = best_rewards_of(truth) @ weights
    alone = np.eye(truth.levels.size, dtype=np.bool_)[~truth.relevant]
    sets = np.concatenate([relevant[1:], alone]) | replay.free
    values = np.concatenate([rewards[1:], np.full(len(alone), rewards[0])])
    chosen: Bools = sets[first_best(values - sets @ (cost_weights @ truth.costs))]
    return chosen


def restricted(replay: Replay, mask: ArrayLike) -> Replay:
    """Return the same rounds with some of the features only.

    Parameters
    ----------
    replay : Replay
        The rounds.
    mask : array_like of bool, shape (D,)
        True for each feature to keep, in the same order; at least one.

    Returns
    -------
    Replay
        Rounds with the same rewards. The oracle of these rounds knows the other features' effects
        as averages only.

    Raises
    ------
    InvalidPurchase
        If the mask does not have one entry per feature, or keeps none.
    InvalidProblem
        If it keeps a part of a bundle.

    Examples
    --------
    >>> replay = Replay([[0, 2], [1, 0]], [[1, 0], [0, 1]], [[0.1, 0.2]] * 2)
    >>> restricted(replay, [False, True]).contexts.tolist()
    [[2], [0]]
    """
    kept = np.asarray(mask, dtype=np.bool_)
    if kept.shape != (replay.problem.n_features,) or not kept.any():
        raise InvalidPurchase(
            f"a mask of shape {kept.shape} that keeps {int(kept.sum())} of "
            f"{replay.problem.n_features} features: give one entry per feature, and keep at least "
            "one."
        )
    return Replay(
        replay.contexts[:, kept],
        replay.rewards,
        replay.costs[:, kept],
        replay.free[kept],
        outcomes=replay.outcomes,
        problem=_restricted_problem(replay.problem, kept),
        reward_changes=replay.reward_changes,
        cost_changes=replay.cost_changes,
        truth=_restricted_truth(replay.truth, kept),
    )


def with_all_features(run: Run, mask: ArrayLike) -> Run:
    """Return a run in restricted rounds as a run in the rounds that they were made from.

    Parameters
    ----------
    run : Run
        Run in `restricted(replay, mask)`.
    mask : array_like of bool, shape (D,)
        The features that were kept.

    Returns
    -------
    Run
        The same run, in which the other features are not bought.

    Examples
    --------
    >>> run = Run(np.array([[True]]), np.array([0]), np.array([1.0]), np.array([0.1]))
    >>> with_all_features(run, [False, True, False]).observed.tolist()
    [[False, True, False]]
    """
    kept = np.asarray(mask, dtype=np.bool_)
    observed = np.zeros((run.rounds, kept.size), dtype=np.bool_)
    observed[:, kept] = run.observed
    return replace(run, observed=observed)


def _restricted_truth(truth: Truth, kept: Bools) -> Truth:
    return replace(
        truth,
        levels=truth.levels[kept],
        states=truth.states[:, kept],
        costs=truth.costs[:, kept],
        irrelevant=np.flatnonzero(~truth.relevant[kept]),
    )


def _restricted_problem(problem: Problem, kept: Bools) -> Problem:
    features = [feature for feature, keep in zip(problem.features, kept, strict=True) if keep]
    names = {feature.name for feature in features}
    prices = None if problem.prices is None else _restricted_prices(problem.prices, names)
    return Problem(features, problem.actions, problem.outcomes, prices, problem.rewards)


def _restricted_prices(prices: PriceList, names: set[str]) -> PriceList:
    for bundle in prices.bundles:
        if names & {*bundle.features} and not names >= {*bundle.features}:
            raise InvalidProblem(
                f"bundle {bundle.name!r} would lose some of its features, which are sold together "
                "only: keep all of them, or none."
            )
    groups = (
        Group(group.name, tuple(name for name in group.features if name in names), group.setup)
        for group in prices.groups
        if names & {*group.features}
    )
    return PriceList(
        {name: price for name, price in prices.prices.items() if name in names},
        groups,
        [bundle for bundle in prices.bundles if names >= {*bundle.features}],
    )
