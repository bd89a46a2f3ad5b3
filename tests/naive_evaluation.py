"""Slow and obvious versions of evaluation from logs: a loop over cases."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.evaluation.logged_cases import LoggedCases
from thrifty.plans.tree import Leaf, PlanTree
from thrifty.policies.plan import PlanPolicy
from thrifty.rounds import Observation


def follow(tree: PlanTree, log: LoggedCases) -> list[tuple[set[int], int | None]]:
    """Return what a plan buys in each case, and its action if the case shows enough."""
    found: list[tuple[set[int], int | None]] = []
    for row in range(log.n_cases):
        node, bought = tree.root, set[int]()
        while True:
            columns = {i for k in node.looks for i in tree.looks[k].columns}
            bought |= {i for i in columns if not log.free[i]}
            if not all(log.settled[row, i] for i in bought):
                found.append((bought, None))
                break
            if isinstance(node, Leaf):
                seen = np.array(
                    [
                        code if log.free[i] or i in bought else -1
                        for i, code in enumerate(log.codes[row].tolist())
                    ],
                    dtype=np.int16,
                )
                found.append((bought, int(node.rule.action_values(seen[None])[0].argmax())))
                break
            node = node.low if node.is_low[log.codes[row, node.feature]] else node.high
    return found


def follow_as_policy(tree: PlanTree, log: LoggedCases) -> list[int]:
    """Return the action of each case as the policy of the plan chooses it, with all values."""
    policy = PlanPolicy(log.problem, plan=tree)
    actions = []
    for row in range(log.n_cases):
        codes, costs = np.where(log.free, log.codes[row], -1), np.full(len(log.free), np.nan)
        while (mask := policy.choose_features(Observation(codes, costs)).mask).any():
            codes = np.where(mask, log.codes[row], codes)
            costs = np.where(mask, log.costs[row], costs)
        actions.append(policy.choose_action(Observation(codes, costs)))
    return actions


def weighted_mean(gains: Sequence[float], weights: Sequence[float], *, normalised: bool) -> float:
    """Return the weighted mean of some gains, case by case."""
    total = weight_sum = 0.0
    for gain, weight in zip(gains, weights, strict=True):
        total += gain * weight
        weight_sum += weight
    return total / (weight_sum if normalised else len(gains))


def cell_shares(
    log: LoggedCases, sets: Sequence[set[int]], shown: NDArray[np.bool_]
) -> list[float]:
    """Return the share of each case's purchases among all cases that show the same set."""
    shares = []
    for row in range(log.n_cases):
        peers = [k for k in range(log.n_cases) if shown[k] and sets[k] == sets[row]]
        same = [k for k in peers if log.purchase_classes[k] == log.purchase_classes[row]]
        shares.append(len(same) / len(peers) if shown[row] else 0.0)
    return shares


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a mean: where Hall's quantity is -1.96 and 1.96."""
    n = len(scores)
    mean = math.fsum(scores) / n
    error = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / (n - 1) / n)
    skewness = math.fsum((score - mean) ** 3 for score in scores) / n**3 / error**3

    def quantity(truth: float) -> float:
        t = (mean - truth) / error
        cubic = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27
        return cubic + skewness / 6

    def where(value: float) -> float:
        low, high = mean - 100 * error, mean + 100 * error
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if quantity(middle) > value else (low, middle)
        return low

    return where(1.959964), where(-1.959964)
