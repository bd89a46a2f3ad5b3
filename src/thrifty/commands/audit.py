"""`thrifty audit`: proves that the log explains every decision."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from thrifty.commands.options import AsJson
from thrifty.commands.output import show_json
from thrifty.commands.serve import StoreAddress
from thrifty.commands.startup_notice import notice_if_slow
from thrifty.errors import UnknownName


def audit(
    store: StoreAddress,
    policy: Annotated[str | None, typer.Option(help="Only this policy.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make every decision of a store again, from its log alone, and compare bit for bit.

    Also the snapshots are compared with the log, and what became of every reward with the rule.
    The first difference is named, and the exit code is then 1. A service may go on meanwhile.

    Example: thrifty audit thrifty.db
    """
    from thrifty.service.audit import audit as audited
    from thrifty.service.stores import open_store

    opened = open_store(store, read_only=True)
    try:
        specs = opened.specs()
        _require_known(policy, [spec.name for spec in specs])
        with notice_if_slow():
            audits = [audited(opened, spec) for spec in specs if policy in (None, spec.name)]
    finally:
        opened.close()
    if as_json:
        show_json([asdict(report) for report in audits])
    else:
        for report in audits:
            verdict = "every decision follows from the log, bit for bit"
            if report.difference is not None:
                verdict = f"FIRST DIFFERENCE: {report.difference}"
            typer.echo(
                f"{report.policy}: {report.events} events, {report.decisions} decisions made "
                f"again, {report.learnt} rounds learnt, {report.snapshots} snapshots compared; "
                f"{verdict}."
            )
            typer.echo(f"  state {report.state}")
    if any(report.difference is not None for report in audits):
        raise typer.Exit(1)


def _require_known(policy: str | None, known: list[str]) -> None:
    """Refuse a name of no policy: nothing audited must not pass for nothing found."""
    if policy is not None and policy not in known:
        raise UnknownName(
            f"the store has no policy {policy!r}, so nothing was audited: it has "
            f"{', '.join(sorted(set(known))) or 'none'}."
        )
