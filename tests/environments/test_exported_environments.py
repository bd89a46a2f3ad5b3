from __future__ import annotations

import subprocess
import sys

from thrifty import environments


def test_all_is_sorted_and_there() -> None:
    assert environments.__all__ == sorted(environments.__all__)
    assert all(hasattr(environments, name) for name in environments.__all__)


def test_environments_do_not_need_a_compiler() -> None:
    code = "import sys, thrifty.environments, thrifty.regret; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
