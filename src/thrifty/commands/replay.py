"""`thrifty replay`: a fresh policy learns what an exported log knows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.startup_notice import notice_if_slow


def replay(
    log: Annotated[Path, typer.Argument(help="A file that `thrifty export` wrote.")],
    policy: Annotated[Path, typer.Argument(help="policy.toml of the fresh policy.")],
    of: Annotated[
        str | None, typer.Option(help="The policy in the log; by default of the same name.")
    ] = None,
    save: Annotated[Path, typer.Option(help="Where to save the agent.")] = Path("agent.npz"),
) -> None:
    """Teach a fresh policy the rounds of a log, and save it for `agent = ...` in its policy.toml.

    The features, levels, actions and range of rewards must hold those of the log; the policy, its
    parameters, its seed and prices may be others. What is learnt are the rewards that the log's own
    rule came to; that of the fresh policy is for the cases that it decides itself.

    Example: thrifty replay log.parquet new.toml --of lending
    """
    from thrifty.commands.policy_files import read_complete_spec
    from thrifty.service.export import exported_events
    from thrifty.service.replay import replay as replayed

    spec = read_complete_spec(policy)
    with notice_if_slow():
        done = replayed(spec, exported_events(log, of or spec.name, spec.tenant), save)
    typer.echo(
        f"{spec.name}: {done.learnt} rounds learnt of {done.cases} cases; it would have bought the "
        f"same in {done.same_purchase} of them. Saved: {save}"
    )
