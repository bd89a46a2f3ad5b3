"""Files of figures, and the command that writes them."""

import sys
from pathlib import Path

import pytest

from figures.small_tables import table_of
from thrifty.commands.figures import figures
from thrifty.errors import InvalidParameter, InvalidTable, SaveError, ThriftyError, UnknownName
from thrifty.experiments.spec import Entry, Experiment
from thrifty.figures import draw_all, figures_of, paper, save

TABLE = table_of("Oracle", "NCC-UCRL2, text", "UCB1")
STARTS = {"pdf": b"%PDF", "png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml"}
SPEC = """
title = "A small world"
seeds = "0:2"
[world]
name = "random"
levels = [2, 2]
n_actions = 2
rounds = 20
reward_changes = [10]
[[policies]]
label = "UCB1"
policy = "ucb1"
alpha = 0.6
"""


def experiment(**world: object) -> Experiment:
    params = {"levels": (2, 2), "n_actions": 2, "rounds": 20, **world}
    entry = Entry("UCB1", "ucb1", published=(12.0,))
    return Experiment("small", "A small world", "random", (entry,), (0, 1), params)


def names(it: Experiment, *labels: str) -> list[str]:
    return [name for name, _ in figures_of(it, table_of(*labels))]


def test_every_figure_that_makes_sense_is_written(tmp_path: Path) -> None:
    paths = draw_all(tmp_path, experiment(), TABLE, ["png"])
    assert sorted(path.relative_to(tmp_path).as_posix() for path in paths) == [
        "figures/accuracy.png",
        "figures/cumulative-regret.png",
        "figures/gain-and-cost.png",
        "figures/purchases-ncc-ucrl2-text.png",
        "figures/purchases-oracle.png",
        "figures/purchases-ucb1.png",
        "figures/recommendations.png",
        "figures/seeds.png",
        "figures/world.png",
    ]
    assert sorted((tmp_path / "figures").iterdir()) == sorted(paths)  # no drafts are left


@pytest.mark.parametrize("suffix", STARTS)
def test_files_are_valid_and_the_same_every_time(tmp_path: Path, suffix: str) -> None:
    first, second = (
        save(paper.gain_and_cost(TABLE), tmp_path / f"{name}.{suffix}").read_bytes()
        for name in ("first", "second")
    )
    assert first.startswith(STARTS[suffix])
    assert (b"<svg" in first) == (suffix == "svg")
    assert first == second


def test_windows_get_a_figure_of_their_own() -> None:
    drawn = names(experiment(), "w = 10", "w = 20")
    assert "windows" in drawn
    assert not {"cumulative-regret", "accuracy"} & set(drawn)


def test_too_many_periods_are_not_drawn_one_by_one() -> None:
    assert "recommendations" in names(experiment(reward_changes=(5, 10)), "UCB1")
    assert "recommendations" not in names(experiment(reward_changes=range(1, 14)), "UCB1")


def test_formats_that_do_not_exist_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    for formats in (["gif"], ["png", "gif"], []):
        with pytest.raises(InvalidParameter, match="pdf, png, svg"):
            draw_all(tmp_path, experiment(), TABLE, formats)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(SaveError, match="cannot be written"):
        draw_all(tmp_path, experiment(), TABLE, ["png"])


def test_the_command_prints_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SPEC)
    (tmp_path / "small").mkdir()
    table_of("UCB1").write_parquet(tmp_path / "small" / "table.parquet")
    figures(str(spec), out=tmp_path, formats="png, svg", report=True)
    printed = [Path(line) for line in capsys.readouterr().out.split()]
    assert len(printed) == 15
    assert printed[-1] == tmp_path / "small" / "report.html"
    assert all(path.is_file() for path in printed)
    assert tmp_path / "small" / "figures" / "cumulative-regret.svg" in printed


def test_the_command_asks_for_a_run_first(tmp_path: Path) -> None:
    with pytest.raises(InvalidTable, match="run `thrifty run nursery/published` first"):
        figures("nursery/published", out=tmp_path)
    with pytest.raises(UnknownName):
        figures("nursery/nothing", out=tmp_path)


def test_without_matplotlib_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SPEC)
    (tmp_path / "small").mkdir()
    table_of("UCB1").write_parquet(tmp_path / "small" / "table.parquet")
    for module in [name for name in sys.modules if name.startswith("thrifty.figures")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ThriftyError, match="pip install 'thrifty\\[figures\\]'"):
        figures(str(spec), out=tmp_path)
