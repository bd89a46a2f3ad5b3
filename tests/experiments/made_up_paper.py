"""The paper's experiments with made-up tables, in which every claim holds by hand.

Four seeds play two blocks of ten rounds, and rewards change between them. By default all seeds are
equal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from figures.small_tables import Row, rows, table_from, table_of_gains, table_of_regrets
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.results import Results
from thrifty.experiments.roles import Role
from thrifty.experiments.spec import Entry, Experiment
from thrifty.experiments.tuning import best_parameters, tuned_experiment

SEEDS = (0, 1, 2, 3)
CHANGES = [10]
ENVIRONMENT = {"levels": [2, 2], "n_actions": 2, "rounds": 20, "reward_changes": CHANGES}


PROGRAM, SIMPLEX, TEXT, LATER = "the program", "the simplex", "the text", "SW-UCB"
"""Labels; code must not depend on them."""
POLICIES: Mapping[str, tuple[str, Role | None]] = {
    "Oracle": ("oracle", None),
    PROGRAM: ("ncc-ucrl2-published", Role.PROGRAM),
    SIMPLEX: ("ncc-ucrl2", Role.SIMPLEX),
    TEXT: ("ncc-ucrl2", Role.TEXT),
    LATER: ("sw-ucb", Role.LATER_BENCHMARK),
    "UCB1": ("ucb1", Role.BENCHMARK),
    "PS-LinUCB": ("ps-linucb", Role.BENCHMARK),
    "Sim-OOS": ("sim-oos", Role.BENCHMARK),
    "Uniform": ("uniform", Role.BENCHMARK),
}


@dataclass(frozen=True)
class Play:
    """A run: its rewards in both blocks, its cost, and its number of choices of left in each."""

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

WINDOWS: Mapping[int, Sequence[float]] = {
    300: (12.0,) * 4,
    700: (13.0,) * 4,
    1000: (10.0,) * 4,
    1500: (8.0,) * 4,
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
            regrets=[10 - reward for reward in play.rewards],
            left=play.left,
            bought=(2, 1),
        )
    ]


def _experiment(name: str, entries: Sequence[Entry]) -> Experiment:
    return Experiment(name, f"About {name}", "random", tuple(entries), SEEDS, ENVIRONMENT)


def published_results(**by_seed: Sequence[Play]) -> Results:
    """Return the results on the published arrays, some policies with other runs, by seed."""
    printed = {"UCB1": (11.0,), LATER: (12.0,), PROGRAM: (13.0, 14.0), "Uniform": (5.0, 6.0)}
    entries = [
        Entry(label, policy, role=role, published=printed.get(label, ()))
        for label, (policy, role) in POLICIES.items()
    ]
    return Results(_experiment("nursery/published", entries), published_table(**by_seed))


def window_results(windows: Mapping[int, Sequence[float]] = WINDOWS) -> Results:
    """Return the results of the windows, which have these gains by seed."""
    runs = [
        row
        for window, gains in windows.items()
        for seed, gain in zip(SEEDS, gains, strict=True)
        for row in rows(f"w{window}", seed, rewards=(gain, 0), costs=(0, 0), regrets=(20 - gain, 0))
    ]
    entries = [Entry(f"w{window}", "ncc-ucrl2", {"window": window}) for window in windows]
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
    table = table_of_gains(
        {entry.label: (gain,) * 4 for entry, gain in zip(entries, gains, strict=True)}
    )
    return Results(_experiment(f"grid/{policy}", entries), table)


def _theory(name: str, changes: Sequence[float]) -> Results:
    entries = (
        Entry(TEXT, "ncc-ucrl2", {"window": "recommended", "delta": 0.05}, role=Role.TEXT),
        Entry("Uniform", "uniform"),
    )
    params = {"levels": [2], "n_actions": 2, "reward_changes": list(changes)}
    experiment = Experiment(name, f"About {name}", "random", entries, SEEDS, params, (100, 400))
    regrets = {TEXT: {100: (10.0,) * 4, 400: (20.0,) * 4}, "Uniform": {100: (50.0,) * 4}}
    regrets["Uniform"][400] = (200.0,) * 4
    return Results(experiment, table_of_regrets(regrets))


def reproduction() -> Reproduction:
    """Return a made-up reproduction of the whole paper."""
    published = published_results()
    grids = (
        grid_of("ncc-ucrl2-published", {"window": (100, 250), "delta": (0.1, 0.2)}, (5, 8, 6, 7)),
        grid_of("ucb1", {"alpha": (0.1, 0.2, 0.3)}, (3, 1, 2)),
    )
    tuned = tuned_experiment(best_parameters(grids), published.experiment)
    labels = [entry.label for entry in tuned.entries]
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
        windows=window_results(),
        grids=grids,
        theory=(_theory("theory/stationary", ()), _theory("theory/changes", (0.5,))),
        tuned=Results(tuned, table_from(runs)),
    )
