"""`OraclePlan`: the oracle's purchases and actions in every round, as arrays for a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import InvalidProblem

if TYPE_CHECKING:
    from thrifty.environments.truth import Truth

MAX_FEATURES = 16
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class OraclePlan:
    """The best subset of features, and the best action in each of its partial states.

    There are P plans, one for each combination of mean rewards and mean costs that occurs. Among
    equally good subsets (within 1e-12) the first in binary counting order is chosen, where feature
    1 is the most significant bit. Among equally good actions the first is chosen.

    The partial states of plan p have the keys `codes @ strides[p]`, sorted in
    `keys[offsets[p]:offsets[p + 1]]`. Their actions are at the same positions in `actions`.

    Parameters
    ----------
    plan_of_round : array of int, shape (T,)
        Plan that applies in each round.
    masks : array of bool, shape (P, D)
        Features that each plan buys.
    strides : array of int, shape (P, D)
        Mixed radix over the bought features, 0 for the others.
    offsets : array of int, shape (P + 1,)
        Where the keys and actions of each plan begin.
    keys : array of int, shape (K,)
        Partial states.
    actions : array of int, shape (K,)
        Best action in each partial state.
    fallback : array of int, shape (P,)
        Action in a partial state without a key: the best without any feature.
    gains : array of float, shape (P,)
        Expected gain of each plan, rho*_t.
    """

    plan_of_round: NDArray[np.int64]
    masks: NDArray[np.bool_]
    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]
    actions: NDArray[np.int64]
    fallback: NDArray[np.int64]
    gains: NDArray[np.float64]

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).flags.writeable = False

    @classmethod
    def from_truth(cls, truth: Truth) -> OraclePlan:
        """Compare all subsets of the relevant features, for each pair of means that occurs."""
        subsets = all_subsets(truth.relevant)
        rewards = best_rewards_of(truth)
        both = truth.reward_piece * len(truth.costs) + truth.cost_piece
        occurring, plan_of_round = np.unique(both, return_inverse=True)
        pairs = np.divmod(occurring, len(truth.costs))
        values = rewards[:, pairs[0]] - subsets @ truth.costs[pairs[1]].T
        chosen = first_best(values.T)
        masks = subsets[chosen]
        strides = np.stack([strides_of(truth.levels, mask) for mask in masks])
        keys = [np.unique(truth.states @ row) for row in strides]
        actions = [
            first_best(truth.mean_rewards(mask)[piece].T)
            for mask, piece in zip(masks, pairs[0], strict=True)
        ]
        without_features = truth.mean_rewards(subsets[0])[pairs[0], :, 0]
        return cls(
            plan_of_round=plan_of_round.reshape(-1).astype(np.int64),
            masks=masks,
            strides=strides,
            offsets=np.cumsum([0, *map(len, keys)], dtype=np.int64),
            keys=np.concatenate(keys),
            actions=np.concatenate(actions),
            fallback=first_best(without_features),
            gains=values[chosen, np.arange(len(chosen))],
        )

    def action(self, round_: int, codes: ArrayLike) -> int:
        """Return the action in round `round_` if the state is `codes`."""
        plan = self.plan_of_round[round_]
        begin, end = self.offsets[plan], self.offsets[plan + 1]
        key = int(np.asarray(codes) @ self.strides[plan])
        place = begin + int(np.searchsorted(self.keys[begin:end], key))
        if place < end and self.keys[place] == key:
            return int(self.actions[place])
        return int(self.fallback[plan])


def strides_of(levels: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the mixed radix that numbers the partial states under `mask`, shape (D,).

    >>> strides_of(np.array([4, 3, 2]), np.array([True, False, True])).tolist()
    [2, 0, 1]
    """
    bought = [int(n) for n in levels[mask]]
    if math.prod(bought) >= 2**63:
        raise InvalidProblem(
            f"features of {bought} levels have more partial states than can be numbered: use fewer "
            "features or levels to have an oracle."
        )
    strides = np.zeros(len(levels), dtype=np.int64)
    strides[mask] = [math.prod(bought[k + 1 :]) for k in range(len(bought))]
    return strides


def all_subsets(relevant: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return all subsets of the relevant features in binary counting order, shape (2^n, D)."""
    n_features = int(relevant.sum())
    if n_features > MAX_FEATURES:
        raise InvalidProblem(
            f"the oracle compares all 2^{n_features} subsets of the features, which would take "
            f"too long: use at most {MAX_FEATURES} features that may be relevant."
        )
    bits = np.arange(n_features - 1, -1, -1)
    subsets = np.zeros((2**n_features, relevant.size), dtype=np.bool_)
    subsets[:, relevant] = np.arange(2**n_features)[:, None] >> bits & 1
    return subsets


def best_rewards_of(truth: Truth) -> NDArray[np.float64]:
    """Return `truth.best_rewards` of all subsets in binary counting order, shape (2^n, R).

    The sums of each subset are made from those of a subset with one more feature, by merging the
    partial states that only this feature distinguishes. This touches far fewer numbers than
    starting from the states.
    """
    levels, n = truth.levels[truth.relevant], int(truth.relevant.sum())
    all_strides = strides_of(truth.levels, truth.relevant)
    strides = all_strides[truth.relevant]
    pieces, actions = truth.rewards.shape[:2]
    best = np.empty((2**n, pieces))

    def visit(subset: int, first: int, keys: NDArray[np.int64], sums: NDArray[np.float64]) -> None:
        mass, totals = sums[1 : pieces + 1], sums[pieces + 1 :].reshape(pieces, actions, -1)
        means = np.divide(totals.max(axis=1), mass, out=np.zeros_like(mass), where=mass > 0)
        best[subset] = means @ sums[0]
        for i in range(first, n):
            without = keys - keys // strides[i] % levels[i] * strides[i]
            visit(subset - 2 ** (n - 1 - i), i + 1, *_merged(without, sums))

    weighted = (truth.within[:, None, :] * truth.rewards).reshape(pieces * actions, -1)
    sums = np.concatenate([truth.probabilities[None], truth.within, weighted])
    visit(2**n - 1, 0, *_merged(truth.states @ all_strides, sums))
    return best


def _merged(
    keys: NDArray[np.int64], sums: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return keys[order][starts], np.add.reduceat(sums[:, order], starts, axis=-1)


def first_best(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first index along the last axis whose value is the best, within 1e-12."""
    best = values.max(axis=-1, keepdims=True)
    first: NDArray[np.int64] = np.argmax(values >= best - TIE, axis=-1).astype(np.int64)
    return first
