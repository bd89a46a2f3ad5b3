"""plan.json: a plan as a file that people can read and that no change goes unnoticed in.

The file has the problem, the tree and the models that act at its leaves, and a checksum of them. A
file that was changed, cut short or written by another program is refused. What the file repeats for
readers, such as prices and shares of cases, must agree with the rest of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from thrifty.errors import (
    DamagedFile,
    ForeignFile,
    InvalidParameter,
    SaveError,
    ThriftyError,
    UnsupportedVersion,
)
from thrifty.features import Feature, date_seconds, date_text
from thrifty.files import replace_file
from thrifty.json_values import compact_json
from thrifty.plans.booster import ModelRule
from thrifty.plans.cases import Bools, Look, LookSet, list_looks
from thrifty.plans.model_files import (
    KIND,
    model_from_dict,
    model_to_dict,
    require_valid_model,
)
from thrifty.plans.printing import purchase_price
from thrifty.plans.tree import ActionRule, Leaf, Node, PlanTree, Rule, Split
from thrifty.problem import Problem

FORMAT, VERSION = "thrifty-plan", 1
MAX_DEPTH = 60
"""Comparisons on the longest path of a tree; Python's own limit on nesting is not far above."""
_MAX_BYTES = 256 * 2**20
_LINE = 100
_REMEDY = "use an unchanged copy, or make the plan again"


def plan_to_dict(tree: PlanTree) -> dict[str, Any]:
    """Return a plan as JSON values, the content of plan.json.

    Parameters
    ----------
    tree : PlanTree
        The plan.

    Returns
    -------
    dict
        Input for `plan_from_dict`, with a checksum.

    Raises
    ------
    InvalidParameter
        If the tree uses a feature before it is bought, or does not fit its problem.

    Examples
    --------
    >>> problem = Problem([Feature("x", ("0", "1"))], ["go", "stop"], prices={"x": 2.0})
    >>> tree = PlanTree(problem, np.array([False]), Leaf((0,), ActionRule(0, np.array([1.0, 0.0]))))
    >>> plan_to_dict(tree)["plan"]["buy"]
    ['x']
    """
    require_valid(tree)
    models: list[ModelRule] = []
    plan = _node_to_dict(tree, tree.root, (), models)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "checksum": "",
        "target": tree.target,
        "free": [
            name for name, free in zip(tree.problem.feature_names, tree.free, strict=True) if free
        ],
        "plan": plan,
        "problem": tree.problem.to_dict(),
        "models": [model_to_dict(rule, tree.problem) for rule in models],
    }
    content["checksum"] = checksum(content)
    return content


def plan_from_dict(plain: Mapping[str, Any]) -> PlanTree:
    """Make a plan from the output of `plan_to_dict`.

    Parameters
    ----------
    plain : mapping
        Content of a plan.json.

    Returns
    -------
    PlanTree
        A plan that decides exactly as the original does.

    Raises
    ------
    SaveError
        If the content is not a plan, has another version, or was changed.
    """
    _require_format(plain)
    found, expected = plain.get("checksum"), _try_checksum(plain)
    if found != expected:
        raise DamagedFile(
            f"the checksum is {_shown(found)}, but the content has {expected!r}, so the plan was "
            f"changed after it was written and may decide differently: {_REMEDY}."
        )
    try:
        tree = _Reader(plain).tree()
        again = {**plan_to_dict(tree), "checksum": found}
    except DamagedFile:
        raise
    except ThriftyError as error:
        raise DamagedFile(f"the plan does not fit its own problem ({error}) {_REMEDY}.") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"the problem is not in the form that this release writes ({error!r}): {_REMEDY}."
        ) from error
    where = _first_difference(plain, again)
    if where is not None:
        raise DamagedFile(
            f"{where} does not follow from the rest of the file, so it is not clear what the plan "
            f"does: {_REMEDY}."
        )
    return tree


def read_plan(path: str | os.PathLike[str]) -> PlanTree:
    """Read a plan.json.

    Parameters
    ----------
    path : path
        File that `write_plan` wrote.

    Returns
    -------
    PlanTree
        The plan.

    Raises
    ------
    SaveError
        If the file cannot be read, is not a plan, has another version, or was changed.
    """
    content = read_content(path)
    try:
        return plan_from_dict(content)
    except SaveError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from error


