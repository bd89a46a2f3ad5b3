"""How long 10,000 rounds of NCC-UCRL2 take on the published arrays, once compiled.

Run by `make bench`. Prints each variant's time a run and a round: the best of several repetitions
and their spread, beside the plain Python loop over the same compiled steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from thrifty import NCCUCRL2, Policy, play, simulate
from thrifty.environments import nursery

REPETITIONS = 7
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "authors' program": ("ncc-ucrl2-published", {}),
    "cost range and sweep": ("ncc-ucrl2", {"cost_range": 0.05, "sweep_first": True}),
    "the paper's text": ("ncc-ucrl2", {}),
}


def seconds(job: Callable[[], object], repetitions: int = REPETITIONS) -> list[float]:
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return sorted(times)


def main() -> None:
    world = nursery.published()
    rounds = world.horizon
    table = Table("variant", "loop", "ms a run", "spread", "us a round", "ratio")
    for label, (name, params) in VARIANTS.items():

        def compiled(name: str = name, params: dict[str, Any] = params) -> object:
            return simulate(name, world, seeds=[0], workers=1, **params)

        def plain(name: str = name, params: dict[str, Any] = params) -> object:
            make = NCCUCRL2.published if name == "ncc-ucrl2-published" else NCCUCRL2
            policy: Policy = make(world.problem, horizon=rounds, seed=0, **params)
            return play(policy, world)

        compiled(), plain()
        fast, slow = seconds(compiled), seconds(plain, 3)
        for loop, times in (("compiled", fast), ("plain", slow)):
            table.add_row(
                label,
                loop,
                f"{times[0] * 1e3:.1f}",
                f"{times[0] * 1e3:.1f} .. {times[-1] * 1e3:.1f}",
                f"{times[0] / rounds * 1e6:.2f}",
                f"{times[0] / fast[0]:.1f}",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
