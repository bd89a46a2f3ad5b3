"""Read a table of past cases as a history, coded by the features of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidParameter, InvalidReward, InvalidTable, UnknownName
from thrifty.features import Feature
from thrifty.frames.coding import (
    CodedColumn,
    Codes,
    as_names,
    as_points,
    encode_by_feature,
    lookup,
    normalise,
)
from thrifty.frames.reader import read_table
from thrifty.names import quote_names, suggestion
from thrifty.outcomes import Outcomes
from thrifty.prices import PriceList
from thrifty.problem import Problem
from thrifty.surveyor.history import History

Bools = NDArray[np.bool_]

ACTION, REWARD = "action", "reward"
"""Columns that tell the outcome if there is no target."""


@dataclass(frozen=True)
class HistoryFormat:
    """How a table of past cases is written.

    Parameters
    ----------
    missing : tuple of str
        Text that means a missing value in any column.
    absent : mapping
        Additional text that means a missing value, by feature.
    periods : mapping
        Starts of the named periods of a date, in seconds since 1970, by feature.
    encoding : str, optional
        Encoding of a CSV file; UTF-8 by default.
    separator : str, optional
        Separator of a CSV file; detected by default.
    """

    missing: tuple[str, ...] = ()
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    periods: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    encoding: str | None = None
    separator: str | None = None


def read_history(
    source: Any,
    problem: Problem,
    *,
    target: str | None = None,
    free: NDArray[np.bool_] | None = None,
    table_format: HistoryFormat | None = None,
) -> History:
    """Read a table of past cases to learn from first.

    There has to be a column for every feature, with its name. An empty cell has the feature's level
    for missing values. If the feature has no such level, an empty cell means that the value was not
    bought. The assumptions are those of `History`.

    Parameters
    ----------
    source : path, DataFrame or mapping
        A CSV or Parquet file, or a DataFrame of pandas, polars or pyarrow.
    problem : Problem
        Features that code the columns, and outcomes.
    target : str, optional
        Column with the name of the outcome of each case; an empty cell means that it is not known.
        By default the columns `action` and `reward` say which outcomes are possible.
    free : array of bool, shape (D,), optional
        True for features that are known before buying. By default those without a price, if the
        problem has prices.
    table_format : HistoryFormat, optional
        How the table is written.

    Returns
    -------
    History
        The cases, in the order of the table.

    Raises
    ------
    InvalidTable, InvalidParameter, UnknownName
        If the table does not fit the problem; the message says how to correct it.

    Examples
    --------
    >>> problem = Problem(
    ...     [Feature("test", ("low", "high"))],
    ...     ["treat", "wait"],
    ...     outcomes={"treat": {"ill": 5, "well": -1}, "wait": 0},
    ...     prices={"test": 0.5},
    ... )
    >>> table = {"test": ["low", None], "action": ["treat", "wait"], "reward": [5, 0]}
    >>> history = read_history(table, problem)
    >>> history.codes.tolist(), history.settled.tolist(), history.possible.tolist()
    ([[0], [-1]], [[True], [False]], [[True, False], [True, True]])
    """
    reader = _HistoryReader(source, problem, table_format or HistoryFormat())
    return reader.read(target, unpriced(problem) if free is None else free)


def unpriced(problem: Problem) -> Bools:
    """Return True for each feature that is not sold, (D,); all False without any prices.

    Parameters
    ----------
    problem : Problem
        The problem.

    Returns
    -------
    array of bool, shape (D,)
        The features that have no price and are in no bundle.
    """
    if problem.prices is None:
        return np.zeros(problem.n_features, np.bool_)
    sold = {*problem.prices.prices, *_bundled(problem.prices)}
    return np.array([name not in sold for name in problem.feature_names])


def _bundled(prices: PriceList) -> set[str]:
    return {name for bundle in prices.bundles for name in bundle.features}


class _HistoryReader:
    """Codes one table, column by column."""

    def __init__(self, source: Any, problem: Problem, table_format: HistoryFormat) -> None:
        if problem.outcomes is None:
            raise InvalidParameter(
                "the problem declares no outcomes, so a past case would teach nothing about the "
                "actions that were not taken: declare outcomes, or leave out history."
            )
        table = read_table(source, encoding=table_format.encoding, separator=table_format.separator)
        self.frame, self.notes = table.frame, list(table.notes)
        self.problem, self.format = problem, table_format
        self.outcomes: Outcomes = problem.outcomes

    def read(self, target: str | None, free: Bools) -> History:
        possible = self._possible_by_rewards() if target is None else self._possible(target)
        if possible.all():
            raise InvalidTable(
                f"no case of the history has a known outcome {self._where(target)}, so there is "
                "nothing to learn from: add cases with an outcome, or leave out history."
            )
        columns = [self._column(feature) for feature in self.problem.features]
        given = np.stack([is_given for _, is_given in columns], axis=1)
        return History(
            codes=np.stack([codes for codes, _ in columns], axis=1),
            settled=self._settled(given) | free,
            possible=possible,
            free=free,
            notes=tuple(self.notes),
        )

    def _column(self, feature: Feature) -> tuple[Codes, Bools]:
        """Return the codes of a column, and True where a value was bought."""
        name = feature.name
        self._require_column(name, "the problem has the feature")
        absent = (*self.format.missing, *self.format.absent.get(name, ()))
        values = normalise(name, self.frame[name], absent)
        if name in self.format.periods:
            coded = _encode_periods(feature, values, self.format.periods[name])
        else:
            coded = encode_by_feature(feature, values)
        self.notes += [] if coded.note is None else [coded.note]
        return coded.codes, values.is_not_null().to_numpy() | (coded.codes >= 0)

    def _settled(self, given: Bools) -> Bools:
        """Return True for what was bought: of a bundle, all or nothing."""
        prices, settled = self.problem.prices or PriceList(), given.copy()
        for bundle in prices.bundles:
            columns = [self.problem.feature_index(name) for name in bundle.features]
            settled[:, columns] = given[:, columns].any(axis=1, keepdims=True)
        return settled

    def _possible(self, target: str) -> Bools:
        self._require_column(target, "the target is")
        names = self._names(target)
        codes = lookup(names, self.outcomes.names, -1)
        unknown = names.filter(pl.Series(codes < 0) & names.is_not_null())
        if len(unknown):
            raise InvalidTable(
                f"the target, column {target!r}, contains {unknown[0]!r}, which is not an outcome "
                f"of the problem: its outcomes are {quote_names(self.outcomes.names)}. Correct the "
                "value, leave it empty if the outcome is not known, or name another target."
            )
        possible = np.ones((len(names), len(self.outcomes.names)), np.bool_)
        is_known = codes >= 0
        possible[is_known] = np.eye(possible.shape[1], dtype=np.bool_)[codes[is_known]]
        return possible

    def _possible_by_rewards(self) -> Bools:
        for name in (ACTION, REWARD):
            if name not in self.frame.columns:
                raise UnknownName(
                    f"the history has no column {name!r}, and no target is given, so the outcomes "
                    f"are not known: its columns are {quote_names(self.frame.columns)}. Name the "
                    "column of outcomes as target, or add the columns 'action' and 'reward'."
                )
        actions = self._actions()
        rewards = as_points("number", self._values(REWARD)).to_list()
        possible = np.ones((len(rewards), len(self.outcomes.names)), np.bool_)
        explained: dict[tuple[int, float], list[int]] = {}
        for row, (action, reward) in enumerate(zip(actions.tolist(), rewards, strict=True)):
            if action < 0 or reward is None:
                continue
            if (action, reward) not in explained:
                explained[action, reward] = self._explaining(action, reward, row)
            possible[row] = False
            possible[row, explained[action, reward]] = True
        return possible

    def _actions(self) -> Codes:
        names = self._names(ACTION)
        codes = lookup(names, self.problem.actions, -1)
        unknown = names.filter(pl.Series(codes < 0) & names.is_not_null())
        if len(unknown):
            raise InvalidTable(
                f"column {ACTION!r} contains {unknown[0]!r}, which is not an action of the "
                f"problem: its actions are {quote_names(self.problem.actions)}. Correct the value, "
                "or leave it empty if no action was taken."
            )
        return codes

    def _explaining(self, action: int, reward: float, row: int) -> list[int]:
        try:
            return self.outcomes.explaining(action, reward)
        except InvalidReward as error:
            raise InvalidTable(f"case {row + 1} of the history: {error}") from error

    def _names(self, column: str) -> pl.Series:
        return as_names(self._values(column))

    def _values(self, column: str) -> pl.Series:
        return normalise(column, self.frame[column], self.format.missing)

    def _require_column(self, name: str, why: str) -> None:
        columns = self.frame.columns
        if name not in columns:
            raise UnknownName(
                f"{why} {name!r}, but the history has no such column{suggestion(name, columns)}: "
                f"its columns are {quote_names(columns)}. Rename the column, or add it, empty where"
                " the value was not bought."
            )

    def _where(self, target: str | None) -> str:
        return f"in column {target!r}" if target else f"in columns {ACTION!r} and {REWARD!r}"


def _encode_periods(feature: Feature, values: pl.Series, starts: tuple[float, ...]) -> CodedColumn:
    """Code dates by named periods; a date belongs to the period that starts with it."""
    points = as_points("date", values)
    codes = np.searchsorted(np.array(starts), points.fill_null(0).to_numpy(), side="right")
    missing = -1 if feature.missing is None else feature.levels.index(feature.missing)
    return CodedColumn(np.where(points.is_null().to_numpy(), missing, codes).astype(np.int16))
