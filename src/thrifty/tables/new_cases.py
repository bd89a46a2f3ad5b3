"""Code a table of new cases by the features of a plan, as they are: nothing is learnt from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from thrifty.errors import InvalidParameter, InvalidSpec, InvalidTable, UnknownName
from thrifty.features import Feature
from thrifty.frames.coding import Codes, as_names, encode_by_feature, lookup, normalise
from thrifty.frames.reader import read_table
from thrifty.names import quote_names, suggestion
from thrifty.plans.cases import PastCases
from thrifty.plans.tree import Leaf, PlanTree, walk
from thrifty.policy_file import PolicyFile
from thrifty.policy_file.model import BundleSection, ColumnSection, FeatureSection, PriceColumn
from thrifty.policy_file.plans import planned_prices
from thrifty.problem import Problem
from thrifty.tables.columns import declared_coding, read_prices


@dataclass(frozen=True, eq=False)
class NewCases:
    """New cases with known outcomes, coded by the features of a plan.

    Parameters
    ----------
    cases : PastCases
        The cases; a value that is missing or new, and has no level of its own, has code -1.
    notes : tuple of str
        What a reader should know about how the table was read.
    """

    cases: PastCases
    notes: tuple[str, ...]


def read_new_cases(
    source: Any, tree: PlanTree, *, target: str | None = None, file: PolicyFile | None = None
) -> NewCases:
    """Read a table of new cases with known outcomes.

    Parameters
    ----------
    source : path, DataFrame or mapping
        A CSV or Parquet file, or a DataFrame of pandas, polars or pyarrow.
    tree : PlanTree
        The plan, whose features code the columns of the same names.
    target : str, optional
        Column with the outcome of each case. By default that of the plan, or of the file.
    file : PolicyFile, optional
        Prices that replace those of the plan, and how to read the table.

    Returns
    -------
    NewCases
        The cases with an outcome, in the order of the table.

    Raises
    ------
    InvalidTable, InvalidSpec, UnknownName
        If the table does not fit the plan; the message says how to correct it.
    """
    return _NewCaseReader(source, tree, target, file or PolicyFile()).read()


class _NewCaseReader:
    """Codes one table, column by column."""

    def __init__(self, source: Any, tree: PlanTree, target: str | None, file: PolicyFile) -> None:
        table = read_table(source, encoding=file.table.encoding, separator=file.table.separator)
        self.frame, self.tree, self.file = table.frame, tree, file
        self.notes = list(table.notes)
        self.target = self._require_target(target)

    def read(self) -> NewCases:
        # Outcomes first: cases without one are removed from the table.
        outcomes = self._outcomes()
        price_columns = self._price_columns()
        problem = self._problem(price_columns)
        codes = np.full((self.frame.height, problem.n_features), -1, np.int16)
        used = used_features(self.tree)
        for i, feature in enumerate(problem.features):
            if i in used:
                self._require_column(feature.name, "the plan uses")
                codes[:, i] = self._codes(feature)
        declared = {section.name for section in self.file.features if section.free}
        free = [
            is_free or name in declared
            for is_free, name in zip(self.tree.free.tolist(), problem.feature_names, strict=True)
        ]
        cases = PastCases(problem, codes, outcomes, np.array(free), price_columns)
        return NewCases(cases, tuple(self.notes))

    def _require_target(self, given: str | None) -> str:
        target = given or self.tree.target or self.file.table.target
        if target is None:
            raise InvalidSpec(
                "no target is given, the column with the outcome of each case: name it with "
                f"--target. The columns are {quote_names(self.frame.columns)}."
            )
        self._require_column(target, "the target is")
        return target

    def _require_column(self, name: str, why: str) -> None:
        columns = self.frame.columns
        if name not in columns:
            raise UnknownName(
                f"{why} {name!r}, but the table has no such column{suggestion(name, columns)}: its "
                f"columns are {quote_names(columns)}. Rename or add the column."
            )

    def _outcomes(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        outcomes = self.tree.problem.outcomes
        if outcomes is None:
            raise InvalidParameter(
                "the plan declares no outcomes, so the reward of an action that was not taken is "
                "unknown: score a plan that was learnt from a table."
            )
        texts = as_names(normalise(self.target, self.frame[self.target], self.file.table.missing))
        known = texts.is_not_null()
        if texts.null_count():
            self.notes.append(
                f"{texts.null_count():,} of {len(texts):,} cases have no value in "
                f"{self.target!r} and are skipped"
            )
            self.frame, texts = self.frame.filter(known), texts.filter(known)
        if not len(texts):
            raise InvalidTable(
                f"no case has a value in the target, column {self.target!r}, so there is nothing "
                "to score: add cases with a known outcome, or name another column with --target."
            )
        codes = lookup(texts, outcomes.names, -1)
        if (codes < 0).any():
            unknown = texts.filter(pl.Series(codes < 0))[0]
            raise InvalidTable(
                f"the target, column {self.target!r}, contains {unknown!r}, which is not an "
                f"outcome of the plan: its outcomes are {quote_names(outcomes.names)}. Correct the "
                "value, or name another column with --target."
            )
        return codes.astype(np.int64)

    def _price_columns(self) -> dict[str, Any]:
        """Return the prices by case of the features and bundles whose price is a column."""
        sold: list[FeatureSection | BundleSection] = [*self.file.features, *self.file.bundles]
        found = {}
        for section in sold:
            if isinstance(section.price, PriceColumn):
                column = section.price.column
                self._require_column(column, f"the price of {section.name!r} is in")
                found[section.name] = read_prices(self.frame, section.name, column)
        return found

    def _problem(self, price_columns: dict[str, Any]) -> Problem:
        own, file = self.tree.problem, self.file
        means = {name: float(prices.mean()) for name, prices in price_columns.items()}
        known = [section for section in file.features if section.name in own.feature_names]
        priced = file.replace(
            policy=None,
            features=tuple(
                section.model_copy(update={"price": means.get(section.name, section.price)})
                for section in known
            ),
            groups=tuple(
                group for group in file.groups if {*group.features} <= {*own.feature_names}
            ),
            bundles=tuple(
                bundle.model_copy(update={"price": means.get(bundle.name, bundle.price)})
                for bundle in file.bundles
                if {*bundle.features} <= {*own.feature_names}
            ),
        )
        prices = planned_prices(priced, self.tree)
        return Problem(own.features, own.actions, own.outcomes, prices, own.rewards)

    def _codes(self, feature: Feature) -> Codes:
        section = self.file.feature(feature.name) or ColumnSection(name=feature.name)
        absent = (*self.file.table.missing, *section.absent)
        values = normalise(feature.name, self.frame[feature.name], absent)
        declared = declared_coding(section)
        if declared is not None and declared.by_period and declared.feature == feature:
            return declared.encode(values)
        coded = encode_by_feature(feature, values)
        self.notes += [] if coded.note is None else [coded.note]
        return coded.codes


def used_features(tree: PlanTree) -> frozenset[int]:
    """Return the positions of the features that a plan compares or acts by."""
    used: set[int] = set()
    for node in walk(tree.root):
        if isinstance(node, Leaf):
            used |= {*getattr(node.rule, "columns", ())}
        else:
            used.add(node.feature)
    return frozenset(used)
