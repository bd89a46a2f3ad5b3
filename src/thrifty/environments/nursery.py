"""Nursery: 12,960 applications to nursery schools, and the paper's experiment with them.

The data set of the UCI repository contains every combination of eight attributes. Its class follows
from them by a hierarchy of small tables (M. Olave, V. Rajkovic, M. Bohanec, 1989), so this module
generates the data from those tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.replay import Replay
from thrifty.environments.streams import streams
from thrifty.problem import Feature, Problem
from thrifty.seeds import Seed

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

ATTRIBUTES = {
    "parents": ("usual", "pretentious", "great_pret"),
    "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
    "form": ("complete", "completed", "incomplete", "foster"),
    "children": ("1", "2", "3", "more"),
    "housing": ("convenient", "less_conv", "critical"),
    "finance": ("convenient", "inconv"),
    "social": ("nonprob", "slightly_prob", "problematic"),
    "health": ("recommended", "priority", "not_recom"),
}
"""The attributes and their values, in the order of the data set."""

PROBLEM = Problem(
    features=(
        Feature("form", ATTRIBUTES["form"]),
        Feature("children", ATTRIBUTES["children"]),
        Feature("housing", ATTRIBUTES["housing"]),
        Feature("finance", ATTRIBUTES["finance"]),
        Feature("health", ("not_recom", "recommended", "priority")),
    ),
    actions=("not_recom", "priority", "spec_prior"),
)
"""The five features of the paper's experiment, and its three actions."""

REWARD_CHANGES = (1000, 2000, 5000, 8000)
COST_CHANGES = (3000, 5000, 7000, 9000)

# Ranks, 0 is best.
_EMPLOY = ((0, 1, 1, 2, 3), (1, 1, 2, 3, 3), (2, 2, 3, 3, 3))
_STRUCTURE = ((0, 1, 2, 2), (1, 1, 2, 2), (1, 2, 2, 2), (2, 2, 2, 2))
_STRUCT_FINAN = (
    ((0, 1), (1, 1), (1, 1)),
    ((1, 1), (1, 1), (2, 2)),
    ((1, 2), (2, 2), (2, 2)),
)
_SOC_HEALTH = ((0, 1, 2), (0, 1, 2), (1, 1, 2))

_LABEL_SHIFTS = (0, 2, 4, 4, 4)
_SHUFFLED_SHIFTS = (0, 1, 2, 0, 1)
_ROW_EXCHANGES = (
    (1, 2, 2, 3, 0.7),
    (0, 1, 3, 4, 0.6),
    (2, 1, 1, 4, 0.7),
    (0, 1, 3, 1, 0.7),
    (0, 2, 2, 3, 0.7),
    (0, 1, 2, 4, 0.8),
)
_EVALUATION_ROWS = 10_000
_PUBLISHED_SEED = 42
_PRICES = (0.03, 0.08)
_COST_SD = 0.001


@cache
def table() -> tuple[tuple[str, ...], ...]:
    """Return the data set by name.

    Returns
    -------
    tuple of tuple of str
        12,960 rows: the eight attributes and the class.

    Examples
    --------
    >>> ",".join(table()[0])
    'usual,proper,complete,1,convenient,convenient,nonprob,recommended,recommend'
    """
    return tuple((*_names(row), _class(*row)) for row in _positions().tolist())


