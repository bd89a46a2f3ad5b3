"""Past cases as an environment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.replay import Replay
from thrifty.plans.cases import PastCases


def replay_of(cases: PastCases, *, reward_changes: Sequence[int] = ()) -> Replay:
    """Return past cases as an environment, on the policy's scale.

    The outcomes are not reported: a policy learns about them only from the reward of its action.

    Parameters
    ----------
    cases : PastCases
        Past cases, in the order in which they are replayed. Every value must be known.
    reward_changes : sequence of int
        Cases, counted from 0, in which a period with other mean rewards begins.

    Returns
    -------
    Replay
        The price of a bundle is divided equally among its features.

    Examples
    --------
    >>> from thrifty.problem import Feature, Problem
    >>> problem = Problem(
    ...     [Feature("test", ("low", "high"))],
    ...     ["treat", "wait"],
    ...     outcomes={"treat": {"ill": 5, "well": -5}, "wait": 0},
    ...     prices={"test": 0.5},
    ... )
    >>> cases = PastCases(problem, np.array([[0], [1]]), np.array([1, 0]), np.array([False]))
    >>> replay = replay_of(cases)
    >>> replay.rewards.tolist(), replay.costs.tolist()
    ([[0.0, 0.5], [1.0, 0.5]], [[0.05], [0.05]])
    """
    scale = cases.problem.rewards
    rewards = (cases.rewards - scale.low) / scale.span
    return Replay(
        cases.codes,
        rewards.T[cases.outcomes],
        _costs(cases) / scale.span,
        cases.free,
        problem=cases.problem,
        reward_changes=reward_changes,
    )


def _costs(cases: PastCases) -> NDArray[np.float64]:
    """Return the price of every feature in every case in money, without setup fees, (T, D)."""
    costs = np.zeros(cases.codes.shape)
    for look in cases.looks:
        price = cases.price_columns.get(look.name, look.price)
        share = np.asarray(price) / len(look.columns)
        costs[:, list(look.columns)] = share[:, None] if share.ndim else share
    return costs
