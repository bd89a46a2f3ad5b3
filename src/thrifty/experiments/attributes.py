"""What makes a world difficult: attributes that experiments declare, and groups of their values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from thrifty.errors import InvalidSpec
from thrifty.parameters import FLAG, Constraint, Real, Whole, check_parameter


@dataclass(frozen=True)
class Attribute:
    """A property of a world that may make it more or less difficult.

    Parameters
    ----------
    title : str
        Heading in figures and tables.
    allowed : Constraint
        Values that it can have.
    groups : tuple of str
        Names of the groups of values, from the lowest on.
    edges : tuple of float
        First value of each group but the first.
    """

    title: str
    allowed: Constraint
    groups: tuple[str, ...] = ("no", "yes")
    edges: tuple[float, ...] = (1,)

    def group_of(self, value: float) -> str:
        """Return the group of a value.

        Parameters
        ----------
        value : float
            A value of the attribute.

        Returns
        -------
        str
            Name of the group.

        Examples
        --------
        >>> ATTRIBUTES["changes"].group_of(4), ATTRIBUTES["safe"].group_of(True)
        ('1 to 4', 'yes')
        """
        return self.groups[bisect_right(self.edges, value)]


ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        "changes": Attribute("changes", Whole(), ("none", "1 to 4", "5 or more"), (1, 5)),
        "prices": Attribute(
            "prices", Real(0), ("below 0.1", "0.1 to 0.3", "0.3 or more"), (0.1, 0.3)
        ),
        "features": Attribute("features", Whole(1), ("up to 5", "6 to 10", "11 or more"), (6, 11)),
        "gradual": Attribute("gradual", FLAG),
        "recurring": Attribute("recurring", FLAG),
        "noise": Attribute("noise", Real(0), ("below 1.4", "1.4 to 2", "2 or more"), (1.4, 2.0)),
        "safe": Attribute("safe action", FLAG),
    }
)
"""Attributes by the key that declares them in the table [attributes] of an experiment.

`changes` is the number of changes of mean rewards, and `features` the number of features. `prices`
is the mean price of a feature, and `noise` the standard deviation of rewards, both divided by the
mean regret of the uniform choice in a round. `gradual` says that rewards drift, `recurring` that
former mean rewards come back, and `safe` that an action has a known reward.
"""


def parse_attributes(content: Mapping[str, Any]) -> dict[str, float]:
    """Return the attributes of a world. Those that are left out are unknown.

    Parameters
    ----------
    content : mapping
        Table [attributes] of an experiment.

    Returns
    -------
    dict
        Values by key.

    Raises
    ------
    InvalidSpec
        If there is no such attribute.
    InvalidParameter
        If a value is not allowed.

    Examples
    --------
    >>> parse_attributes({"changes": 4, "gradual": True})
    {'changes': 4, 'gradual': True}
    """
    unknown = sorted({*content} - {*ATTRIBUTES})
    if unknown:
        raise InvalidSpec(
            f"[attributes] has no key {unknown[0]!r}: its keys are {', '.join(ATTRIBUTES)}."
        )
    return {
        name: check_parameter(name, value, ATTRIBUTES[name].allowed, owner="[attributes]")
        for name, value in content.items()
    }


def worlds_by_group(
    worlds: Mapping[str, Mapping[str, float]], names: Iterable[str] = tuple(ATTRIBUTES)
) -> dict[tuple[str, str], list[str]]:
    """Return the worlds of each group of each attribute.

    Parameters
    ----------
    worlds : mapping
        Attributes by world.
    names : iterable of str
        Keys of attributes.

    Returns
    -------
    dict
        Names of worlds by key of the attribute and name of the group, without empty groups.
        Attributes with a single group are left out.

    Examples
    --------
    >>> worlds_by_group({"a": {"changes": 0}, "b": {"changes": 9}, "c": {}}, ["changes", "safe"])
    {('changes', 'none'): ['a'], ('changes', '5 or more'): ['b']}
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        groups: dict[str, list[str]] = {group: [] for group in ATTRIBUTES[name].groups}
        for world, values in worlds.items():
            if name in values:
                groups[ATTRIBUTES[name].group_of(values[name])].append(world)
        filled = {group: inside for group, inside in groups.items() if inside}
        if len(filled) > 1:
            found |= {(name, group): inside for group, inside in filled.items()}
    return found
