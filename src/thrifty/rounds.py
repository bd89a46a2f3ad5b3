"""What passes between a policy and an environment: frozen records of one round, and of many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import InvalidInput, InvalidObservation, InvalidPurchase
from thrifty.parameters import is_whole
from thrifty.problem import Problem


def as_array(values: ArrayLike, error: type[InvalidInput]) -> NDArray[Any]:
    """Return a copy of the values as an array, or raise `error` if they make none."""
    try:
        return np.array(values)
    except (TypeError, ValueError) as reason:
        raise error(
            f"{values!r} is not an array ({reason}): give one value for each entry, all of one "
            "kind."
        ) from reason


def _whole_purpose(purpose: int, error: type[InvalidInput]) -> int:
    if not (is_whole(purpose) and -(2**63) <= purpose < 2**63):
        raise error(
            f"purpose {purpose!r}: it is the policy's own note, kept as a 64-bit whole number."
        )
    return int(purpose)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Purchase:
    """The observation set I_t, as a mask over the features, and why it is bought.

    `purpose` is the policy's own note; it comes back to the policy, unchanged, in the
    `Observation`, so that nobody has to remember an open round.

    >>> Purchase([True, False]).mask.tolist()
    [True, False]
    """

    mask: NDArray[np.bool_]
    purpose: int

    def __init__(self, mask: ArrayLike, purpose: int = 0) -> None:
        mask = as_array(mask, InvalidPurchase)
        if mask.dtype != np.bool_ or mask.ndim != 1:
            raise InvalidPurchase(
                f"a purchase's mask has dtype {mask.dtype} and shape {mask.shape}: it says for "
                "each feature whether to buy it, so give one True or False per feature."
            )
        object.__setattr__(self, "purpose", _whole_purpose(purpose, InvalidPurchase))
        object.__setattr__(self, "mask", _frozen(mask))

    @classmethod
    def unchecked(cls, mask: NDArray[np.bool_], purpose: int) -> Purchase:
        """Return a purchase of a mask that is known to be right; it is not copied."""
        purchase = object.__new__(cls)
        object.__setattr__(purchase, "purpose", purpose)
        object.__setattr__(purchase, "mask", _frozen(mask))
        return purchase

    @classmethod
    def nothing(cls, problem: Problem) -> Purchase:
        """Buy no feature."""
        return cls(np.zeros(problem.n_features, dtype=np.bool_))

    @classmethod
    def everything(cls, problem: Problem) -> Purchase:
        """Buy every feature."""
        return cls(np.ones(problem.n_features, dtype=np.bool_))


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Observation:
    """The partial state psi_t of equation (1), and what was paid for it.

    A feature is in one of four states:

    ===================  ==========  =============
    state                code        cost
    ===================  ==========  =============
    bought at a price    0, 1, ...   the price
    known for free       0, 1, ...   nan
    could not be had     -1          what was paid
    not known            -1          nan
    ===================  ==========  =============

    Parameters
    ----------
    codes : array_like of int, shape (D,)
        Codes count levels from 0; -1 stands for N/A.
    costs : array_like of float, shape (D,)
        What was paid for each feature, or nan.
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
        """Return an observation of arrays that are known to be right; they are not copied."""
        observation = object.__new__(cls)
        object.__setattr__(observation, "purpose", purpose)
        object.__setattr__(observation, "codes", _frozen(codes))
        object.__setattr__(observation, "costs", _frozen(costs))
        return observation

    @classmethod
    def nothing(cls, problem: Problem) -> Observation:
        """Return the observation of a case of which nothing is known."""
        n = problem.n_features
        return cls.unchecked(np.full(n, -1), np.full(n, np.nan), 0)

    @classmethod
    def from_free(cls, problem: Problem, codes: Mapping[int, int]) -> Observation:
        """Return what is known before anything is bought: codes by the features' positions.

        >>> Observation.from_free(Problem.anonymous((2, 3), 2), {1: 2}).codes.tolist()
        [-1, 2]
        """
        seen = np.full(problem.n_features, -1)
        for i, code in codes.items():
            seen[i] = code
        return cls.unchecked(seen, np.full(problem.n_features, np.nan), 0)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """D(psi), the features that are known: bought, or free."""
        return self.codes >= 0

    @property
    def bought(self) -> NDArray[np.bool_]:
        """The features that were bought and could be had."""
        return (self.codes >= 0) & ~np.isnan(self.costs)

    @property
    def free(self) -> NDArray[np.bool_]:
        """The features that are known without a purchase."""
        return (self.codes >= 0) & np.isnan(self.costs)

    @property
    def settled(self) -> NDArray[np.bool_]:
        """The features that cannot be bought any more: known, or not to be had."""
        return (self.codes >= 0) | ~np.isnan(self.costs)

    @property
    def total_cost(self) -> float:
        """The sum of what was paid, added up in the order of the features as the kernels do."""
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
                f"code {code} in {codes.tolist()}: levels are counted from 0 and -1 means not "
                "known."
            )
        if not (0 <= cost < math.inf or math.isnan(cost)):
            raise InvalidObservation(
                f"a cost of {cost} in {costs.tolist()}: a cost is a finite number of at least 0, "
                "or nan where nothing was bought; anything else would spoil every later estimate."
            )


@dataclass(frozen=True, eq=False)
class Run:
    """T rounds played: who bought what, did what, got what.

    `observed` is the mask of what was bought, shape (T, D), without what was known for free;
    `actions`, `rewards`, `costs` and `gains` have shape (T,).
    """

    observed: NDArray[np.bool_]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    costs: NDArray[np.float64]

    @property
    def gains(self) -> NDArray[np.float64]:
        """Reward minus cost, round by round."""
        return self.rewards - self.costs

    @property
    def rounds(self) -> int:
        """T, the number of rounds."""
        return int(self.actions.shape[-1])


@dataclass(frozen=True, eq=False)
class Runs(Run):
    """The arrays of a `Run` with a first axis of seeds.

    Indexing and iterating give the single runs, in the order of `seeds`.
    """

    seeds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, k: int) -> Run:
        return Run(self.observed[k], self.actions[k], self.rewards[k], self.costs[k])

    def __iter__(self) -> Iterator[Run]:
        return (self[k] for k in range(len(self)))
