"""Run checks, and report which one failed and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from thrifty.errors import CheckFailed, ThriftyError

T = TypeVar("T")


def require(holds: bool, happened: str) -> None:
    """Raise `CheckFailed` with `happened` as the message unless `holds`."""
    if not holds:
        raise CheckFailed(happened)


def require_refused(call: Callable[[], object], what: str, refusal: type[ThriftyError]) -> None:
    """Raise `CheckFailed` unless `call` raises the expected error."""
    try:
        call()
    except refusal:
        return
    except Exception as error:
        raise CheckFailed(
            f"{what} raised {type(error).__name__} ({error}) instead of {refusal.__name__}"
        ) from error
    raise CheckFailed(f"{what} was accepted instead of raising {refusal.__name__}")


def run_checks(checks: Iterable[Callable[[T], None]], subject: T, name: str) -> None:
    """Run checks in order; the error of a failed check names it and says what happened."""
    for check in checks:
        try:
            check(subject)
        except CheckFailed as failure:
            raise CheckFailed(_message(check, name, str(failure))) from failure.__cause__
        except Exception as error:
            happened = f"a valid call raised {type(error).__name__} ({error})"
            raise CheckFailed(_message(check, name, happened)) from error


def _message(check: Callable[[T], None], name: str, happened: str) -> str:
    promise = (check.__doc__ or "").strip().partition("\n")[0]
    promise = promise[:1].lower() + promise[1:]
    return f"{name} fails {check.__name__}: {happened}. The interface promises to {promise}"
