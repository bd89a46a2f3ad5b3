"""A standby: a process that has loaded everything, and takes over when the first process ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from time import sleep

from thrifty.errors import InvalidParameter, StoreError, StoreInUse
from thrifty.service.model import smoke_test
from thrifty.service.stores import Store, is_shared, open_store
from thrifty.specification import PolicySpec

POLL_SECONDS = 0.05


def get_ready(address: str, specs: Sequence[PolicySpec]) -> None:
    """Compile the policies now, and refuse now what would be refused after taking over."""
    if is_shared(address):
        raise InvalidParameter(
            "--standby is for a file, which only one process can hold. On PostgreSQL every replica "
            "decides: start this one without --standby."
        )
    for spec in _expected_specs(address, specs):
        smoke_test(spec)
        for shadow in spec.shadows.specs:
            smoke_test(shadow)


def open_when_free(address: str, on_wait: Callable[[], None]) -> Store:
    """Open the store once no other process holds it; call `on_wait` if one does."""
    try:
        return open_store(address)
    except StoreInUse:
        on_wait()
    while True:
        sleep(POLL_SECONDS)
        with contextlib.suppress(StoreInUse):
            return open_store(address)


def _expected_specs(address: str, specs: Sequence[PolicySpec]) -> list[PolicySpec]:
    """Return the policies that will be served, as far as they are known now."""
    try:
        store = open_store(address, read_only=True)
    except StoreError:  # not created or not migrated yet
        return list(specs)
    with contextlib.closing(store):
        for spec in specs:
            store.policies.require_unchanged(spec)
        return list({spec.id: spec for spec in (*store.policies.specs(), *specs)}.values())
