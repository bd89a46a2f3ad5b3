"""Reports: HTML pages that work offline and need no other file."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from thrifty import __version__
from thrifty.experiments.claims import Claim
from thrifty.experiments.conclusions import Conclusion, draw_conclusions
from thrifty.experiments.growth import log_log_slope, regret_growths, theorem_bounds
from thrifty.experiments.measures import summaries
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment
from thrifty.experiments.tuning import TunedParameters, best_parameters, gains_from_tuning
from thrifty.figures.figure_list import figure_specs, slug
from thrifty.files import atomic_write
from thrifty.pages import captioned, note, page, table

REPORT = "report.html"
PACKAGES = ("numpy", "numba", "polars", "plotly")


def write_report(folder: Path, results: Results, command: str) -> Path:
    """Write FOLDER/report.html about one experiment; `command` is the command that made it."""
    title = results.experiment.title
    body = [*_experiment(results), *_provenance(command, [results])]
    return _write(folder / REPORT, title, body)


def write_paper_report(out: Path, paper: Reproduction, command: str) -> Path:
    """Write OUT/report.html about the whole paper: conclusions, claims, tables and figures."""
    title = "Online Learning with Costly Features in Non-stationary Environments: a reproduction"
    body = [
        _links(paper.all),
        "<h2>What is confirmed, and what is not</h2>",
        *_conclusions(draw_conclusions(paper)),
        "<h2>Claims of the paper</h2>",
        f'<div id="claims">{_claims(paper.claims)}</div>',
    ]
    for results in paper.all:
        body += [f'<h2 id="{slug(results.experiment.id)}">{escape(results.experiment.title)}</h2>']
        body += _tuned(paper) if results is paper.tuned else _experiment(results)
    return _write(out / REPORT, title, [*body, *_provenance(command, paper.all)])


def _write(path: Path, title: str, body: Iterable[str]) -> Path:
    with atomic_write(path, make_folder=True, sync=False) as draft:
        draft.write_text(page(title, body), encoding="utf-8")
    return path


def _experiment(results: Results) -> list[str]:
    """Return the table and all figures of an experiment."""
    experiment = results.experiment
    parts = [f"<p><code>thrifty run {escape(experiment.id)}</code></p>"]
    if experiment.is_grid:
        parts.append(_tuned_parameters(best_parameters([results])))
    elif len(experiment.horizons) > 1:
        parts.append(_growth(results))
    else:
        parts.append(_gains(results))
    for spec in figure_specs(results):
        name = f"{slug(experiment.id)}-{spec.name}"
        parts.append(captioned(spec.interactive(), name, spec.caption))
    return parts


def _links(results: Sequence[Results]) -> str:
    ids = (result.experiment.id for result in results)
    links = (f'<a href="#{slug(id_)}">{escape(id_)}</a>' for id_ in ids)
    return f"<nav>{' '.join(links)}</nav>"


def _conclusions(conclusions: Sequence[Conclusion]) -> list[str]:
    parts = []
    for heading, confirms in (("Confirmed", True), ("Not confirmed, or undecided", False)):
        items = "".join(
            f"<li>{escape(conclusion.text)}</li>"
            for conclusion in conclusions
            if conclusion.confirms == confirms
        )
        parts.append(f"<h3>{heading}</h3>\n<ul>{items}</ul>")
    return parts


def _claims(claims: Sequence[Claim]) -> str:
    rows = [
        [claim.claim, claim.measured, claim.format(claim.value), claim.interval, claim.verdict]
        for claim in claims
    ]
    headings = ("claim", "measure", "value", "95 % interval", "verdict")
    return table(headings, rows, "words") + note(
        "NCC-UCRL2 is the authors' program here. A claim holds if the whole interval over seeds "
        "agrees with it, does not hold if the whole interval contradicts it, and is undecided "
        "otherwise."
    )


def _gains(results: Results) -> str:
    published = results.experiment.published_gains
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
            *_published(published.get(row.policy, ())),
        ]
        for row in summaries(results)
    ]
    headings = ("policy", "gain", "95 % interval", "worst", "best", "reward", "cost", "regret")
    return table((*headings, "wins", "authors", "their runs"), rows) + note(
        "Gain is reward minus cost: the mean over seeds with its 95 % bootstrap interval, the "
        "worst and the best seed. Wins: share of the seeds in which no other policy except the "
        "oracle gains more. Authors: mean of the totals that they printed, and the totals."
    )


def _published(gains: Sequence[float]) -> list[str]:
    if not gains:
        return ["", ""]
    return [f"{sum(gains) / len(gains):,.1f}", "; ".join(f"{gain:,.0f}" for gain in gains)]


def _tuned_parameters(tuned: Sequence[TunedParameters]) -> str:
    rows = [
        [
            item.policy,
            _format_params(item.chosen),
            _format_params(item.reported),
            f"{item.gain:,.1f}",
            "" if item.runner_up is None else f"{item.runner_up:,.1f}",
            str(item.candidates),
        ]
        for item in tuned
    ]
    headings = ("policy", "tuned", "paper", "mean gain", "second best", "candidates")
    return table(headings, rows, "words")


def _tuned(paper: Reproduction) -> list[str]:
    rows = [
        [
            policy,
            f"{change.mean:+,.1f}",
            f"{change.low:+,.0f} to {change.high:+,.0f}",
            f"{change.p_value:.4f}",
        ]
        for policy, change in gains_from_tuning(paper.tuned).items()
    ]
    headings = ("policy", "gain with tuned parameters minus the paper's", "95 % interval", "p")
    return [_tuned_parameters(paper.tuned_parameters), table(headings, rows), _gains(paper.tuned)]


def _growth(results: Results) -> str:
    bounds = theorem_bounds(results)
    rows = [
        [
            growth.policy,
            *(f"{value:,.0f}" for value in growth.regret),
            f"{growth.slope:.2f}",
            f"{growth.slope_low:.2f} to {growth.slope_high:.2f}",
        ]
        for growth in regret_growths(results)
    ]
    if bounds:
        values = (f"{value:,.0f}" for value in bounds.values())
        rows.append(["bound of the theorem", *values, f"{log_log_slope(bounds):.2f}", ""])
    horizons = (f"T = {t:,}" for t in sorted(results.experiment.horizons))
    return table(("expected regret", *horizons, "slope", "95 % interval"), rows)


def _provenance(command: str, results: Sequence[Results]) -> list[str]:
    """Return everything that another person needs to make the same report."""
    return [
        "<h2>How this report was made</h2>",
        f"<p>With <code>{escape(command)}</code> and these versions:</p>",
        _versions(),
        *(_parameters(result.experiment) for result in results),
    ]


def _parameters(experiment: Experiment) -> str:
    rounds = ", ".join(f"{t:,}" for t in experiment.horizons) or "all"
    rows = [
        ["environment", experiment.environment, _format_params(experiment.environment_params)],
        ["rounds", rounds, ""],
        ["seeds", format_seeds(sorted(experiment.seeds)), ""],
    ]
    groups = dict.fromkeys((entry.policy, entry.grid) for entry in experiment.entries)
    for policy, grid in groups:
        entries = [
            entry for entry in experiment.entries if (entry.policy, entry.grid) == (policy, grid)
        ]
        if grid:
            rows.append([f"{policy} (grid)", policy, _format_params(_grid_values(entries))])
        else:
            rows += [[entry.label, entry.policy, _format_params(entry.params)] for entry in entries]
    heading = f"<h3>{escape(experiment.id)}</h3>"
    return heading + table(("", "name", "parameters"), rows, "words")


def _grid_values(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return all parameters of a grid: the list of values, or the one value of a fixed one."""
    return {
        name: list(dict.fromkeys(entry.params[name] for entry in entries))
        if name in entries[0].grid
        else value
        for name, value in entries[0].params.items()
    }


def _versions() -> str:
    rows = [["thrifty", __version__], ["Python", platform.python_version()]]
    rows += [[name, version(name)] for name in PACKAGES]
    return table(("package", "version"), rows, "words")


def _format_params(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in params.items())


def format_seeds(seeds: Sequence[int]) -> str:
    """Return seeds as text, as a range if possible.

    >>> format_seeds([0, 1, 2]), format_seeds([3, 7])
    ('0 to 2', '3, 7')
    """
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))
