"""`thrifty evaluate`: what a policy would gain, estimated from the log of another one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thrifty.commands.options import AsJson
from thrifty.commands.output import new_table, show, show_json
from thrifty.commands.startup_notice import notice_if_slow

if TYPE_CHECKING:
    from thrifty.evaluation.estimates import GainEstimate
    from thrifty.evaluation.evaluating import LogEvaluation
    from thrifty.evaluation.logged_cases import LoggedCases
    from thrifty.evaluation.reading import EvaluationTarget
    from thrifty.evaluation.rejection import LearningEvaluation


class Against(StrEnum):
    """What the target is compared with."""

    CURRENT = "current"


class Charged(StrEnum):
    """What the target pays."""

    LIST = "list"
    PAID = "paid"


def evaluate(
    log: Annotated[
        str,
        typer.Argument(
            help="A file written by `thrifty export`, a store, or a CSV or Parquet file with a "
            "row per case."
        ),
    ],
    target: Annotated[Path, typer.Argument(help="plan.json or policy.toml to evaluate.")],
    against: Annotated[
        Against | None,
        typer.Option(help="Also show the difference to the policy that wrote the log."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="policy.toml with [log] columns and prices (default: the target)."),
    ] = None,
    of: Annotated[
        str | None, typer.Option(help="Name of the policy in the log of a service.")
    ] = None,
    costs: Annotated[
        Charged | None,
        typer.Option(help="Charge the target list prices, or what was paid in the log."),
    ] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Evaluate a learning policy as it is.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Estimate from a log what a policy would gain per case, with 95 % intervals.

    The log may have been written by another policy, which bought other features and took other
    actions. It needs the probability of each decision. A target that learns is replayed with
    rejection; all others are evaluated by four methods. There is no answer if the log shows too
    little of what the target would do.

    Example: thrifty evaluate log.parquet plan.json --against current
    """
    from thrifty.commands.policy_files import read_table_file
    from thrifty.evaluation.reading import read_log, read_target

    file = None if policy is None else read_table_file(policy)
    with notice_if_slow():
        chosen = read_target(target, file, notify=lambda notice: typer.echo(notice, err=True))
        cases = read_log(log, chosen, of=of)
        if chosen.learns and not frozen:
            _show_learning(_learning(cases, chosen, seed), chosen, against, as_json)
        else:
            _show_fixed(_fixed(cases, chosen, costs, seed), chosen, against, as_json)


def _fixed(
    cases: LoggedCases, target: EvaluationTarget, costs: Charged | None, seed: int
) -> LogEvaluation:
    from thrifty.evaluation.evaluating import evaluate_fixed
    from thrifty.evaluation.targets import follow_plan, follow_policy

    if target.tree is not None:
        followed = follow_plan(target.tree, cases)
    else:
        followed = follow_policy(target.policy(), cases)
    source = None if costs is None else costs.value
    return evaluate_fixed(cases, followed, prices=target.problem.prices, costs=source, seed=seed)


def _learning(cases: LoggedCases, target: EvaluationTarget, seed: int) -> LearningEvaluation:
    from thrifty.evaluation.rejection import evaluate_learning

    return evaluate_learning(cases, target.policy, prices=target.problem.prices, seed=seed)


def _show_fixed(
    result: LogEvaluation, target: EvaluationTarget, against: Against | None, as_json: bool
) -> None:
    if as_json:
        show_json(result.to_dict())
        return
    rows = [
        (name, estimate, result.differences[name]) for name, estimate in result.estimates.items()
    ]
    overlap = result.overlap
    _show_table(f"{overlap.cases:,} cases{_unit(target)}", rows, result.current, against)
    typer.echo(
        f"{overlap.matching:,} cases agree with the target, worth {overlap.effective:,.0f} cases "
        f"of its own; {overlap.covered:.1%} of its decisions are covered."
    )
    typer.echo(f"The target pays {result.spend.mean:,.2f} per case, at {_PRICES[result.costs]}.")
    for text in (*result.notes, *result.warnings):
        typer.echo(f"Note: {text}.")


def _show_learning(
    result: LearningEvaluation, target: EvaluationTarget, against: Against | None, as_json: bool
) -> None:
    if as_json:
        show_json(result.to_dict())
        return
    rows = [("replay with rejection", result.estimate, result.difference)]
    _show_table(f"{len(result.logged):,} cases{_unit(target)}", rows, result.current, against)
    n = len(result.gains)
    typer.echo(
        f"The target learns: the estimate is its mean gain over the first {n:,} cases that it "
        "decides, the accepted ones. Use --frozen to evaluate it as it is."
    )
    typer.echo(f"{result.overlap.covered:.1%} of its decisions are covered.")
    if result.clipped > 0:
        typer.echo(f"Note: {result.clipped:.1%} of them should have been accepted more often.")
    for text in (*result.notes, *result.warnings):
        typer.echo(f"Note: {text}.")


_PRICES = {"list": "list prices", "paid": "the prices paid in the log"}


def _unit(target: EvaluationTarget) -> str:
    unit = target.problem.rewards.unit
    return f", amounts in {unit} per case" if unit else ""


def _show_table(
    title: str,
    rows: list[tuple[str, GainEstimate, GainEstimate]],
    current: GainEstimate,
    against: Against | None,
) -> None:
    headings = ["gain", "95% CI", *(["minus current", "95% CI"] if against else [])]
    table = new_table(["method"], headings)
    for name, estimate, difference in rows:
        cells = [*_cells(estimate), *(_cells(difference, "+") if against else ())]
        table.add_row(name, *cells)
    if against:
        table.add_row("current policy", *_cells(current), "", "")
    show(title, table)


def _cells(estimate: GainEstimate, sign: str = "") -> tuple[Any, ...]:
    ends = f"{estimate.low:{sign},.2f} to {estimate.high:{sign},.2f}"
    return f"{estimate.mean:{sign},.2f}", ends
