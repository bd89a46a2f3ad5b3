"""The paper as a whole: which experiments are run, with which seeds, for how long."""

from collections.abc import Sequence

from experiments.made_up_paper import reproduction
from figures.small_tables import table_of_gains
from thrifty.experiments.reproduction import EVALUATED, GRIDS, LONGEST, THEORY, reproduce
from thrifty.experiments.results import Results
from thrifty.experiments.spec import Experiment, catalogue


def pretended(experiments: Sequence[Experiment]) -> list[Results]:
    """Give the policies of every experiment gains in the reverse of their order."""
    return [
        Results(
            it, table_of_gains({entry.label: (-float(k),) for k, entry in enumerate(it.entries)})
        )
        for it in experiments
    ]


def test_everything_is_run_with_its_own_seeds() -> None:
    done = reproduce(pretended)
    known = catalogue()
    assert [it.experiment.id for it in done.all] == [
        *EVALUATED,
        *GRIDS,
        "nursery/published-tuned",
        *THEORY,
    ]
    for it in (done.published, done.shuffled, done.windows, *done.grids):
        assert it.experiment == known[it.experiment.id]
    assert [it.experiment.seeds for it in done.theory] == [known[name].seeds for name in THEORY]
    assert {max(it.experiment.horizons) for it in done.theory} == {LONGEST}


def test_other_seeds_are_for_the_evaluations() -> None:
    done = reproduce(pretended, seeds=range(5, 105))
    for it in (done.published, done.shuffled, done.windows, done.judged):
        assert it.experiment.seeds == tuple(range(5, 105))
    for it in (*done.grids, *done.theory):
        own = len(catalogue()[it.experiment.id].seeds)
        assert it.experiment.seeds == tuple(range(5, 5 + own))


def test_the_choices_of_the_grids_are_judged() -> None:
    done = reproduce(pretended, seeds=(0,))
    for choice in done.chosen:  # the first of every grid gains most
        own = [
            entry
            for grid in done.grids
            for entry in grid.experiment.entries
            if entry.policy == choice.policy
        ]
        assert choice.params == own[0].params
        judged = {it.label: it for it in done.judged.experiment.entries}
        assert judged[f"tuned {choice.policy}"].params == own[0].params
    assert len(done.judged.experiment.entries) == 2 * len(done.chosen)


def test_claims_are_cut_at_the_changes_of_the_world() -> None:
    assert len(reproduction().claims) == 10
    distance = next(it for it in reproduction().claims if "total variation" in it.measured)
    assert distance.value == 0.75  # only with a change at round 10
