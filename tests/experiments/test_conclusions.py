"""Findings: every number in a sentence comes from the tables."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from experiments.made_up_paper import reproduction
from figures.small_tables import plus, table_of_regrets
from thrifty.experiments.claims import LATER, PROGRAM, TEXT
from thrifty.experiments.findings import SIMPLEX, Finding, findings
from thrifty.experiments.reproduction import Reproduction
from thrifty.experiments.results import Results

NAMES = ("printed", "chance", *(f"claim {k}" for k in range(10)))
NAMES += ("text", "rows", "tuning", "bounds", "growth")

Change = Callable[[Reproduction], Reproduction]


def found(change: Change = lambda done: done) -> dict[str, Finding]:
    return dict(zip(NAMES, findings(change(reproduction())), strict=True))


def more(results: Results, policy: str, by: float) -> Results:
    return replace(results, table=plus(results.table, policy, by))


def published(policy: str, by: float) -> Change:
    return lambda done: replace(done, published=more(done.published, policy, by))


def shuffled(policy: str, by: float) -> Change:
    return lambda done: replace(done, shuffled=more(done.shuffled, policy, by))


def windows(policy: str, by: float) -> Change:
    return lambda done: replace(done, windows=more(done.windows, policy, by))


def judged(policy: str, by: float) -> Change:
    return lambda done: replace(done, judged=more(done.judged, policy, by))


def growing(regrets: dict[int, tuple[float, ...]]) -> Change:
    """Return what gives the text's algorithm other regrets in both experiments of the theory."""
    table = table_of_regrets({TEXT: regrets})
    return lambda done: replace(done, theory=tuple(replace(it, table=table) for it in done.theory))


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
        ("claim 5", windows("w = 300", 1)),
        ("claim 5", windows("w = 1500", 1)),
        ("claim 9", published(TEXT, 0.5)),
        ("text", published(TEXT, 1)),
        ("text", published("Uniform", 1)),
        ("text", published(SIMPLEX, 1)),
        ("rows", shuffled(PROGRAM, 1)),
        ("rows", shuffled(LATER, 1)),
        ("rows", shuffled("Oracle", 1)),
        ("tuning", judged("tuned ncc-ucrl2-published", 1)),
        ("tuning", judged(PROGRAM, 1)),
        ("bounds", growing({100: (1e9,), 400: (1e9,)})),
        ("growth", growing({100: (10.0,), 400: (30.0,)})),
    ],
)
def test_another_table_gives_another_sentence(name: str, change: Change) -> None:
    assert found(change)[name].words != found()[name].words


def test_a_table_changes_only_the_sentences_about_it() -> None:
    before, after = found(), found(windows("w = 300", 1))
    assert [name for name in NAMES if before[name] != after[name]] == ["claim 5"]


def test_printed_totals_by_hand() -> None:
    it = found()["printed"]
    assert it.holds
    assert f"({LATER}, UCB1)" in it.words  # one printed total each, and all seeds alike
    off = found(published("UCB1", 0.25))["printed"]
    assert not off.holds
    assert "2.5e-01" in off.words


def test_chance_by_hand() -> None:
    # Printed 13 and 14, all seeds 13: no mean of two reaches 13.5.
    it = found()["chance"]
    assert not it.holds
    assert "2 printed runs" in it.words
    assert "0.0%" in it.words
    assert "Over 4 seeds the same program averages 13 (13 to 13)" in it.words
    assert found(published(PROGRAM, 1))["chance"].holds


def test_the_text_by_hand() -> None:
    it = found()["text"]
    assert it.holds
    assert "The paper's text alone gains 7, acting at random 6" in it.words
    assert "it pays 4 for features" in it.words
    assert "gains 12." in it.words
    assert not found(published("Uniform", 2))["text"].holds


def test_the_order_of_rows_by_hand() -> None:
    it = found()["rows"]
    assert it.holds
    assert "gains 13 (13 to 13), SW-UCB without features 12, the oracle 19." in it.words
    assert not found(shuffled(LATER, 1))["rows"].holds


def test_the_tuning_by_hand() -> None:
    # Chosen 100 and 0.2, reported 250 and 0.2; judged 10 against 12.
    it = found()["tuning"]
    assert not it.holds
    assert "window = 100, delta = 0.2 where the paper has window = 250, delta = 0.2" in it.words
    assert "gains +2 (+2 to +2)" in it.words


def test_the_bounds_hold_or_not() -> None:
    assert found()["bounds"].holds
    assert "stays below" in found()["bounds"].words
    assert "400 rounds" in found()["bounds"].words
    broken = found(growing({100: (1.0,), 400: (1e9,)}))["bounds"]
    assert not broken.holds
    assert "exceeds" in broken.words


def test_growth_by_hand() -> None:
    assert found()["growth"].holds
    assert "0.50 (0.50 to 0.50)" in found()["growth"].words
    faster = found(growing({100: (10.0,), 400: (80.0,)}))["growth"]
    assert not faster.holds
    assert "1.50 (1.50 to 1.50)" in faster.words


def test_a_claim_is_to_the_papers_credit_if_it_holds() -> None:
    assert all(it.holds for name, it in found().items() if name.startswith("claim"))
    fails = found(published("UCB1", 5))["claim 0"]
    assert not fails.holds
    assert "does not hold" in fails.words
