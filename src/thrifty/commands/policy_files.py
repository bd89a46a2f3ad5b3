"""Read policy files for commands: what there is to know about their format goes to stderr."""

from __future__ import annotations

from pathlib import Path

import typer

from thrifty.policy_file import PolicyFile, read_policy_file, read_rewards, read_spec
from thrifty.specification import PolicySpec


def read_complete_spec(path: Path) -> PolicySpec:
    """Read a policy.toml that is complete, for a policy that decides."""
    return read_spec(path, notify=_notify)


def read_table_file(path: Path | None, rewards: Path | None = None) -> PolicyFile:
    """Read what `thrifty worth` is told about a table; rewards may be in a file of their own."""
    file = PolicyFile() if path is None else read_policy_file(path)
    for notice in file.notices:
        _notify(notice)
    return file if rewards is None else read_rewards(rewards, file)


def _notify(notice: str) -> None:
    typer.echo(f"thrifty: {notice}", err=True)
