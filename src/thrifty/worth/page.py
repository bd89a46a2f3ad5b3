"""worth.html: the report on one page that works without a network."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from html import escape
from importlib.metadata import version

from thrifty._version import __version__
from thrifty.pages import captioned, cell, note, page, table_of_cells
from thrifty.plans.picture import PICTURE_CSS, plan_picture
from thrifty.worth.backtest import Backtest
from thrifty.worth.evaluation import Evaluation
from thrifty.worth.figures import (
    backtest_figure,
    price_curve_figure,
    price_figure,
    worth_figure,
)
from thrifty.worth.money import MoneyFormat, display_name
from thrifty.worth.verdict import (
    BACKTEST_NOTE,
    explain_worth,
    findings,
    input_warnings,
    method_lines,
    strategy_lines,
    warnings,
    worth_interval,
    worth_text,
)

_CSS = """
#verdict { font-size: 1.25rem; line-height: 1.5; }
#verdict p:first-child { font-weight: 600; }
.warnings p { border-left: 4px solid #E69F00; padding-left: .8rem; }
bdi, p, code, li { overflow-wrap: anywhere; }
td:first-child { min-width: 7rem; }
td bdi { display: inline-block; min-width: 7rem; max-width: 22rem; }
td:has(bdi) { white-space: normal; text-align: left; }
td.text { white-space: normal; text-align: left; min-width: 13rem; overflow-wrap: anywhere; }
th:last-child { text-align: left; }
td.bought { color: #117733; font-weight: 600; }
@media (max-width: 500px) { body { margin: 1rem auto; } h1 { font-size: 1.5rem; }
  th, td { padding: .25rem .4rem; } #verdict { font-size: 1.1rem; } }
"""


def html_report(evaluation: Evaluation, name: str, command: str) -> str:
    """Return the HTML report; everything from the user's files is escaped."""
    money = MoneyFormat.for_cases(evaluation.cases)
    headline, *details = findings(evaluation)
    packages = ("numpy", "numba", "polars", "plotly")
    body = [
        note(_task(evaluation, money)),
        f'<div class="warnings">{_paragraphs(input_warnings(evaluation.cases))}</div>',
        f'<div id="verdict">{_paragraphs([headline])}</div>',
        *_plan_section(evaluation, money),
        f'<div class="warnings">{_paragraphs(warnings(evaluation))}</div>',
        _paragraphs(details),
        *_worth_section(evaluation, money),
        *_price_curve_section(evaluation, money),
        *_backtest_section(evaluation.backtest, money),
        "<h2>Columns</h2>",
        _columns_table(evaluation, money),
        _bullets(evaluation.cases.notes),
        "<h2>Actions and rewards</h2>",
        _rewards_table(evaluation, money),
        "<h2>Method</h2>",
        _bullets(method_lines(evaluation)),
        f"<p><code>{escape(command)}</code></p>",
        note(
            f"thrifty {__version__}, Python {platform.python_version()}, "
            + ", ".join(f"{package} {version(package)}" for package in packages)
        ),
    ]
    return page(f"What is worth its price: {display_name(name)}", body, _CSS + PICTURE_CSS)


def _task(evaluation: Evaluation, money: MoneyFormat) -> str:
    """Return the target, the actions and their rewards in a line."""
    cases = evaluation.cases
    if not cases.rewards.is_custom:
        return f"Target: {display_name(cases.target)}. A correct prediction of it earns 1."
    actions = "; ".join(
        f"{display_name(action)}: {_rewards_text(row, money)}"
        for action, row in cases.rewards.by_action.items()
    )
    currency = f" in {display_name(money.currency)}" if money.currency else ""
    return f"Target: {display_name(cases.target)}. Rewards{currency} by action: {actions}."


def _rewards_text(row: Mapping[str, float], money: MoneyFormat) -> str:
    if len(set(row.values())) == 1:
        return money.amount(next(iter(row.values())))
    return ", ".join(
        f"{money.amount(reward)} if {display_name(outcome)}" for outcome, reward in row.items()
    )


def _paragraphs(lines: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(line)}</p>" for line in lines)


def _bullets(lines: Iterable[str]) -> str:
    items = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>\n{items}\n</ul>" if items else ""


def _name_cell(text: str) -> str:
    """Return a cell for a name from the user's file.

    `bdi` keeps right-to-left characters in the name from reordering the text around it.
    """
    return f"<td><bdi>{escape(text)}</bdi></td>"


def _plan_section(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    if evaluation.recommended != "plan":
        return []
    cases = evaluation.learnt.bank.cases
    return [
        plan_picture(
            evaluation.learnt.plan,
            currency=money.currency,
            codes=cases.codes,
            caption="The plan: what to buy, how to go on depending on what was seen, and what to "
            "do at the end. Thicker lines lead to more cases.",
        )
    ]


def _worth_section(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    names = evaluation.look_names([worth.look for worth in evaluation.worths])
    used = evaluation.recommended_tree.used
    rows = [
        [
            _name_cell(name),
            cell("buy", "bought") if worth.look in used else cell("do not buy"),
            cell(money.amount(worth.price)),
            cell(worth_text(worth, money)),
            cell(worth_interval(worth, money)),
            cell(_capitalised(explain_worth(evaluation, worth, money)), "text"),
        ]
        for worth, name in zip(evaluation.worths, names, strict=True)
    ]
    headings = ("feature", "", "price", "worth up to", "95% CI", "explanation")
    return [
        "<h2>What each feature is worth</h2>",
        captioned(
            worth_figure(evaluation, money),
            "worth-of-features",
            "Bars: the highest price at which a feature is worth buying, if all others can be "
            "bought at their prices. Orange marks: the actual prices. The error bars are "
            "95% confidence intervals.",
        ),
        table_of_cells(headings, rows),
    ]


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _price_curve_section(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    rows = [
        [
            cell(f"{point.factor:g}"),
            cell(money.amount(point.plan)),
            cell(money.amount(point.fixed)),
            cell(money.amount(point.nothing)),
        ]
        for point in evaluation.price_curve
    ]
    headings = ("prices multiplied by", "plan", "best fixed set", "nothing")
    return [
        "<h2>Other prices</h2>",
        captioned(
            price_curve_figure(evaluation, money),
            "price-curve",
            "Gain per case if all prices are multiplied by a factor.",
        ),
        table_of_cells(headings, rows),
    ]


def _backtest_section(backtest: Backtest | None, money: MoneyFormat) -> list[str]:
    if backtest is None:
        return []
    return [
        "<h2>Backtest</h2>",
        captioned(
            backtest_figure(backtest, money),
            "stream",
            "Cumulative gain compared with buying nothing. Below: when Scout restarted and when "
            "prices changed. Strategies far below the others are hidden; click their name in the "
            "legend to show them.",
        ),
        _backtest_table(backtest, money),
        *_price_section(backtest, money),
    ]


def _backtest_table(backtest: Backtest, money: MoneyFormat) -> str:
    rows = []
    for result in backtest.results:
        gain = result.gain_per_case()
        rows.append(
            [
                cell(result.strategy),
                cell(money.amount(gain.mean)),
                cell(money.interval(gain)),
                cell(money.amount(float(result.costs.mean()))),
                cell(money.amount(float(result.rewards.mean()))),
                cell(money.total(float(result.gains.sum()))),
                cell(money.total(float(result.costs.sum()))),
                cell(money.total(float(result.rewards.sum()))),
            ]
        )
    headings = ("strategy", "gain per case", "95% CI", "spend", "reward")
    totals = ("total gain", "total spend", "total reward")
    thinned = f" Every {backtest.every}th case is used." if backtest.every > 1 else ""
    explanation = (
        f"{backtest.cases.n_cases:,} cases, {backtest.cases.order}.{thinned} "
        f"The intervals allow for correlation between neighbouring cases. {BACKTEST_NOTE}"
    )
    strategies = _bullets(strategy_lines(backtest))
    return table_of_cells((*headings, *totals), rows) + note(explanation) + strategies


def _price_section(backtest: Backtest, money: MoneyFormat) -> list[str]:
    if not backtest.cases.varying_prices:
        return []
    rows = [
        [
            cell(f"{change.case + 1:,}"),
            _name_cell(change.feature),
            cell(money.amount(change.before)),
            cell(money.amount(change.after)),
        ]
        for change in backtest.price_changes
    ]
    figure = captioned(
        price_figure(backtest, money),
        "prices",
        "Prices that differ from case to case, averaged over neighbouring cases.",
    )
    return [
        figure,
        table_of_cells(("from case", "feature", "before", "after"), rows) if rows else "",
    ]


def _columns_table(evaluation: Evaluation, money: MoneyFormat) -> str:
    rows = []
    for feature, price in zip(evaluation.cases.features, evaluation.cases.mean_prices, strict=True):
        price_text = "free" if feature.free else money.amount(float(price))
        is_bundle = len(feature.parts) > 1
        if is_bundle:
            bundle = f"bundle of {len(feature.parts)} columns"
            rows.append([_name_cell(feature.name), cell(price_text), cell(bundle), cell("")])
        for part in feature.parts:
            levels = ", ".join(display_name(level, 40) for level in part.levels)
            rows.append(
                [
                    _name_cell(part.name),
                    _name_cell(f"in {feature.name}" if is_bundle else price_text),
                    cell(part.description, "text"),
                    cell(display_name(levels, 300), "text"),
                ]
            )
    return table_of_cells(("column", "price", "type", "levels"), rows, "words")


def _rewards_table(evaluation: Evaluation, money: MoneyFormat) -> str:
    rewards = evaluation.cases.rewards
    rows = [
        [_name_cell(action), *(cell(money.amount(reward)) for reward in row)]
        for action, row in zip(rewards.actions, rewards.table.tolist(), strict=True)
    ]
    explanation = (
        "Reward of each action by outcome, as given."
        if rewards.is_custom
        else "No rewards were given: an action predicts the outcome, and a correct prediction "
        "earns 1."
    )
    headings = ("action", *map(display_name, rewards.outcomes))
    return table_of_cells(headings, rows) + note(explanation)
