"""Agents that learn from past cases first."""

import sys
from typing import Any

import numpy as np
import pytest

from history_learner import LENDING, TABLE, Learner
from thrifty import Agent
from thrifty.errors import InvalidParameter, UnknownName
from thrifty.plans.cases import PastCases
from thrifty.surveyor.history import History


def test_a_table_is_coded_and_given_to_the_policy() -> None:
    agent = Agent(LENDING, Learner, history=TABLE, target="outcome", seed=1)
    assert isinstance(agent.policy, Learner)
    assert agent.policy.counts.tolist() == [2, 1]
    assert agent.ask(free={"home": "own"}).action == "decline"


def test_past_cases_and_histories_are_given_as_they_are() -> None:
    past = PastCases(LENDING, np.zeros((1, 3), np.int16), np.array([0]), np.zeros(3, np.bool_))
    for history in (past, History.from_past_cases(past)):
        agent = Agent(LENDING, Learner, history=history)
        assert isinstance(agent.policy, Learner)
        assert agent.policy.history is history


def test_what_to_install_is_said_if_tables_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("thrifty.frames")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r"thrifty\[worth\]"):
        Agent(LENDING, Learner, history=TABLE, target="outcome")


@pytest.mark.parametrize("policy", ["scout", "ucb1", "plan"])
def test_a_policy_that_cannot_use_a_history_refuses_it(policy: str) -> None:
    with pytest.raises(InvalidParameter, match=f"{policy} cannot learn from a history"):
        Agent(LENDING, policy, history=TABLE, target="outcome")


@pytest.mark.parametrize(
    ("policy", "more", "error", "message"),
    [
        (Learner, {"target": "outcome"}, InvalidParameter, "there is no history"),
        (Learner, {"history": TABLE}, UnknownName, "no target is given"),
        (Learner(LENDING), {"history": TABLE}, InvalidParameter, "history and parameters already"),
    ],
)
def test_what_does_not_fit_is_refused(
    policy: Any, more: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Agent(LENDING, policy, **more)
