"""The source files that a module depends on, to notice when results have to be computed again."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import thrifty

ROOT = Path(thrifty.__file__).parent


def digest_of(modules: Iterable[str]) -> str:
    """Return the hash of modules and of all modules of Thrifty that they import.

    >>> digest_of(["thrifty.policies.ucb1"]) == digest_of(["thrifty.policies.scout"])
    False
    """
    contents = b"".join(path.read_bytes() for path in source_files(modules))
    return hashlib.sha256(contents).hexdigest()[:16]


@cache
def code_digest() -> str:
    """Return the hash of all code of Thrifty, to notice machines that have other code."""
    contents = b"".join(path.read_bytes() for path in sorted(ROOT.rglob("*.py")))
    return hashlib.sha256(contents).hexdigest()


def modules_of(make: Any) -> frozenset[str]:
    """Return the names of the modules of Thrifty that define a policy.

    The classes that a policy is derived from count too. What these modules import does not.

    >>> from thrifty.policies import UCB1
    >>> sorted(modules_of(UCB1))
    ['thrifty.policies.compiled', 'thrifty.policies.ucb1', 'thrifty.policy']
    """
    owner = getattr(make, "__self__", make)  # NCCUCRL2.published is a method of its class
    kinds = owner.__mro__ if isinstance(owner, type) else (owner,)
    own = f"{ROOT.name}."
    return frozenset(kind.__module__ for kind in kinds if kind.__module__.startswith(own))


def imported_modules(text: str) -> frozenset[str]:
    """Return the names of the modules of Thrifty that a Python text imports.

    >>> sorted(imported_modules("from thrifty.policies import ucb1"))
    ['thrifty.policies.ucb1']
    """
    return frozenset(name for name in _imported_names(ast.parse(text)) if _path(name))


def source_files(modules: Iterable[str]) -> list[Path]:
    """Return the files of modules and of everything of Thrifty that they import, sorted."""
    found: set[Path] = set()
    waiting = [path for name in modules if (path := _path(name))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    return sorted(found)


@cache
def _imports(path: Path) -> list[Path]:
    names = _imported_names(ast.parse(path.read_text(encoding="utf-8")))
    return [found for name in names if (found := _path(name))]


def _imported_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names of imported modules; `from a import b` may mean the module a.b, or a."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in inside if _path(name)]
            yield from modules
            if len(modules) < len(inside):
                yield node.module


def _path(name: str) -> Path | None:
    """Return the file of a module of Thrifty, or None."""
    package, _, rest = name.partition(".")
    if package != ROOT.name or not rest:
        return None
    place = ROOT.joinpath(*rest.split("."))
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)
