"""Policies of your own in experiments: found, run beside the others, and sent to workers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.small_experiments import EXPERIMENT
from thrifty.errors import InvalidParameter, UnknownName
from thrifty.experiments.executors import SerialExecutor
from thrifty.experiments.makers import class_name, full_name, maker_of, source_of
from thrifty.experiments.market_strategies import STRATEGIES, PolicyStrategy, strategies_named
from thrifty.experiments.markets import MarketCache, all_trials, run_markets
from thrifty.experiments.runner import run
from thrifty.experiments.selection import with_policies
from thrifty.experiments.single_runs import run_modules, single_runs
from thrifty.experiments.spec import Entry, Target
from thrifty.policies import UCB1

OWN = '''
import numpy as np

from thrifty import Policy, Purchase
from thrifty.policies import UCB1
from thrifty.policies.linucb import LinUCB


class First(Policy):
    """Always take the first action."""

    def _choose_features(self, known):
        return Purchase.nothing(self.problem)

    def _choose_action(self, observation, available):
        return int(np.argmax(available))

    def _update(self, observation, action, reward, outcome):
        pass
'''
TWO = OWN + "\n\nclass Second(LinUCB):\n    pass\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN, encoding="utf-8")
    return path


def test_the_only_policy_of_a_file_needs_no_name(own: Path) -> None:
    assert full_name(str(own)) == f"{own}:First"
    assert class_name(full_name(str(own))) == "First"
    assert full_name("ucb1") == class_name("ucb1") == "ucb1"
    own.write_text(TWO, encoding="utf-8")
    with pytest.raises(InvalidParameter, match="has 2 policies, First, Second"):
        full_name(str(own))
    assert maker_of(f"{own}:Second").__name__ == "Second"


def test_files_without_such_a_policy(own: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"has no policy 'UCB1'.*policies are: First"):
        full_name(f"{own}:UCB1")  # imported, not its own
    with pytest.raises(InvalidParameter, match="cannot be read"):
        full_name(str(tmp_path / "nowhere.py"))
    own.write_text("import nowhere_at_all\n", encoding="utf-8")
    with pytest.raises(InvalidParameter, match=r"cannot be imported.*nowhere_at_all"):
        full_name(str(own))


def test_a_machine_without_the_file_uses_its_text(own: Path) -> None:
    """So the runs of a cluster's workers are those of this machine."""
    name, text = full_name(str(own)), source_of(f"{own}:First")
    own.unlink()
    make = maker_of(name, text)
    assert make.__name__ == "First"
    assert maker_of(name, text) is make
    with pytest.raises(InvalidParameter, match="cannot be read"):
        maker_of(name)


def test_a_run_keeps_its_result_if_the_file_moves_and_loses_it_if_it_changes(own: Path) -> None:
    def key(path: Path) -> str:
        [spec] = with_policies([replace(EXPERIMENT, entries=(), seeds=(0,))], [str(path)])
        [one] = single_runs(spec).values()
        return one.key

    before, moved = key(own), own.with_name("moved.py")
    moved.write_text(OWN, encoding="utf-8")
    assert key(moved) == before
    moved.write_text(OWN + "# changed\n", encoding="utf-8")
    assert key(moved) != before


def test_a_file_depends_on_what_it_imports(own: Path) -> None:
    modules = run_modules(f"{own}:First", "random", OWN)
    assert {"thrifty.policy", "thrifty.policies.linucb"} <= {*modules}


def test_a_policy_of_your_own_stands_beside_the_others(own: Path, tmp_path: Path) -> None:
    before = run(EXPERIMENT, tmp_path / "out", workers=1)
    [spec] = with_policies([EXPERIMENT], [str(own)])
    assert [entry.label for entry in spec.entries] == ["oracle", "ncc", "ucb1", "First"]
    added: list[int] = []
    results = run(spec, tmp_path / "out", workers=2, progress=added.append)
    assert added[0] == 12  # of 16; those of the others are reused
    mine = results.table.filter(results.table["policy"] == "First")
    assert set(mine.filter(mine["measure"] == "choices")["key"]) == {"a1", "a2"}
    assert (
        mine.filter((mine["key"] == "a1") & (mine["measure"] == "choices"))["value"].sum() == 1800
    )
    assert (
        before.table["value"].sum()
        == results.table.filter(results.table["policy"] != "First")["value"].sum()
    )


def test_names_keep_some_policies_only() -> None:
    target = Target("ncc", "ucb1", 1.0)
    spec = replace(EXPERIMENT, targets=(target,))
    [kept] = with_policies([spec], ["ucb1"])
    assert ([entry.label for entry in kept.entries], kept.targets) == (["ucb1"], ())
    [both] = with_policies([spec], ["ncc-ucrl2", "ucb1"])  # by name, and by label
    assert both.targets == (target,)
    assert with_policies([spec], []) == [spec]
    [further] = with_policies([spec], ["uniform"])
    assert further.entries == (Entry("uniform", "uniform"),)
    with pytest.raises(UnknownName, match=r"no policy 'ucb2' \(did you mean 'ucb1'\?\)"):
        with_policies([spec], ["ucb2"])


def test_experiments_without_a_chosen_policy_are_left_out() -> None:
    other = replace(EXPERIMENT, id="other", entries=(Entry("ucb1", "ucb1"),))
    chosen = with_policies([EXPERIMENT, other], ["ncc"])
    assert [one.id for one in chosen] == ["small"]


def test_a_label_is_used_once(own: Path) -> None:
    taken = replace(EXPERIMENT, entries=(Entry("First", "ucb1"),))
    [spec] = with_policies([taken], [str(own)])
    assert [entry.label for entry in spec.entries] == ["First", "First (own)"]


def test_markets_take_files_too(own: Path, tmp_path: Path) -> None:
    *others, mine = strategies_named([str(own)])
    assert tuple(others) == STRATEGIES
    assert isinstance(mine, PolicyStrategy)
    assert (mine.label, mine.past_cases, mine.source) == ("First", 0, OWN)
    only = strategies_named([str(own), "ucb1"])
    assert [strategy.label for strategy in only] == ["ucb1", "First"]
    trials = all_trials(["shop"], only, [100], rounds=200)
    table = run_markets(trials, MarketCache(tmp_path), executor=SerialExecutor())
    assert np.isfinite(table["share"].to_numpy()).all()
    assert UCB1.__module__ in only[0].modules
