"""Plain English in pages, docstrings, comments and messages; spelling is checked by codespell."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [*sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "benchmarks").glob("*.py"))]
PHRASES = {
    r"\bso many\b": "this many, or name the number",
    r"\bis none\b": "none is ..., or there is no ...",
    r"\bof like size\b": "of equal size",
    r"\bknows no\b": "does not support",
    r"\bwhat was done\b": "the action",
    r"\bnobody\b": "no one, or name who",
    r"\bwhoever\b": "name who",
    r"\bmended\b": "fixed",
    r"\banew\b": "again",
    r"\bafresh\b": "from scratch, or restart",
    r"\blet go of\b": "release, or close",
    r"\bowes\b": "must provide",
    r", for (it|they|he|who)\b": "because",
}
STILTED = re.compile("|".join(PHRASES), re.IGNORECASE)


def words_of(source: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of a Python file with their line numbers."""
    tokens = tokenize.generate_tokens(io.StringIO(source.read_text(encoding="utf-8")).readline)
    for token in tokens:
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pages_use_plain_english(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if STILTED.search(line)] == []


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_docstrings_comments_and_messages_use_plain_english(source: Path) -> None:
    found = [(line, STILTED.search(text)) for line, text in words_of(source)]
    assert [(line, match[0]) for line, match in found if match] == []


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_no_variable_is_called_it(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.arg)]
    lines = [n.lineno for n in names if (n.id if isinstance(n, ast.Name) else n.arg) == "it"]
    assert lines == []


def test_a_stilted_phrase_is_noticed() -> None:
    assert STILTED.search("Nobody waits after so many rounds.")
    assert not STILTED.search("No request waits.")
