"""plan.json: exact round trips, and no mangled file becomes another plan."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_plans import plan_for, random_codes, random_plan, thyroid_plan
from thrifty.errors import (
    DamagedFile,
    ForeignFile,
    InvalidParameter,
    SaveError,
    ThriftyError,
    UnsupportedVersion,
)
from thrifty.plans.files import (
    checksum,
    plan_from_dict,
    plan_to_dict,
    read_plan,
    write_plan,
)
from thrifty.plans.tree import ActionRule, Leaf, PlanTree, Split
from thrifty.problem import Problem

SEEDS = st.integers(0, 2**32)


def resigned(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "checksum": checksum(content)}


def assert_same_decisions(one: PlanTree, other: PlanTree) -> None:
    codes = random_codes(one, 200)
    for before, after in zip(one.decide(codes), other.decide(codes), strict=True):
        assert (before == after).all()
    assert one.problem == other.problem
    for leaf, again in zip(one.leaves, other.leaves, strict=True):
        values = leaf.rule.action_values(codes), again.rule.action_values(codes)
        assert values[0].tobytes() == values[1].tobytes()
        assert (leaf.n_cases, leaf.gain) == (again.n_cases, again.gain)


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_loaded_plan_decides_the_same_to_the_last_bit(seed: int) -> None:
    plan = random_plan(seed)
    content = json.loads(json.dumps(plan_to_dict(plan)))
    again = plan_from_dict(content)
    assert_same_decisions(plan, again)
    assert (again.target, again.free.tolist()) == (plan.target, plan.free.tolist())
    assert plan_to_dict(again) == content


def test_through_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    for seed in range(5):
        plan = random_plan(seed)
        write_plan(plan, path)
        assert_same_decisions(plan, read_plan(path))
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]


def test_a_person_can_read_it() -> None:
    plan = plan_to_dict(thyroid_plan())["plan"]
    assert plan == {
        "buy": ["TSH"],
        "price": 22.78,
        "spent": 22.78,
        "cases": 7200,
        "share": 1.0,
        "if": {"feature": "TSH", "at_most": 6.05, "levels": [], "not_obtained": True},
        "then": {
            "buy": [],
            "price": 0.0,
            "spent": 22.78,
            "cases": 6500,
            "share": 0.9028,
            "action": "normal",
            "rewards": {"normal": -20.0, "sub": -1980.0, "hyper": -1980.0},
            "gain": -30.0,
        },
        "else": {
            "buy": ["TT4"],
            "price": 12.41,  # the fee of the sample is paid
            "spent": 35.19,
            "cases": 700,
            "share": 0.0972,
            "if": {"feature": "TT4", "at_most": 64.0, "levels": [], "not_obtained": True},
            "then": {
                "buy": [],
                "price": 0.0,
                "spent": 35.19,
                "cases": 200,
                "share": 0.0278,
                "action": "hyper",
                "rewards": {"normal": -1980.0, "sub": -1980.0, "hyper": -20.0},
                "gain": -400.0,
            },
            "else": {
                "buy": [],
                "price": 0.0,
                "spent": 35.19,
                "cases": 500,
                "share": 0.0694,
                "action": "sub",
                "rewards": {"normal": -1980.0, "sub": -20.0, "hyper": -1980.0},
                "gain": -300.0,
            },
        },
    }


def _entries(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all entries of a JSON value."""
    found = [path] if path else []
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, part in items:
        found += _entries(part, (*path, key))
    return found


REPLACEMENTS: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    -1,
    10**30,
    0.5,
    -1e300,
    "",
    "x0",
    [],
    {},
    [[]],
    [1.5],
    {"a": 1},
    "(missing)",
)


