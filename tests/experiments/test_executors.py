"""Executors: an interrupt loses no finished runs."""

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from experiments.small_experiments import SPEC, THRIFTY, files_below, written
from thrifty.experiments.executors import POLARS_THREADS, ProcessExecutor
from thrifty.experiments.runner import CACHE_FOLDER
from waiting import LIMIT, wait_until


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
        wait_for_runs(out / CACHE_FOLDER)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        printed, told = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 130
    assert printed == ""
    assert told.strip().splitlines()[-1].startswith("Stopped. Finished runs are kept in ")
    kept = files_below(out)
    assert 0 < len(kept) < 10_000
    assert len(pl.read_parquet(kept[-1])) > 0
    assert all(path.suffix == ".parquet" for path in kept)  # and no drafts


@pytest.mark.parametrize(("given", "seen"), [(None, "1"), ("3", "3")])
def test_workers_use_one_polars_thread_by_default(
    monkeypatch: pytest.MonkeyPatch, given: str | None, seen: str
) -> None:
    if given is None:
        monkeypatch.delenv(POLARS_THREADS, raising=False)
    else:
        monkeypatch.setenv(POLARS_THREADS, given)
    with ProcessExecutor(2) as executor:
        assert dict(executor.run([partial(os.getenv, POLARS_THREADS)] * 3)) == {
            0: seen,
            1: seen,
            2: seen,
        }
    assert os.environ.get(POLARS_THREADS) == given


def wait_for_runs(folder: Path) -> None:
    wait_until(lambda: list(folder.glob("[!.]*.parquet")), "the end of a run")
