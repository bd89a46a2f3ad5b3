"""Files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thrifty.errors import SaveError


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Give a draft to write to; it becomes the file at the end, or goes if there is an error."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield draft
        draft.replace(path)
    except OSError as error:
        raise SaveError(
            f"{path} cannot be written ({error}): choose a folder that is writable and has room."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
