"""`thrifty run`: run an experiment of the catalogue or of a file, or a folder of the catalogue."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.commands.execution import (
    open_session,
    run_in_groups,
    run_with_progress,
    with_seeds,
)
from thrifty.commands.markets import is_markets, run_market_benchmark
from thrifty.commands.options import AsJson, ClusterAddress, Fresh, Out, Seeds, Workers
from thrifty.commands.output import show, show_json
from thrifty.commands.priced import is_priced, run_benchmark
from thrifty.commands.ranking_tables import show_decisions, show_ranking
from thrifty.commands.regret_tables import regrets_as_dict, show_regrets
from thrifty.commands.tables import claims_table, results_table
from thrifty.errors import InvalidParameter
from thrifty.experiments.claims import check_targets
from thrifty.experiments.comparison import require_single_regret
from thrifty.experiments.export import write_runs
from thrifty.experiments.growth import regret_growths
from thrifty.experiments.measures import summaries
from thrifty.experiments.priced_tables import VARIABLE
from thrifty.experiments.ranking import rank
from thrifty.experiments.results import TABLE, Results
from thrifty.experiments.scores import scores_of
from thrifty.experiments.selection import with_policies
from thrifty.experiments.spec import find_all
from thrifty.experiments.until_clear import PairDecisions

BENCHMARK = "benchmark"
"""Name of the complete benchmark of policies."""
PARTS = ("worlds", "markets")


def run(
    name: Annotated[
        str,
        typer.Argument(help="Id from `thrifty list`, folder of the catalogue, or TOML file."),
    ],
    seeds: Seeds = None,
    choosing: Annotated[
        bool, typer.Option("--choosing", help="Use the seeds reserved for choosing constants.")
    ] = False,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    out: Out = Path("results"),
    fresh: Fresh = False,
    as_json: AsJson = False,
    data: Annotated[
        Path | None,
        typer.Option(envvar=VARIABLE, help="priced: folder with the tables (NAME.csv, NAME.json)."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="priced: add the methods of FILE.py, or one of them, FILE.py:Class."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this policy, by name or label; FILE.py:Class adds one of your own to the "
            "others. May be given several times."
        ),
    ] = None,
    until_clear: Annotated[
        bool,
        typer.Option(
            "--until-clear",
            help="Play seeds in groups of five, and stop when it is clear which policies are "
            "better (family-wise error 5 %); policies whose pairs are all clear stop earlier.",
        ),
    ] = False,
) -> None:
    """Run an experiment and print the total gain of each policy.

    Finished runs are reused, so an interrupted experiment continues where it stopped. All measures
    are written to OUT/ID/table.parquet. For a grid, the best parameters are printed; for several
    horizons, the growth of regret. A folder such as worlds runs all its experiments, prints tables
    of regrets and a ranking, and writes OUT/worlds/runs.parquet. priced is the benchmark of plans
    on real tables with prices; its seeds are the numbers of the splits. markets is the benchmark of
    policies on made-up markets whose best gain is known. benchmark is worlds, and then markets.

    Example: thrifty run nursery/window --seeds 0:20
    """
    if until_clear and (is_priced(name) or is_markets(name)):
        raise InvalidParameter(
            f"--until-clear is for experiments, but {name} is another benchmark: leave it out."
        )
    if name == BENCHMARK:
        _require_complete(seeds=seeds is not None, until_clear=until_clear, as_json=as_json)
        common: dict[str, Any] = {"choosing": choosing, "workers": workers, "cluster": cluster}
        for part in PARTS:
            run(part, out=out, fresh=fresh, policy=policy, **common)
        return
    if is_priced(name):
        with open_session(workers, out, fresh=fresh, cluster=cluster) as session:
            run_benchmark(
                name,
                data=data,
                methods=method or (),
                splits=seeds,
                session=session,
                fresh=fresh,
                as_json=as_json,
            )
        return
    if is_markets(name):
        with open_session(workers, out, fresh=fresh, cluster=cluster) as session:
            run_market_benchmark(
                name,
                policies=policy or (),
                seeds=seeds,
                choosing=choosing,
                session=session,
                fresh=fresh,
                as_json=as_json,
            )
        return
    experiments = [
        with_seeds(experiment, seeds, choosing=choosing)
        for experiment in with_policies(find_all(name), policy or ())
    ]
    if len(experiments) > 1:
        require_single_regret(experiments)
    with open_session(workers, out, fresh=fresh, cluster=cluster) as session:
        if until_clear:
            results, decisions = run_in_groups(experiments, session)
        else:
            results, decisions = run_with_progress(experiments, session), None
    if len(results) > 1:
        _show_folder(results, out, decisions, as_json=as_json)
    elif as_json:
        show_json(_as_list(results[0]))
    else:
        _show_experiment(results[0], out)
        show_decisions(decisions)


def _require_complete(**given: bool) -> None:
    """Refuse options that mean something else for worlds than for markets."""
    for option, is_given in given.items():
        if is_given:
            parts = " and ".join(PARTS)
            raise InvalidParameter(
                f"--{option.removeprefix('as_').replace('_', '-')} is not for {BENCHMARK}, which "
                f"is {parts}: leave it out, or run the two one after the other."
            )


def _show_experiment(results: Results, out: Path) -> None:
    show(results.experiment.title, results_table(results))
    targets = check_targets(results)
    if targets:
        show("Targets of the experiment", claims_table(targets))
    typer.echo(f"All measures by block of rounds: {out / results.experiment.id / TABLE}")


def _show_folder(
    results: list[Results], out: Path, decisions: PairDecisions | None, *, as_json: bool
) -> None:
    folder = out / Path(results[0].experiment.id).parent
    runs = write_runs(results, folder)
    ranking = rank(scores_of(results))
    if as_json:
        found = {**regrets_as_dict(results), "ranking": [asdict(row) for row in ranking]}
        show_json(found if decisions is None else {**found, "comparisons": asdict(decisions)})
        return
    show_regrets(results)
    typer.echo()
    show_ranking(ranking)
    show_decisions(decisions)
    typer.echo(f"All runs, with what is needed to compute the ranking again: {runs}")
    typer.echo(f"All measures by block of rounds: {folder / '*' / TABLE}")


def _as_list(results: Results) -> list[dict[str, Any]]:
    if len(results.experiment.horizons) > 1:
        return [asdict(growth) for growth in regret_growths(results)]
    return [asdict(row) for row in summaries(results)]
