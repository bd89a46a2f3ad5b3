"""Read a log from a table: a row per case with values, purchases, action, reward, probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidTable, UnknownName
from thrifty.evaluation.logged_cases import Bools, Codes, Floats, Integers, LoggedCases
from thrifty.evaluation.target_costs import by_set
from thrifty.frames.coding import as_names, as_points, encode_by_feature, lookup, normalise
from thrifty.frames.reader import Table
from thrifty.names import quote_names, suggestion
from thrifty.policy_file import PolicyFile
from thrifty.policy_file.model import ColumnSection
from thrifty.prices import PriceList
from thrifty.problem import Feature, Problem
from thrifty.tables.columns import declared_coding


def read_table_log(table: Table, problem: Problem, free: Bools, file: PolicyFile) -> LoggedCases:
    """Return the cases of a table, whose columns the section `[log]` of a policy file names.

    Parameters
    ----------
    table : Table
        The table.
    problem : Problem
        Features that code the columns of the same names, and actions.
    free : array of bool, shape (D,)
        True for features that are known before buying.
    file : PolicyFile
        Names of the columns, and how values are written.

    Returns
    -------
    LoggedCases
        The cases, in the order of the table.

    Raises
    ------
    InvalidTable, UnknownName
        If the table cannot be used; the message says how to correct it.

    Examples
    --------
    >>> from thrifty.frames.reader import read_table
    >>> table = read_table(
    ...     {
    ...         "x1": ["1", None],
    ...         "action": ["action 1", "action 2"],
    ...         "reward": [1.0, 0.0],
    ...         "action_probability": [0.5, 0.5],
    ...         "buy_probability": [0.9, 0.1],
    ...     }
    ... )
    >>> problem = Problem.anonymous(levels=(2,), n_actions=2)
    >>> priced = Problem(problem.features, ("action 1", "action 2"), prices={"x1": 0.25})
    >>> log = read_table_log(table, priced, np.array([False]), PolicyFile())
    >>> log.codes.tolist(), log.bought.tolist(), log.gains.tolist()
    ([[1], [-1]], [[True], [False]], [0.75, 0.0])
    """
    return _LogReader(table, problem, free, file).read()


class _LogReader:
    """Reads one table, column by column."""

    def __init__(self, table: Table, problem: Problem, free: Bools, file: PolicyFile) -> None:
        self.frame, self.notes = table.frame, list(table.notes)
        self.problem, self.free, self.file, self.log = problem, free, file, file.log
        self.never_bought: list[str] = []

    def read(self) -> LoggedCases:
        self._keep_rewarded()
        columns = [self._feature(i) for i in range(self.problem.n_features)]
        if self.never_bought:
            self.notes.append(
                f"the log has no column for {quote_names(self.never_bought)}, so they count as "
                "never bought"
            )
        settled = np.stack([known for _, known in columns], axis=1)
        codes = np.stack([codes for codes, _ in columns], axis=1)
        each = self._feature_probabilities(settled)
        actions, ids = self._actions(), self._ids()
        return LoggedCases(
            problem=self.problem,
            codes=np.where(settled | self.free, codes, np.int16(-1)).astype(np.int16),
            settled=settled,
            free=self.free,
            actions=actions,
            rewards=self._rewards(actions),
            costs=self._costs(settled & ~self.free),
            action_probabilities=self._numbers(self.log.action_probability, _ACTION_REMEDY),
            purchase_probabilities=None
            if each is not None
            else self._numbers(self.log.buy_probability, _BUY_REMEDY),
            feature_probabilities=each,
            trajectories=self._sequences(),
            ids=ids,
            notes=tuple(self.notes),
        )

    def _keep_rewarded(self) -> None:
        """Leave out cases whose reward is not known."""
        name = self._reward_column()
        known = normalise(name, self._column(name, ""), self.file.table.missing).is_not_null()
        if not known.all():
            self.notes.append(
                f"{int((~known).sum()):,} of {len(known):,} cases have no reward and are left out, "
                "as if that did not depend on the reward"
            )
            self.frame = self.frame.filter(known)

    def _reward_column(self) -> str:
        if self.log.outcome is not None and self.log.reward not in self.frame.columns:
            return self.log.outcome
        return self.log.reward

    def _feature(self, i: int) -> tuple[Codes, Bools]:
        """Return the codes of a feature, and True where it is free or was bought."""
        feature, n = self.problem.features[i], self.frame.height
        flags = None if self.free[i] else self._flags(feature.name)
        if feature.name not in self.frame.columns and not self.free[i] and flags is None:
            self.never_bought.append(feature.name)
            return np.full(n, -1, np.int16), np.zeros(n, np.bool_)
        codes, given = self._codes(feature)
        if self.free[i]:
            return codes, np.ones(n, np.bool_)
        return codes, given if flags is None else flags

    def _codes(self, feature: Feature) -> tuple[Codes, Bools]:
        section = self.file.feature(feature.name) or ColumnSection(name=feature.name)
        absent = (*self.file.table.missing, *section.absent)
        column = self._column(feature.name, "the policy has the feature")
        values = normalise(feature.name, column, absent)
        given = values.is_not_null().to_numpy()
        declared = declared_coding(section)
        if declared is not None and declared.by_period and declared.feature == feature:
            return declared.encode(values), given
        coded = encode_by_feature(feature, values)
        self.notes += [] if coded.note is None else [coded.note]
        return coded.codes, given

    def _flags(self, name: str) -> Bools | None:
        column = self._of_feature(self.log.bought, name)
        if column is None:
            return None
        values = self._column(column, f"[log] says that {name!r} was bought where it is 1")
        flags = normalise(column, values).cast(pl.String).str.to_lowercase()
        is_true = flags.is_in(["1", "1.0", "true", "yes"]).fill_null(False)
        known = is_true | flags.is_in(["0", "0.0", "false", "no"]).fill_null(False)
        if not known.all():
            raise InvalidTable(
                f"column {column!r} contains {flags.filter(~known)[0]!r}, so it "
                "is not clear whether the value was bought: write 1 or 0."
            )
        return is_true.to_numpy()

    def _actions(self) -> Integers:
        names = as_names(normalise("action", self._column(self.log.action, "")))
        codes = lookup(names, self.problem.actions, -1)
        if (codes < 0).any():
            unknown = names.filter(pl.Series(codes < 0))[0]
            raise InvalidTable(
                f"column {self.log.action!r} contains {unknown!r}, which is not an action of the "
                f"policy: its actions are {quote_names(self.problem.actions)}. Correct the value, "
                "or leave the case out."
            )
        return codes.astype(np.int64)

    def _rewards(self, actions: Integers) -> Floats:
        name = self._reward_column()
        if name == self.log.reward:
            return self._numbers(name, "")
        outcomes = self.problem.outcomes
        if outcomes is None:
            raise InvalidTable(
                f"the log has outcomes in column {name!r}, but the policy declares none, so "
                "rewards are not known: add [outcomes.rewards], or a column of rewards."
            )
        texts = as_names(normalise(name, self._column(name, ""), self.file.table.missing))
        codes = lookup(texts, outcomes.names, -1)
        if (codes < 0).any():
            raise InvalidTable(
                f"column {name!r} contains {texts.filter(pl.Series(codes < 0))[0]!r}, which is not "
                f"an outcome of the policy: its outcomes are {quote_names(outcomes.names)}."
            )
        return outcomes.table[actions, codes]

    def _costs(self, bought: Bools) -> Floats:
        if self.log.cost is None:
            return self._list_costs(bought)
        costs = np.zeros(bought.shape)
        for i, name in enumerate(self.problem.feature_names):
            if bought[:, i].any():
                column = self.log.cost.replace("{feature}", name)
                paid = self._numbers(column, "[log] says that it has the cost")
                lacking = bought[:, i] & np.isnan(paid)
                if lacking.any():
                    self.notes.append(
                        f"{name!r} was bought in {int(lacking.sum()):,} cases without a cost in "
                        f"{column!r}, which counts as 0"
                    )
                costs[:, i] = np.where(bought[:, i] & ~lacking, paid, 0.0)
        return costs

    def _list_costs(self, bought: Bools) -> Floats:
        costs, prices = np.zeros(bought.shape), self.problem.prices or PriceList()
        for mask, rows in by_set(bought):
            places = np.flatnonzero(mask).tolist()
            names = [self.problem.feature_names[i] for i in places]
            found = prices.costs(names)
            for i, name in zip(places, names, strict=True):
                price = found[name]
                if price is None:
                    raise InvalidTable(
                        f"feature {name!r} was bought, but its cost is not known: add its price to "
                        "policy.toml, or name the columns of costs with [log] cost."
                    )
                costs[rows, i] = price
        return costs

    def _feature_probabilities(self, settled: Bools) -> Floats | None:
        if self.log.feature_probability is None:
            return None
        found = np.ones(settled.shape)
        for i in np.flatnonzero(~self.free).tolist():
            column = self._of_feature(self.log.feature_probability, self.problem.feature_names[i])
            if column is not None and settled[:, i].any():
                found[:, i] = self._numbers(column, _BUY_REMEDY)
        return found

    def _sequences(self) -> Integers | None:
        if self.log.sequence is None:
            return None
        names = self._column(self.log.sequence, "").cast(pl.String).fill_null("")
        return names.rank("dense").to_numpy().astype(np.int64)

    def _ids(self) -> NDArray[Any] | None:
        """Return the names of the cases; without them, note rows that look like copies."""
        if self.log.case is None:
            copies = int(self.frame.is_duplicated().sum())
            if copies:
                self.notes.append(
                    f"{copies:,} of {self.frame.height:,} rows are equal to another row; if these "
                    "are copies of the same cases, intervals are too narrow: name the column of "
                    "the case with [log] case, and cases that appear twice are refused"
                )
            return None
        column = self._column(self.log.case, "")
        names = normalise(self.log.case, column, self.file.table.missing)
        if names.null_count():
            raise InvalidTable(
                f"column {self.log.case!r}, which names the cases, is empty in row "
                f"{int(names.is_null().to_numpy().argmax()) + 1} and in {names.null_count():,} of "
                f"{len(names):,} rows in all: name every case, so that copies can be noticed."
            )
        return column.to_numpy()

    def _of_feature(self, pattern: str | None, name: str) -> str | None:
        return None if pattern is None else pattern.replace("{feature}", name)

    def _numbers(self, name: str, why: str) -> Floats:
        values = as_points("number", normalise(name, self._column(name, why)))
        return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()

    def _column(self, name: str, why: str) -> pl.Series:
        columns = self.frame.columns
        if name not in columns:
            # A column that has another meaning is not a misspelling of this one.
            others = set(columns) - set(self.log.model_dump().values())
            raise UnknownName(
                f"the log has no column {name!r}{suggestion(name, sorted(others))}"
                f"{': ' * bool(why)}{why}. Its columns are {quote_names(columns)}. Name the column "
                "in [log] of policy.toml, or add it."
            )
        return self.frame[name]


_ACTION_REMEDY = (
    "estimates divide by the probability of the action; write 1 where the policy had no choice"
)
_BUY_REMEDY = (
    "estimates divide by the probability of the purchases; write 1 where the policy had no choice"
)
