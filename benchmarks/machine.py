"""Description of the machine that the benchmarks run on."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.measuring import ROOT

PACKAGES = ("thrifty", "numpy", "numba", "llvmlite", "scipy", "river", "mabwiser", "vowpalwabbit")


def describe() -> dict[str, str]:
    """Return hardware, system and versions."""
    return {
        "CPU": _cpu(),
        "cores": f"{os.cpu_count()}",
        "memory": _memory(),
        "system": _system(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": ", ".join(f"{package} {version_of(package)}" for package in PACKAGES),
    }


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def source() -> str:
    """Return a digest of Thrifty's code, which must not change during the measurements."""
    files = sorted((ROOT / "src").rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def load() -> str:
    """Return the load average of the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = platform.system()
    return f"{name}, kernel {platform.release()}, {platform.machine()}"
