"""`thrifty worth`: which features of a table are worth their price."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thrifty.commands.options import AsJson
from thrifty.commands.output import new_table, share_bar, show, show_json

if TYPE_CHECKING:
    from thrifty.tables import Cases
    from thrifty.worth.backtest import Backtest
    from thrifty.worth.evaluation import Evaluation


def worth(
    cases: Annotated[Path, typer.Argument(help="Past cases: a CSV or Parquet file.")],
    target: Annotated[
        str | None, typer.Option(help="Column with the outcome of each case.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy", "--prices", help="policy.toml with prices; `thrifty init` writes one."
        ),
    ] = None,
    rewards: Annotated[
        Path | None,
        typer.Option(help="TOML file with rewards, if policy.toml has none."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column to order cases by (default: shuffle them).")
    ] = None,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="Keep the order of the rows in the file.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for the report; an earlier report in it is replaced.")
    ] = Path("worth"),
    history: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="In the backtest Surveyor learns from the first N cases first (default: a fifth "
            "of them).",
        ),
    ] = None,
    no_replay: Annotated[
        bool, typer.Option("--no-replay", help="Leave out the backtest of learning policies.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    encoding: Annotated[str | None, typer.Option(help="CSV encoding (default: UTF-8).")] = None,
    separator: Annotated[
        str | None, typer.Option(help="CSV separator (default: detected).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide what to buy: give past cases and prices, get a verdict and an HTML report.

    Writes worth.html, worth.json, policy.toml and plan.json to OUT, and history.parquet, the cases
    that policy.toml learns from. After Ctrl-C the finished parts are written.

    Example: thrifty worth cases.csv --policy policy.toml
    """
    from thrifty.commands.policy_files import read_table_file
    from thrifty.tables import read_cases
    from thrifty.worth import files

    inputs = (cases, policy, rewards)
    files.require_report_folder(out, [path for path in inputs if path is not None])
    file = read_table_file(policy, rewards).with_table(
        target=target, time=time, encoding=encoding, separator=separator
    )
    coded = read_cases(cases, file, in_order=in_order, seed=seed)
    if not as_json:
        _show_columns(coded)
    evaluation = _evaluate(coded, seed, history, replay=not no_replay)
    command = shlex.join(["thrifty", *sys.argv[1:]])
    replaces_report = files.has_report(out)
    paths = files.write_report(evaluation, out, name=cases.name, command=command)
    if as_json:
        show_json(files.as_json(evaluation, command))
    else:
        _show_evaluation(evaluation)
        if replaces_report:
            typer.echo(f"Replaced the earlier report in {out}/.")
        typer.echo(f"Report: {paths[1]}. Numbers: {paths[0]}. {_next_step(evaluation, paths[2])}")
    if evaluation.missing:
        typer.echo(
            f"Stopped. The report has what was finished. Missing: {', '.join(evaluation.missing)}.",
            err=True,
        )
        raise typer.Exit(130)


def _evaluate(cases: Cases, seed: int, history: int | None, *, replay: bool) -> Evaluation:
    """Evaluate the cases; after an interrupt, return the parts that are finished."""
    from thrifty.worth.evaluation import evaluate_in_steps

    evaluation = None
    try:
        with share_bar() as on_progress:
            for evaluation in evaluate_in_steps(  # noqa: B007
                cases, seed=seed, history=history, replay=replay, on_progress=on_progress
            ):
                pass
    except (KeyboardInterrupt, SystemError) as error:
        if not _is_interrupt(error):
            raise
        if evaluation is None:
            typer.echo("Stopped before the first result; nothing was written.", err=True)
            raise typer.Exit(130) from None
    assert evaluation is not None
    return evaluation


def _is_interrupt(error: BaseException | None) -> bool:
    """Return True for Ctrl-C, also if it came while a compiled function returned its result.

    Python then reports a SystemError, or several, that come from the KeyboardInterrupt.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _next_step(evaluation: Evaluation, policy: Path) -> str:
    if evaluation.keeps_policy and evaluation.is_learning_worse:
        return "policy.toml serves the policy that you asked for; read the warning first."
    return f"Live decisions: thrifty serve {policy}"


def _show_columns(coded: Cases) -> None:
    from thrifty.worth.money import MoneyFormat, display_name

    money = MoneyFormat.for_cases(coded)
    table = new_table(["column"], ["price"])
    table.add_column("type", overflow="fold")
    for feature, mean_price in zip(coded.features, coded.mean_prices.tolist(), strict=True):
        price = "free" if feature.free else money.amount(mean_price)
        is_bundle = len(feature.parts) > 1
        # The price of a bundle is shown once: next to each column it would look like a sum.
        if is_bundle:
            bundle = f"bundle of {len(feature.parts)} columns"
            table.add_row(display_name(feature.name, 40), price, bundle)
        for part in feature.parts:
            table.add_row(
                ("  " if is_bundle else "") + display_name(part.name, 40),
                "" if is_bundle else price,
                display_name(part.description, 200),
            )
    show(f"{coded.n_cases:,} cases, {coded.order}", table)
    for note in coded.notes:
        typer.echo(display_name(note, 400))
    if coded.notes:
        typer.echo()


def _show_evaluation(evaluation: Evaluation) -> None:
    from thrifty.worth.verdict import findings, input_warnings, plan_lines, warnings

    # The verdict comes last: that is what a reader sees without scrolling back.
    if evaluation.backtest is not None:
        _show_backtest(evaluation, evaluation.backtest)
    for line in input_warnings(evaluation.cases):
        typer.echo(f"Warning: {line}")
    first, *rest = findings(evaluation)
    typer.echo(f"{first}\n")
    plan = plan_lines(evaluation)
    if plan:
        typer.echo("\n".join(plan) + "\n")
    _show_worths(evaluation)
    for line in (*rest, *warnings(evaluation)):
        typer.echo(line)
    typer.echo()


def _show_worths(evaluation: Evaluation) -> None:
    from thrifty.worth.money import MoneyFormat, display_name
    from thrifty.worth.verdict import worth_interval, worth_text

    if not evaluation.worths:
        return
    money = MoneyFormat.for_cases(evaluation.cases)
    table = new_table(["feature", ""], ["price", "worth up to", "95% CI"])
    names = evaluation.look_names([worth.look for worth in evaluation.worths])
    for name, worth in zip(names, evaluation.worths, strict=True):
        table.add_row(
            display_name(name, 40),
            "buy" if worth.look in evaluation.recommended_tree.used else "",
            money.amount(worth.price),
            worth_text(worth, money),
            worth_interval(worth, money),
        )
    show("What each feature is worth, per case", table)


def _show_backtest(evaluation: Evaluation, backtest: Backtest) -> None:
    from thrifty.worth.money import MoneyFormat
    from thrifty.worth.verdict import BACKTEST_NOTE, strategy_lines

    money = MoneyFormat.for_cases(evaluation.cases)
    headings = ["gain per case", "95% CI", "spend", "reward", "total gain"]
    table = new_table(["strategy"], headings)
    for result in backtest.results:
        gain = result.gain_per_case()
        table.add_row(
            result.strategy,
            money.amount(gain.mean),
            money.interval(gain),
            money.amount(float(result.costs.mean())),
            money.amount(float(result.rewards.mean())),
            money.total(float(result.gains.sum())),
        )
    show(f"Backtest on {backtest.cases.n_cases:,} cases", table)
    for line in (*strategy_lines(backtest), BACKTEST_NOTE):
        typer.echo(line)
    typer.echo()
