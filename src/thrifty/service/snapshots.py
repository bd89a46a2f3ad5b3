"""Snapshots of a projection, which shorten a start. A snapshot that fails any check is ignored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from thrifty.archive import pack_archive, unpack_archive
from thrifty.errors import DamagedFile, ForeignFile, ThriftyError, UnsupportedVersion
from thrifty.service.cases import CaseState
from thrifty.service.events import Event, Position
from thrifty.service.projection import Projection
from thrifty.service.totals import Totals
from thrifty.specification import PolicySpec

KIND = "service snapshot"
VERSION = 2
_MAGIC = b"thrifty snapshot "
_HEAD = _MAGIC + f"{VERSION:04d}\n".encode()
SIZE_LIMIT = 512 * 2**20


class Log(Protocol):
    """The part of `stores.EventLog` that is needed here."""

    def read(self, after: Position, limit: int) -> list[Event]:
        """Return the next events of the log."""


class Index(Protocol):
    """The part of `stores.EventIndex` that is needed here."""

    def cases(self, ids: Sequence[str]) -> Mapping[str, list[Event]]:
        """Return the events of cases, by case."""


class Source(Protocol):
    """The part of `stores.Store` that a snapshot is checked against."""

    id: str

    @property
    def log(self) -> Log:
        """All events."""

    @property
    def index(self) -> Index:
        """Look-ups in the log."""


def prepare_snapshot(projection: Projection, store: str, last: Event | None) -> Callable[[], bytes]:
    """Copy the state, and return a function that packs it, which any thread may call.

    `last` is the newest event of the log, of any policy; the projection includes it.
    """
    manifest = {
        "kind": KIND,
        "store": store,
        "spec": projection.spec.digest,
        "policy": projection.spec.id,
        "last": None if last is None else [*last.position, last.case, last.step],
        "cases": [(case.id, case.step) for case in projection.cases.values()],
        "totals": projection.totals.to_dict(),
        "panel": projection.panel.describe(),
    }
    state = projection.panel.state()
    return lambda: seal(pack_archive(manifest, state))


def seal(archive: bytes) -> bytes:
    """Prefix the version and a checksum of all bytes; zip files do not check all of theirs."""
    return _HEAD + hashlib.sha256(archive).digest() + archive


def _unseal(data: bytes) -> bytes:
    if not data.startswith(_MAGIC):
        raise ForeignFile("this is not a snapshot of the service, or its head is damaged.")
    if not data.startswith(_HEAD):
        raise UnsupportedVersion(f"this release reads only snapshots of version {VERSION}.")
    digest, archive = data[len(_HEAD) : len(_HEAD) + 32], data[len(_HEAD) + 32 :]
    if hashlib.sha256(archive).digest() != digest:
        raise DamagedFile("the snapshot does not match its checksum.")
    return archive


def restore_snapshot(data: bytes, spec: PolicySpec, store: Source) -> Projection:
    """Return the projection of a snapshot, or raise `SaveError` if it is not valid."""
    if len(data) > SIZE_LIMIT:
        raise DamagedFile(f"the snapshot has {len(data)} bytes, which is more than any real one.")
    manifest, state = unpack_archive(_unseal(data), Path(f"the snapshot of {spec.id}"))
    _require_same_store(manifest, spec, store)
    try:
        projection = Projection(spec)
        projection.panel.restore(state, manifest.get("panel"))
        projection.totals = Totals.from_dict(manifest["totals"])
        projection.position = _position(manifest["last"], store.log)
        _restore_cases(projection, manifest["cases"], store.index)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ThriftyError):
            raise
        raise DamagedFile(
            f"the snapshot of {spec.id} does not match its log ({error!r})."
        ) from error
    return projection


def _require_same_store(manifest: Mapping[str, Any], spec: PolicySpec, store: Source) -> None:
    if manifest.get("kind") != KIND:
        raise ForeignFile(
            f"the file contains {manifest.get('kind')!r}, not a snapshot of the service."
        )
    if (manifest["store"], manifest["spec"]) != (store.id, spec.digest):
        raise ForeignFile(f"the snapshot is from another store, or of another {spec.id}.")


def _position(last: Sequence[Any] | None, log: Log) -> Position:
    """Return the position of the snapshot; the log must have the same event there."""
    if last is None:
        return Position()
    transaction, seq, case, step = last
    found = log.read(Position(transaction, seq - 1), 1)
    expected = [((transaction, seq), case, step)]
    if [(event.position, event.case, event.step) for event in found] != expected:
        raise DamagedFile("the snapshot is not from this log, which may be an older backup.")
    return found[0].position


def _restore_cases(projection: Projection, listed: Sequence[Any], index: Index) -> None:
    steps = {str(name): int(step) for name, step in listed}
    found = index.cases(list(steps))
    for name, step in steps.items():
        case = CaseState.from_events(projection.spec.problem, found[name][:step])
        if case.step != step or case.opened.policy != projection.spec.name:
            raise DamagedFile(f"the snapshot has more events of case {name} than the log.")
        projection.keep(case)
