"""What `thrifty` exports, and that importing it costs nothing."""

import ast
import inspect
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import thrifty
from waiting import LIMIT


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    return done.stdout.strip()


def test_every_exported_name_resolves() -> None:
    for name in thrifty.__all__:
        assert getattr(thrifty, name) is not None


def test_exactly_the_names_that_can_be_imported_are_exported() -> None:
    lazy = {*thrifty._MODULE_OF_NAME, *thrifty._MODULES, "__version__"}
    assert set(thrifty.__all__) == lazy
    assert dir(thrifty) == sorted(thrifty.__all__)


def test_exported_names_are_sorted_constants_then_classes_then_the_rest() -> None:
    def key(name: str) -> tuple[int, str]:
        constant = name.isupper() or (name.upper() == name)
        return (0 if constant else 1 if name[0].isupper() else 2), name

    assert thrifty.__all__ == sorted(thrifty.__all__, key=key)
    assert len(set(thrifty.__all__)) == len(thrifty.__all__)


def test_every_exported_class_and_function_says_what_it_is_for() -> None:
    for name in thrifty.__all__:
        thing = getattr(thrifty, name)
        if inspect.isclass(thing) or inspect.isfunction(thing) or inspect.ismodule(thing):
            assert inspect.getdoc(thing), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(thrifty, "no_such_name")


def test_importing_thrifty_imports_neither_numba_nor_numpy() -> None:
    loaded = in_a_fresh_process(
        "import sys, thrifty; print('numba' in sys.modules, 'numpy' in sys.modules)"
    )
    assert loaded == "False False"


def test_play_is_a_function_whatever_was_imported_before() -> None:
    code = "import thrifty.simulation; from thrifty import play; print(callable(play))"
    assert in_a_fresh_process(code) == "True"
    assert inspect.isfunction(thrifty.play)
    assert inspect.isfunction(thrifty.simulate)


def test_every_public_class_has_a_name_of_its_own() -> None:
    modules = defaultdict(list)
    root = Path(thrifty.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(str(path.relative_to(root)))
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_the_client_says_what_to_install_without_httpx() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "try: import thrifty.client\n"
        "except ImportError as error: print(error)"
    )
    assert in_a_fresh_process(code) == (
        "thrifty.client needs the package 'httpx', which is not installed: "
        "pip install 'thrifty[service]'."
    )
