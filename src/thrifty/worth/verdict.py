"""The verdict in words: what to do, what it gains, and what to be careful about."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from thrifty.tables.cases import Cases
from thrifty.tables.offers import quote_names
from thrifty.tables.scaffold import PLACEHOLDER_PRICE
from thrifty.worth.backtest import TENTHS, Backtest, Strategy
from thrifty.worth.evaluation import Evaluation
from thrifty.worth.money import MoneyFormat, display_name, join_names
from thrifty.worth.selection import Estimate, FeatureWorth
from thrifty.worth.sets import BEAM, CASES_PER_CELL, FOLDS, MAX_EXHAUSTIVE, MAX_PAIRED

MAX_NAMED = 4
MAX_STRETCHES = 3
"""More stretches of cases than this, each with its own best set, are not listed."""
BACKTEST_NOTE = (
    "All strategies except Hindsight start without knowledge, so their gains are usually lower "
    "than the cross-validated ones in the verdict."
)


def verdict_lines(evaluation: Evaluation) -> list[str]:
    """Return the verdict as a few sentences; the first says what to do and what it gains.

    Parameters
    ----------
    evaluation : Evaluation
        Results from `evaluate`.

    Returns
    -------
    list of str
        One sentence or two per line: the findings, then the warnings.
    """
    return [
        *findings(evaluation),
        *input_warnings(evaluation.cases),
        *warnings(evaluation),
    ]


def findings(evaluation: Evaluation) -> list[str]:
    """Return what to buy, what not to buy, and how a learning policy compares."""
    money = MoneyFormat.for_cases(evaluation.cases)
    return [
        _recommendation(evaluation, money),
        *_not_bought(evaluation, money),
        _learning(evaluation.backtest, money),
    ]


def _recommendation(evaluation: Evaluation, money: MoneyFormat) -> str:
    gain = _per_case(evaluation.gain, money)
    if not evaluation.best_subset:
        return f"Buy nothing: no feature measurably pays for itself. Expected reward: {gain}."
    # The difference comes first: rewards may all be negative, and so may the gain.
    verb = "gains" if evaluation.cases.rewards.table.max() > 0 else "saves"
    return (
        f"Buy {join_names(evaluation.best_subset)} for {money.money(evaluation.spend)} per case. "
        f"Compared with buying nothing, this {verb} "
        f"{_per_case(evaluation.gain_over_nothing, money)}. "
        f"Expected reward minus prices: {gain}."
    )


def _per_case(estimate: Estimate, money: MoneyFormat) -> str:
    return f"{money.money(estimate.mean)} per case (95% CI {money.interval(estimate)})"


def _not_bought(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    names, best = evaluation.cases.names, evaluation.best_set
    left = [worth for worth in evaluation.feature_worths if worth.feature not in best]
    lines = [
        f"{display_name(names[worth.feature])}: {explain_worth(evaluation, worth, money)}"
        for worth in left[:MAX_NAMED]
    ]
    if len(left) > MAX_NAMED:
        others = join_names(names[worth.feature] for worth in left[MAX_NAMED:])
        lines.append(f"Also not worth the price: {others}.")
    return lines


def explain_worth(evaluation: Evaluation, worth: FeatureWorth, money: MoneyFormat) -> str:
    """Explain in a sentence why a feature is bought or not; to be put after its name."""
    price, value = money.amount(worth.price), money.amount(worth.estimate.mean)
    if worth.feature in evaluation.best_set:
        return f"pays for itself (worth up to {value}, costs {price})."
    if not worth.is_measurable:
        return f"no measurable value in these cases (costs {price})."
    if worth.estimate.mean > worth.price:
        return (
            f"may be worth {value} (95% CI {money.interval(worth.estimate)}) and costs {price}; "
            "these cases do not show that it pays for itself."
        )
    return f"too expensive (worth up to {value}, costs {price})."


def worth_text(worth: FeatureWorth, money: MoneyFormat) -> str:
    """Format what a feature is worth, for a table."""
    return money.amount(worth.estimate.mean) if worth.is_measurable else "not measurable"


def worth_interval(worth: FeatureWorth, money: MoneyFormat) -> str:
    """Format the interval of a worth, or a dash if it would show the same number twice."""
    # "0.00 to 0.00" would look like certainty.
    if money.amount(worth.estimate.low) == money.amount(worth.estimate.high):
        return "-"
    return money.interval(worth.estimate)


def _learning(backtest: Backtest, money: MoneyFormat) -> str:
    fixed = f"the fixed set chosen on the first {backtest.n_first:,} cases"
    compared = [
        _compare(backtest.difference(Strategy.SCOUT, other), backtest.cases.n_cases, money, name)
        for other, name in ((Strategy.EVERYTHING, "buying everything"), (Strategy.FIXED, fixed))
    ]
    return (
        f"Learning policy (Scout), over {backtest.cases.n_cases:,} cases: "
        f"{compared[0]}; {compared[1]}."
    )


def _compare(difference: Estimate, n_cases: int, money: MoneyFormat, other: str) -> str:
    word = "more" if difference.mean >= 0 else "less"
    is_clear = difference.low > 0 or difference.high < 0
    note = "" if is_clear else " (not statistically significant)"
    return f"{money.total(abs(difference.mean) * n_cases)} {word} than {other}{note}"


def input_warnings(cases: Cases) -> list[str]:
    """Return what may be missing in policy.toml, so that the verdict would mean little."""
    lines = []
    prices = cases.mean_prices[~cases.free]
    if not cases.varying_prices and (prices == PLACEHOLDER_PRICE).all():
        lines.append(
            f"All prices are {PLACEHOLDER_PRICE}, the placeholder of `thrifty init`: set the real "
            "prices in policy.toml, or the verdict means nothing."
        )
    unpriced = cases.policy_file.unpriced_features()
    if unpriced:
        lines.append(
            f"Not used, because policy.toml gives neither a price nor free = true: "
            f"{quote_names(unpriced)}. Add `price = ...` or `free = true` to these [[features]]."
        )
    if not cases.rewards.is_custom:
        too_expensive = ", and some features cost that much or more" if prices.max() >= 1 else ""
        lines.append(
            f"No rewards are given, so a correct prediction earns 1{too_expensive}. Add "
            "[outcomes.rewards] in the currency of your prices."
        )
    return lines


def warnings(evaluation: Evaluation) -> list[str]:
    """Return what a reader should know before acting on the verdict."""
    money = MoneyFormat.for_cases(evaluation.cases)
    return [
        *_uncertainty(evaluation, money),
        *_skipped_sets(evaluation),
        *_drift(evaluation, money),
        *_learning_is_worse(evaluation, money),
    ]


def _uncertainty(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    if not evaluation.is_uncertain:
        return []
    chosen = [evaluation.priced_names(features) for features in evaluation.split_half.chosen]
    return [
        "The choice is uncertain: evaluated separately, the two halves of the cases would buy "
        f"{_in_braces(chosen[0])} and {_in_braces(chosen[1])}. A set chosen on one half and "
        f"tested on the other gains {_per_case(evaluation.split_half.gain, money)}."
    ]


def _skipped_sets(evaluation: Evaluation) -> list[str]:
    skipped = evaluation.n_skipped_sets
    if not skipped:
        return []
    return [
        f"{skipped:,} of {evaluation.n_sets + skipped:,} sets of features were skipped: they leave "
        f"fewer than {CASES_PER_CELL} cases per combination of values, too few to evaluate them."
    ]


def _drift(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    if not evaluation.has_drifted:
        return []
    return [
        "Outcomes changed over time: rules learnt on the earlier half of the cases gain "
        f"{money.money(evaluation.later_half.mean)} per case in the later half, rules learnt on "
        f"both halves (cross-validated) {money.money(evaluation.later_half_all.mean)}. Keep "
        "learning from new cases.",
        *_best_sets_over_time(evaluation),
    ]


def _best_sets_over_time(evaluation: Evaluation) -> list[str]:
    """Return which sets were best in hindsight, if these are a few long stretches of cases."""
    backtest = evaluation.backtest
    sizes = [len(rows) for rows in np.array_split(np.arange(backtest.cases.n_cases), TENTHS)]
    stretches, start = [], 0
    for features, tenths in groupby(
        zip(backtest.hindsight_sets, sizes, strict=True), key=lambda tenth: tenth[0]
    ):
        stop = start + sum(size for _, size in tenths)
        names = _in_braces(evaluation.priced_names(features))
        stretches.append(f"{names} in cases {start + 1:,} to {stop:,}")
        start = stop
    if not 1 < len(stretches) <= MAX_STRETCHES:
        return []
    return [f"The best set changed too. In hindsight it was {', then '.join(stretches)}."]


def _learning_is_worse(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    if not evaluation.is_learning_worse:
        return []
    loss = money.money(-evaluation.scout_over_best.mean)
    nothing = evaluation.backtest.difference(Strategy.SCOUT, Strategy.NOTHING)
    also = ", and less than buying nothing" if nothing.is_below_zero else ""
    best = evaluation.best_subset
    instead = f"{join_names(best)} in every case" if best else "nothing"
    return [
        f"The learning policy gained {loss} per case less in the backtest than the recommendation"
        f"{also}. policy.toml serves this learning policy, so do not use it for live decisions "
        f"yet: buy {instead} instead."
    ]


def strategy_lines(backtest: Backtest) -> list[str]:
    """Explain each strategy of the backtest in a sentence."""
    return [
        f"{result.strategy}: {result.description}"
        + (f" (mean of {result.runs} runs)" if result.runs > 1 else "")
        + "."
        for result in backtest.results
    ]


def _in_braces(names: Sequence[str]) -> str:
    return "{" + ", ".join(map(display_name, names)) + "}" if names else "nothing"


def method_lines(evaluation: Evaluation) -> list[str]:
    """Explain how the verdict was found, for the HTML report."""
    return [_search_method(evaluation), *_shared_method(), *_backtest_method(evaluation.backtest)]


def _search_method(evaluation: Evaluation) -> str:
    cases = evaluation.cases
    is_exhaustive = evaluation.n_skipped_sets is not None
    which = "all sets" if is_exhaustive else "the promising sets"
    parts = [
        f"{evaluation.n_sets:,} sets of features were compared: {which} that leave "
        f"{CASES_PER_CELL} or more cases per combination of values on average."
    ]
    if evaluation.n_cases_searched < cases.n_cases:
        parts.append(
            f"They were compared on a random sample of {evaluation.n_cases_searched:,} cases; the "
            "best ones were then evaluated on all cases."
        )
    if not is_exhaustive:
        is_wide = int((~cases.free).sum()) > MAX_PAIRED
        pairs = f"pairs with the {BEAM} best single features" if is_wide else "all pairs"
        parts.append(
            f"With more than {MAX_EXHAUSTIVE} priced features there are too many sets to try them "
            f"all, so the search started from {pairs} and extended the best sets by one feature "
            "at a time."
        )
    return " ".join(parts)


def _shared_method() -> list[str]:
    return [
        f"Gains are cross-validated ({FOLDS} folds): the action of a case is learnt on other cases "
        "only.",
        "Sets are compared case by case. A larger set is bought only if it gains more than the "
        "best of as many worthless additions would by chance (with probability 0.975).",
    ]


def _backtest_method(backtest: Backtest) -> list[str]:
    thinned = f"; every {backtest.every}th case is used" if backtest.every > 1 else ""
    return [
        f"In the backtest the cases are {backtest.cases.order}{thinned}. Learning policies see "
        "only the reward of the action that they take. The fixed set, buying everything and buying "
        "nothing see the outcome of every case, which is an advantage.",
        f"The fixed set buys everything in the first {backtest.n_first:,} cases and is chosen on "
        "them. Hindsight uses in each tenth of the cases whatever turned out best in it.",
    ]
