"""Methods of the benchmark of priced tables: the interface, our own, and how others are loaded."""

from __future__ import annotations

import hashlib
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Protocol

from thrifty.errors import InvalidParameter
from thrifty.plans.bank import Bank
from thrifty.plans.cases import PastCases
from thrifty.plans.learning import learn
from thrifty.plans.tree import Codes, Decisions

METHODS = "METHODS"
"""Name of the tuple of classes in a file of methods."""


class FittedMethod(Protocol):
    """Decides what to buy and which action to take; a `PlanTree` is one."""

    def decide(self, codes: Codes) -> Decisions:
        """Return actions and purchases; in each case, only bought values may be used."""
        ...


class Method(ABC):
    """Learns from past cases which looks to buy and which action to take.

    The benchmark makes one instance for each table and split. It calls `fit` once for every error
    cost, always with the same cases. An instance may keep everything that does not depend on
    rewards, such as models of the outcome, for the next call.

    Set `shares_error_costs` if it does that: one worker then handles all error costs of a split.
    `sources` names the modules and packages that the results depend on, besides the class's own
    file; when one of them changes, results are computed again.
    """

    labels: ClassVar[tuple[str, ...]]
    """Names of what `fit` returns, as they appear in tables."""
    shares_error_costs: ClassVar[bool] = False
    sources: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def fit(self, cases: PastCases, seed: int) -> Mapping[str, FittedMethod]:
        """Learn from the cases, and return what to evaluate, by label."""


@dataclass(frozen=True)
class MethodSource:
    """Where a method's class is found: this names it in other processes.

    Parameters
    ----------
    module : str
        Name of the module, or path of a Python file.
    name : str
        Name of the class.
    """

    module: str
    name: str

    def load(self) -> type[Method]:
        """Import the class."""
        method = getattr(_import(self.module), self.name, None)
        if not (isinstance(method, type) and issubclass(method, Method)):
            raise InvalidParameter(
                f"{self.module} has no method {self.name!r}: give a class that is derived from "
                "thrifty.experiments.priced_methods.Method."
            )
        return method

    def digest(self) -> str:
        """Return the hash of the code that the results depend on."""
        method = self.load()
        files = {Path(inspect.getfile(method))}
        for source in method.sources:
            files |= set(_source_files(source))
        contents = b"".join(file.read_bytes() for file in sorted(files))
        return hashlib.sha256(contents).hexdigest()[:16]


class Plans(Method):
    """The five plans that `thrifty worth` compares; one bank of models serves all error costs."""

    labels = ("plan", "printed plan", "best fixed set", "everything", "nothing")
    shares_error_costs = True
    sources = ("thrifty.plans", "thrifty.kernels.boosting", "thrifty.kernels.plans")

    def __init__(self) -> None:
        self._bank: Bank | None = None

    def fit(self, cases: PastCases, seed: int) -> Mapping[str, FittedMethod]:
        """Learn the plans; models of the outcome are kept for the next rewards."""
        bank = self._bank.with_problem(cases.problem) if self._bank else Bank(cases, seed=seed)
        self._bank = bank
        learnt = learn(cases, bank=bank)
        plans = (learnt.plan, learnt.printed, learnt.fixed, learnt.everything, learnt.nothing)
        return dict(zip(self.labels, plans, strict=True))


OWN = (MethodSource(__name__, Plans.__name__),)
"""The methods that every run of the benchmark has."""


def method_sources(texts: Iterable[str]) -> list[MethodSource]:
    """Return the methods of `FILE.py` (all of its METHODS) or `FILE.py:Class` arguments."""
    found: dict[MethodSource, None] = {}
    for text in texts:
        path, _, name = text.partition(":")
        file = Path(path)
        if file.suffix != ".py" or not file.is_file():
            raise InvalidParameter(
                f"method {text!r} is not a Python file that can be read: give FILE.py, or "
                "FILE.py:Class for one of its methods."
            )
        module = str(file.resolve())
        names = [name] if name else _listed_names(module)
        found |= dict.fromkeys(MethodSource(module, name) for name in names)
    return list(found)


def _listed_names(module: str) -> list[str]:
    listed = getattr(_import(module), METHODS, None)
    if not listed:
        raise InvalidParameter(
            f"{module} has no {METHODS}, so its methods are unknown: add METHODS = (Class, ...), "
            "or name one with FILE.py:Class."
        )
    return [method.__name__ for method in listed]


def _import(module: str) -> ModuleType:
    if not module.endswith(".py"):
        return import_module(module)
    file = Path(module)
    # A file inside a package is imported under its full name, so that its imports work.
    parts, folder = [file.stem], file.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    loaded = import_module(".".join(parts))
    if Path(loaded.__file__ or "").resolve() != file.resolve():
        raise InvalidParameter(
            f"{file} cannot be loaded, because another module is called {loaded.__name__!r}: "
            "rename the file."
        )
    return loaded


def _source_files(module: str) -> list[Path]:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise InvalidParameter(f"there is no module {module!r}: correct `sources` of the method.")
    file = Path(spec.origin)
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
