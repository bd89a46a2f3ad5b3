"""The paper as a whole: which experiments are run, with which seeds, for how long."""

from collections.abc import Sequence

from experiments.made_up_paper import reproduction
from figures.small_tables import table_of_gains
from thrifty.experiments.reproduction import EVALUATIONS, GRIDS, MAX_HORIZON, THEORY, reproduce
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Experiment, catalogue


def pretend(experiments: Sequence[Experiment]) -> list[Results]:
    """Return gains in the reverse order of the policies, for every experiment."""
    return [
        Results(
            experiment,
            table_of_gains(
                {entry.label: (-float(k),) for k, entry in enumerate(experiment.entries)}
            ),
        )
        for experiment in experiments
    ]


def test_everything_is_run_with_its_own_seeds() -> None:
    done = reproduce(pretend)
    known = catalogue()
    assert [result.experiment.id for result in done.all] == [
        *EVALUATIONS,
        *GRIDS,
        "nursery/published-tuned",
        *THEORY,
    ]
    for result in (done.published, done.shuffled, done.windows, *done.grids):
        assert result.experiment == known[result.experiment.id]
    assert [result.experiment.seeds for result in done.theory] == [
        known[name].seeds for name in THEORY
    ]
    assert {max(result.experiment.horizons) for result in done.theory} == {MAX_HORIZON}


def test_other_seeds_are_for_the_evaluations() -> None:
    done = reproduce(pretend, seeds=range(5, 105))
    for result in (done.published, done.shuffled, done.windows, done.tuned):
        assert result.experiment.seeds == tuple(range(5, 105))
    for result in (*done.grids, *done.theory):
        own = len(catalogue()[result.experiment.id].seeds)
        assert result.experiment.seeds == tuple(range(5, 5 + own))


def test_tuned_parameters_are_evaluated() -> None:
    done = reproduce(pretend, seeds=(0,))
    for tuned in done.tuned_parameters:  # the first of every grid gains most
        own = [
            entry
            for grid in done.grids
            for entry in grid.experiment.entries
            if entry.policy == tuned.policy
        ]
        assert tuned.params == own[0].params
        entries = {result.label: result for result in done.tuned.experiment.entries}
        assert entries[f"tuned {tuned.policy}"].params == own[0].params
    assert len(done.tuned.experiment.entries) == 2 * len(done.tuned_parameters)


def test_claims_use_the_changes_of_the_environment() -> None:
    assert len(reproduction().claims) == 10
    distance = next(
        result for result in reproduction().claims if "total variation" in result.measured
    )
    assert distance.value == 0.75  # only with a change at round 10
