"""What any store must do: a public suite, for the stores here and for others'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from thrifty.checks.runner import require, require_refused, run_checks
from thrifty.errors import InvalidSpec
from thrifty.problem import Feature, Problem
from thrifty.service.events import ABANDONED, OBSERVED, OPENED, START, Event
from thrifty.service.stores.base import Lease, LeaseLost, Store
from thrifty.specification import PolicySpec

Open = Callable[[], Store]
SPEC = PolicySpec(
    name="checked",
    policy="uniform",
    problem=Problem((Feature("x", ("0", "1")),), ("a", "b")),
)


def check_store(reopen: Open) -> None:
    """Raise `CheckFailed` if the stores that `reopen` returns break a promise.

    It is called several times and must open the same store, empty at first.
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
    """Return what was appended, in order, with positions that rise."""
    drafts = [draft(f"order-{k}", key=f"order-{k}") for k in range(700)]
    written = [event for event in store.append(drafts) if event is not None]
    require(len(written) == len(drafts), f"{len(drafts)} were appended, {len(written)} written")
    places = [event.position for event in written]
    require(places == sorted(set(places)), "the positions do not rise")
    found: list[Event] = []
    while chunk := store.read(found[-1].position if found else START, 100):
        found += chunk
    require(found[-len(written) :] == written, "read returned something else than was appended")


def a_step_is_taken_once(store: Store) -> None:
    """Refuse a second event for the same step of a case, also within one batch."""
    first, second = store.append([draft("twice"), draft("twice")])
    require(first is not None and second is None, "one step was taken twice in a batch")
    again = replace(draft("twice"), at=6)
    require(store.append([again]) == [None], "one step was taken twice")
    require(len(store.cases(["twice"])["twice"]) == 1, "the refused event was written")


def a_key_is_used_once(store: Store) -> None:
    """Refuse a second event under the same key, and find the first by it."""
    (first,) = store.append([draft("key-1", key="k")])
    refused, other = store.append([draft("key-2", key="k"), draft("key-3")])
    require(refused is None, "one key was used twice")
    require(other is not None, "a refused event took its neighbour with it")
    require(store.with_key("default", "k") == first, "the key finds another event")
    require(store.with_key("other", "k") is None, "a tenant sees the keys of another")


def cases_are_whole(store: Store) -> None:
    """Return the events of a case in the order of their steps."""
    store.append([draft("whole"), draft("whole", 1, OBSERVED), draft("whole", 2, ABANDONED)])
    found = store.cases(["whole", "unknown"])
    require(list(found) == ["whole"], f"asked for one known case, got {list(found)}")
    steps = [event.step for event in found["whole"]]
    require(steps == [0, 1, 2], f"the steps of a case came as {steps}")


def specifications_stay(store: Store) -> None:
    """Keep a specification, and refuse another one of the same name."""
    store.declare(SPEC)
    store.declare(SPEC)
    require(store.specs() == [SPEC], "a specification did not come back as it was")
    other = replace(SPEC, seed=1)
    require_refused(lambda: store.declare(other), "another specification", InvalidSpec)


def decisions_come_by_what_was_learnt(store: Store) -> None:
    """Return decisions in the order of their basis, each with the earlier events of its case."""
    store.append(
        [
            replace(draft("later"), basis=2),
            replace(draft("sooner"), basis=1),
            replace(draft("sooner", 1, OBSERVED), basis=1),
            replace(draft("sooner", 2, OBSERVED), basis=3),
            draft("sooner", 3, ABANDONED),
        ]
    )
    found = [
        (event.case, event.step, [one.step for one in earlier])
        for event, earlier in store.decisions(SPEC)
    ]
    wanted = [("sooner", 0, []), ("sooner", 1, [0]), ("later", 0, []), ("sooner", 2, [0, 1])]
    require(found == wanted, f"decisions came as {found}")


def two_snapshots_are_kept(store: Store) -> None:
    """Return the newest snapshots first, and keep the one before the newest."""
    lease = store.acquire(SPEC.id, "checker", 60) or Lease(SPEC.id, "checker", 0)
    require(lease.fence > 0, "a free lease was refused")
    newest = store.read(START, 10)
    for k in range(3):
        store.save_snapshot(SPEC, newest[k].position, bytes([k]) * 9, lease)
    found = list(store.snapshots(SPEC))
    require(found == [b"\2" * 9, b"\1" * 9], f"the snapshots are {found}")


def leases_are_fenced(store: Store) -> None:
    """Let nobody write with a lease that somebody else has taken since."""
    if store.exclusive:
        return
    first = store.acquire("fenced", "one", 0.001)
    second = store.acquire("fenced", "two", 60)
    require(second is not None and second != first, "an expired lease was not given away")
    require(store.acquire("fenced", "one", 60) is None, "a lease that is held was given away")
    stale = Lease("fenced", "one", 1)
    events = [draft("stale")]
    require_refused(lambda: store.append(events, stale), "appending without a lease", LeaseLost)
    require_refused(
        lambda: store.save_snapshot(SPEC, START, b"stale", stale),
        "saving a snapshot without a lease",
        LeaseLost,
    )
    require(store.cases(["stale"]) == {}, "what a lost lease wrote is there")


def survives_reopening(reopen: Open) -> None:
    """Be the same store with the same log when it is opened again."""
    store = reopen()
    before, name = store.count(), store.id
    store.append([draft("kept")])
    store.close()
    store = reopen()
    try:
        require(store.id == name, "it calls itself by another name")
        require(store.count() == before + 1, "events are missing")
    finally:
        store.close()


STORE_CHECKS: tuple[Callable[[Store], None], ...] = (
    events_come_back_as_they_were,
    a_step_is_taken_once,
    a_key_is_used_once,
    cases_are_whole,
    specifications_stay,
    decisions_come_by_what_was_learnt,
    two_snapshots_are_kept,
    leases_are_fenced,
)
