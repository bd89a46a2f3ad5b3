"""Every Python block of every page runs, and every output shown is what the command prints."""

import re
from pathlib import Path

import pytest

from refresh_docs import BLOCK, PAGES, ROOT, refreshed


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def test_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^make (\w+)", "\n".join(blocks(ROOT / "README.md", "sh")), re.M):
        assert f"\n{command}:" in makefile


def test_output_on_the_pages_is_what_the_commands_print() -> None:
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(BLOCK.findall(text)) for text in pages) >= 3
    for text in pages:
        assert refreshed(text) == text
