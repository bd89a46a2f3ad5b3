"""How kernels are compiled and cached."""

import os
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from numba.core import config

from thrifty.kernels.runtime import compilation as compiling

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)


def test_the_folder_of_the_cache_changes_with_any_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compiling._digest()
    copy = tmp_path / "kernels"
    copytree(compiling.KERNELS, copy, ignore=ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiling, "KERNELS", copy)
    assert compiling._digest() == before
    with (copy / "runtime" / "choice.py").open("a") as kernel:
        kernel.write("\n")
    assert compiling._digest() != before


def test_the_cache_is_where_numba_is_told_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert list(compiling._candidates()) == [tmp_path]
    folder = compiling._cache_folder()
    assert folder is not None
    assert Path(folder).parent == tmp_path


def test_the_cache_is_beside_the_kernels_or_else_in_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    beside, of_the_user = compiling._candidates()
    assert beside == compiling.KERNELS / "__pycache__"
    assert of_the_user == tmp_path / "thrifty"


def test_where_nothing_can_be_written_nothing_is_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiling, "_candidates", lambda: iter([tmp_path / "file"]))
    assert compiling._cache_folder() is None


@compiled_only
def test_kernels_are_cached() -> None:
    assert compiling.CACHE_FOLDER is not None
    assert Path(compiling.CACHE_FOLDER).is_dir()
