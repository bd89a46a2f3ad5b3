"""The command line."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table
from typer.main import get_command

from experiments.made_up_paper import reproduction
from experiments.small_experiments import SPEC, files_below, thrifty, written
from figures.small_tables import table_of, table_of_regrets
from thrifty import __version__
from thrifty.cli import COMMANDS, COMMANDS_BY_TASK, app, main
from thrifty.commands.output import progress_bar
from thrifty.commands.regret_tables import show_regrets
from thrifty.commands.startup_notice import notice_if_slow
from thrifty.commands.tables import growth_table, tuning_table
from thrifty.commands.theory import PAPER_CHANGES, PAPER_SETTING
from thrifty.environments import nursery
from thrifty.experiments.measures import sign_flip_test
from thrifty.experiments.reproduction import MAX_HORIZON, THEORY
from thrifty.experiments.results import Results, read_results
from thrifty.experiments.spec import Entry, Experiment, catalogue
from thrifty.policies import POLICIES
from thrifty.theory import regret_bound
from waiting import wait_until

GROWING = (
    SPEC.replace("rounds = 300\n", "")
    .replace('seeds = "0:4"', 'seeds = "0:2"')
    .replace("[environment]", "rounds = [100, 400]\n\n[environment]")
)

Called = Callable[..., int]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Called:
    """Return a function that runs a command in this process, in a new folder: its exit code."""

    def call(*arguments: str) -> int:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["thrifty", *arguments])
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)
        with pytest.raises(SystemExit) as caught:
            main()
        return int(caught.value.code or 0)

    return call


def rows_of(table: Table) -> list[tuple[str, ...]]:
    return list(
        zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True)
    )


def test_version() -> None:
    assert thrifty("--version").stdout.strip() == __version__


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(
    command: str, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(command, "--help") == 0
    assert f"Example: thrifty {command}" in capsys.readouterr().out


def test_help_groups_commands_by_task(called: Called, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("--help") == 0
    shown = capsys.readouterr().out
    assert all(f" {task} " in shown for task in COMMANDS_BY_TASK)
    places = [shown.index(f"│ {command} ") for command in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_one_sentence_of_help(command: str) -> None:
    group: Any = get_command(app)
    for parameter in group.commands[command].params:
        text = getattr(parameter, "help", None)
        assert text, parameter.name
        assert text.endswith((".", "...")), text


def test_a_command_imports_what_it_needs_and_nothing_else() -> None:
    """A service that starts again does not wait for what other commands need."""
    code = "import sys, thrifty.cli; print({'numba', 'polars', 'sqlalchemy'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def without(packages: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as if packages were not installed."""
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({packages}))\n"
        f"sys.argv = {['thrifty', *arguments]}\n"
        "from thrifty.cli import main\n"
        "main()"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("polars", ["compare", "results/mine"], "experiments"),
        ("polars", ["run", "nursery/published", "--seeds", "0:2"], "experiments"),
        ("polars", ["init", "cases.csv"], "worth"),
        ("narwhals", ["worth", "cases.csv"], "worth"),
        ("polars", ["figures", "results"], "figures"),
        ("uvicorn", ["serve", "policy.toml"], "service"),
        ("sqlalchemy", ["audit", "thrifty.db"], "service"),
    ],
)
def test_a_missing_package_is_reported_in_one_line(
    package: str, command: list[str], extra: str
) -> None:
    shown = without([package], *command)
    assert shown.returncode == 2
    assert shown.stderr == (
        f"thrifty: `thrifty {command[0]}` needs the package {package!r}, which is not installed: "
        f"pip install 'thrifty[{extra}]'.\n"
    )


def test_help_without_optional_packages() -> None:
    shown = without(["polars", "narwhals", "matplotlib", "plotly", "sqlalchemy"], "--help")
    assert shown.returncode == 0
    assert all(command in shown.stdout for command in COMMANDS)
    assert "thrifty[experiments]" in without(["polars"], "run", "--help").stdout


