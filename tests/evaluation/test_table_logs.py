"""Logs from elsewhere, through the command line: what is read, and what is refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evaluation_logs import PROBLEM, plan_of_test, random_log
from in_process import thrifty
from thrifty.evaluation.logged_cases import LoggedCases
from thrifty.plans.files import write_plan

N_CASES = 600
LOG = """
[log]
case = "id"
{more}
"""


def as_table(log: LoggedCases) -> dict[str, list[object]]:
    """Return a log as the columns of a table."""
    names = PROBLEM.feature_names
    columns: dict[str, list[object]] = {
        name: [None if code < 0 else feature.levels[code] for code in log.codes[:, i].tolist()]
        for i, (name, feature) in enumerate(zip(names, PROBLEM.features, strict=True))
    }
    return {
        "id": list(range(log.n_cases)),
        **columns,
        "action": [PROBLEM.actions[a] for a in log.actions.tolist()],
        "reward": log.rewards.tolist(),
        "action_probability": log.action_probabilities.tolist(),
        "buy_probability": []
        if log.purchase_probabilities is None
        else log.purchase_probabilities.tolist(),
    }


class Files:
    """A folder with a plan, a policy file and a log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.columns = as_table(random_log(1, N_CASES))
        write_plan(plan_of_test(), folder / "plan.json")

    def evaluate(self, *options: str, more: str = "", log: str = LOG) -> tuple[int, str]:
        """Write the files, and return exit code and output of the command."""
        (self.folder / "log.toml").write_text(log.format(more=more), encoding="utf-8")
        pl.DataFrame(self.columns).write_csv(self.folder / "log.csv")
        paths = self.folder / "log.csv", self.folder / "plan.json"
        done = thrifty("evaluate", *paths, "--policy", self.folder / "log.toml", *options)
        return done.returncode, done.stderr if done.returncode else done.stdout


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_table_is_evaluated(files: Files) -> None:
    code, shown = files.evaluate("--against", "current")
    assert code == 0, shown
    for text in ("direct", "weighted", "self-normalised", "doubly robust", "current policy"):
        assert text in shown
    assert "The target pays 1.00 per case, at list prices." in shown


def test_json(files: Files) -> None:
    code, shown = files.evaluate("--json")
    assert code == 0, shown
    found = json.loads(shown)
    assert found["evaluated"] == "fixed"
    assert list(found["gain_per_case"]) == [
        "direct",
        "weighted",
        "self-normalised",
        "doubly robust",
    ]
    assert found["cases"] == N_CASES
    robust = found["gain_per_case"]["doubly robust"]
    assert robust["low"] < robust["mean"] < robust["high"]


def test_paid_costs_and_flags(files: Files) -> None:
    """A test that was bought and not obtained is known to have been bought by its flag."""
    bought = [value is not None for value in files.columns["test"]]
    files.columns["has_test"] = [int(flag) for flag in bought]
    files.columns["has_scan"] = [int(value is not None) for value in files.columns["scan"]]
    files.columns["paid_test"] = [1.5 if flag else None for flag in bought]
    files.columns["paid_scan"] = [2.0 if value else None for value in files.columns["scan"]]
    more = 'bought = "has_{feature}"\ncost = "paid_{feature}"'
    code, shown = files.evaluate("--costs", "paid", more=more)
    assert code == 0, shown
    assert "The target pays 1.50 per case, at the prices paid in the log." in shown
    code, shown = files.evaluate(more=more)
    assert "'test' has the list price 1, but 1.5 was paid on average" in shown
    row = bought.index(True)
    paid = files.columns["paid_test"]
    for cost, says in ((None, "bought in 1 cases without a cost"), (np.inf, "the cost inf for")):
        files.columns["paid_test"] = [*paid[:row], cost, *paid[row + 1 :]]
        assert says in files.evaluate(more=more)[1]
    files.columns["paid_test"] = paid
    files.columns["has_test"] = [None, *files.columns["has_test"][1:]]
    code, shown = files.evaluate(more=more)
    assert (code, "write 1 or 0" in shown) == (2, True)


