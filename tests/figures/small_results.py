"""Results of every kind: plain, windows, grids of one, two and three parameters, horizons."""

from dataclasses import replace

from experiments.made_up_paper import grid_of, reproduction
from figures.small_tables import POLICIES, table_of, with_events
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment

ENVIRONMENT = {"levels": [2, 2], "n_actions": 2, "rounds": 20, "reward_changes": [10]}
LABELS = ("Oracle", "NCC-UCRL2, text", "UCB1")


def plain(*labels: str, title: str = "A small environment", **params: object) -> Results:
    """Return policies in an environment of twenty rounds; the last one has printed totals."""
    labels = labels or LABELS
    entries = tuple(
        Entry(
            label,
            POLICIES.get(label, "ucb1"),
            {"alpha": 0.6},
            published=(11.0, 14.0) if label == labels[-1] else (),
        )
        for label in labels
    )
    experiment = Experiment("small", title, "random", entries, (0, 1), {**ENVIRONMENT, **params})
    return Results(experiment, table_of(*labels))


def windows() -> Results:
    """Return one policy with several windows."""
    entries = tuple(
        Entry(label, "ncc-ucrl2", {"window": window})
        for label, window in (("short", 10), ("long", 20))
    )
    experiment = replace(plain("short", "long").experiment, entries=entries)
    return Results(experiment, table_of("short", "long"))


def grid() -> Results:
    """Return a grid of three parameters."""
    values = {"alpha": (0.1, 0.2), "omega": (50, 100), "delta": (0.3, 0.4)}
    return grid_of("ps-linucb", values, (1, 2, 8, 3, 5, 5, -4, -6))


def line() -> Results:
    """Return a grid of one parameter."""
    return grid_of("ucb1", {"alpha": (0.1, 0.2, 0.3)}, (3, 5, 4))


def horizons() -> Results:
    """Return an experiment with several horizons and a theorem's bound."""
    return reproduction().theory[0]


def recording() -> Results:
    """Return a policy that records events, and one that does not."""
    results = plain("Scout", "UCB1", cost_changes=[5])
    table = with_events(table_of("Scout", "UCB1"), "Scout", EVENTS)
    return Results(results.experiment, table)


EVENTS = [
    (0, "price alarm", 6),
    (0, "restart", 11),
    (0, "restart", 17),
    (1, "restart", 12),
    (1, "my own", 3),
]
KINDS = {
    "plain": plain(),
    "recording": recording(),
    "windows": windows(),
    "grid": grid(),
    "line": line(),
    "horizons": horizons(),
}
