"""Every block of every page runs, and every output shown is what is printed."""

import re
import subprocess
from pathlib import Path

import pytest

from refresh_docs import COMMAND_LINE, PAGES, ROOT, as_it_runs, command_line_page, thrifty
from shared_runs import CommandCache

SMALL = """
title = "Small"
seeds = "0:2"

[environment]
name = "random"
levels = [2]
n_actions = 2
rounds = 20

[[policies]]
policy = "uniform"
"""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run_and_print_what_is_shown(
    page: Path, tmp_path: Path, commands: CommandCache
) -> None:
    def run(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
        """Several pages show the same examples; the other commands depend on more than files."""
        cached = arguments[0] in ("example", "worth")
        return commands.thrifty(*arguments, cwd=cwd) if cached else thrifty(*arguments, cwd=cwd)

    assert as_it_runs(page, tmp_path, run) == page.read_text(encoding="utf-8")


def test_a_page_that_shows_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\nIt is\n\n```text\n3\n```\n", encoding="utf-8")
    assert "```text\n2\n```" in as_it_runs(page, tmp_path)


def test_a_page_may_show_the_end_of_an_output(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint('a\\nb\\nc')\n```\n\n```text\n...\nb\nx\n```\n", encoding="utf-8"
    )
    assert "```text\n...\nb\nc\n```" in as_it_runs(page, tmp_path)


def test_a_page_that_shows_another_table_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    page = tmp_path / "page.md"
    block = f"```text thrifty run {tmp_path / 'small.toml'}\nSmall\n policy  gain\n```\n"
    page.write_text(block, encoding="utf-8")
    assert "\n uniform  " in as_it_runs(page, tmp_path)


def test_a_page_whose_command_fails_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nthrifty run nowhere.toml\n```\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"nowhere\.toml cannot be read"):
        as_it_runs(page, tmp_path)


def test_every_command_and_option_is_on_the_page_of_the_command_line() -> None:
    """If this fails, run `python tests/refresh_docs.py`."""
    assert COMMAND_LINE.read_text(encoding="utf-8") == command_line_page()


def test_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shell = "\n".join(block for page in PAGES for block in blocks(page, "sh"))
    for command in re.findall(r"^make (\w+)", shell, re.M):
        assert f"\n{command}:" in makefile
