"""Live cells in order: the same answers as looking through all of them."""

from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from thrifty import NCCUCRL2, Observation, Problem
from thrifty.kernels.ncc import observation_sets
from thrifty.kernels.ncc.observation_sets import excess_in_order, excess_of, put_in_order
from thrifty.kernels.ncc.ordered_cells import below, highest_edge, lowest, lowest_edge
from thrifty.kernels.runtime.arrays import NONE


@numba.njit
def both(tables, s, radius, unseen_mass, simplex):  # type: ignore[no-untyped-def]
    looked_through = excess_of(tables, s, radius, unseen_mass, simplex)
    if not tables.sets[s]["in_order"]:
        put_in_order(tables, s)
    return looked_through, excess_in_order(tables, s, radius, unseen_mass, simplex)


@numba.njit
def answers(tables, s, edge, amount):  # type: ignore[no-untyped-def]
    return (
        lowest_edge(tables, s),
        highest_edge(tables, s),
        below(tables, s, edge),
        lowest(tables, s, amount),
    )


def policy_of(levels: tuple[int, ...], window: int) -> NCCUCRL2:
    problem = Problem.anonymous(levels, 3)
    return NCCUCRL2(problem, horizon=5000, window=window, delta=0.5, seed=0)


def learn(policy: NCCUCRL2, rng: np.random.Generator, rewards: str) -> None:
    """Tell the policy of a round; some sets are bought more often than others."""
    levels = policy.problem.levels
    mask = rng.random(levels.size) < 0.85
    skewed = (levels * rng.random(levels.size) ** 2).astype(np.int64)
    seen = Observation(np.where(mask, skewed, -1), np.where(mask, 0.05, np.nan))
    reward = rng.random() if rewards == "real" else float(rng.random() < 0.2)
    policy.update(seen, int(rng.integers(3)), reward)


def in_order(tables: Any, s: int) -> list[int]:
    """Return the cells as they stand in the tree, and check all that must be true of it."""

    def walk(c: int, parent: int) -> list[int]:
        if c == NONE:
            return []
        cell = tables.cells[c]
        assert (cell["parent"], cell["ordered"], cell["set"]) == (parent, 1, s)
        cells = [*walk(cell["left"], c), c, *walk(cell["right"], c)]
        assert cell["mass"] == tables.cells["seen"][cells].sum()
        weighted = tables.cells["seen"][cells] * tables.cells["edge"][cells]
        assert cell["weighted"] == pytest.approx(weighted.sum(), abs=1e-9)
        return cells

    return walk(tables.sets[s]["root"], NONE)


def live_cells(tables: Any, s: int) -> set[int]:
    found, c = set(), int(tables.sets[s]["first_live"])
    while c != NONE:
        found.add(c)
        c = int(tables.cells[c]["next_live"])
    return found


@pytest.mark.parametrize("rewards", ["binary", "real"])
@pytest.mark.parametrize("window", [2, 40, 10_000])
def test_excesses_are_the_same_while_rounds_come_and_go(window: int, rewards: str) -> None:
    rng = np.random.default_rng([window, rewards == "real"])
    policy = policy_of((3, 3, 4), window)
    for _ in range(300):
        learn(policy, rng, rewards)
        tables = policy._state.tables
        for s in tables.live[: tables.sizes[2]]:
            radius = float(rng.choice([0.0, 0.1, 0.7, 1.0]))
            unseen_mass, simplex = bool(rng.random() < 0.3), bool(rng.random() < 0.7)
            one, other = both(tables, s, radius, unseen_mass, simplex)
            assert other == pytest.approx(one, abs=1e-12)
            assert set(in_order(tables, s)) == live_cells(tables, s)


def test_questions_by_hand() -> None:
    rng = np.random.default_rng(3)
    policy = policy_of((3, 3, 4), 10_000)
    for _ in range(400):
        learn(policy, rng, "real")
    tables = policy._state.tables
    s = int(tables.live[0])
    both(tables, s, 1.0, False, True)
    cells = in_order(tables, s)
    edges: NDArray[np.float64] = tables.cells["edge"][cells]
    seen: NDArray[np.int64] = tables.cells["seen"][cells]
    assert edges.tolist() == sorted(edges)
    for edge in (-10.0, 0.0, edges[len(edges) // 2], 10.0):
        for amount in (0.0, 0.5, seen[0] + 0.25, seen.sum() / 2, seen.sum() + 5.0):
            least, most, (mass, weighted), total = answers(tables, s, edge, amount)
            assert (least, most) == (edges[0], edges[-1])
            assert mass == seen[edges < edge].sum()
            assert weighted == pytest.approx((seen * edges)[edges < edge].sum())
            taken = np.diff(np.minimum(np.cumsum(np.concatenate([[0], seen])), amount))
            assert total == pytest.approx((taken * edges).sum())


def test_order_begins_and_ends_with_the_number_of_cells() -> None:
    """Many live cells: the policy keeps them in order, looks them through, and back again."""
    rng = np.random.default_rng(4)
    policy = policy_of((15, 15, 15), 600)
    most = observation_sets.MAX_SCANNED_CELLS
    used = set()
    for t in range(1500):
        policy.choose_features()
        tables = policy._state.tables
        for s in tables.live[: tables.sizes[2]]:
            live, ordered = tables.sets[s]["live_cells"], bool(tables.sets[s]["in_order"])
            used.add(ordered)
            assert ordered if live > most else True
            assert not ordered if live < most // 2 else True
        if t < 900:
            learn(policy, rng, "binary")
        else:  # the same cell again and again: the others leave the window
            policy.update(Observation([0, 0, 0], [0.05] * 3), 0, 1.0)
    assert used == {False, True}
