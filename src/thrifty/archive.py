"""Archives: named arrays and a JSON manifest in one file, with checksums and without pickle.

An archive is an `.npz` file, a zip of `.npy` files that `numpy.load` can read. The manifest is its
first member. It contains the SHA-256 of every array's member and of itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DamagedFile, ForeignFile, SaveError, UnsupportedVersion
from thrifty.files import replace_file
from thrifty.json_values import compact_json

MAGIC = "thrifty"
FORMAT_VERSION = 1

_MANIFEST = "manifest.json"
_HEAD = f'{{"magic":"{MAGIC}",'.encode()
_TAIL = f"{MAGIC} archive".encode()
_HEAD_WITHIN = 30 + len(_MANIFEST) + len(_HEAD)  # a zip's first local header takes 30 bytes
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


def write_archive(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a manifest and arrays to one file, atomically.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(Path(folder) / "a.npz", {"kind": "example"}, {"counts": np.arange(3)})
    ...     manifest, arrays = read_archive(Path(folder) / "a.npz")
    >>> manifest, arrays["counts"].tolist()
    ({'kind': 'example'}, [0, 1, 2])
    """
    replace_file(path, pack_archive(manifest, arrays))


def pack_archive(manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes that `write_archive` writes."""
    members = {f"{name}.npy": _to_npy(name, array) for name, array in arrays.items()}
    return _pack(_sealed(manifest, members), members)


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a file that `write_archive` wrote; raise `SaveError` if it cannot be used."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise SaveError(
            f"{path} cannot be read ({error}): check the path and its permissions."
        ) from error
    return unpack_archive(data, path)


def unpack_archive(
    data: bytes, path: Path = Path("the archive")
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the output of `pack_archive`; `path` is used in messages only."""
    members = _unpack(path, data)
    envelope = _opened(path, members.pop(_MANIFEST))
    return envelope["content"], _checked_arrays(path, members, envelope["members"])


def _to_npy(name: str, array: NDArray[Any]) -> bytes:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SaveError(
            f"array name {name!r} cannot name a member of the file: use letters, digits and _./-"
        )
    array = np.asarray(array, order="C")
    if array.dtype.hasobject:
        raise SaveError(
            f"array {name!r} holds Python objects (dtype {array.dtype}), which only a pickle "
            "could store, and a pickle runs code when it is read: use numbers or fixed-size text."
        )
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _sealed(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    envelope = {
        "magic": MAGIC,  # first, so that even a truncated file is known as ours
        "version": FORMAT_VERSION,
        "content": dict(manifest),
        "members": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    try:
        envelope["sha256"] = _digest(envelope)
    except (TypeError, ValueError) as error:
        raise SaveError(
            f"the manifest cannot be written as JSON ({error}): keep to None, True, False, finite "
            "numbers, text, lists and dicts with text keys."
        ) from error
    return _canonical(envelope)


def _canonical(envelope: Mapping[str, Any]) -> bytes:
    return compact_json(envelope).encode("ascii")


def _digest(envelope: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(envelope)).hexdigest()


def _pack(manifest: bytes, members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _TAIL
        for name, data in {_MANIFEST: manifest, **members}.items():
            # ZipInfo's fixed date makes equal contents equal files
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def _damaged(path: Path, what: str) -> DamagedFile:
    return DamagedFile(
        f"{path} is damaged: {what}. Nothing in it can be trusted, so go back to an earlier copy."
    )


def _unpack(path: Path, data: bytes) -> dict[str, bytes]:
    ours = _HEAD in data[:_HEAD_WITHIN] or data.endswith(_TAIL)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            _require_unexpanded(archive, len(data))
            members = {name: archive.read(name) for name in names}
    except Exception as error:  # zipfile lets a dozen unrelated types escape on damaged input
        if ours:
            raise _damaged(path, f"it cannot be unpacked ({error})") from error
        raise _foreign(path) from error
    if not ours:
        raise _foreign(path)
    if not data.endswith(_TAIL):
        raise _damaged(path, "its end is missing or something was added to it")
    if len(members) != len(names) or _MANIFEST not in members:
        raise _damaged(path, "its manifest is missing or a member occurs twice")
    return members


def _require_unexpanded(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse members that claim more than the file holds: ours are stored, not compressed."""
    if sum(member.file_size for member in archive.infolist()) > size:
        raise ValueError("its members would be larger than the file")


def _foreign(path: Path) -> ForeignFile:
    return ForeignFile(
        f"{path} was not written by Thrifty: give a file that came from a save, not another one."
    )


def _opened(path: Path, manifest: bytes) -> dict[str, Any]:
    try:
        envelope = json.loads(manifest)
        magic, version = envelope["magic"], envelope["version"]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise _damaged(path, "its manifest is not readable") from error
    if magic != MAGIC:
        raise _foreign(path)
    if version != FORMAT_VERSION:
        raise UnsupportedVersion(
            f"{path} has format version {version!r} and this release reads version "
            f"{FORMAT_VERSION}: read it with the release that wrote it, or a newer one."
        )
    _require_seal(path, envelope)
    return dict(envelope)


def _require_seal(path: Path, envelope: dict[str, Any]) -> None:
    seal = envelope.pop("sha256", None)
    try:
        holds = seal == _digest(envelope)
    except ValueError:
        holds = False
    if not holds or not isinstance(envelope.get("members"), dict):
        raise _damaged(path, "its manifest does not match its checksum")


def _checked_arrays(
    path: Path, members: Mapping[str, bytes], digests: Mapping[str, str]
) -> dict[str, NDArray[Any]]:
    if members.keys() != digests.keys():
        odd = ", ".join(sorted(members.keys() ^ digests.keys()))
        raise _damaged(path, f"members are missing or were added ({odd})")
    for name, data in members.items():
        if hashlib.sha256(data).hexdigest() != digests[name]:
            raise _damaged(path, f"member {name} does not match its checksum")
    # only after all checksums hold: a header is not parsed before it is trusted
    return {name.removesuffix(".npy"): _from_npy(path, name, members[name]) for name in digests}


def _from_npy(path: Path, name: str, data: bytes) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # the checksum held, so only a forged file comes here
        raise _damaged(path, f"member {name} is no array ({error})") from error
    return array
