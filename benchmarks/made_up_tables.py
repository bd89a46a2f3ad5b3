"""Made-up tables whose best plan is known exactly, to measure plans that are learnt from rows.

A few columns and the outcome have a known joint distribution over levels. A number carries its
level by known thresholds: it is drawn evenly between two of them, independently of everything
else, so knowing the number is knowing its level. Columns of noise are independent of everything,
so the best plan never buys them, and they are not part of the distribution. The learner sees none
of this: it gets fine codes, as a real table gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thrifty.environments.market_columns import (
    Column,
    encode,
    joint_from_levels,
    joint_from_outcome,
)
from thrifty.features import Feature
from thrifty.plans.cases import PastCases
from thrifty.plans.exact import ColumnSet, ExactPlan, Floats, Integers, KnownDistribution
from thrifty.prices import Group, PriceList
from thrifty.problem import Problem
from thrifty.tables.fine import fine_edges

Rewards = Mapping[str, Mapping[str, float] | float]


def fine_feature(column: Column, values: Floats) -> Feature:
    """Return a column as the feature of a table with these values: the rows determine the edges."""
    if column.levels:
        return column.feature()
    edges = fine_edges(*np.unique(values[~np.isnan(values)], return_counts=True))
    return Feature.number(column.name, edges, missing=column.has_missing)


class Rows(NamedTuple):
    """Rows of a made-up table: levels (n, D) without noise, values (n, all columns), outcomes."""

    levels: Integers
    values: Floats
    outcomes: Integers


@dataclass(frozen=True, eq=False)
class MadeUpTable:
    """A kind of table with a known distribution.

    Parameters
    ----------
    name : str
        Name of the kind.
    columns : tuple of Column
        Columns of the distribution.
    joint : array of float, shape (levels of each column..., O)
        Probability of each combination of levels and outcome.
    rewards : mapping
        Rewards by action and outcome, as in `Problem`.
    noise : tuple of Column
        Columns that are independent of everything, with equally frequent levels.
    groups : tuple of Group
        Columns that share a setup fee.
    """

    name: str
    columns: tuple[Column, ...]
    joint: Floats
    rewards: Rewards
    noise: tuple[Column, ...] = ()
    groups: tuple[Group, ...] = ()

    def __post_init__(self) -> None:
        shape = tuple(column.n_levels for column in self.columns)
        assert self.joint.shape[:-1] == shape, f"{self.name}: {self.joint.shape[:-1]} and {shape}"
        assert np.isclose(self.joint.sum(), 1), f"{self.name}: probabilities add up to 1"

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """Columns of the distribution, then columns of noise."""
        return (*self.columns, *self.noise)

    @cached_property
    def prices(self) -> PriceList:
        """Prices of all columns that are not free."""
        listed = {c.name: c.price for c in self.all_columns if c.price is not None}
        return PriceList(listed, self.groups)

    def problem(self, values: Floats) -> Problem:
        """Return the problem of a table with these values (n, all columns)."""
        features = [fine_feature(column, values[:, i]) for i, column in enumerate(self.all_columns)]
        return Problem(features, tuple(self.rewards), outcomes=self.rewards, prices=self.prices)

    def draw(self, n: int, seed: int) -> Rows:
        """Draw n rows."""
        rng = np.random.default_rng(seed)
        cells = np.searchsorted(self.joint.ravel().cumsum()[:-1], rng.random(n), side="right")
        *levels, outcomes = np.unravel_index(cells, self.joint.shape)
        noise = [rng.integers(0, column.n_levels, n) for column in self.noise]
        values = [
            column.draw(drawn, rng)
            for column, drawn in zip(self.all_columns, [*levels, *noise], strict=True)
        ]
        return Rows(np.stack(levels, axis=1), np.stack(values, axis=1), outcomes)

    def cases(self, n: int, seed: int, problem: Problem | None = None) -> PastCases:
        """Draw n past cases.

        Give `problem` of earlier cases to code new ones in the same way; by default the rows
        themselves determine the edges of numbers.
        """
        rows = self.draw(n, seed)
        problem = problem or self.problem(rows.values)
        codes = [encode(feature, rows.values[:, i]) for i, feature in enumerate(problem.features)]
        free = np.array([column.price is None for column in self.all_columns])
        return PastCases(problem, np.stack(codes, axis=1), rows.outcomes, free)

    @cached_property
    def truth(self) -> Truth:
        """Exact values of this kind of table."""
        names = [column.name for column in self.columns]
        free = tuple(i for i, column in enumerate(self.columns) if column.price is None)
        table = Problem([Feature("x", ("0",))], tuple(self.rewards), outcomes=self.rewards).outcomes
        assert table is not None
        known = KnownDistribution(self.joint, table.table, names, free, self.prices)
        everything = known.set_value(tuple(range(len(names))))
        return Truth(
            nothing=known.set_value(free),
            everything=everything - sum(column.price or 0.0 for column in self.noise),
            fixed_set=known.best_set(),
            fixed=known.set_value(known.best_set()),
            plan=known.best_plan(),
        )


@dataclass(frozen=True, eq=False)
class Truth:
    """Exact expected gains of a case.

    Parameters
    ----------
    nothing, everything : float
        Gain of buying nothing, and of buying every column, noise included.
    fixed_set : tuple of int
        The best set to buy in every case, free columns included.
    fixed : float
        Its gain.
    plan : ExactPlan
        The best stepwise plan.
    """

    nothing: float
    everything: float
    fixed_set: ColumnSet
    fixed: float
    plan: ExactPlan

    def share(self, gain: float) -> float:
        """Return how far a gain is on the way from doing nothing (0) to the best plan (1)."""
        return (gain - self.nothing) / (self.plan.value - self.nothing)


def with_copy(joint: Floats, column: int, share: float) -> Floats:
    """Add a copy of a column as the last column: equal with this probability, else drawn evenly.

    >>> with_copy(np.array([[0.5, 0.0], [0.0, 0.5]]), 0, 0.8)[..., 1].round(3).tolist()
    [[0.0, 0.0], [0.05, 0.45]]
    """
    n_levels = joint.shape[column]
    agree = np.full((n_levels, n_levels), (1 - share) / n_levels) + share * np.eye(n_levels)
    shape = [1] * joint.ndim + [n_levels]
    shape[column] = n_levels
    copied = joint[..., None] * agree.reshape(shape)
    return np.asarray(np.moveaxis(copied, -1, -2))


def noise_columns(price: float) -> tuple[Column, ...]:
    """Return a useless number and a useless category."""
    return (
        Column("noise_number", price, ends=(0, 100)),
        Column("noise_category", price, levels=tuple("abcde")),
    )


RIGHT_OR_WRONG: Rewards = {"no": {"no": 1, "yes": 0}, "yes": {"no": 0, "yes": 1}}


def lending() -> MadeUpTable:
    """Return money with a safe action: declining costs nothing."""
    joint = joint_from_outcome(
        [0.86, 0.14],
        [[0.15, 0.60, 0.25], [0.30, 0.55, 0.15]],
        [[0.10, 0.30, 0.40, 0.20], [0.30, 0.40, 0.22, 0.08]],
        [[0.20, 0.65, 0.12, 0.03], [0.25, 0.25, 0.25, 0.25]],
        [[0.05, 0.25, 0.70], [0.50, 0.30, 0.20]],
        [[0.95, 0.05], [0.80, 0.20]],
    )
    return MadeUpTable(
        "lending",
        (
            Column("age", None, ends=(18, 25, 60, 80)),
            Column("income", 4.0, ends=(0, 20_000, 40_000, 80_000, 200_000)),
            Column("history", 12.0, levels=("none", "good", "late", "defaults")),
            Column("surplus", 25.0, ends=(-500, 0, 300, 4000)),
            Column("employer", 15.0, levels=("confirmed", "unknown")),
        ),
        joint,
        {"decline": 0, "approve": {"repaid": 300, "default": -1500}},
        noise_columns(1.0),
    )


def fraud() -> MadeUpTable:
    """Return a rare outcome: 2 % of the payments are fraud."""
    joint = joint_from_outcome(
        [0.98, 0.02],
        [[0.60, 0.35, 0.05], [0.20, 0.40, 0.40]],
        [[0.90, 0.10], [0.25, 0.75]],
        [[0.90, 0.08, 0.02], [0.40, 0.30, 0.30]],
        [[0.97, 0.03], [0.10, 0.90]],
    )
    return MadeUpTable(
        "fraud",
        (
            Column("amount", None, ends=(0, 50, 500, 5000)),
            Column("device", 0.05, levels=("known", "new")),
            Column("velocity", 0.10, ends=(0, 3, 10, 50)),
            Column("identity", 1.5, levels=("match", "mismatch")),
        ),
        joint,
        {"pass": {"legitimate": 2, "fraud": -150}, "block": {"legitimate": -5, "fraud": 0}},
        noise_columns(0.02),
    )


def threshold() -> MadeUpTable:
    """Return two numbers that matter above their 95th percentile only."""
    joint = joint_from_levels(
        [[0.95, 0.05], [0.95, 0.05]],
        lambda score, scan: np.where(score == 1, 0.9, np.where(scan == 1, 0.45, 0.01)),
    )
    return MadeUpTable(
        "threshold",
        (
            Column("score", 0.30, ends=(0, 95, 100)),
            Column("scan", 0.15, ends=(0, 95, 100)),
        ),
        joint,
        {"wait": {"well": 0, "ill": -20}, "treat": -3},
        noise_columns(0.02),
    )


def interaction() -> MadeUpTable:
    """Return two tests of which neither is worth anything alone, and a free shortcut."""
    joint = joint_from_levels(
        [[0.7, 0.3], [0.5, 0.5], [0.5, 0.5]],
        lambda shortcut, a, b: np.where(shortcut == 1, 0.95, np.where(a != b, 0.94, 0.06)),
    )
    return MadeUpTable(
        "interaction",
        (
            Column("shortcut", None, levels=("no", "yes")),
            Column("a", 0.08, ends=(0, 50, 100)),
            Column("b", 0.06, ends=(0, 50, 100)),
        ),
        joint,
        RIGHT_OR_WRONG,
        noise_columns(0.02),
    )


def subgroup() -> MadeUpTable:
    """Return a test that pays in one free subgroup only, and is not worth buying for all."""
    joint = joint_from_levels(
        [[0.4, 0.3, 0.2, 0.1], [0.5, 0.5]],
        lambda site, test: np.where(site == 2, np.where(test == 1, 0.95, 0.05), 0.2),
    )
    return MadeUpTable(
        "subgroup",
        (
            Column("site", None, levels=("north", "east", "south", "west")),
            Column("test", 0.10, ends=(0, 50, 100)),
        ),
        joint,
        RIGHT_OR_WRONG,
        noise_columns(0.02),
    )


def copies() -> MadeUpTable:
    """Return an informative marker beside noisy copies and an exact, dearer one."""
    chances = np.array([0.05, 0.15, 0.5, 0.9])
    joint = joint_from_levels(
        [[0.8, 0.2], [0.25, 0.25, 0.25, 0.25]],
        lambda age, marker: np.clip(chances[marker] + 0.35 * age, 0, 0.95),
    )
    for share in (1.0, 0.9, 0.7):
        joint = with_copy(joint, 1, share)
    grid = (0, 1, 2, 4, 8)
    return MadeUpTable(
        "copies",
        (
            Column("age", 0.1, ends=(18, 65, 90)),
            Column("marker", 0.6, ends=grid),
            Column("exact_copy", 0.7, ends=grid),
            Column("good_copy", 0.55, ends=grid),
            Column("poor_copy", 0.25, ends=grid),
        ),
        joint,
        {"wait": 0, "treat": {"well": -6, "ill": 8}},
        noise_columns(0.05),
    )


def many_levels() -> MadeUpTable:
    """Return an informative category beside three useless ones of 50 levels."""
    chances = np.array([0.1, 0.2, 0.5, 0.8, 0.9])
    joint = joint_from_levels(
        [[0.2, 0.2, 0.2, 0.2, 0.2], [0.4, 0.3, 0.3]],
        lambda kind, size: np.where(kind == 2, np.array([0.1, 0.5, 0.9])[size], chances[kind]),
    )
    codes = tuple(f"c{k}" for k in range(50))
    return MadeUpTable(
        "many_levels",
        (
            Column("kind", 0.05, levels=tuple("ABCDE")),
            Column("size", 0.04, ends=(0, 40, 70, 100)),
        ),
        joint,
        RIGHT_OR_WRONG,
        tuple(Column(f"code_{price}", price, levels=codes) for price in (0.01, 0.02, 0.005)),
    )


def setup_fees() -> MadeUpTable:
    """Return groups of tests with a fee that is paid once per case."""
    joint = joint_from_outcome(
        [0.75, 0.25],
        [[0.7, 0.3], [0.3, 0.7]],
        [[0.75, 0.20, 0.05], [0.30, 0.35, 0.35]],
        [[0.70, 0.25, 0.05], [0.35, 0.30, 0.35]],
        [[0.85, 0.15], [0.40, 0.60]],
        [[0.85, 0.15], [0.35, 0.65]],
        [[0.96, 0.04], [0.10, 0.90]],
    )
    return MadeUpTable(
        "setup_fees",
        (
            Column("fever", None, levels=("no", "yes")),
            Column("tsh", 2.0, ends=(0, 4, 10, 50)),
            Column("t4", 1.5, ends=(0, 60, 120, 200)),
            Column("crp", 1.0, ends=(0, 5, 100)),
            Column("xray", 4.0, levels=("clear", "shadow")),
            Column("ct", 9.0, ends=(0, 5, 30)),
        ),
        joint,
        {"discharge": {"well": 0, "ill": -200}, "admit": {"well": -60, "ill": -20}},
        noise_columns(0.5),
        (Group("blood", ("tsh", "t4", "crp"), 4.0), Group("imaging", ("xray", "ct"), 6.0)),
    )


def triage() -> MadeUpTable:
    """Return three outcomes and three actions."""
    joint = joint_from_outcome(
        [0.70, 0.22, 0.08],
        [[0.80, 0.15, 0.05], [0.50, 0.35, 0.15], [0.30, 0.30, 0.40]],
        [[0.75, 0.20, 0.05], [0.50, 0.35, 0.15], [0.15, 0.30, 0.55]],
        [[0.70, 0.20, 0.08, 0.02], [0.20, 0.50, 0.25, 0.05], [0.05, 0.15, 0.35, 0.45]],
        [[0.93, 0.06, 0.01], [0.30, 0.60, 0.10], [0.05, 0.15, 0.80]],
    )
    return MadeUpTable(
        "triage",
        (
            Column("temperature", None, ends=(36, 37.5, 38.5, 41)),
            Column("pulse", 1.0, ends=(50, 90, 110, 180)),
            Column("crp", 4.0, ends=(0, 5, 40, 100, 300)),
            Column("scan", 15.0, levels=("clear", "unclear", "finding")),
        ),
        joint,
        {
            "home": {"well": 0, "mild": -30, "severe": -400},
            "clinic": {"well": -10, "mild": -8, "severe": -150},
            "hospital": {"well": -60, "mild": -50, "severe": -50},
        },
        noise_columns(0.5),
    )


def missing() -> MadeUpTable:
    """Return values whose absence says more than most values do."""
    chances = np.array([[0.05, 0.6, 0.85], [0.2, 0.6, 0.85], [0.8, 0.8, 0.8]])
    joint = joint_from_levels(
        [[0.5, 0.2, 0.3], [0.5, 0.2, 0.3]], lambda previous, lab: chances[previous, lab]
    )
    return MadeUpTable(
        "missing",
        (
            Column("previous", None, ends=(0, 5, 10), has_missing=True),
            Column("lab", 0.8, ends=(0, 5, 10), has_missing=True),
        ),
        joint,
        {"wait": 0, "treat": {"well": -8, "ill": 10}},
        noise_columns(0.1),
    )


def screening() -> MadeUpTable:
    """Return a cheap test, and a dear one that pays only where the cheap one is positive."""
    joint = joint_from_outcome(
        [0.92, 0.08],
        [[0.6, 0.4], [0.3, 0.7]],
        [[0.80, 0.20], [0.05, 0.95]],
        [[0.99, 0.01], [0.01, 0.99]],
    )
    return MadeUpTable(
        "screening",
        (
            Column("age", None, ends=(18, 60, 95)),
            Column("quick", 0.5, ends=(0, 20, 100)),
            Column("biopsy", 12.0, levels=("clear", "tumour")),
        ),
        joint,
        {"wait": {"well": 0, "ill": -200}, "treat": {"well": -60, "ill": -20}},
        noise_columns(0.2),
    )


def routing() -> MadeUpTable:
    """Return a cheap question that says which of two tests is the one to buy."""
    joint = joint_from_levels(
        [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]],
        lambda question, a, b: 0.06 + 0.88 * (a * (1 - question) + b * question),
    )
    return MadeUpTable(
        "routing",
        (
            Column("question", 0.02, levels=("left", "right")),
            Column("a", 0.10, ends=(0, 50, 100)),
            Column("b", 0.10, ends=(0, 50, 100)),
        ),
        joint,
        RIGHT_OR_WRONG,
        noise_columns(0.02),
    )


def useless() -> MadeUpTable:
    """Return a table in which nothing is informative: going always is right half the time.

    It is not among `KINDS`, because there is no way to go from doing nothing to the best plan.
    """
    return MadeUpTable(
        "useless",
        (
            Column("coin", None, levels=("heads", "tails")),
            Column("number", 0.5, ends=(0, 100)),
        ),
        joint_from_levels([[0.5, 0.5], [1.0]], lambda coin, _: np.full(coin.shape, 0.5)),
        {"go": {"no": -8, "yes": 10}, "stop": 0},
        (*noise_columns(0.1), Column("code", 0.05, levels=tuple(f"c{k}" for k in range(50)))),
    )


def age_marker(n: int, seed: int) -> PastCases:
    """Draw cases of a marker that is overruled above the age of 70, beside noise and copies."""
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(45, 15, n), 1)
    marker = rng.integers(0, 4, n)
    is_ill = (marker >= 2) ^ (rng.random(n) < 0.06)
    is_ill = np.where(age > 70, rng.random(n) < 0.9, is_ill)
    marker_copy = np.where(rng.random(n) < 0.9, marker, rng.integers(0, 4, n))
    values = np.stack(
        (
            age,
            marker,
            rng.normal(size=n),
            rng.integers(0, 5, n),
            marker_copy,
            age + rng.normal(0, 8, n),
        ),
        axis=1,
    )
    prices = {
        "age": 0.005,
        "marker": 0.05,
        "noise": 0.02,
        "noise2": 0.02,
        "marker_copy": 0.03,
        "age_copy": 0.004,
    }
    features = [
        Feature.number(name, fine_edges(*np.unique(values[:, i], return_counts=True)))
        for i, name in enumerate(prices)
    ]
    problem = Problem(features, ("no", "yes"), outcomes=RIGHT_OR_WRONG, prices=prices)
    codes = np.stack([encode(feature, values[:, i]) for i, feature in enumerate(features)], axis=1)
    return PastCases(problem, codes, is_ill.astype(np.int64), np.zeros(len(prices), np.bool_))


KINDS: tuple[MadeUpTable, ...] = (
    lending(),
    fraud(),
    threshold(),
    interaction(),
    subgroup(),
    copies(),
    many_levels(),
    setup_fees(),
    triage(),
    missing(),
    screening(),
    routing(),
)
