"""`thrifty tune`: choose parameters in one environment, and evaluate them in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.execution import Session, open_session, run_with_progress, with_seeds
from thrifty.commands.options import AsJson, ClusterAddress, Fresh, Out, Seeds, Workers
from thrifty.commands.output import show, show_json
from thrifty.commands.tables import choices_table, gains_table, tuning_table
from thrifty.experiments.grid_tuning import FOLDER, catalogue_lines, choose, tuning_experiments
from thrifty.experiments.measures import summaries
from thrifty.experiments.reproduction import GRIDS
from thrifty.experiments.selection import with_policies
from thrifty.experiments.spec import find, find_all, is_folder, parse_seeds
from thrifty.experiments.tuning import (
    best_parameters,
    gains_from_tuning,
    require_grid,
    require_other_environment,
    tuned_experiment,
)
from thrifty.files import atomic_write

CHOSEN = "chosen.toml"
LIST = "tuned"
"""Name of the list of policies in the file."""


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
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Folders: only this policy, by name or label; FILE.py:Class adds one of your own. "
            "May be given several times."
        ),
    ] = None,
) -> None:
    """Find the best parameters of each policy, and evaluate them on other data.

    For a folder of the catalogue, such as worlds, the grids that policies declare are tried in all
    worlds together, on seeds that the worlds reserve for choosing. The chosen parameters are
    printed, and written to OUT/tuning/FOLDER/chosen.toml in the form of policies.toml.

    Example: thrifty tune nursery/tuning --on nursery/published
    """
    if names and len(names) == 1 and is_folder(names[0]):
        with open_session(workers, out, fresh=fresh, cluster=cluster) as session:
            _tune_folder(names[0], policy or (), seeds, session, as_json=as_json)
        return
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


def _tune_folder(
    name: str, policies: Sequence[str], seeds: str | None, session: Session, *, as_json: bool
) -> None:
    experiments = with_policies(find_all(name), policies)
    grids = tuning_experiments(experiments, None if seeds is None else parse_seeds(seeds))
    choices = choose(experiments, run_with_progress(grids, session))
    lines = catalogue_lines(choices, LIST)
    path = session.cache.out / FOLDER / name.rstrip("/") / CHOSEN
    with atomic_write(path, make_folder=True) as draft:
        draft.write_text(lines, encoding="utf-8")
    if as_json:
        show_json([asdict(choice) for choice in choices])
        return
    show("Chosen parameters (score: interquartile mean over all runs)", choices_table(choices))
    typer.echo(f"In the form of policies.toml: {path}\n\n{lines}")
