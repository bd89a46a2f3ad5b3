"""The sequential rule: its rate of false alarms, its power, and what it plays."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from experiments.small_experiments import EXPERIMENT
from thrifty.errors import InvalidSpec
from thrifty.experiments.executors import SerialExecutor
from thrifty.experiments.measures import totals
from thrifty.experiments.runner import RunCache
from thrifty.experiments.scores import Scores
from thrifty.experiments.spec import Entry
from thrifty.experiments.until_clear import SequentialTest, run_until_clear, step_down

LABELS = ("a", "b", "c", "d", "e")
WORLDS = ("first", "second", "third")
REPEATS = 200


def closed_pairs(values: np.ndarray, group: int = 5, flips: int = 400) -> set[tuple[str, str]]:
    """Return the pairs that are closed, group by group; values have shape (L, W, S)."""
    labels = LABELS[: len(values)]
    looks = values.shape[-1] // group
    test = SequentialTest(labels, looks, flips=flips)
    for k in range(1, looks + 1):
        test.look(Scores(labels, WORLDS[: values.shape[1]], values[..., : group * k]))
    return {(pair.better, pair.worse) for pair in test.closed}


def skewed_scores(rng: np.random.Generator, policies: int, seeds: int = 20) -> np.ndarray:
    """Return scores that share the luck of a world and seed, with skewed noise of their own."""
    shared = rng.normal(size=(1, 3, seeds))
    return shared + rng.exponential(size=(policies, 3, seeds))


def test_the_rate_of_false_alarms() -> None:
    """Five equal policies, ten pairs, four looks: at most 5 % of the runs may close any pair.

    With a true rate of 5 %, 20 or more of 200 runs do so with a probability of 0.003.
    """
    rng = np.random.default_rng(7)
    alarms = sum(bool(closed_pairs(skewed_scores(rng, 5))) for _ in range(REPEATS))
    assert alarms < 20


def test_the_rate_of_false_alarms_among_others_that_differ() -> None:
    """Three equal policies beside a better and a worse one; the same limit."""
    rng = np.random.default_rng(8)
    shift = np.array([0.0, 0.0, 0.0, 3.0, -3.0])[:, None, None]
    equal = {*product("abc", "abc")}
    alarms = sum(bool(closed_pairs(skewed_scores(rng, 5) + shift) & equal) for _ in range(REPEATS))
    assert alarms < 20


def test_the_rate_of_false_alarms_where_policies_are_equal_on_average_only() -> None:
    """Each of two policies is better in one of two worlds, by the same amount; the same limit."""
    rng = np.random.default_rng(9)
    shift = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])[:, :, None]
    alarms = sum(bool(closed_pairs(skewed_scores(rng, 2) + shift)) for _ in range(REPEATS))
    assert alarms < 20


def test_clear_differences_are_found() -> None:
    rng = np.random.default_rng(10)
    shift = np.array([2.0, 1.0, 0.0])[:, None, None]
    expected = {("a", "b"), ("a", "c"), ("b", "c")}
    assert closed_pairs(skewed_scores(rng, 3, seeds=40) + shift) == expected


def test_a_single_pair_has_the_exact_p_value() -> None:
    """Six positive differences: 2 of 64 signs give a sum as large."""
    units = np.ones((1, 6))
    rng = np.random.default_rng(0)
    assert step_down(units, 0.035, rng).tolist() == [True]
    assert step_down(units, 0.028, rng).tolist() == [False]


def test_units_that_a_pair_does_not_have_do_not_count() -> None:
    rng = np.random.default_rng(3)
    own = rng.normal(0.8, size=12)
    padded = np.concatenate([own, np.zeros(30)])
    for level in (0.001, 0.01, 0.05, 0.2):
        alone = step_down(own[None], level, np.random.default_rng(0))
        assert step_down(padded[None], level, np.random.default_rng(0)).tolist() == alone.tolist()


def test_no_difference_at_all_is_never_clear() -> None:
    assert not step_down(np.zeros((2, 8)), 0.05, np.random.default_rng(0)).any()


def test_policies_stop_when_all_of_their_pairs_are_clear(tmp_path: Path) -> None:
    """Two equal policies go on to the end; the oracle's rivals that differ from both stop."""
    entries = (
        Entry("oracle", "oracle"),
        Entry("one", "uniform"),
        Entry("two", "uniform"),
        Entry("best", "ucb1", {"alpha": 0.05}),
    )
    spec = replace(EXPERIMENT, entries=entries, seeds=tuple(range(30)))
    other = replace(spec, id="other", environment_params={**spec.environment_params, "tables": 4})
    results, decisions = run_until_clear(
        [spec, other], RunCache(tmp_path), executor=SerialExecutor(), group=10
    )
    assert ("one", "two") in decisions.open  # their scores are the same
    assert {(pair.better, pair.worse) for pair in decisions.closed} == {
        ("best", "one"),
        ("best", "two"),
    }
    assert decisions.seeds["one"] == decisions.seeds["two"] == decisions.seeds["oracle"] == 30
    assert decisions.seeds["best"] == decisions.closed[-1].seeds < 30
    counts = dict(totals(results[0].table).group_by("policy").len().iter_rows())
    assert {str(label): n for label, n in counts.items()} == decisions.seeds


def test_experiments_with_different_seeds_cannot_share_groups(tmp_path: Path) -> None:
    other = replace(EXPERIMENT, id="other", seeds=(7,))
    with pytest.raises(InvalidSpec, match="different seeds"):
        run_until_clear([EXPERIMENT, other], RunCache(tmp_path), executor=SerialExecutor())
