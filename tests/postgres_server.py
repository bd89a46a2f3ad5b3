"""A real PostgreSQL server for tests, which can be stopped and killed."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from waiting import wait_until

_USER = "postgres"


def postgres_programs() -> Path | None:
    """Return the folder of initdb and pg_ctl, if PostgreSQL is installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    return folders[0] if folders else Path(found).resolve().parent if found else None


class PostgresServer:
    """One server on a free port of this machine."""

    def __init__(self, programs: Path, *options: str) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="thrifty-postgres-"))
        if os.geteuid() == 0:  # PostgreSQL does not run as root
            shutil.chown(self.folder, _USER, _USER)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-U", _USER, "-A", "trust", "-N", *options)
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        options = (
            f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=80"
        )
        log = str(self.folder / "log")
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-o", options, "-l", log, "-w", "start"
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; `immediate` simulates a power failure."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def restart(self, mode: str = "immediate") -> None:
        """Restart the server."""
        self.stop(mode)
        self.start()

    def new_database(self) -> str:
        """Create an empty database, and return its address."""
        name = f"t{time.time_ns()}"
        with psycopg.connect(self.url(_USER), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def kill_backend(self, database: str) -> bool:
        """Kill one of the connections to a database with SIGTERM."""
        with psycopg.connect(self.url(_USER), autocommit=True) as connection:
            row = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = %s AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1",
                [database.rsplit("/", 1)[1]],
            ).fetchone()
        return row is not None

    def errors(self) -> int:
        """Return the number of statements that it has refused so far."""
        return (self.folder / "log").read_text().count("ERROR:")

    @property
    def pid(self) -> int:
        """Id of the main process of the server."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def limit_files(self, size: int | None) -> None:
        """Limit the size of files, to simulate a full disk."""
        prlimit = shutil.which("prlimit") or "prlimit"
        wanted = f"--fsize={'unlimited' if size is None else size}:"
        for pid in self._processes():
            with contextlib.suppress(AssertionError):  # it has ended meanwhile
                self._run(prlimit, f"--pid={pid}", wanted)

    def _processes(self) -> list[int]:
        """Return the main process and its children, which share its limits."""
        found = [self.pid]
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(path.read_text().rsplit(")", 1)[1].split()[1]) == self.pid:
                    found.append(int(path.parent.name))
        return found

    def url(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/{database}"

    def remove(self) -> None:
        """Stop the server and remove its files."""
        os.kill(self.pid, signal.SIGQUIT)
        wait_until(lambda: not (self.folder / "data" / "postmaster.pid").exists(), "its end")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", _USER, "--", *command]
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            check=False,
        )
        assert done.returncode == 0, done.stderr