def test_the_whole_paper_is_reproduced(tmp_path: Path, reproduced: Path) -> None:
    shutil.copytree(reproduced / "results", tmp_path / "results")  # its cells are not run again
    shown = thrifty("reproduce", "--seeds", "0:2", "--json", "--figures", "png", cwd=tmp_path)
    assert shown.returncode == 0
    results = json.loads(shown.stdout)
    published = {row["policy"]: row for row in results["nursery/published"]}
    assert published["UCB1"]["gain"] == 5809
    assert published["Oracle"]["gain"] == pytest.approx(8780.69062052404, abs=1e-6)
    assert published["Oracle"]["realised_regret"] == 0
    evaluated = ("published", "shuffled", "window", "published-tuned")
    seeds = {row["seeds"] for name in evaluated for row in results[f"nursery/{name}"]}
    assert seeds == {2}
    for name in THEORY:
        horizons = [t for t in catalogue()[name].horizons if t <= MAX_HORIZON]
        assert all(row["horizons"] == horizons for row in results[name])
    assert len(results["claims"]) == 10
    assert {claim["verdict"] for claim in results["claims"]} <= {
        "holds",
        "does not hold",
        "undecided",
    }
    assert {tuned["policy"] for tuned in results["chosen"]} == {
        entry.policy
        for name in ("nursery/tuning", "nursery/tuning-stationary")
        for entry in catalogue()[name].entries
    }

    out = tmp_path / "results"
    tables = {path.parent.relative_to(out).as_posix() for path in out.glob("*/*/table.parquet")}
    assert tables == {
        *(f"nursery/{name}" for name in (*evaluated, "tuning", "tuning-stationary")),
        *THEORY,
    }
    for name in tables:
        assert read_results(out / name).experiment.id == name
    for name in tables - {"nursery/published-tuned"}:
        figures = list((out / name / "figures").iterdir())
        assert figures
        assert all(path.suffix == ".png" and path.stat().st_size > 1000 for path in figures)
    for name, figure in (
        ("nursery/published", "cumulative-regret"),
        ("nursery/window", "windows"),
        ("nursery/tuning", "tuning-ncc-ucrl2-published"),
        ("theory/changes", "growth"),
    ):
        assert (out / name / "figures" / f"{figure}.png").is_file()
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "thrifty reproduce --figures png --seeds 0:2" in report
    assert all(f"<h3>{name}</h3>" in report for name in tables)
    assert not [path for path in files_below(out) if path.suffix == ".tmp"]


