"""Engines: what is finished when one is interrupted is not lost."""

import os
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from experiments.small_experiments import SPEC, THRIFTY, files_below, written
from thrifty.experiments.engines import THREADS, Processes
from thrifty.experiments.runner import CELLS

LIMIT = 180  # compiling takes long if it is the first time


def test_an_interrupt_of_processes_keeps_what_is_finished(tmp_path: Path) -> None:
    out = tmp_path / "out"
    spec = written(tmp_path, SPEC.replace("0:4", "0:5000"))
    process = subprocess.Popen(
        [THRIFTY, "run", spec, "--out", out, "--workers", "2"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for_cells(out / CELLS)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        printed, told = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 130
    assert printed == ""
    assert told.strip().splitlines()[-1].startswith("Stopped. What was finished is kept in ")
    kept = files_below(out)
    assert 0 < len(kept) < 10_000
    assert len(pl.read_parquet(kept[-1])) > 0
    assert all(path.suffix == ".parquet" for path in kept)  # and no drafts


@pytest.mark.parametrize(("given", "seen"), [(None, "1"), ("3", "3")])
def test_processes_make_tables_in_one_thread_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: str | None, seen: str
) -> None:
    if given is None:
        monkeypatch.delenv(THREADS, raising=False)
    else:
        monkeypatch.setenv(THREADS, given)
    with Processes(2) as engine:
        assert dict(engine.run([partial(os.getenv, THREADS)] * 3)) == {0: seen, 1: seen, 2: seen}
    assert os.environ.get(THREADS) == given


def wait_for_cells(folder: Path) -> None:
    deadline = time.monotonic() + LIMIT
    while not list(folder.glob("[!.]*.parquet")):
        assert time.monotonic() < deadline, "there are no cells"
        time.sleep(0.02)
