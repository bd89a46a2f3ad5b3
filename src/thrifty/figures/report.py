"""Reports: one HTML file each, which needs no network and no other file."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from thrifty import __version__
from thrifty.experiments.claims import Claim
from thrifty.experiments.findings import Finding, findings
from thrifty.experiments.growth import bounds_of, growths, slope_of
from thrifty.experiments.measures import summaries
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment
from thrifty.experiments.tuning import Choice, choices, worth
from thrifty.figures.drawings import drawings_of, slug
from thrifty.files import atomic_write
from thrifty.pages import captioned, note, page, table

REPORT = "report.html"
PACKAGES = ("numpy", "numba", "polars", "plotly")


def write_report(folder: Path, results: Results, command: str) -> Path:
    """Write folder/report.html of one experiment; `command` is what made it."""
    title = results.experiment.title
    body = [*_experiment(results), *_made_by(command, [results])]
    return _write(folder / REPORT, title, body)


def write_paper_report(out: Path, done: Reproduction, command: str) -> Path:
    """Write out/report.html: the paper as a whole, claim by claim and figure by figure."""
    title = "Online Learning with Costly Features in Non-stationary Environments, reproduced"
    body = [
        _links(done.all),
        "<h2>What holds up, and what does not</h2>",
        *_in_words(findings(done)),
        "<h2>The paper's claims</h2>",
        f'<div id="claims">{_claims(done.claims)}</div>',
    ]
    for results in done.all:
        body += [f'<h2 id="{slug(results.experiment.id)}">{escape(results.experiment.title)}</h2>']
        body += _choices(done) if results is done.judged else _experiment(results)
    return _write(out / REPORT, title, [*body, *_made_by(command, done.all)])


def _write(path: Path, title: str, body: Iterable[str]) -> Path:
    with atomic_write(path, make_folder=True) as draft:
        draft.write_text(page(title, body), encoding="utf-8")
    return path


def _experiment(results: Results) -> list[str]:
    """Return the table of an experiment and all its figures."""
    experiment = results.experiment
    parts = [f"<p><code>thrifty run {escape(experiment.id)}</code></p>"]
    if experiment.is_grid:
        parts.append(_chosen(choices([results])))
    elif len(experiment.horizons) > 1:
        parts.append(_growths(results))
    else:
        parts.append(_gains(results))
    for drawing in drawings_of(results):
        name = f"{slug(experiment.id)}-{drawing.name}"
        parts.append(captioned(drawing.interactive(), name, drawing.caption))
    return parts


def _links(results: Sequence[Results]) -> str:
    links = (
        f'<a href="#{slug(it.experiment.id)}">{escape(it.experiment.id)}</a>' for it in results
    )
    return f"<nav>{' '.join(links)}</nav>"


def _in_words(found: Sequence[Finding]) -> list[str]:
    parts = []
    for heading, holds in (("Holds up", True), ("Does not, or is undecided", False)):
        items = "".join(f"<li>{escape(it.words)}</li>" for it in found if it.holds == holds)
        parts.append(f"<h3>{heading}</h3>\n<ul>{items}</ul>")
    return parts


def _claims(claims: Sequence[Claim]) -> str:
    rows = [[it.claim, it.measured, it.shown(it.value), it.interval, it.verdict] for it in claims]
    headings = ("claim", "what was measured", "ours", "95 %", "verdict")
    return table(headings, rows, "words") + note(
        "NCC-UCRL2 is the authors' program here. A claim holds if all of the interval over seeds "
        "agrees with it, does not hold if none of it does, and is undecided otherwise."
    )


def _gains(results: Results) -> str:
    printed = {entry.label: entry.published for entry in results.experiment.entries}
    rows = [
        [
            row.policy,
            f"{row.gain:,.1f}",
            f"{row.low:,.0f} to {row.high:,.0f}",
            f"{row.worst:,.0f}",
            f"{row.best:,.0f}",
            f"{row.reward:,.0f}",
            f"{row.cost:,.0f}",
            f"{row.realised_regret:,.0f}",
            f"{row.wins:.0%}",
            *_printed(printed.get(row.policy, ())),
        ]
        for row in summaries(results.table)
    ]
    headings = ("policy", "gain", "95 %", "worst", "best", "reward", "cost", "regret")
    return table((*headings, "wins", "authors", "their runs"), rows) + note(
        "Gain is reward minus cost, the mean over seeds with its bootstrap interval, worst and "
        "best seed; a policy wins a seed if none but the oracle gains more. Authors: the mean of "
        "the totals that they printed, and these."
    )


def _printed(gains: Sequence[float]) -> list[str]:
    if not gains:
        return ["", ""]
    return [f"{sum(gains) / len(gains):,.1f}", "; ".join(f"{gain:,.0f}" for gain in gains)]


def _chosen(chosen: Sequence[Choice]) -> str:
    rows = [
        [
            it.policy,
            _listed({name: it.params[name] for name in it.grid}),
            _listed(it.reported),
            f"{it.gain:,.1f}",
            "" if it.runner_up is None else f"{it.runner_up:,.1f}",
            str(it.candidates),
        ]
        for it in chosen
    ]
    headings = ("policy", "chosen", "the paper's", "mean gain", "next best", "candidates")
    return table(headings, rows, "words")


def _choices(done: Reproduction) -> list[str]:
    rows = [
        [
            policy,
            f"{it.mean:+,.1f}",
            f"{it.low:+,.0f} to {it.high:+,.0f}",
            f"{it.p_value:.4f}",
        ]
        for policy, it in worth(done.chosen, done.judged).items()
    ]
    headings = ("policy", "gain with the tuned parameters minus the paper's", "95 %", "p")
    return [_chosen(done.chosen), table(headings, rows), _gains(done.judged)]


def _growths(results: Results) -> str:
    found, bounds = growths(results.table), bounds_of(results)
    rows = [
        [
            it.policy,
            *(f"{value:,.0f}" for value in it.regret),
            f"{it.slope:.2f}",
            f"{it.slope_low:.2f} to {it.slope_high:.2f}",
        ]
        for it in found
    ]
    if bounds:
        values = (f"{value:,.0f}" for value in bounds.values())
        rows.append(["bound of the theorem", *values, f"{slope_of(bounds):.2f}", ""])
    horizons = (f"T = {t:,}" for t in sorted(results.experiment.horizons))
    return table(("expected regret", *horizons, "slope", "95 %"), rows)


def _made_by(command: str, results: Sequence[Results]) -> list[str]:
    """Return everything that another person needs to make the same report."""
    return [
        "<h2>How this was made</h2>",
        f"<p>By <code>{escape(command)}</code>, with the versions below.</p>",
        _versions(),
        *(_parameters(it.experiment) for it in results),
    ]


def _parameters(experiment: Experiment) -> str:
    rounds = ", ".join(f"{t:,}" for t in experiment.horizons) or "to the end"
    rows = [
        ["world", experiment.world, _listed(experiment.world_params)],
        ["rounds", rounds, ""],
        ["seeds", in_words(sorted(experiment.seeds)), ""],
    ]
    grids = dict.fromkeys((it.policy, it.grid) for it in experiment.entries)
    for policy, grid in grids:
        entries = [it for it in experiment.entries if (it.policy, it.grid) == (policy, grid)]
        if grid:
            rows.append([f"{policy}, a grid", policy, _listed(_values(entries))])
        else:
            rows += [[it.label, it.policy, _listed(it.params)] for it in entries]
    head = f"<h3>{escape(experiment.id)}</h3>"
    return head + table(("", "", "parameters"), rows, "words")


def _values(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return every parameter of a grid: its value, or its values where there are several."""
    return {
        name: list(dict.fromkeys(it.params[name] for it in entries))
        if name in entries[0].grid
        else value
        for name, value in entries[0].params.items()
    }


def _versions() -> str:
    rows = [["thrifty", __version__], ["Python", platform.python_version()]]
    rows += [[name, version(name)] for name in PACKAGES]
    return table(("package", "version"), rows, "words")


def _listed(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in params.items())


def in_words(seeds: Sequence[int]) -> str:
    """Return seeds as a range if they are one.

    >>> in_words([0, 1, 2]), in_words([3, 7])
    ('0 to 2', '3, 7')
    """
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))
