"""How kernels are compiled and cached, and the two generic mechanisms they rest on."""

import os
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import config

from thrifty.kernels.baselines import ucb1
from thrifty.kernels.runtime import compilation as compiling
from thrifty.kernels.runtime import steps
from thrifty.kernels.runtime.refcounts import strip_refcounts

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)


def _weighted(arrays: Any) -> Any:
    lent = strip_refcounts(arrays)
    return lent[0][1] * lent[1][0][0, 0] + lent[2]


weighted = numba.njit(_weighted)
ask_for_features = numba.njit(
    lambda state, known, draws, mask: steps.choose_features(state, known, draws, mask)
)


def test_borrowed_arrays_are_the_same_arrays() -> None:
    one, two = np.array([1.0, 2.0]), np.array([[3.0]])
    assert weighted((one, (two,), 0.5)) == 6.5
    assert strip_refcounts(one) is one


def test_a_borrowed_array_stays_alive() -> None:
    one, two = np.array([1.0, 2.0]), np.array([[3.0]])
    before = sys.getrefcount(one), sys.getrefcount(two)
    for _ in range(100):
        weighted((one, (two,), 0.5))
    assert (sys.getrefcount(one), sys.getrefcount(two)) == before
    assert (one.tolist(), two.tolist()) == ([1.0, 2.0], [[3.0]])


def test_the_type_of_the_state_says_which_step_is_called() -> None:
    state, mask = ucb1.initial(2, 0.5), np.ones(3, np.bool_)
    for call in (ask_for_features, steps.choose_features):
        mask[:] = True
        assert call(state, np.full(3, -1), np.zeros(0), mask) == 0
        assert not mask.any()


def test_policies_without_prices_ignore_them_and_have_room() -> None:
    state = ucb1.initial(2, 0.5)
    assert steps.read_prices(state, np.zeros(3)) is None
    assert steps.has_room(state) is True


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
