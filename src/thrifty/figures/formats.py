"""Formats of figure files. This module is fast to import: it does not need matplotlib."""

from __future__ import annotations

from collections.abc import Sequence

from thrifty.errors import InvalidParameter

FORMATS = ("pdf", "png", "svg")


def require_formats(formats: Sequence[str]) -> None:
    """Raise an error for formats that figures cannot be written in."""
    unknown = [format_ for format_ in formats if format_ not in FORMATS]
    if unknown or not formats:
        raise InvalidParameter(
            f"formats {','.join(formats)!r} are not supported: use one or more of "
            f"{', '.join(FORMATS)}, separated by commas."
        )


def parse_formats(text: str) -> list[str]:
    """Return the formats of a list separated by commas.

    >>> parse_formats("png, svg,png")
    ['png', 'svg']
    """
    formats = list(dict.fromkeys(part.strip() for part in text.split(",")))
    require_formats(formats)
    return formats