def test_probabilities_by_feature(files: Files) -> None:
    log = random_log(1, N_CASES, by_feature=True)
    assert log.feature_probabilities is not None
    for i, name in enumerate(PROBLEM.feature_names):
        files.columns[f"p_{name}"] = log.feature_probabilities[:, i].tolist()
    code, shown = files.evaluate(more='feature_probability = "p_{feature}"')
    assert code == 0, shown


def test_outcomes_instead_of_rewards(files: Files) -> None:
    rewards = files.columns.pop("reward")
    files.columns["what"] = ["ill" if abs(float(str(r))) == 10 else "well" for r in rewards]
    code, shown = files.evaluate(more='outcome = "what"')
    assert code == 0, shown


def test_cases_without_a_reward_are_left_out(files: Files) -> None:
    files.columns["reward"] = [None, *files.columns["reward"][1:]]
    code, shown = files.evaluate()
    assert code == 0, shown
    assert f"1 of {N_CASES} cases have no reward" in shown


def test_copies_are_noted_if_no_column_names_the_cases(files: Files) -> None:
    files.columns = {name: [*values, values[0]] for name, values in files.columns.items()}
    unnamed = LOG.replace('case = "id"', "")
    code, shown = files.evaluate(log=unnamed)
    assert code == 0, shown
    told = " ".join(shown.split())
    assert f"2 of {N_CASES + 1} rows are equal to another row" in told
    assert "appears 2 times" in files.evaluate()[1]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("action_probability", 0.0, "case 0 has the probability 0 of its action"),
        ("action_probability", 1.5, "case 0 has the probability 1.5 of its action"),
        ("action_probability", None, "case 0 has no probability of its action"),
        ("buy_probability", 0.0, "case 0 has the probability 0 of its purchases"),
        ("buy_probability", -0.1, "case 0 has the probability -0.1 of its purchases"),
        ("buy_probability", None, "case 0 has no probability of its purchases"),
        ("id", 7, "case 7 appears 2 times"),
        ("id", None, "'id', which names the cases, is empty in row 1 and in 1 of 600 rows"),
        ("reward", 11.0, "the reward 11, outside the declared range from -10 to 10"),
        ("action", "operate", "'operate', which is not an action"),
    ],
)
def test_a_bad_case_is_refused(files: Files, column: str, value: object, message: str) -> None:
    files.columns[column] = [value, *files.columns[column][1:]]
    code, told = files.evaluate()
    assert code == 2
    assert message in told
    assert told.startswith("thrifty: ")
    assert told.count("\n") == 1


def test_a_reward_that_is_not_a_number_is_refused(files: Files) -> None:
    files.columns["reward"] = ["lost", *map(str, files.columns["reward"][1:])]
    code, told = files.evaluate()
    assert (code, "case 0 has a reward that is not a number" in told) == (2, True)


def test_no_overlap_is_refused(files: Files) -> None:
    files.columns["test"] = [None] * N_CASES
    code, told = files.evaluate()
    assert code == 2
    assert "only 0 of 600 logged cases show what the target would look at" in told


def test_missing_columns_are_named(files: Files) -> None:
    del files.columns["buy_probability"]
    code, told = files.evaluate()
    assert code == 2
    assert "no column 'buy_probability': estimates" in told  # not: did you mean action_probability
    assert "estimates divide by the probability of the purchases" in told


def test_a_key_that_does_not_exist_is_refused(files: Files) -> None:
    code, told = files.evaluate(more='bougth = "has_{feature}"')
    assert code == 2
    assert "bought" in told
    code, told = files.evaluate(more='bought = "has"')
    assert (code, "{feature}" in told) == (2, True)


def test_orders_of_purchases(files: Files) -> None:
    """The same sets in two orders, each with half the probability, are told apart by a column."""
    rng = np.random.default_rng(1)
    probabilities = [float(str(p)) / 2 for p in files.columns["buy_probability"]]
    files.columns["buy_probability"] = list(probabilities)
    code, told = files.evaluate()
    assert (code, "name the column of the order in [log] sequence" in told) == (2, True)
    first = rng.integers(0, 2, N_CASES)
    files.columns["order"] = [
        f"{k}{'t' * (test is not None)}{'s' * (scan is not None)}"
        for k, test, scan in zip(first, files.columns["test"], files.columns["scan"], strict=True)
    ]
    code, shown = files.evaluate(more='sequence = "order"')
    assert code == 0, shown
