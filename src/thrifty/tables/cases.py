"""Past cases, coded: what could be bought, what it cost, and what every action would have paid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.environments.replay import Replay
from thrifty.errors import InvalidSpec, InvalidTable
from thrifty.policy_file import PolicyFile
from thrifty.policy_file.model import ColumnSection
from thrifty.problem import Outcomes, PriceList, Problem, RewardRange
from thrifty.seeds import generator
from thrifty.tables.columns import Codes, Coding, code_column, is_identifier, tidy
from thrifty.tables.offers import Offer, listed, offers_of, require_columns
from thrifty.tables.paid_prices import PaidFeature, coded_feature
from thrifty.tables.reader import Table, read_table
from thrifty.tables.rewards import Rewards, rewards_of
from thrifty.tables.values import dates, numbers

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEWEST_CASES = 40
MOST_OUTCOMES = 30


@dataclass(frozen=True, eq=False)
class Cases:
    """T coded cases in the order in which they are replayed.

    `codes` are (D, T); `outcomes` (T,) count the outcomes of `rewards`; `varying` holds the prices
    (T,) of features whose price is a column, and `listed` the prices of the others.
    """

    features: tuple[PaidFeature, ...]
    codes: Codes
    outcomes: Codes
    rewards: Rewards
    listed: Floats
    varying: Mapping[int, Floats]
    target: str
    order: str
    """How the cases are ordered, in words."""
    times: tuple[str, ...] | None
    """When each case was, if known, as it is written in the file."""
    said: tuple[str, ...]
    """What was noticed and done besides coding features, in words."""
    file: PolicyFile
    """The policy file that the cases were read by."""

    @property
    def number(self) -> int:
        """T, the number of cases."""
        return int(self.outcomes.size)

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """The number of levels of each feature, (D,)."""
        return np.array([len(feature.levels) for feature in self.features])

    @cached_property
    def free(self) -> Bools:
        """Which features are always seen, (D,)."""
        return np.array([feature.free for feature in self.features], dtype=np.bool_)

    @cached_property
    def mean_prices(self) -> Floats:
        """The mean price of each feature, (D,)."""
        prices = self.listed.copy()
        for i, column in self.varying.items():
            prices[i] = column.mean()
        return prices

    def price_by_case(self, places: Iterable[int]) -> Floats | float:
        """Return what the features at these places cost in every case: (T,), or one number."""
        total: Floats | float = 0.0
        for i in places:
            total = total + (self.varying[i] if i in self.varying else float(self.listed[i]))
        return total

    @cached_property
    def problem(self) -> Problem:
        """What there is to decide: features, outcomes, list prices and rewards in money."""
        rewards = self.rewards
        prices = dict(zip(self.names, self.mean_prices.tolist(), strict=True))
        return Problem(
            features=tuple(it.feature for it in self.features),
            actions=rewards.actions,
            outcomes=Outcomes(rewards.outcomes, rewards.by_action),
            prices=PriceList({it.name: prices[it.name] for it in self.features if not it.free}),
            rewards=RewardRange(rewards.low, rewards.high, rewards.currency),
        )

    def taken(self, rows: NDArray[Any]) -> Cases:
        """Return some of the cases, in the order of `rows`."""
        return replace(
            self,
            codes=np.ascontiguousarray(self.codes[:, rows]),
            outcomes=self.outcomes[rows],
            varying={i: column[rows] for i, column in self.varying.items()},
            times=None if self.times is None else tuple(self.times[k] for k in rows.tolist()),
        )

    def replay(self) -> Replay:
        """Return the cases as a world; rewards and prices are divided by `rewards.span`."""
        costs = np.tile(self.listed, (self.number, 1))
        for i, column in self.varying.items():
            costs[:, i] = column
        return Replay(
            self.codes.T,
            self.rewards.scaled.T[self.outcomes],
            costs / self.rewards.span,
            free=self.free,
            outcomes=self.outcomes,
            problem=self.problem,
        )


def cases_of(source: Any, file: PolicyFile, *, in_order: bool = False, seed: int = 1) -> Cases:
    """Read a table and code its cases as a policy file says.

    Parameters
    ----------
    source : path, DataFrame or mapping
        A CSV or Parquet file, or a DataFrame of pandas, polars or pyarrow.
    file : PolicyFile
        The target, prices and rewards; `thrifty.policy_file.of_prices` makes one in Python.
    in_order : bool
        Whether the rows are in the order of time. Otherwise they are ordered by the file's column
        of time, or shuffled if it names none.
    seed : int
        Random seed of the shuffle.

    Returns
    -------
    Cases

    Examples
    --------
    >>> from thrifty.policy_file import of_prices
    >>> table = {"income": ["low", "high"] * 30, "outcome": ["default", "repaid"] * 30}
    >>> cases = cases_of(table, of_prices({"income": 0.1}, target="outcome"))
    >>> cases.number, cases.names, cases.rewards.actions
    (60, ('income',), ('default', 'repaid'))
    """
    table = (
        source
        if isinstance(source, Table)
        else read_table(source, encoding=file.table.encoding, separator=file.table.separator)
    )
    return _Reader(table, file, in_order, seed).cases()


class _Reader:
    """Turns one table into cases, column by column."""

    def __init__(self, table: Table, file: PolicyFile, in_order: bool, seed: int) -> None:
        self.frame, self.file, self.seed = table.frame, file, seed
        self.in_order = in_order
        self.said = list(table.said)
        self.target = self._required_target()
        require_columns(file, self.target, self.frame.columns)

    def cases(self) -> Cases:
        outcomes, names = self._outcomes()
        rewards = rewards_of(self.file, names)
        order, how, times = self._order()
        offers = offers_of(self.file, self.frame.columns)
        features, codes, listed, varying = self._features(offers)
        self._say_left_out(offers)
        return Cases(
            features=tuple(features),
            codes=np.stack([it[order] for it in codes]),
            outcomes=outcomes[order],
            rewards=rewards,
            listed=listed,
            varying={i: column[order] for i, column in varying.items()},
            target=self.target,
            order=how,
            times=times,
            said=tuple(self.said),
            file=self.file.with_table(target=self.target),
        )

    def _required_target(self) -> str:
        target = self.file.table.target
        if target is None:
            raise InvalidSpec(
                "no target: say which column holds the outcome, with --target COLUMN or "
                "`target = ...` under [table] in policy.toml, which `thrifty init` writes. The "
                f"columns are {listed(self.frame.columns)}."
            )
        return target

    def _outcomes(self) -> tuple[Codes, tuple[str, ...]]:
        values = tidy(self.target, self.frame[self.target], self.file.table.missing)
        if values.null_count():
            known = values.is_not_null()
            self.said.append(
                f"{values.null_count():,} of {len(values):,} cases have no {self.target} and are "
                "left out"
            )
            self.frame, values = self.frame.filter(known), values.filter(known)
        if len(values) < FEWEST_CASES:
            raise InvalidTable(
                f"{len(values)} cases with a value in column {self.target!r}: fewer than "
                f"{FEWEST_CASES} cannot show what a feature is worth. Give more past cases."
            )
        if values.n_unique() > MOST_OUTCOMES:
            raise InvalidTable(
                f"the target, column {self.target!r}, has {values.n_unique():,} distinct values: "
                f"an outcome is one of a few, at most {MOST_OUTCOMES}. Group them, or choose "
                "another target."
            )
        if values.dtype == pl.Float64 and values.is_infinite().any():
            raise InvalidTable(
                f"the target, column {self.target!r}, holds infinity: correct those cases."
            )
        category = ColumnSection(name=self.target, kind="category", max_levels=MOST_OUTCOMES)
        codes, coding = code_column(self.target, values, category)
        if len(coding.levels) < 2:
            raise InvalidTable(
                f"the target, column {self.target!r}, is {coding.levels[0]!r} in every case: there "
                "is nothing to find out. Choose another column, or add cases that ended otherwise."
            )
        return codes, coding.levels

    def _order(self) -> tuple[NDArray[np.intp], str, tuple[str, ...] | None]:
        name, number = self.file.table.time, self.frame.height
        if name is None:
            if self.in_order:
                return np.arange(number), "in the order of the file", None
            order = generator(self.seed).permutation(number)
            return order, f"shuffled, for no column of time is given (seed {self.seed})", None
        moments = self._moments(name)
        order = np.argsort(moments.to_numpy(), kind="stable")
        raw = self.frame[name].cast(pl.String).str.strip_chars()
        return order, f"in the order of {name}", tuple(raw.gather(order).to_list())

    def _moments(self, name: str) -> pl.Series:
        values = tidy(name, self.frame[name], self.file.table.missing)
        if values.dtype == pl.String:
            read = numbers(values)
            if read.null_count() > values.null_count():
                read = dates(values)[0].dt.epoch("us").cast(pl.Float64)
        elif values.dtype == pl.Datetime:
            read = values.dt.epoch("us").cast(pl.Float64)
        else:
            read = values.cast(pl.Float64)
        unread = read.is_null() | read.is_nan() | read.is_infinite()
        if unread.any():
            row = int(unread.arg_max() or 0)
            raise InvalidTable(
                f"the time, column {name!r}, is {self.frame[name][row]!r} in case {row + 1}: cases "
                "can only be ordered by dates such as 2024-05-31 or by numbers. Correct it, or "
                "leave the time out to have cases shuffled."
            )
        return read

    def _features(
        self, offers: Sequence[Offer]
    ) -> tuple[list[PaidFeature], list[Codes], Floats, dict[int, Floats]]:
        features, codes, prices = [], [], np.zeros(len(offers))
        varying: dict[int, Floats] = {}
        for i, offer in enumerate(offers):
            columns = [self._column(it) for it in offer.columns]
            feature, coded = coded_feature(offer.name, columns, offer.told)
            features.append(replace(feature, free=offer.free))
            codes.append(coded)
            if isinstance(offer.price, str):
                varying[i] = self._prices(offer.name, offer.price)
            else:
                prices[i] = offer.price
        return features, codes, prices, varying

    def _column(self, section: ColumnSection) -> tuple[Codes, Coding]:
        words = self.file.table.missing
        return code_column(section.name, self.frame[section.name], section, words)

    def _prices(self, name: str, column: str) -> Floats:
        values = tidy(column, self.frame[column], ())
        read = numbers(values) if values.dtype == pl.String else values.cast(pl.Float64)
        bad = ~(read.is_finite() & (read >= 0)).fill_null(False)
        if bad.any():
            row = int(bad.arg_max() or 0)
            raise InvalidTable(
                f"column {column!r}, the price of {name!r}, is {self.frame[column][row]!r} in case "
                f"{row + 1}: a price is a finite number of at least 0, known in every case. "
                "Correct it, or give one number as the price."
            )
        return read.to_numpy().astype(np.float64)

    def _say_left_out(self, offers: Sequence[Offer]) -> None:
        used = {column.name for offer in offers for column in offer.columns}
        used |= {self.target, self.file.table.time or self.target}
        used |= {offer.price for offer in offers if isinstance(offer.price, str)}
        rest = [it for it in self.frame.columns if it not in used]
        asked = [it for it in rest if it in self.file.table.leave_out]
        rest = [it for it in rest if it not in asked]
        ids = [it for it in rest if is_identifier(self.frame[it])]
        rest = [it for it in rest if it not in ids]
        for names, why in ((asked, "as told"), (ids, "identifiers"), (rest, "no price")):
            if names:
                self.said.append(f"left out ({why}): {listed(names)}")
