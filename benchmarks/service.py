"""`python -m benchmarks.service`: throughput and latency of the service on SQLite.

Complete cases on 32 connections, with every event written to disk. The load generator shares the
machine's cores with the service. Some cases are never finished, so that their deadline ends them.
With --policy surveyor, models are fitted in another process meanwhile. With --shadows, services
without and with two shadows are loaded in turn, and the ratios of their throughput and of their
processor time are printed. The latter says what shadows cost on a machine that does other work too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from array import array
from pathlib import Path
from statistics import median
from typing import NamedTuple

import uvloop

from benchmarks.kills import LEVELS, POLICIES, end, repaid, start, write_policy
from benchmarks.load import CaseSource, Tally, connect, traffic
from benchmarks.soak import fetch

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
ROUNDS = 3
MAX_RATIO = 1.67
"""Two shadows may take 40% of the throughput: 1 / 0.6."""


def memory(pid: int) -> float:
    """Return the resident memory of a process, in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 1e6


def processor(pid: int) -> float:
    """Return the processor time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Load(NamedTuple):
    """What a service has done: requests a second, and its processor time for each."""

    rate: float
    processor: float


async def open_unfinished(port: int, count: int) -> None:
    """Open cases that are never finished."""
    line = await connect(port)
    for _ in range(count):
        await line.post("/v1/policies/lending/cases", {}, os.urandom(8).hex())
    line.transport.close()


async def measure(port: int, pid: int, source: CaseSource, requests: int, connections: int) -> Load:
    """Load the service in ten parts, and print the times of each."""
    part, all_seconds, used = requests // 10, array("d"), processor(pid)
    whole = time.perf_counter()
    await traffic(
        port, "lending", source, connections=connections, cases=20, seed=0, tally=_light()
    )
    print("  requests/s   p50 ms   p99 ms   max ms   service us/request   load us/request   MB")
    for k in range(10):
        tally = _light()
        begun, service, own = time.perf_counter(), processor(pid), time.process_time()
        await asyncio.gather(
            open_unfinished(port, part // 60),
            traffic(
                port,
                "lending",
                source,
                connections=connections,
                cases=max(1, part // connections // 3),
                seed=k + 1,
                tally=tally,
            ),
        )
        seconds, number = time.perf_counter() - begun, len(tally.seconds) + part // 60
        took = sorted(tally.seconds)
        assert not tally.errors, tally.errors[:3]
        print(
            f"{number / seconds:12.0f} {1e3 * took[len(took) // 2]:8.1f} "
            f"{1e3 * took[int(0.99 * len(took))]:8.1f} {1e3 * took[-1]:8.1f} "
            f"{1e6 * (processor(pid) - service) / number:20.0f} "
            f"{1e6 * (time.process_time() - own) / number:17.0f} {memory(pid):6.0f}",
            flush=True,
        )
        all_seconds.extend(took)
    took, seconds = sorted(all_seconds), time.perf_counter() - whole
    print(
        f"{len(took):,} requests: {len(took) / seconds:,.0f} a second, "
        f"p99 {1e3 * took[int(0.99 * len(took))]:.1f} ms, p99.9 "
        f"{1e3 * took[int(0.999 * len(took))]:.1f} ms"
    )
    return Load(len(took) / seconds, (processor(pid) - used) / len(took))


def _light() -> Tally:
    return Tally(keep_cases=False)


def main() -> int:
    """Start a service, load it, and print the measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--policy", choices=sorted(POLICIES), default="scout")
    parser.add_argument("--shadows", action="store_true", help="compare with two shadows beside it")
    options = parser.parse_args()
    if not options.shadows:
        load_service(options.policy, options.requests, options.connections)
        return 0
    loads: dict[bool, list[Load]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for shadows in loads:
            print(f"{'two shadows' if shadows else 'no shadows'}:")
            load = load_service(
                options.policy, options.requests, options.connections, shadows=shadows
            )
            loads[shadows].append(load)
    rates = [median(load.rate for load in loads[shadows]) for shadows in loads]
    times = [median(load.processor for load in loads[shadows]) for shadows in loads]
    ratio = times[1] / times[0]
    print(f"requests a second with two shadows   {rates[1] / rates[0]:.2f} of those without")
    print(f"processor time with two shadows      {ratio:.2f} times that without")
    print(f"requests that this leaves            {1 / ratio:.0%} (limit {1 / MAX_RATIO:.0%})")
    return int(ratio > MAX_RATIO)


def load_service(policy: str, requests: int, connections: int, *, shadows: bool = False) -> Load:
    """Start a service, load it, and return what it has done."""
    source = CaseSource(LEVELS)
    if policy == "surveyor":
        source.reward = repaid
    with tempfile.TemporaryDirectory() as folder:
        text = POLICIES[policy] + '[reward_rule]\ndeadline = "20s"\n'
        path, store = write_policy(Path(folder), text, shadows=shadows), Path(folder) / "store.db"
        begun = time.perf_counter()
        process, port = start(path, store)
        print(f"from the command until it listens: {time.perf_counter() - begun:.2f} s")
        try:
            load = uvloop.run(measure(port, process.pid, source, requests, connections))
            counts = fetch(port, "/v1/policies/lending")["counts"]
            print(f"fits used: {counts.get('fitted', 0)}")
        finally:
            end(process)
    return load


if __name__ == "__main__":
    sys.exit(main())
