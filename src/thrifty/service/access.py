"""API keys, their scopes and tenants, and rate limits."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thrifty.errors import AccessDenied, InvalidSpec
from thrifty.files import replace_file
from thrifty.specification import DEFAULT_TENANT

DECIDE, READ, ADMIN = SCOPES = ("decide", "read", "admin")
PREFIX = "thrifty_"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names that are allowed in URLs and headers."""
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Caller:
    """The sender of a request.

    Parameters
    ----------
    name : str
        Name of the key.
    tenant : str
        Tenant whose policies the key opens.
    scopes : frozenset of str
        What the key may be used for.
    """

    name: str
    tenant: str
    scopes: frozenset[str]


LOCAL = Caller("local", DEFAULT_TENANT, frozenset(SCOPES))
"""The sender of requests from this machine, if the service has no keys."""


@dataclass(frozen=True)
class Keys:
    """The API keys that a service accepts.

    Only hashes are stored. Keys have 256 random bits, so a plain SHA-256 cannot be reversed.

    Parameters
    ----------
    callers : mapping
        Callers by the SHA-256 of their key.
    """

    callers: Mapping[str, Caller] = field(default_factory=dict)

    def caller(self, authorization: str | None) -> Caller:
        """Return the caller of a request with this `Authorization` header."""
        kind, _, key = (authorization or "").partition(" ")
        caller = self.callers.get(hash_key(key.strip())) if kind.lower() == "bearer" else None
        if caller is None:
            raise AccessDenied(
                "this request needs a key: send it as 'Authorization: Bearer KEY'.", known=False
            )
        return caller


def require_scope(caller: Caller, scope: str) -> None:
    """Raise `AccessDenied` if the caller's key does not have a scope."""
    if scope not in caller.scopes:
        raise AccessDenied(
            f"the key {caller.name!r} has the scopes {', '.join(sorted(caller.scopes))}, and this "
            f"request needs {scope}: use another key.",
            known=True,
        )


def needed_scope(method: str, path: str) -> str | None:
    """Return the scope that a request needs, or None if it needs no key.

    >>> needed_scope("POST", "/v1/cases/1/reward"), needed_scope("GET", "/healthz")
    ('decide', None)
    >>> needed_scope("POST", "/v1/policies/lending/promote")
    'admin'
    """
    if path == "/metrics" or path.endswith(("/promote", "/demote")):
        return ADMIN
    if path.startswith("/v1/"):
        return READ if method in ("GET", "HEAD") else DECIDE
    return None


def is_local_host(host: str) -> bool:
    """Return True if a Host header names this machine.

    A web page from another site cannot make a browser send this header.

    >>> is_local_host("127.0.0.1:8000"), is_local_host("evil.example")
    (True, False)
    """
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.lower() in _LOCAL_HOSTS


def hash_key(key: str) -> str:
    """Return the hash of a key."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def read_keys(path: Path) -> Keys:
    """Read keys.toml."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSpec(
            f"{path} cannot be read ({error}): create it with `thrifty key`."
        ) from error
    entries = content.get("keys")
    if set(content) != {"keys"} or not isinstance(entries, list) or not entries:
        raise InvalidSpec(f"{path} has no [[keys]]: add one with `thrifty key`.")
    return Keys(dict(_parse_entry(path, entry) for entry in entries))


def _parse_entry(path: Path, entry: Any) -> tuple[str, Caller]:
    try:
        name, tenant, scopes, digest = (
            entry[field] for field in ("name", "tenant", "scopes", "sha256")
        )
        valid = (
            NAME.fullmatch(name)
            and NAME.fullmatch(tenant)
            and set(scopes) <= set(SCOPES)
            and len(bytes.fromhex(digest)) == 32
            and len(entry) == 4
        )
    except (KeyError, TypeError, ValueError):
        valid = False
    if not valid:
        raise InvalidSpec(f"{path} has an entry that is not valid: create keys with `thrifty key`.")
    return digest, Caller(name, tenant, frozenset(scopes))


def add_key(path: Path, name: str, tenant: str, scopes: Iterable[str]) -> str:
    """Create a key, add its hash to the file, and return the key, which is not stored."""
    wanted = sorted(set(scopes))
    for given in (name, tenant):
        if not NAME.fullmatch(given):
            raise InvalidSpec(
                f"{given!r} is not a valid name: use 1 to 64 letters, digits, _ and -."
            )
    if not wanted or not set(wanted) <= set(SCOPES):
        raise InvalidSpec(f"the scopes {wanted} are not valid: use {', '.join(SCOPES)}.")
    known = read_keys(path).callers if path.exists() else {}
    if name in {caller.name for caller in known.values()}:
        raise InvalidSpec(f"{path} already has a key {name!r}: choose another name.")
    key = PREFIX + secrets.token_urlsafe(32)
    entries = {**known, hash_key(key): Caller(name, tenant, frozenset(wanted))}
    replace_file(path, "\n".join(_format_entry(*entry) for entry in entries.items()).encode())
    path.chmod(0o600)
    return key


def _format_entry(digest: str, caller: Caller) -> str:
    scopes = ", ".join(f'"{scope}"' for scope in sorted(caller.scopes))
    return (
        f'[[keys]]\nname = "{caller.name}"\ntenant = "{caller.tenant}"\nscopes = [{scopes}]\n'
        f'sha256 = "{digest}"\n'
    )


class RateLimiter:
    """Limit each caller to a number of requests a second, with bursts of one second's worth.

    >>> limiter = RateLimiter(2, clock=lambda: 0.0)
    >>> [limiter.allows("a") for _ in range(3)], limiter.allows("b")
    ([True, True, False], True)
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._left: dict[str, tuple[float, float]] = {}

    def allows(self, name: str) -> bool:
        """Return True if one more request is within the limit."""
        at = self._clock()
        left, last = self._left.get(name, (self._per_second, at))
        left = min(self._per_second, left + (at - last) * self._per_second)
        self._left[name] = (left - 1 if left >= 1 else left, at)
        return left >= 1
