"""Archives come back exactly, or say why not."""

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thrifty import archive
from thrifty.archive import read_archive, write_archive
from thrifty.errors import DamagedFile, ForeignFile, SaveError, UnsupportedVersion

RECORD = np.dtype([("count", "<i8"), ("mean", "<f8", (2,)), ("name", "<U3")])
MANIFEST = {"kind": "test", "rng": {"state": 2**127 + 1}, "ratio": 0.1, "none": None, "é": ["ü"]}
ARRAYS: dict[str, Any] = {
    "counts": np.arange(6).reshape(2, 3),
    "policy/records": np.array([(1, (0.5, np.nan), "abc"), (2, (0.1, np.inf), "")], dtype=RECORD),
    "empty": np.zeros((0, 4), dtype=np.float32),
    "scalar": np.array(7, dtype=np.uint8),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "big-endian": np.arange(3, dtype=">i4"),
}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        (a.dtype, a.shape, a.tobytes()) == (other[k].dtype, other[k].shape, other[k].tobytes())
        for k, a in one.items()
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved.npz"
    write_archive(path, MANIFEST, ARRAYS)
    return path


def test_what_is_written_comes_back(saved: Path) -> None:
    manifest, arrays = read_archive(saved)
    assert manifest == MANIFEST
    assert same(arrays, ARRAYS)


def test_numpy_reads_the_arrays_without_pickle(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as container:
        assert container["counts"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_equal_contents_are_equal_files(saved: Path, tmp_path: Path) -> None:
    write_archive(tmp_path / "again.npz", *read_archive(saved))
    assert (tmp_path / "again.npz").read_bytes() == saved.read_bytes()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(
    manifest=st.dictionaries(st.text(), json_values, max_size=4),
    array=hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, min_side=0, max_side=4)),
)
def test_any_manifest_and_array_come_back(
    tmp_path_factory: pytest.TempPathFactory, manifest: dict[str, Any], array: Any
) -> None:
    path = tmp_path_factory.mktemp("any") / "a"
    write_archive(path, manifest, {"a": array})
    back, arrays = read_archive(path)
    assert back == manifest
    assert same(arrays, {"a": array})


def read_or_refuse(path: Path, data: bytes) -> str:
    """Return the name of the error, or check that nothing was lost."""
    path.write_bytes(data)
    try:
        manifest, arrays = read_archive(path)
    except SaveError as error:
        return type(error).__name__
    assert manifest == MANIFEST
    assert same(arrays, ARRAYS)
    return "read"


def test_a_changed_byte_is_noticed_wherever_it_is(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    rng = np.random.default_rng(0)
    outcomes = []
    for position in range(0, len(data), 2):
        changed = bytearray(data)
        changed[position] ^= int(rng.choice([1, 2, 4, 8, 16, 32, 64, 128, 255]))
        outcomes.append(read_or_refuse(tmp_path / "changed", bytes(changed)))
    assert set(outcomes) <= {"DamagedFile", "read"}
    assert outcomes.count("DamagedFile") > 0.6 * len(outcomes)


def test_many_changed_bytes_are_noticed(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(400):
        changed = np.frombuffer(data, dtype=np.uint8).copy()
        at = rng.integers(len(data), size=rng.integers(2, 20))
        changed[at] = rng.integers(256, size=at.size)
        read_or_refuse(tmp_path / "changed", changed.tobytes())


def test_a_truncated_file_is_damaged(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    for length in {*range(archive._HEAD_WITHIN, len(data), 7), *range(len(data) - 60, len(data))}:
        assert read_or_refuse(tmp_path / "cut", data[:length]) == "DamagedFile"
    for length in range(archive._HEAD_WITHIN):
        assert read_or_refuse(tmp_path / "cut", data[:length]) == "ForeignFile"


def repacked(path: Path, change: Any) -> bytes:
    """Unpack the members, let `change` edit them, and pack them with correct zip checksums."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    manifest = members.pop("manifest.json")
    change(members)
    return archive._pack(members.pop("manifest.json", manifest), members)


def test_members_are_exactly_those_of_the_manifest(saved: Path, tmp_path: Path) -> None:
    def edit(members: dict[str, bytes]) -> None:
        members["counts.npy"] = members["empty.npy"]

    for change in (
        lambda members: members.pop("counts.npy"),
        lambda members: members.update({"more.npy": members["counts.npy"]}),
        edit,
    ):
        assert read_or_refuse(tmp_path / "edited", repacked(saved, change)) == "DamagedFile"


def resealed(path: Path, **changes: Any) -> bytes:
    def change(members: dict[str, bytes]) -> None:
        with zipfile.ZipFile(path) as file:
            envelope = {**json.loads(file.read("manifest.json")), **changes}
        members["manifest.json"] = json.dumps(envelope, separators=(",", ":")).encode()

    return repacked(path, change)


def test_an_edited_manifest_is_damaged(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "edited"
    assert read_or_refuse(path, resealed(saved, content={})) == "DamagedFile"
    assert read_or_refuse(path, resealed(saved, sha256=None)) == "DamagedFile"
    assert read_or_refuse(path, resealed(saved, content=float("nan"))) == "DamagedFile"


def test_another_version_is_unsupported(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "newer").write_bytes(resealed(saved, version=2))
    with pytest.raises(UnsupportedVersion, match="version 2 and this release reads version 1"):
        read_archive(tmp_path / "newer")


def _plain_npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(3))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"PK\x03\x04", pickle.dumps([1]), _plain_npz()], ids=range(5)
)
def test_other_files_are_foreign(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "other").write_bytes(data)
    with pytest.raises(ForeignFile, match="not written by Thrifty"):
        read_archive(tmp_path / "other")


def test_a_missing_file_or_folder_is_a_save_error(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="cannot be read"):
        read_archive(tmp_path / "nowhere")
    with pytest.raises(SaveError, match="cannot be read"):
        read_archive(tmp_path)
    with pytest.raises(SaveError, match="cannot be written"):
        write_archive(tmp_path / "no" / "folder", {}, {})


def test_a_failed_write_leaves_the_old_file_and_no_draft(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def no_room(descriptor: int) -> None:
        raise OSError(28, "No space left on device", descriptor)

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(SaveError, match="No space left"):
        write_archive(saved, {"new": True}, {})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_what_cannot_be_stored_is_refused_before_writing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for arrays in (
        {"a": np.array([{}])},
        {"a": np.zeros(1, dtype=[("x", object)])},
        {"../a b": np.zeros(1)},
        {"": np.zeros(1)},
    ):
        with pytest.raises(SaveError, match="array"):
            write_archive(path, {}, arrays)
    manifests: tuple[dict[str, Any], ...] = ({"a": float("nan")}, {"a": object()}, {"a": {1, 2}})
    for manifest in manifests:
        with pytest.raises(SaveError, match="JSON"):
            write_archive(path, manifest, {})
    assert list(tmp_path.iterdir()) == []


def test_a_forged_member_is_damaged(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "forged").write_bytes(
        archive._pack(archive._sealed({}, {"a.npy": b"x"}), {"a.npy": b"x"})
    )
    with pytest.raises(DamagedFile, match="no array"):
        read_archive(tmp_path / "forged")
    assert saved.exists()
