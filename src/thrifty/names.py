"""Names from the user's files, made safe to show in a line of text."""

from __future__ import annotations

from collections.abc import Iterable


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
