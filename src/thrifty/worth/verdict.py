"""The answer in words, in the user's own money."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thrifty.tables.cases import Cases
from thrifty.worth.answer import Answer, changed, unsure
from thrifty.worth.backtest import EVERYTHING, FIXED, NOTHING, SCOUT, Stream
from thrifty.worth.selection import Estimate, FeatureWorth
from thrifty.worth.sets import BEAM, MOST_EXHAUSTIVE, MOST_PAIRED

MOST_NAMED = 4


@dataclass(frozen=True)
class Money:
    """How amounts are written: with as many decimals as the smallest price needs."""

    currency: str
    decimals: int

    @classmethod
    def of(cls, cases: Cases) -> Money:
        """Return how the amounts of these cases are written."""
        paid = cases.mean_prices[cases.mean_prices > 0]
        smallest = float(paid.min()) if paid.size else 1.0
        decimals = min(max(2, math.ceil(-math.log10(smallest)) + 1), 6)
        return cls(cases.rewards.currency, decimals)

    def bare(self, amount: float) -> str:
        """Return an amount without its currency.

        >>> Money("EUR", 2).bare(1234.5), Money("EUR", 2).bare(-0.001)
        ('1,234.50', '0.00')
        """
        text = f"{amount:,.{self.decimals}f}"
        return text.removeprefix("-") if not text.strip("-0.,") else text

    def __call__(self, amount: float) -> str:
        """Return an amount with its currency."""
        return f"{self.bare(amount)} {self.currency}".strip()

    def total(self, amount: float) -> str:
        """Return a sum over many cases, in whole units if it is large.

        >>> Money("EUR", 4).total(-1234.5), Money("EUR", 4).total(12.345)
        ('-1,234 EUR', '12.35 EUR')
        """
        return Money(self.currency, 0 if abs(amount) >= 1000 else 2)(amount)

    def interval(self, estimate: Estimate) -> str:
        """Return the ends of an interval."""
        return f"{self.bare(estimate.low)} to {self.bare(estimate.high)}"


def printable(text: str, most: int = 60) -> str:
    """Return a name that can be shown in a line: no control characters, and not too long.

    >>> printable("a" + chr(0x202E) + "b"), printable("x" * 9, most=5)
    ('a�b', 'xxxx…')
    """
    shown = "".join(it if it.isprintable() else "\ufffd" for it in text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *most, last = [printable(name) for name in names]
    return f"{', '.join(most)} and {last}" if most else last


def verdict(answer: Answer) -> list[str]:
    """Return the answer, a few sentences of plain words."""
    money = Money.of(answer.cases)
    return [
        _purchase(answer, money),
        *_not_bought(answer, money),
        _learning(answer.stream, money),
        *caveats(answer),
    ]


def _purchase(answer: Answer, money: Money) -> str:
    gained = f"{money(answer.gain.mean)} a case ({money.interval(answer.gain)})"
    if not answer.bought:
        return f"Buy nothing: no feature is shown to be worth its price. That gains {gained}."
    bought = f"Buy {listed(answer.best_subset)}, {money(answer.spend)} a case"
    return f"{bought}: the gain is {gained}."


def _not_bought(answer: Answer, money: Money) -> list[str]:
    left = [it for it in answer.worths if it.feature not in answer.best]
    words = [describe(answer, it, money) for it in left[:MOST_NAMED]]
    if len(left) > MOST_NAMED:
        more = len(left) - MOST_NAMED
        words.append(
            f"{more} more are not worth their price either."
            if more > 1
            else "One more is not worth its price either."
        )
    return words


def describe(answer: Answer, worth: FeatureWorth, money: Money) -> str:
    """Say what one feature is worth beside its price."""
    name = printable(answer.cases.names[worth.feature])
    costs = f"costs {money.bare(worth.price)}"
    bought = worth.feature in answer.best
    if worth.break_even == 0 and not bought:
        return f"{name} is worth nothing that these cases can show, and {costs}."
    if worth.estimate.mean > worth.price and not bought:
        return (
            f"{name} may be worth {money.bare(worth.estimate.mean)} "
            f"({money.interval(worth.estimate)}) and {costs}: these cases do not show that it pays."
        )
    return f"{name} is worth up to {money.bare(worth.estimate.mean)} and {costs}."


def _learning(stream: Stream, money: Money) -> str:
    number = stream.cases.number
    fixed = f"the fixed set that the first {stream.first_part:,} choose"
    parts = [
        _more(stream.difference(SCOUT, other), number, money, what)
        for other, what in ((EVERYTHING, "buying everything"), (FIXED, fixed))
    ]
    return f"Learning policy: {parts[0]}, {parts[1]}, in {number:,} cases."


def _more(more: Estimate, number: int, money: Money, than: str) -> str:
    word = "more" if more.mean >= 0 else "less"
    clear = "" if more.low > 0 or more.high < 0 else " (which may be chance)"
    return f"{money.total(abs(more.mean) * number)} {word} than {than}{clear}"


def caveats(answer: Answer) -> list[str]:
    """Return what a reader should know before acting on the answer."""
    words = []
    money = Money.of(answer.cases)
    if unsure(answer):
        halves = " and ".join(_set(answer.named(it)) for it in answer.honest.chosen)
        words.append(
            f"The choice is not certain: halves of the cases would buy {halves}. Chosen on one "
            f"half and judged on the other the gain is {money(answer.honest.gain.mean)} a case "
            f"({money.interval(answer.honest.gain)})."
        )
    if changed(answer):
        words.append(
            "The world changed: rules learnt on the earlier half of the cases gain "
            f"{money(answer.later.mean)} a case in the later half, rules that know both halves "
            f"{money(answer.later_by_all.mean)}."
        )
    scout, nothing = answer.stream.of(SCOUT), answer.stream.of(NOTHING)
    if scout.gains.mean() < nothing.gains.mean():
        words.append(
            "The learning policy gained less here than buying nothing would have: prefer a fixed "
            "set."
        )
    return words


def _set(names: Sequence[str]) -> str:
    return "{" + ", ".join(printable(it) for it in names) + "}" if names else "nothing"


def how(answer: Answer) -> list[str]:
    """Say how the answer was found, for the report."""
    cases, stream = answer.cases, answer.stream
    which = "all" if answer.all_sets else "the promising"
    words = [
        f"{answer.compared:,} sets of features were compared: {which} sets that leave five "
        "cases or more in a cell on average"
        + (
            f", on {answer.searched_on:,} cases chosen at random; those that matter were judged on "
            "all cases."
            if answer.searched_on < cases.number
            else "."
        ),
    ]
    if not answer.all_sets:
        many = int((~cases.free).sum()) > MOST_PAIRED
        pairs = f"pairs with the best {BEAM} single ones" if many else "all pairs"
        words.append(
            f"With more than {MOST_EXHAUSTIVE} features not every set can be tried: {pairs} were, "
            "then the best sets were extended by one feature at a time."
        )
    words += [
        "Every gain is out of fold: what to do in a case was learnt on other cases only (five "
        "folds). Sets are compared case by case. A larger set is bought only if it gains more than "
        "the best of as many worthless additions would by chance (with probability 0.975).",
        f"The cases are replayed {cases.order}"
        + (f"; every {stream.every}th of them" if stream.every > 1 else "")
        + ". Learning policies see the reward of the action that they take and nothing else. The "
        "fixed set, buying everything and buying nothing are told the outcome of every case, "
        "whatever they do, which is an advantage.",
        f"The fixed set buys everything in the first {stream.first_part:,} cases and chooses by "
        "them. Hindsight takes in each tenth of the stream what turned out best in it.",
    ]
    return words
