"""Read policy files for commands; notices about old formats go to stderr."""

from __future__ import annotations

from pathlib import Path

import typer

from thrifty.policy_file import PolicyFile, read_policy_file, read_rewards, read_spec
from thrifty.specification import PolicySpec


def read_complete_spec(path: Path) -> PolicySpec:
    """Read a complete policy.toml, for a policy that decides."""
    return read_spec(path, notify=_print_notice)


def read_table_file(path: Path | None, rewards: Path | None = None) -> PolicyFile:
    """Read a policy.toml for `thrifty worth`; rewards may be in a separate file."""
    file = PolicyFile() if path is None else read_policy_file(path)
    for notice in file.notices:
        _print_notice(notice)
    return file if rewards is None else read_rewards(rewards, file)


def _print_notice(notice: str) -> None:
    typer.echo(f"thrifty: {notice}", err=True)
