"""Small policies, and services that run as commands."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

from waiting import LIMIT

T = TypeVar("T")
THRIFTY = Path(sys.executable).with_name("thrifty")

POLICY = """
[policy]
name = "{name}"
policy = "{policy}"
seed = 1
{more}

[[features]]
name = "income"
levels = ["low", "high"]
price = 0.4

[[features]]
name = "history"
levels = ["none", "clean", "arrears"]
price = 1.5

[[features]]
name = "age"
levels = ["young", "middle", "old"]
edges = [30, 60]

[actions]
names = ["decline", "approve"]

[rewards]
unit = "EUR"
low = -900
high = 120

[reward_rule]
{rule}
"""
LADDER = """
[policy]
name = "{name}"
policy = "{policy}"
seed = 1
{more}

[[features]]
name = "income"
levels = ["low", "high"]
price = 0.4

[[features]]
name = "history"
levels = ["none", "arrears", "clean"]
price = 1.5

[[features]]
name = "age"
edges = [30, 60]
missing = "unknown"
free = true

[[features]]
name = "score"
levels = ["bad", "good"]

[[features]]
name = "fraud"
levels = ["yes", "no"]

[[features]]
name = "address"
levels = ["new", "old"]

[[groups]]
name = "bureau"
features = ["income", "history"]
setup = 0.6

[[bundles]]
name = "report"
features = ["score", "fraud"]
price = 5.0

[actions]
names = ["decline", "approve"]

[rewards]
unit = "EUR"
low = -900
high = 120

{outcomes}

[reward_rule]
{rule}
"""
OUTCOMES = """
[outcomes]
names = ["repaid", "default"]
[outcomes.rewards]
decline = 0
approve = {repaid = 120, default = -900}
"""
LEVELS = {
    "income": ("low", "high"),
    "history": ("none", "clean", "arrears"),
    "age": ("young", "old"),
}


def policy_text(
    name: str = "lending", policy: str = "linucb", more: str = "", rule: str = ""
) -> str:
    """Return a policy.toml; LinUCB buys everything and compiles quickly."""
    return POLICY.format(name=name, policy=policy, more=more, rule=rule)


def ladder_text(
    name: str = "lending",
    policy: str = "ladder",
    more: str = "",
    rule: str = "",
    outcomes: str = OUTCOMES,
) -> str:
    """Return a policy.toml with every kind of entry; `ladder.Ladder` buys in steps."""
    return LADDER.format(name=name, policy=policy, more=more, rule=rule, outcomes=outcomes)


def ladder_file(folder: Path, **changes: str) -> Path:
    """Write a policy.toml with every kind of entry."""
    path = folder / f"{changes.get('name', 'policy')}.toml"
    path.write_text(ladder_text(**changes), encoding="utf-8")
    return path


def policy_file(folder: Path, **changes: str) -> Path:
    """Write a policy.toml."""
    path = folder / f"{changes.get('name', 'policy')}.toml"
    path.write_text(policy_text(**changes), encoding="utf-8")
    return path


class Served:
    """A service that runs as a command."""

    def __init__(
        self,
        *arguments: object,
        port: int = 0,
        errors: Path | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        command = [str(THRIFTY), "serve", *map(str, arguments), "--port", str(port)]
        self.errors = errors
        with (errors or Path(os.devnull)).open("ab") as noted:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=noted,
                text=True,
                env={**env, "PYTHONUNBUFFERED": "1"},
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            self.kill()
        assert found, f"it did not start: {line} {errors.read_text() if errors else ''}"
        self.url = found[0]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def kill(self) -> None:
        """Kill the process without warning."""
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self) -> None:
        """Stop the service with a signal."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=LIMIT)
        self._close()

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def served(
    *arguments: object, errors: Path | None = None, env: Mapping[str, str] = os.environ
) -> Iterator[Served]:
    """Run `thrifty serve` while the block runs."""
    service = Served(*arguments, errors=errors, env=env)
    try:
        yield service
    finally:
        service.stop()


def post(client: httpx.Client, path: str, body: object, key: str | None = None) -> httpx.Response:
    """Send a write request, with a new key unless one is given."""
    return client.post(path, json=body, headers={"Idempotency-Key": key or os.urandom(8).hex()})


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in another thread: an open browser already runs an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
