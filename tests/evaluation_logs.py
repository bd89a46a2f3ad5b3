"""Small logs and targets for tests of evaluation."""

from typing import Any

import numpy as np

from thrifty.evaluation.logged_cases import LoggedCases
from thrifty.plans.tree import ActionRule, Leaf, PlanTree, Split
from thrifty.problem import Feature, Problem

PROBLEM = Problem(
    [
        Feature("age", ("young", "old")),
        Feature("test", ("low", "high")),
        Feature("scan", ("a", "b")),
    ],
    ["treat", "wait"],
    outcomes={"treat": {"ill": 10, "well": -5}, "wait": {"ill": -10, "well": 0}},
    prices={"test": 1.0, "scan": 2.0},
)
FREE = np.array([True, False, False])
TREAT, WAIT = (Leaf((), ActionRule(a, np.eye(2)[a])) for a in range(2))


def plan_of_test() -> PlanTree:
    """Buy the test; treat if it is high."""
    root = Split((0,), 1, np.array([True, False, True]), low=WAIT, high=TREAT)
    return PlanTree(PROBLEM, FREE, root)


def two_step_plan() -> PlanTree:
    """Buy the test; if it is high, buy the scan, and treat if that is "b"."""
    scan = Split((1,), 2, np.array([True, False, True]), low=WAIT, high=TREAT)
    root = Split((0,), 1, np.array([True, False, True]), low=WAIT, high=scan)
    return PlanTree(PROBLEM, FREE, root)


def four_cases(**changes: Any) -> LoggedCases:
    """Two cases with the test, one with everything, one with nothing."""
    arrays: dict[str, Any] = {
        "codes": [[0, 1, -1], [1, 0, -1], [0, 1, 1], [1, -1, -1]],
        "settled": [[1, 1, 0], [1, 1, 0], [1, 1, 1], [1, 0, 0]],
        "free": FREE,
        "actions": [0, 0, 0, 1],
        "rewards": [10, -5, 10, 0],
        "costs": [[0, 1, 0], [0, 1, 0], [0, 1, 2], [0, 0, 0]],
        "action_probabilities": [0.5, 0.5, 0.25, 0.5],
        "purchase_probabilities": [0.5, 0.5, 0.25, 0.25],
    }
    return LoggedCases(PROBLEM, **(arrays | changes))


def random_log(
    seed: int, n: int, *, by_feature: bool = False, sure_scan: bool = False
) -> LoggedCases:
    """Return a log of a policy that buys the scan mostly after a high test, and acts by both.

    With `sure_scan` it buys the scan after a high test, and never otherwise.
    """
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    age, test, scan = (np.where(rng.random(n) < p, ill, ~ill) for p in (0.6, 0.8, 0.75))
    codes = np.stack([age, test, scan], axis=1).astype(np.int16)
    p_test = np.where(age, 0.8, 0.4)
    test_bought = rng.random(n) < p_test
    p_scan = np.where(test_bought, np.where(test, 0.8, 0.3), 0.2)
    if sure_scan:
        p_scan = (test_bought & test).astype(np.float64)
    scan_bought = rng.random(n) < p_scan
    settled = np.stack([np.ones(n, np.bool_), test_bought, scan_bought], axis=1)
    seen = np.where(settled, codes, -1)
    p_treat = np.clip(0.35 + 0.2 * (seen[:, 1] == 1) + 0.2 * (seen[:, 2] == 1), 0.1, 0.9)
    treated = rng.random(n) < p_treat
    actions = np.where(treated, 0, 1)
    outcomes = PROBLEM.outcomes
    assert outcomes is not None
    each = np.stack([np.ones(n), p_test, p_scan], axis=1)
    made = np.where(settled, each, 1 - each)
    made[:, 0] = 1.0
    return LoggedCases(
        PROBLEM,
        codes=seen,
        settled=settled,
        free=FREE,
        actions=actions,
        rewards=outcomes.table[actions, np.where(ill, 0, 1)],
        costs=np.where(settled, [0.0, 1.0, 2.0], 0.0),
        action_probabilities=np.where(treated, p_treat, 1 - p_treat),
        purchase_probabilities=None if by_feature else made.prod(axis=1),
        feature_probabilities=each if by_feature else None,
    )


def true_gain(tree: PlanTree) -> float:
    """Return the exact expected gain of a plan on the cases of `random_log`."""
    total = 0.0
    for ill in (0, 1):
        for bits in np.ndindex(2, 2, 2):
            chances = [
                p if b == ill else 1 - p for b, p in zip(bits, (0.6, 0.8, 0.75), strict=True)
            ]
            chance = (0.4 if ill else 0.6) * float(np.prod(chances))
            decisions = tree.decide(np.array([bits], dtype=np.int16))
            cost = float(decisions.bought[0] @ [1.0, 2.0])
            outcomes = PROBLEM.outcomes
            assert outcomes is not None
            reward = outcomes.table[decisions.actions[0], 0 if ill else 1]
            total += chance * (float(reward) - cost)
    return total
