"""`thrifty audit`: repeat the decisions of a store and compare them with its log."""

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
    policy: Annotated[str | None, typer.Option(help="Audit only this policy.")] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat every decision of a store from its log, and compare bit for bit.

    The audit also runs all fits of models again, and checks the use of every reward and all
    snapshots. It reports the first difference, and then exits with code 1. A service may keep
    running meanwhile.

    Example: thrifty audit thrifty.db
    """
    from thrifty.service.audit import audit as audit_policy
    from thrifty.service.stores import open_store

    opened = open_store(store, read_only=True)
    try:
        specs = opened.policies.specs()
        _require_known(policy, [spec.name for spec in specs])
        with notice_if_slow():
            reports = [audit_policy(opened, spec) for spec in specs if policy in (None, spec.name)]
    finally:
        opened.close()
    if as_json:
        show_json([asdict(report) for report in reports])
    else:
        for report in reports:
            verdict = "every decision follows from the log, bit for bit"
            if report.difference is not None:
                verdict = f"FIRST DIFFERENCE: {report.difference}"
            fits = f"{report.fits} fits run again, " if report.fits else ""
            typer.echo(
                f"{report.policy}: {report.events} events, {report.decisions} decisions repeated, "
                f"{report.learnt} rounds learnt, {fits}{report.snapshots} snapshots compared; "
                f"{verdict}."
            )
            if report.other_machines is not None:
                typer.echo(f"  OTHER ARITHMETIC: {report.other_machines}.")
            typer.echo(f"  state {report.state}")
    if not all(report.passed for report in reports):
        raise typer.Exit(1)


def _require_known(policy: str | None, known: list[str]) -> None:
    """Refuse an unknown policy, so that an audit of nothing does not look like a success."""
    if policy is not None and policy not in known:
        raise UnknownName(
            f"the store has no policy {policy!r}, so nothing was audited: its policies are "
            f"{', '.join(sorted(set(known))) or 'none'}."
        )
