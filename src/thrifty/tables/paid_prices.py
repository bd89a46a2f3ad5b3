"""What is bought: a column, or several columns coded as one feature of combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from thrifty.errors import InvalidSpec, InvalidTable, UnknownName
from thrifty.features import Feature
from thrifty.policy_file.model import FeatureSection, PolicyFile
from thrifty.tables.columns import Codes, Coding, coding_of

MOST_COMBINATIONS = 24
"""Levels of a bundle; rarer combinations count as one."""
SEPARATOR = " & "
OTHER = "(other)"


@dataclass(frozen=True)
class PaidFeature:
    """One thing to buy: a column, or a bundle of columns; or free.

    Parameters
    ----------
    name : str
        Name of the column or of the bundle.
    levels : tuple of str
        Levels of the column, or combinations of the levels of the bundle's columns.
    parts : tuple of Coding
        How each column is coded.
    free : bool
        Whether it comes with every case.
    other : str, optional
        The level of a bundle's rare combinations.
    """

    name: str
    levels: tuple[str, ...]
    parts: tuple[Coding, ...]
    free: bool = False
    other: str | None = None

    @property
    def said(self) -> str:
        """How its columns were coded, in words."""
        if len(self.parts) == 1:
            return self.parts[0].said
        each = "; ".join(f"{part.name}: {part.said}" for part in self.parts)
        return f"bundle of {len(self.levels)} combinations ({each})"

    @property
    def feature(self) -> Feature:
        """The feature as policies know it: ordered if it is a number."""
        if len(self.parts) > 1:
            return Feature(self.name, self.levels, other=self.other)
        own = self.parts[0].feature
        return Feature(self.name, own.levels, own.edges, own.missing, own.other)

    def level_of(self, values: Mapping[str, Any]) -> str:
        """Return the level, from the raw value of each of its columns.

        >>> age = Coding("age", "number", ("up to 30", "over 30"), "", edges=(30.0,))
        >>> PaidFeature("age", age.levels, (age,)).level_of({"age": "42"})
        'over 30'
        """
        names = []
        for part in self.parts:
            if part.name not in values:
                raise InvalidTable(
                    f"feature {self.name!r} needs a value of column {part.name!r}: give it, or "
                    "None if it is missing."
                )
            value = values[part.name]
            series = pl.Series(part.name, [None if value is None else str(value)], dtype=pl.String)
            names.append(part.levels[int(part.apply(series)[0])])
        return self._known(SEPARATOR.join(names))

    def _known(self, level: str) -> str:
        if level in self.levels:
            return level
        if self.other is not None:
            return self.other
        raise InvalidTable(
            f"bundle {self.name!r} was never {level!r} in the cases that it was coded by: use one "
            f"of {', '.join(map(repr, self.levels))}."
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
        raise UnknownName(
            f"the file has no feature {feature!r}: use one of "
            f"{', '.join(repr(it.name) for it in file.features)}."
        )
    told = told_feature(section, file.table.missing)
    if told is None:
        raise InvalidSpec(
            f"feature {feature!r} has no levels yet: use a policy.toml that `thrifty worth` wrote."
        )
    return told.level_of(values)


def told_feature(section: FeatureSection, missing: tuple[str, ...] = ()) -> PaidFeature | None:
    """Return the feature that a policy file describes, or None if it gives no levels."""
    parts = [coding_of(it, missing) for it in section.parts or (section,)]
    codings = tuple(it for it in parts if it is not None)
    if len(codings) < len(parts):
        return None
    levels = section.levels if section.parts and section.levels else codings[0].levels
    other = section.other if section.parts else None
    return PaidFeature(section.name, levels, codings, section.free, other)


def coded_feature(
    name: str, coded: Sequence[tuple[Codes, Coding]], told: PaidFeature | None = None
) -> tuple[PaidFeature, Codes]:
    """Return coded columns as one feature; several become combinations, as told or as found."""
    if len(coded) == 1:
        codes, coding = coded[0]
        return PaidFeature(name, coding.levels, (coding,)), codes
    parts = tuple(coding for _, coding in coded)
    keys = np.zeros(len(coded[0][0]), dtype=np.int64)
    for codes, coding in coded:
        keys = keys * len(coding.levels) + codes
    found, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    names = [_combination(int(key), parts) for key in found.tolist()]
    feature = told or _frequent(name, names, counts, parts)
    positions = {level: k for k, level in enumerate(feature.levels)}
    by_name = np.array([positions[feature._known(it)] for it in names], dtype=np.int16)
    return feature, by_name[places]


def _frequent(
    name: str, names: Sequence[str], counts: Any, parts: tuple[Coding, ...]
) -> PaidFeature:
    """Return the feature whose levels are the frequent combinations."""
    frequent = np.argsort(-counts, kind="stable")[:MOST_COMBINATIONS]
    if len(names) <= MOST_COMBINATIONS:
        return PaidFeature(name, tuple(names), parts)
    kept = np.sort(frequent[:-1]).tolist()
    return PaidFeature(name, (*(names[k] for k in kept), OTHER), parts, other=OTHER)


def _combination(key: int, parts: Sequence[Coding]) -> str:
    names: list[str] = []
    for coding in reversed(parts):
        key, code = divmod(key, len(coding.levels))
        names.append(coding.levels[code])
    return SEPARATOR.join(reversed(names))
