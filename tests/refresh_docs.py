"""Output shown on a page: blocks that begin with ```text and a command, and then a table's title.

`python tests/refresh_docs.py` runs the commands and writes what they print now; a test runs them
and compares.
"""

import re
import subprocess
import sys
import tempfile
from functools import cache
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
THRIFTY = Path(sys.executable).with_name("thrifty")
BLOCK = re.compile(r"```text thrifty ([^\n]*)\n([^\n]*)\n.*?```", re.DOTALL)


@cache
def output(arguments: str) -> list[str]:
    command = [str(THRIFTY), *arguments.split()]
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return [line.rstrip() for line in run.stdout.splitlines()]


def table(arguments: str, title: str) -> str:
    """Return the table with this title: the indented lines that follow it."""
    lines = output(arguments)
    rows = takewhile(lambda line: not line or line.startswith(" "), lines[lines.index(title) + 1 :])
    return "\n".join([title, *filter(None, rows)])


def refreshed(text: str) -> str:
    return BLOCK.sub(lambda m: f"```text thrifty {m[1]}\n{table(m[1], m[2])}\n```", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
