"""The results of the benchmark for the documentation: `python -m benchmarks.results_page`.

It reads what `thrifty run benchmark` wrote, and prints the rankings, kinds of methods by difficulty
and the best policies of every world. With `--write` the tables and figures in the documentation are
replaced by these.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measuring import ROOT
from thrifty.commands.markets import SCALE
from thrifty.commands.output import new_table, show
from thrifty.commands.ranking_tables import show_ranking
from thrifty.experiments.export import RUNS, attributes_of, read_runs, scores_from_runs
from thrifty.experiments.market_summary import TABLE, market_scores, read_market_table
from thrifty.experiments.ranking import Ranked, rank
from thrifty.experiments.scores import Scores
from thrifty.experiments.spec import ALL
from thrifty.figures.benchmark import (
    by_difficulty,
    difficulty_columns,
    group_scores,
    profiles,
    ranking,
)

PAGES = ("benchmark.md", "benchmark-lessons.md")
RANKING, MARKETS = "Ranking over {worlds} worlds", "Ranking over {worlds} families"
KINDS_TITLE = "Score by kind of method and group of worlds: the best policy of each kind"
WORLDS_TITLE = "Mean score by world: the best policy of three kinds"
BLOCK = re.compile(r'^(```text title="[^"]*"\n)(.*?)^```$', re.DOTALL | re.MULTILINE)
PICTURES_DPI = 100

NOT_FORGETTING = {"uniform", "ucb1", "epsilon-greedy", "linucb"}
WITHOUT_FEATURES = {
    *("uniform", "ucb1", "epsilon-greedy", "sw-ucb", "d-ucb", "discounted-ts"),
    *("cusum-ucb", "m-ucb", "glr-klucb", "master"),
}
CHOOSING = {"dal-ncc-ucrl2", "tsrc", "wtsrc", "sim-oos", "seq-oos"}
KINDS = (
    "no features, no forgetting",
    "no features, for changes",
    "all features, no forgetting",
    "all features, for changes",
    "chooses features",
    "scout",
    "best set, no forgetting",
    "best set, for changes",
)


def kind_of(name: str, feature_set: str) -> str:
    """Return the kind of a policy.

    >>> kind_of("linucb", "best-fixed"), kind_of("d-ucb", "all"), kind_of("ncc-ucrl2", "all")
    ('best set, no forgetting', 'no features, for changes', 'chooses features')
    """
    if name == "scout":
        return name
    if name.startswith("ncc-ucrl2") or name in CHOOSING:
        return "chooses features"
    if name in WITHOUT_FEATURES:
        seen = "no features"
    else:
        seen = "all features" if feature_set == ALL else "best set"
    return f"{seen}, {'no forgetting' if name in NOT_FORGETTING else 'for changes'}"


def kinds_of(table: pl.DataFrame) -> dict[str, str]:
    """Return the kind of each policy in a table of runs, by label."""
    rows = table.select("policy", "name", "feature_set").unique("policy", maintain_order=True)
    return {label: kind_of(name, features) for label, name, features in rows.iter_rows()}


def show_kinds(
    scores: Scores, kinds: Mapping[str, str], attributes: Mapping[str, Mapping[str, float]]
) -> None:
    """Print the interquartile mean of the best policy of each kind, overall and by group."""
    columns = difficulty_columns(scores, attributes)
    labels = list(scores.labels)
    values = group_scores(scores, labels, columns)
    rows = []
    for kind in KINDS:
        own = values[[kinds[label] == kind for label in labels]]
        if own.size:
            rows.append((kind, np.nanmax(own, axis=0)))
    headings = [kind.replace(", ", ",\n") for kind, _ in rows]
    table = new_table(["difficulty", "group"], ["worlds", *headings])
    for k, ((heading, group), worlds) in enumerate(columns.items()):
        shown = [f"{best[k]:.2f}" for _, best in rows]
        table.add_row(heading, group, str(len(worlds)), *shown)
    show(KINDS_TITLE, table)


def show_worlds(scores: Scores, kinds: Mapping[str, str]) -> None:
    """Print the best policy of each world: without features, with the best set, and any other."""
    groups: tuple[tuple[str, Callable[[str], bool]], ...] = (
        ("without features", lambda kind: kind.startswith("no features")),
        ("pays for features", lambda kind: not kind.startswith(("no features", "best set"))),
        ("best set", lambda kind: kind.startswith("best set")),
    )
    table = new_table(["world"], [])
    for name, _ in groups:
        table.add_column(name, no_wrap=True)
        table.add_column("score", justify="right", no_wrap=True)
    means = np.full(scores.values.shape[:2], -np.inf)
    means[scores.played] = np.nanmean(scores.values[scores.played], axis=-1)
    for w, world in enumerate(scores.worlds):
        cells: list[str] = []
        for _, belongs in groups:
            own = [k for k, label in enumerate(scores.labels) if belongs(kinds[label])]
            best = max(own, key=lambda k: means[k, w])
            cells += [scores.labels[best].removesuffix(", best set"), f"{means[best, w]:.2f}"]
        table.add_row(world, *cells)
    show(WORLDS_TITLE, table)


def shown(scores: Scores, rows: Sequence[Ranked], table: pl.DataFrame) -> dict[str, str]:
    """Return the tables about the worlds as text, by title."""
    kinds = kinds_of(table)
    title = RANKING.format(worlds=len(scores.worlds))
    return {
        title: _printed(lambda: show_ranking(rows)),
        KINDS_TITLE: _printed(lambda: show_kinds(scores, kinds, attributes_of(table))),
        WORLDS_TITLE: _printed(lambda: show_worlds(scores, kinds)),
    }


def _printed(print_it: Callable[[], None]) -> str:
    with redirect_stdout(StringIO()) as out:
        print_it()
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines()) + "\n"


def replaced(page: str, tables: Mapping[str, str]) -> str:
    """Return a page with the tables in its blocks, which are known by their first line."""

    def block(found: re.Match[str]) -> str:
        first = found[2].partition("\n")[0]
        body = next((text for title, text in tables.items() if first.startswith(title)), found[2])
        return f"{found[1]}{body}```"

    return BLOCK.sub(block, page)


def draw(scores: Scores, rows: Sequence[Ranked], table: pl.DataFrame, folder: Path) -> None:
    """Draw the figures of `thrifty figures results/worlds`, small enough for a page.

    Profiles name the first policy of each kind instead of the first ones of all.
    """
    labels, kinds = [row.label for row in rows], kinds_of(table)
    leaders = {kinds[label]: label for label in reversed(labels)}
    named = [label for label in labels if leaders[kinds[label]] == label]
    others = [label for label in labels if label not in named]
    figures = {
        "ranking": ranking(rows),
        "profiles": profiles(scores, [*named, *others], n_named=len(named)),
        "difficulty": by_difficulty(scores, labels, attributes_of(table)),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"benchmark-{name}.png", dpi=PICTURES_DPI)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, and write them to the documentation if that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results_page", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: results")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    tables: dict[str, str] = {}
    if (options.results / "worlds" / RUNS).is_file():
        table = read_runs(options.results / "worlds" / RUNS)
        scores = scores_from_runs(table)
        rows = rank(scores)
        tables |= shown(scores, rows, table)
        if options.write:
            draw(scores, rows, table, options.docs / "pictures")
    if (options.results / "markets" / TABLE).is_file():
        markets = market_scores(read_market_table(options.results / "markets"))
        ranked = rank(markets)
        title = MARKETS.format(worlds=len(markets.worlds))
        tables[title] = _printed(lambda: show_ranking(ranked, what="families", scale=SCALE))
    print("\n".join(tables.values()))
    for page in (options.docs / name for name in PAGES) if options.write else ():
        page.write_text(replaced(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
