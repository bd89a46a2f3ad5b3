"""Results of the benchmarks as Markdown: parts with tables and goals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import number


@dataclass(frozen=True)
class Goal:
    """A target that was set in advance, and the measured value."""

    what: str
    measured: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """True if the measured value meets the limit."""
        if self.at_least:
            return self.measured >= self.limit
        return self.measured <= self.limit

    @property
    def target(self) -> str:
        """The limit as text."""
        return f"at {'least' if self.at_least else 'most'} {self.limit:,g} {self.unit}".strip()

    @property
    def verdict(self) -> str:
        """The verdict as text."""
        return "met" if self.met else "not met"

    def __str__(self) -> str:
        return f"{self.target}: {self.verdict}"


def format_goals(goals: Sequence[Goal]) -> str:
    """Return the goals as a table cell."""
    return "; ".join(map(str, goals))


@dataclass(frozen=True)
class Table:
    """A title, a line of headers, and rows of text."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the table in Markdown, with aligned columns."""
        lines = [self.headers, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.headers))]
        padded = [
            " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        ]
        rule = "|".join("-" * (width + 2) for width in widths)
        first, *rest = (f"| {line} |" for line in padded)
        return "\n".join([f"**{self.title}**", "", first, f"|{rule}|", *rest])


@dataclass(frozen=True)
class Part:
    """One part of the benchmarks: the method and the results."""

    title: str
    method: str
    tables: tuple[Table, ...] = ()
    goals: tuple[Goal, ...] = ()

    def markdown(self) -> str:
        """Return the part as a section of the page."""
        return "\n\n".join(
            [f"## {self.title}", self.method, *(table.markdown() for table in self.tables)]
        )


def goals_table(parts: Sequence[Part]) -> Table:
    """Return all goals of all parts, one in each row."""
    rows = [
        (goal.what, goal.target, f"{number(goal.measured)} {goal.unit}".strip(), goal.verdict)
        for part in parts
        for goal in part.goals
    ]
    return Table("Targets", ("what", "target", "measured", "verdict"), tuple(rows))


def write_atomically(path: Path, text: str) -> None:
    """Replace the file in one step, so that it is never half-written."""
    draft = path.with_name(f"{path.name}.draft-{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
