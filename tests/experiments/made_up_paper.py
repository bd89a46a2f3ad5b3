"""The paper's experiments with made-up tables, in which every claim holds by hand.

Four seeds play two blocks of ten rounds; rewards change between them. Unless a test says
otherwise all seeds are alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from figures.small_tables import Row, rows, table_from, table_of_gains, table_of_regrets
from thrifty.experiments.claims import LATER, PROGRAM, TEXT
from thrifty.experiments.findings import SIMPLEX
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment
from thrifty.experiments.tuning import choices, evaluation

SEEDS = (0, 1, 2, 3)
CHANGES = [10]
WORLD = {"levels": [2, 2], "n_actions": 2, "rounds": 20, "reward_changes": CHANGES}


@dataclass(frozen=True)
class Play:
    """A run: its rewards in both blocks, its cost, and how often it chooses left in each."""

    rewards: tuple[float, float]
    cost: float = 0.0
    left: tuple[float, float] = (5.0, 5.0)

    def paid(self, more: float) -> "Play":
        """Return the run with more reward, half of it in each block."""
        first, second = self.rewards
        return replace(self, rewards=(first + more / 2, second + more / 2))


PLAYS: Mapping[str, Play] = {
    "Oracle": Play((10, 10), 1, left=(10, 0)),  # gain 19
    PROGRAM: Play((9, 6), 2, left=(10, 5)),  # gain 13
    SIMPLEX: Play((8, 6), 2),  # gain 12
    TEXT: Play((6, 5), 4),  # gain 7
    LATER: Play((6, 6)),  # gain 12
    "UCB1": Play((5, 6), left=(0, 10)),  # gain 11
    "PS-LinUCB": Play((9, 6), 6),  # gain 9
    "Sim-OOS": Play((5, 5), 2),  # gain 8
    "Uniform": Play((3, 3)),  # gain 6
}
"""In the first block both features are bought, in the second one."""

WINDOWS: Mapping[str, Sequence[float]] = {
    "w = 300": (12.0,) * 4,
    "w = 700": (13.0,) * 4,
    "w = 1000": (10.0,) * 4,
    "w = 1500": (8.0,) * 4,
}


def published_table(**by_seed: Sequence[Play]) -> pl.DataFrame:
    """Return the table of the published arrays, some policies with other runs, by seed."""
    return table_from([row for label in PLAYS for row in _rows(label, by_seed.get(label))])


def _rows(label: str, plays: Sequence[Play] | None) -> list[Row]:
    return [
        row
        for seed, play in zip(SEEDS, plays or [PLAYS[label]] * len(SEEDS), strict=True)
        for row in rows(
            label,
            seed,
            rewards=play.rewards,
            costs=(play.cost, 0.0),
            regrets=[10 - it for it in play.rewards],
            left=play.left,
            bought=(2, 1),
        )
    ]


def _experiment(name: str, entries: Sequence[Entry]) -> Experiment:
    return Experiment(name, f"About {name}", "random", tuple(entries), SEEDS, WORLD)


def _published() -> Results:
    printed = {"UCB1": (11.0,), LATER: (12.0,), PROGRAM: (13.0, 14.0), "Uniform": (5.0, 6.0)}
    policies = {"UCB1": "ucb1", PROGRAM: "ncc-ucrl2-published"}
    entries = [
        Entry(it, policies.get(it, "uniform"), published=printed.get(it, ())) for it in PLAYS
    ]
    return Results(_experiment("nursery/published", entries), published_table())


def _windows() -> Results:
    runs = [
        row
        for label, gains in WINDOWS.items()
        for seed, gain in zip(SEEDS, gains, strict=True)
        for row in rows(label, seed, rewards=(gain, 0), costs=(0, 0), regrets=(20 - gain, 0))
    ]
    entries = [Entry(label, "ncc-ucrl2", {"window": int(label[4:])}) for label in WINDOWS]
    return Results(_experiment("nursery/window", entries), table_from(runs))


def grid_of(policy: str, grid: Mapping[str, Sequence[float]], gains: Sequence[float]) -> Results:
    """Return a grid of one or more parameters, whose gains are given in the order of labels."""
    places: list[dict[str, float]] = [{}]
    for name, values in grid.items():
        places = [{**place, name: value} for place in places for value in values]
    reported = {name: values[-1] for name, values in grid.items()}
    entries = [
        Entry(f"{policy} {place}", policy, place, reported=reported, grid=tuple(grid))
        for place in places
    ]
    table = table_of_gains({it.label: (gain,) * 4 for it, gain in zip(entries, gains, strict=True)})
    return Results(_experiment(f"grid/{policy}", entries), table)


def _theory(name: str, changes: Sequence[float]) -> Results:
    entries = (
        Entry(TEXT, "ncc-ucrl2", {"window": "recommended", "delta": 0.05}),
        Entry("Uniform", "uniform"),
    )
    world = {"levels": [2], "n_actions": 2, "reward_changes": list(changes)}
    experiment = Experiment(name, f"About {name}", "random", entries, SEEDS, world, (100, 400))
    regrets = {TEXT: {100: (10.0,) * 4, 400: (20.0,) * 4}, "Uniform": {100: (50.0,) * 4}}
    regrets["Uniform"][400] = (200.0,) * 4
    return Results(experiment, table_of_regrets(regrets))


def reproduction() -> Reproduction:
    """Return the whole paper, made up."""
    published = _published()
    grids = (
        grid_of("ncc-ucrl2-published", {"window": (100, 250), "delta": (0.1, 0.2)}, (5, 8, 6, 7)),
        grid_of("ucb1", {"alpha": (0.1, 0.2, 0.3)}, (3, 1, 2)),
    )
    judged = evaluation(choices(grids), published.experiment)
    labels = [it.label for it in judged.entries]
    runs = [
        row
        for k, label in enumerate(labels)
        for seed in SEEDS
        for row in rows(label, seed, rewards=(5 + k, 5), costs=(1, 0), regrets=(5 - k, 5))
    ]
    return Reproduction(
        published=published,
        shuffled=replace(
            published, experiment=replace(published.experiment, id="nursery/shuffled")
        ),
        windows=_windows(),
        grids=grids,
        theory=(_theory("theory/stationary", ()), _theory("theory/changes", (0.5,))),
        judged=Results(judged, table_from(runs)),
    )
