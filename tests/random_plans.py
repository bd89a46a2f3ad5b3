"""Random problems, plans and models, and a small plan that a reader can follow."""

from typing import Any

import numpy as np

from thrifty.plans.binning import Binning
from thrifty.plans.booster import Booster, ModelRule
from thrifty.plans.tree import ActionRule, Leaf, Node, PlanTree, Rule, Split
from thrifty.problem import Bundle, Feature, Group, Outcomes, PriceList, Problem, RewardRange

Rng = np.random.Generator


def random_problem(rng: Rng, n_outcomes: int) -> tuple[Problem, Any]:
    """Return a problem with numbers, categories, a bundle and a group, and its free features."""
    n = int(rng.integers(3, 7))
    features = tuple(_feature(rng, f"x{i}") for i in range(n))
    names = [feature.name for feature in features]
    free = np.zeros(n, dtype=np.bool_)
    free[0] = rng.random() < 0.5
    bundle = Bundle("report", tuple(names[-2:]), 3.25)
    group = Group("blood", tuple(names[1:-2]), 1.5)
    prices = {name: round(float(rng.random() * 9), 2) for name in names[int(free[0]) : -2]}
    has_group = bool(group.features) and rng.random() < 0.7
    actions = ("wait", "treat", "refer")
    outcomes = tuple(f"outcome {k}" for k in range(n_outcomes))
    rewards = {a: dict(zip(outcomes, rng.normal(size=n_outcomes), strict=True)) for a in actions}
    problem = Problem(
        features,
        actions,
        Outcomes(outcomes, rewards),
        PriceList(prices, [group] if has_group else [], [bundle]),
        RewardRange(-100.0, 100.0, "EUR"),
    )
    return problem, free


def _feature(rng: Rng, name: str) -> Feature:
    missing = bool(rng.random() < 0.5)
    if rng.random() < 0.15:
        days = np.unique(rng.integers(15_000, 20_000, 4)) + rng.choice([0.0, 0.25, 1 / 3e9])
        return Feature.date(name, (86400 * days).tolist(), missing=missing)
    if rng.random() < 0.5:
        edges = np.unique(rng.normal(size=int(rng.integers(1, 6))))
        return Feature.number(name, tuple(edges.tolist()), missing=missing)
    levels = [f"level {k}" for k in range(int(rng.integers(1, 6)))]
    more = [("(missing)", "missing")] if missing else []
    more += [("(other)", "other")] if rng.random() < 0.5 else []
    special: dict[str, Any] = {key: level for level, key in more}
    return Feature(name, (*levels, *(level for level, _ in more)), **special)


def random_plan(seed: int, *, models: bool = True, depth: int = 3) -> PlanTree:
    """Return a random plan; some of its leaves act by a model."""
    rng = np.random.default_rng(seed)
    problem, free = random_problem(rng, int(rng.integers(2, 5)))
    empty = PlanTree(problem, free, Leaf((), _constant(rng)), target="result")
    known = frozenset(np.flatnonzero(free).tolist())
    root = _node(rng, empty, known, depth, models)
    return PlanTree(problem, free, root, "result" if rng.random() < 0.5 else None)


def _node(rng: Rng, plan: PlanTree, known: frozenset[int], depth: int, models: bool) -> Node:
    wanted = rng.permutation(len(plan.looks))[: rng.integers(0, 3)]
    looks = tuple(sorted(wanted.tolist()))
    known = known | {column for k in looks for column in plan.looks[k].columns}
    cases = int(rng.integers(0, 1000))
    if depth == 0 or not known or rng.random() < 0.2:
        rule = _model(rng, plan.problem, known) if models and rng.random() < 0.5 else _constant(rng)
        return Leaf(looks, rule, cases, float(rng.normal()))
    feature = int(rng.choice(sorted(known)))
    low, high = (_node(rng, plan, known, depth - 1, models) for _ in range(2))
    return Split(looks, feature, _is_low(rng, plan.problem, feature), low, high, cases)


def _is_low(rng: Rng, problem: Problem, feature: int) -> Any:
    n_levels = int(problem.levels[feature])
    is_low = rng.random(n_levels + 1) < 0.5
    if problem.features[feature].ordered and rng.random() < 0.8:
        is_low[:n_levels] = np.arange(n_levels) <= rng.integers(n_levels)
    return is_low


