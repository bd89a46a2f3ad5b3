"""Who may do what: keys, their scopes and their tenants."""

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
"""Names that stand in addresses and headers."""
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Caller:
    """Somebody who asks: the name of a key, a tenant, and what it may do."""

    name: str
    tenant: str
    scopes: frozenset[str]


LOCAL = Caller("local", DEFAULT_TENANT, frozenset(SCOPES))
"""Whoever is on this machine, where no keys are asked for."""


@dataclass(frozen=True)
class Keys:
    """The keys that open a service; None of them are known, only their hashes.

    A key is 256 random bits, so that a plain SHA-256 of it cannot be turned round.
    """

    callers: Mapping[str, Caller] = field(default_factory=dict)

    def caller(self, authorization: str | None) -> Caller:
        """Return who shows this `Authorization` header."""
        kind, _, key = (authorization or "").partition(" ")
        caller = self.callers.get(hashed(key.strip())) if kind.lower() == "bearer" else None
        if caller is None:
            raise AccessDenied(
                "this needs a key: send it as 'Authorization: Bearer KEY'.", known=False
            )
        return caller


def require_scope(caller: Caller, scope: str) -> None:
    """Refuse a caller whose key was not made for this."""
    if scope not in caller.scopes:
        raise AccessDenied(
            f"the key {caller.name!r} is for {', '.join(sorted(caller.scopes))}, and this needs "
            f"{scope}: use another key.",
            known=True,
        )


def needed_scope(method: str, path: str) -> str | None:
    """Return the scope that a request needs, or None if anybody may make it.

    >>> needed_scope("POST", "/v1/cases/1/reward"), needed_scope("GET", "/healthz")
    ('decide', None)
    """
    if path == "/metrics":
        return ADMIN
    if path.startswith("/v1/"):
        return READ if method in ("GET", "HEAD") else DECIDE
    return None


def is_local_host(host: str) -> bool:
    """Whether a Host header names this machine: a page elsewhere cannot make a browser say so.

    >>> is_local_host("127.0.0.1:8000"), is_local_host("evil.example")
    (True, False)
    """
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.lower() in _LOCAL_HOSTS


def hashed(key: str) -> str:
    """Return what is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def read_keys(path: Path) -> Keys:
    """Read keys.toml."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSpec(f"{path} cannot be read ({error}): `thrifty key` writes it.") from error
    entries = content.get("keys")
    if set(content) != {"keys"} or not isinstance(entries, list) or not entries:
        raise InvalidSpec(f"{path} holds no [[keys]]: `thrifty key` writes them.")
    return Keys(dict(_entry(path, entry) for entry in entries))


def _entry(path: Path, entry: Any) -> tuple[str, Caller]:
    try:
        name, tenant, scopes, digest = (
            entry[field] for field in ("name", "tenant", "scopes", "sha256")
        )
        right = (
            NAME.fullmatch(name)
            and NAME.fullmatch(tenant)
            and set(scopes) <= set(SCOPES)
            and len(bytes.fromhex(digest)) == 32
            and len(entry) == 4
        )
    except (KeyError, TypeError, ValueError):
        right = False
    if not right:
        raise InvalidSpec(f"{path} has a key that cannot be used: let `thrifty key` write it.")
    return digest, Caller(name, tenant, frozenset(scopes))


def add_key(path: Path, name: str, tenant: str, scopes: Iterable[str]) -> str:
    """Make a key, add its hash to the file, and return it: nobody can read it again."""
    wanted = sorted(set(scopes))
    for given in (name, tenant):
        if not NAME.fullmatch(given):
            raise InvalidSpec(f"{given!r} is no name: use 1 to 64 letters, digits, _ and -.")
    if not wanted or not set(wanted) <= set(SCOPES):
        raise InvalidSpec(f"scopes {wanted}: use {', '.join(SCOPES)}.")
    known = read_keys(path).callers if path.exists() else {}
    if name in {caller.name for caller in known.values()}:
        raise InvalidSpec(f"{path} has a key {name!r} already: choose another name.")
    key = PREFIX + secrets.token_urlsafe(32)
    entries = {**known, hashed(key): Caller(name, tenant, frozenset(wanted))}
    replace_file(path, "\n".join(_written(*entry) for entry in entries.items()).encode())
    path.chmod(0o600)
    return key


def _written(digest: str, caller: Caller) -> str:
    scopes = ", ".join(f'"{scope}"' for scope in sorted(caller.scopes))
    return (
        f'[[keys]]\nname = "{caller.name}"\ntenant = "{caller.tenant}"\nscopes = [{scopes}]\n'
        f'sha256 = "{digest}"\n'
    )


class RateLimiter:
    """Lets each caller make so many requests a second, with a second's worth at once.

    >>> rate = RateLimiter(2, clock=lambda: 0.0)
    >>> [rate.allows("a") for _ in range(3)], rate.allows("b")
    ([True, True, False], True)
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._left: dict[str, tuple[float, float]] = {}

    def allows(self, name: str) -> bool:
        """Whether one more is within the rate; callers are known by name, so this stays small."""
        at = self._clock()
        left, last = self._left.get(name, (self._per_second, at))
        left = min(self._per_second, left + (at - last) * self._per_second)
        self._left[name] = (left - 1 if left >= 1 else left, at)
        return left >= 1
