"""A public test suite for stores: `check_store` tests those of this package and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from thrifty.checks.runner import require, require_refused, run_checks
from thrifty.errors import InvalidSpec
from thrifty.problem import Feature, Problem
from thrifty.service.events import ABANDONED, OBSERVED, OPENED, START, Event
from thrifty.service.stores.base import Lease, LeaseLost, Store
from thrifty.specification import PolicySpec

OpenStore = Callable[[], Store]
SPEC = PolicySpec(
    name="checked",
    policy="uniform",
    problem=Problem((Feature("x", ("0", "1")),), ("a", "b")),
)


def check_store(reopen: OpenStore) -> None:
    """Raise `CheckFailed` if a store breaks a contract of the interfaces.

    Parameters
    ----------
    reopen : callable
        Opens the store. It is called several times and must open the same store, empty at first.
    """
    for check in STORE_CHECKS:
        store = reopen()
        try:
            run_checks([check], store, type(store).__name__)
        finally:
            store.close()
    run_checks([survives_reopening], reopen, "the store")


def draft(case: str, step: int = 0, kind: str = OPENED, key: str | None = None) -> Event:
    """Return an event to append."""
    return Event("default", "checked", case, step, kind, 5, {"n": [step, 0.1]}, key=key)


def events_come_back_as_they_were(store: Store) -> None:
    """Return events as they were appended, in order, with increasing positions."""
    drafts = [draft(f"order-{k}", key=f"order-{k}") for k in range(700)]
    written = [event for event in store.log.append(drafts) if event is not None]
    require(len(written) == len(drafts), f"of {len(drafts)} events {len(written)} were written")
    positions = [event.position for event in written]
    require(positions == sorted(set(positions)), "the positions do not increase")
    found: list[Event] = []
    while chunk := store.log.read(found[-1].position if found else START, 100):
        found += chunk
    require(found[-len(written) :] == written, "read does not return what was appended")


def a_step_is_taken_once(store: Store) -> None:
    """Refuse a second event for the same step of a case, also within one batch."""
    first, second = store.log.append([draft("twice"), draft("twice")])
    require(first is not None and second is None, "one step was written twice in a batch")
    again = replace(draft("twice"), at=6)
    require(store.log.append([again]) == [None], "one step was written twice")
    require(len(store.index.cases(["twice"])["twice"]) == 1, "the refused event was written")


def a_key_is_used_once(store: Store) -> None:
    """Refuse a second event under the same key, and find the first by the key."""
    (first,) = store.log.append([draft("key-1", key="k")])
    refused, other = store.log.append([draft("key-2", key="k"), draft("key-3")])
    require(refused is None, "one key was used twice")
    require(other is not None, "an event was lost because its neighbour was refused")
    require(store.index.with_key("default", "k") == first, "the key finds another event")
    require(store.index.with_key("other", "k") is None, "a tenant sees the keys of another")


def cases_are_whole(store: Store) -> None:
    """Return the events of a case in the order of their steps."""
    store.log.append([draft("whole"), draft("whole", 1, OBSERVED), draft("whole", 2, ABANDONED)])
    found = store.index.cases(["whole", "unknown"])
    require(list(found) == ["whole"], f"one case is known, but {list(found)} was returned")
    steps = [event.step for event in found["whole"]]
    require(steps == [0, 1, 2], f"the steps of a case are in the order {steps}")


def specifications_stay(store: Store) -> None:
    """Store a specification, and refuse another one of the same name."""
    store.policies.declare(SPEC)
    store.policies.declare(SPEC)
    require(store.policies.specs() == [SPEC], "a specification is not returned as declared")
    other = replace(SPEC, seed=1)
    require_refused(lambda: store.policies.declare(other), "another specification", InvalidSpec)


def decisions_are_ordered_by_rounds_learnt(store: Store) -> None:
    """Order decisions by their basis, each with the earlier events of its case."""
    store.log.append(
        [
            replace(draft("later"), basis=2),
            replace(draft("sooner"), basis=1),
            replace(draft("sooner", 1, OBSERVED), basis=1),
            replace(draft("sooner", 2, OBSERVED), basis=3),
            draft("sooner", 3, ABANDONED),
        ]
    )
    found = [
        (event.case, event.step, [before.step for before in earlier])
        for event, earlier in store.index.decisions(SPEC)
    ]
    expected = [("sooner", 0, []), ("sooner", 1, [0]), ("later", 0, []), ("sooner", 2, [0, 1])]
    require(found == expected, f"the decisions are in the order {found}")


def two_snapshots_are_kept(store: Store) -> None:
    """Return the newest snapshot first, and keep the one before it."""
    lease = store.leases.acquire(SPEC.id, "checker", 60) or Lease(SPEC.id, "checker", 0)
    require(lease.fence > 0, "a free lease was refused")
    newest = store.log.read(START, 10)
    for k in range(3):
        store.snapshots.save(SPEC, newest[k].position, bytes([k]) * 9, lease)
    found = list(store.snapshots.load(SPEC))
    require(found == [b"\2" * 9, b"\1" * 9], f"the snapshots are {found}")


def leases_are_fenced(store: Store) -> None:
    """Refuse writes with a lease that another process has taken, and free released leases."""
    if store.exclusive:
        return
    first = store.leases.acquire("fenced", "one", 0.001)
    second = store.leases.acquire("fenced", "two", 60)
    require(second not in (None, first), "an expired lease was not given to another process")
    assert second is not None
    require(store.leases.acquire("fenced", "one", 60) is None, "a held lease was given away")
    void = Lease("fenced", "one", 1)
    events = [draft("stale")]
    require_refused(lambda: store.log.append(events, void), "appending without a lease", LeaseLost)
    require_refused(
        lambda: store.snapshots.save(SPEC, START, b"stale", void),
        "saving a snapshot without a lease",
        LeaseLost,
    )
    require(store.index.cases(["stale"]) == {}, "an event was written with a void lease")
    store.leases.release(second)
    require(store.leases.acquire("fenced", "one", 60) is not None, "a released lease was refused")


def survives_reopening(reopen: OpenStore) -> None:
    """Keep the id and the log when the store is opened again."""
    store = reopen()
    before, name = store.index.count(), store.id
    store.log.append([draft("kept")])
    store.close()
    store = reopen()
    try:
        require(store.id == name, "the id of the store has changed")
        require(store.index.count() == before + 1, "events are missing")
    finally:
        store.close()


STORE_CHECKS: tuple[Callable[[Store], None], ...] = (
    events_come_back_as_they_were,
    a_step_is_taken_once,
    a_key_is_used_once,
    cases_are_whole,
    specifications_stay,
    decisions_are_ordered_by_rounds_learnt,
    two_snapshots_are_kept,
    leases_are_fenced,
)
