"""Past cases, coded: what could be bought, what it cost, and what every action would have paid."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.data.columns import Codes, Coding, code_column, is_identifier, tidy
from thrifty.data.parsing import dates, numbers
from thrifty.data.reading import Table, read_table
from thrifty.data.rewards import Rewards, rewards_of
from thrifty.data.settings import Bundle, ColumnSettings, Price, Settings
from thrifty.environments.replay import Replay
from thrifty.errors import InvalidSpec, InvalidTable, UnknownName
from thrifty.problem import Feature, Problem
from thrifty.seeds import generator

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEWEST_CASES = 40
MOST_FEATURES = 40
MOST_OUTCOMES = 30
MOST_COMBINATIONS = 24
"""Levels of a bundle; rarer combinations count as one."""
SEPARATOR = " & "


@dataclass(frozen=True)
class PaidFeature:
    """One thing to buy: a column, or a bundle of columns; or free."""

    name: str
    levels: tuple[str, ...]
    parts: tuple[Coding, ...]
    free: bool = False
    other: str | None = None
    """Of a bundle: the level of combinations that are rare."""

    @property
    def said(self) -> str:
        """What was done to its columns, in words."""
        if len(self.parts) == 1:
            return self.parts[0].said
        each = "; ".join(f"{part.name}: {part.said}" for part in self.parts)
        return f"bundle of {len(self.levels)} combinations ({each})"


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
        """What there is to decide, as policies see it."""
        return Problem(
            features=tuple(Feature(it.name, it.levels) for it in self.features),
            actions=self.rewards.actions,
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
            problem=self.problem,
        )


def cases_of(source: Any, settings: Settings, *, in_order: bool = False, seed: int = 1) -> Cases:
    """Read a table and code its cases as `settings` say.

    Without a column of time the cases are shuffled, unless they stand `in_order` already.

    >>> table = {"income": ["low", "high"] * 30, "outcome": ["default", "repaid"] * 30}
    >>> cases = cases_of(table, Settings(target="outcome", prices={"income": 0.1}))
    >>> cases.number, cases.names, cases.rewards.actions
    (60, ('income',), ('default', 'repaid'))
    """
    table = (
        source
        if isinstance(source, Table)
        else read_table(source, encoding=settings.encoding, separator=settings.separator)
    )
    return _Reader(table, settings, in_order, seed).cases()


class _Reader:
    """Turns one table into cases, column by column."""

    def __init__(self, table: Table, settings: Settings, in_order: bool, seed: int) -> None:
        self.frame, self.settings, self.seed = table.frame, settings, seed
        self.in_order = in_order
        self.said = list(table.said)
        self.target = self._required_target()
        self._require_columns()

    def cases(self) -> Cases:
        outcomes, names = self._outcomes()
        rewards = rewards_of(
            self.settings.rewards,
            names,
            actions=self.settings.actions,
            currency=self.settings.currency,
        )
        order, how, times = self._order()
        features, codes, listed, varying = self._features()
        self._say_left_out(features)
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
        )

    def _required_target(self) -> str:
        target = self.settings.target
        if target is None:
            raise InvalidSpec(
                "no target: say which column holds the outcome, with --target COLUMN or "
                "`target = ...` in the TOML file, which `thrifty init` writes. The columns are "
                f"{_listed(self.frame.columns)}."
            )
        return target

    def _require_columns(self) -> None:
        settings = self.settings
        wanted = [(self.target, "the target")]
        wanted += [(it, "the time") for it in (settings.time,) if it is not None]
        wanted += [(it, f"the price of {it!r}") for it in settings.prices]
        wanted += [(it, "`free`") for it in settings.free]
        wanted += [(it, "`leave_out`") for it in settings.leave_out]
        wanted += [(it, f"bundle {b.name!r}") for b in settings.bundles for it in b.columns]
        wanted += [(it, f"[columns.{it}]") for it in settings.columns]
        for name, price in [
            *settings.prices.items(),
            *((b.name, b.price) for b in settings.bundles),
        ]:
            if isinstance(price, str):
                wanted.append((price, f"the price column of {name!r}"))
        for name, where in wanted:
            if name not in self.frame.columns:
                raise UnknownName(
                    f"{where} names column {name!r}, which the table does not have"
                    f"{_suggestion(name, self.frame.columns)}: its columns are "
                    f"{_listed(self.frame.columns)}."
                )
        for name in (
            *settings.prices,
            *settings.free,
            *(c for b in settings.bundles for c in b.columns),
        ):
            if name == self.target:
                raise InvalidSpec(
                    f"column {name!r} is the target and for sale as well: what is to be found out "
                    "cannot be bought, so remove its price."
                )

    def _outcomes(self) -> tuple[Codes, tuple[str, ...]]:
        values = tidy(self.target, self.frame[self.target], self.settings.missing)
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
        codes, coding = code_column(
            self.target, values, ColumnSettings(kind="category", levels=MOST_OUTCOMES)
        )
        if len(coding.levels) < 2:
            raise InvalidTable(
                f"the target, column {self.target!r}, is {coding.levels[0]!r} in every case: there "
                "is nothing to find out. Choose another column, or add cases that ended otherwise."
            )
        return codes, coding.levels

    def _order(self) -> tuple[NDArray[np.intp], str, tuple[str, ...] | None]:
        name, number = self.settings.time, self.frame.height
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
        values = tidy(name, self.frame[name], self.settings.missing)
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
        self,
    ) -> tuple[list[PaidFeature], list[Codes], Floats, dict[int, Floats]]:
        offers = self._offers()
        if not any(price for _, _, price in offers):
            raise InvalidSpec(
                "nothing has a price: give a TOML file with --prices, a number for each column to "
                "buy under [prices]; `thrifty init` writes one to complete. The columns are "
                f"{_listed(self.frame.columns)}."
            )
        if len(offers) > MOST_FEATURES:
            raise InvalidSpec(
                f"{len(offers)} features have a price or are free, and at most {MOST_FEATURES} can "
                f"be compared; {offers[MOST_FEATURES][0]!r} is one too many. Remove prices of "
                "those that are surely not worth it, or bundle what is bought together."
            )
        features, codes, listed = [], [], np.zeros(len(offers))
        varying: dict[int, Floats] = {}
        for i, (name, columns, price) in enumerate(offers):
            feature, coded = self._coded(name, columns)
            features.append(replace(feature, free=price == 0))
            codes.append(coded)
            if isinstance(price, str):
                varying[i] = self._prices(name, price)
            else:
                listed[i] = price
        return features, codes, listed, varying

    def _offers(self) -> list[tuple[str, tuple[str, ...], Price]]:
        """Return (name, columns, price) of everything to buy, free things first."""
        settings = self.settings
        offers: list[tuple[str, tuple[str, ...], Price]] = []
        offers += [(name, (name,), 0.0) for name in settings.free]
        offers += [(name, (name,), price) for name, price in settings.prices.items()]
        offers += [(it.name, it.columns, it.price) for it in settings.bundles]
        return sorted(offers, key=lambda it: it[2] != 0)

    def _coded(self, name: str, columns: Sequence[str]) -> tuple[PaidFeature, Codes]:
        coded = [self._column(column) for column in columns]
        if len(coded) == 1:
            codes, coding = coded[0]
            return PaidFeature(name, coding.levels, (coding,)), codes
        return _bundled(name, coded)

    def _column(self, name: str) -> tuple[Codes, Coding]:
        settings = self.settings.columns.get(name, ColumnSettings())
        return code_column(name, self.frame[name], settings, self.settings.missing)

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

    def _say_left_out(self, features: Sequence[PaidFeature]) -> None:
        used = {part.name for feature in features for part in feature.parts}
        used |= {self.target, self.settings.time or self.target}
        used |= {it for it in self.settings.prices.values() if isinstance(it, str)}
        used |= {it.price for it in self.settings.bundles if isinstance(it.price, str)}
        rest = [it for it in self.frame.columns if it not in used]
        asked = [it for it in rest if it in self.settings.leave_out]
        rest = [it for it in rest if it not in asked]
        ids = [it for it in rest if is_identifier(self.frame[it])]
        rest = [it for it in rest if it not in ids]
        for names, why in ((asked, "as told"), (ids, "identifiers"), (rest, "no price")):
            if names:
                self.said.append(f"left out ({why}): {_listed(names)}")


def _bundled(name: str, coded: Sequence[tuple[Codes, Coding]]) -> tuple[PaidFeature, Codes]:
    """Return several columns as one feature, whose levels are the frequent combinations."""
    parts = tuple(coding for _, coding in coded)
    keys = np.zeros(len(coded[0][0]), dtype=np.int64)
    for codes, coding in coded:
        keys = keys * len(coding.levels) + codes
    found, numbers_, counts = np.unique(keys, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:MOST_COMBINATIONS]
    kept = np.sort(frequent if len(found) <= MOST_COMBINATIONS else frequent[:-1])
    names = [_combination(int(found[k]), parts) for k in kept.tolist()]
    place = np.full(len(found), len(kept))
    place[kept] = np.arange(len(kept))
    other = None
    if len(kept) < len(found):
        other = "(other)"
        names.append(other)
    return PaidFeature(name, tuple(names), parts, other=other), place[numbers_].astype(np.int16)


def _combination(key: int, parts: Sequence[Coding]) -> str:
    names: list[str] = []
    for coding in reversed(parts):
        key, code = divmod(key, len(coding.levels))
        names.append(coding.levels[code])
    return SEPARATOR.join(reversed(names))


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _suggestion(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


__all__ = ["Bundle", "Cases", "PaidFeature", "cases_of"]
