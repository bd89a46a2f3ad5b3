"""Past cases with uncut columns, from a table that was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.cases import PastCases
from thrifty.problem import Bundle, Group, Outcomes, PriceList, Problem, RewardRange
from thrifty.tables.columns import Codes, Coding
from thrifty.tables.features import TableFeature
from thrifty.tables.rewards import Rewards

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodedOffer:
    """A feature or bundle of a table: its codes in both views, and its prices.

    `codes` are those of `feature`, (T,). `columns` has the fine codes and the coding of each column
    that it reveals. `prices` are the prices by case, (T,), if they are a column; `list_price` is 0
    then.
    """

    feature: TableFeature
    codes: Codes
    columns: tuple[tuple[Codes, Coding], ...]
    list_price: float
    prices: Floats | None = None

    @property
    def name(self) -> str:
        """Name of the feature or of the bundle."""
        return self.feature.name

    @property
    def mean_price(self) -> float:
        """Mean price in money, without setup fees."""
        return self.list_price if self.prices is None else float(self.prices.mean())

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that it reveals."""
        return tuple(coding.name for _, coding in self.columns)


def build_past_cases(
    offers: Sequence[CodedOffer], groups: Sequence[Group], outcomes: Codes, rewards: Rewards
) -> PastCases:
    """Return the cases as plans are learnt from them: a feature for every column."""
    columns = [column for offer in offers for column in offer.columns]
    priced = [offer for offer in offers if not offer.feature.free]
    problem = Problem(
        features=tuple(coding.feature for _, coding in columns),
        actions=rewards.actions,
        outcomes=Outcomes(rewards.outcomes, rewards.by_action),
        prices=_price_list(priced, groups),
        rewards=RewardRange(rewards.low, rewards.high, rewards.currency),
    )
    codes = np.empty((len(outcomes), len(columns)), np.int16)
    for i, (column, _) in enumerate(columns):
        codes[:, i] = column
    return PastCases(
        problem=problem,
        codes=codes,
        outcomes=outcomes.astype(np.int64),
        free=np.array([offer.feature.free for offer in offers for _ in offer.columns]),
        price_columns={offer.name: offer.prices for offer in priced if offer.prices is not None},
    )


def _price_list(offers: Sequence[CodedOffer], groups: Sequence[Group]) -> PriceList:
    columns = {offer.name: offer.column_names for offer in offers}
    return PriceList(
        {offer.name: offer.mean_price for offer in offers if len(offer.columns) == 1},
        [
            Group(
                group.name,
                tuple(chain.from_iterable(columns[name] for name in group.features)),
                group.setup,
            )
            for group in groups
        ],
        [
            Bundle(offer.name, offer.column_names, offer.mean_price)
            for offer in offers
            if len(offer.columns) > 1
        ],
    )