def published() -> Replay:
    """Return the arrays of the paper's experiment, identical to the last bit.

    Rows are in the order of the data set. In each region the labels are shifted from action to
    action, then rows are exchanged between regions (which the paper does not mention). The third,
    fourth and fifth region have the same shift: at 5000 and 8000 only the exchange changes the
    means.

    `cost_changes` are 3000, 5000, 7000 and 9000 as in the paper, and the oracle's periods begin
    there. The authors' program still draws the costs of these four rounds from the old means.

    Returns
    -------
    Replay
        10,000 rounds.

    Examples
    --------
    >>> published()
    Replay(10000 rounds, 5 features, 3 actions)
    """
    contexts, labels = _rows()[_evaluation()], _labels()[_evaluation()]
    region = _period(REWARD_CHANGES, len(labels))
    contexts, rewards = _exchange_rows(contexts, _shifted(labels, region, _LABEL_SHIFTS), region)
    late = np.searchsorted(COST_CHANGES, np.arange(len(labels)), side="left")
    costs = _published_costs(_published_cost_means()[late])
    return _replay(contexts, rewards, costs, REWARD_CHANGES, COST_CHANGES)


def tuning(*, changes: bool = True) -> Replay:
    """Return the 2,630 rows that the paper set aside for tuning parameters.

    Rows are in the order of the data set, with the label shifts of the first three regions
    (changes at 1000 and 2000), no exchange of rows, and the first of the published cost means.

    Parameters
    ----------
    changes : bool
        False leaves the labels unshifted. The paper tuned the policies for stationary problems on
        such data.

    Returns
    -------
    Replay
        2,630 rounds.

    Examples
    --------
    >>> tuning().reward_changes, tuning(changes=False).reward_changes, tuning().cost_changes
    ((1000, 2000), (), ())
    """
    contexts, labels = _rows()[~_evaluation()], _labels()[~_evaluation()]
    cuts = REWARD_CHANGES[:2] if changes else ()
    rewards = _shifted(labels, _period(cuts, len(labels)), _LABEL_SHIFTS)
    costs = _published_costs(np.tile(_published_cost_means()[0], (len(labels), 1)))
    return _replay(contexts, rewards, costs, cuts, ())


def shuffled(seed: Seed = 0) -> Replay:
    """Return the evaluation rows in random order, so that rounds in a region are exchangeable.

    Rows are not exchanged between regions, and the label shifts are 0, 1, 2, 0, 1, so every change
    point of the rewards is real. Each of the five periods has its own random mean costs, and a cost
    change takes effect exactly in its round.

    Parameters
    ----------
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Returns
    -------
    Replay
        10,000 rounds.

    Examples
    --------
    >>> shuffled(seed=1).reward_changes
    (1000, 2000, 5000, 8000)
    """
    return _random_order(seed, REWARD_CHANGES, COST_CHANGES)


def stationary(seed: Seed = 0) -> Replay:
    """Return the evaluation rows in random order, without any changes.

    Parameters
    ----------
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Returns
    -------
    Replay
        10,000 rounds.

    Examples
    --------
    >>> stationary(seed=1).reward_changes
    ()
    """
    return _random_order(seed, (), ())


@cache
def _positions() -> Codes:
    """Return every row as positions of its values; the first attribute varies slowest."""
    return np.array(list(product(*(range(len(values)) for values in ATTRIBUTES.values()))))


def _names(row: Sequence[int]) -> tuple[str, ...]:
    return tuple(values[k] for values, k in zip(ATTRIBUTES.values(), row, strict=True))


def _class(
    parents: int,
    has_nurs: int,
    form: int,
    children: int,
    housing: int,
    finance: int,
    social: int,
    health: int,
) -> str:
    employ = _EMPLOY[parents][has_nurs]
    struct_finan = _STRUCT_FINAN[_STRUCTURE[form][children]][housing][finance]
    soc_health = _SOC_HEALTH[social][health]
    if soc_health == 2:
        return "not_recom"
    if soc_health == 1:
        return "spec_prior" if (employ, struct_finan) in {(2, 2), (3, 1), (3, 2)} else "priority"
    if (employ, struct_finan) == (0, 0):
        return "recommend"
    if (employ, struct_finan) in {(0, 1), (1, 0), (1, 1)}:
        return "very_recom"
    return "spec_prior" if (employ, struct_finan) == (3, 2) else "priority"


