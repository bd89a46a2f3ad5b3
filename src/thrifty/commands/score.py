"""`thrifty score`: how a plan does on cases with known outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thrifty.commands.options import AsJson
from thrifty.commands.output import new_table, show, show_json

if TYPE_CHECKING:
    from thrifty.plan import Plan, PlanScore


def score(
    plan: Annotated[Path, typer.Argument(help="A plan.json, as `thrifty worth` writes it.")],
    cases: Annotated[Path, typer.Argument(help="Cases with outcomes: a CSV or Parquet file.")],
    target: Annotated[
        str | None,
        typer.Option(help="Column with the outcome of each case (default: the plan's)."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "--prices", help="policy.toml with other prices."),
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="CSV encoding (default: UTF-8).")] = None,
    separator: Annotated[
        str | None, typer.Option(help="CSV separator (default: detected).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score a plan: its gain, spend and reward per case on cases with known outcomes.

    In each case only what the plan buys there is used and paid for, at the list prices of the
    plan. Use cases that the plan was not learnt from.

    Example: thrifty score worth/plan.json new-cases.csv
    """
    from thrifty.commands.policy_files import read_table_file
    from thrifty.plan import Plan

    loaded = Plan.load(plan)
    file = read_table_file(policy).with_table(encoding=encoding, separator=separator)
    result = loaded.score(cases, target=target, prices=file)
    for note in result.notes:
        typer.echo(f"Note: {note}", err=as_json)
    if as_json:
        show_json(result.to_dict())
    else:
        _show(loaded, result)


def _show(plan: Plan, result: PlanScore) -> None:
    from thrifty.plan import mean_interval
    from thrifty.plans.printing import format_amount

    table = new_table([""], ["per case", "95% CI"])
    for name, values in (
        ("gain", result.gains),
        ("spend", result.costs),
        ("reward", result.rewards),
    ):
        low, high = (format_amount(plan.tree, end) for end in mean_interval(values))
        table.add_row(name, format_amount(plan.tree, float(values.mean())), f"{low} to {high}")
    unit = plan.problem.rewards.unit
    show(f"{result.cases:,} cases" + (f", amounts in {unit}" if unit else ""), table)
