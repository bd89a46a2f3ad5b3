"""`Truth`: the true means of an environment, for the oracle and the regret only."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.environments.oracle_plan import OraclePlan, strides_of
from thrifty.environments.tables import freeze
from thrifty.errors import InvalidTable

if TYPE_CHECKING:
    from thrifty.environments.replay import Replay


@dataclass(frozen=True, eq=False)
class Truth:
    """True mean rewards, mean costs and state probabilities, piecewise constant over time.

    Only the S states that occur are listed, not the product of all levels.

    A feature that is independent of all other features and of the rewards carries no information,
    whatever else is bought: the oracle never buys it, and no mean depends on it. List such features
    in `irrelevant`. Their codes in `states` are ignored, and the oracle compares only subsets of
    the other features.

    Parameters
    ----------
    levels : array of int, shape (D,)
        Number of levels of each feature.
    states : array of int, shape (S, D)
        Codes of the states phi that occur.
    probabilities : array of float, shape (S,)
        Probabilities p(phi), the weights of the states in equation (5).
    reward_piece : array of int, shape (T,)
        Index into `rewards` for each round.
    cost_piece : array of int, shape (T,)
        Index into `costs` for each round.
    rewards : array of float, shape (R, A, S)
        Mean reward of each action in each state.
    within : array of float, shape (R, S)
        Frequency of each state inside the piece: the weights of conditional means. In a `World`
        they are equal to `probabilities`.
    costs : array of float, shape (C, D)
        Mean cost of each feature.
    irrelevant : array of int, shape (N,)
        Positions of features that are independent of everything else.
    """

    levels: NDArray[np.int64]
    states: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    reward_piece: NDArray[np.int64]
    cost_piece: NDArray[np.int64]
    rewards: NDArray[np.float64]
    within: NDArray[np.float64]
    costs: NDArray[np.float64]
    irrelevant: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        for field_ in fields(self):
            dtype = np.int64 if field_.name in _WHOLE else np.float64
            object.__setattr__(self, field_.name, freeze(getattr(self, field_.name), dtype))
        self._require_shapes()
        self._require_values()

    @classmethod
    def in_hindsight(cls, replay: Replay) -> Truth:
        """Use a table's own means as the truth, as the paper's Oracle does.

        A period begins at every change point of rewards or costs. State probabilities are
        frequencies over all rounds. Mean rewards, given a partial state, and mean costs are
        averages over the rounds of the period.

        Parameters
        ----------
        replay : Replay
            The table.

        Returns
        -------
        Truth
            The table's means.

        Examples
        --------
        >>> from thrifty.environments import Replay
        >>> table = Replay([[0], [1], [1]], [[1, 0], [1, 0], [0, 1]], [[0.1], [0.2], [0.3]])
        >>> truth = Truth.in_hindsight(table)
        >>> truth.mean_rewards([False]).round(3).tolist(), truth.costs.round(3).tolist()
        ([[[0.667], [0.333]]], [[0.2]])
        """
        cuts = sorted({*replay.reward_changes, *replay.cost_changes})
        period = np.searchsorted(cuts, np.arange(replay.horizon), side="right")
        states, state = np.unique(replay.contexts, axis=0, return_inverse=True)
        state = state.reshape(-1)
        counts = _totals(period, state, np.ones(replay.horizon))
        rewards = np.stack([_totals(period, state, arm) for arm in replay.rewards.T], axis=1)
        lengths = counts.sum(axis=1, keepdims=True)
        prices = np.where(replay.free, 0.0, replay.costs)
        costs = np.stack([np.bincount(period, weights=column) for column in prices.T], axis=1)
        return cls(
            levels=replay.problem.levels,
            states=states,
            probabilities=counts.sum(axis=0) / replay.horizon,
            reward_piece=period,
            cost_piece=period,
            rewards=rewards / np.maximum(counts, 1)[:, None, :],
            within=counts / lengths,
            costs=costs / lengths,
        )

    @property
    def rounds(self) -> int:
        """T, the number of rounds."""
        return len(self.reward_piece)

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """True for each feature that may carry information, shape (D,)."""
        return ~np.isin(np.arange(self.levels.size), self.irrelevant)

    @cached_property
    def oracle_plan(self) -> OraclePlan:
        """The best policy pi*_t of equation (4) for every round."""
        return OraclePlan.from_truth(self)

    def partial_states(self, mask: ArrayLike) -> NDArray[np.int64]:
        """Return the number of each state's partial state.

        Parameters
        ----------
        mask : array_like of bool, shape (D,)
            The features that are known.

        Returns
        -------
        array of int, shape (S,)
            Partial states are numbered in the order of the codes of their relevant features.
        """
        return np.unique(self._keys(mask), return_inverse=True)[1].astype(np.int64)

    def partial_probabilities(self, mask: ArrayLike) -> NDArray[np.float64]:
        """Return the probability p(psi) of every partial state.

        Parameters
        ----------
        mask : array_like of bool, shape (D,)
            The features that are known.

        Returns
        -------
        array of float
            One probability for each partial state.
        """
        order, starts = self._grouping(mask)
        return np.add.reduceat(self.probabilities[order], starts)

    def mean_rewards(self, mask: ArrayLike) -> NDArray[np.float64]:
        """Return the mean rewards r(a, psi) of every piece.

        Parameters
        ----------
        mask : array_like of bool, shape (D,)
            The features that are known.

        Returns
        -------
        array of float, shape (R, A, number of partial states)
            Means over the states that agree with psi, weighted by `within`; 0 if none of them
            occurs in the piece.
        """
        order, starts = self._grouping(mask)
        mass = np.add.reduceat(self.within[:, order], starts, axis=-1)[:, None, :]
        totals = np.add.reduceat(self._weighted[..., order], starts, axis=-1)
        return np.divide(totals, mass, out=np.zeros_like(totals), where=mass > 0)

    def best_rewards(self, mask: ArrayLike) -> NDArray[np.float64]:
        """Return sum_psi p(psi) max_a r(a, psi) of every piece.

        Parameters
        ----------
        mask : array_like of bool, shape (D,)
            The features that are known.

        Returns
        -------
        array of float, shape (R,)
            Expected reward of the best action.
        """
        best: NDArray[np.float64] = self.mean_rewards(mask).max(axis=1)
        return best @ self.partial_probabilities(mask)

    def best_gain(self, mask: ArrayLike, round_: int) -> float:
        """Return V_t(I), the expected gain of a subset in a round, equation (5).

        Parameters
        ----------
        mask : array_like of bool, shape (D,)
            The features to buy.
        round_ : int
            The round, counted from 0.

        Returns
        -------
        float
            Expected reward of the best action minus the mean costs.
        """
        reward = self.best_rewards(mask)[self.reward_piece[round_]]
        return float(reward - self.costs[self.cost_piece[round_]] @ np.asarray(mask))

    @cached_property
    def _weighted(self) -> NDArray[np.float64]:
        return self.within[:, None, :] * self.rewards

    def _keys(self, mask: ArrayLike) -> NDArray[np.int64]:
        relevant = np.asarray(mask, dtype=np.bool_) & self.relevant
        return self.states @ strides_of(self.levels, relevant)

    def _grouping(self, mask: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        keys = self._keys(mask)
        order = np.argsort(keys, kind="stable")
        return order, np.flatnonzero(np.diff(keys[order], prepend=-1))

    def _require_shapes(self) -> None:
        t, d, s = self.reward_piece.size, self.levels.size, self.probabilities.size
        r, a, c = _extent(self.rewards, 0), _extent(self.rewards, 1), _extent(self.costs, 0)
        shapes = {
            "levels": (d,),
            "states": (s, d),
            "probabilities": (s,),
            "reward_piece": (t,),
            "cost_piece": (t,),
            "rewards": (r, a, s),
            "within": (r, s),
            "costs": (c, d),
            "irrelevant": (self.irrelevant.size,),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise InvalidTable(
                    f"a truth's {name} have shape {getattr(self, name).shape}, but the other "
                    f"arrays ask for {shape}: see Truth for the shape of each."
                )

    def _require_values(self) -> None:
        p = self.probabilities
        if not ((p >= 0).all() and abs(p.sum() - 1) < 1e-9):
            raise InvalidTable(
                f"a truth's probabilities sum to {p.sum()}: they must be at least 0 and sum to 1."
            )
        for name, top in (
            ("reward_piece", len(self.rewards)),
            ("cost_piece", len(self.costs)),
            ("states", self.levels),
            ("irrelevant", self.levels.size),
        ):
            codes: NDArray[np.int64] = getattr(self, name)
            if not ((codes >= 0) & (codes < top)).all():
                raise InvalidTable(
                    f"a truth's {name} go from {codes.min()} to {codes.max()}, but there are only "
                    f"{top}: count from 0."
                )
        for name in ("rewards", "within", "costs"):
            if not (np.isfinite(getattr(self, name)) & (getattr(self, name) >= 0)).all():
                raise InvalidTable(
                    f"a truth's {name} contain a number that is negative or not finite: correct it."
                )


_WHOLE = frozenset({"levels", "states", "reward_piece", "cost_piece", "irrelevant"})


def _extent(array: NDArray[np.float64], axis: int) -> int:
    return array.shape[axis] if axis < array.ndim else 0


def _totals(
    period: NDArray[np.intp], state: NDArray[np.intp], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    shape = (int(period.max()) + 1, int(state.max()) + 1)
    totals = np.zeros(shape)
    np.add.at(totals, (period, state), values)
    return totals
