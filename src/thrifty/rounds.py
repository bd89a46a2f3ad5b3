"""Immutable records of rounds: purchases, observations, and the arrays of whole runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import InvalidInput, InvalidObservation, InvalidPurchase
from thrifty.parameters import is_whole
from thrifty.problem import Problem


def as_array(values: ArrayLike, error: type[InvalidInput]) -> NDArray[Any]:
    """Return a copy of the values as an array, or raise `error` if that is impossible."""
    try:
        return np.array(values)
    except (TypeError, ValueError) as reason:
        raise error(
            f"{values!r} is not an array ({reason}): give one value for each entry, all of one "
            "kind."
        ) from reason


def _whole_purpose(purpose: int, error: type[InvalidInput]) -> int:
    if not (is_whole(purpose) and -(2**63) <= purpose < 2**63):
        raise error(f"purpose {purpose!r}: a purpose is stored as a 64-bit integer, so give one.")
    return int(purpose)


# Records are shared between policies, environments and logs, so their arrays must not change.
def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Purchase:
    """The features to buy, the observation set I_t.

    Parameters
    ----------
    mask : array_like of bool, shape (D,)
        True for each feature to buy.
    purpose : int
        A note of the policy to itself. It comes back unchanged in the `Observation`, so the policy
        does not have to remember open rounds.

    Examples
    --------
    >>> Purchase([True, False]).mask.tolist()
    [True, False]
    """

    mask: NDArray[np.bool_]
    purpose: int

    def __init__(self, mask: ArrayLike, purpose: int = 0) -> None:
        mask = as_array(mask, InvalidPurchase)
        if mask.dtype != np.bool_ or mask.ndim != 1:
            raise InvalidPurchase(
                f"the mask of a purchase has dtype {mask.dtype} and shape {mask.shape}: give one "
                "True or False per feature."
            )
        object.__setattr__(self, "purpose", _whole_purpose(purpose, InvalidPurchase))
        object.__setattr__(self, "mask", _frozen(mask))

    @classmethod
    def unchecked(cls, mask: NDArray[np.bool_], purpose: int) -> Purchase:
        """Make a purchase without checking or copying its mask.

        Parameters
        ----------
        mask : array of bool, shape (D,)
            True for each feature to buy. The array becomes read-only.
        purpose : int
            Note of the policy to itself.

        Returns
        -------
        Purchase
            The purchase.
        """
        purchase = object.__new__(cls)
        object.__setattr__(purchase, "purpose", purpose)
        object.__setattr__(purchase, "mask", _frozen(mask))
        return purchase

    @classmethod
    def nothing(cls, problem: Problem) -> Purchase:
        """Return the purchase of no feature.

        Parameters
        ----------
        problem : Problem
            Determines the number of features.

        Returns
        -------
        Purchase
            An empty purchase.
        """
        return cls(np.zeros(problem.n_features, dtype=np.bool_))

    @classmethod
    def everything(cls, problem: Problem) -> Purchase:
        """Return the purchase of every feature.

        Parameters
        ----------
        problem : Problem
            Determines the number of features.

        Returns
        -------
        Purchase
            A purchase of all features.
        """
        return cls(np.ones(problem.n_features, dtype=np.bool_))


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Observation:
    """What is known about a round, the partial state psi_t of equation (1), and its costs.

    A feature is in one of four states:

    | state                       | code      | cost          |
    |-----------------------------|-----------|---------------|
    | bought                      | 0, 1, ... | price paid    |
    | known for free              | 0, 1, ... | nan           |
    | bought, but not obtained    | -1        | price paid    |
    | not known                   | -1        | nan           |

    Parameters
    ----------
    codes : array_like of int, shape (D,)
        Code of each feature, counted from 0, or -1 (N/A).
    costs : array_like of float, shape (D,)
        Price paid for each feature, or nan.
    purpose : int
        The purpose of the latest `Purchase`.

    Examples
    --------
    >>> seen = Observation(codes=[2, -1, 0], costs=[0.05, np.nan, np.nan])
    >>> seen.mask.tolist(), seen.bought.tolist(), seen.free.tolist(), seen.total_cost
    ([True, False, True], [True, False, False], [False, False, True], 0.05)
    """

    codes: NDArray[np.int64]
    costs: NDArray[np.float64]
    purpose: int

    def __init__(self, codes: ArrayLike, costs: ArrayLike, purpose: int = 0) -> None:
        codes = as_array(codes, InvalidObservation)
        costs = as_array(costs, InvalidObservation)
        _require_codes_and_costs(codes, costs)
        object.__setattr__(self, "purpose", _whole_purpose(purpose, InvalidObservation))
        object.__setattr__(self, "codes", _frozen(codes.astype(np.int64, copy=False)))
        object.__setattr__(self, "costs", _frozen(costs.astype(np.float64, copy=False)))

    @classmethod
    def unchecked(
        cls, codes: NDArray[np.int64], costs: NDArray[np.float64], purpose: int
    ) -> Observation:
        """Make an observation without checking or copying its arrays.

        Parameters
        ----------
        codes : array of int, shape (D,)
            Code of each feature, or -1. The array becomes read-only.
        costs : array of float, shape (D,)
            Price paid for each feature, or nan. The array becomes read-only.
        purpose : int
            The purpose of the latest `Purchase`.

        Returns
        -------
        Observation
            The observation.
        """
        observation = object.__new__(cls)
        object.__setattr__(observation, "purpose", purpose)
        object.__setattr__(observation, "codes", _frozen(codes))
        object.__setattr__(observation, "costs", _frozen(costs))
        return observation

    @classmethod
    def nothing(cls, problem: Problem) -> Observation:
        """Return the observation in which nothing is known.

        Parameters
        ----------
        problem : Problem
            Determines the number of features.

        Returns
        -------
        Observation
            An empty observation.
        """
        n = problem.n_features
        return cls.unchecked(np.full(n, -1), np.full(n, np.nan), 0)

    @classmethod
    def from_free(cls, problem: Problem, codes: Mapping[int, int]) -> Observation:
        """Return the observation in which only free values are known.

        Parameters
        ----------
        problem : Problem
            Determines the number of features.
        codes : mapping
            Codes of the free values, by position of the feature.

        Returns
        -------
        Observation
            The observation before anything is bought.

        Examples
        --------
        >>> Observation.from_free(Problem.anonymous((2, 3), 2), {1: 2}).codes.tolist()
        [-1, 2]
        """
        seen = np.full(problem.n_features, -1)
        for i, code in codes.items():
            seen[i] = code
        return cls.unchecked(seen, np.full(problem.n_features, np.nan), 0)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """The features that are known, bought or free: D(psi)."""
        return self.codes >= 0

    @property
    def bought(self) -> NDArray[np.bool_]:
        """The features that were bought and obtained."""
        return (self.codes >= 0) & ~np.isnan(self.costs)

    @property
    def free(self) -> NDArray[np.bool_]:
        """The features that are known without a purchase."""
        return (self.codes >= 0) & np.isnan(self.costs)

    @property
    def settled(self) -> NDArray[np.bool_]:
        """The features that cannot be bought any more: known, or bought and not obtained."""
        return (self.codes >= 0) | ~np.isnan(self.costs)

    @property
    def total_cost(self) -> float:
        """The sum of all prices paid."""
        # In the order of the features, as the kernels add, so that both give the same bits.
        return reduce(add, self.costs[~np.isnan(self.costs)].tolist(), 0.0)


def _require_codes_and_costs(codes: NDArray[Any], costs: NDArray[Any]) -> None:
    shapes_fit = codes.ndim == 1 and costs.shape == codes.shape
    if not (shapes_fit and codes.dtype.kind in "iu" and costs.dtype.kind in "iuf"):
        raise InvalidObservation(
            f"codes of dtype {codes.dtype} and shape {codes.shape} with costs of dtype "
            f"{costs.dtype} and shape {costs.shape}: an observation has one whole-number code and "
            "one cost per feature."
        )
    for code, cost in zip(codes.tolist(), costs.tolist(), strict=True):
        if not -1 <= code < 2**63:
            raise InvalidObservation(
                f"code {code} in {codes.tolist()}: codes count levels from 0, and -1 means not "
                "known."
            )
        if not (0 <= cost < math.inf or math.isnan(cost)):
            raise InvalidObservation(
                f"a cost of {cost} in {costs.tolist()}: anything but a finite number of at least "
                "0 would distort every later estimate; use nan where nothing was bought."
            )


@dataclass(frozen=True, eq=False)
class RunPropensities:
    """The probabilities of the decisions of T rounds (see `Policy.propensity`).

    Their product in a round is the probability of all decisions of the round. Errors are 0 where
    the probabilities are exact. A probability that the policy cannot say is nan.

    Parameters
    ----------
    purchases : array of float, shape (T,)
        Probability of the purchases of each round, in all of their steps.
    purchase_errors : array of float, shape (T,)
        Their errors.
    actions : array of float, shape (T,)
        Probability of the action of each round, given the purchases.
    action_errors : array of float, shape (T,)
        Their errors.
    """

    purchases: NDArray[np.float64]
    purchase_errors: NDArray[np.float64]
    actions: NDArray[np.float64]
    action_errors: NDArray[np.float64]

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> RunPropensities:
        """Return arrays to fill.

        Parameters
        ----------
        shape : tuple of int
            Shape of each array.

        Returns
        -------
        RunPropensities
            Zeros.
        """
        return cls(*(np.zeros(shape) for _ in range(4)))

    def __getitem__(self, k: int) -> RunPropensities:
        return RunPropensities(*(array[k] for array in self._arrays))

    def fill(self, other: RunPropensities) -> None:
        """Copy the arrays of another record into these.

        Parameters
        ----------
        other : RunPropensities
            Arrays of the same shape.
        """
        for own, theirs in zip(self._arrays, other._arrays, strict=True):
            own[...] = theirs

    @property
    def _arrays(self) -> tuple[NDArray[np.float64], ...]:
        return self.purchases, self.purchase_errors, self.actions, self.action_errors


@dataclass(frozen=True, eq=False)
class Run:
    """The arrays of T rounds, as `play` returns them.

    Parameters
    ----------
    observed : array of bool, shape (T, D)
        True for each feature that was bought. Free features are not included.
    actions : array of int, shape (T,)
        Actions taken.
    rewards : array of float, shape (T,)
        Rewards in [0, 1].
    costs : array of float, shape (T,)
        Total cost of the features bought in each round.
    propensities : RunPropensities, optional
        Probabilities of the decisions, if they were asked for.

    Examples
    --------
    >>> run = Run(np.array([[True]]), np.array([0]), np.array([1.0]), np.array([0.25]))
    >>> run.gains.tolist(), run.rounds
    ([0.75], 1)
    """

    observed: NDArray[np.bool_]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    costs: NDArray[np.float64]
    propensities: RunPropensities | None = field(default=None, kw_only=True)

    @property
    def gains(self) -> NDArray[np.float64]:
        """Reward minus cost of each round."""
        return self.rewards - self.costs

    @property
    def rounds(self) -> int:
        """T, the number of rounds."""
        return int(self.actions.shape[-1])


@dataclass(frozen=True, eq=False)
class Runs(Run):
    """The runs of several seeds, as `simulate` returns them.

    The arrays are those of a `Run` with a first axis for the seeds. Index or iterate to get the
    single runs, in the order of `seeds`.

    Parameters
    ----------
    observed : array of bool, shape (S, T, D)
        True for each feature that was bought.
    actions : array of int, shape (S, T)
        Actions taken.
    rewards : array of float, shape (S, T)
        Rewards in [0, 1].
    costs : array of float, shape (S, T)
        Total cost of the features bought in each round.
    seeds : tuple of int
        The seeds, in the order of the first axis.
    propensities : RunPropensities, optional
        Probabilities of the decisions, if they were asked for; each array has shape (S, T).
    """

    seeds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, k: int) -> Run:
        propensities = None if self.propensities is None else self.propensities[k]
        arrays = self.observed[k], self.actions[k], self.rewards[k], self.costs[k]
        return Run(*arrays, propensities=propensities)

    def __iter__(self) -> Iterator[Run]:
        return (self[k] for k in range(len(self)))
