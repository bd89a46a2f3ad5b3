"""`thrifty demote`: go back to the policy that acted before a promotion."""

from __future__ import annotations

import typer

from thrifty.commands.promote import Key, Name, Url


def demote(name: Name, url: Url = "http://127.0.0.1:8000", key: Key = None) -> None:
    """Go back to the policy that acted before the last promotion.

    With `promote = "when-better"`, no shadow takes over by itself any more until you promote one or
    change the shadows in policy.toml.

    Example: thrifty demote lending
    """
    from thrifty.client import Client

    with Client(url, key=key) as client:
        done = client.demote(name)
    typer.echo(f"{done['acting']} acts for {name} again; {done['former']} is a shadow.")
