"""`python -m benchmarks.kills`: kill the service (kill -9) at random moments under load.

After the last restart, every acknowledged request must be in the log exactly once, and the state of
the service must be, bit for bit, the state that a replay of the log gives.

With --standby, a second process waits and takes over from the one that is killed. With --policy
surveyor, the policy fits models while it is killed: a kill waits until up to two fits have ended
since the start, and then until another one runs. With --shadows, two shadows decide beside the
policy, one of them a fifth of the cases, and every third restart is followed by a promotion or its
reversal. With --store, the service writes to another store, such as an empty database of
PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.load import CaseSource, Tally, connect, traffic
from thrifty.service.audit import audit, fold_log, read_policy_log
from thrifty.service.engine import Engine
from thrifty.service.events import OBSERVED, OPENED
from thrifty.service.stores import Store, open_store
from thrifty.specification import PolicySpec

THRIFTY = Path(sys.executable).with_name("thrifty")
POLICY = """
[policy]
name = "lending"
policy = "scout"
[[features]]
name = "income"
levels = ["low", "high"]
[[features]]
name = "history"
levels = ["none", "clean", "arrears"]
[[features]]
name = "age"
levels = ["young", "old"]
[actions]
names = ["decline", "approve"]
"""
SURVEYOR = POLICY.replace('"scout"', '"surveyor"\nhorizon = 100_000').replace(
    "]\n[", "]\nprice = 0.02\n["
)
"""The same features and actions, with prices, for a policy that fits models."""
POLICIES = {"scout": POLICY, "surveyor": SURVEYOR}
SHADOWS = {"first": "linucb", "second": "uniform"}
"""Kinds of the shadows, by name."""
TRAFFIC = 0.2
SLOWEST_RATIO = 2.0  # a restart reads the log or a snapshot, and must not take much longer
LEVELS = {"income": ("low", "high"), "history": ("none", "clean"), "age": ("young", "old")}


def write_policy(folder: Path, text: str, *, shadows: bool = False, traffic: float = 0.0) -> Path:
    """Write a policy, with two shadows for the same problem if wanted; return its path."""
    path, (head, rest) = folder / "policy.toml", text.split("[[features]]", 1)
    if shadows:
        for name, kind in SHADOWS.items():
            own = f'[policy]\nname = "{name}"\npolicy = "{kind}"\n[[features]]{rest}'
            (folder / f"{name}.toml").write_text(own)
        listed = ", ".join(f'"{name}.toml"' for name in SHADOWS)
        head += f"shadow = [{listed}]\ntraffic = {traffic}\n"
    path.write_text(f"{head}[[features]]{rest}")
    return path


async def promote_or_demote(port: int, k: int) -> None:
    """After every third restart promote the first shadow, or go back."""
    if k % 3:
        return
    line, path = await connect(port), "/v1/policies/lending"
    promotes = k % 6 == 0
    body = {"shadow": "first"} if promotes else {}
    action = "promote" if promotes else "demote"
    status, answer = await line.post(f"{path}/{action}", body, f"{action}-{k}")
    line.transport.close()
    if status != 200:
        raise AssertionError(f"{action} returned {status}: {answer}")


def unsticky_keys(store: Store, spec: PolicySpec) -> int:
    """Return the number of keys with two deciders between two changes of the panel."""
    deciders: dict[tuple[str, int], set[str]] = {}
    for event in read_policy_log(store, spec):
        if event.kind == OPENED and "case_key" in event.body:
            key = event.body["case_key"], event.body["turn"]
            deciders.setdefault(key, set()).add(event.body["by"])
    return sum(len(names) > 1 for names in deciders.values())


def repaid(rng: random.Random, values: Mapping[str, str], action: str) -> float:
    """Return 1 if approving was right: most people with a clean history and an income repay."""
    chance = 0.9 if values.get("history") == "clean" and values.get("income") == "high" else 0.2
    return float((rng.random() < chance) == (action == "approve"))


@dataclass
class Killing:
    """Results."""

    kills: int = 0
    acknowledged: int = 0
    events: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    restarts: list[float] = field(default_factory=list)
    during_fits: int = 0
    state: str = ""

    @property
    def slowest_restart(self) -> float:
        """Longest time from a kill until the next process listens, in seconds."""
        return max(self.restarts)


def start(
    policy: Path, store: Path | str, port: int = 0, *, standby: bool = False
) -> tuple[subprocess.Popen[str], int]:
    """Start the service; return its process and port once it listens or waits on standby."""
    command = [str(THRIFTY), "serve", str(policy), "--store", str(store), "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--standby"] if standby else command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if standby:
        _read_line(process, "Standing by")
        return process, port
    return process, listening(process)


def listening(process: subprocess.Popen[str]) -> int:
    """Return the port once the process announces it."""
    return int(_read_line(process, r"Serving .*:(\d+)$")[1])


def _read_line(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(pattern, line)
    assert found, f"the service said {line!r}"
    return found


def end(process: subprocess.Popen[str], *, kill: bool = False) -> None:
    """Stop the service, or kill it as a power cut would."""
    process.kill() if kill else process.terminate()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


async def kill_often(
    policy: Path,
    store: Path | str,
    source: CaseSource,
    *,
    kills: int,
    moment: Callable[[Tally], Awaitable[None]],
    standby: bool = False,
    fit_seconds: float = 0.0,
    after_start: Callable[[int, int], Awaitable[None]] | None = None,
) -> Killing:
    """Kill the service repeatedly, then compare its acknowledgements with its log.

    `moment` waits until the time of the next kill. After it, a kill waits up to `fit_seconds` for
    fits to end, and as long again for a fit to run. `after_start` is called with the port and the
    number of kills so far while the load runs.
    """
    seen, tally = Killing(), Tally()
    with ExitStack() as ends:  # after any failure, no process is left running

        def started(*, beside: bool = False) -> tuple[subprocess.Popen[str], int]:
            process, heard = start(policy, store, port if beside else 0, standby=beside)
            ends.callback(end, process, kill=True)
            return process, heard

        process, port = started()
        for k in range(kills):
            load = asyncio.create_task(
                traffic(port, "lending", source, connections=32, cases=10**6, seed=k, tally=tally)
            )
            heir = (await asyncio.to_thread(started, beside=True))[0] if standby else None
            if after_start is not None:
                await after_start(port, k)
            await moment(tally)
            if fit_seconds:
                await _fits_ended(port, k % 3, fit_seconds)
            seen.during_fits += await _is_fitting(process.pid, fit_seconds)
            begun = time.monotonic()
            end(process, kill=True)
            process, port = started() if heir is None else (heir, listening(heir))
            seen.restarts.append(time.monotonic() - begun)
            await asyncio.gather(load, return_exceptions=True)
            seen.kills += 1
        end(process)
    if tally.errors:
        raise AssertionError(f"the service returned errors: {tally.errors[:3]}")
    return await asyncio.to_thread(_compare, seen, tally, store)


async def _fits_ended(port: int, count: int, seconds: float) -> None:
    """Wait until this many more fits are used, or for this many seconds."""
    until, wanted = time.monotonic() + seconds, await _fits_used(port) + count
    while time.monotonic() < until and await _fits_used(port) < wanted:
        await asyncio.sleep(0.02)


async def _fits_used(port: int) -> int:
    address = f"http://127.0.0.1:{port}/v1/policies/lending"
    answer = await asyncio.to_thread(lambda: urllib.request.urlopen(address).read())
    return int(json.loads(answer)["counts"].get("fitted", 0))


async def _is_fitting(pid: int, seconds: float) -> bool:
    """Return True as soon as the process has a child that works, as it runs fits in one."""
    until = time.monotonic() + seconds
    while not (found := _has_busy_child(pid)) and time.monotonic() < until:
        await asyncio.sleep(0.002)
    return found


def _has_busy_child(pid: int) -> bool:
    if not Path(f"/proc/{pid}/task").exists():  # not on Linux
        return False
    listed = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    stats = [Path(f"/proc/{child}/stat").read_text() for child in " ".join(listed).split()]
    return any(stat.rsplit(")", 1)[1].split()[0] == "R" for stat in stats)


def _compare(seen: Killing, tally: Tally, path: Path | str) -> Killing:
    store = open_store(str(path))
    spec = store.policies.specs()[0]
    engine = Engine(store)  # by snapshot and tail, as the service itself starts
    seen.state = engine.projection(spec.tenant, spec.name).digest()
    if seen.state != fold_log(store, spec).digest():
        raise AssertionError("the state after restarts is not that of an undisturbed replay")
    found = store.index.cases(list(tally.acknowledged))
    for case, keys in tally.acknowledged.items():
        there = Counter(event.key for event in found.get(case, []))
        once = Counter(event.kind for event in found.get(case, []) if event.kind != OBSERVED)
        seen.acknowledged += len(keys)
        seen.lost += [f"{case} {key}" for key in keys if not there[key]]
        seen.twice += [f"{case} {key}" for key, count in (there + once).items() if count > 1]
    seen.events = store.index.count()
    store.close()
    return seen


def main() -> int:
    """Kill the service and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=2.0, help="longest time between two kills")
    parser.add_argument("--standby", action="store_true", help="use a second process on standby")
    parser.add_argument("--policy", choices=sorted(POLICIES), default="scout")
    parser.add_argument("--shadows", action="store_true", help="let two shadows decide beside it")
    parser.add_argument("--store", help="an empty store; by default a SQLite file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"{folder}/store.db"
        text, traffic = POLICIES[options.policy], TRAFFIC if options.shadows else 0.0
        policy = write_policy(Path(folder), text, shadows=options.shadows, traffic=traffic)
        fits = options.policy == "surveyor"
        end(start(policy, store)[0])  # compiles, the first time
        begun = time.monotonic()
        end(start(policy, store)[0])
        fresh = time.monotonic() - begun
        source, rng = CaseSource(LEVELS), random.Random(7)
        source.case_keys = 500 if options.shadows else 0
        if fits:
            source.reward = repaid

        async def moment(_: Tally) -> None:
            await asyncio.sleep(options.seconds * rng.uniform(0.2, 1.0))

        seen = asyncio.run(
            kill_often(
                policy,
                store,
                source,
                kills=options.kills,
                moment=moment,
                standby=options.standby,
                fit_seconds=10.0 if fits else 0.0,
                after_start=promote_or_demote if options.shadows else None,
            )
        )
        reader = open_store(store, read_only=True)
        (spec,) = reader.policies.specs()
        proof, unsticky = audit(reader, spec), unsticky_keys(reader, spec)
        reader.close()
        restarts = sorted(seen.restarts)
        ratio = restarts[len(restarts) // 2] / fresh
        print(f"kills                     {seen.kills}")
        print(f"acknowledged              {seen.acknowledged}")
        print(f"events in the log         {seen.events}")
        print(f"lost                      {len(seen.lost)}")
        print(f"applied twice             {len(seen.twice)}")
        print(f"restart, median           {restarts[len(restarts) // 2]:.2f} s")
        print(f"restart, 95 %             {restarts[int(0.95 * len(restarts))]:.2f} s")
        print(f"restart, slowest          {restarts[-1]:.2f} s")
        print(f"restart, median           {ratio:.1f} times an ordinary start and stop")
        print(f"kills while a fit ran     {seen.during_fits}")
        print(f"fits run again            {proof.fits}")
        if options.shadows:
            print(f"keys with two deciders    {unsticky}")
        print(f"decisions made again      {proof.decisions}, first difference: {proof.difference}")
        print(f"took                      {time.monotonic() - begun:.0f} s")
    failed = seen.lost or seen.twice or unsticky or not proof.passed or ratio > SLOWEST_RATIO
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
