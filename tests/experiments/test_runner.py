"""The runner: the same table whatever happens on the way."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from thrifty.errors import SaveError
from thrifty.experiments.cells import Cell, cells_of
from thrifty.experiments.runner import TABLE, run
from thrifty.experiments.spec import Entry, Experiment
from thrifty.experiments.worlds import world_named
from thrifty.simulation import simulate

EXPERIMENT = Experiment(
    id="small",
    title="Small",
    world="random",
    world_params={"levels": [2, 3], "n_actions": 2, "rounds": 450, "reward_changes": [200]},
    entries=(
        Entry("oracle", "oracle"),
        Entry("ncc", "ncc-ucrl2", {"window": 60, "cost_range": 0.05}),
        Entry("ucb1", "ucb1", {"alpha": 0.3}),
    ),
    seeds=(0, 1, 2, 3),
)


def test_the_table_adds_up_to_the_runs(tmp_path: Path) -> None:
    table = run(EXPERIMENT, tmp_path, workers=1)
    world = world_named("random")
    for entry in EXPERIMENT.entries:
        runs = simulate(
            entry.policy,
            lambda seed: world(seed, **EXPERIMENT.world_params),
            seeds=EXPERIMENT.seeds,
            **entry.params,
        )
        for one, seed in zip(runs, runs.seeds, strict=True):
            mine = table.filter((pl.col("policy") == entry.label) & (pl.col("seed") == seed))
            total = dict(mine.group_by("measure").agg(pl.col("value").sum()).iter_rows())
            assert total["gain"] == pytest.approx(one.gains.sum())
            assert total["reward"] == pytest.approx(one.rewards.sum())
            assert total["cost"] == pytest.approx(one.costs.sum())
            assert total["purchases"] == one.observed.sum()
            assert total["choices"] == total["rounds_by_observations"] == 450
            assert total["reward_by_observations"] == pytest.approx(one.rewards.sum())
    regret = table.filter((pl.col("policy") == "oracle") & (pl.col("measure") == "realised_regret"))
    assert regret["value"].abs().max() == 0


def test_blocks_begin_where_they_say(tmp_path: Path) -> None:
    table = run(replace(EXPERIMENT, seeds=(0,), rounds=250), tmp_path, workers=1)
    rounds = table.filter((pl.col("policy") == "ucb1") & (pl.col("measure") == "gain"))["round"]
    assert rounds.to_list() == list(range(0, 250, 3))


def test_any_number_of_workers_gives_the_same_table(tmp_path: Path) -> None:
    tables = [run(EXPERIMENT, tmp_path / str(n), workers=n) for n in (1, 2, 4)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert pl.read_parquet(tmp_path / "2" / TABLE).equals(tables[0])


def test_what_is_there_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    first = run(EXPERIMENT, tmp_path, workers=1, progress=done.append)
    assert sum(done) == 12
    monkeypatch.setattr(Cell, "compute", lambda self: pytest.fail(f"computed {self} again"))
    assert run(EXPERIMENT, tmp_path, workers=1).equals(first)
    fewer = run(replace(EXPERIMENT, seeds=(2,)), tmp_path, workers=1)
    assert fewer.equals(first.filter(pl.col("seed") == 2))


def test_a_cell_is_known_by_what_it_contains() -> None:
    cells = cells_of(EXPERIMENT)
    assert len({cell.key for cell in cells.values()}) == 12
    again = cells_of(replace(EXPERIMENT, id="other", title="Other"))
    assert [cell.key for cell in again.values()] == [cell.key for cell in cells.values()]
    longer = cells_of(replace(EXPERIMENT, rounds=300))
    assert not {cell.key for cell in longer.values()} & {cell.key for cell in cells.values()}


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_runner import EXPERIMENT
from dataclasses import replace
from thrifty.experiments.runner import run
if __name__ == "__main__":
    run(replace(EXPERIMENT, seeds=tuple(range(12))), Path({folder!r}), workers={workers})
"""


def started(folder: Path, workers: int) -> "subprocess.Popen[bytes]":
    script = folder.with_suffix(".py")
    tests = str(Path(__file__).parent)
    script.write_text(SCRIPT.format(tests=tests, folder=str(folder), workers=workers))
    return subprocess.Popen([sys.executable, str(script)], start_new_session=True)


def test_killed_at_any_moment_it_ends_with_the_same_table(tmp_path: Path) -> None:
    experiment = replace(EXPERIMENT, seeds=tuple(range(12)))
    undisturbed = run(experiment, tmp_path / "whole", workers=1)
    folder = tmp_path / "killed"
    for moment in (0.3, 1.2, 1.6, 2.0, 2.4):
        process = started(folder, workers=2)
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert run(experiment, folder, workers=2).equals(undisturbed)


def test_a_worker_that_dies_costs_nothing_but_time(tmp_path: Path) -> None:
    folder = tmp_path / "worker"
    process = started(folder, workers=2)
    cells = folder / "cells"
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if cells.exists() and len(list(cells.glob("[!.]*.parquet"))) >= 2:
            workers = subprocess.run(
                ["pgrep", "-P", str(process.pid), "-f", "spawn_main"],
                capture_output=True,
                text=True,
                check=False,
            ).stdout.split()
            for worker in workers[:1]:
                os.kill(int(worker), signal.SIGKILL)
            break
        time.sleep(0.02)
    assert process.wait(timeout=120) == 0
    experiment = replace(EXPERIMENT, seeds=tuple(range(12)))
    assert run(experiment, tmp_path / "whole", workers=1).equals(pl.read_parquet(folder / TABLE))


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="cannot be written"):
        run(EXPERIMENT, tmp_path / "file" / "below", workers=1)
