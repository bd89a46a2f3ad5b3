"""`thrifty promote`: let a shadow act."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(help="Name of the policy.")]
Url = Annotated[str, typer.Option(help="Address of the service.")]
Key = Annotated[
    str | None,
    typer.Option(
        envvar="THRIFTY_KEY", help="API key with the scope admin, if the service needs keys."
    ),
]


def promote(
    name: Name,
    shadow: Annotated[str, typer.Argument(help="Name of the shadow that is to act.")],
    url: Url = "http://127.0.0.1:8000",
    key: Key = None,
) -> None:
    """Let a shadow act from now on; the policy that acted becomes a shadow.

    The change is an event of the log. Cases that are open stay with the policy that opened them.

    Example: thrifty promote lending challenger
    """
    from thrifty.client import Client

    with Client(url, key=key) as client:
        done = client.promote(name, shadow)
    typer.echo(f"{done['acting']} acts for {name} from now on; {done['former']} is a shadow.")
