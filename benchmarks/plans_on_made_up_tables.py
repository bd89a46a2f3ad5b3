"""How near plans come to the best possible one: `python -m benchmarks.plans_on_made_up_tables`.

Plans are learnt from some rows of each made-up table and carried out on many new rows. The share is
how far they come on the way from doing nothing (0 %) to the exact best plan (100 %): the exact plan
is carried out on the same new rows, and the mean difference is divided by the exact headroom.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from time import process_time

import numpy as np

from benchmarks.cell_method import choose_by_cells
from benchmarks.made_up_tables import KINDS, MadeUpTable
from benchmarks.report import Table
from thrifty.plans.cases import Floats, LookSet, PastCases
from thrifty.plans.learning import learn
from thrifty.plans.tree import PlanTree

FIRST_NEW_SEED = 10_000
T_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
"""Student's quantile for a 95% interval, by number of seeds."""


@dataclass(frozen=True)
class Result:
    """What was learnt from one table.

    Parameters
    ----------
    shares : dict
        Share of the way from doing nothing to the best plan, by method.
    gains : dict
        Mean gain of a new case, by method.
    sets : dict
        Names of the looks that the fixed set and the cells buy.
    bought : dict
        Share of the new cases in which the plan buys each look.
    seconds : float
        Processor time of learning.
    """

    shares: dict[str, float]
    gains: dict[str, float]
    sets: dict[str, tuple[str, ...]]
    bought: dict[str, float]
    seconds: float


def measure(kind: MadeUpTable, seed: int, n_cases: int, n_new: int) -> Result:
    """Learn from rows with this seed, and carry everything out on new rows."""
    cases = kind.cases(n_cases, seed)
    new = kind.cases(n_new, FIRST_NEW_SEED + seed, cases.problem)
    rows = kind.draw(n_new, FIRST_NEW_SEED + seed)
    begun = process_time()
    learnt = learn(cases, seed=seed)
    seconds = process_time() - begun
    trees = {
        name: getattr(learnt, name)
        for name in ("nothing", "everything", "fixed", "plan", "printed")
    }
    gains: dict[str, Floats] = {
        name: tree.decide(new.codes).gains(new) for name, tree in trees.items()
    }
    cells = choose_by_cells(cases, new, seed)
    gains["cells"] = cells.gains
    truth = kind.truth
    exact = truth.plan.gains(rows.levels, rows.outcomes)
    headroom = truth.plan.value - truth.nothing
    return Result(
        {name: 1 - float((exact - found).mean()) / headroom for name, found in gains.items()},
        {name: float(found.mean()) for name, found in gains.items()},
        {
            "fixed": look_names(cases, learnt.fixed.used),
            "cells": look_names(cases, cells.looks),
        },
        bought_shares(learnt.plan, new),
        seconds,
    )


def look_names(cases: PastCases, looks: LookSet) -> tuple[str, ...]:
    """Return the names of looks."""
    return tuple(cases.looks[k].name for k in looks)


def bought_shares(plan: PlanTree, cases: PastCases) -> dict[str, float]:
    """Return the share of cases in which a plan buys each look that it ever buys."""
    shares = plan.decide(cases.codes).bought.mean(axis=0)
    return {cases.looks[k].name: float(shares[k]) for k in np.flatnonzero(shares)}


def interval(shares: Sequence[float]) -> str:
    """Return a mean with its 95% interval, in percent.

    >>> interval([0.90, 0.94])
    '92 +- 25'
    """
    if len(shares) == 1:
        return f"{100 * shares[0]:.0f}"
    margin = T_95.get(len(shares), 2.2) * stdev(shares) / len(shares) ** 0.5
    return f"{100 * mean(shares):.0f} +- {100 * margin:.0f}"


def gains_row(kind: MadeUpTable, results: Sequence[Result]) -> tuple[str, ...]:
    """Return gains and shares of a kind, as text."""
    truth = kind.truth
    exact = (truth.nothing, truth.everything, truth.fixed, truth.plan.value)
    means = [
        mean(result.gains[name] for result in results)
        for name in ("fixed", "plan", "printed", "cells")
    ]
    shares = [
        interval([result.shares[name] for result in results])
        for name in ("fixed", "plan", "printed", "cells")
    ]
    seconds = mean(result.seconds for result in results)
    return (
        kind.name,
        *(f"{gain:.4g}" for gain in (*exact, *means)),
        f"{100 * truth.share(truth.fixed):.0f}",
        *shares,
        f"{seconds:.1f}",
    )


def purchases_row(kind: MadeUpTable, results: Sequence[Result]) -> tuple[str, ...]:
    """Return what was bought, as text: sets with their number of seeds, and shares of cases."""
    fixed, cells = (
        "; ".join(f"{' '.join(names) or 'nothing'} ({n})" for names, n in counted.most_common())
        for counted in (
            Counter(result.sets[name] for result in results) for name in ("fixed", "cells")
        )
    )
    names = {name for result in results for name in result.bought}
    shares = {name: mean(r.bought.get(name, 0.0) for r in results) for name in names}
    in_order = sorted(shares, key=lambda name: -shares[name])
    bought = ", ".join(f"{name} {100 * shares[name]:.3g} %" for name in in_order)
    exact = kind.truth.plan.follow(kind.draw(100_000, 1).levels).bought.mean(axis=0)
    best = ", ".join(
        f"{column.name} {100 * share:.3g} %"
        for column, share in zip(kind.columns, exact, strict=True)
        if share > 0
    )
    return kind.name, best, bought or "nothing", fixed, cells


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every kind and print two tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plans_on_made_up_tables", description=__doc__
    )
    parser.add_argument("kinds", nargs="*", help="names of kinds (default: all)")
    parser.add_argument("--rows", type=int, default=8_000, help="rows to learn from")
    parser.add_argument("--new", type=int, default=100_000, help="new rows to score on")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args(arguments)
    kinds = [kind for kind in KINDS if not options.kinds or kind.name in options.kinds]
    results: dict[str, list[Result]] = {}
    for kind in kinds:
        results[kind.name] = [
            measure(kind, seed, options.rows, options.new) for seed in range(options.seeds)
        ]
        print(" ".join(gains_row(kind, results[kind.name])), file=sys.stderr, flush=True)
    gains = Table(
        f"Gain a case, learnt from {options.rows:,} rows; share of the way to the best plan in %",
        (
            "kind",
            *("nothing", "everything", "best set", "best plan"),
            *("set", "plan", "printed", "cells"),
            *("best set, %", "set, %", "plan, %", "printed, %", "cells, %"),
            "s",
        ),
        tuple(gains_row(kind, results[kind.name]) for kind in kinds),
    )
    purchases = Table(
        "Purchases (sets: number of seeds; plans: share of the cases)",
        ("kind", "best plan", "plan", "set", "cells"),
        tuple(purchases_row(kind, results[kind.name]) for kind in kinds),
    )
    print(f"{gains.markdown()}\n\n{purchases.markdown()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
