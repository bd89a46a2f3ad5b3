"""What a policy file offers for sale in a table: columns, bundles, and what is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thrifty.errors import InvalidSpec, UnknownName
from thrifty.policy_file.model import ColumnSection, FeatureSection, PolicyFile, PriceColumn
from thrifty.policy_file.problems import suggestion
from thrifty.tables.paid_prices import PaidFeature, told_feature

MOST_FEATURES = 40


@dataclass(frozen=True)
class Offer:
    """Columns that one price reveals; the price is a number or the name of a column."""

    name: str
    columns: tuple[ColumnSection, ...]
    price: float | str
    told: PaidFeature | None = None
    """The combinations of several columns, if the file gives them."""

    @property
    def free(self) -> bool:
        """Whether nothing is paid for it."""
        return self.price == 0


def offers_of(file: PolicyFile, columns: Sequence[str]) -> list[Offer]:
    """Return everything to buy, free things first; `columns` are those of the table."""
    _require_one_use(file)
    bundled = {name for it in file.bundles for name in it.features}
    offers = [_of_feature(it, 0.0) for it in file.features if it.free]
    offers += [
        _of_feature(it, _price(it.price))
        for it in file.features
        if it.price is not None and not it.free and it.name not in bundled
    ]
    for bundle in file.bundles:
        if bundle.price is None:
            raise InvalidSpec(f"bundle {bundle.name!r} has no price: give it one.")
        sections = tuple(file.feature(it) or ColumnSection(name=it) for it in bundle.features)
        offers.append(Offer(bundle.name, sections, _price(bundle.price)))
    _require_number(offers, columns)
    return sorted(offers, key=lambda it: not it.free)


def require_columns(file: PolicyFile, target: str, columns: Sequence[str]) -> None:
    """Refuse names of columns that the table does not have, and a target that is for sale."""
    wanted = [(target, "the target")]
    wanted += [(it, "the time") for it in (file.table.time,) if it is not None]
    wanted += [(it, "`leave_out`") for it in file.table.leave_out]
    for feature in file.features:
        wanted += [(it.name, f"feature {feature.name!r}") for it in feature.parts or (feature,)]
    prices = [(it.name, it.price) for it in file.features]
    prices += [(it.name, it.price) for it in file.bundles]
    for name, price in prices:
        if isinstance(price, PriceColumn):
            wanted.append((price.column, f"the price column of {name!r}"))
    for name, where in wanted:
        if name not in columns:
            raise UnknownName(
                f"{where} names column {name!r}, which the table does not have"
                f"{suggestion(name, columns)}: its columns are {listed(columns)}."
            )
    if file.feature(target) is not None:
        raise InvalidSpec(
            f"column {target!r} is the target and for sale as well: what is to be found out cannot "
            "be bought, so remove it from [[features]]."
        )


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names in quotes, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _of_feature(section: FeatureSection, price: float | str) -> Offer:
    if not section.parts:
        return Offer(section.name, (section,), price)
    return Offer(section.name, section.parts, price, told_feature(section))


def _price(price: float | PriceColumn | None) -> float | str:
    return price.column if isinstance(price, PriceColumn) else float(price or 0.0)


def _require_one_use(file: PolicyFile) -> None:
    for it in file.features:
        if it.free and it.price not in (None, 0.0):
            raise InvalidSpec(
                f"column {it.name!r} has a price of its own and is free: keep one of the two."
            )
        if it.name in file.table.leave_out:
            raise InvalidSpec(
                f"column {it.name!r} is in [[features]] and in `leave_out`: keep one of the two."
            )
    for group in file.groups:
        if group.setup:
            raise InvalidSpec(
                f"group {group.name!r} has a setup fee, which `thrifty worth` cannot compare yet: "
                "make the group a bundle, or add the fee to the prices of its features."
            )


def _require_number(offers: Sequence[Offer], columns: Sequence[str]) -> None:
    if all(it.free for it in offers):
        raise InvalidSpec(
            "nothing has a price: give a policy.toml with --policy that has a price in the "
            "[[features]] entry of each column to buy; `thrifty init` writes one to complete. The "
            f"columns are {listed(columns)}."
        )
    if len(offers) > MOST_FEATURES:
        raise InvalidSpec(
            f"{len(offers)} features have a price or are free, and at most {MOST_FEATURES} can be "
            f"compared; {offers[MOST_FEATURES].name!r} is one too many. Remove prices of those "
            "that are surely not worth it, or bundle what is bought together."
        )
