"""Results on disk: the same after a round trip, and errors of one line."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from figures.small_tables import table_of
from thrifty.errors import InvalidTable, SaveError
from thrifty.experiments.results import TABLE, Results, read_results, write_results
from thrifty.experiments.spec import Entry, Experiment, catalogue
from thrifty.files import atomic_write

RESULTS = Results(
    Experiment("mine/small", "Mine", "random", (Entry("A", "ucb1"),), (0, 1)), table_of("A")
)


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_a_table_says_which_experiment_it_is_of(tmp_path: Path, name: str) -> None:
    results = replace(RESULTS, experiment=catalogue()[name])
    path = write_results(results, tmp_path)
    assert path == tmp_path / name / TABLE
    again = read_results(tmp_path / name)
    assert again.experiment == results.experiment
    assert again.table.equals(results.table)


def test_words_of_any_kind_come_back(tmp_path: Path) -> None:
    entry = Entry('"Ünï" \\ \n', "ucb1", {"alpha": 0.1}, (1.5,), {"alpha": 1e-300}, ("alpha",))
    experiment = Experiment("mine", "「標題」", "random", (entry,), (7,), {"levels": [2]}, (9, 10))
    write_results(replace(RESULTS, experiment=experiment), tmp_path)
    assert read_results(tmp_path / "mine").experiment == experiment


def refusal(folder: Path) -> str:
    with pytest.raises(InvalidTable) as caught:
        read_results(folder)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert str(folder) in message
    return message


def test_a_table_of_the_first_schema_is_to_be_made_again(tmp_path: Path) -> None:
    RESULTS.table.drop("horizon").write_parquet(tmp_path / TABLE)
    assert "has schema 1" in refusal(tmp_path)
    assert "run the experiment again" in refusal(tmp_path)


def test_a_table_of_another_schema_is_to_be_made_again(tmp_path: Path) -> None:
    about = json.dumps({"schema": 99, "of": "a later version"})
    RESULTS.table.write_parquet(tmp_path / TABLE, metadata={"thrifty": about})
    assert "has schema 99" in refusal(tmp_path)
    assert "run the experiment again" in refusal(tmp_path)


def test_a_foreign_table_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / TABLE)
    refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no table\nat all", b"PAR1" * 100])
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / TABLE).write_bytes(content)
    assert "contains no results" in refusal(tmp_path)


def test_half_a_table_is_refused(tmp_path: Path) -> None:
    path = write_results(RESULTS, tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    assert "contains no results" in refusal(path.parent)


def test_a_folder_without_a_table_is_refused(tmp_path: Path) -> None:
    assert "such as results/nursery/published" in refusal(tmp_path)
    assert "contains no results" in refusal(tmp_path / "nowhere")


def test_writing_again_replaces_the_table(tmp_path: Path) -> None:
    write_results(RESULTS, tmp_path)
    other = replace(RESULTS, table=table_of("A").head(3))
    path = write_results(other, tmp_path)
    assert read_results(path.parent).table.equals(other.table)
    assert list(path.parent.iterdir()) == [path]


def half_written(path: Path, error: Exception) -> None:
    with atomic_write(path) as draft:
        draft.write_text("half")
        raise error


def test_a_draft_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(SaveError, match="cannot be written"):
        half_written(path, OSError("no room"))
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_other_errors_pass_and_leave_no_draft(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        half_written(tmp_path / "file", ZeroDivisionError())
    assert list(tmp_path.iterdir()) == []
