"""The command line, as a command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from thrifty import __version__

THRIFTY = Path(sys.executable).with_name("thrifty")


def thrifty(*arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [THRIFTY, *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


def test_version() -> None:
    assert thrifty("--version").stdout.strip() == __version__


@pytest.mark.parametrize("command", ["list", "run", "reproduce", "compare", "tune", "figures"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    shown = thrifty(command, "--help")
    assert shown.returncode == 0
    assert f"Example: thrifty {command}" in shown.stdout


def test_reproduce_for_machines(tmp_path: Path) -> None:
    shown = thrifty("reproduce", "--seeds", "0:2", "--json", cwd=tmp_path)
    results = json.loads(shown.stdout)
    published = {row["policy"]: row for row in results["nursery/published"]}
    assert published["UCB1"]["gain"] == 5809
    assert published["Oracle"]["gain"] == pytest.approx(8780.69062052404, abs=1e-6)
    assert published["Oracle"]["realised_regret"] == 0
    assert {row["seeds"] for rows in results.values() for row in rows} == {2}


def test_list_names_every_experiment() -> None:
    shown = thrifty("list")
    assert "nursery/published   Nursery, the published arrays" in shown.stdout
    assert "nursery/window" in json.loads(thrifty("list", "--json").stdout)


SPEC = """
title = "Two policies in a small world"
seeds = "0:4"

[world]
name = "random"
levels = [2, 2]
n_actions = 2
rounds = 300

[[policies]]
policy = "ucb1"
alpha = 0.6

[[policies]]
label = "anything"
policy = "uniform"
"""


def test_an_experiment_of_ones_own_is_run_and_compared(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SPEC)
    shown = thrifty("run", "mine.toml", cwd=tmp_path)
    assert "Two policies in a small world" in shown.stdout
    assert str(Path("results/mine/table.parquet")) in shown.stdout
    rows = json.loads(thrifty("run", "mine.toml", "--json", cwd=tmp_path).stdout)
    assert [row["policy"] for row in rows] == ["ucb1", "anything"]
    found = json.loads(thrifty("compare", "results/mine", "--json", cwd=tmp_path).stdout)
    assert [(it["policy"], it["other"], it["seeds"]) for it in found] == [("anything", "ucb1", 4)]
    means = {row["policy"]: row["gain"] for row in rows}
    assert found[0]["mean"] == pytest.approx(means["anything"] - means["ucb1"])
    table = thrifty("compare", "results/mine", "--against", "anything", cwd=tmp_path).stdout
    assert "Gain more than anything, by seed" in table


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("reproduce", "--seeds", "5:5"), "write 0:40"),
        (("reproduce", "--seeds", "many"), "write 0:40"),
        (("reproduce", "--workers", "0"), "--workers"),
        (("run", "nursery/nowhere"), "nursery/published"),
        (("run", "nowhere.toml"), "nowhere.toml cannot be read"),
        (("run", "bad.toml"), "bad.toml is not TOML"),
        (("run", "unknown.toml"), "ucb2"),
        (("run", "nursery/published", "--out", "bad.toml"), "cannot be written"),
        (("compare", "."), "holds no table"),
        (("tune", "nursery/tuning", "--on", "nursery/tuning"), "not chosen on"),
        (("replay",), "No such command"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.toml").write_text("title = ")
    (tmp_path / "unknown.toml").write_text(SPEC.replace('"ucb1"', '"ucb2"'))
    shown = thrifty(*arguments, cwd=tmp_path)
    assert shown.returncode == 2
    assert complaint in shown.stderr
    assert "Traceback" not in shown.stderr
    assert not (tmp_path / "results").exists()


def test_parameters_are_tuned_and_judged_on_other_data(tmp_path: Path) -> None:
    grid = SPEC.replace("alpha = 0.6", "alpha = [0.1, 1.0]").replace('policy = "uniform"', "")
    grid = grid.replace('[[policies]]\nlabel = "anything"\n', "")
    (tmp_path / "grid.toml").write_text(grid)
    shown = thrifty("tune", "grid.toml", "--on", "nursery/stationary", "--json", cwd=tmp_path)
    result = json.loads(shown.stdout)
    assert [(it["policy"], it["candidates"]) for it in result["chosen"]] == [("ucb1", 2)]
    assert [row["policy"] for row in result["evaluated"]] == ["UCB1", "tuned ucb1"]
