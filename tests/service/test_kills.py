"""Kills under load: no acknowledged event is lost or applied twice."""

import json
import random
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

from benchmarks.kills import (
    Killing,
    kill_often,
    promote_or_demote,
    unsticky_keys,
    write_policy,
)
from benchmarks.load import CaseSource, Tally

from small_service import LEVELS, THRIFTY, Served, policy_file, policy_text, run_apart
from thrifty.client import Client
from thrifty.service.audit import audit, fold_log
from thrifty.service.stores import open_store
from waiting import until

WORLD = CaseSource(LEVELS, price=0.5)


def after_requests(fewest: int, most: int, seed: int) -> Callable[[Tally], Awaitable[None]]:
    """Return a function that waits for a random number of responses."""
    rng = random.Random(seed)

    async def moment(tally: Tally) -> None:
        enough = len(tally.seconds) + rng.randint(fewest, most)
        await until(lambda: len(tally.seconds) >= enough, "the traffic")

    return moment


def test_kill_9_under_load(tmp_path: Path) -> None:
    """A short version of benchmarks/kills.py, which kills 200 times and measures restarts."""
    policy, moment = policy_file(tmp_path), after_requests(100, 500, seed=1)
    done: Killing = run_apart(
        kill_often(policy, tmp_path / "store.db", WORLD, kills=6, moment=moment)
    )
    assert done.kills == 6
    assert done.acknowledged >= 600
    assert done.lost == []
    assert done.twice == []
    audit = subprocess.run(
        [str(THRIFTY), "audit", str(tmp_path / "store.db"), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert audit.returncode == 0, audit.stdout + audit.stderr
    (found,) = json.loads(audit.stdout)
    assert found["difference"] is None
    assert found["state"] == done.state


def test_kill_9_while_another_stands_by(tmp_path: Path) -> None:
    policy, moment = policy_file(tmp_path), after_requests(200, 300, seed=2)
    done: Killing = run_apart(
        kill_often(policy, tmp_path / "store.db", WORLD, kills=3, moment=moment, standby=True)
    )
    assert done.acknowledged >= 600
    assert done.lost == []
    assert done.twice == []


def test_kill_9_with_shadows_and_promotions(store_address: str, tmp_path: Path) -> None:
    """A short version of `benchmarks/kills.py --shadows`, on both kinds of store."""
    policy = write_policy(tmp_path, policy_text(), shadows=True, traffic=0.3)
    world = CaseSource(LEVELS, price=0.5, case_keys=40)
    moment = after_requests(150, 300, seed=3)
    done: Killing = run_apart(
        kill_often(
            policy, store_address, world, kills=4, moment=moment, after_start=promote_or_demote
        )
    )
    assert done.acknowledged >= 600
    assert done.lost == []
    assert done.twice == []
    with closing(open_store(store_address, read_only=True)) as store:
        (spec,) = store.policies.specs()
        found = audit(store, spec)
        assert found.passed, str(found.difference)
        assert found.state == done.state
        assert unsticky_keys(store, spec) == 0
        panel = fold_log(store, spec).panel
        assert panel.turn == 3  # the shadows, a promotion and its reversal
        assert all(member.model.rounds_learnt for member in panel.members)


def test_the_same_key_gives_the_same_answer_after_a_kill(tmp_path: Path) -> None:
    policy, store = policy_file(tmp_path), tmp_path / "store.db"
    service = Served(policy, "--store", store)
    with Client(service.url) as client:
        before = client.ask(free={"age": 5}, key="once")
    service.kill()
    service = Served(policy, "--store", store)
    with Client(service.url) as client:
        assert client.ask(free={"age": 5}, key="once") == before
        assert client.policy("lending")["open"] == 1
    service.stop()
    reader = open_store(str(store), read_only=True)
    assert fold_log(reader, reader.policies.specs()[0]).totals.counts == {"opened": 1}
    reader.close()