@cache
def _kept() -> tuple[Codes, Codes]:
    """Return contexts and labels of the rows whose class is an action."""
    arms = {name: PROBLEM.action_index(name) for name in PROBLEM.actions}
    labels = np.array([arms.get(_class(*row), -1) for row in _positions().tolist()])
    columns = []
    for feature in PROBLEM.features:
        codes = np.array([feature.code(value) for value in ATTRIBUTES[feature.name]])
        columns.append(codes[_positions()[:, list(ATTRIBUTES).index(feature.name)]])
    kept = labels >= 0
    return np.stack(columns, axis=1)[kept], labels[kept]


def _rows() -> Codes:
    return _kept()[0]


def _labels() -> Codes:
    return _kept()[1]


@cache
def _evaluation() -> NDArray[np.bool_]:
    total = len(_labels())
    tuning_rows = _published_random().choice(total, total - _EVALUATION_ROWS, replace=False)
    return ~np.isin(np.arange(total), tuning_rows)


def _published_random() -> np.random.RandomState:
    # The authors used numpy's legacy generator; no other reproduces their numbers.
    return np.random.RandomState(_PUBLISHED_SEED)


def _published_cost_means() -> Floats:
    periods = len(COST_CHANGES) + 1
    return _published_random().uniform(*_PRICES, size=(periods, PROBLEM.n_features))


def _published_costs(means: Floats) -> Floats:
    return np.random.default_rng(_PUBLISHED_SEED).normal(means, _COST_SD)


def _period(changes: tuple[int, ...], rounds: int) -> NDArray[np.intp]:
    return np.searchsorted(changes, np.arange(rounds), side="right")


def _shifted(labels: Codes, region: NDArray[np.intp], shifts: tuple[int, ...]) -> Floats:
    arms = (labels + np.array(shifts)[region]) % PROBLEM.n_actions
    one_hot: Floats = np.eye(PROBLEM.n_actions)[arms]
    return one_hot


def _exchange_rows(
    contexts: Codes, rewards: Floats, region: NDArray[np.intp]
) -> tuple[Codes, Floats]:
    contexts, rewards, random = contexts.copy(), rewards.copy(), _published_random()
    for arm1, arm2, region1, region2, share in _ROW_EXCHANGES:
        rows1 = np.flatnonzero((region == region1) & (rewards[:, arm1] == 1))
        rows2 = np.flatnonzero((region == region2) & (rewards[:, arm2] == 1))
        n = int(share * min(len(rows1), len(rows2)))
        there = random.choice(rows1, n, replace=False), random.choice(rows2, n, replace=False)
        here = np.concatenate(there)
        swapped = np.concatenate(there[::-1])
        contexts[here], rewards[here] = contexts[swapped], rewards[swapped]
    return contexts, rewards


def _random_order(
    seed: Seed, reward_changes: tuple[int, ...], cost_changes: tuple[int, ...]
) -> Replay:
    order_rng, means_rng, costs_rng = streams(seed, 3)
    order = order_rng.permutation(_EVALUATION_ROWS)
    contexts, labels = _rows()[_evaluation()][order], _labels()[_evaluation()][order]
    region = _period(reward_changes, _EVALUATION_ROWS)
    rewards = _shifted(labels, region, _SHUFFLED_SHIFTS)
    means = means_rng.uniform(*_PRICES, size=(len(cost_changes) + 1, PROBLEM.n_features))
    costs = costs_rng.normal(means[_period(cost_changes, _EVALUATION_ROWS)], _COST_SD)
    return _replay(contexts, rewards, np.maximum(costs, 0), reward_changes, cost_changes)


def _replay(
    contexts: Codes,
    rewards: Floats,
    costs: Floats,
    reward_changes: tuple[int, ...],
    cost_changes: tuple[int, ...],
) -> Replay:
    return Replay(
        contexts,
        rewards,
        costs,
        problem=PROBLEM,
        reward_changes=reward_changes,
        cost_changes=cost_changes,
    )
