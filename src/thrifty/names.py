"""Names from the user's files, as messages show them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def display_name(text: str, max_length: int = 60) -> str:
    """Return a name that fits in a line: without control characters and not too long.

    >>> display_name("a" + chr(0x202E) + "b"), display_name("x" * 9, max_length=5)
    ('a�b', 'xxxx…')
    """
    # Control and direction characters could change how the rest of the line is displayed.
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return shown if len(shown) <= max_length else shown[: max_length - 1] + "…"


def join_names(names: Iterable[str]) -> str:
    """Join names as in a sentence.

    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *others, last = [display_name(name) for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def quote_names(names: Sequence[str], max_shown: int = 12) -> str:
    """Return names in quotes, and how many more there are.

    >>> quote_names(["a", "b", "c"], max_shown=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:max_shown])
    return shown if len(names) <= max_shown else f"{shown} and {len(names) - max_shown} more"


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return ` (did you mean ...?)` if one of the names is similar, else an empty string."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
