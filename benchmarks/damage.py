"""`python -m benchmarks.damage`: damage snapshots, and count those that are accepted."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.kills import LEVELS, POLICY, end, start
from benchmarks.load import CaseSource, Tally, traffic
from thrifty.errors import SaveError
from thrifty.service.audit import fold_log
from thrifty.service.engine import Engine
from thrifty.service.snapshots import restore_snapshot
from thrifty.service.stores import open_store


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with one kind of damage."""
    while True:
        changed = rng.choice(DAMAGES)(bytearray(data), rng)
        if bytes(changed) != data:
            return bytes(changed)


def _flip(data: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.choice((1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def _overwrite(data: bytearray, rng: random.Random) -> bytearray:
    size = min(len(data), rng.choice((1, 4, 64, 512, 4096)))
    place = rng.randrange(len(data) - size + 1)
    data[place : place + size] = rng.randbytes(size) if rng.random() < 0.5 else bytes(size)
    return data


def _truncate(data: bytearray, rng: random.Random) -> bytearray:
    return data[: rng.randrange(len(data))]


def _add(data: bytearray, rng: random.Random) -> bytearray:
    return data + rng.randbytes(rng.choice((1, 22, 1000)))


def _move(data: bytearray, rng: random.Random) -> bytearray:
    place, size = rng.randrange(len(data)), rng.choice((1, 16, 512))
    return data[:place] + data[place + size :] + data[place : place + size]


DAMAGES = (_flip, _overwrite, _truncate, _add, _move)


def main() -> int:
    """Damage a snapshot of a service under load, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.damage", description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        policy, path = Path(folder) / "policy.toml", Path(folder) / "store.db"
        policy.write_text(POLICY)
        process, port = start(policy, path)
        load = traffic(
            port, "lending", CaseSource(LEVELS), connections=16, cases=50, seed=1, tally=Tally()
        )
        asyncio.run(load)
        end(process)
        store = open_store(str(path))
        spec = store.policies.specs()[0]
        wanted, data = fold_log(store, spec).digest(), next(store.snapshots.load(spec))
        accepted, started, tried, rng = 0, 0, 0, random.Random(5)
        for k in range(options.files):
            bad = damaged(data, rng)
            try:
                restore_snapshot(bad, spec, store)
                accepted += 1
            except SaveError:
                pass
            if k % (options.files // 20 or 1) == 0:
                for file in path.with_name("store.db.snapshots").iterdir():
                    file.write_bytes(bad)
                tried += 1
                started += Engine(store).projection(spec.tenant, spec.name).digest() == wanted
        store.close()
        print(f"damaged snapshots of {len(data)} bytes    {options.files}")
        print(f"accepted                             {accepted}")
        print(f"services started from the log        {started} of {tried}")
    return int(accepted > 0)


if __name__ == "__main__":
    sys.exit(main())
