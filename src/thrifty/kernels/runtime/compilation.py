"""How every kernel is compiled: without the GIL, and once per change of any kernel.

Numba's cache looks at the file of the function itself, not at the functions it calls, so an edit
in one kernel would leave stale machine code in the others. Here the cache's folder is named after
the contents of all kernels: any edit leads to a new folder, and nothing stale is ever loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

from thrifty.kernels.runtime.inner_functions import INNER_COMPILER

KERNELS = Path(__file__).parents[1]


def _digest() -> str:
    sources = sorted(KERNELS.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
        return
    yield KERNELS / "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thrifty"


def _cache_folder() -> str | None:
    """Return the first folder that can be written to, or None: then nothing is cached."""
    for parent in _candidates():
        folder = parent / f"kernels-{_digest()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError:
            continue
    return None


CACHE_FOLDER = _cache_folder()

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a function on its first call, without the GIL, and keep the machine code on disk."""
    return _compiled(function, cache=CACHE_FOLDER is not None)


def jit_inner(function: Function) -> Function:
    """Compile a function as a part of the compiled functions that call it.

    Python cannot call it: it has no wrapper, and a call would crash the process.
    """
    options = {} if INNER_COMPILER is None else {"pipeline_class": INNER_COMPILER}
    # Inlining all of them makes NCC-UCRL2 a third faster, and costs hardly any time to compile.
    return _compiled(function, no_cpython_wrapper=True, forceinline=True, **options)


def _compiled(function: Function, **options: Any) -> Function:
    before = config.CACHE_DIR
    config.CACHE_DIR = CACHE_FOLDER or before
    try:
        compiled: Function = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    finally:
        config.CACHE_DIR = before
    return compiled
