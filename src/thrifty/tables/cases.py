"""Past cases with coded features: values, prices, and the reward of every action."""

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
from thrifty.frames.coding import normalise
from thrifty.frames.reader import Table, read_table
from thrifty.frames.values import parse_dates, parse_numbers
from thrifty.names import quote_names
from thrifty.plans.cases import PastCases
from thrifty.policy_file import PolicyFile
from thrifty.policy_file.model import ColumnSection
from thrifty.problem import Group, Outcomes, PriceList, Problem, RewardRange
from thrifty.seeds import generator
from thrifty.tables.columns import (
    Codes,
    Coding,
    encode_column,
    is_identifier,
    read_prices,
)
from thrifty.tables.features import TableFeature, encode_feature
from thrifty.tables.fine import encode_twice
from thrifty.tables.offers import Offer, list_groups, list_offers, require_columns
from thrifty.tables.past_cases import CodedOffer, build_past_cases
from thrifty.tables.rewards import Rewards, build_rewards

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MIN_CASES = 40
MAX_OUTCOMES = 30


@dataclass(frozen=True)
class CaseOrder:
    """The order in which cases are replayed; `str()` describes it.

    Parameters
    ----------
    column : str, optional
        The column that cases are sorted by.
    shuffle_seed : int, optional
        Random seed, if cases are shuffled. With neither, cases are in file order.

    Examples
    --------
    >>> str(CaseOrder(column="date")), CaseOrder(shuffle_seed=1).is_chronological
    ('ordered by date', False)
    """

    column: str | None = None
    shuffle_seed: int | None = None

    @property
    def is_chronological(self) -> bool:
        """True if later cases come later."""
        return self.shuffle_seed is None

    def __str__(self) -> str:
        """Describe the order, as in "the cases are ...".

        Returns
        -------
        str
            The description.
        """
        if self.shuffle_seed is not None:
            return f"shuffled with seed {self.shuffle_seed} (no time column given)"
        return "in file order" if self.column is None else f"ordered by {self.column}"


@dataclass(frozen=True, eq=False)
class RawCases:
    """The values of the cases as they are in the table.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns of the features, in the order of the table.
    rows : ndarray
        Row of every case, (T,).
    """

    frame: pl.DataFrame
    rows: NDArray[np.intp]

    def table(self) -> pl.DataFrame:
        """Return the values in the order of the cases.

        Returns
        -------
        polars.DataFrame
            A row for every case.
        """
        return self.frame[self.rows]


