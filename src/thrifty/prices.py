"""List prices: of single features, with setup fees that groups share, and of bundles."""

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
        Its features.
    setup : float
        Paid once a case, together with the first feature of the group that is bought.
    """

    name: str
    features: tuple[str, ...]
    setup: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", as_names(self.features, f"group {self.name!r}"))
        object.__setattr__(self, "setup", _price(self.setup, f"the setup fee of {self.name!r}"))


@dataclass(frozen=True)
class Bundle:
    """Features that are sold together at one price: who buys one gets all.

    Parameters
    ----------
    name : str
        Name of the bundle. Its cost may be reported under this name.
    features : sequence of str
        Its features, at least two.
    price : float, optional
        The list price of the whole bundle.
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
                "two; give a single feature its own price."
            )
        if self.price is not None:
            price = _price(self.price, f"the price of bundle {self.name!r}")
            object.__setattr__(self, "price", price)


@dataclass(frozen=True, init=False)
class PriceList:
    """What it costs to look, in money: known to everybody before anything is bought.

    What was really paid is reported case by case and is what counts; the list is the expectation.

    Parameters
    ----------
    prices : mapping
        The price of each feature. A feature that is not listed has no known price.
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
        listed = {name: _price(it, f"the price of {name!r}") for name, it in (prices or {}).items()}
        object.__setattr__(self, "prices", listed)
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "bundles", tuple(bundles))
        for what, sales in (("group", self.groups), ("bundle", self.bundles)):
            require_distinct([it.name for it in sales], what)
            require_distinct([name for it in sales for name in it.features], f"feature of a {what}")
        for bundle in self.bundles:
            priced = [name for name in bundle.features if name in listed]
            if priced and bundle.price is not None:
                raise InvalidProblem(
                    f"{priced[0]!r} has a price of its own and is in bundle {bundle.name!r}: what "
                    "is sold together has one price, so remove one of the two."
                )

    def __hash__(self) -> int:
        return hash((frozenset(self.prices.items()), self.groups, self.bundles))

    def require_features(self, names: Sequence[str]) -> None:
        """Refuse prices of features that the problem does not have."""
        used = [(name, "a price is given for") for name in self.prices]
        used += [(name, f"group {it.name!r} holds") for it in self.groups for name in it.features]
        used += [(name, f"bundle {it.name!r} holds") for it in self.bundles for name in it.features]
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
        """The features whose cost depends on what else is bought."""
        grouped = {name for group in self.groups for name in group.features}
        return grouped | {name for bundle in self.bundles for name in bundle.features}

    def expanded(self, names: Iterable[str]) -> list[str]:
        """Return the names with those added that are sold together with them."""
        wanted = dict.fromkeys(names)
        for bundle in self.bundles:
            if any(name in wanted for name in bundle.features):
                wanted |= dict.fromkeys(bundle.features)
        return list(wanted)

    def costs(self, names: Iterable[str], owned: Iterable[str] = ()) -> dict[str, float | None]:
        """Return what each feature costs when these are bought together.

        Parameters
        ----------
        names : iterable of str
            Features to buy now.
        owned : iterable of str
            Features of the case that were bought before: their groups' setup fees are paid.

        Returns
        -------
        dict
            The setup fee of a group is added to the first of its features; the price of a bundle
            is divided equally among those of its features that are bought now. None where no
            price is listed.
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
        """Return the price of buying these features together, or None if one is not listed."""
        costs = list(self.costs(names, owned).values())
        return None if None in costs else math.fsum(it for it in costs if it is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the list as JSON values; `from_dict` reverses it."""
        return {
            "prices": dict(self.prices),
            "groups": [
                {"name": it.name, "features": list(it.features), "setup": it.setup}
                for it in self.groups
            ],
            "bundles": [
                {"name": it.name, "features": list(it.features), "price": it.price}
                for it in self.bundles
            ],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PriceList:
        """Rebuild a list from what `to_dict` returned."""
        return cls(
            plain["prices"],
            [Group(**it) for it in plain["groups"]],
            [Bundle(**it) for it in plain["bundles"]],
        )


def _price(value: Any, what: str) -> float:
    number = as_float(value)
    if not 0 <= number < math.inf:
        raise InvalidProblem(
            f"{what} is {value!r}: a price is a finite number of at least 0, so correct it."
        )
    return number
