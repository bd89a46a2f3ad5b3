"""`thrifty warmup`: compile policies before they are needed."""

from __future__ import annotations

from typing import Annotated

import typer

from thrifty.commands.output import progress_bar
from thrifty.policies import POLICIES, policy_named


def warmup(
    policies: Annotated[
        list[str] | None, typer.Argument(help="Names of policies (default: all).")
    ] = None,
) -> None:
    """Compile policies now, so that the first run and the first decision are fast.

    Compiled code is kept on disk, next to the package or in your cache folder. If neither is
    writable, every process compiles again.

    Example: thrifty warmup ncc-ucrl2
    """
    names = policies or list(POLICIES)
    for name in names:
        policy_named(name)
    # Slow to import, and only needed for valid names.
    from thrifty.kernels.runtime.compilation import CACHE_FOLDER
    from thrifty.simulation import warm_up

    if CACHE_FOLDER is None:
        typer.echo("There is no writable folder for compiled code: every process compiles again.")
        return
    with progress_bar("policies", len(names)) as advance:
        for name in names:
            warm_up(name)
            advance(1)
    typer.echo(f"Compiled {', '.join(names)} to {CACHE_FOLDER}")
