"""What a policy file offers in a table: free columns, columns and bundles with a price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thrifty.errors import InvalidSpec, UnknownName
from thrifty.names import quote_names, suggestion
from thrifty.policy_file.model import ColumnSection, FeatureSection, PolicyFile, PriceColumn
from thrifty.prices import Group
from thrifty.tables.features import TableFeature, declared_feature

MAX_FEATURES = 40


@dataclass(frozen=True)
class Offer:
    """Columns that one price reveals.

    The price is a number or the name of a column. `free` is True if nothing has to be paid, not
    even a setup fee. `declared` has the combinations of several columns, if the policy file gives
    them.
    """

    name: str
    columns: tuple[ColumnSection, ...]
    price: float | str
    free: bool
    declared: TableFeature | None = None


def list_offers(file: PolicyFile, columns: Sequence[str]) -> list[Offer]:
    """Return everything that is free or can be bought, free features first.

    `columns` are the columns of the table.
    """
    _require_usable(file)
    bundled = {name for bundle in file.bundles for name in bundle.features}
    # A feature without a price of its own still costs the setup fee of its group.
    with_fee = {name for group in file.groups if group.setup for name in group.features}
    offers = []
    for feature in file.features:
        if feature.free or (feature.price is not None and feature.name not in bundled):
            price = _price(feature.price)
            is_free = feature.free or (price == 0 and feature.name not in with_fee)
            offers.append(_feature_offer(feature, price, is_free))
    for bundle in file.bundles:
        if bundle.price is None:
            raise InvalidSpec(
                f"bundle {bundle.name!r} has no price, so it cannot be compared: add `price = ...` "
                "to it."
            )
        sections = tuple(file.feature(name) or ColumnSection(name=name) for name in bundle.features)
        price = _price(bundle.price)
        is_free = price == 0 and with_fee.isdisjoint(bundle.features)
        offers.append(Offer(bundle.name, sections, price, is_free))
    _require_some_prices(offers, columns)
    return sorted(offers, key=lambda offer: not offer.free)


def list_groups(file: PolicyFile, offers: Sequence[Offer]) -> list[Group]:
    """Return the groups with a setup fee; their features are the names of priced offers."""
    offer_of = {column.name: offer for offer in offers for column in offer.columns}
    offer_of |= {offer.name: offer for offer in offers}
    groups = []
    for group in file.groups:
        members = [offer_of[name] for name in group.features if name in offer_of]
        names = dict.fromkeys(offer.name for offer in members if not offer.free)
        if names and group.setup:
            groups.append(Group(group.name, tuple(names), group.setup))
    return groups


def require_columns(file: PolicyFile, target: str, columns: Sequence[str]) -> None:
    """Refuse columns that the table does not have, and a target that is for sale."""
    for name, where in _named_columns(file, target):
        if name not in columns:
            raise UnknownName(
                f"{where}: the table has no column {name!r}{suggestion(name, columns)}. Its "
                f"columns are {quote_names(columns)}."
            )
    if file.feature(target) is not None:
        raise InvalidSpec(
            f"column {target!r} is the target and also one of the [[features]]; the outcome is not "
            "known when a decision is made: remove it from [[features]]."
        )


def _named_columns(file: PolicyFile, target: str) -> Iterator[tuple[str, str]]:
    """Yield every column that the file names, and where."""
    yield target, "target (--target, or [table] target in policy.toml)"
    if file.table.time is not None:
        yield file.table.time, "time (--time, or [table] time in policy.toml)"
    for name in file.table.leave_out:
        yield name, "[table] leave_out in policy.toml"
    for feature in file.features:
        for part in feature.parts or (feature,):
            yield part.name, f"feature {feature.name!r}"
    prices = [(feature.name, feature.price) for feature in file.features]
    prices += [(bundle.name, bundle.price) for bundle in file.bundles]
    for name, price in prices:
        if isinstance(price, PriceColumn):
            yield price.column, f"price of {name!r}"


def _feature_offer(section: FeatureSection, price: float | str, is_free: bool) -> Offer:
    if not section.parts:
        return Offer(section.name, (section,), price, is_free)
    return Offer(section.name, section.parts, price, is_free, declared_feature(section))


def _price(price: float | PriceColumn | None) -> float | str:
    return price.column if isinstance(price, PriceColumn) else float(price or 0.0)


def _require_usable(file: PolicyFile) -> None:
    for feature in file.features:
        if feature.name in file.table.leave_out:
            raise InvalidSpec(
                f"column {feature.name!r} is in [[features]] and in `leave_out`: remove it from "
                "one of them."
            )
    group_of = {name: group.name for group in file.groups for name in group.features}
    for bundle in file.bundles:
        groups = list(dict.fromkeys(group_of.get(name) for name in bundle.features))
        if len(groups) > 1:
            named = next(group for group in groups if group is not None)
            raise InvalidSpec(
                f"bundle {bundle.name!r} has some of its features in group {named!r} and some "
                "outside it, so it is unclear when the setup fee is due: put all of them into the "
                "group, or none."
            )


def _require_some_prices(offers: Sequence[Offer], columns: Sequence[str]) -> None:
    if all(offer.free for offer in offers):
        raise InvalidSpec(
            "no feature has a price, so there is nothing to compare: run `thrifty init` to write a "
            "policy.toml, set the prices in its [[features]], and give it with --policy. The "
            f"columns are {quote_names(columns)}."
        )
    if len(offers) > MAX_FEATURES:
        raise InvalidSpec(
            f"there are {len(offers)} features, and at most {MAX_FEATURES} can be compared: remove "
            f"features that are unlikely to pay (for example {offers[MAX_FEATURES].name!r}), or "
            "bundle those that are bought together."
        )