def read_content(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the content of a plan.json, without making the plan."""
    try:
        if Path(path).stat().st_size > _MAX_BYTES:
            raise ForeignFile(f"{path} is larger than any plan: give the path of a plan.json.")
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SaveError(
            f"{path} cannot be read ({reason}): check the path; `thrifty worth` and Plan.save "
            "write a plan.json."
        ) from error
    return _parse(data, path)


def write_plan(tree: PlanTree, path: str | os.PathLike[str]) -> None:
    """Write a plan.json; a file that is there is replaced at once or not at all.

    Parameters
    ----------
    tree : PlanTree
        The plan.
    path : path
        File to write.
    """
    replace_file(path, (format_content(plan_to_dict(tree)) + "\n").encode())


def checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything but the checksum itself."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    canonical = json.dumps(rest, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def format_content(value: Any, indent: str = "") -> str:
    """Return JSON with a line per entry, except for short lists and dictionaries.

    >>> print(format_content({"a": [1, 2], "b": {"c": {"d": 1}}}))
    {
      "a": [1,2],
      "b": {
        "c": {"d":1}
      }
    }
    """
    compact = compact_json(value)
    nested = value.values() if isinstance(value, dict) else value
    is_scalar = not isinstance(value, dict | list)
    is_flat = is_scalar or not any(isinstance(part, dict | list) for part in nested)
    if is_scalar or not value or (is_flat and (isinstance(value, list) or len(compact) < _LINE)):
        return compact
    inner = indent + "  "
    if isinstance(value, list):
        lines = [inner + format_content(part, inner) for part in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    lines = [f"{inner}{json.dumps(k)}: {format_content(part, inner)}" for k, part in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def require_valid(tree: PlanTree) -> None:
    """Raise `InvalidParameter` if a tree does not fit its problem, or uses what it does not buy."""
    problem = tree.problem
    _require(
        tree.free.dtype == np.bool_ and tree.free.shape == (problem.n_features,),
        f"free has dtype {tree.free.dtype} and shape {tree.free.shape}: give one True or False for "
        f"each of the {problem.n_features} features",
    )
    _require_valid_node(tree, tree.root, frozenset(np.flatnonzero(tree.free).tolist()), 0)


def _require_valid_node(tree: PlanTree, node: Node, known: frozenset[int], depth: int) -> None:
    _require(depth <= MAX_DEPTH, f"the tree is deeper than {MAX_DEPTH}: use a smaller one")
    looks = list(node.looks)
    _require(
        looks == sorted({*looks} & {*range(len(tree.looks))}),
        f"a node buys the looks {looks}: give positions below {len(tree.looks)}, in order",
    )
    _require(node.n_cases >= 0, f"a node has {node.n_cases} cases: count them from 0")
    known |= {column for k in looks for column in tree.looks[k].columns}
    if isinstance(node, Leaf):
        _require_valid_rule(tree.problem, node.rule, known)
        return
    _require_known(tree.problem, (node.feature,), known, "compares")
    shape = (int(tree.problem.levels[node.feature]) + 1,)
    _require(
        node.is_low.dtype == np.bool_ and node.is_low.shape == shape,
        f"the comparison of {tree.problem.feature_names[node.feature]!r} has dtype "
        f"{node.is_low.dtype} and shape {node.is_low.shape}: give one True or False per level, and "
        "one more for a value that could not be obtained",
    )
    _require_valid_node(tree, node.low, known, depth + 1)
    _require_valid_node(tree, node.high, known, depth + 1)


def _require_valid_rule(problem: Problem, rule: Rule, known: frozenset[int]) -> None:
    if isinstance(rule, ModelRule):
        require_valid_model(rule, problem)
        _require_known(problem, rule.columns, known, "acts by")
        return
    if not isinstance(rule, ActionRule):
        raise InvalidParameter(f"a leaf acts by {rule!r}: give an ActionRule or a ModelRule.")
    values = np.asarray(rule.values)
    _require(
        values.shape == (problem.n_actions,) and bool(np.isfinite(values).all()),
        f"a leaf has the values {values.tolist()}: give a finite reward for each of the "
        f"{problem.n_actions} actions",
    )
    _require(
        int(values.argmax()) == rule.action,
        f"a leaf takes action {rule.action} although its values are {values.tolist()}: the action "
        "is the first with the largest value",
    )


def _require_known(
    problem: Problem, features: Sequence[int], known: frozenset[int], what: str
) -> None:
    for i in features:
        _require(0 <= i < problem.n_features, f"the plan {what} feature {i}, which does not exist")
        _require(
            i in known,
            f"the plan {what} {problem.feature_names[i]!r} before it has bought it: buy it first, "
            "or make it free",
        )


def _require(is_true: bool, message: str) -> None:
    if not is_true:
        raise InvalidParameter(f"{message}.")


def _node_to_dict(
    tree: PlanTree, node: Node, owned: LookSet, models: list[ModelRule]
) -> dict[str, Any]:
    """Return a node and everything below it; models are added to the list."""
    bought = tuple(sorted({*owned, *node.looks}))
    plain: dict[str, Any] = {
        "buy": [tree.looks[k].name for k in node.looks],
        "price": purchase_price(tree, node.looks, owned),
        "spent": purchase_price(tree, bought, ()),
        "cases": int(node.n_cases),
    }
    if tree.root.n_cases:
        plain["share"] = round(node.n_cases / tree.root.n_cases, 4)
    if isinstance(node, Leaf):
        return {**plain, **_rule_to_dict(tree, node.rule, models), "gain": _finite(node.gain)}
    return {
        **plain,
        "if": _condition_to_dict(tree.problem.features[node.feature], node.is_low),
        "then": _node_to_dict(tree, node.low, bought, models),
        "else": _node_to_dict(tree, node.high, bought, models),
    }


def _rule_to_dict(tree: PlanTree, rule: Rule, models: list[ModelRule]) -> dict[str, Any]:
    if isinstance(rule, ActionRule):
        names = tree.problem.actions
        return {
            "action": names[rule.action],
            "rewards": dict(zip(names, map(float, rule.values), strict=True)),
        }
    assert isinstance(rule, ModelRule)  # require_valid accepts no other
    # By identity: leaves may share a model, which is then written once.
    place = next((k for k, model in enumerate(models) if model is rule), len(models))
    if place == len(models):
        models.append(rule)
    return {"model": place}


def _condition_to_dict(feature: Feature, is_low: Bools) -> dict[str, Any]:
    """Return which values go to `then`: a threshold if possible, otherwise all levels by name."""
    n_intervals = len(feature.edges) + 1 if feature.edges else 0
    chosen = is_low.tolist()
    n_low = sum(chosen[:n_intervals])
    plain: dict[str, Any] = {"feature": feature.name}
    listed = list(feature.levels)
    if 0 < n_low < n_intervals and all(chosen[:n_low]):
        plain["at_most"] = _edge_to_json(feature, feature.edges[n_low - 1])
        listed = listed[n_intervals:]
    in_order = dict(zip(feature.levels, chosen[:-1], strict=True))
    plain["levels"] = [level for level in listed if in_order[level]]
    plain["not_obtained"] = chosen[-1]
    return plain


def _edge_to_json(feature: Feature, edge: float) -> float | str:
    """Return a threshold as people write it: that of a date as a date, if it is exact."""
    text = date_text(edge) if feature.is_date else ""
    return text if text and date_seconds(text) == edge else edge


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


class _Reader:
    """Makes a tree of parsed JSON; every error says where it is."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        self.plain = plain
        self.problem = Problem.from_dict(_take(plain, "", "problem", dict))
        free = _take(plain, "", "free", list)
        names = self.problem.feature_names
        unknown = [name for name in free if name not in names]
        if unknown:
            _refuse("free", f"names {_shown(unknown[0])}, which is not a feature")
        self.free = np.array([name in free for name in names], dtype=np.bool_)
        self.looks: tuple[Look, ...] = list_looks(self.problem, self.free)
        self.models: list[ModelRule] = [
            self._model(model, f"models[{k}]")
            for k, model in enumerate(_take(plain, "", "models", list))
        ]

    def tree(self) -> PlanTree:
        target = _take(self.plain, "", "target", str, type(None))
        root = self._node(_take(self.plain, "", "plan", dict), "plan", 0)
        return PlanTree(self.problem, self.free, root, target)

    def _model(self, plain: Any, where: str) -> ModelRule:
        if not isinstance(plain, dict) or plain.get("kind") != KIND:
            _refuse(where, f"is {_shown(plain)}, which is not a model that this release knows")
        try:
            return model_from_dict(plain, self.problem)
        except (LookupError, OverflowError, TypeError, ValueError) as error:
            _refuse(where, f"is not a model ({error})")

    def _node(self, plain: dict[str, Any], where: str, depth: int) -> Node:
        if depth > MAX_DEPTH:
            _refuse(where, f"is deeper than {MAX_DEPTH} comparisons")
        positions = {look.name: k for k, look in enumerate(self.looks)}
        bought = _take(plain, where, "buy", list)
        unknown = [name for name in bought if not isinstance(name, str) or name not in positions]
        if unknown:
            _refuse(f"{where}.buy", f"names {_shown(unknown[0])}, which is not for sale")
        looks = tuple(positions[name] for name in bought)
        cases = _take(plain, where, "cases", int)
        if "if" not in plain:
            gain = _take(plain, where, "gain", float, type(None))
            return Leaf(looks, self._rule(plain, where), cases, math.nan if gain is None else gain)
        condition = _take(plain, where, "if", dict)
        feature = self._feature(condition, f"{where}.if")
        return Split(
            looks,
            feature,
            _condition_from_dict(self.problem.features[feature], condition, f"{where}.if"),
            self._node(_take(plain, where, "then", dict), f"{where}.then", depth + 1),
            self._node(_take(plain, where, "else", dict), f"{where}.else", depth + 1),
            cases,
        )

    def _feature(self, condition: dict[str, Any], where: str) -> int:
        name = _take(condition, where, "feature", str)
        if name not in self.problem.feature_names:
            _refuse(f"{where}.feature", f"is {_shown(name)}, which is not a feature")
        return self.problem.feature_index(name)

    def _rule(self, plain: dict[str, Any], where: str) -> Rule:
        if "model" in plain:
            place: int = _take(plain, where, "model", int)
            if not 0 <= place < len(self.models):
                _refuse(f"{where}.model", f"is {place}, but there are {len(self.models)} models")
            return self.models[place]
        action = _take(plain, where, "action", str)
        if action not in self.problem.actions:
            _refuse(f"{where}.action", f"is {_shown(action)}, which is not an action")
        rewards = _take(plain, where, "rewards", dict)
        values = [_take(rewards, f"{where}.rewards", name, float) for name in self.problem.actions]
        return ActionRule(self.problem.action_index(action), np.array(values))


def _condition_from_dict(feature: Feature, plain: dict[str, Any], where: str) -> Bools:
    is_low = np.zeros(len(feature.levels) + 1, dtype=np.bool_)
    if "at_most" in plain:
        edge = _take(plain, where, "at_most", float, *([str] if feature.is_date else []))
        value = date_seconds(edge) if isinstance(edge, str) else edge
        if value not in feature.edges:
            _refuse(f"{where}.at_most", f"is {edge!r}, which is not an edge of {feature.name!r}")
        is_low[: feature.edges.index(value) + 1] = True
    for level in _take(plain, where, "levels", list):
        if level not in feature.levels:
            _refuse(f"{where}.levels", f"names {_shown(level)}, which {feature.name!r} lacks")
        is_low[feature.levels.index(level)] = True
    is_low[-1] = _take(plain, where, "not_obtained", bool)
    return is_low


def _take(plain: Mapping[str, Any], where: str, key: str, *kinds: type) -> Any:
    """Return an entry if it is of exactly one of these kinds."""
    value = plain.get(key)
    # Exactly, because True is an int for Python, and 1 where 1.0 was written is a change.
    if key not in plain or type(value) not in kinds:
        found = _shown(value) if key in plain else "missing"
        expected = " or ".join(_KINDS[kind] for kind in kinds)
        _refuse(f"{where}.{key}".removeprefix("."), f"is {found}, not {expected}")
    return value


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number with a decimal point",
    type(None): "null",
}


