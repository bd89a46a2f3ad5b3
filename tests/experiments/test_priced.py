"""The benchmark of priced tables: numbers by hand, the command, resuming, workers, peers."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from thrifty.cli import app
from thrifty.commands.priced import show_summaries
from thrifty.errors import InvalidParameter, InvalidTable, UnknownName
from thrifty.experiments.executors import SerialExecutor, make_executor
from thrifty.experiments.priced import SCHEMA, Trial, TrialCache, all_trials, divide, run_priced
from thrifty.experiments.priced_methods import MethodSource, method_sources
from thrifty.experiments.priced_summary import read_table, summarise, write_table
from thrifty.experiments.priced_tables import read_priced_table, require_folder
from thrifty.figures.priced import cost_by_error_cost

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "priced_peers.py"
CONSTANT = """
import numpy as np
from thrifty.experiments.priced_methods import Method
from thrifty.plans.tree import ActionRule, Leaf, PlanTree


class Constant(Method):
    labels = ("constant",)

    def fit(self, cases, seed):
        values = cases.rewards[:, cases.outcomes].mean(axis=1)
        rule = ActionRule(int(values.argmax()), values)
        return {"constant": PlanTree(cases.problem, cases.free, Leaf((), rule))}


class Shared(Constant):
    labels = ("shared",)
    shares_error_costs = True

    def fit(self, cases, seed):
        return {"shared": super().fit(cases, seed)["constant"]}


