"""Claims: the value of each by hand, and when it holds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from experiments.made_up_paper import (
    CHANGES,
    LATER,
    PLAYS,
    PROGRAM,
    TEXT,
    WINDOWS,
    Play,
    published_results,
    window_results,
)
from figures.small_tables import table_of_gains, table_of_regrets
from thrifty.errors import InvalidSpec
from thrifty.experiments.claims import (
    Claim,
    Verdict,
    check_claims,
    check_targets,
    share_of_means,
)
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment, Target

MEASURED = {
    "best benchmark": 13 - 11,
    "later": 13 - 12,
    "same reward": 0,
    "less gain": 100 * (9 / 13 - 1),
    "second": 11 - 9,
    "windows": 12 - (10 + 8) / 2,  # 700 is not above 700
    "accuracy": 100 * (15 - 10) / 20,
    "few observations": 100 * ((15 - 10) / 20 - (6 - 5) / 10),
    "choices": 1 - (0 + 0.5) / 2,
    "text": 7 - 6,
}
"""Value of each claim where all of them hold."""


def found(
    plays: dict[str, Sequence[Play]] | None = None, windows: Sequence[float] = (12.0,) * 4
) -> dict[str, Claim]:
    by_window = window_results({**WINDOWS, 300: windows})
    result = check_claims(published_results(**(plays or {})), by_window, CHANGES)
    return dict(zip(MEASURED, result, strict=True))


def by_turns(label: str, *more: float) -> dict[str, Sequence[Play]]:
    """Return runs of a policy with these additional rewards, one seed after the other."""
    return {label: [PLAYS[label].paid(more[seed % len(more)]) for seed in range(4)]}


def test_every_claim_by_hand() -> None:
    for name, claim in found().items():
        assert claim.value == pytest.approx(MEASURED[name], abs=1e-9)
        assert (claim.low, claim.high) == pytest.approx((claim.value, claim.value), abs=1e-9)
        assert claim.verdict == Verdict.HOLDS


@pytest.mark.parametrize(
    ("name", "label", "worse", "unclear"),
    [
        ("best benchmark", "UCB1", 3, (5, -3)),
        ("later", LATER, 2, (4, -2)),
        ("same reward", "PS-LinUCB", 1, (0.03, -0.03)),
        ("same reward", "PS-LinUCB", -1, (0.03, 0)),
        ("less gain", "PS-LinUCB", 4, (3.4, -0.6)),
        ("second", "UCB1", -3, (-4.5, 1.5)),
        ("accuracy", "Sim-OOS", 6, (8, 2)),
        ("text", TEXT, -2, (-4, 2)),
    ],
)
def test_a_claim_fails_or_stays_open(
    name: str, label: str, worse: float, unclear: tuple[float, float]
) -> None:
    assert found(by_turns(label, worse))[name].verdict == Verdict.FAILS
    open_ = found(by_turns(label, *unclear))[name]
    assert open_.verdict == Verdict.UNDECIDED
    assert open_.low < open_.value < open_.high


def test_windows_fail_or_stay_open() -> None:
    assert found(windows=(8.0,) * 4)["windows"].verdict == Verdict.FAILS
    assert found(windows=(6.0, 13.0, 6.0, 13.0))["windows"].verdict == Verdict.UNDECIDED


def test_accuracy_with_few_observations_fails_or_stays_open() -> None:
    ours = PLAYS[PROGRAM]
    turned = replace(ours, rewards=ours.rewards[::-1])
    fails = found({PROGRAM: [turned] * 4})["few observations"]
    assert fails.value == pytest.approx(100 * (5 / 20 - 4 / 10))
    assert fails.verdict == Verdict.FAILS
    assert found({PROGRAM: [ours, turned] * 2})["few observations"].verdict == Verdict.UNDECIDED


def test_choices_like_the_oracles_fail_or_stay_open() -> None:
    theirs = PLAYS["UCB1"]
    like_oracle = replace(theirs, left=PLAYS["Oracle"].left)
    fails = found({"UCB1": [like_oracle] * 4})["choices"]
    assert fails.value == pytest.approx(-0.25)
    assert fails.verdict == Verdict.FAILS
    assert found({"UCB1": [theirs, like_oracle] * 2})["choices"].verdict == Verdict.UNDECIDED


def test_the_best_benchmark_is_named_and_no_later_one_counts() -> None:
    assert "UCB1" in found()["best benchmark"].measured
    rich = found(by_turns("Sim-OOS", 4.5))  # gain 12.5, above UCB1 and SW-UCB
    assert "Sim-OOS" in rich["best benchmark"].measured
    assert rich["best benchmark"].value == 0.5
    assert "Sim-OOS" in rich["second"].measured
    assert rich["second"].value == -1.5
    assert found(by_turns(LATER, 10))["best benchmark"].value == 2


def test_intervals_are_paired_by_seed() -> None:
    both = by_turns(PROGRAM, 3, -3) | by_turns(LATER, 3, -3)
    assert (found(both)["later"].low, found(both)["later"].high) == (1, 1)


def test_shares_of_means_by_hand() -> None:
    coin = np.array([0.0, 1.0])
    # 100,000 draws: a share is within 0.01 of its expectation but for p < 1e-9.
    assert share_of_means(coin, runs=1, least=0.5) == pytest.approx(1 / 2, abs=0.01)
    assert share_of_means(coin, runs=2, least=0.5) == pytest.approx(3 / 4, abs=0.01)
    assert share_of_means(coin, runs=2, least=1.0) == pytest.approx(1 / 4, abs=0.01)
    assert share_of_means(coin, runs=5, least=0.0) == 1
    assert share_of_means(coin, runs=5, least=1.1) == 0


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(-0.5, 0.25, "0.123"), (-2.0, 0.5, "0.1"), (0.0, 999.0, "0.1"), (-4000.0, 1.0, "0")],
)
def test_decimals_fit_the_interval(low: float, high: float, shown: str) -> None:
    assert Claim("", "", 0.1234, low, high, Verdict.HOLDS).format(0.1234) == shown


def test_intervals_as_text() -> None:
    assert Claim("", "", 0, -1234.4, 5678.2, Verdict.HOLDS).interval == "-1,234 to 5,678"


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(0.6, Verdict.HOLDS), (0.5, Verdict.HOLDS), (0.45, Verdict.UNDECIDED), (0.2, Verdict.FAILS)],
)
def test_targets_are_ratios_of_mean_regrets(share: float, verdict: str) -> None:
    regrets = {"a": {20: [40.0, 50.0] * 8}, "b": {20: [100.0, 100.0] * 8}}
    entries = (Entry("a", "ucb1"), Entry("b", "ucb1"))
    experiment = Experiment(
        "mine", "Mine", "random", entries, tuple(range(16)), targets=(Target("a", "b", share),)
    )
    (claim,) = check_targets(Results(experiment, table_of_regrets(regrets)))
    assert claim.value == pytest.approx(0.45)
    assert 0.4 < claim.low < 0.45 < claim.high < 0.5
    assert claim.verdict == verdict


def test_without_targets_nothing_is_checked() -> None:
    experiment = Experiment("mine", "Mine", "random", (Entry("a", "ucb1"),), (0,))
    assert check_targets(Results(experiment, table_of_gains({"a": [1.0]}))) == []


def test_results_without_the_papers_policies_are_refused() -> None:
    published = published_results()
    entries = tuple(replace(entry, role=None) for entry in published.experiment.entries)
    without_roles = replace(published, experiment=replace(published.experiment, entries=entries))
    with pytest.raises(InvalidSpec, match="no policy with role 'program'"):
        check_claims(without_roles, window_results(), CHANGES)
