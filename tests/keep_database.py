"""`python tests/keep_database.py`: keeps a database of the newest schema, of each kind, for later.

Run it once with the release that brings a new schema; a file that is there is never written again.
"""

import random
import re
import subprocess
import tempfile
from pathlib import Path

import ladder
from postgres_server import PostgresServer, postgres_programs
from service.engines import DAY, EngineHarness, run_with_engine
from small_service import ladder_text
from thrifty.service.stores.schema import REVISION
from waiting import until

FOLDER = Path(__file__).parent / "service" / "databases"
_ABOUT_THE_SERVER = re.compile(r"^(--|SET |SELECT pg_catalog\.set_config|\\).*\n", re.MULTILINE)


LEVELS = {
    "income": ("low", "high", "high"),
    "history": ("none", "arrears", "clean", "clean"),
    "score": ("bad", "good"),
    "fraud": ("yes", "no"),
    "address": ("new", "old"),
}
TEXT = ladder_text(rule='deadline = "1d"\nlearn_late = true')


async def _scene(harness: EngineHarness) -> None:
    """Play 24 cases with purchases in steps, some of which never get a reward."""
    harness.engine.holder = "keeper"  # instead of the name of the machine
    rng = random.Random(1)
    for k in range(24):
        case = await _acted(harness, rng, k)
        if k == 9:
            harness.clock.at += 2 * DAY
        if k == 5:
            await harness.abandon(case)
        elif k % 4 < 3:
            await harness.reward(case, outcome=rng.choice(("repaid", "default")))
        await harness.settled()
    await harness.open(age=18)
    await until(lambda: harness.engine.leads(harness.projection))  # the leader saves a snapshot


async def _acted(harness: EngineHarness, rng: random.Random, k: int) -> str:
    """Open a case and buy what it asks for; some values are unavailable."""
    event = await harness.open(age=None if k % 6 == 0 else 15 + 3 * k)
    while event.body.get("buy"):
        values = {name: rng.choice((*LEVELS[name], None)) for name in event.body["buy"]}
        costs = {"address": 0.5} if "address" in values else {}
        event = await harness.observe(event.case, values, costs=costs, available=_available(k))
    return event.case


def _available(k: int) -> list[str] | None:
    return ["approve"] if k % 5 == 4 else None


def keep_sqlite(path: Path) -> None:
    """Keep the file."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "store.db"
        run_with_engine(made, _scene, text=TEXT)
        path.write_bytes(made.read_bytes())


def keep_postgres(path: Path) -> None:
    """Keep a dump without version and host names."""
    programs = postgres_programs()
    assert programs is not None, "there is no PostgreSQL: apt-get install postgresql"
    server = PostgresServer(programs)
    try:
        url = server.new_database()
        run_with_engine(url, _scene, text=TEXT)
        command = [
            str(programs / "pg_dump"),
            "--no-owner",
            "--no-privileges",
            "--rows-per-insert=100",
        ]
        dump = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    finally:
        server.remove()
    path.write_text(re.sub(r"\n{2,}", "\n", _ABOUT_THE_SERVER.sub("", dump)).lstrip())


if __name__ == "__main__":
    ladder.register()
    for ending, keep in (("db", keep_sqlite), ("sql", keep_postgres)):
        if not (FOLDER / f"{REVISION}.{ending}").exists():
            keep(FOLDER / f"{REVISION}.{ending}")
