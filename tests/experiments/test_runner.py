"""The runner: the same table, with any number of workers, interrupts and deaths."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from experiments.small_experiments import EXPERIMENT, SPEC, THRIFTY, files_below, written
from thrifty.errors import InvalidTable, SaveError
from thrifty.experiments.environments import environment_named
from thrifty.experiments.executors import SerialExecutor
from thrifty.experiments.results import TABLE, Results, read_results
from thrifty.experiments.runner import CACHE_FOLDER, RunCache, _schedule, run, run_all
from thrifty.experiments.single_runs import SingleRun, run_digest, run_modules, single_runs
from thrifty.experiments.sources import source_files
from thrifty.experiments.spec import Entry, Experiment, find
from thrifty.playing import play
from thrifty.policies import Scout
from thrifty.simulation import simulate
from waiting import LIMIT, wait_until


def number_bytes(results: Results) -> bytes:
    """Return the numbers of the table, bit by bit."""
    return results.table["value"].to_numpy().tobytes()


def require_same(one: Results, other: Results) -> None:
    assert one.table.equals(other.table)
    assert number_bytes(one) == number_bytes(other)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[SingleRun]:
    """Return the list of all runs that this process computes from now on."""
    runs: list[SingleRun] = []
    compute = SingleRun.compute

    def record(self: SingleRun) -> pl.DataFrame:
        runs.append(self)
        return compute(self)

    monkeypatch.setattr(SingleRun, "compute", record)
    return runs


def test_the_table_adds_up_to_the_runs(tmp_path: Path) -> None:
    table = run(EXPERIMENT, tmp_path, workers=1).table
    make = environment_named("random")
    for entry in EXPERIMENT.entries:
        runs = simulate(
            entry.policy,
            lambda seed: make(seed, **EXPERIMENT.environment_params),
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
    assert table["horizon"].unique().to_list() == [450]


def test_events_are_those_of_the_policy(tmp_path: Path) -> None:
    scout = replace(
        EXPERIMENT,
        environment="flipping-prices",
        environment_params={"rounds": 900},
        entries=(Entry("scout", "scout"), Entry("ucb1", "ucb1")),
        seeds=(0, 3),
    )
    table = run(scout, tmp_path, workers=1).table.filter(pl.col("measure") == "events")
    assert table["policy"].unique().to_list() == ["scout"]
    for seed in scout.seeds:
        replay = environment_named("flipping-prices")(seed, rounds=900)
        policy = Scout(replay.problem, seed=seed)
        play(policy, replay)
        counts = Counter((event.kind, event.round) for event in policy.events)
        rows = table.filter(pl.col("seed") == seed).select("key", "round", "value")
        assert {(key, at): n for key, at, n in rows.iter_rows()} == counts
        assert "price alarm" in rows["key"]


def test_the_table_is_in_the_order_of_the_specification(tmp_path: Path) -> None:
    table = run(replace(EXPERIMENT, seeds=(2, 0)), tmp_path, workers=1).table
    places = table.select("seed", "policy").unique(maintain_order=True).rows()
    assert places == [(seed, entry.label) for seed in (2, 0) for entry in EXPERIMENT.entries]


def test_what_is_returned_is_what_is_written(tmp_path: Path) -> None:
    results = run(EXPERIMENT, tmp_path, workers=1)
    assert results.experiment == EXPERIMENT
    again = read_results(tmp_path / "small")
    assert again.experiment == EXPERIMENT
    require_same(again, results)
    assert files_below(tmp_path / "small") == [tmp_path / "small" / TABLE]
    assert len(files_below(tmp_path / CACHE_FOLDER)) == 12


def test_runs_depend_on_the_code_of_their_policy_and_environment_only() -> None:
    files = {path.name for path in source_files(run_modules("ncc-ucrl2-repaired", "xor-of-two"))}
    assert {"ncc_ucrl2.py", "loop.py", "policy.py", "families.py", "regret.py"} <= files
    others = {"scout.py", "linucb.py", "ucb1.py", "nursery.py", "market.py", "registry.py"}
    assert not others & files
    pairs = [("ucb1", "random"), ("ucb1", "winter"), ("linucb", "random")]
    assert len({run_digest(*pair) for pair in pairs}) == 3


def test_a_policy_may_play_with_the_best_fixed_set(tmp_path: Path) -> None:
    """A policy that buys everything then buys one feature, and its regret is that of its costs."""
    entries = (Entry("all", "linucb"), Entry("set", "linucb", features="best-fixed"))
    spec = replace(
        EXPERIMENT, entries=entries, environment="one-relevant", environment_params={"rounds": 500}
    )
    table = run(spec, tmp_path, workers=1).table
    bought = (
        table.filter(pl.col("measure") == "purchases")
        .group_by("policy", "seed")
        .agg(pl.col("value").sum())
    )
    assert set(bought.filter(pl.col("policy") == "all")["value"]) == {5 * 500}
    assert set(bought.filter(pl.col("policy") == "set")["value"]) == {500}
    assert read_results(tmp_path / "small").experiment == spec
    keys = {one.key for one in single_runs(spec).values()}
    assert len(keys) == 8


def test_blocks_begin_where_they_say(tmp_path: Path) -> None:
    shorter = replace(EXPERIMENT, seeds=(0,), horizons=(250,))
    table = run(shorter, tmp_path, workers=1).table
    rounds = table.filter((pl.col("policy") == "ucb1") & (pl.col("measure") == "gain"))["round"]
    assert rounds.to_list() == list(range(0, 250, 3))


def test_every_horizon_is_a_run_of_its_own(tmp_path: Path) -> None:
    params = {key: value for key, value in EXPERIMENT.environment_params.items() if key != "rounds"}
    grown = replace(EXPERIMENT, environment_params=params, horizons=(210, 300), seeds=(1,))
    table = run(grown, tmp_path, workers=1).table
    chosen = table.filter(pl.col("measure") == "choices").group_by("policy", "horizon")
    counts = chosen.agg(pl.col("value").sum()).sort("policy", "horizon").rows()
    labels = [entry.label for entry in grown.entries]
    assert counts == [(label, t, t) for label in labels for t in (210, 300)]
    alone = run(replace(grown, id="alone", horizons=(210,)), tmp_path / "other", workers=1).table
    assert table.filter(pl.col("horizon") == 210).equals(alone)


def test_any_number_of_workers_gives_the_same_table(tmp_path: Path) -> None:
    one, two, four = (run(EXPERIMENT, tmp_path / str(n), workers=n) for n in (1, 2, 4))
    require_same(one, two)
    require_same(one, four)
    require_same(one, read_results(tmp_path / "2" / "small"))


def test_what_is_there_is_not_computed_again(tmp_path: Path, computed: list[SingleRun]) -> None:
    done: list[int] = []
    first = run(EXPERIMENT, tmp_path, workers=1, progress=done.append)
    assert sum(done) == len(computed) == 12
    again: list[int] = []
    require_same(run(EXPERIMENT, tmp_path, workers=1, progress=again.append), first)
    assert sum(again) == 12
    fewer = run(replace(EXPERIMENT, seeds=(2,)), tmp_path, workers=1).table
    assert fewer.equals(first.table.filter(pl.col("seed") == 2))
    assert len(computed) == 12


def test_experiments_share_their_runs(tmp_path: Path, computed: list[SingleRun]) -> None:
    more = Entry("by another name", "ucb1", {"alpha": 0.3}), Entry("uniform", "uniform")
    other = replace(EXPERIMENT, id="other/one", seeds=(2, 3, 4), entries=more)
    done: list[int] = []
    cache = RunCache(tmp_path)
    first, second = run_all(
        [EXPERIMENT, other], cache, executor=SerialExecutor(), progress=done.append
    )
    # Of the other's 6 runs, those of ucb1 with seeds 2 and 3 exist already.
    assert len(computed) == len(set(computed)) == sum(done) == 12 + 4
    assert len(files_below(tmp_path / CACHE_FOLDER)) == 16
    require_same(second, run(other, tmp_path, workers=1))
    require_same(first, read_results(tmp_path / "small"))
    assert len(computed) == 16
    require_same(run(other, tmp_path / "alone", workers=1), second)


def test_workers_compile_different_policies_first() -> None:
    entries = (
        Entry("a", "ucb1"),
        Entry("b", "ncc-ucrl2"),
        Entry("c", "scout"),
        Entry("d", "ncc-ucrl2-published"),
    )
    runs = list(single_runs(replace(EXPERIMENT, entries=entries, seeds=(0, 1))).values())
    batches = _schedule(runs)
    # One run of each compiled class, the slowest to compile first; variants of a class share it.
    assert [[run.policy for run in batch] for batch in batches[:3]] == [
        ["scout"],
        ["ucb1"],
        ["ncc-ucrl2"],
    ]
    assert sorted(run.key for batch in batches for run in batch) == sorted(r.key for r in runs)


def test_batches_that_compile_slowly_are_last() -> None:
    slow = replace(EXPERIMENT, entries=(Entry("scout", "scout"), Entry("ucb1", "ucb1")))
    fast = replace(EXPERIMENT, entries=(Entry("uniform", "uniform"),), environment_params={})
    runs = [*single_runs(slow).values(), *single_runs(fast).values()]
    later = [{run.policy for run in batch} for batch in _schedule(runs)[3:]]
    assert later == [{"uniform"}] * 3 + [{"scout", "ucb1"}] * 3


def test_fresh_runs_are_computed_again(tmp_path: Path, computed: list[SingleRun]) -> None:
    first = run(EXPERIMENT, tmp_path, workers=1)
    few = replace(EXPERIMENT, seeds=(0,))
    run(few, tmp_path, workers=1, fresh=True)
    assert len(computed) == 12 + 3  # and the others are kept
    require_same(run(EXPERIMENT, tmp_path, workers=1), first)
    assert len(computed) == 15


def test_policies_that_are_the_same_both_have_their_rows(
    tmp_path: Path, computed: list[SingleRun]
) -> None:
    entries = tuple(Entry(label, "ucb1", {"alpha": 0.3}) for label in ("one", "two"))
    table = run(replace(EXPERIMENT, entries=entries, seeds=(0, 1)), tmp_path, workers=1).table
    assert len(computed) == 2
    one, two = (table.filter(pl.col("policy") == label).drop("policy") for label in ("one", "two"))
    assert len(one) > 0
    assert one.equals(two)


def test_runs_are_identified_by_their_contents() -> None:
    runs = single_runs(EXPERIMENT)
    assert len({run.key for run in runs.values()}) == 12
    again = single_runs(replace(EXPERIMENT, id="other", title="Other"))
    assert [run.key for run in again.values()] == [run.key for run in runs.values()]
    longer = single_runs(replace(EXPERIMENT, horizons=(300,)))
    assert not {run.key for run in longer.values()} & {run.key for run in runs.values()}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


def of_another_kind(path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(path)


@pytest.mark.parametrize("damage", [cut, of_another_kind])
def test_the_error_about_a_damaged_run_names_its_folder(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    first = run(EXPERIMENT, tmp_path, workers=1)
    damage(files_below(tmp_path / CACHE_FOLDER)[5])
    with pytest.raises(InvalidTable, match="is damaged") as caught:
        run(EXPERIMENT, tmp_path, workers=1)
    assert str(tmp_path / CACHE_FOLDER) in str(caught.value)
    assert "--fresh" in str(caught.value)
    require_same(run(EXPERIMENT, tmp_path, workers=1, fresh=True), first)


def test_the_error_about_a_damaged_run_has_one_line(tmp_path: Path) -> None:
    run(EXPERIMENT, tmp_path, workers=1)
    files_below(tmp_path / CACHE_FOLDER)[5].write_text("no table\n")
    with pytest.raises(InvalidTable) as caught:
        run(EXPERIMENT, tmp_path, workers=1)
    assert len(str(caught.value).splitlines()) == 1


def long_experiment(folder: Path) -> Experiment:
    """Return an experiment of 160 short runs, as `started` runs it."""
    return find(written(folder, SPEC.replace("0:4", "0:80"), "long.toml"))


def started(folder: Path, out: Path, *, workers: int) -> "subprocess.Popen[bytes]":
    """Start the long experiment, with its workers in a process group of their own."""
    arguments = "run", folder / "long.toml", "--out", out, "--workers", str(workers)
    return subprocess.Popen(
        [THRIFTY, *map(str, arguments)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def finished(out: Path) -> int:
    return len(list((out / CACHE_FOLDER).glob("[!.]*.parquet")))


def wait_for_more(process: "subprocess.Popen[bytes]", out: Path, before: int) -> None:
    """Wait until a new cell is there, or the process is done."""
    wait_until(lambda: process.poll() is not None or finished(out) != before, "a new cell")


def test_killed_at_any_moment_it_ends_with_the_same_table(tmp_path: Path) -> None:
    experiment, out = long_experiment(tmp_path), tmp_path / "killed"
    undisturbed = run(experiment, tmp_path / "whole", workers=1)
    rng = np.random.default_rng(11)
    killed = 0
    for k in range(10):  # seven times at work, three times while it starts
        process, before = started(tmp_path, out, workers=1 + (k % 4 == 1)), finished(out)
        if k % 4 == 0:
            time.sleep(rng.uniform(0, 1))
        else:
            wait_for_more(process, out, before)
            time.sleep(rng.uniform(0, 0.08))
        os.killpg(process.pid, signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed > 0
    require_same(run(experiment, out, workers=2), undisturbed)


def test_a_worker_that_dies_costs_nothing_but_time(tmp_path: Path) -> None:
    experiment, out = long_experiment(tmp_path), tmp_path / "worker"
    process = started(tmp_path, out, workers=2)
    wait_for_more(process, out, 0)
    workers = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "spawn_main"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    for worker in workers[:1]:
        os.kill(int(worker), signal.SIGKILL)
    assert process.wait(timeout=LIMIT) == 0
    require_same(run(experiment, tmp_path / "whole", workers=1), read_results(out / "long"))


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="cannot be written"):
        run(EXPERIMENT, tmp_path / "file" / "below", workers=1)


def test_a_folder_that_cannot_be_written_is_refused_for_fresh_cells_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="cannot be written"):
        run(EXPERIMENT, tmp_path / "file" / "below", workers=1, fresh=True)
