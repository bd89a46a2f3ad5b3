"""Write files atomically: readers see the old file or the complete new one, never a part of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from thrifty.errors import SaveError


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], *, make_folder: bool = False, sync: bool = True
) -> Iterator[Path]:
    """Yield the path of a draft, which replaces the file when the block ends without an error.

    Parameters
    ----------
    path : path-like
        The file to write or replace.
    make_folder : bool
        True creates the folder of the file if it is missing.
    sync : bool
        True waits until the file is on the disk, so that it survives a power failure.

    Yields
    ------
    Path
        Where to write; a file in the same folder.

    Raises
    ------
    SaveError
        If the file cannot be written. The previous file is unchanged and no draft is left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt") as draft:
    ...         _ = draft.write_text("new")
    ...     (Path(folder) / "a.txt").read_text()
    'new'
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield draft
        if sync:
            with draft.open("r+b") as file:
                os.fsync(file.fileno())
        draft.replace(path)
        if sync:
            _sync_folder(path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            draft.unlink(missing_ok=True)


def replace_file(path: str | os.PathLike[str], data: bytes, *, sync: bool = True) -> None:
    """Write a file atomically; see `atomic_write`."""
    try:
        with atomic_write(path, sync=sync) as draft:
            draft.write_bytes(data)
    except ValueError as error:  # a path with a null character
        raise _cannot_write(Path(path), error) from error


def _cannot_write(path: Path, error: Exception) -> SaveError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return SaveError(
        f"{path} cannot be written ({reason}): choose a folder that is writable and has room. "
        "A file that was there before is unchanged."
    )


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # other systems cannot open a folder, and do not need this
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
