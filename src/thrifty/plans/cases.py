"""Past cases as plans are learnt from them: codes, outcomes, and everything that can be bought."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import InvalidProblem
from thrifty.outcomes import Outcomes
from thrifty.plans.costs import Costs
from thrifty.prices import PriceList
from thrifty.problem import Problem

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LookSet = tuple[int, ...]
"""Positions of looks, in increasing order."""

_NO_COLUMNS: Mapping[str, Floats] = MappingProxyType({})


@dataclass(frozen=True)
class Look:
    """Something that can be bought: a feature with a price, or a bundle of features.

    Parameters
    ----------
    name : str
        Name of the feature or of the bundle.
    columns : tuple of int
        Positions of the features that it reveals.
    price : float
        List price in money, without the setup fee of its group.
    group : int
        Position of its group in the price list, or -1.
    """

    name: str
    columns: tuple[int, ...]
    price: float
    group: int = -1


def list_looks(problem: Problem, free: Bools) -> tuple[Look, ...]:
    """Return everything that can be bought, in the order of the problem's features.

    Parameters
    ----------
    problem : Problem
        A problem with a price for every feature that is not free.
    free : array of bool, shape (D,)
        True for features that are known before buying.

    Returns
    -------
    tuple of Look
        Features and bundles.

    Raises
    ------
    InvalidProblem
        If a feature is neither free nor priced.

    Examples
    --------
    >>> from thrifty.problem import Feature
    >>> problem = Problem([Feature("x", ("0", "1"))], ["go", "stop"], prices={"x": 2.0})
    >>> list_looks(problem, np.array([False]))
    (Look(name='x', columns=(0,), price=2.0, group=-1),)
    """
    prices = problem.prices or PriceList()
    bundles = {name: bundle for bundle in prices.bundles for name in bundle.features}
    looks: dict[str, Look] = {}
    for i, name in enumerate(problem.feature_names):
        if free[i]:
            continue
        bundle = bundles.get(name)
        columns = (i,) if bundle is None else tuple(map(problem.feature_index, bundle.features))
        price = prices.prices.get(name) if bundle is None else bundle.price
        if price is None:
            raise InvalidProblem(
                f"feature {name!r} has no list price and is not free, so a plan cannot weigh it: "
                "give its price, or make it free."
            )
        group = next((k for k, group in enumerate(prices.groups) if name in group.features), -1)
        look = Look(name if bundle is None else bundle.name, columns, price, group)
        looks.setdefault(look.name, look)
    return tuple(looks.values())


@dataclass(frozen=True, eq=False)
class PastCases:
    """T past cases with known outcomes, in the form that plans are learnt from.

    Parameters
    ----------
    problem : Problem
        Features, outcomes with rewards in money, and list prices with groups and bundles. A number
        should have many edges: plans choose their own thresholds among them.
    codes : array of int, shape (T, D)
        Code of each feature in every case; -1 if it could not be obtained.
    outcomes : array of int, shape (T,)
        Position of the outcome of every case.
    free : array of bool, shape (D,)
        True for features that are known before buying.
    price_columns : mapping
        Price in every case, (T,), of the features and bundles whose price varies, by name.
    estimates : array of float, shape (T, A), optional
        Estimated reward in money of every action in every case, where some outcomes are not known
        and were filled in. Gains are measured by it. By default, rewards follow from outcomes.

    Examples
    --------
    >>> from thrifty.problem import Feature
    >>> problem = Problem(
    ...     [Feature("test", ("low", "high"))],
    ...     ["treat", "wait"],
    ...     outcomes={"treat": {"ill": 5, "well": -1}, "wait": 0},
    ...     prices={"test": 0.5},
    ... )
    >>> cases = PastCases(problem, np.array([[0], [1]]), np.array([1, 0]), np.array([False]))
    >>> cases.n_cases, [look.name for look in cases.looks], cases.cost([0]).tolist()
    (2, ['test'], [0.5, 0.5])
    """

    problem: Problem
    codes: NDArray[np.int16]
    outcomes: Integers
    free: Bools
    price_columns: Mapping[str, Floats] = field(default_factory=lambda: _NO_COLUMNS)
    estimates: Floats | None = None

    @property
    def n_cases(self) -> int:
        """T, the number of cases."""
        return len(self.outcomes)

    @cached_property
    def rewards(self) -> Floats:
        """Reward in money by action and outcome, shape (A, O)."""
        table: Outcomes | None = self.problem.outcomes
        if table is None:
            raise InvalidProblem(
                "the problem declares no outcomes, so the reward of an action that was not taken "
                "is unknown: give `outcomes` with the reward of each action."
            )
        return table.table

    @cached_property
    def action_rewards(self) -> Floats:
        """Reward in money of every action in every case, or its estimate, shape (T, A)."""
        if self.estimates is not None:
            return self.estimates
        return np.ascontiguousarray(self.rewards[:, self.outcomes].T)

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """Everything that can be bought, in the order of the problem's features."""
        return list_looks(self.problem, self.free)

    @cached_property
    def free_columns(self) -> tuple[int, ...]:
        """Positions of the features that are known before buying."""
        return tuple(np.flatnonzero(self.free).tolist())

    def columns(self, looks: Iterable[int]) -> tuple[int, ...]:
        """Return the features that are known once these looks are bought, free ones included.

        Parameters
        ----------
        looks : iterable of int
            Positions of looks.

        Returns
        -------
        tuple of int
            Positions of features, in increasing order.
        """
        bought = {column for k in looks for column in self.looks[k].columns}
        return tuple(sorted(bought | set(self.free_columns)))

    @cached_property
    def costs(self) -> Costs:
        """What every look costs in every case."""
        groups = self.problem.prices.groups if self.problem.prices is not None else ()
        return Costs(
            prices=tuple(self.price_columns.get(look.name, look.price) for look in self.looks),
            groups=tuple(look.group for look in self.looks),
            fees=tuple(group.setup for group in groups),
            n_cases=self.n_cases,
        )

    def cost(self, looks: Iterable[int]) -> Floats:
        """Return what these looks cost in every case when they are bought together.

        Parameters
        ----------
        looks : iterable of int
            Positions of looks.

        Returns
        -------
        array of float, shape (T,)
            Costs in money; the setup fee of a group is paid once.
        """
        return self.costs.total(looks)

    def subset(self, rows: NDArray[np.integer] | Bools) -> PastCases:
        """Return some of the cases.

        Parameters
        ----------
        rows : array of int or bool
            Positions of the cases, or True for each case to keep.

        Returns
        -------
        PastCases
            The same problem with fewer cases.
        """
        return replace(
            self,
            codes=self.codes[rows],
            outcomes=self.outcomes[rows],
            price_columns={name: prices[rows] for name, prices in self.price_columns.items()},
            estimates=None if self.estimates is None else self.estimates[rows],
        )
