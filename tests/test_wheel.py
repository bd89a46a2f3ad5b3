"""The wheel is complete: every file of the package is in it, and it works from an empty folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as `make wheel` does, and unpack it as pip would."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "."]
    run(*build, str(ROOT), cwd=folder)
    (wheel,) = folder.glob("thrifty-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(*command: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def files_below(folder: Path) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)) for path in files if "__pycache__" not in path.parts}


def test_every_file_of_the_package_is_in_the_wheel(unpacked: Path) -> None:
    assert files_below(unpacked / "thrifty") == files_below(SOURCE / "thrifty")


def test_the_wheel_works_in_an_empty_folder(unpacked: Path, tmp_path: Path) -> None:
    code = "import sys, thrifty.cli; print(thrifty.__file__); sys.exit(thrifty.cli.main())"
    command = [sys.executable, "-c", code, "example", "lending", "--policy"]
    where, *policy_file = run(*command, cwd=tmp_path, PYTHONPATH=str(unpacked)).splitlines()
    assert Path(where).is_relative_to(unpacked)
    assert "[policy]" in policy_file