@st.composite
def mangled(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw the content of a plan, and the same with an entry replaced, removed or added."""
    content = json.loads(json.dumps(plan_to_dict(random_plan(draw(st.integers(0, 30))))))
    broken = copy.deepcopy(content)
    path = draw(st.sampled_from(_entries(broken)))
    inside: Any = broken
    for key in path[:-1]:
        inside = inside[key]
    how = draw(st.sampled_from(("replace", "remove", "add", "swap")))
    if how == "replace":
        inside[path[-1]] = copy.deepcopy(draw(st.sampled_from(REPLACEMENTS)))
    elif how == "remove":
        del inside[path[-1]]
    elif how == "add" and isinstance(inside, list):
        inside.append(copy.deepcopy(inside[path[-1]]))
    elif how == "add":
        inside["more"] = 1
    elif isinstance(inside, list):
        inside.reverse()
    elif isinstance(inside[path[-1]], float):
        inside[path[-1]] = np.nextafter(inside[path[-1]], np.inf).item()
    return content, broken


@given(pair=mangled())
@settings(max_examples=400, deadline=None)
def test_a_changed_plan_is_refused(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    content, broken = pair
    if broken == content and json.dumps(broken) == json.dumps(content):
        return
    with pytest.raises(ThriftyError):
        plan_from_dict(broken)


@given(pair=mangled())
@settings(max_examples=400, deadline=None)
def test_a_changed_plan_with_a_new_checksum_means_what_it_says(
    pair: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    _, broken = pair
    signed = resigned(broken)
    try:
        plan = plan_from_dict(signed)
    except ThriftyError:
        return
    assert json.dumps(plan_to_dict(plan), sort_keys=True) == json.dumps(signed, sort_keys=True)
    plan.decide(random_codes(plan, 20))


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_file_with_other_bytes_is_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    write_plan(thyroid_plan(), path)
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    how = data.draw(st.sampled_from(("cut", "flip", "insert")))
    if how == "cut":
        broken = whole[:place]
    elif how == "flip":
        bit = 1 << data.draw(st.integers(0, 7))
        broken = whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]
    else:
        broken = whole[:place] + data.draw(st.binary(min_size=1, max_size=9)) + whole[place:]
    path.write_bytes(broken)
    try:
        plan = read_plan(path)
    except SaveError:
        return
    # Only white space or the spelling of the same value has changed.
    assert plan_to_dict(plan) == plan_to_dict(thyroid_plan())


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def changed(content: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        inside = content
        for key in parents:
            inside = inside[key]
        inside[last] = value

    return changed


@pytest.mark.parametrize(
    ("spoil", "error", "culprit"),
    [
        (change("format", "plan"), ForeignFile, "format is 'plan'"),
        (change("version", 2), UnsupportedVersion, r"version 2.*reads version 1"),
        (change("version", True), UnsupportedVersion, "version True"),
        (change("plan.if.feature", "T3"), DamagedFile, r"plan\.if\.feature is 'T3'"),
        (change("plan.if.at_most", 6.1), DamagedFile, r"at_most is 6\.1, which is not an edge"),
        (change("plan.if.at_most", 6), DamagedFile, "is 6, not a number with a decimal point"),
        (change("plan.if.levels", ["high"]), DamagedFile, "names 'high', which 'TSH' lacks"),
        (change("plan.if.not_obtained", 1), DamagedFile, "is 1, not true or false"),
        (change("plan.buy", ["T3"]), DamagedFile, "names 'T3', which is not for sale"),
        (change("plan.buy", []), DamagedFile, "compares 'TSH' before it has bought it"),
        (change("plan.buy", "TSH"), DamagedFile, "is 'TSH', not a list"),
        (change("plan.cases", -1), DamagedFile, "a node has -1 cases"),
        (change("plan.price", 20.0), DamagedFile, r"plan\.price does not follow"),
        (change("plan.then.spent", 1.0), DamagedFile, r"plan\.then\.spent does not follow"),
        (change("plan.then.action", "sub"), DamagedFile, "takes action 1 although its values"),
        (change("plan.then.action", "operate"), DamagedFile, "which is not an action"),
        (change("plan.then.rewards", {}), DamagedFile, r"rewards\.normal is missing"),
        (change("plan.then.model", 0), DamagedFile, "is 0, but there are 0 models"),
        (change("plan.comment", "mine"), DamagedFile, r"plan\.comment does not follow"),
        (change("models", [{"kind": "forest"}]), DamagedFile, r"models\[0\] is .*forest"),
        (change("free", ["age"]), DamagedFile, "free names 'age', which is not a feature"),
        (change("target", 3), DamagedFile, "target is 3, not text or null"),
        (change("problem", {}), DamagedFile, "problem is not in the form"),
        (change("problem.actions", []), DamagedFile, "at least one action"),
        (change("problem.prices.prices", {"TSH": 1.0}), DamagedFile, "no list price"),
    ],
)
def test_errors_say_what_is_wrong(
    spoil: Callable[[dict[str, Any]], None], error: type[SaveError], culprit: str
) -> None:
    content = plan_to_dict(thyroid_plan())
    spoil(content)
    with pytest.raises(error, match=culprit):
        plan_from_dict(resigned(content))


def test_a_change_is_noticed_by_the_checksum(tmp_path: Path) -> None:
    write_plan(thyroid_plan(), tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text(encoding="utf-8")
    (tmp_path / "plan.json").write_text(text.replace("6.05", "0.5", 1), encoding="utf-8")
    with pytest.raises(DamagedFile, match=r"plan\.json: the checksum is .*use an unchanged copy"):
        read_plan(tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", ForeignFile),
        (b"income,outcome\n1,yes\n", ForeignFile),
        (b"[1, 2]", ForeignFile),
        (b"{}", ForeignFile),
        (b"\xff\xfe\x00", ForeignFile),
        (b'{"format": "thrifty-plan", "version": 1, "plan', DamagedFile),
        (b'{"format": "thrifty-plan", "version": NaN}', DamagedFile),
        (b'{"format": "thrifty-plan", "x": ' + b"[" * 100_000, DamagedFile),
        (b'{"format": "thrifty-plan", "version": ' + b"9" * 5000 + b"}", DamagedFile),
    ],
)
def test_files_that_are_no_plans(data: bytes, error: type[SaveError], tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(data)
    with pytest.raises(error, match=r"plan\.json"):
        read_plan(tmp_path / "plan.json")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path, "a\0b"):
        with pytest.raises(SaveError, match=r"cannot be read .*check the path"):
            read_plan(path)
    with pytest.raises(SaveError, match="cannot be written"):
        write_plan(thyroid_plan(), tmp_path / "nowhere" / "plan.json")


def test_a_tree_that_uses_what_it_does_not_know_is_refused() -> None:
    problem = Problem.anonymous((2, 3), 2)
    priced = Problem(problem.features, problem.actions, prices={"x1": 1.0, "x2": 1.0})
    leaf, bought = Leaf((), ActionRule(0, np.array([1.0, 0.0]))), np.zeros(2, dtype=np.bool_)
    split = Split((0,), 1, np.ones(4, dtype=np.bool_), leaf, leaf)
    with pytest.raises(InvalidParameter, match="compares 'x2' before it has bought it"):
        plan_to_dict(PlanTree(priced, bought, split))
    with pytest.raises(InvalidParameter, match="takes action 1 although"):
        plan_to_dict(PlanTree(priced, bought, Leaf((), ActionRule(1, np.array([1.0, 0.0])))))
    with pytest.raises(InvalidParameter, match=r"buys the looks \[2\]"):
        plan_to_dict(PlanTree(priced, bought, Leaf((2,), leaf.rule)))
    deep = plan_for(Problem.anonymous((2,) * 80, 2), depth=80)
    with pytest.raises(InvalidParameter, match="deeper than 60"):
        plan_to_dict(deep)


def test_leaves_may_share_a_model() -> None:
    plan = next(
        plan
        for plan in map(random_plan, range(100))
        if isinstance(plan.root, Leaf) is False and len(plan_to_dict(plan)["models"]) == 1
    )
    (model,) = [leaf.rule for leaf in plan.leaves if not isinstance(leaf.rule, ActionRule)]
    known = Leaf(tuple(range(len(plan.looks))), model)
    twice = PlanTree(plan.problem, plan.free, Split(known.looks, 0, *_sides(plan), known, known))
    content = plan_to_dict(twice)
    assert len(content["models"]) == 1
    assert_same_decisions(twice, plan_from_dict(content))


def _sides(plan: PlanTree) -> tuple[Any]:
    return (np.arange(int(plan.problem.levels[0]) + 1) > 0,)
