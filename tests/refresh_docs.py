"""Pages that run from top to bottom, each in a folder of its own.

The blocks of a page are taken in order. `python` blocks share a namespace. A `toml` or `python`
block with a title is written to the file of that name. Of `sh` blocks the lines run that begin with
`thrifty`; what a line prints goes to a file if it ends with `> FILE`.
A `text` block after a `python` or `sh` block shows what that block printed; if its first line is
`...`, only as many of the last lines as it has. A block that begins
with ```text and a command shows a table that the command prints, the one with the title that is
the block's first line.

`python tests/refresh_docs.py` writes what is printed now, and the page of the command line; a test
runs the pages and compares.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from copy import copy
from io import StringIO
from itertools import takewhile
from pathlib import Path

from typer.testing import CliRunner

from thrifty.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
THRIFTY = Path(sys.executable).with_name("thrifty")
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r' title="([^"]+)"')
COMMAND_LINE = ROOT / "docs" / "command-line.md"
Run = Callable[..., "subprocess.CompletedProcess[str]"]
INTRODUCTION = """\
# The command line

This page has the output of `--help` for every command. Results go to standard output; progress and
errors go to standard error. The exit code is 0 on success, 1 if `thrifty audit` finds a difference,
2 after an error (one line says what is wrong, why, and what to do), and 130 after an interrupt. See
[experiments and their results](experiments.md) for the file formats.
"""


class PageRun:
    """One page being run in a folder: `show` takes a block and returns it as it ought to be."""

    def __init__(self, page: Path, folder: Path, run: Run) -> None:
        self.page, self.folder, self.run = page, folder, run
        self.names: dict[str, object] = {"__name__": page.stem}
        self.printed: str | None = None

    def show(self, block: re.Match[str]) -> str:
        language, more, body = block.groups()
        printed = self.printed
        self.printed = None
        if language in ("toml", "python") and (title := TITLE.fullmatch(more)):
            (self.folder / title[1]).write_text(body, encoding="utf-8")
        elif language == "python":
            self.printed = self._run_python(body)
        elif language == "sh":
            self.printed = self._run_commands(body)
        elif language == "text" and more.startswith(" thrifty "):
            return f"```text{more}\n{self._table(more, body.splitlines()[0])}```"
        elif language == "text" and not more and printed is not None:
            return f"```text\n{shown_part(body, printed)}```"
        return block[0]

    def _run_python(self, body: str) -> str:
        with chdir(self.folder), redirect_stdout(StringIO()) as printed:
            exec(compile(body, str(self.page), "exec"), self.names)
        return _tidied(printed.getvalue())

    def _run_commands(self, body: str) -> str:
        lines = body.replace("\\\n", " ").splitlines()
        commands = [shlex.split(line, comments=True) for line in lines if line[:8] == "thrifty "]
        return "".join(self._run_command(command[1:]) for command in commands)

    def _run_command(self, arguments: list[str]) -> str:
        if arguments[-2:-1] != [">"]:
            return _tidied(self._thrifty(*arguments))
        printed = self._thrifty(*arguments[:-2])
        (self.folder / arguments[-1]).write_text(printed, encoding="utf-8")
        return ""

    def _table(self, command: str, title: str) -> str:
        """Return the table with this title: the indented lines that follow it."""
        lines = [line.rstrip() for line in self._thrifty(*command.split()[1:]).splitlines()]
        below = lines[lines.index(title) + 1 :]
        rows = takewhile(lambda line: not line or line.startswith(" "), below)
        return "\n".join([title, *filter(None, rows)]) + "\n"

    def _thrifty(self, *arguments: str) -> str:
        """Return what the command prints in the page's folder."""
        done = self.run(*arguments, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(f"thrifty {shlex.join(arguments)} failed: {done.stderr}")
        return done.stdout


def shown_part(body: str, printed: str) -> str:
    """Return what a block shows of the output: all of it, or the end if it begins with `...`."""
    first, *rest = body.splitlines() or [""]
    if first != "...":
        return printed
    return "\n".join(["...", *printed.splitlines()[-len(rest) :]]) + "\n"


def thrifty(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command in a folder."""
    command = [str(THRIFTY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def as_it_runs(page: Path, folder: Path, run: Run = thrifty) -> str:
    """Run a page in a folder and return its text with what its blocks print now."""
    return BLOCK.sub(PageRun(page, folder, run).show, page.read_text(encoding="utf-8"))


def command_line_page() -> str:
    """Return the page of the command line: the help of every command."""
    general, _, listed = _help().partition("\nCommands:\n")
    names = re.findall(r"^  ([\w-]+)  ", listed, re.MULTILINE)
    helps = {name: _help(name) for name in names}
    rows = [f"| [{name}](#thrifty-{name}) | {_first_sentence(helps[name])} |" for name in names]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    sections = [("thrifty", general), *((f"thrifty {name}", helps[name]) for name in names)]
    shown = [f"\n## {title}\n\n```text\n{_tidied(text)}```\n" for title, text in sections]
    return f"{INTRODUCTION}\n{table}\n" + "".join(shown)


def _help(*command: str) -> str:
    """Return a command's help, without boxes."""
    plain = copy(app)
    plain.rich_markup_mode = None
    return CliRunner().invoke(plain, [*command, "--help"], prog_name="thrifty").stdout


def _first_sentence(help_text: str) -> str:
    """Return the paragraph after the usage, on one line."""
    return " ".join(help_text.strip().split("\n\n")[1].split())


def _tidied(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines).strip("\n") + "\n" if any(lines) else ""


def refresh(page: Path) -> None:
    """Write the page as it runs now; one that fails is named and left as it is."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(as_it_runs(page, Path(folder)), encoding="utf-8")
    except Exception as error:
        print(f"{page.relative_to(ROOT)} fails: {error!r}")


if __name__ == "__main__":
    COMMAND_LINE.write_text(command_line_page(), encoding="utf-8")
    for page in PAGES:
        refresh(page)
