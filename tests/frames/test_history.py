"""Reading past cases, of which not everything is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest

from history_learner import LENDING, TABLE
from thrifty.errors import InvalidParameter, InvalidTable, ThriftyError, UnknownName
from thrifty.frames.history import HistoryFormat, read_history
from thrifty.plans.cases import PastCases
from thrifty.problem import Bundle, Feature, PriceList, Problem
from thrifty.surveyor.history import History

CODES = [[0, 0, 1], [1, -1, 2], [1, 1, 3], [0, 2, 0]]


def test_columns_are_coded_by_the_features_of_the_problem() -> None:
    history = read_history(TABLE, LENDING, target="outcome")
    assert history.codes.tolist() == CODES
    # A feature with a level for missing values has no value that was not bought.
    assert (~history.settled).tolist() == [[False, k == 1, False] for k in range(4)]
    assert history.possible.tolist() == [[False, True], [True, False], [True, True], [True, False]]
    assert history.free.tolist() == [True, False, False]
    assert history.is_complete.tolist() == [True, False, True, True]
    assert history.is_labelled.tolist() == [True, True, False, True]


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars"])
def test_every_kind_of_table(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(TABLE)
    source: Any = frame
    if kind == "csv":
        frame.write_csv(source := tmp_path / "cases.csv")
    elif kind == "parquet":
        frame.write_parquet(source := tmp_path / "cases.parquet")
    elif kind == "pandas":
        source = pd.DataFrame(TABLE)
    assert read_history(source, LENDING, target="outcome").codes.tolist() == CODES


def test_without_a_target_actions_and_rewards_tell_the_outcome() -> None:
    log = {
        **{name: TABLE[name] for name in LENDING.feature_names},
        "action": ["approve", "decline", "approve", None],
        "reward": [-90, 0, 10, None],
    }
    history = read_history(log, LENDING)
    assert history.possible.tolist() == [[False, True], [True, True], [True, False], [True, True]]


def test_a_bundle_is_bought_as_a_whole() -> None:
    problem = Problem(
        [Feature("T3", ("low", "high")), Feature("T4", ("low", "high"))],
        LENDING.actions,
        outcomes=LENDING.outcomes,
        prices=PriceList(bundles=[Bundle("blood", ("T3", "T4"), 5.0)]),
    )
    table = {"T3": ["low", None], "T4": [None, None], "outcome": ["repaid", "default"]}
    history = read_history(table, problem, target="outcome")
    assert history.settled.tolist() == [[True, True], [False, False]]
    assert not history.free.any()


def test_new_values_were_bought_and_are_noted() -> None:
    history = read_history(
        {**TABLE, "home": ["rent", "boat", "own", "own"]}, LENDING, target="outcome"
    )
    assert history.codes[1].tolist() == [-1, -1, 2]
    assert history.settled[1].tolist() == [True, False, True]
    assert history.notes == ("1 values of 'home' are new, such as 'boat', and count as missing",)


def test_dates_of_named_periods_and_words_for_missing_values() -> None:
    problem = Problem(
        [Feature("opened", ("2023", "2024")), Feature("income", ("low", "high"))],
        LENDING.actions,
        outcomes=LENDING.outcomes,
    )
    table = {
        "opened": ["2023-05-01", "2024-01-01", "none"],
        "income": ["low", "unknown", "high"],
        "outcome": ["repaid", "default", "repaid"],
    }
    form = HistoryFormat(
        missing=("none",), absent={"income": ("unknown",)}, periods={"opened": (1704067200.0,)}
    )
    history = read_history(table, problem, target="outcome", table_format=form)
    assert history.codes.tolist() == [[0, 0], [1, -1], [-1, 1]]
    assert not history.free.any()  # without any prices it is not known what is free


@pytest.mark.parametrize(
    ("changes", "target", "error", "message"),
    [
        (
            {"outcome": ["paid", None, None, None]},
            "outcome",
            InvalidTable,
            "contains 'paid'.*'repaid'",
        ),
        ({"outcome": [None] * 4}, "outcome", InvalidTable, "no case .* in column 'outcome'"),
        ({}, "outcom", UnknownName, "did you mean 'outcome'"),
        ({}, None, UnknownName, "no column 'action'.*Name the column of outcomes as target"),
        ({"action": ["buy"] * 4, "reward": [0] * 4}, None, InvalidTable, "'buy'.*'approve'"),
        ({"action": ["approve"] * 4, "reward": [3] * 4}, None, InvalidTable, "case 1 .*pays 10"),
        (
            {"action": ["decline"] * 4, "reward": [0] * 4},
            None,
            InvalidTable,
            "'action' and 'reward'",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    changes: dict[str, Any], target: str | None, error: type[ThriftyError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_history({**TABLE, **changes}, LENDING, target=target)


def test_every_feature_needs_a_column() -> None:
    table = {name: values for name, values in TABLE.items() if name != "score"}
    with pytest.raises(UnknownName, match=r"feature 'score'.*add it, empty where"):
        read_history(table, LENDING, target="outcome")


def test_a_history_needs_declared_outcomes() -> None:
    problem = Problem(LENDING.features, LENDING.actions)
    with pytest.raises(InvalidParameter, match="declares no outcomes"):
        read_history(TABLE, problem, target="outcome")


def test_past_cases_are_a_complete_history() -> None:
    codes = np.array([[0, 1, 3], [1, -1, 0]], np.int16)
    past = PastCases(LENDING, codes, np.array([1, 0]), np.array([True, False, False]))
    history = History.from_past_cases(past)
    assert history.settled.all()
    assert history.possible.tolist() == [[False, True], [True, False]]
    assert history.codes.tolist() == codes.tolist()
    history.require_problem(LENDING)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settled": np.zeros((1, 2), np.bool_)}, "not settled"),
        ({"codes": np.array([[0, -2]])}, "less than -1"),
        ({"possible": np.zeros((1, 2), np.bool_)}, "no possible outcome"),
        ({"possible": np.ones((1, 2), np.bool_)}, "nothing is known"),
        ({"free": np.zeros(3, np.bool_)}, "shapes"),
    ],
)
def test_an_inconsistent_history_is_refused(changes: dict[str, Any], message: str) -> None:
    given = {
        "codes": np.array([[0, 1]]),
        "settled": np.ones((1, 2), np.bool_),
        "possible": np.array([[True, False]]),
        "free": np.zeros(2, np.bool_),
    }
    with pytest.raises(InvalidTable, match=message):
        History(**{**given, **changes})


def test_a_history_of_another_problem_is_refused() -> None:
    history = read_history(TABLE, LENDING, target="outcome")
    with pytest.raises(InvalidTable, match=r"\(3, 2\).*\(2, 2\)"):
        history.require_problem(Problem(LENDING.features[:2], LENDING.actions, LENDING.outcomes))
    fewer = (*LENDING.features[:1], Feature("income", ("low",)), LENDING.features[2])
    with pytest.raises(InvalidTable, match="code 2 of feature 'income'"):
        history.require_problem(Problem(fewer, LENDING.actions, LENDING.outcomes))
