"""Comparisons of policies: within an experiment, and across experiments."""

from dataclasses import replace

import pytest

from figures.small_tables import results_of, table_of, table_of_gains, table_of_regrets
from thrifty.commands.regret_tables import regrets_as_dict
from thrifty.errors import InvalidSpec, InvalidTable, UnknownName
from thrifty.experiments.comparison import (
    combine,
    compare_gains,
    compare_leader,
    find_leader,
    has_usual_length,
    mean_regrets,
    require_single_regret,
)
from thrifty.experiments.measures import holm
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Entry, Experiment, find

GAINS = results_of(table_of_gains({"Oracle": [9.0, 9.0], "A": [4.0, 6.0], "B": [1.0, 2.0]}))


def test_gains_are_compared_with_the_best_but_the_oracle() -> None:
    comparison = compare_gains([GAINS])
    assert comparison.reference.policy == "A"
    assert comparison.reference.wins == 1.0
    assert [row.policy for row in comparison.others] == ["Oracle", "B"]
    assert [(pair.policy, pair.other, pair.mean) for pair in comparison.differences] == [
        ("Oracle", "A", 4.0),
        ("B", "A", -3.5),
    ]


def test_gains_are_compared_with_any_policy() -> None:
    comparison = compare_gains([GAINS], "Oracle")
    assert [pair.mean for pair in comparison.differences] == [-4.0, -7.5]
    with pytest.raises(UnknownName, match=r"'C'.*Oracle, A, B"):
        compare_gains([GAINS], "C")


def test_the_oracle_alone_is_not_compared() -> None:
    with pytest.raises(InvalidTable, match="no policy except the oracle"):
        compare_gains([results_of(table_of("Oracle"))])


def test_runs_that_several_results_have_are_kept_once() -> None:
    more = results_of(table_of_gains({"A": [4.0, 6.0], "C": [7.0, 7.0]}))
    combined = combine([GAINS, more])
    assert [entry.label for entry in combined.experiment.entries] == ["Oracle", "A", "B", "C"]
    assert len(combined.table) == len(GAINS.table) + len(more.table) // 2
    assert compare_gains([GAINS, more]).reference.policy == "C"


def test_results_that_cannot_be_paired_are_refused() -> None:
    elsewhere = replace(GAINS, experiment=replace(GAINS.experiment, environment="one-relevant"))
    with pytest.raises(InvalidTable, match="different environments"):
        combine([GAINS, elsewhere])
    entries = tuple(replace(entry, params={"alpha": 1}) for entry in GAINS.experiment.entries)
    changed = replace(GAINS, experiment=replace(GAINS.experiment, entries=entries))
    with pytest.raises(InvalidTable, match="other parameters"):
        combine([GAINS, changed])


def results(name: str, regrets: dict[str, list[float]], horizon: int = 20) -> Results:
    table = table_of_regrets({label: {horizon: values} for label, values in regrets.items()})
    entries = tuple(Entry(label, "ucb1") for label in ("A", "B", "C"))
    return Results(Experiment(name, name, "random", entries, (0, 1, 2)), table)


FIRST = results("w/first", {"A": [1.0, 1.0, 1.0], "B": [3.0, 5.0, 4.0]})
SECOND = results("w/second", {"A": [5.0, 6.0, 7.0], "B": [9.0] * 3, "C": [4.0] * 3})


def test_the_leader_has_the_lowest_mean_regret_of_those_in_every_experiment() -> None:
    assert mean_regrets(FIRST) == {"A": 1.0, "B": 4.0}
    assert find_leader([FIRST, SECOND]) == "A"  # C is not in the first
    assert find_leader([SECOND]) == "C"
    assert find_leader([results_of(table_of("Oracle"))]) is None


def test_the_leader_is_compared_with_the_best_other_policy_of_each_experiment() -> None:
    found = compare_leader([FIRST, SECOND])
    pairs = [comparison.difference for comparison in found.values()]
    assert [(pair.policy, pair.other, pair.mean) for pair in pairs] == [
        ("A", "B", -3.0),
        ("A", "C", 2.0),
    ]
    corrected = holm([pair.p_value for pair in pairs])
    assert [comparison.p_holm for comparison in found.values()] == corrected
    plain = regrets_as_dict([FIRST, SECOND])
    assert [plain[name]["comparison"]["p_holm"] for name in found] == corrected


def test_one_policy_alone_is_not_compared() -> None:
    assert compare_leader([results_of(table_of("Oracle"))]) == {}
    assert compare_leader([results_of(table_of("UCB1"))]) == {}


def test_the_usual_length_is_the_most_common() -> None:
    long = results("w/long", {"A": [500.0]}, horizon=900)
    assert has_usual_length([FIRST, long, SECOND]).tolist() == [True, False, True]


@pytest.mark.parametrize("name", ["nursery/tuning", "theory/stationary"])
def test_experiments_without_a_single_regret_are_refused(name: str) -> None:
    require_single_regret([find("nursery/published")])
    with pytest.raises(InvalidSpec, match=f"by its id: nursery/published, {name}"):
        require_single_regret([find("nursery/published"), find(name)])