@dataclass(frozen=True, eq=False)
class Cases:
    """T past cases in the order in which they are replayed.

    Parameters
    ----------
    features : tuple of TableFeature
        Features that are free or can be bought; D of them.
    codes : ndarray
        Level of each feature in every case, (D, T).
    outcomes : ndarray
        Index of the outcome of every case, (T,).
    rewards : Rewards
        Reward of every action by outcome.
    list_prices : ndarray
        Price of each feature, (D,); 0 where the price varies.
    varying_prices : mapping
        Prices by case, (T,), of features whose price is a column.
    groups : tuple of Group
        Features that share a setup fee, by name.
    target : str
        The column of outcomes.
    order : CaseOrder
        How the cases are ordered.
    times : tuple of str, optional
        Time of each case as written in the table, if a time column is given.
    notes : tuple of str
        What a reader should know about how the table was read.
    policy_file : PolicyFile
        The policy file that the table was read with.
    past_cases : PastCases
        The same cases in the same order with uncut columns, which plans are learnt from. The
        columns of a bundle are separate features.
    columns : tuple of Coding
        How each feature of `past_cases` is coded.
    raw : RawCases
        The columns of `past_cases` before they are coded.
    """

    features: tuple[TableFeature, ...]
    codes: Codes
    outcomes: Codes
    rewards: Rewards
    list_prices: Floats
    varying_prices: Mapping[int, Floats]
    groups: tuple[Group, ...]
    target: str
    order: CaseOrder
    times: tuple[str, ...] | None
    notes: tuple[str, ...]
    policy_file: PolicyFile
    past_cases: PastCases
    columns: tuple[Coding, ...]
    raw: RawCases

    @property
    def n_cases(self) -> int:
        """T, the number of cases."""
        return int(self.outcomes.size)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """The number of levels of each feature, (D,)."""
        return np.array([len(feature.levels) for feature in self.features])

    @cached_property
    def free(self) -> Bools:
        """True for features that come with every case, (D,)."""
        return np.array([feature.free for feature in self.features], dtype=np.bool_)

    @cached_property
    def mean_prices(self) -> Floats:
        """The mean price of each feature without setup fees, (D,)."""
        prices = self.list_prices.copy()
        for i, column in self.varying_prices.items():
            prices[i] = column.mean()
        return prices

    def total_price(self, features: Iterable[int]) -> Floats | float:
        """Return the total price of some features in every case, with setup fees.

        Parameters
        ----------
        features : iterable of int
            Indices of features.

        Returns
        -------
        ndarray or float
            Prices by case, (T,), or one number if no price varies.
        """
        bought = list(features)
        names = {self.names[i] for i in bought}
        total: Floats | float = sum(
            group.setup for group in self.groups if not names.isdisjoint(group.features)
        )
        for i in bought:
            varying = self.varying_prices.get(i)
            total = total + (float(self.list_prices[i]) if varying is None else varying)
        return total

    def mean_totals(self, masks: Bools) -> Floats:
        """Return the mean total price of each of many sets of features, with setup fees.

        Parameters
        ----------
        masks : ndarray of bool
            The sets, (N, D).

        Returns
        -------
        ndarray
            Total prices, (N,).
        """
        totals: Floats = masks @ self.mean_prices
        for group in self.groups:
            members = [self.names.index(name) for name in group.features]
            totals = totals + group.setup * masks[:, members].any(axis=1)
        return totals

    @cached_property
    def problem(self) -> Problem:
        """Features, outcomes, list prices and rewards in money, as policies need them."""
        rewards = self.rewards
        prices = dict(zip(self.names, self.mean_prices.tolist(), strict=True))
        return Problem(
            features=tuple(feature.feature for feature in self.features),
            actions=rewards.actions,
            outcomes=Outcomes(rewards.outcomes, rewards.by_action),
            prices=PriceList(
                {
                    feature.name: prices[feature.name]
                    for feature in self.features
                    if not feature.free
                },
                self.groups,
            ),
            rewards=RewardRange(rewards.low, rewards.high, rewards.currency),
        )

    def subset(self, rows: NDArray[Any]) -> Cases:
        """Return some of the cases.

        Parameters
        ----------
        rows : ndarray
            Indices of the cases, in the order wanted.

        Returns
        -------
        Cases
            The same features with fewer cases.
        """
        return replace(
            self,
            codes=np.ascontiguousarray(self.codes[:, rows]),
            outcomes=self.outcomes[rows],
            varying_prices={i: column[rows] for i, column in self.varying_prices.items()},
            times=None if self.times is None else tuple(self.times[k] for k in rows.tolist()),
            past_cases=self.past_cases.subset(rows),
            raw=RawCases(self.raw.frame, self.raw.rows[rows]),
        )

    def history_table(self) -> pl.DataFrame:
        """Return the cases as a table that `read_history` reads for `past_cases.problem`.

        Returns
        -------
        polars.DataFrame
            The columns of the features as they are in the table, and the target with the names of
            the outcomes, in the order of the cases.
        """
        outcomes = pl.Series(self.target, self.rewards.outcomes, dtype=pl.String)
        return self.raw.table().with_columns(outcomes[self.outcomes.astype(np.int64)])

    def replay(self) -> Replay:
        """Return the cases as an environment.

        Returns
        -------
        Replay
            Rewards and prices are divided by `rewards.span`.
        """
        costs = np.tile(self.list_prices, (self.n_cases, 1))
        for i, column in self.varying_prices.items():
            costs[:, i] = column
        return Replay(
            self.codes.T,
            self.rewards.scaled.T[self.outcomes],
            costs / self.rewards.span,
            free=self.free,
            outcomes=self.outcomes,
            problem=self.problem,
        )


