"""Commands that need more than Thrifty alone installs say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thrifty.errors import InvalidParameter


@contextmanager
def service_installed() -> Iterator[None]:
    """Turn a missing package into a line that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InvalidParameter(
            f"the package {error.name!r} is missing, which the service needs: "
            "pip install 'thrifty[service]'."
        ) from error
