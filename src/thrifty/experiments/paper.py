"""The paper's experiment: its policies with the parameters of its Table II, and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from thrifty.environments import nursery
from thrifty.experiments.summary import Summary, summarise
from thrifty.simulation import World, simulate


@dataclass(frozen=True)
class Entry:
    """A policy of the experiment; `published` are the total gains that its authors printed.

    NCC-UCRL2 plays as in the authors' program, as in it but for q in the simplex, the usual window
    and random ties, and as the paper's text alone has it.
    """

    label: str
    policy: str
    params: dict[str, Any] = field(default_factory=dict)
    published: tuple[float, ...] = ()

    @property
    def published_mean(self) -> float | None:
        """The mean over the authors' runs, if they printed any."""
        return sum(self.published) / len(self.published) if self.published else None


_NCC = {"window": 250, "delta": 0.04}

ENTRIES = (
    Entry("Oracle", "oracle", published=(8780.69062052404,)),
    Entry(
        "NCC-UCRL2, program",
        "ncc-ucrl2-published",
        _NCC,
        published=(7490.33, 7640.85, 7534.24, 6583.96, 6971.81),
    ),
    Entry(
        "NCC-UCRL2, simplex",
        "ncc-ucrl2",
        {**_NCC, "cost_range": 0.05, "sweep_first": True},
    ),
    Entry("NCC-UCRL2, text", "ncc-ucrl2", _NCC),
    Entry("SW-UCB", "sw-ucb", {"alpha": 0.1, "tau": 100}, published=(6794.0,)),
    Entry("UCB1", "ucb1", {"alpha": 0.6}, published=(5809.0,)),
    Entry(
        "PS-LinUCB",
        "ps-linucb",
        {"alpha": 0.7, "omega": 100, "delta": 0.05},
        published=(5742.682208246992,),
    ),
    Entry("LinUCB", "linucb", {"alpha": 0.5}, published=(4354.682208247001,)),
    Entry(
        "Sim-OOS",
        "sim-oos",
        {"delta": 0.8},
        published=(4048.51, 3334.15, 4048.75, 3906.37, 5677.94),
    ),
    Entry(
        "Epsilon-greedy",
        "epsilon-greedy",
        {"epsilon": 0.03},
        published=(3796.0, 3816.0, 4161.0, 3720.0, 3427.0),
    ),
    Entry("Uniform", "uniform", published=(3364.0, 3333.0, 3284.0, 3301.0, 3405.0)),
)


@dataclass(frozen=True)
class Setting:
    """A world that the policies play; published numbers belong to one of them."""

    name: str
    title: str
    world: Callable[[], World]
    has_published_numbers: bool = False


SETTINGS = (
    Setting(
        "nursery/published",
        "Nursery, the published arrays",
        nursery.published,
        has_published_numbers=True,
    ),
    Setting(
        "nursery/shuffled",
        "Nursery, rows in random order (the experiment of the paper's text)",
        lambda: nursery.shuffled,
    ),
)


def run(
    setting: Setting,
    *,
    seeds: Sequence[int],
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[Entry, Summary]]:
    """Play every policy in the setting, and summarise each as soon as it is done."""
    world = setting.world()
    for entry in ENTRIES:
        runs = simulate(
            entry.policy, world, seeds=seeds, workers=workers, progress=progress, **entry.params
        )
        yield entry, summarise(runs)
