"""`thrifty tune`: choose parameters in one environment, and evaluate them in another."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.execution import open_session, run_with_progress, with_seeds
from thrifty.commands.options import AsJson, ClusterAddress, Fresh, Out, Seeds, Workers
from thrifty.commands.output import show, show_json
from thrifty.commands.tables import gains_table, tuning_table
from thrifty.experiments.measures import summaries
from thrifty.experiments.reproduction import GRIDS
from thrifty.experiments.spec import find
from thrifty.experiments.tuning import (
    best_parameters,
    gains_from_tuning,
    require_grid,
    require_other_environment,
    tuned_experiment,
)


def tune(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments with a grid of parameters (default: the paper's)."),
    ] = None,
    on: Annotated[
        str, typer.Option(help="Experiment to evaluate the tuned parameters in.")
    ] = "nursery/published",
    seeds: Seeds = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    out: Out = Path("results"),
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Find the best parameters of each policy, and evaluate them on other data.

    Example: thrifty tune nursery/tuning --on nursery/published
    """
    grids = [with_seeds(find(name), seeds) for name in names or GRIDS]
    base = find(on)
    for grid in grids:
        require_grid(grid)
        require_other_environment(grid, base)
    with open_session(workers, out, fresh=fresh, cluster=cluster) as session:
        tuned = best_parameters(run_with_progress(grids, session))
        (evaluated,) = run_with_progress([tuned_experiment(tuned, base)], session)
    if as_json:
        changes = gains_from_tuning(evaluated)
        show_json(
            {
                "chosen": [asdict(item) for item in tuned],
                "evaluated": [asdict(row) for row in summaries(evaluated)],
                "worth": {policy: asdict(change) for policy, change in changes.items()},
            }
        )
        return
    show("Tuned parameters, and their change in gain on other data", tuning_table(tuned, evaluated))
    show(evaluated.experiment.title, gains_table(evaluated))
