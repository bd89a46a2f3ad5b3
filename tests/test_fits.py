"""Fits in another process: the worker, and agents that decide meanwhile."""

import json
import logging
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fitter import GATE, Fitter, MeanFit
from thrifty import Agent, Problem
from thrifty.background_fits import run_due_fits
from thrifty.errors import FitFailed, StaleFit
from thrifty.fits import FitWorker, describe_machine
from waiting import LIMIT, wait_until

PROBLEM = Problem.anonymous(levels=(2, 3), n_actions=2)


@dataclass(frozen=True)
class BrokenFit:
    number: int = 4

    def run(self) -> bytes:
        print("this must not get between the results")
        raise ValueError("the models are too large")


@dataclass(frozen=True)
class DeadlyFit:
    number: int = 5

    def run(self) -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""


@dataclass(frozen=True)
class PriorityFit:
    number: int = 6

    def run(self) -> bytes:
        return json.dumps([os.getpid(), os.nice(0)]).encode()


def mean_fit(number: int = 1) -> MeanFit:
    return MeanFit(number, np.array([0, 1, 1]), np.array([1.0, 0.25, 0.75]), 2)


def play(agent: Agent, rounds: int, reward: float = 0.5) -> None:
    for _ in range(rounds):
        case = agent.ask()
        case = agent.observe(case, values=dict.fromkeys(case.buy, 0), costs={case.buy[0]: 0.1})
        agent.tell(case, reward)


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file; fits in other processes wait until it exists."""
    monkeypatch.setenv(GATE, str(tmp_path / "gate"))
    return tmp_path / "gate"


def test_a_policy_without_fits_refuses_results() -> None:
    policy = Agent(PROBLEM, "uniform", seed=1).policy
    assert policy.due_fit is None
    assert policy.status() == {}
    with pytest.raises(StaleFit, match="fit 3 cannot be used, because no fit is due"):
        policy.apply_fit(3, b"[]")


def test_only_the_due_fit_is_accepted() -> None:
    with Agent(PROBLEM, Fitter, every=1, seed=1, background=True) as agent:
        play(agent, 1)
        policy = agent.policy
        assert policy.due_fit is not None
        with pytest.raises(StaleFit, match="fit 9 cannot be used, because fit 1 is due"):
            policy.apply_fit(9, b"[]")


def test_the_worker_gives_the_result_of_a_fit() -> None:
    worker = FitWorker()
    try:
        results = [worker.submit(mean_fit(k)) for k in range(3)]
        assert [result.result(LIMIT) for result in results] == [b"[1.0, 0.5]"] * 3
        pid, niceness = json.loads(worker.submit(PriorityFit()).result(LIMIT))
        assert pid == worker.pid != os.getpid()
        assert niceness == min(os.nice(0) + 10, 19)
    finally:
        worker.close()
    assert worker.pid is None


def test_a_fit_that_fails_is_reported_and_the_worker_goes_on() -> None:
    worker = FitWorker()
    try:
        with pytest.raises(FitFailed, match="fit 4 has failed") as raised:
            worker.submit(BrokenFit()).result(LIMIT)
        assert "correct the policy" in str(raised.value)
        assert "the models are too large" in str(raised.value)
        with pytest.raises(FitFailed, match="died 3 times"):
            worker.submit(DeadlyFit()).result(LIMIT)
        with pytest.raises(FitFailed, match="cannot be sent to another process"):
            worker.submit(_unpicklable()).result(LIMIT)
        assert worker.submit(mean_fit()).result(LIMIT) == b"[1.0, 0.5]"
    finally:
        worker.close()


def _unpicklable() -> BrokenFit:
    @dataclass(frozen=True)
    class Hidden(BrokenFit):
        pass

    return Hidden()


def test_a_fit_is_repeated_if_its_process_dies(gate: Path) -> None:
    worker = FitWorker()
    try:
        result = worker.submit(mean_fit())
        wait_until(lambda: worker.pid, "the process")
        first = worker.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: worker.pid not in (None, first), "another process")
        gate.touch()
        assert result.result(LIMIT) == b"[1.0, 0.5]"
    finally:
        worker.close()


def test_closing_drops_what_is_running(gate: Path) -> None:
    worker = FitWorker()
    running, waiting = worker.submit(mean_fit()), worker.submit(mean_fit(2))
    wait_until(lambda: worker.pid, "the process")
    worker.close()
    for dropped in (running, waiting):
        with pytest.raises(FitFailed, match="was dropped"):
            dropped.result(LIMIT)
    gate.touch()
    assert worker.submit(mean_fit()).result(LIMIT) == b"[1.0, 0.5]"  # starts another process
    worker.close()
    worker.close()


def test_an_agent_decides_while_a_fit_runs(gate: Path) -> None:
    with Agent(PROBLEM, Fitter, every=5, seed=1, background=True) as agent:
        policy = agent.policy
        assert isinstance(policy, Fitter)
        play(agent, 12)
        due = policy.due_fit
        assert due is not None
        assert due.number == 1
        assert policy.means.tolist() == [0.0, 0.0]
        gate.touch()

        def is_applied() -> bool:
            play(agent, 1)
            return bool(policy.means.any())

        wait_until(is_applied, "the result of the fit")
        assert policy.means.tolist() == json.loads(due.run())


def test_a_stale_result_is_dropped(gate: Path) -> None:
    with Agent(PROBLEM, Fitter, every=5, seed=1, background=True) as agent:
        policy = agent.policy
        assert isinstance(policy, Fitter)
        play(agent, 5)
        play(agent, 1, reward=0.0)  # replaces the fit
        newer = policy.due_fit
        assert newer is not None
        assert newer.number == 2
        gate.touch()

        def is_applied() -> bool:
            agent.abandon(agent.ask())
            return policy.due_fit is None

        wait_until(is_applied, "the result of the newer fit")
        assert policy.means.tolist() == json.loads(newer.run())


def test_a_failed_fit_leaves_the_agent_working(caplog: pytest.LogCaptureFixture) -> None:
    class Unlucky(Fitter):
        def _fit(self) -> BrokenFit:  # type: ignore[override]
            return BrokenFit(self._fits)

    with (
        caplog.at_level(logging.ERROR, "thrifty"),
        Agent(PROBLEM, Unlucky, every=2, seed=1, background=True) as agent,
    ):
        play(agent, 2)

        def is_reported() -> bool:
            agent.abandon(agent.ask())
            return bool(caplog.records)

        wait_until(is_reported, "the failure")
        play(agent, 5)
    assert "fit 1 has failed" in caplog.text
    assert len(caplog.records) == 1


@pytest.mark.parametrize("background", [False, True])
def test_a_saved_agent_has_its_due_fit(gate: Path, tmp_path: Path, background: bool) -> None:
    with Agent(PROBLEM, Fitter, every=5, seed=1, background=True) as agent:
        play(agent, 8)
        due = agent.policy.due_fit
        assert due is not None
        agent.save(tmp_path / "agent.npz")
    gate.touch()
    with Agent.load(tmp_path / "agent.npz", policy=Fitter, background=background) as loaded:
        policy = loaded.policy
        assert isinstance(policy, Fitter)
        assert policy.rounds == 8

        def is_applied() -> bool:
            if background:
                loaded.abandon(loaded.ask())
            return policy.due_fit is None

        wait_until(is_applied, "the result of the saved fit")
        assert policy.means.tolist() == json.loads(due.run())
        assert policy.fits_beside == background


def test_fits_inside_update_and_beside_it_give_the_same_run() -> None:
    inside, beside = (Agent(PROBLEM, Fitter, every=3, seed=1, background=b) for b in (False, True))
    beside._fits = None  # this test runs the fits itself
    for _ in range(20):
        play(inside, 1)
        play(beside, 1)
        run_due_fits(beside.policy)
    for name, array in inside.policy.get_state().items():
        assert np.array_equal(array, beside.policy.get_state()[name]), name


def test_the_kind_of_machine_is_described() -> None:
    assert f"numpy {np.__version__}, numba " in describe_machine()
