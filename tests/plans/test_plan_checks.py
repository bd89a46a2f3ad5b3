"""Small versions of `benchmarks.plan_checks` and `benchmarks.plans_on_made_up_tables`."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import plan_checks, plans_on_made_up_tables
from benchmarks.made_up_tables import MadeUpTable, interaction, screening, subgroup, useless
from benchmarks.plan_checks import Finding, check_age_marker, check_useless, judge, permuted


def assert_right(finding: Finding) -> None:
    assert finding.is_right, finding.text


def test_a_marker_that_age_overrules_is_found_beside_copies_and_noise() -> None:
    for finding in check_age_marker([1, 2], n_cases=12_000):
        assert_right(finding)


def test_where_nothing_is_informative_the_plan_acts_like_the_best_constant_action() -> None:
    for finding in check_useless([1, 2], n_cases=8_000, n_new=5_000):
        assert_right(finding)


@pytest.mark.parametrize("kind", [interaction(), screening()], ids=lambda kind: kind.name)
def test_nothing_is_recommended_if_outcomes_are_shuffled(
    kind: MadeUpTable,
) -> None:
    cases = kind.cases(1_000, seed=3)
    assert_right(judge(kind.name, permuted(cases, seed=3), seed=1))


def test_something_is_recommended_if_outcomes_are_not_shuffled() -> None:
    """The check can fail: the same table with its true outcomes is worth buying."""
    assert not judge("screening", screening().cases(1_000, seed=3), seed=1).is_right


def test_shuffling_keeps_the_frequencies_of_outcomes() -> None:
    cases = useless().cases(500, seed=1)
    shuffled = permuted(cases, seed=2)
    assert (np.bincount(shuffled.outcomes) == np.bincount(cases.outcomes)).all()
    assert (shuffled.outcomes != cases.outcomes).any()
    assert shuffled.codes is cases.codes


@pytest.mark.parametrize("kind", [interaction(), subgroup()], ids=lambda kind: kind.name)
def test_a_plan_comes_near_the_exact_best_one(
    kind: MadeUpTable,
) -> None:
    result = plans_on_made_up_tables.measure(kind, seed=1, n_cases=4_000, n_new=20_000)
    assert result.shares["plan"] > 0.9
    assert result.shares["plan"] > result.shares["cells"] + 0.2


def test_the_commands_print_their_tables(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["subgroup", "--rows", "1000", "--new", "2000", "--seeds", "2"]
    assert plans_on_made_up_tables.main(arguments) == 0
    assert "| subgroup |" in capsys.readouterr().out
    assert plan_checks.main(["useless", "--seeds", "1"]) == 0
    assert "useless: 1 of 1 right" in capsys.readouterr().out