def test_list_names_every_experiment(called: Called, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("list") == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["nursery/published", "Nursery, the published arrays"] in lines
    assert called("list", "--json") == 0
    assert json.loads(capsys.readouterr().out) == dict(lines)
    assert [key for key, _ in lines] == list(catalogue())


def test_list_names_every_policy(called: Called, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("list", "policies", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == list(POLICIES)
    assert listed["ucb1"].startswith("UCB1: buy nothing")


def test_help_has_plain_names_of_arguments_and_flags(
    called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called("compare", "--help") == 0
    shown = capsys.readouterr().out
    assert "FOLDERS..." in shown
    assert "<bool>" not in shown
    assert "{" not in shown


def test_the_progress_bar_first_says_that_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = StringIO()
    console = partial(Console, file=shown, force_terminal=True, width=80)
    monkeypatch.setattr("thrifty.commands.output.Console", console)
    with progress_bar("runs", 2, at_first="compiling") as advance:
        assert "compiling" in shown.getvalue()
        assert "runs" not in shown.getvalue()
        advance(2)
    assert "runs" in shown.getvalue()


def test_without_a_terminal_a_line_is_printed_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("runs", 3) as advance:
        advance(1)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr("thrifty.commands.output.SECONDS_BETWEEN_LINES", 0.0)
        advance(1)
        assert capsys.readouterr().err == "runs: 2 of 3\n"


def test_a_notice_is_printed_only_if_startup_is_slow(capsys: pytest.CaptureFixture[str]) -> None:
    with notice_if_slow(60):
        pass
    assert capsys.readouterr().err == ""
    with notice_if_slow(0):
        wait_until(lambda: "compiling policies" in capsys.readouterr().err)


def test_an_experiment_of_ones_own_is_run_and_compared(tmp_path: Path) -> None:
    written(tmp_path, SPEC)
    shown = thrifty("run", "mine.toml", cwd=tmp_path)
    assert "Two policies in a small environment" in shown.stdout
    assert str(Path("results/mine/table.parquet")) in shown.stdout
    rows = json.loads(thrifty("run", "mine.toml", "--json", cwd=tmp_path).stdout)
    assert [row["policy"] for row in rows] == ["ucb1", "anything"]
    found = json.loads(thrifty("compare", "results/mine", "--json", cwd=tmp_path).stdout)
    assert [(pair["policy"], pair["other"], pair["seeds"]) for pair in found] == [
        ("anything", "ucb1", 4)
    ]
    means = {row["policy"]: row["gain"] for row in rows}
    assert found[0]["mean"] == pytest.approx(means["anything"] - means["ucb1"])
    table = thrifty("compare", "results/mine", "--against", "anything", cwd=tmp_path).stdout
    assert "Gain minus that of anything, by seed" in table


def test_targets_are_checked(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    target = '[[targets]]\npolicy = "anything"\nagainst = "ucb1"\nregret_at_most = 0.01\n'
    assert called("run", written(tmp_path, f"{SPEC}\n{target}"), "--workers", "1") == 0
    shown = capsys.readouterr().out
    assert "Targets of the experiment" in shown
    assert "does not hold" in " ".join(shown.split())


def test_several_horizons_are_printed_as_growth(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, GROWING)
    assert called("run", spec, "--workers", "1") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("100", "400", "slope", "ucb1", "anything"))
    assert called("run", spec, "--workers", "1", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["policy"], row["horizons"]) for row in rows] == [
        ("ucb1", [100, 400]),
        ("anything", [100, 400]),
    ]
    assert f"{rows[1]['slope']:.2f}" in shown


SHORT = ("--seeds", "0:2", "--workers", "1")


def test_a_folder_is_one_table(called: Called, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("run", "synthetic", *SHORT, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    ranking = found.pop("ranking")
    assert list(found) == ["synthetic/changes", "synthetic/gradual"]
    assert called("run", "synthetic", *SHORT) == 0
    shown = capsys.readouterr().out
    assert "results/synthetic/*/table.parquet" in shown
    assert "results/synthetic/runs.parquet" in shown
    tables, _, ranked = shown.partition("Ranking over 2 worlds")
    assert max(map(len, tables.splitlines())) <= 100
    assert [row["label"] for row in ranking if f" {row['label']} " in ranked] == [
        row["label"] for row in ranking
    ]
    assert f" {ranking[0]['interquartile_mean']['value']:.3f} " in ranked
    for experiment in found.values():
        rows = {row["policy"]: row for row in experiment["policies"]}
        for row in rows.values():
            assert row["share"] == pytest.approx(row["gain"] / rows["Oracle"]["gain"])
            assert row["low"] <= row["regret"] <= row["high"] <= row["worst"]
        for number in ("regret", "worst"):
            assert f" {rows['UCB1'][number]:.0f} " in shown
        assert f" {100 * rows['SW-UCB']['share']:.0f} " in shown


OWN = """
from thrifty import Policy, Purchase


class Mine(Policy):
    def _choose_features(self, known):
        return Purchase.nothing(self.problem)

    def _choose_action(self, observation, available):
        return int(available.argmax())

    def _update(self, observation, action, reward, outcome):
        pass
"""


def test_a_policy_of_ones_own_stands_in_the_table(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, SPEC)
    written(tmp_path, OWN, "own.py")
    assert called("run", "mine.toml", "--policy", "own.py:Mine", "--workers", "1", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in rows] == ["ucb1", "anything", "Mine"]
    chosen = ("--policy", "ucb1", "--policy", "own.py")
    assert called("run", "mine.toml", *chosen, "--workers", "1", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in rows] == ["ucb1", "Mine"]


def test_seeds_are_played_until_it_is_clear(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    long = SPEC.replace("0:4", "0:40").replace("rounds = 300", "rounds = 300\ntables = 3")
    assert called("run", written(tmp_path, long), "--until-clear", "--workers", "1") == 0
    shown = capsys.readouterr().out
    assert "with a family-wise error of 5 %" in shown
    rows = {row[0]: row[1:] for line in shown.splitlines() if len(row := line.split()) == 5}
    assert int(rows["ucb1"][0]) < 40
    assert rows["ucb1"][1:] == ["1", "0", "0"]
    assert rows["anything"][1:] == ["0", "1", "0"]
    assert called("run", "markets", "--until-clear") == 2
    assert "--until-clear is for experiments" in capsys.readouterr().err


def test_the_complete_benchmark_is_the_worlds_and_then_the_markets(
    tmp_path: Path,
    called: Called,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = import_module("thrifty.commands.run")
    assert command.PARTS == ("worlds", "markets")
    for option in (("--seeds", "0:2"), ("--until-clear",), ("--json",)):
        assert called("run", "benchmark", *option) == 2
        assert f"{option[0]} is not for benchmark" in capsys.readouterr().err
    parts = [written(tmp_path, SPEC, name) for name in ("one.toml", "other.toml")]
    monkeypatch.setattr(command, "PARTS", parts)
    given = ("--policy", "ucb1", "--workers", "1", "--out", "both")
    assert called("run", "benchmark", *given) == 0
    shown = capsys.readouterr().out
    assert shown.count("ucb1") == 2
    assert "anything" not in shown
    assert all(f"both/{name}/table.parquet" in shown for name in ("one", "other"))


def test_a_folder_is_tuned_and_drawn(called: Called, capsys: pytest.CaptureFixture[str]) -> None:
    one = ("--policy", "Epsilon-greedy", "--workers", "1")
    assert called("tune", "stationary", *one, "--seeds", "1000") == 0
    shown = capsys.readouterr().out
    chosen = Path("results/tuning/stationary/chosen.toml")
    assert str(chosen) in shown
    assert chosen.read_text(encoding="utf-8") in shown
    assert called("tune", "stationary", *one, "--seeds", "1000", "--json") == 0
    [choice] = json.loads(capsys.readouterr().out)
    assert (choice["candidates"], choice["worlds"]) == (4, 12)
    assert f"epsilon = {choice['chosen']['epsilon']}" in shown
    assert called("run", "stationary", *one, "--policy", "ucb1", "--seeds", "0:2") == 0
    capsys.readouterr()
    assert called("figures", "results/stationary", "--format", "png") == 0
    drawn = capsys.readouterr().out.split()
    assert [Path(path).name for path in drawn] == ["ranking.png", "profiles.png", "difficulty.png"]
    assert all(Path(path).is_file() for path in drawn)


def test_tables_of_many_policies_are_printed_in_parts(capsys: pytest.CaptureFixture[str]) -> None:
    labels = [f"p{k}" for k in range(16)]
    entries = tuple(Entry(label, "ucb1") for label in labels)
    many = Experiment("w/many", "Many", "random", entries, (0, 1))
    show_regrets([Results(many, table_of(*labels))])
    shown = capsys.readouterr().out
    assert "Regret of the worst seed, continued" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["oracle", *labels[:13]] in lines
    assert lines.count(labels[13:]) == 1
    assert lines.count(labels[14:]) == 3


def test_tables_of_regret(capsys: pytest.CaptureFixture[str]) -> None:
    both = Experiment(
        "w/both", "Both", "random", (Entry("A-b", "ucb1"), Entry("C", "ucb1")), (0, 1)
    )
    one = replace(both, id="w/one", entries=both.entries[:1], regret="realised")
    show_regrets([Results(both, table_of("A-b", "C")), Results(one, table_of("A-b"))])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    # Gains are 14 and 13, regrets 3 and 5, at worst 4 and 6: the oracle would have gained 17 or 18.
    assert lines.count(["both", "17", "3", "5"]) == 1
    assert lines.count(["one", "17", "3"]) == 1
    assert lines.count(["mean", "17", "3"]) == 1
    assert lines.count(["both", "4", "6"]) == 1
    assert lines.count(["both", "82", "72"]) == 1
    # Looking is worth 5 in each of two blocks.
    assert lines.count(["both", "70", "50"]) == 1
    # Regrets of A-b are 2 and 4, those of C 4 and 6; where A-b plays alone nothing is compared.
    p = f"{sign_flip_test(np.array([-2.0, -2.0])):.4f}"  # about 1 in 2
    assert lines.count(["both", "C", "-2", "-2", "..", "-2", p, p]) == 1
    share = "Lowest share of A-b: 82.4 % of the oracle's gain, in both."
    assert lines.count(share.split()) == 1
    assert lines[-1][-3:] == ["is", "realised:", "one."]


def test_means_are_of_experiments_of_one_length(capsys: pytest.CaptureFixture[str]) -> None:
    regrets = {"w/a": {20: [1.0]}, "w/b": {20: [3.0]}, "w/long": {900: [500.0]}}
    results = [
        Results(
            Experiment(id_, id_, "random", (Entry("X", "ucb1"),), (0,)),
            table_of_regrets({"X": by_horizon}),
        )
        for id_, by_horizon in regrets.items()
    ]
    show_regrets(results)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines.count(["long", "500", "500"]) == 1
    assert lines.count(["mean", "2", "2"]) == 1
    assert ["Not", "in", "the", "means,"] in [line[:4] for line in lines]
    assert lines[-1][-1] == "long."


def test_one_policy_alone_is_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    one = Experiment("w/one", "One", "random", (Entry("Oracle", "oracle"),), (0, 1))
    show_regrets([Results(one, table_of("Oracle"))])
    assert "paired by seed" not in capsys.readouterr().out


def test_seeds_for_choosing_have_a_folder_of_their_own(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, SPEC.replace("[environment]", 'choosing_seeds = "7:9"\n[environment]'))
    assert called("run", spec, "--choosing", "--workers", "1") == 0
    assert "results/choosing/mine/table.parquet" in capsys.readouterr().out
    results = read_results(tmp_path / "results" / "choosing" / "mine")
    assert results.table["seed"].unique().sort().to_list() == [7, 8]
    assert not (tmp_path / "results" / "mine").exists()


def test_growth_is_shown_beside_the_bound() -> None:
    text, uniform, bound = rows_of(growth_table(reproduction().theory[0]))
    assert text == ("the text", "10", "20", "0.50", "0.50 .. 0.50")
    assert uniform == ("Uniform", "50", "200", "1.00", "1.00 .. 1.00")
    assert bound[0] == "bound of the theorem"
    assert float(bound[1].replace(",", "")) < float(bound[2].replace(",", ""))


def test_tuned_parameters_are_next_to_the_papers() -> None:
    done = reproduction()
    first, second = rows_of(tuning_table(done.tuned_parameters, done.tuned))
    assert first == (
        "ncc-ucrl2-published",
        "window=100, delta=0.2",
        "window=250, delta=0.2",
        *("8.0", "7.0", "4", "+2.0", "+2 .. +2"),
    )
    assert second[:4] == ("ucb1", "alpha=0.1", "alpha=0.3", "3.0")


def test_the_theory_up_to_a_horizon(called: Called, capsys: pytest.CaptureFixture[str]) -> None:
    short = ("theory", "--longest", "3200", "--seeds", "0:1", "--workers", "1")
    assert called(*short, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["nursery", *THEORY]
    bound = regret_bound(PAPER_SETTING, changes=PAPER_CHANGES)
    assert found["nursery"]["total"] == pytest.approx(bound.total)
    for name in THEORY:
        growth = {row["policy"]: row for row in found[name]["growth"]}
        assert all(row["horizons"] == [1000, 3200] for row in growth.values())
        bounds, text = found[name]["bound"].values(), growth["NCC-UCRL2, text"]
        assert all(r < most for r, most in zip(text["regret"], bounds, strict=True))
    assert called(*short) == 0
    shown = capsys.readouterr().out
    assert "Theorem 2 for the paper's experiment" in shown
    assert f"{bound.total:,.0f}" in shown
    assert shown.count("bound of the theorem") == 2


def test_a_single_horizon_has_no_slope(called: Called, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("theory", "--longest", "1000", "--seeds", "0:1", "--workers", "1") == 0
    shown = capsys.readouterr().out
    assert "bound of the theorem" in shown
    assert "slope " not in shown
    assert "nan" not in shown


def test_the_papers_setting_is_that_of_its_experiment() -> None:
    replay = nursery.published()
    changes = {*replay.reward_changes, *replay.cost_changes}
    assert len(changes) == PAPER_CHANGES
    assert (PAPER_SETTING.horizon, PAPER_SETTING.problem) == (replay.horizon, replay.problem)
    published = {entry.label: entry for entry in catalogue()["nursery/published"].entries}
    params = published["NCC-UCRL2, text"].params
    assert (PAPER_SETTING.window, PAPER_SETTING.delta) == (params["window"], params["delta"])


def require_refused(shown: str, complaint: str, folder: Path) -> None:
    """One line on stderr, and nothing is written."""
    (line,) = [line for line in shown.splitlines() if line.strip()]
    assert line.startswith("thrifty: ")
    assert complaint in line
    assert not (folder / "results").exists() or files_below(folder / "results") == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("reproduce", "--seeds", "5:5"), "write 0:40"),
        (("reproduce", "--seeds", "many"), "write 0:40"),
        (("theory", "--seeds", "-1:3"), "write 0:40"),
        (("run", "nursery/nowhere"), "nursery/published"),
        (("run", "nowhere.toml"), "nowhere.toml cannot be read"),
        (("run", "nursery"), "Run one experiment by its id: nursery/published"),
        (("run", "theory"), "Run one experiment by its id: theory/changes"),
        (("run", "worlds", "--seeds", "0:1001"), "in both seeds and choosing_seeds"),
        (("run", "worlds", "--choosing", "--seeds", "0:2"), "from 1000 to 1039"),
        (("run", "nursery/published", "--choosing"), "reserves no seeds"),
        (("run", "bad.toml"), "bad.toml is not valid TOML"),
        (("run", "nursery/published", "--out", "bad.toml", "--workers", "1"), "cannot be written"),
        (("compare", "."), "contains no results"),
        (("figures", "."), "contains no results"),
        (("figures", "nowhere", "--format", "gif"), "pdf, png, svg"),
        (("tune", "nursery/tuning", "--on", "nursery/tuning"), "data they were chosen on"),
        (("tune", "nursery/published", "--on", "nursery/shuffled"), "no grid"),
        (("tune", "nursery/nowhere"), "nursery/published"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: tuple[str, ...],
    complaint: str,
    tmp_path: Path,
    called: Called,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "bad.toml").write_text("title = ")
    assert called(*arguments) == 2
    require_refused(capsys.readouterr().err, complaint, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(("reproduce", "--workers", "0"), "--workers"), (("rewind",), "No such command")],
)
def test_what_no_command_knows_is_refused(
    arguments: tuple[str, ...],
    complaint: str,
    called: Called,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert called(*arguments) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('policy = "ucb1"', 'policy = "ucb2"', "'ucb2'"),
        ("alpha = 0.6", "alfa = 0.6", "'alfa'"),
        ("alpha = 0.6", 'alpha = "much"', "alpha is 'much'"),
        ("alpha = 0.6", "alpha = -1", "alpha is -1"),
        ("alpha = 0.6", 'window = "recommended"', "'window'"),
        ('policy = "ucb1"\nalpha = 0.6', 'policy = "ncc-ucrl2"\nwindow = "recommended"', "rounds"),
        ('name = "random"', 'name = "moon"', "'moon'"),
        ("n_actions = 2", "actions = 2", "'actions'"),
        ("n_actions = 2", "n_actions = -2", "at least one action"),
        ('seeds = "0:4"', "seeds = 4", "seeds is 4"),
        ("[environment]", 'rounds = "all"\n[environment]', "rounds is 'all'"),
        ("[environment]", "rounds = 301\n[environment]", "rounds is 301"),
    ],
)
def test_a_bad_specification_is_refused_in_one_line(
    old: str,
    new: str,
    complaint: str,
    tmp_path: Path,
    called: Called,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = written(tmp_path, SPEC.replace(old, new, 1))
    assert called("run", spec, "--workers", "1") == 2
    require_refused(capsys.readouterr().err, complaint, tmp_path)


def test_a_bad_specification_is_refused_from_worker_processes_too(tmp_path: Path) -> None:
    written(tmp_path, SPEC.replace("n_actions = 2", "n_actions = -2"))
    shown = thrifty("run", "mine.toml", "--workers", "2", cwd=tmp_path)
    assert (shown.returncode, shown.stdout.strip()) == (2, "")
    require_refused(shown.stderr, "at least one action", tmp_path)


def test_a_bad_value_of_a_later_policy_is_refused_before_anything_is_played(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    later = 'policy = "ucb1"\nalpha = -1\nlabel = "later"'
    spec = written(tmp_path, SPEC.replace('label = "anything"', f"{later}\n[[policies]]"))
    assert called("run", spec, "--workers", "1") == 2
    require_refused(capsys.readouterr().err, "alpha is -1", tmp_path)


@pytest.mark.parametrize("levels", ['"many"', "3", "[2.5]"])
def test_an_environment_with_a_value_of_the_wrong_type_is_refused(
    levels: str, tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, SPEC.replace("levels = [2, 2]", f"levels = {levels}"))
    assert called("run", spec, "--workers", "1") == 2
    require_refused(capsys.readouterr().err, "levels", tmp_path)


def test_labels_are_printed_as_they_are(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, SPEC.replace('"anything"', '"a[/x]"'))
    assert called("run", spec, "--workers", "1") == 0
    assert "a[/x]" in capsys.readouterr().out


def test_horizons_of_the_oracle_alone(tmp_path: Path, called: Called) -> None:
    only = GROWING.split("[[policies]]")[0] + '[[policies]]\npolicy = "oracle"\n'
    assert called("run", written(tmp_path, only), "--workers", "1") == 0


def test_the_oracle_has_no_rival_to_be_compared_with(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    only = SPEC.split("[[policies]]")[0] + '[[policies]]\nlabel = "Oracle"\npolicy = "oracle"\n'
    assert called("run", written(tmp_path, only), "--workers", "1") == 0
    capsys.readouterr()
    assert called("compare", "results/mine") in (0, 2)


def test_policies_are_compared_with_the_best_but_the_oracle(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = SPEC + '\n[[policies]]\npolicy = "oracle"\n'
    assert called("run", written(tmp_path, spec), "--workers", "1") == 0
    capsys.readouterr()
    assert called("compare", "results/mine", "--json") == 0
    assert {pair["other"] for pair in json.loads(capsys.readouterr().out)} == {"ucb1"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("levels = [2, 2]", "levels = [2, 3]", "different environments"),
        ("alpha = 0.6", "alpha = 0.1", "other parameters"),
    ],
)
def test_only_what_is_alike_is_paired(
    old: str,
    new: str,
    said: str,
    tmp_path: Path,
    called: Called,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert old in SPEC
    for name, text in (("one", SPEC), ("other", SPEC.replace(old, new))):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        assert called("run", str(tmp_path / f"{name}.toml"), "--workers", "1") == 0
    assert called("compare", "results/one", "results/one") == 0
    capsys.readouterr()
    assert called("compare", "results/one", "results/other") == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["reproduce", "theory"])
def test_bad_formats_are_refused_before_anything_is_played(
    command: str, tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    out = str(tmp_path / "file" / "below")  # nothing can be played there
    assert called(command, "--figures", "gif", "--out", out, "--workers", "1") == 2
    require_refused(capsys.readouterr().err, "pdf, png, svg", tmp_path)


def test_parameters_are_tuned_and_evaluated_on_other_data(
    tmp_path: Path, called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    head, ucb1, _ = SPEC.split("[[policies]]")
    grid = f"{head}[[policies]]{ucb1}".replace("alpha = 0.6", "alpha = [0.1, 1.0]")
    other = SPEC.replace(head, 'title = "Other"\nseeds = "0:3"\n[environment]\nname = "NAME"\n')
    written(tmp_path, grid, "grid.toml")
    written(tmp_path, other.replace("NAME", "nursery/stationary"), "other.toml")
    assert called("tune", "grid.toml", "--on", "other.toml", "--workers", "1", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert [(tuned["policy"], tuned["candidates"]) for tuned in result["chosen"]] == [("ucb1", 2)]
    assert [row["policy"] for row in result["evaluated"]] == ["ucb1", "tuned ucb1"]
    assert {row["seeds"] for row in result["evaluated"]} == {3}
    means = {row["policy"]: row["gain"] for row in result["evaluated"]}
    worth = result["worth"]["ucb1"]
    assert worth["mean"] == pytest.approx(means["tuned ucb1"] - means["ucb1"])


@pytest.mark.parametrize("command", [["list"], ["warmup", "uniform"]])
def test_commands_that_need_no_optional_package(command: list[str]) -> None:
    assert without(["polars", "matplotlib", "plotly"], *command).returncode == 0
