"""The verdict in words: what to do, what it gains, and what to be careful about."""

from __future__ import annotations

from collections.abc import Sequence

from thrifty.worth.backtest import Backtest, Strategy
from thrifty.worth.evaluation import Evaluation
from thrifty.worth.money import MoneyFormat, display_name, join_names
from thrifty.worth.selection import Estimate, FeatureWorth
from thrifty.worth.sets import BEAM, CASES_PER_CELL, FOLDS, MAX_EXHAUSTIVE, MAX_PAIRED

MAX_NAMED = 4


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
    return [*findings(evaluation), *warnings(evaluation)]


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
    return (
        f"Buy {join_names(evaluation.best_subset)} for {money.money(evaluation.spend)} per case. "
        f"Compared with buying nothing, this gains {_per_case(evaluation.gain_over_nothing, money)}"
        f". Expected reward minus prices: {gain}."
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
    more = len(left) - MAX_NAMED
    if more > 0:
        what = "1 more feature is" if more == 1 else f"{more} more features are"
        lines.append(f"{what} not worth the price.")
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


def warnings(evaluation: Evaluation) -> list[str]:
    """Return what a reader should know before acting on the verdict."""
    lines = []
    money = MoneyFormat.for_cases(evaluation.cases)
    if not evaluation.cases.rewards.is_custom and evaluation.cases.mean_prices.max() >= 1:
        lines.append(
            "No rewards are given, so a correct prediction earns 1, and some features cost that "
            "much or more. Add [outcomes.rewards] in the currency of your prices."
        )
    if evaluation.is_uncertain:
        chosen = [evaluation.priced_names(features) for features in evaluation.split_half.chosen]
        gain = evaluation.split_half.gain
        lines.append(
            "The choice is uncertain: evaluated separately, the two halves of the cases would buy "
            f"{_in_braces(chosen[0])} and {_in_braces(chosen[1])}. A set chosen on one half and "
            f"tested on the other gains {_per_case(gain, money)}."
        )
    if evaluation.has_drifted:
        lines.append(
            "Outcomes changed over time: rules learnt on the earlier half of the cases gain "
            f"{money.money(evaluation.later_half.mean)} per case in the later half, rules learnt "
            f"on both halves {money.money(evaluation.later_half_all.mean)}. Keep learning from "
            "new cases."
        )
    backtest = evaluation.backtest
    scout, nothing = backtest.result(Strategy.SCOUT), backtest.result(Strategy.NOTHING)
    if scout.gains.mean() < nothing.gains.mean():
        lines.append(
            "The learning policy gained less here than buying nothing. Follow the recommendation "
            "above instead of using it."
        )
    return lines


def _in_braces(names: Sequence[str]) -> str:
    return "{" + ", ".join(map(display_name, names)) + "}" if names else "nothing"


def method_lines(evaluation: Evaluation) -> list[str]:
    """Explain how the verdict was found, for the HTML report."""
    return [_search_method(evaluation), *_shared_method(), *_backtest_method(evaluation.backtest)]


def _search_method(evaluation: Evaluation) -> str:
    cases = evaluation.cases
    which = "all sets" if evaluation.all_sets else "the promising sets"
    parts = [
        f"{evaluation.n_sets:,} sets of features were compared: {which} that leave "
        f"{CASES_PER_CELL} or more cases per combination of values on average."
    ]
    if evaluation.n_cases_searched < cases.n_cases:
        parts.append(
            f"They were compared on a random sample of {evaluation.n_cases_searched:,} cases; the "
            "best ones were then evaluated on all cases."
        )
    if not evaluation.all_sets:
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
