"""`thrifty tune`: the best parameters of a grid, and what they are worth elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from thrifty.commands.show import (
    AsJson,
    Fresh,
    OnCluster,
    Out,
    Seeds,
    Workers,
    gains_table,
    new_table,
    run_shown,
    show,
    show_json,
    with_seeds,
    working,
)
from thrifty.errors import InvalidParameter
from thrifty.experiments.measures import Difference, summaries
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Experiment, find
from thrifty.experiments.tuning import Choice, choices, evaluation, require_grid, worth

GRIDS = ("nursery/tuning", "nursery/tuning-stationary")


def tune(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments with lists for parameters; by default the paper's."),
    ] = None,
    on: Annotated[
        str, typer.Option(help="The experiment on which to judge the choice.")
    ] = "nursery/published",
    seeds: Seeds = None,
    workers: Workers = None,
    cluster: OnCluster = None,
    out: Out = Path("results"),
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Choose each policy's parameters by mean gain, then play them on data not used for it.

    Example: thrifty tune nursery/tuning --on nursery/published
    """
    grids = [with_seeds(find(name), seeds) for name in names or GRIDS]
    evaluated = find(on)
    for grid in grids:
        require_grid(grid)
        _require_other_data(grid, evaluated)
    with working(workers, out, fresh=fresh, cluster=cluster) as work:
        chosen = choices(run_shown(grids, work))
        (judged,) = run_shown([evaluation(chosen, evaluated)], work)
    if as_json:
        plain = {
            "chosen": [asdict(it) for it in chosen],
            "evaluated": [asdict(row) for row in summaries(judged.table)],
            "worth": {policy: asdict(it) for policy, it in worth(chosen, judged).items()},
        }
        show_json(plain)
        return
    show("Parameters chosen, and what they gain elsewhere", choices_table(chosen, judged))
    show(judged.experiment.title, gains_table(summaries(judged.table), {}))


def _require_other_data(grid: Experiment, evaluated: Experiment) -> None:
    if grid.world == evaluated.world:
        raise InvalidParameter(
            f"{grid.id} and {evaluated.id} play the same world, {grid.world}: parameters must be "
            "judged on data that they were not chosen on, so give --on another one."
        )


def choices_table(chosen: Sequence[Choice], judged: Results | None = None) -> Table:
    """Return the table of choices beside the paper's, and what they gain over the latter."""
    differences = {} if judged is None else worth(chosen, judged)
    numbers = ("gain", "next", "of", *(["gain more", "95 %"] if judged else []))
    table = new_table(["policy", "chosen", "paper"], numbers)
    for it in chosen:
        second = "" if it.runner_up is None else f"{it.runner_up:.1f}"
        table.add_row(
            it.policy,
            _listed({name: it.params[name] for name in it.grid}),
            _listed(it.reported),
            f"{it.gain:.1f}",
            second,
            str(it.candidates),
            *(_more(differences.get(it.policy)) if judged else ()),
        )
    return table


def _more(it: Difference | None) -> tuple[str, str]:
    return ("", "") if it is None else (f"{it.mean:+.1f}", f"{it.low:+.0f} .. {it.high:+.0f}")


def _listed(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in params.items())