def read_cases(source: Any, file: PolicyFile, *, in_order: bool = False, seed: int = 1) -> Cases:
    """Read a table of past cases and code its columns.

    Parameters
    ----------
    source : path, DataFrame or mapping
        A CSV or Parquet file, or a DataFrame of pandas, polars or pyarrow.
    file : PolicyFile
        The target, prices and rewards; `thrifty.policy_file.from_prices` makes one in Python.
    in_order : bool
        True if the rows are in the order of time. Otherwise they are sorted by the file's time
        column, or shuffled if it has none.
    seed : int
        Random seed of the shuffle.

    Returns
    -------
    Cases
        The coded cases.

    Raises
    ------
    InvalidTable, InvalidSpec
        If the table or the policy file cannot be used; the message says how to correct it.

    Examples
    --------
    >>> from thrifty.policy_file import from_prices
    >>> table = {"income": ["low", "high"] * 30, "outcome": ["default", "repaid"] * 30}
    >>> cases = read_cases(table, from_prices({"income": 0.1}, target="outcome"))
    >>> cases.n_cases, cases.names, cases.rewards.actions
    (60, ('income',), ('default', 'repaid'))
    """
    table = (
        source
        if isinstance(source, Table)
        else read_table(source, encoding=file.table.encoding, separator=file.table.separator)
    )
    return _CaseReader(table, file, in_order, seed).cases()


def require_few_outcomes(target: str, values: pl.Series) -> None:
    """Refuse a target with too many distinct values, such as an amount."""
    if values.n_unique() > MAX_OUTCOMES:
        raise InvalidTable(
            f"the target, column {target!r}, has {values.n_unique():,} distinct values; at most "
            f"{MAX_OUTCOMES} outcomes are supported: choose another column with --target, or group "
            "the values into a few classes."
        )