def _constant(rng: Rng) -> Rule:
    values = rng.normal(size=3)
    return ActionRule(int(values.argmax()), values)


def _model(rng: Rng, problem: Problem, known: frozenset[int]) -> ModelRule:
    assert problem.outcomes is not None
    columns = tuple(i for i in sorted(known) if rng.random() < 0.7)
    n_outcomes = len(problem.outcomes.names)
    lookups = tuple(
        rng.integers(0, 5, levels + 1).astype(np.uint8) for levels in problem.levels.tolist()
    )
    boosters = tuple(
        _booster(rng, columns, 1 if n_outcomes == 2 else n_outcomes)
        for _ in range(int(rng.integers(1, 4)))
    )
    n_bins = np.array([int(lookup.max()) + 1 for lookup in lookups])
    return ModelRule(Binning(lookups, n_bins), boosters, problem.outcomes.table)


def _booster(rng: Rng, columns: tuple[int, ...], n_scores: int) -> Booster:
    depth = int(rng.integers(1, 4))
    rounds = int(rng.integers(1, 6)) if columns else 0
    shape = (rounds, n_scores, 2**depth - 1)
    return Booster(
        columns,
        rng.normal(size=n_scores).round(6),
        rng.integers(-1, max(len(columns), 1), shape).astype(np.int16),
        rng.integers(0, 5, shape).astype(np.uint8),
        rng.normal(size=(rounds, n_scores, 2**depth)).round(6),
    )


def random_codes(plan: PlanTree, n: int, seed: int = 0) -> Any:
    """Return codes of cases; some values could not be obtained."""
    rng = np.random.default_rng(seed)
    levels = plan.problem.levels
    return rng.integers(-1, levels, size=(n, len(levels))).astype(np.int16)


def plan_for(problem: Problem, depth: int = 2) -> PlanTree:
    """Return a plan for any problem: it buys feature by feature, and stops at low levels."""
    prices = dict.fromkeys(problem.feature_names, 1.0)
    priced = Problem(problem.features, problem.actions, prices=prices)
    leaves = [ActionRule(a, np.eye(problem.n_actions)[a]) for a in range(problem.n_actions)]
    node: Node = Leaf((), leaves[-1], 10, 0.5)
    for i in reversed(range(min(depth, problem.n_features))):
        is_low = np.arange(int(problem.levels[i]) + 1) == 0
        stop = Leaf((), leaves[i % problem.n_actions], 10, 0.25)
        node = Split((i,), i, is_low, stop, node, stop.n_cases + node.n_cases)
    return PlanTree(priced, np.zeros(problem.n_features, dtype=np.bool_), node)


def thyroid_plan() -> PlanTree:
    """Return a small plan: TSH first, then TT4 from the same blood sample where TSH is high."""
    problem = Problem(
        (
            Feature("sex", ("F", "M"), missing=None),
            Feature.number("TSH", edges=(0.5, 6.05, 20.0), missing=True),
            Feature.number("TT4", edges=(64.0, 150.0)),
        ),
        ("normal", "sub", "hyper"),
        {
            "normal": {"normal": 0, "sub": -2000, "hyper": -2000},
            "sub": {"normal": -2000, "sub": 0, "hyper": -2000},
            "hyper": {"normal": -2000, "sub": -2000, "hyper": 0},
        },
        PriceList({"TSH": 20.68, "TT4": 12.41}, [Group("blood", ("TSH", "TT4"), 2.10)]),
        RewardRange(-2000.0, 0.0, "CAD"),
    )
    rules = [ActionRule(a, np.where(np.arange(3) == a, -20.0, -1980.0)) for a in range(3)]
    low = Leaf((), rules[0], 6500, -30.0)
    high = Split(
        (1,),
        2,
        np.array([True, False, False, True]),
        Leaf((), rules[2], 200, -400.0),
        Leaf((), rules[1], 500, -300.0),
        700,
    )
    is_low = np.array([True, True, False, False, False, True])
    root = Split((0,), 1, is_low, low, high, 7200)
    return PlanTree(problem, np.array([True, False, False]), root, "class")
