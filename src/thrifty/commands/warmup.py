"""`thrifty warmup`: compile everything before it is needed."""

from __future__ import annotations

from typing import Annotated

import typer

from thrifty.commands.show import progress_bar
from thrifty.policies import POLICIES, policy_named


def warmup(
    policies: Annotated[
        list[str] | None, typer.Argument(help="Policies by name; by default all of them.")
    ] = None,
) -> None:
    """Compile policies now, so that no first run and no first decision has to wait for it.

    The machine code is kept on disk, beside the package or in the user's cache
    folder; where neither can be written, every process compiles for itself.

    Example: thrifty warmup ncc-ucrl2
    """
    names = policies or list(POLICIES)
    for name in names:
        policy_named(name)
    from thrifty.kernels.runtime.compilation import (
        CACHE_FOLDER,  # slow to import, and only needed here
    )
    from thrifty.simulation import warm_up

    if CACHE_FOLDER is None:
        typer.echo("No folder for machine code can be written: every process compiles for itself.")
        return
    with progress_bar("policies", len(names)) as advance:
        for name in names:
            warm_up(name)
            advance(1)
    typer.echo(f"{', '.join(names)}: compiled, in {CACHE_FOLDER}")
