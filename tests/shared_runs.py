"""Expensive runs whose results several tests look at: made once, for all pytest workers."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from waiting import wait_until

THRIFTY = Path(sys.executable).with_name("thrifty")


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a folder of this test session that all its workers see."""
    root = factory.getbasetemp()
    return root.parent if "PYTEST_XDIST_WORKER" in os.environ else root


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Let the first caller fill a folder; later ones, in any worker, wait until it is filled."""
    done, failed = (
        folder.with_name(f"{folder.name}.done"),
        folder.with_name(f"{folder.name}.failed"),
    )
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        wait_until(
            lambda: done.exists() or failed.exists(), f"what another worker puts in {folder}"
        )
        assert not failed.exists(), f"another worker failed: {failed.read_text()}"
        return folder
    try:
        make(folder)
    except BaseException as error:
        failed.write_text(repr(error))
        raise
    done.touch()
    return folder


class CommandCache:
    """Runs a command that reads nothing but the files in its arguments; the same one only once."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def thrifty(self, *arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
        """Return what the command prints; what it writes is copied into `cwd`."""
        command = [str(THRIFTY), *arguments]
        inputs = [name for name in arguments if (cwd / name).is_file()]
        key = hashlib.sha256("\0".join(arguments).encode())
        for name in inputs:
            key.update(b"\0" + (cwd / name).read_bytes())

        def run(folder: Path) -> None:
            work = folder / "work"
            work.mkdir()
            for name in inputs:
                shutil.copy(cwd / name, work / name)
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
            for name in inputs:
                (work / name).unlink()
            (folder / "stdout").write_text(done.stdout, encoding="utf-8")
            (folder / "stderr").write_text(done.stderr, encoding="utf-8")
            (folder / "code").write_text(str(done.returncode))

        folder = made_once(self._root / key.hexdigest()[:24], run)
        shutil.copytree(folder / "work", cwd, dirs_exist_ok=True)
        printed, told = ((folder / name).read_text("utf-8") for name in ("stdout", "stderr"))
        code = int((folder / "code").read_text())
        return subprocess.CompletedProcess(command, code, printed, told)
