"""A second process that waits with everything loaded, and goes on where the first one was ended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from time import sleep

from thrifty.errors import InvalidParameter, StoreError, StoreInUse
from thrifty.service.model import smoke_test
from thrifty.service.stores import Store, is_shared, open_store
from thrifty.specification import PolicySpec

LOOK_SECONDS = 0.05


def get_ready(address: str, specs: Sequence[PolicySpec]) -> None:
    """Do now what would take time later, and refuse now what would be refused later."""
    if is_shared(address):
        raise InvalidParameter(
            "--standby is for a file, which one process holds: on PostgreSQL all replicas decide, "
            "so start this one without it."
        )
    for spec in _expected(address, specs):
        smoke_test(spec)


def open_when_free(address: str, waiting: Callable[[], None]) -> Store:
    """Return the store once nobody else holds it; `waiting` is called if somebody does."""
    try:
        return open_store(address)
    except StoreInUse:
        waiting()
    while True:
        sleep(LOOK_SECONDS)
        with contextlib.suppress(StoreInUse):
            return open_store(address)


def _expected(address: str, specs: Sequence[PolicySpec]) -> list[PolicySpec]:
    """Return the policies that will be served, as far as they are known now."""
    try:
        store = open_store(address, read_only=True)
    except StoreError:  # it is yet to be made, or to be brought up to date
        return list(specs)
    with contextlib.closing(store):
        for spec in specs:
            store.require_unchanged(spec)
        return list({spec.id: spec for spec in (*store.specs(), *specs)}.values())
