"""Features made from table columns: one column, or a bundle of columns sold together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thrifty.errors import InvalidSpec, InvalidTable, UnknownName
from thrifty.features import Feature
from thrifty.policy_file.model import FeatureSection, PolicyFile
from thrifty.tables.columns import Codes, Coding, declared_coding

MAX_COMBINATIONS = 24
"""Levels of a bundle; rarer combinations are grouped."""
SEPARATOR = " & "
OTHER = "(other)"


@dataclass(frozen=True)
class TableFeature:
    """A feature that is free or can be bought: a column, or a bundle of columns.

    Parameters
    ----------
    name : str
        Name of the column or of the bundle.
    levels : tuple of str
        Levels of the column, or combinations of the levels of the bundle's columns.
    parts : tuple of Coding
        How each column is coded.
    free : bool
        True if it comes with every case.
    other : str, optional
        The level of a bundle's rare combinations.
    """

    name: str
    levels: tuple[str, ...]
    parts: tuple[Coding, ...]
    free: bool = False
    other: str | None = None

    @property
    def feature(self) -> Feature:
        """The feature as policies use it; ordered if it is a number."""
        if len(self.parts) > 1:
            return Feature(self.name, self.levels, other=self.other)
        own = self.parts[0].feature
        return Feature(self.name, own.levels, own.edges, own.missing, own.other)

    def level_of(self, values: Mapping[str, Any]) -> str:
        """Return the level, from the raw value of each column.

        Parameters
        ----------
        values : mapping
            Raw values by column, as they are in a table; None where a value is missing.

        Returns
        -------
        str
            Name of the level.

        Examples
        --------
        >>> age = Coding("age", "number", ("up to 30", "over 30"), "", edges=(30.0,))
        >>> TableFeature("age", age.levels, (age,)).level_of({"age": "42"})
        'over 30'
        """
        levels = []
        for part in self.parts:
            if part.name not in values:
                raise InvalidTable(
                    f"feature {self.name!r} needs the value of column {part.name!r}: give it, or "
                    "None if it is missing."
                )
            value = values[part.name]
            # As in a CSV file: every value is text, and parsed like a whole column.
            series = pl.Series(part.name, [None if value is None else str(value)], dtype=pl.String)
            levels.append(part.levels[int(part.apply(series)[0])])
        return self._known_level(SEPARATOR.join(levels))

    def _known_level(self, level: str) -> str:
        if level in self.levels:
            return level
        if self.other is not None:
            return self.other
        raise InvalidTable(
            f"bundle {self.name!r} has no level {level!r}, because the combination did not occur "
            f"in the cases it was coded with: use one of {', '.join(map(repr, self.levels))}."
        )


def level_of(file: PolicyFile, feature: str, values: Mapping[str, Any]) -> str:
    """Return the level of a feature, from the raw values of its columns.

    Parameters
    ----------
    file : PolicyFile
        A policy.toml that `thrifty worth` wrote, or one that gives the feature levels.
    feature : str
        Name of the feature.
    values : mapping
        Raw values by column, as they are in a table; None where a value is missing.

    Returns
    -------
    str
        Name of the level.

    Raises
    ------
    UnknownName
        If the file has no such feature.
    InvalidSpec
        If the file gives the feature no levels.

    Examples
    --------
    >>> from thrifty.policy_file import parse_policy_file
    >>> file = parse_policy_file({"features": [{"name": "age", "levels": ["young", "old"],
    ...                                         "edges": [30]}]})
    >>> level_of(file, "age", {"age": "42"})
    'old'
    """
    section = file.feature(feature)
    if section is None:
        names = ", ".join(repr(section.name) for section in file.features)
        raise UnknownName(f"the file has no feature {feature!r}: use one of {names}.")
    declared = declared_feature(section, file.table.missing)
    if declared is None:
        raise InvalidSpec(
            f"feature {feature!r} has no levels yet: use a policy.toml that `thrifty worth` wrote."
        )
    return declared.level_of(values)


def declared_feature(section: FeatureSection, missing: tuple[str, ...] = ()) -> TableFeature | None:
    """Return the feature that a policy file describes, or None if it gives no levels."""
    parts = [declared_coding(column, missing) for column in section.parts or (section,)]
    codings = tuple(coding for coding in parts if coding is not None)
    if len(codings) < len(parts):
        return None
    levels = section.levels if section.parts and section.levels else codings[0].levels
    other = section.other if section.parts else None
    return TableFeature(section.name, levels, codings, section.free, other)


def encode_feature(
    name: str, columns: Sequence[tuple[Codes, Coding]], declared: TableFeature | None = None
) -> tuple[TableFeature, Codes]:
    """Return coded columns as one feature; several columns become combinations of levels.

    The combinations are those of `declared`, or the frequent ones.
    """
    if len(columns) == 1:
        codes, coding = columns[0]
        return TableFeature(name, coding.levels, (coding,)), codes
    parts = tuple(coding for _, coding in columns)
    # The codes of a case are the digits of one number, its key.
    keys = np.zeros(len(columns[0][0]), dtype=np.int64)
    for codes, coding in columns:
        keys = keys * len(coding.levels) + codes
    distinct, positions, counts = np.unique(keys, return_inverse=True, return_counts=True)
    names = [_combination(int(key), parts) for key in distinct.tolist()]
    feature = declared or _bundle(name, names, counts, parts)
    index = {level: k for k, level in enumerate(feature.levels)}
    by_key = np.array([index[feature._known_level(level)] for level in names], dtype=np.int16)
    return feature, by_key[positions]


def _bundle(
    name: str, names: Sequence[str], counts: NDArray[Any], parts: tuple[Coding, ...]
) -> TableFeature:
    """Return the feature whose levels are the frequent combinations."""
    if len(names) <= MAX_COMBINATIONS:
        return TableFeature(name, tuple(names), parts)
    frequent = np.argsort(-counts, kind="stable")[: MAX_COMBINATIONS - 1]
    kept = np.sort(frequent).tolist()
    return TableFeature(name, (*(names[k] for k in kept), OTHER), parts, other=OTHER)


def _combination(key: int, parts: Sequence[Coding]) -> str:
    levels: list[str] = []
    for coding in reversed(parts):
        key, code = divmod(key, len(coding.levels))
        levels.append(coding.levels[code])
    return SEPARATOR.join(reversed(levels))
