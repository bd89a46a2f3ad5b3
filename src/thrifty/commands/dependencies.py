"""Optional dependencies of commands: say what to install if a package is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.markup import escape

from thrifty.errors import InvalidParameter
from thrifty.extras import missing_package_message

_EXTRAS = {
    "worth": "worth",
    "init": "worth",
    "score": "worth",
    "evaluate": "service",
    "example": "worth",
    "figures": "figures",
    "serve": "service",
    "key": "service",
    "audit": "service",
    "export": "service",
    "replay": "service",
}
"""Extra to install for a command; `experiments` for all others."""


@contextmanager
def explain_missing_package(command: str) -> Iterator[None]:
    """Turn the error about a missing package into one that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "thrifty":
            raise
        extra = _EXTRAS.get(command, "experiments")
        message = missing_package_message(f"`thrifty {command}`", error.name, extra)
        raise InvalidParameter(message) from error


def unavailable_command(error: InvalidParameter) -> Callable[[], None]:
    """Return the replacement for a command that cannot be imported, which raises the error."""

    def raise_error() -> None:
        raise error

    raise_error.__doc__ = f"Not available: {escape(str(error))}"
    return raise_error
