"""The command line, as a command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from thrifty import __version__

THRIFTY = Path(sys.executable).with_name("thrifty")


def thrifty(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([THRIFTY, *arguments], capture_output=True, text=True, check=False)


def test_version() -> None:
    assert thrifty("--version").stdout.strip() == __version__


@pytest.mark.parametrize("command", ["reproduce"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    shown = thrifty(command, "--help")
    assert shown.returncode == 0
    assert f"Example: thrifty {command}" in shown.stdout


def test_reproduce_for_machines() -> None:
    shown = thrifty("reproduce", "--seeds", "2", "--json")
    results = json.loads(shown.stdout)
    published = {row["label"]: row for row in results["nursery/published"]}
    assert published["UCB1"]["gain"] == 5809
    assert published["UCB1"]["published"] == [5809.0]
    assert published["Oracle"]["gain"] == pytest.approx(8780.69062052404, abs=1e-6)
    assert {row["seeds"] for rows in results.values() for row in rows} == {2}
    assert results["nursery/shuffled"][0]["published"] == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("reproduce", "--seeds", "0"), "--seeds"),
        (("reproduce", "--workers", "0"), "--workers"),
        (("reproduce", "--seeds", "many"), "--seeds"),
        (("replay",), "No such command"),
    ],
)
def test_bad_arguments_are_refused_in_words(arguments: tuple[str, ...], complaint: str) -> None:
    shown = thrifty(*arguments)
    assert shown.returncode == 2
    assert complaint in shown.stderr
    assert "Traceback" not in shown.stderr
