"""What the site needs beyond Markdown: doctests as code, and commands as titles of their output."""

from __future__ import annotations

import re
from itertools import groupby

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig

COMMAND = re.compile(r"^```text (thrifty .*)$")
FENCE = re.compile(r"^\s*```")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let pages and docstrings go through `Fences`."""
    config.markdown_extensions.append(Fences())
    return config


class Fences(Extension):
    """Puts doctests in fences, and shows the command of a block of output above it."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Run before fences are looked for."""
        md.preprocessors.register(_Fences(md), "fences", 40)


class _Fences(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        titled = [COMMAND.sub(r'```text title="\1"', line) for line in lines]
        result: list[str] = []
        for is_doctest, group in groupby(titled, _DoctestLines()):
            fences = (["```pycon"], ["```"]) if is_doctest else ([], [])
            result += [*fences[0], *group, *fences[1]]
        return result


class _DoctestLines:
    """Tells of each line whether it belongs to a doctest, which ends with an empty line."""

    def __init__(self) -> None:
        self.fenced = self.inside = False

    def __call__(self, line: str) -> bool:
        if FENCE.match(line):
            self.fenced = not self.fenced
        starts = line.startswith(">>> ") and not self.fenced
        self.inside = bool(line.strip()) and (self.inside or starts)
        return self.inside
