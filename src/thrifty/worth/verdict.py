"""The verdict in words: what to do, what it gains, and what to be careful about."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from thrifty.names import quote_names
from thrifty.plans.break_even import SHOWN_FROM, BreakEven
from thrifty.plans.printing import format_plan, purchase_price
from thrifty.plans.refitting import TENTHS
from thrifty.tables.cases import Cases
from thrifty.tables.scaffold import PLACEHOLDER_PRICE
from thrifty.worth.backtest import SURVEYOR, Backtest, Strategy
from thrifty.worth.evaluation import Evaluation
from thrifty.worth.money import MoneyFormat, display_name, join_names
from thrifty.worth.selection import Estimate

MAX_NAMED = 4
MAX_STRETCHES = 3
"""More stretches of cases than this, each with its own best choice, are not listed."""
BACKTEST_NOTE = (
    "All strategies except Hindsight start without knowledge, so their gains are usually lower "
    "than those in the verdict."
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
    """Return what to do, what not to buy, and how it compares with other choices."""
    money = MoneyFormat.for_cases(evaluation.cases)
    return [
        headline(evaluation),
        *_not_bought(evaluation, money),
        *_other_prices(evaluation, money),
        *_halves(evaluation, money),
        *_tenths(evaluation, money),
        *_learning(evaluation, money),
        _basis(evaluation),
    ]


def headline(evaluation: Evaluation) -> str:
    """Return what to do, and what it gains compared with the alternatives."""
    money = MoneyFormat.for_cases(evaluation.cases)
    kind = evaluation.recommended
    if kind == "nothing":
        return _nothing(evaluation, money)
    others = ["nothing", *(["everything"] if kind != "everything" else [])]
    if kind == "plan" and evaluation.learnt.fixed.used:
        others.append("fixed")
    what = _follow(evaluation, money) if kind == "plan" else _buy(evaluation, money)
    # Rewards may all be negative, and so may the gain: the differences are what matters.
    compared = [_compared(evaluation, kind, other, money) for other in others]
    return f"{what} It gains {_per_case(evaluation.gain[kind], money)}, that is {_join(compared)}."


def plan_lines(evaluation: Evaluation) -> list[str]:
    """Return the recommended plan as a tree, line by line; nothing for other recommendations."""
    if evaluation.recommended != "plan":
        return []
    return format_plan(evaluation.learnt.plan).splitlines()


def _follow(evaluation: Evaluation, money: MoneyFormat) -> str:
    tree = evaluation.learnt.plan
    first = tree.root.looks
    later = [k for k in tree.used if k not in first]
    rest = f"{join_names(evaluation.look_names(later))} only where needed" if later else ""
    spend = f"it spends {money.money(evaluation.spend['plan'])} per case on average."
    if not first:
        return f"Follow the plan: start from the free values, then buy {rest}; {spend}"
    price = money.amount(purchase_price(tree, first, ()))
    start = f"buy {join_names(evaluation.look_names(first))} first ({price})"
    return f"Follow the plan: {start}{f', then {rest}' if rest else ''}; {spend}"


def _buy(evaluation: Evaluation, money: MoneyFormat) -> str:
    looks = evaluation.recommended_tree.used
    spend = money.money(evaluation.spend[evaluation.recommended])
    names = evaluation.look_names(looks)
    if evaluation.recommended == "everything":
        return f"Buy everything ({join_names(names)}) for {spend} per case."
    return f"Buy {join_names(names)} for {spend} per case."


def _compared(evaluation: Evaluation, kind: str, other: str, money: MoneyFormat) -> str:
    """Return for example "14.40 (11.90 to 16.90) more than buying nothing"."""
    difference = evaluation.gain_over(kind, other)
    word = "more" if difference.mean >= 0 else "less"
    if difference.mean < 0:
        difference = Estimate(-difference.mean, -difference.high, -difference.low)
    alternative = {
        "nothing": "buying nothing",
        "everything": "buying everything",
        "fixed": f"always buying {join_names(evaluation.look_names(evaluation.learnt.fixed.used))}"
        if evaluation.learnt.fixed.used
        else "the best fixed set",
        "plan": "the best plan",
    }[other]
    return (
        f"{money.amount(difference.mean)} ({money.interval(difference)}) {word} than {alternative}"
    )


def _nothing(evaluation: Evaluation, money: MoneyFormat) -> str:
    compared = [_compared(evaluation, "nothing", "everything", money)]
    fixed, plan = evaluation.learnt.fixed.used, evaluation.learnt.plan
    if fixed and len(fixed) < len(plan.looks):
        compared.append(_compared(evaluation, "nothing", "fixed", money))
    if plan.used and plan.used != fixed:
        compared.append(_compared(evaluation, "nothing", "plan", money))
    return (
        "Buy nothing: no feature measurably pays for itself. It gains "
        f"{_per_case(evaluation.gain['nothing'], money)}, that is {_join(compared)}."
    )


def _join(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _per_case(estimate: Estimate, money: MoneyFormat) -> str:
    return f"{money.money(estimate.mean)} per case (95% CI {money.interval(estimate)})"


def _not_bought(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    used = evaluation.recommended_tree.used
    left = [worth for worth in evaluation.worths if worth.look not in used]
    names = evaluation.look_names([worth.look for worth in left])
    lines = [
        f"{display_name(name)}: {explain_worth(evaluation, worth, money)}"
        for name, worth in zip(names[:MAX_NAMED], left, strict=False)
    ]
    if len(left) > MAX_NAMED:
        lines.append(f"Also not bought: {join_names(names[MAX_NAMED:])}.")
    return lines


def explain_worth(evaluation: Evaluation, worth: BreakEven, money: MoneyFormat) -> str:
    """Explain in a sentence why a look is bought or not; to be put after its name."""
    price, value = money.amount(worth.price), money.amount(worth.value)
    is_bought = worth.look in evaluation.recommended_tree.used
    if is_bought and not worth.is_shown:
        return f"bought where it helps; its worth is not shown by itself (costs {price})."
    if is_bought:
        where = "pays for itself where the plan buys it"
        pays = "pays for itself" if evaluation.recommended != "plan" else where
        return f"{pays} (worth up to {value}, costs {price})."
    if not worth.is_shown:
        return f"no measurable value in these cases (costs {price})."
    if worth.value > worth.price:
        interval = money.interval(worth_estimate(worth))
        return (
            f"may be worth {value} (95% CI {interval}) and costs {price}; these cases do not show "
            "that it pays for itself."
        )
    return f"too expensive (worth up to {value}, costs {price})."


def worth_estimate(worth: BreakEven) -> Estimate:
    """Return what a look is worth with its interval; a worth is at least 0."""
    found = Estimate.from_error(worth.value, worth.standard_error)
    return Estimate(found.mean, max(found.low, 0.0), found.high)


def worth_text(worth: BreakEven, money: MoneyFormat) -> str:
    """Format what a look is worth, for a table."""
    return money.amount(worth.value) if worth.is_shown else "not shown"


def worth_interval(worth: BreakEven, money: MoneyFormat) -> str:
    """Format the interval of a worth, or a dash if it would show the same number twice."""
    estimate = worth_estimate(worth)
    # "0.00 to 0.00" would look like certainty.
    if money.amount(estimate.low) == money.amount(estimate.high):
        return "-"
    return money.interval(estimate)


def _other_prices(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    points = {point.factor: point for point in evaluation.price_curve}
    if not points:
        return []
    gains = [
        f"{money.amount(max(point.plan, point.fixed, point.nothing) - point.nothing)} at prices "
        f"x {factor:g}"
        for factor, point in points.items()
        if factor != 1
    ]
    return [f"The gain over buying nothing at other prices (from the search): {_join(gains)}."]


def _halves(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    halves = evaluation.split_half
    if halves is None:
        return []
    if evaluation.is_uncertain:
        sets = " and ".join(map(_in_braces, halves.chosen))
        start = f"The choice is uncertain: tested on each other, the two halves would buy {sets}."
    else:
        start = f"Each half of the cases chooses the same set, {_in_braces(halves.chosen[0])}."
    plans = ""
    if any(halves.first):
        plans = f" Their plans start with {' and '.join(map(_in_braces, halves.first))}."
    return [
        f"{start}{plans} Learnt on one half and tested on the other, the fixed set gains "
        f"{_per_case(halves.gain, money)}, the plan {_per_case(halves.plan_gain, money)}."
    ]


def _tenths(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    if not evaluation.cases.order.is_chronological:
        return []
    kind = evaluation.recommended
    gains = evaluation.tenths[kind]
    what = "Gain"
    if kind != "nothing":
        gains, what = gains - evaluation.tenths["nothing"], "Gain over buying nothing"
    low, high = int(gains.argmin()), int(gains.argmax())
    line = (
        f"{what} by tenth of the cases, in order: from {money.amount(float(gains[low]))} (tenth "
        f"{low + 1}) to {money.amount(float(gains[high]))} (tenth {high + 1}) per case."
    )
    different = [str(k + 1) for k in evaluation.different_tenths]
    if not different:
        return [f"{line} No tenth differs significantly from the others."]
    if len(different) == 1:
        which = f"Tenth {different[0]} differs"
    elif len(different) <= MAX_STRETCHES:
        which = f"Tenths {_join(different)} differ"
    else:
        which = f"{len(different)} of {TENTHS} tenths differ"
    return [f"{line} {which} significantly from the rest."]


def _learning(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    backtest = evaluation.backtest
    if backtest is None:
        return []
    learning = [Strategy.SURVEYOR] if backtest.has_surveyor else []
    return [_compare_learning(backtest, policy, money) for policy in (*learning, Strategy.SCOUT)]


def _compare_learning(backtest: Backtest, policy: Strategy, money: MoneyFormat) -> str:
    """Compare a learning policy with strategies that do not learn which features to buy."""
    n_cases = backtest.cases.n_cases
    compared = [
        _compare(backtest.difference(policy, other), n_cases, money, name)
        for other, name in (
            (Strategy.EVERYTHING, "buying everything"),
            (Strategy.FIXED, f"the fixed set chosen on the first {backtest.n_first:,} cases"),
            (Strategy.PLAN, "the plan learnt on them"),
        )
    ]
    return f"Learning policy ({policy}), over {n_cases:,} cases: {'; '.join(compared)}."


def _compare(difference: Estimate, n_cases: int, money: MoneyFormat, other: str) -> str:
    word = "more" if difference.mean >= 0 else "less"
    note = "" if difference.is_significant else " (not statistically significant)"
    return f"{money.total(abs(difference.mean) * n_cases)} {word} than {other}{note}"


def _basis(evaluation: Evaluation) -> str:
    learnt, every = evaluation.n_cases_learnt, evaluation.cases.n_cases
    sample = "" if learnt == every else f" (a random sample of {every:,})"
    return (
        f"Plans are learnt from {learnt:,} cases{sample}; gains are measured on cases that were "
        "not used for learning."
    )


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
        *_missing(evaluation),
        *_drift(evaluation, money),
        *_served(evaluation, money),
    ]


def _missing(evaluation: Evaluation) -> list[str]:
    if not evaluation.missing:
        return []
    return [f"Interrupted: not finished are {_join(evaluation.missing)}. Run the command again."]


def _drift(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    later = evaluation.later_half
    if later is None or not evaluation.has_drifted:
        return []
    return [
        "Outcomes changed over time: rules learnt on the earlier half of the cases gain "
        f"{money.money(later.earlier_rules.mean)} per case in the later half, rules learnt on "
        f"as many cases of both halves {money.money(later.mixed_rules.mean)}. Learn again from "
        "new cases, or use a policy that keeps learning.",
        *_best_choices_over_time(evaluation),
    ]


def _best_choices_over_time(evaluation: Evaluation) -> list[str]:
    """Return what was best in hindsight, if these are a few long stretches of cases."""
    backtest = evaluation.backtest
    if backtest is None:
        return []
    sizes = [len(rows) for rows in np.array_split(np.arange(backtest.cases.n_cases), TENTHS)]
    stretches, start = [], 0
    for choice, tenths in groupby(
        zip(backtest.hindsight, sizes, strict=True), key=lambda tenth: tenth[0]
    ):
        stop = start + sum(size for _, size in tenths)
        names = _in_braces(evaluation.look_names(choice.looks))
        what = f"a plan with {names}" if choice.is_plan else names
        stretches.append(f"{what} in cases {start + 1:,} to {stop:,}")
        start = stop
    if not 1 < len(stretches) <= MAX_STRETCHES:
        return []
    return [f"The best choice changed too. In hindsight it was {', then '.join(stretches)}."]


def _served(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    """Return what to know about the learning policy that policy.toml serves."""
    if evaluation.served == SURVEYOR:
        return _served_surveyor(evaluation, money)
    over = evaluation.agent_over_recommended
    if over is None or not evaluation.is_learning_worse:
        return []
    return [
        f"The policy of your policy.toml gained {money.money(-over.mean)} per case less in the "
        "backtest than the recommendation. policy.toml serves it because you asked for it: remove "
        "`policy` and its parameters from [policy] to serve Surveyor, or set `policy = "
        '"plan"` to serve the recommendation.'
    ]


def _served_surveyor(evaluation: Evaluation, money: MoneyFormat) -> list[str]:
    """Return what was significantly better in the backtest than Surveyor, and how to serve it."""
    lines, over = [], evaluation.surveyor_over
    fixed = {name: over[name] for name in (Strategy.PLAN, Strategy.FIXED) if name in over}
    better = min(fixed, key=lambda name: fixed[name].mean, default=None)
    if better is not None and fixed[better].is_below_zero:
        what = "the plan" if better is Strategy.PLAN else "the fixed set"
        lines.append(
            f"Surveyor gained {money.money(-fixed[better].mean)} per case less in the backtest "
            f"than {what} that it is compared with. policy.toml serves Surveyor, which adapts to "
            'changes: set `policy = "plan"` in [policy] of your policy.toml to serve the '
            "recommendation as it is."
        )
    scout = over.get(Strategy.SCOUT)
    if scout is not None and scout.is_below_zero:
        lines.append(
            f"Scout gained {money.money(-scout.mean)} per case more in the backtest than Surveyor. "
            'policy.toml serves Surveyor: set `policy = "scout"` in [policy] of your policy.toml '
            "to serve Scout."
        )
    return lines


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
    lines = [
        f"{len(evaluation.learnt.bank.sets):,} sets of features were compared, each by models "
        "(gradient boosting) of the outcome that had not seen the case. A plan is grown from them.",
        _basis(evaluation),
        "A fixed set or a plan is recommended only if it gains significantly more than buying "
        "nothing on unseen cases (95%). A plan must also gain at least one standard error more "
        "than the fixed set.",
        "Worth of a feature: the gain of the best plan if the feature were free, minus the gain of "
        f"the best plan without it. It is shown from {SHOWN_FROM:g} standard errors on.",
    ]
    backtest = evaluation.backtest
    return lines if backtest is None else [*lines, *_backtest_method(backtest)]


def _backtest_method(backtest: Backtest) -> list[str]:
    thinned = f"; every {backtest.every}th case is used" if backtest.every > 1 else ""
    return [
        f"In the backtest the cases are {backtest.cases.order}{thinned}. Learning policies see "
        "only the reward of the action that they take. The other strategies see the outcome of "
        "every case, which is an advantage.",
        f"The plan and the fixed set buy everything in the first {backtest.n_first:,} cases and "
        "are learnt on them. Buying everything and buying nothing fit their models again after "
        "each tenth of the cases. Hindsight uses in each tenth whatever turned out best in it.",
    ]
