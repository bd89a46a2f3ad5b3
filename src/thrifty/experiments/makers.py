"""Policies of experiments: registered ones by name, and your own as FILE.py:Class.

The text of a file travels with every run. A worker that does not have the file, because it runs on
another machine, writes the text to a temporary folder and imports it from there.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from thrifty.errors import InvalidParameter
from thrifty.policies import policy_named
from thrifty.policy import Policy

SUFFIX = ".py"


def is_file(policy: str) -> bool:
    """Return True for FILE.py and FILE.py:Class.

    >>> is_file("mine.py:Mine"), is_file("mine.py"), is_file("ucb1")
    (True, True, False)
    """
    return _parts(policy)[0].endswith(SUFFIX)


def class_name(policy: str) -> str:
    """Return the name of the class of FILE.py:Class, and any other name as it is.

    >>> class_name("mine.py:Mine"), class_name("ucb1")
    ('Mine', 'ucb1')
    """
    return _parts(policy)[1] if is_file(policy) else policy


def source_of(policy: str) -> str | None:
    """Return the text of a policy's file, or None for a registered policy.

    Parameters
    ----------
    policy : str
        Registered name, or FILE.py:Class.

    Returns
    -------
    str or None
        The text.

    Raises
    ------
    InvalidParameter
        If the file cannot be read.
    """
    if not is_file(policy):
        return None
    path = Path(_parts(policy)[0])
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidParameter(
            f"policy {policy!r} is in a file that cannot be read ({error}): give FILE.py:Class."
        ) from error


def maker_of(policy: str, source: str | None = None) -> Callable[..., Policy]:
    """Return the class or function that makes a policy.

    Parameters
    ----------
    policy : str
        Registered name, or FILE.py:Class.
    source : str, optional
        Text of the file, in case that the file is on another machine.

    Returns
    -------
    callable
        Call it as `make(problem, seed=..., **parameters)`.

    Raises
    ------
    UnknownName
        If there is no policy with this name.
    InvalidParameter
        If the file has no policy with this name.

    Examples
    --------
    >>> maker_of("ucb1").__name__
    'UCB1'
    """
    if not is_file(policy):
        return policy_named(policy)
    path, name = _parts(policy)
    text = source_of(policy) if source is None else source
    made = _classes(path, text or "").get(name)
    if made is None:
        found = ", ".join(_classes(path, text or "")) or "none"
        raise InvalidParameter(
            f"{path} has no policy {name!r}: name a class that is derived from thrifty.Policy. Its "
            f"policies are: {found}."
        )
    return made


def full_name(policy: str) -> str:
    """Return FILE.py:Class with the full path, and the class if the file has only one.

    Parameters
    ----------
    policy : str
        FILE.py, FILE.py:Class or a registered name.

    Returns
    -------
    str
        The name by which `maker_of` finds it from every folder.

    Raises
    ------
    InvalidParameter
        If the file has no policy, or several and none is named.
    """
    if not is_file(policy):
        return policy
    path, name = _parts(policy)
    if not name:
        classes = list(_classes(path, source_of(policy) or ""))
        if len(classes) != 1:
            raise InvalidParameter(
                f"{path} has {len(classes)} policies, {', '.join(classes) or 'none'}: name one of "
                "its own, FILE.py:Class."
            )
        name = classes[0]
    found = f"{Path(path).resolve()}:{name}"
    maker_of(found)
    return found


def _parts(policy: str) -> tuple[str, str]:
    """Return the path and the class; without a class, an empty string."""
    if policy.endswith(SUFFIX):
        return policy, ""
    path, _, name = policy.rpartition(":")
    return path, name


@lru_cache(maxsize=64)
def _classes(path: str, text: str) -> dict[str, type[Policy]]:
    """Return the policies that a file defines, by name."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = _file_with(Path(path), text)
    module_name = f"thrifty_policy_{digest}_{file.stem}"
    spec = spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise InvalidParameter(f"{path} cannot be imported: give a Python file.")
    module = module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        raise InvalidParameter(
            f"{path} cannot be imported ({type(error).__name__}: {error}): correct the file."
        ) from error
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Policy) and value.__module__ == module_name
    }


def _file_with(path: Path, text: str) -> Path:
    """Return the path of a file with this text: the given one, or a copy in a temporary folder."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return path
    copy = Path(mkdtemp(dir=_temporary_folder().name)) / path.name
    copy.write_text(text, encoding="utf-8")
    return copy


@cache
def _temporary_folder() -> TemporaryDirectory[str]:
    """Return a folder that is removed when the process ends."""
    return TemporaryDirectory(prefix="thrifty-policies-")
