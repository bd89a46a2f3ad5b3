"""What the reproduction found, in plain words with every number from the tables."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from thrifty.experiments.claims import HOLDS, PROGRAM, TEXT, Claim, share_of_means
from thrifty.experiments.growth import bounds_of, growths, slope_of
from thrifty.experiments.measures import Summary, summaries, totals
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.tuning import worth

SIMPLEX = "NCC-UCRL2, simplex"


@dataclass(frozen=True)
class Finding:
    """A sentence or two, and whether it is to the paper's credit."""

    holds: bool
    words: str


def findings(done: Reproduction) -> list[Finding]:
    """Return what holds up and what does not."""
    return [
        _printed_totals(done),
        _chance(done),
        *(Finding(it.verdict == HOLDS, _of_claim(it)) for it in done.claims),
        _text(done),
        _rows_in_order(done),
        _tuning(done),
        _bounds(done),
        _growth(done),
    ]


def _printed_totals(done: Reproduction) -> Finding:
    rows = _rows(done)
    printed = {it.label: it.published for it in done.published.experiment.entries if it.published}
    fixed = [it for it in printed if len(printed[it]) == 1 and rows[it].worst == rows[it].best]
    apart = max(abs(rows[it].gain - printed[it][0]) for it in fixed)
    return Finding(
        apart < 1e-6,
        f"Where the authors' program draws no random numbers ({', '.join(fixed)}), the totals that "
        f"they printed are {'met' if apart < 1e-6 else 'missed'}: the largest difference is "
        f"{apart:.1e}.",
    )


def _chance(done: Reproduction) -> Finding:
    row = _rows(done)[PROGRAM]
    entries = {it.label: it for it in done.published.experiment.entries}
    printed = entries[PROGRAM].published
    mean = sum(printed) / len(printed)
    table = totals(done.published.table).filter(pl.col("policy") == PROGRAM)
    share = share_of_means(table["gain"].to_numpy(), runs=len(printed), least=mean)
    return Finding(
        share > 0.05,
        f"The {len(printed)} printed runs of NCC-UCRL2 average {mean:,.0f}. Over {row.seeds} seeds "
        f"the same program averages {row.gain:,.0f} ({row.low:,.0f} to {row.high:,.0f}), and "
        f"single seeds lie between {row.worst:,.0f} and {row.best:,.0f}: which features it settles "
        f"on is chance. Means of {len(printed)} seeds reach the printed one in {share:.1%} of "
        "draws.",
    )


def _of_claim(it: Claim) -> str:
    value = f"{it.shown(it.value)} ({it.interval})"
    return f"{it.claim}: {it.verdict}. The measure is {it.measured}: {value}."


def _text(done: Reproduction) -> Finding:
    rows = _rows(done)
    text, simplex, uniform = rows[TEXT], rows[SIMPLEX], rows["Uniform"]
    return Finding(
        text.gain > uniform.gain,
        f"The paper's text alone gains {text.gain:,.0f}, acting at random {uniform.gain:,.0f}: its "
        f"bonus for unknown costs is far above any cost, so it pays {text.cost:,.0f} for features. "
        "The program knows the range of the costs and buys every set once at first; with that, and "
        f"probabilities that are not negative, the text's algorithm gains {simplex.gain:,.0f}.",
    )


def _rows_in_order(done: Reproduction) -> Finding:
    rows = {row.policy: row for row in summaries(done.shuffled.table)}
    ours, free, best = rows[PROGRAM], rows["SW-UCB"], rows["Oracle"]
    return Finding(
        ours.low > free.high,
        "The published rows are not in random order: they stand as in the data set, but for some "
        "that were exchanged between periods, so that in each period one action is right most of "
        "the time, and no feature is needed to find it. With the rows shuffled, as the text has "
        f"it, NCC-UCRL2 (program) gains {ours.gain:,.0f} ({ours.low:,.0f} to {ours.high:,.0f}), "
        f"SW-UCB without features {free.gain:,.0f}, the oracle {best.gain:,.0f}.",
    )


def _tuning(done: Reproduction) -> Finding:
    choice = next(it for it in done.chosen if it.policy == "ncc-ucrl2-published")
    more = worth(done.chosen, done.judged)[choice.policy]
    params = ", ".join(f"{name} = {choice.params[name]}" for name in choice.grid)
    paper = ", ".join(f"{name} = {value}" for name, value in choice.reported.items())
    return Finding(
        dict(choice.params).items() >= dict(choice.reported).items(),
        f"Tuned on the rows set aside for it, NCC-UCRL2 gets {params} where the paper has {paper}; "
        f"on the published arrays the choice gains {more.mean:+,.0f} "
        f"({more.low:+,.0f} to {more.high:+,.0f}) against the paper's.",
    )


def _bounds(done: Reproduction) -> Finding:
    above = True
    for it in done.theory:
        bounds = bounds_of(it)
        row = next(row for row in growths(it.table) if row.policy == TEXT)
        above &= all(high < bounds[t] for t, high in zip(row.horizons, row.high, strict=True))
    longest = max(done.theory[0].experiment.horizons)
    said = "stays below" if above else "exceeds"
    return Finding(
        above,
        f"The expected regret of the text's algorithm {said} the bounds of Theorems 1 and 2 (with "
        f"the constants that the proofs give) at every horizon up to {longest:,} rounds.",
    )


def _growth(done: Reproduction) -> Finding:
    parts, slopes = [], []
    for it in done.theory:
        row = next(row for row in growths(it.table) if row.policy == TEXT)
        slopes.append(row.slope_high)
        parts.append(
            f"{row.slope:.2f} ({row.slope_low:.2f} to {row.slope_high:.2f}) in "
            f"{it.experiment.id}, where the bound's is {slope_of(bounds_of(it)):.2f}"
        )
    return Finding(
        max(slopes) < 1,
        "The regret of the text's algorithm should grow less than linearly. Its slope on the "
        f"log-log plot is {'; '.join(parts)}.",
    )


def _rows(done: Reproduction) -> dict[str, Summary]:
    return {row.policy: row for row in summaries(done.published.table)}
