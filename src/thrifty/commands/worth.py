"""`thrifty worth`: which features of one's own table are worth their price."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from thrifty.commands.options import AsJson
from thrifty.commands.output import new_table, show, show_json

if TYPE_CHECKING:
    from thrifty.tables import Cases
    from thrifty.worth.answer import Answer

_WORKING = (
    "Comparing sets and replaying the stream (the first time also compiling, a minute or two)"
)


def worth(
    cases: Annotated[Path, typer.Argument(help="Past cases: a CSV or Parquet file.")],
    target: Annotated[
        str | None, typer.Option(help="The column that holds the outcome of each case.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy", "--prices", help="policy.toml with prices; `thrifty init` writes one."
        ),
    ] = None,
    rewards: Annotated[
        Path | None,
        typer.Option(help="TOML file of rewards, if policy.toml has none."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="The column to order cases by; without it they are shuffled.")
    ] = None,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="The rows of the file are in the order of time.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("worth"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    encoding: Annotated[str | None, typer.Option(help="CSV encoding (default: UTF-8).")] = None,
    separator: Annotated[
        str | None, typer.Option(help="CSV separator (default: detected).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which features are worth their price, and what a learning policy would have kept.

    Writes to OUT: worth.html (a page to show), worth.json (all numbers), policy.toml and
    agent.npz (a policy that has learnt from these cases, for live decisions).

    Example: thrifty worth cases.csv --policy policy.toml
    """
    from thrifty.commands.policy_files import read_table_file
    from thrifty.tables import cases_of
    from thrifty.worth.answer import answer_of
    from thrifty.worth.files import as_json as content_of
    from thrifty.worth.files import write_answer

    file = read_table_file(policy, rewards).with_table(
        target=target, time=time, encoding=encoding, separator=separator
    )
    coded = cases_of(cases, file, in_order=in_order, seed=seed)
    if not as_json:
        _show_columns(coded)
    with Console(stderr=True).status(_WORKING):
        answer = answer_of(coded, seed=seed)
    command = shlex.join(["thrifty", *sys.argv[1:]])
    files = write_answer(answer, out, name=cases.name, command=command)
    if as_json:
        show_json(content_of(answer, command))
        return
    _show_answer(answer)
    typer.echo(f"The page: {files[1]}. All numbers: {files[0]}. To learn live: {files[2]}.")


def _show_columns(coded: Cases) -> None:
    from thrifty.worth.verdict import Money, printable

    money = Money.of(coded)
    table = new_table(["column"], ["price"])
    table.add_column("coding", overflow="fold")
    for feature, price in zip(coded.features, coded.mean_prices.tolist(), strict=True):
        bundle = "" if len(feature.parts) == 1 else f" (in {printable(feature.name, 20)})"
        for part in feature.parts:
            paid = "free" if feature.free else money.bare(price)
            table.add_row(printable(part.name, 40) + bundle, paid, printable(part.said, 200))
    show(f"{coded.number:,} cases, {coded.order}", table)
    for words in coded.said:
        typer.echo(printable(words, 400))
    if coded.said:
        typer.echo()


def _show_answer(answer: Answer) -> None:
    from thrifty.worth.verdict import Money, printable, verdict

    money = Money.of(answer.cases)
    worths = new_table(["feature", ""], ["price", "worth up to", "95 %"])
    for it in answer.worths:
        worths.add_row(
            printable(answer.cases.names[it.feature], 40),
            "buy" if it.feature in answer.best else "",
            money.bare(it.price),
            money.bare(it.break_even),
            money.interval(it.estimate),
        )
    show("What each feature is worth, a case", worths)
    played = new_table(["policy"], ["gain a case", "95 %", "spend", "reward", "total gain"])
    for policy in answer.stream.played:
        gain = policy.per_case()
        played.add_row(
            policy.policy,
            money.bare(gain.mean),
            money.interval(gain),
            money.bare(float(policy.costs.mean())),
            money.bare(float(policy.rewards.mean())),
            money.total(gain.mean * answer.stream.cases.number),
        )
    show(f"The stream replayed, {answer.stream.cases.number:,} cases", played)
    for words in verdict(answer):
        typer.echo(words)
    typer.echo()
