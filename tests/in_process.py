"""The command line in this process: for tests that do not need a process of its own."""

import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from thrifty.cli import main


def thrifty(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run a command as `thrifty` does; this saves the second that its imports take."""
    command = ["thrifty", *map(str, arguments)]
    code = 0
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(StringIO()) as printed,
        redirect_stderr(StringIO()) as told,
    ):
        patch.setattr(sys, "argv", command)
        patch.setattr(sys, "excepthook", sys.excepthook)  # which typer replaces
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(command, code, printed.getvalue(), told.getvalue())
