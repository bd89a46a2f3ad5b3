"""Snapshots of a projection: a short cut past the log, never trusted unless every check holds."""

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
    """What a snapshot is checked against: a store."""

    id: str

    def cases(self, ids: Sequence[str]) -> Mapping[str, list[Event]]:
        """Return the events of many cases, by case."""

    def read(self, after: Position, limit: int) -> list[Event]:
        """Return the next events."""


def prepare_snapshot(projection: Projection, store: str, last: Event | None) -> Callable[[], bytes]:
    """Copy what changes, and return what makes the snapshot of it, in any thread.

    `last` is the newest event of the log, of whichever policy; all up to it are in the projection.
    """
    manifest = {
        "kind": KIND,
        "store": store,
        "spec": projection.spec.digest,
        "policy": projection.spec.id,
        "last": None if last is None else [*last.position, last.case, last.step],
        "cases": [(case.id, case.step) for case in projection.cases.values()],
        "totals": projection.totals.to_dict(),
    }
    state = projection.model.state()
    return lambda: seal(pack_archive(manifest, state))


def seal(archive: bytes) -> bytes:
    """Put the version and a checksum of every byte in front: a zip has bytes that nobody checks."""
    return _HEAD + hashlib.sha256(archive).digest() + archive


def _opened(data: bytes) -> bytes:
    if not data.startswith(_MAGIC):
        raise ForeignFile("it is no snapshot of the service, or its head is damaged.")
    if not data.startswith(_HEAD):
        raise UnsupportedVersion(f"this release reads snapshots of version {VERSION} only.")
    digest, archive = data[len(_HEAD) : len(_HEAD) + 32], data[len(_HEAD) + 32 :]
    if hashlib.sha256(archive).digest() != digest:
        raise DamagedFile("the snapshot does not match its checksum.")
    return archive


def restore_snapshot(data: bytes, spec: PolicySpec, log: Log) -> Projection:
    """Return the projection of a snapshot, or say why it cannot be trusted."""
    if len(data) > SIZE_LIMIT:
        raise DamagedFile(f"the snapshot has {len(data)} bytes: none is as large as that.")
    manifest, state = unpack_archive(_opened(data), Path(f"the snapshot of {spec.id}"))
    _require_ours(manifest, spec, log)
    try:
        projection = Projection(spec)
        projection.model.restore(state)
        projection.totals = Totals.from_dict(manifest["totals"])
        projection.position = _position(manifest["last"], log)
        _restore_cases(projection, manifest["cases"], log)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ThriftyError):
            raise
        raise DamagedFile(f"the snapshot of {spec.id} does not fit its log ({error!r}).") from error
    return projection


def _require_ours(manifest: Mapping[str, Any], spec: PolicySpec, log: Log) -> None:
    if manifest.get("kind") != KIND:
        raise ForeignFile(f"it holds {manifest.get('kind')!r} and no snapshot of the service.")
    if (manifest["store"], manifest["spec"]) != (log.id, spec.digest):
        raise ForeignFile(f"it was taken of another store, or of another {spec.id}.")


def _position(last: Sequence[Any] | None, log: Log) -> Position:
    """Return where the snapshot was taken; the log must have got there, in the same way."""
    if last is None:
        return Position()
    transaction, seq, case, step = last
    found = log.read(Position(transaction, seq - 1), 1)
    if [(event.position, event.case, event.step) for event in found] != [
        ((transaction, seq), case, step)
    ]:
        raise DamagedFile("the snapshot is not of this log, which may be an older copy.")
    return found[0].position


def _restore_cases(projection: Projection, listed: Sequence[Any], log: Log) -> None:
    steps = {str(name): int(step) for name, step in listed}
    found = log.cases(list(steps))
    for name, step in steps.items():
        case = CaseState.from_events(projection.spec.problem, found[name][:step])
        if case.step != step or case.opened.policy != projection.spec.name:
            raise DamagedFile(f"the snapshot knows more of case {name} than the log does.")
        projection.keep(case)
