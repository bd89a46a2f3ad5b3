"""Conclusions: every number in a sentence comes from the tables."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from experiments.made_up_paper import LATER, PROGRAM, SIMPLEX, TEXT, reproduction
from figures.small_tables import plus, table_of_regrets
from thrifty.experiments.conclusions import Conclusion, draw_conclusions
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.results import Results

NAMES = ("printed", "chance", *(f"claim {k}" for k in range(10)))
NAMES += ("text", "rows", "tuning", "bounds", "growth")

Change = Callable[[Reproduction], Reproduction]


def found(change: Change = lambda done: done) -> dict[str, Conclusion]:
    return dict(zip(NAMES, draw_conclusions(change(reproduction())), strict=True))


def more(results: Results, policy: str, by: float) -> Results:
    return replace(results, table=plus(results.table, policy, by))


def published(policy: str, by: float) -> Change:
    return lambda done: replace(done, published=more(done.published, policy, by))


def shuffled(policy: str, by: float) -> Change:
    return lambda done: replace(done, shuffled=more(done.shuffled, policy, by))


def windows(policy: str, by: float) -> Change:
    return lambda done: replace(done, windows=more(done.windows, policy, by))


def tuned(policy: str, by: float) -> Change:
    return lambda done: replace(done, tuned=more(done.tuned, policy, by))


def growing(regrets: dict[int, tuple[float, ...]]) -> Change:
    """Return a change that gives the text's algorithm other regrets in both theory experiments."""
    table = table_of_regrets({TEXT: regrets})
    return lambda done: replace(done, theory=tuple(replace(r, table=table) for r in done.theory))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("printed", published("UCB1", 1)),
        ("printed", published(LATER, -1)),
        ("chance", published(PROGRAM, 1)),
        ("claim 0", published("UCB1", 1)),
        ("claim 1", published(LATER, 0.5)),
        ("claim 2", published("PS-LinUCB", 1)),
        ("claim 3", published("PS-LinUCB", 1)),
        ("claim 4", published("UCB1", 0.5)),
        ("claim 5", windows("w300", 1)),
        ("claim 5", windows("w1500", 1)),
        ("claim 9", published(TEXT, 0.5)),
        ("text", published(TEXT, 1)),
        ("text", published("Uniform", 1)),
        ("text", published(SIMPLEX, 1)),
        ("rows", shuffled(PROGRAM, 1)),
        ("rows", shuffled(LATER, 1)),
        ("rows", shuffled("Oracle", 1)),
        ("tuning", tuned("tuned ncc-ucrl2-published", 1)),
        ("tuning", tuned(PROGRAM, 1)),
        ("bounds", growing({100: (1e9,), 400: (1e9,)})),
        ("growth", growing({100: (10.0,), 400: (30.0,)})),
    ],
)
def test_another_table_gives_another_sentence(name: str, change: Change) -> None:
    assert found(change)[name].text != found()[name].text


def test_a_table_changes_only_the_sentences_about_it() -> None:
    before, after = found(), found(windows("w300", 1))
    assert [name for name in NAMES if before[name] != after[name]] == ["claim 5"]


def test_printed_totals_by_hand() -> None:
    conclusion = found()["printed"]
    assert conclusion.confirms
    assert f"({LATER}, UCB1)" in conclusion.text  # one printed total each, and all seeds alike
    off = found(published("UCB1", 0.25))["printed"]
    assert not off.confirms
    assert "2.5e-01" in off.text


def test_chance_by_hand() -> None:
    # Printed 13 and 14, all seeds 13: no mean of two reaches 13.5.
    conclusion = found()["chance"]
    assert not conclusion.confirms
    assert "2 printed runs" in conclusion.text
    assert "0.0%" in conclusion.text
    assert "Over 4 seeds the same program has a mean of 13 (13 to 13)" in conclusion.text
    assert found(published(PROGRAM, 1))["chance"].confirms


def test_the_text_by_hand() -> None:
    conclusion = found()["text"]
    assert conclusion.confirms
    assert "as described in the text gains 7, and acting at random gains 6" in conclusion.text
    assert "it pays 4 for features" in conclusion.text
    assert "gains 12." in conclusion.text
    assert not found(published("Uniform", 2))["text"].confirms


def test_the_order_of_rows_by_hand() -> None:
    conclusion = found()["rows"]
    assert conclusion.confirms
    assert (
        "gains 13 (13 to 13), SW-UCB without features gains 12, and the oracle gains 19."
        in conclusion.text
    )
    assert not found(shuffled(LATER, 1))["rows"].confirms


def test_the_tuning_by_hand() -> None:
    # Tuned 100 and 0.2, reported 250 and 0.2; gains 10 and 12.
    conclusion = found()["tuning"]
    assert not conclusion.confirms
    assert "window = 100, delta = 0.2; the paper has window = 250, delta = 0.2" in conclusion.text
    assert "change the gain by +2 (+2 to +2)" in conclusion.text


def test_the_bounds_hold_or_not() -> None:
    assert found()["bounds"].confirms
    assert "stays below" in found()["bounds"].text
    assert "400 rounds" in found()["bounds"].text
    broken = found(growing({100: (1.0,), 400: (1e9,)}))["bounds"]
    assert not broken.confirms
    assert "exceeds" in broken.text


def test_growth_by_hand() -> None:
    assert found()["growth"].confirms
    assert "0.50 (0.50 to 0.50)" in found()["growth"].text
    faster = found(growing({100: (10.0,), 400: (80.0,)}))["growth"]
    assert not faster.confirms
    assert "1.50 (1.50 to 1.50)" in faster.text


def test_a_claim_is_to_the_papers_credit_if_it_holds() -> None:
    assert all(c.confirms for name, c in found().items() if name.startswith("claim"))
    fails = found(published("UCB1", 5))["claim 0"]
    assert not fails.confirms
    assert "does not hold" in fails.text