METHODS = (Constant, Shared)
"""
COSTS = (10.0, 100.0)


def write_priced_table(folder: Path, name: str, rows: int = 60) -> None:
    """Write a table whose column `a` tells the outcome but for every tenth row."""
    rng = np.random.default_rng(7)
    a, b = rng.integers(0, 2, rows), rng.normal(size=rows).round(2)
    flips = np.arange(rows) % 10 == 0
    ill = np.where((a == 1) ^ flips, "yes", "no")
    frame = pl.DataFrame({"a": a, "b": b, "ill": ill})
    frame.write_csv(folder / f"{name}.csv")
    about = {
        "target": "ill",
        "prices": {"a": 3.0, "b": 5.0},
        "groups": {"blood": {"setup": 2.0, "members": ["a", "b"]}},
        "rewards": {"say_yes": {"yes": 0, "no": -7}, "say_no": {"yes": -7, "no": 0}},
    }
    (folder / f"{name}.json").write_text(json.dumps(about), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    write_priced_table(data, "heart")
    return data


@pytest.fixture
def constant(tmp_path: Path) -> list[MethodSource]:
    file = tmp_path / "constant_methods.py"
    file.write_text(CONSTANT, encoding="utf-8")
    # Two tests must not share a module of this name, so the class's own file is found by its path.
    renamed = file.rename(tmp_path / f"methods_{abs(hash(str(tmp_path)))}.py")
    return method_sources([str(renamed)])


def test_standard_cost_by_hand(folder: Path) -> None:
    table = read_priced_table(folder, "heart")
    counts = np.bincount(table.cases.outcomes)
    assert table.total_price == pytest.approx(6.0)  # 1 + 3, and the setup fee 2 once
    assert table.standard_cost(100) == pytest.approx(6 + 100 * counts.min() / 60)
    assert table.cases.cost([0]).tolist() == [3.0] * 60


def test_error_cost_replaces_the_tables_own(folder: Path) -> None:
    cases = read_priced_table(folder, "heart").with_error_cost(50)
    assert sorted(cases.rewards.ravel().tolist()) == [-50, -50, 0, 0]


def test_splits_have_two_thirds_and_differ(folder: Path) -> None:
    table = read_priced_table(folder, "heart")
    learning, test, seed = divide(table, 0)
    assert (len(learning), len(test)) == (40, 20)
    assert sorted([*learning, *test]) == list(range(60))
    other, _, other_seed = divide(table, 1)
    assert other.tolist() != learning.tolist()
    assert other_seed != seed


def test_cost_of_a_constant_answer_by_hand(folder: Path, constant: list[MethodSource]) -> None:
    table = read_priced_table(folder, "heart")
    learning, test, _ = divide(table, 0)
    [[row]] = Trial(folder, "heart", 0, constant[0], (100.0,)).compute()
    major = np.bincount(table.cases.outcomes[learning]).argmax()
    errors = float((table.cases.outcomes[test] != major).mean())
    assert row["error_share"] == pytest.approx(errors)
    assert row["spend"] == 0
    assert row["percent"] == pytest.approx(100 * errors * 100 / table.standard_cost(100))


def run_all(folder: Path, out: Path, methods: list[MethodSource], workers: int) -> pl.DataFrame:
    trials = all_trials(folder, ["heart"], methods, (0, 1), COSTS)
    with make_executor(workers) as executor:
        return run_priced(trials, TrialCache(out), executor=executor)


def test_any_number_of_workers_gives_the_same_numbers(
    folder: Path, tmp_path: Path, constant: list[MethodSource]
) -> None:
    one, two = (run_all(folder, tmp_path / f"{n}", constant, n) for n in (1, 2))
    assert one.drop("seconds").equals(two.drop("seconds"))
    assert one.height == 2 * 2 * 2


class Interrupted(SerialExecutor):
    """Stops after three trials, as Ctrl-C does."""

    def run(self, tasks):  # type: ignore[no-untyped-def]
        """Run three tasks."""
        for index, result in super().run(tasks):
            if index == 3:
                raise KeyboardInterrupt
            yield index, result


def test_an_interrupted_run_resumes(
    folder: Path,
    tmp_path: Path,
    constant: list[MethodSource],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = all_trials(folder, ["heart"], constant, (0, 1), COSTS)
    cache = TrialCache(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        run_priced(trials, cache, executor=Interrupted())
    assert [trial in cache for trial in trials] == [True] * 3 + [False] * 3
    computed: list[Trial] = []
    compute = Trial.compute

    def count(trial: Trial) -> object:
        computed.append(trial)
        return compute(trial)

    monkeypatch.setattr(Trial, "compute", count)
    resumed = run_priced(trials, cache, executor=SerialExecutor())
    assert computed == trials[3:]
    whole = run_all(folder, tmp_path / "whole", constant, 1)
    assert resumed.drop("seconds").equals(whole.drop("seconds"))


def test_fresh_computes_everything_again(
    folder: Path, tmp_path: Path, constant: list[MethodSource]
) -> None:
    run_all(folder, tmp_path, constant, 1)
    [trial, *_] = all_trials(folder, ["heart"], constant, (0,), COSTS)
    assert trial in TrialCache(tmp_path)
    assert trial not in TrialCache(tmp_path, fresh=True)


def test_a_damaged_result_is_named(
    folder: Path, tmp_path: Path, constant: list[MethodSource]
) -> None:
    run_all(folder, tmp_path, constant, 1)
    next((tmp_path / "cells").iterdir()).write_text("{", encoding="utf-8")
    with pytest.raises(InvalidTable, match="--fresh"):
        run_all(folder, tmp_path, constant, 1)


def results_table(percents: Mapping[str, list[float]]) -> pl.DataFrame:
    """Return results of one table with these percentages by method and split."""
    rows = [
        ("heart", split, 10.0, method, percent, 1.0, 1.0, 0.0, 0.1)
        for method, values in percents.items()
        for split, percent in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def test_differences_and_standard_errors_by_hand() -> None:
    table = results_table({"plan": [10.0, 20.0], "other": [13.0, 21.0]})
    first, second = summarise(table)
    assert (first.method, first.percent, first.difference.mean) == ("plan", 15.0, 0.0)
    assert (second.percent, second.difference.mean) == (17.0, 2.0)
    # Differences 3 and 1 have variance 2; two splits, half as many test as learning cases.
    assert second.difference.error == pytest.approx(np.sqrt(2 * (1 / 2 + 1 / 2)))


def test_a_method_without_some_results_is_refused() -> None:
    with pytest.raises(InvalidTable, match="lacks results"):
        summarise(results_table({"plan": [10.0, 20.0], "other": [13.0]}))


def test_the_table_is_written_and_read(tmp_path: Path) -> None:
    table = results_table({"plan": [10.0]})
    assert read_table(write_table(table, tmp_path)).equals(table)
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InvalidTable, match="thrifty run priced"):
        read_table(tmp_path / "other.parquet")


def test_the_figure_has_a_panel_for_each_table() -> None:
    figure = cost_by_error_cost(results_table({"plan": [10.0], "other": [20.0]}))
    assert figure.axes[0].get_title() == "heart"
    assert [line.get_label() for line in figure.axes[0].lines] == ["plan", "other"]


def test_an_absent_folder_is_explained(tmp_path: Path) -> None:
    for given in (None, tmp_path / "nowhere"):
        with pytest.raises(InvalidParameter, match="THRIFTY_PRICED"):
            require_folder(given)
    with pytest.raises(UnknownName, match=r"pima\.csv does not exist"):
        read_priced_table(tmp_path, "pima")


def test_a_table_without_its_target_is_refused(folder: Path) -> None:
    (folder / "heart.json").write_text('{"prices": {}}', encoding="utf-8")
    with pytest.raises(InvalidTable, match="'heart'"):
        read_priced_table(folder, "heart")


def test_files_without_methods_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="not a Python file"):
        method_sources(["nowhere.py"])
    (tmp_path / "no_methods_here.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="METHODS"):
        method_sources([str(tmp_path / "no_methods_here.py")])
    [source] = method_sources([f"{tmp_path / 'no_methods_here.py'}:x"])
    with pytest.raises(InvalidParameter, match="no method 'x'"):
        source.load()


def test_the_command(folder: Path, tmp_path: Path, constant: list[MethodSource]) -> None:
    arguments = ["run", "priced/heart", "--seeds", "0:2", "--workers", "1"]
    arguments += ["--out", str(tmp_path / "out"), "--method", constant[0].module]
    done = CliRunner().invoke(app, arguments, env={"THRIFTY_PRICED": str(folder)})
    assert done.exit_code == 0, done.output
    assert "Cost of a case in percent of the standard cost" in done.output
    for label in ("plan", "printed plan", "best fixed set", "everything", "nothing", "constant"):
        assert f" {label} " in done.output
    as_json = CliRunner().invoke(app, [*arguments, "--json", "--data", str(folder)])
    rows = json.loads(as_json.stdout)
    assert len(rows) == 7
    assert rows[0]["percent"] <= rows[-1]["percent"]
    drawn = CliRunner().invoke(
        app, ["figures", str(tmp_path / "out" / "priced"), "--format", "png"]
    )
    assert Path(drawn.stdout.strip()).is_file()


def test_the_command_without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THRIFTY_PRICED", raising=False)
    done = CliRunner().invoke(app, ["run", "priced"])
    assert isinstance(done.exception, InvalidParameter)
    other = CliRunner().invoke(app, ["run", "priced/moon", "--data", "."])
    assert isinstance(other.exception, UnknownName)


def test_the_page_shows_the_results_that_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    show_summaries(summarise(read_table(ROOT / "benchmarks" / "priced.parquet")))
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert "\n".join(printed) in (ROOT / "docs" / "priced.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["EG2", "CSID3", "IDX"])
def test_greedy_trees_buy_what_pays(folder: Path, name: str) -> None:
    [source] = method_sources([f"{PEERS.with_name('priced_trees.py')}:{name}"])
    [cheap], [dear] = Trial(folder, "heart", 0, source, (0.1, 1000.0)).compute()
    assert cheap["spend"] == 0
    assert dear["spend"] >= 3
    assert dear["error_share"] < 0.3


@pytest.mark.parametrize(
    ("file", "name", "package"),
    [
        ("priced_trees.py", "CostComplexityTree", "sklearn"),
        ("priced_trees.py", "OptimalTree", "pystreed"),
        ("priced_boosters.py", "LightGBM", "lightgbm"),
        ("priced_boosters.py", "MaskedBooster", "lightgbm"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # the warnings of other packages
def test_peers_of_other_packages(folder: Path, file: str, name: str, package: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed: pip install 'thrifty[bench]'")
    write_priced_table(folder, "heart", rows=200)
    [source] = method_sources([f"{PEERS.with_name(file)}:{name}"])
    cheap, dear = Trial(folder, "heart", 0, source, (0.1, 1000.0)).compute()
    for row in cheap:
        assert row["spend"] == (6 if row["method"] == "LightGBM, everything" else 0)
    for row in dear:
        assert row["error_share"] < 0.3
