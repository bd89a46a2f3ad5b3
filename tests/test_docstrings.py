"""Every documented name has numpydoc sections: the names of `__all__`, and those of docs/api."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from numpydoc.validate import validate

import thrifty

API = Path(__file__).parents[1] / "docs" / "api"
PACKAGES = (
    "thrifty",
    "thrifty.checks",
    "thrifty.client",
    "thrifty.environments",
    "thrifty.policies",
    "thrifty.policy_file",
    "thrifty.tables",
)
CODES = {
    "GL08",  # no docstring
    "PR01",  # parameters that are not documented
    "PR02",  # documented parameters that do not exist
    "PR03",  # parameters in another order than in the signature
    "PR07",  # a parameter without a description
    "RT01",  # no Returns
    "RT03",  # a return value without a description
    "SS03",  # a summary without a full stop
    "YD01",  # no Yields
}


def documented_names() -> list[str]:
    """Return the full names of all exported functions and classes, and of their methods."""
    found = {f"{package}.{name}" for package in PACKAGES for name in import_module(package).__all__}
    for page in API.glob("*.md"):
        found.update(re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.M))
    names = {name for entry in found for name in expand(entry)}
    return sorted(names)


def expand(name: str) -> Iterator[str]:
    """Yield what a name stands for: a module's own members, a class with its methods."""
    value = resolve(name)
    if inspect.ismodule(value):
        for member, part in vars(value).items():
            if is_public(member) and getattr(part, "__module__", None) == value.__name__:
                yield from expand(f"{name}.{member}")
    elif inspect.isclass(value):
        yield name
        for member, part in vars(value).items():
            if is_public(member) and is_own_function(value, part):
                yield f"{name}.{member}"
    elif inspect.isfunction(value):
        yield name


def resolve(name: str) -> Any:
    """Return the object with this full name."""
    value: ModuleType | Any = thrifty
    for part in name.split(".")[1:]:
        if inspect.ismodule(value) and not hasattr(value, part):
            import_module(f"{value.__name__}.{part}")
        value = getattr(value, part)
    return value


def is_public(name: str) -> bool:
    return not name.startswith("_")


def is_protocol(value: Any) -> bool:
    """Return True for a protocol, whose made-up constructor takes anything."""
    return inspect.isclass(value) and getattr(value, "_is_protocol", False)


def is_own_function(owner: type, value: Any) -> bool:
    """Return True for methods that are written in the class; named tuples have others."""
    function = getattr(value, "__func__", value)
    return inspect.isfunction(function) and function.__qualname__.startswith(owner.__qualname__)


@pytest.mark.parametrize("name", documented_names())
def test_docstring_has_numpydoc_sections(name: str) -> None:
    codes = CODES - {"PR01"} if is_protocol(resolve(name)) else CODES
    errors = [text for code, text in validate(name)["errors"] if code in codes]
    assert errors == []


def test_a_missing_section_is_noticed() -> None:
    codes = {code for code, _ in validate("test_docstrings.without_sections")["errors"]}
    assert {"PR01", "RT01"} <= codes


def without_sections(number: int) -> int:
    """Return the number."""
    return number
