"""Commands need more than Thrifty alone installs: what is missing is said, and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.markup import escape

from thrifty.errors import InvalidParameter

_EXTRAS = {
    "worth": "worth",
    "init": "worth",
    "example": "worth",
    "figures": "figures",
    "serve": "service",
    "key": "service",
    "audit": "service",
    "export": "service",
    "replay": "service",
}
"""What to install for a command; for all others, `experiments`."""


@contextmanager
def installed(command: str) -> Iterator[None]:
    """Turn a missing package into a line that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("thrifty"):
            raise
        extra = _EXTRAS.get(command, "experiments")
        raise InvalidParameter(
            f"the package {error.name!r} is missing, which `thrifty {command}` needs: "
            f"pip install 'thrifty[{extra}]'."
        ) from error


def refusing(error: InvalidParameter) -> Callable[[], None]:
    """Return what stands for a command that cannot be imported: it says why, and its help does."""

    def refuse() -> None:
        raise error

    refuse.__doc__ = f"Not available: {escape(str(error))}"
    return refuse
