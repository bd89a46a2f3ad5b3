"""`python tests/keep_database.py`: keeps a database of the newest schema, of each kind, for later.

Run it once with the release that brings a new schema; a file that is there is never written again.
"""

import asyncio
import re
import subprocess
import tempfile
from pathlib import Path

from postgres_server import PostgresServer, postgres_programs
from service.desks import Office, in_office
from thrifty.service.stores.schema import REVISION

FOLDER = Path(__file__).parent / "service" / "databases"
_ABOUT_THE_SERVER = re.compile(r"^(--|SET |SELECT pg_catalog\.set_config|\\).*\n", re.MULTILINE)


async def _scene(it: Office) -> None:
    """Live through 20 cases, of which 15 are rewarded."""
    it.desk.holder = "keeper"  # no name of a machine
    for k in range(20):
        case = await it.acted()
        if k % 4 < 3:
            await it.reward(case, float(k))
    await it.settled()
    while not it.desk.leads(it.book):  # who leads leaves a snapshot
        await asyncio.sleep(0.01)


def keep_sqlite(path: Path) -> None:
    """Keep the file."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "store.db"
        in_office(made, _scene)
        path.write_bytes(made.read_bytes())


def keep_postgres(path: Path) -> None:
    """Keep a dump that names no version and no host."""
    programs = postgres_programs()
    assert programs is not None, "there is no PostgreSQL: apt-get install postgresql"
    server = PostgresServer(programs)
    try:
        url = server.new_database()
        in_office(url, _scene)
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
    for ending, keep in (("db", keep_sqlite), ("sql", keep_postgres)):
        if not (FOLDER / f"{REVISION}.{ending}").exists():
            keep(FOLDER / f"{REVISION}.{ending}")
