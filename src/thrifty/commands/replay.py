"""`thrifty replay`: teach a new policy the rounds of an exported log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.startup_notice import notice_if_slow


def replay(
    log: Annotated[Path, typer.Argument(help="A file written by `thrifty export`.")],
    policy: Annotated[Path, typer.Argument(help="policy.toml of the new policy.")],
    of: Annotated[
        str | None,
        typer.Option(help="Name of the policy in the log. Default: the name of the new policy."),
    ] = None,
    save: Annotated[Path, typer.Option(help="Where to save the agent.")] = Path("agent.npz"),
) -> None:
    """Teach a new policy the rounds of an exported log, and save it as an agent.

    Name the saved file as `agent = ...` in the new policy.toml. The new policy needs all features,
    levels and actions of the log, and a range of rewards that includes those of the log; the kind
    of policy, its parameters, seed and prices may differ. It learns the rewards that the rule of
    the logged policy selected.

    Example: thrifty replay log.parquet new.toml --of lending
    """
    from thrifty.commands.policy_files import read_complete_spec
    from thrifty.service.export import exported_events
    from thrifty.service.replay import replay as replay_log

    spec = read_complete_spec(policy)
    with notice_if_slow():
        result = replay_log(spec, exported_events(log, of or spec.name, spec.tenant), save)
    typer.echo(
        f"{spec.name}: learnt {result.learnt} rounds from {result.cases} cases; it would have "
        f"bought the same in {result.same_purchase} of them. Saved: {save}"
    )