def _refuse(where: str, what: str) -> NoReturn:
    raise DamagedFile(f"{where} {what}, so the plan cannot be carried out: {_REMEDY}.")


def _require_format(plain: Any) -> None:
    if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
        found = _shown(plain.get("format")) if isinstance(plain, Mapping) else _shown(plain)
        raise ForeignFile(
            f"this is not a plan (its format is {found}, not {FORMAT!r}): give a plan.json that "
            "`thrifty worth` or Plan.save wrote."
        )
    version = plain.get("version")
    if type(version) is not int or version != VERSION:
        raise UnsupportedVersion(
            f"the plan has version {_shown(version)}, and this release reads version {VERSION}: "
            "use the release that wrote it, or make the plan again."
        )


def _try_checksum(plain: Mapping[str, Any]) -> str:
    try:
        return checksum(plain)
    except (RecursionError, TypeError, ValueError) as error:
        raise DamagedFile(f"the content is not valid JSON ({error}): {_REMEDY}.") from error


def _parse(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        content = json.loads(data, parse_constant=_refuse_constant)
    except (RecursionError, ValueError) as error:
        # Also a UnicodeError. A plan that was cut short still begins with its format.
        if FORMAT.encode() in data[:200]:
            raise DamagedFile(
                f"{os.fspath(path)} is damaged ({error}), perhaps it was cut short: {_REMEDY}."
            ) from error
        content = None
    if not isinstance(content, dict):
        raise ForeignFile(
            f"{os.fspath(path)} is not a plan: give a plan.json that `thrifty worth` or Plan.save "
            "wrote."
        )
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _first_difference(one: Any, other: Any, where: str = "") -> str | None:
    """Return the path of the first entry in which two JSON values differ, or None."""
    if type(one) is not type(other) and not (isinstance(one, Mapping) and isinstance(other, dict)):
        return where or "the content"
    if isinstance(other, dict):
        keys = [*other, *(key for key in one if key not in other)]
        pairs = [(one.get(key, _MISSING), other.get(key, _MISSING), f".{key}") for key in keys]
    elif isinstance(other, list):
        if len(one) != len(other):
            return where
        pairs = [(a, b, f"[{k}]") for k, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else where
    found = (_first_difference(a, b, f"{where}{step}".removeprefix(".")) for a, b, step in pairs)
    return next((path for path in found if path is not None), None)


_MISSING = object()


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
