"""List prices: single features, groups with a shared setup fee, and bundles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thrifty.errors import InvalidProblem
from thrifty.features import as_names, require_distinct
from thrifty.parameters import as_float


@dataclass(frozen=True)
class Group:
    """Features that share a setup fee, such as tests on one blood sample.

    Parameters
    ----------
    name : str
        Name of the group.
    features : sequence of str
        Names of its features.
    setup : float
        Setup fee in money, paid once per case together with the first feature of the group.

    Examples
    --------
    >>> Group("blood", ("TSH", "T3"), setup=2.10).features
    ('TSH', 'T3')
    """

    name: str
    features: tuple[str, ...]
    setup: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", as_names(self.features, f"group {self.name!r}"))
        object.__setattr__(self, "setup", _price(self.setup, f"the setup fee of {self.name!r}"))


@dataclass(frozen=True)
class Bundle:
    """Features that are sold together at one price: buying one buys all of them.

    Parameters
    ----------
    name : str
        Name of the bundle. You may report its cost under this name.
    features : sequence of str
        Names of its features, at least two.
    price : float, optional
        List price of the whole bundle, in money.

    Examples
    --------
    >>> Bundle("credit report", ("score", "defaults"), price=4.0).price
    4.0
    """

    name: str
    features: tuple[str, ...]
    price: float | None = None

    def __post_init__(self) -> None:
        features = as_names(self.features, f"bundle {self.name!r}")
        object.__setattr__(self, "features", features)
        if len(features) < 2:
            raise InvalidProblem(
                f"bundle {self.name!r} has the features {list(features)}: a bundle has at least "
                "two, so give a single feature its own price."
            )
        if self.price is not None:
            price = _price(self.price, f"the price of bundle {self.name!r}")
            object.__setattr__(self, "price", price)


@dataclass(frozen=True, init=False)
class PriceList:
    """List prices in money, public before anything is bought.

    The list is an expectation: what you report as paid in each case is what counts. A cost that
    you do not report is taken from the list.

    All of Thrifty follows these rules:

    - A feature that is already known, or could not be obtained, is not sold again in the case.
    - A group's setup fee is paid once per case. It is added to the cost of the first feature of the
      group that is bought; of several bought together, to the first in the order of the problem.
    - Buying one feature of a bundle buys every feature of it that is not yet known. The price of
      the bundle is divided equally among the features bought now.

    Parameters
    ----------
    prices : mapping, optional
        Price of each feature. A feature that is not listed has no known price.
    groups : sequence of Group
        Features that share a setup fee.
    bundles : sequence of Bundle
        Features that are sold together.

    Examples
    --------
    >>> blood = Group("blood", ("TSH", "T3"), setup=2.10)
    >>> prices = PriceList({"TSH": 20.68, "T3": 9.31, "age": 1.0}, groups=[blood])
    >>> round(prices.total(["TSH", "T3"]), 2), round(prices.total(["T3"], owned=["TSH"]), 2)
    (32.09, 9.31)
    """

    prices: Mapping[str, float]
    groups: tuple[Group, ...]
    bundles: tuple[Bundle, ...]

    def __init__(
        self,
        prices: Mapping[str, float] | None = None,
        groups: Iterable[Group] = (),
        bundles: Iterable[Bundle] = (),
    ) -> None:
        listed = {
            name: _price(price, f"the price of {name!r}") for name, price in (prices or {}).items()
        }
        object.__setattr__(self, "prices", listed)
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "bundles", tuple(bundles))
        for what, sales in (("group", self.groups), ("bundle", self.bundles)):
            require_distinct([sale.name for sale in sales], what)
            features = [name for sale in sales for name in sale.features]
            require_distinct(features, f"feature of a {what}")
        for bundle in self.bundles:
            priced = [name for name in bundle.features if name in listed]
            if priced and bundle.price is not None:
                raise InvalidProblem(
                    f"{priced[0]!r} has its own price and is in bundle {bundle.name!r}: a bundle "
                    "has one price for all its features, so remove one of the two prices."
                )

    def __hash__(self) -> int:
        return hash((frozenset(self.prices.items()), self.groups, self.bundles))

    def require_features(self, names: Sequence[str]) -> None:
        """Check that the list only names features of the problem.

        Parameters
        ----------
        names : sequence of str
            Names of the problem's features.

        Raises
        ------
        InvalidProblem
            If a price, group or bundle names another feature, or a bundle has a feature's name.
        """
        used = [(name, "a price is given for") for name in self.prices]
        for group in self.groups:
            used += [(name, f"group {group.name!r} contains") for name in group.features]
        for bundle in self.bundles:
            used += [(name, f"bundle {bundle.name!r} contains") for name in bundle.features]
        for name, where in used:
            if name not in names:
                raise InvalidProblem(
                    f"{where} {name!r}, which is not a feature: use one of "
                    f"{', '.join(map(repr, names))}."
                )
        for bundle in self.bundles:
            if bundle.name in names:
                raise InvalidProblem(
                    f"bundle {bundle.name!r} has the name of a feature: rename the bundle, since "
                    "costs are reported by name."
                )

    @property
    def shared(self) -> set[str]:
        """Features whose cost depends on which other features are bought."""
        grouped = {name for group in self.groups for name in group.features}
        return grouped | {name for bundle in self.bundles for name in bundle.features}

    def costs(self, names: Iterable[str], owned: Iterable[str] = ()) -> dict[str, float | None]:
        """Return the cost of each feature when these are bought together.

        Parameters
        ----------
        names : iterable of str
            Features to buy now, in the order of the problem.
        owned : iterable of str
            Features bought earlier in the case: the setup fees of their groups are paid.

        Returns
        -------
        dict
            Cost in money by feature, with setup fees and shares of bundles, or None for a feature
            without a list price.
        """
        wanted, before = list(names), set(owned)
        costs = {name: self.prices.get(name) for name in wanted}
        for bundle in self.bundles:
            members = [name for name in wanted if name in bundle.features]
            if bundle.price is not None:
                costs |= {name: bundle.price / len(members) for name in members}
        for group in self.groups:
            first = next((name for name in wanted if name in group.features), None)
            if first is not None and before.isdisjoint(group.features):
                price = costs[first]
                costs[first] = None if price is None else price + group.setup
        return costs

    def total(self, names: Iterable[str], owned: Iterable[str] = ()) -> float | None:
        """Return the total price of buying these features together.

        Parameters
        ----------
        names : iterable of str
            Features to buy now.
        owned : iterable of str
            Features bought earlier in the case.

        Returns
        -------
        float or None
            Total in money, or None if a feature has no list price.
        """
        costs = list(self.costs(names, owned).values())
        return None if None in costs else math.fsum(cost for cost in costs if cost is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the list as a dictionary of JSON values.

        Returns
        -------
        dict
            Input for `from_dict`.
        """
        return {
            "prices": dict(self.prices),
            "groups": [
                {"name": group.name, "features": list(group.features), "setup": group.setup}
                for group in self.groups
            ],
            "bundles": [
                {"name": bundle.name, "features": list(bundle.features), "price": bundle.price}
                for bundle in self.bundles
            ],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PriceList:
        """Make a price list from the output of `to_dict`.

        Parameters
        ----------
        plain : mapping
            Output of `to_dict`.

        Returns
        -------
        PriceList
            An equal price list.
        """
        return cls(
            plain["prices"],
            [Group(**group) for group in plain["groups"]],
            [Bundle(**bundle) for bundle in plain["bundles"]],
        )


def _price(value: Any, what: str) -> float:
    number = as_float(value)
    if not 0 <= number < math.inf:
        raise InvalidProblem(
            f"{what} is {value!r}: a price is a finite number of at least 0, so correct it."
        )
    return number