class _CaseReader:
    """Turns one table into cases, column by column."""

    def __init__(self, table: Table, file: PolicyFile, in_order: bool, seed: int) -> None:
        self.frame, self.file, self.seed = table.frame, file, seed
        self.in_order = in_order
        self.notes = list(table.notes)
        self.target = self._require_target()
        require_columns(file, self.target, self.frame.columns)

    def cases(self) -> Cases:
        # Outcomes first: cases without one are removed from the table.
        outcomes, names = self._outcomes()
        rewards = build_rewards(self.file, names)
        rows, order, times = self._order()
        offers = list_offers(self.file, self.frame.columns)
        coded = [self._encode_offer(offer, rows) for offer in offers]
        groups = tuple(list_groups(self.file, offers))
        self._note_unused_columns(offers)
        columns = tuple(coding for offer in coded for _, coding in offer.columns)
        return Cases(
            features=tuple(offer.feature for offer in coded),
            codes=np.stack([offer.codes for offer in coded]),
            outcomes=outcomes[rows],
            rewards=rewards,
            list_prices=np.array([offer.list_price for offer in coded]),
            varying_prices={
                i: offer.prices for i, offer in enumerate(coded) if offer.prices is not None
            },
            groups=groups,
            target=self.target,
            order=order,
            times=times,
            notes=tuple(self.notes),
            policy_file=self.file.with_table(target=self.target),
            past_cases=build_past_cases(coded, groups, outcomes[rows], rewards),
            columns=columns,
            raw=RawCases(self.frame.select([coding.name for coding in columns]), rows),
        )

    def _encode_offer(self, offer: Offer, rows: NDArray[np.intp]) -> CodedOffer:
        missing = self.file.table.missing
        columns = [
            encode_twice(self.frame[section.name], section, missing) for section in offer.columns
        ]
        coarse = [column.coarse for column in columns]
        feature, codes = encode_feature(offer.name, coarse, offer.declared)
        prices = None
        if isinstance(offer.price, str):
            prices = read_prices(self.frame, offer.name, offer.price)[rows]
        return CodedOffer(
            replace(feature, free=offer.free),
            codes[rows],
            tuple((column.fine[0][rows], column.fine[1]) for column in columns),
            0.0 if isinstance(offer.price, str) else offer.price,
            prices,
        )

    def _require_target(self) -> str:
        target = self.file.table.target
        if target is None:
            raise InvalidSpec(
                "no target is given, the column with the outcome of each case: name it with "
                "--target, or run `thrifty init` to write a policy.toml and use that with "
                f"--policy. The columns are {quote_names(self.frame.columns)}."
            )
        return target

    def _outcomes(self) -> tuple[Codes, tuple[str, ...]]:
        values = normalise(self.target, self.frame[self.target], self.file.table.missing)
        if values.null_count():
            present = values.is_not_null()
            self.notes.append(
                f"{values.null_count():,} of {len(values):,} cases have no value in "
                f"{self.target!r} and are skipped"
            )
            self.frame, values = self.frame.filter(present), values.filter(present)
        self._require_usable_target(values)
        category = ColumnSection(name=self.target, kind="category", max_levels=MAX_OUTCOMES)
        codes, coding = encode_column(self.target, values, category)
        if len(coding.levels) < 2:
            raise InvalidTable(
                f"the target, column {self.target!r}, is {coding.levels[0]!r} in every case, so "
                "there is nothing to predict: choose another target, or add cases with another "
                "outcome."
            )
        return codes, coding.levels

    def _require_usable_target(self, values: pl.Series) -> None:
        if len(values) < MIN_CASES:
            raise InvalidTable(
                f"only {len(values)} cases have a value in the target, column {self.target!r}; at "
                f"least {MIN_CASES} are needed to estimate what a feature is worth: add more past "
                "cases."
            )
        require_few_outcomes(self.target, values)
        if values.dtype == pl.Float64 and values.is_infinite().any():
            raise InvalidTable(
                f"the target, column {self.target!r}, contains infinity: correct or remove those "
                "cases."
            )

    def _order(self) -> tuple[NDArray[np.intp], CaseOrder, tuple[str, ...] | None]:
        column, n_cases = self.file.table.time, self.frame.height
        if column is None:
            if self.in_order:
                return np.arange(n_cases), CaseOrder(), None
            rows = generator(self.seed).permutation(n_cases)
            return rows, CaseOrder(shuffle_seed=self.seed), None
        rows = np.argsort(self._parse_times(column).to_numpy(), kind="stable")
        as_written = self.frame[column].cast(pl.String).str.strip_chars()
        return rows, CaseOrder(column), tuple(as_written.gather(rows).to_list())

    def _parse_times(self, column: str) -> pl.Series:
        values = normalise(column, self.frame[column], self.file.table.missing)
        if values.dtype == pl.String:
            times = parse_numbers(values)
            if times.null_count() > values.null_count():
                times = parse_dates(values)[0].dt.epoch("us").cast(pl.Float64)
        elif values.dtype == pl.Datetime:
            times = values.dt.epoch("us").cast(pl.Float64)
        else:
            times = values.cast(pl.Float64)
        unusable = times.is_null() | times.is_nan() | times.is_infinite()
        if unusable.any():
            row = int(unusable.arg_max() or 0)
            raise InvalidTable(
                f"the time, column {column!r}, is {self.frame[column][row]!r} in case {row + 1}; "
                "cases can be ordered only by dates such as 2024-05-31 or by numbers: correct the "
                "value, or leave out the time column to shuffle the cases."
            )
        return times

    def _note_unused_columns(self, offers: Sequence[Offer]) -> None:
        used = {column.name for offer in offers for column in offer.columns}
        used |= {self.target, self.file.table.time or self.target}
        used |= {offer.price for offer in offers if isinstance(offer.price, str)}
        # A feature without a price is an oversight, which the verdict warns about.
        used |= set(self.file.unpriced_features())
        unused = [column for column in self.frame.columns if column not in used]
        left_out = [column for column in unused if column in self.file.table.leave_out]
        rest = [column for column in unused if column not in left_out]
        identifiers = [column for column in rest if is_identifier(self.frame[column])]
        unpriced = [column for column in rest if column not in identifiers]
        for columns, reason in (
            (left_out, "in leave_out"),
            (identifiers, "identifiers"),
            (unpriced, "no price"),
        ):
            if columns:
                self.notes.append(f"not used ({reason}): {quote_names(columns)}")
