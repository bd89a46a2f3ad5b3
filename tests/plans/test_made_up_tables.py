"""The exact values of made-up tables, checked by hand, by brute force and by simulation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from benchmarks.cell_method import choose_by_cells
from benchmarks.made_up_tables import (
    KINDS,
    MadeUpTable,
    many_levels,
    routing,
    subgroup,
    threshold,
)

from thrifty.plans.exact import ColumnSet, Floats, KnownDistribution
from thrifty.prices import Group, PriceList

Plan = int | tuple[int, tuple["Plan", ...]]
"""An action, or a column to buy and how to go on at each of its levels."""


def all_plans(levels: tuple[int, ...], known: ColumnSet, n_actions: int) -> Iterator[Plan]:
    """Yield every plan there is."""
    yield from range(n_actions)
    for i, n_levels in enumerate(levels):
        if i not in known:
            after = list(all_plans(levels, (*known, i), n_actions))
            yield from ((i, branches) for branches in product(after, repeat=n_levels))


def plan_value(plan: Plan, table: KnownDistribution) -> float:
    """Return the expected gain of a plan, one combination of levels and outcome at a time."""
    value = 0.0
    for (*levels, outcome), chance in np.ndenumerate(table.joint):
        node, bought = plan, []
        while not isinstance(node, int):
            bought.append(table.names[node[0]])
            node = node[1][levels[node[0]]]
        price = table.prices.total(bought)
        assert price is not None
        value += chance * (table.rewards[node, outcome] - price)
    return float(value)


def best_of_all_plans(table: KnownDistribution) -> float:
    plans = all_plans(table.joint.shape[:-1], (), len(table.rewards))
    return max(plan_value(plan, table) for plan in plans)


def random_table(shape: tuple[int, ...], seed: int) -> KnownDistribution:
    """Return a table of two grouped columns that depend on each other, with a setup fee."""
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(int(np.prod(shape)), 0.3)).reshape(shape)
    rewards = rng.normal(size=(2, shape[-1]))
    names = [f"x{i}" for i in range(len(shape) - 1)]
    prices = dict(zip(names, rng.uniform(0, 0.1, len(names)).tolist(), strict=True))
    return KnownDistribution(
        joint, rewards, names, (), PriceList(prices, [Group("lab", tuple(names[:2]), 0.05)])
    )


def test_a_test_that_pays_in_a_subgroup_by_hand() -> None:
    truth = subgroup().truth
    assert truth.nothing == pytest.approx(0.8 * 0.8 + 0.2 * 0.5)
    assert truth.fixed_set == (0,)  # .8 * .8 + .2 * .95 - .1 is less than nothing's
    assert truth.everything == pytest.approx(0.8 * 0.8 + 0.2 * 0.95 - 0.1 - 2 * 0.02)
    assert truth.plan.value == pytest.approx(0.8 * 0.8 + 0.2 * (0.95 - 0.1))


def test_a_question_that_tells_which_test_to_buy_by_hand() -> None:
    truth = routing().truth
    assert truth.nothing == pytest.approx(0.5)
    assert truth.fixed == pytest.approx(0.94 - 0.02 - 2 * 0.1)
    assert truth.plan.value == pytest.approx(0.94 - 0.02 - 0.1)


def test_a_threshold_at_the_95th_percentile_by_hand() -> None:
    truth = threshold().truth
    after_scan = 0.95 * -20 * 0.01 + 0.05 * -3
    after_score = 0.95 * after_scan + 0.05 * -3
    assert truth.fixed == pytest.approx(after_score - 0.30 - 0.15)
    # The scan comes first because it is cheaper: a high scan already means treatment.
    low_scan = 0.95 * -20 * 0.01 + 0.05 * -3 - 0.30
    assert truth.plan.value == pytest.approx(0.95 * low_scan + 0.05 * -3 - 0.15)


@pytest.mark.parametrize("kind", [routing(), threshold()], ids=lambda kind: kind.name)
def test_no_plan_is_better_than_the_exact_one(kind: MadeUpTable) -> None:
    plan = kind.truth.plan
    assert best_of_all_plans(plan.table) == pytest.approx(plan.value)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(2, 3, 2), (3, 2, 3)])
def test_no_plan_is_better_in_random_tables_with_a_setup_fee(
    shape: tuple[int, ...], seed: int
) -> None:
    table = random_table(shape, seed)
    assert best_of_all_plans(table) == pytest.approx(table.best_plan().value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_exact_plan_gains_its_exact_value(kind: MadeUpTable) -> None:
    rows = kind.draw(1_000_000, seed=1)
    gains = kind.truth.plan.gains(rows.levels, rows.outcomes)
    error = gains.std() / np.sqrt(len(gains))
    assert abs(gains.mean() - kind.truth.plan.value) < 4 * error


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_values_are_in_order(kind: MadeUpTable) -> None:
    truth = kind.truth
    assert max(truth.nothing, truth.everything) <= truth.fixed <= truth.plan.value
    assert truth.share(truth.nothing) == 0
    assert truth.share(truth.plan.value) == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_codes_tell_the_level(kind: MadeUpTable) -> None:
    """New rows are coded by the edges of earlier ones, which blur a threshold a little at most."""
    rows, cases = kind.draw(5000, seed=2), kind.cases(5000, seed=2)
    again = kind.cases(5000, seed=2, problem=cases.problem)
    assert (cases.codes == again.codes).all()
    assert (cases.codes >= 0).all()
    assert (cases.codes.max(axis=0) < cases.problem.levels).all()
    for i, column in enumerate(kind.columns):
        ambiguous = 0
        for fine in np.unique(cases.codes[:, i]):
            levels = rows.levels[cases.codes[:, i] == fine, i]
            ambiguous += len(levels) - int(np.bincount(levels).max())
        assert ambiguous < 0.003 * 5000 * column.n_levels


def gain(values: Floats) -> float:
    return float(values.mean())


def test_cells_find_an_informative_category_beside_noise() -> None:
    kind = many_levels()
    cases = kind.cases(8000, seed=3)
    chosen = choose_by_cells(cases, kind.cases(20_000, seed=4, problem=cases.problem))
    assert {"kind"} <= {cases.looks[k].name for k in chosen.looks} <= {"kind", "size"}
    assert gain(chosen.gains) == pytest.approx(kind.truth.fixed, abs=0.03)


def test_cells_do_not_see_a_threshold_at_the_95th_percentile() -> None:
    """Plans are measured against this weakness."""
    kind = threshold()
    cases = kind.cases(4000, seed=3)
    chosen = choose_by_cells(cases, kind.cases(20_000, seed=4, problem=cases.problem))
    assert kind.truth.share(gain(chosen.gains)) < 0.8
