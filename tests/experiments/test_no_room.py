"""Where nothing can be written the command says so in one line, and leaves nothing behind."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import matplotlib.font_manager  # noqa: F401 (writes its cache now, not where nothing can be written)
import polars as pl
import pytest

from experiments.small_experiments import SPEC, files_below, no_file_above, thrifty, written
from thrifty.experiments.results import read_results
from thrifty.experiments.runner import run
from thrifty.experiments.spec import find


def require_refused(shown: "subprocess.CompletedProcess[str]") -> None:
    """One line that says what cannot be written and what to do, and nothing else."""
    assert shown.returncode == 2
    (line,) = [line for line in shown.stderr.splitlines() if line.strip()]
    assert line.startswith("thrifty: ")
    assert "cannot be written" in line
    assert "choose a folder that is writable and has room" in line
    assert shown.stdout.strip() == ""


def require_whole(folder: Path) -> None:
    """Nothing is half-written: no drafts, and what is there can be read."""
    for path in files_below(folder):
        assert path.suffix == ".parquet"
        assert len(pl.read_parquet(path)) > 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_folder_that_is_not_writable(tmp_path: Path, workers: str) -> None:
    spec = written(tmp_path, SPEC)
    (tmp_path / "file").write_text("in the way")
    out = tmp_path / "file" / "below"
    require_refused(thrifty("run", spec, "--out", out, "--workers", workers))
    assert (tmp_path / "file").read_text() == "in the way"
    assert len(files_below(tmp_path)) == 2


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_room_for_runs(tmp_path: Path, workers: str) -> None:
    spec, out = written(tmp_path, SPEC), tmp_path / "out"
    full = no_file_above(1000)
    require_refused(thrifty("run", spec, "--out", out, "--workers", workers, before=full))
    assert files_below(out) == []


def test_no_room_for_the_table(tmp_path: Path) -> None:
    spec, out = written(tmp_path, SPEC), tmp_path / "out"
    undisturbed = run(find(spec), tmp_path / "whole", workers=1)
    largest = max(path.stat().st_size for path in files_below(tmp_path / "whole" / "cells"))
    full = no_file_above(largest)
    require_refused(thrifty("run", spec, "--out", out, "--workers", "1", before=full))
    require_whole(out)
    assert len(files_below(out)) == 8  # the cells; with room nothing is lost
    assert run(find(spec), out, workers=1).table.equals(undisturbed.table)


def test_no_room_for_figures(tmp_path: Path) -> None:
    run(find(written(tmp_path, SPEC)), tmp_path / "out", workers=1)
    before = files_below(tmp_path)
    folder = tmp_path / "out" / "mine"
    require_refused(thrifty("figures", folder, "--format", "svg", before=no_file_above(2000)))
    assert files_below(tmp_path) == before
    assert len(read_results(folder).table) > 0


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a disk of 16 KiB, which holds a few cells and no more."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk(tmp_path: Path, full_disk: Path) -> None:
    spec, out = written(tmp_path, SPEC), full_disk / "results"
    require_refused(thrifty("run", spec, "--out", out, "--workers", "2"))
    require_whole(full_disk)
    assert len(files_below(full_disk)) > 0  # what was finished before is kept
