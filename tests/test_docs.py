"""Every Python block of every page runs, and the README's table is what the command prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
THRIFTY = Path(sys.executable).with_name("thrifty")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"```{language}[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
    )


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


def shown_output() -> list[tuple[str, str]]:
    pattern = r"```text (thrifty [^\n]*)\n(.*?)```"
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    return re.findall(pattern, pages, re.DOTALL)


@pytest.mark.parametrize("command", sorted({command for command, _ in shown_output()}))
def test_output_on_a_page_is_what_the_command_prints(command: str) -> None:
    arguments = command.split()[1:]
    run = subprocess.run([THRIFTY, *arguments], capture_output=True, text=True, check=True)
    printed = {line.strip() for line in run.stdout.splitlines()}
    for shown, block in shown_output():
        if shown == command:
            assert {line.strip() for line in block.splitlines()} <= printed
