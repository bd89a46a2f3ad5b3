"""Run the quickstart of docs/serve.md."""

import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from small_service import THRIFTY
from waiting import LIMIT

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"```{language}[^\n]*\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_the_quickstart_with_curl(tmp_path: Path, port: int) -> None:
    (tmp_path / "policy.toml").write_text(blocks("toml")[0])
    script = "set -euo pipefail -m\n" + "\n".join(blocks("bash")).replace("8765", str(port))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{THRIFTY.parent}:{os.environ['PATH']}", "no_proxy": "*"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"buy":["income","history"]' in done.stdout  # Scout looks at everything at first
    assert re.search(r'"action":"(decline|approve)"', done.stdout)
    assert '"use":"learnt"' in done.stdout
    assert '"end":"rewarded"' in done.stdout
    assert "every decision follows from the log, bit for bit" in done.stdout
