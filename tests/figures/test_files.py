"""Files of figures, and the command that writes them."""

import sys
from pathlib import Path

import pytest

from figures.small_results import line, plain
from thrifty.commands.figures import draw, figures
from thrifty.errors import InvalidParameter, InvalidTable, SaveError, ThriftyError
from thrifty.experiments.executors import SerialExecutor
from thrifty.experiments.results import write_results
from thrifty.figures import paper
from thrifty.figures.files import save, write_figures

RESULTS = plain("UCB1")


def test_formats_that_do_not_exist_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    for formats in (["gif"], ["png", "gif"], []):
        with pytest.raises(InvalidParameter, match="pdf, png, svg"):
            write_figures(tmp_path, RESULTS, formats)
    with pytest.raises(InvalidParameter, match="pdf, png, svg"):
        save(paper.gain_and_cost(RESULTS), tmp_path / "figure.gif")
    with pytest.raises(InvalidParameter, match="pdf, png, svg"):
        draw([RESULTS], tmp_path, "gif", SerialExecutor())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(SaveError, match="cannot be written"):
        write_figures(tmp_path, RESULTS, ["png"])


def test_the_command_prints_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_results(line(), tmp_path).parent
    figures(folder, formats="png, svg", report=True)
    printed = [Path(line) for line in capsys.readouterr().out.split()]
    drawn = [folder / "figures" / f"tuning-ucb1.{format_}" for format_ in ("png", "svg")]
    assert printed == [*drawn, folder / "report.html"]
    assert all(path.is_file() for path in printed)
    assert "--format png, svg --report" in printed[-1].read_text(encoding="utf-8")


def test_parts_draw_all_figures_once(tmp_path: Path) -> None:
    whole = write_figures(tmp_path / "whole", RESULTS, ["svg"])
    parts = [write_figures(tmp_path, RESULTS, ["svg"], part=k, parts=3) for k in range(3)]
    assert sorted(path.name for path in whole) == sorted(path.name for p in parts for path in p)
    assert all(parts)


def test_several_experiments_are_drawn_in_their_folders(tmp_path: Path) -> None:
    folder = write_results(line(), tmp_path).parent
    draw([line()], tmp_path, "svg", SerialExecutor())
    assert (folder / "figures" / "tuning-ucb1.svg").is_file()


def test_the_command_asks_for_a_run_first(tmp_path: Path) -> None:
    with pytest.raises(InvalidTable, match="contains no results"):
        figures(tmp_path)
    with pytest.raises(InvalidTable, match="such as results/nursery/published"):
        figures(tmp_path / "nowhere")


def test_without_matplotlib_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_results(RESULTS, tmp_path).parent
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ThriftyError, match="pip install 'thrifty\\[figures\\]'"):
        figures(folder)
