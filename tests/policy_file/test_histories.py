"""`history` and `policy = "auto"` in policy.toml."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

from history_learner import LENDING, TABLE, Learner
from thrifty import Agent
from thrifty.errors import InvalidSpec
from thrifty.policies import registry
from thrifty.policy_file import parse_policy_file, parse_spec, read_spec, to_toml
from thrifty.service.model import smoke_test
from thrifty.specification import PolicySpec

TEXT = """
[policy]
name = "lending"
policy = "learner"
history = "cases.parquet"

[table]
target = "outcome"
missing = ["none"]

[[features]]
name = "home"
levels = ["rent", "own"]
free = true

[[features]]
name = "income"
edges = [20, 40]
price = 1.0

[[features]]
name = "score"
edges = [500, 600]
missing = true
price = 2.0

[outcomes]
names = ["repaid", "default"]
rewards = {approve = {repaid = 10, default = -90}, decline = 0}
"""


@pytest.fixture(autouse=True)
def learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "POLICIES", {**registry.POLICIES, "learner": Learner})


def spec_of(folder: Path, text: str = TEXT) -> PolicySpec:
    pl.DataFrame(TABLE).write_parquet(folder / "cases.parquet")
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return read_spec(folder / "policy.toml")


def test_the_specification_holds_what_was_learnt(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    assert spec.problem == LENDING
    assert spec.agent is not None
    assert spec.digest == spec_of(tmp_path).digest
    (tmp_path / "cases.parquet").unlink()
    stored = PolicySpec.from_dict(spec.to_dict(), spec.agent)
    smoke_test(stored)
    policy = Agent.from_spec(stored).policy
    assert isinstance(policy, Learner)
    assert policy.counts.tolist() == [2, 1]


def test_an_agent_from_a_file_starts_from_the_history(tmp_path: Path) -> None:
    spec_of(tmp_path)
    agent = Agent.from_file(tmp_path / "policy.toml")
    assert agent.ask(free={"home": "own"}).action == "decline"
    agent.save(tmp_path / "agent.npz")  # as any other agent


def test_notes_about_the_history_are_given_to_the_caller(tmp_path: Path) -> None:
    spec_of(tmp_path, TEXT.replace('"rent", "own"', '"rent", "boat"'))
    notes: list[str] = []
    read_spec(tmp_path / "policy.toml", notify=notes.append)
    assert notes == ["history: 2 values of 'home' are new, such as 'own', and count as missing"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('policy = "learner"', 'policy = "ucb1"', "ucb1 cannot learn from a history"),
        ("[table]", 'agent = "agent.npz"\n[table]', "history = 'cases.parquet' and agent"),
        ("cases.parquet", "cases.csv", "cases.csv cannot be read"),
        ('target = "outcome"', 'target = "result"', "'result', but the history has no such column"),
        ("repaid", "paid", "contains 'repaid', which is not an outcome"),
        (
            "edges = [20, 40]",
            'levels = ["a & b"]\nparts = [{name = "a", levels = ["a"]}]',
            "'income' has parts",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "agent.npz").write_bytes(b"")
    with pytest.raises(InvalidSpec, match=message):
        spec_of(tmp_path, TEXT.replace(old, new))


def test_a_history_needs_a_folder() -> None:
    with pytest.raises(InvalidSpec, match="use read_spec"):
        parse_spec(tomllib.loads(TEXT))


def test_auto_becomes_what_it_chooses(tmp_path: Path) -> None:
    plain = TEXT.replace('history = "cases.parquet"\n', "").replace('"learner"', '"auto"')
    assert spec_of(tmp_path, plain).policy == "surveyor"
    assert spec_of(tmp_path, plain.replace('policy = "auto"\n', "")).policy == "surveyor"
    with pytest.raises(InvalidSpec, match=r"Surveyor, which 'auto' .* 'recall'"):
        spec_of(tmp_path, plain.replace("[table]", "recall = false\n[table]"))
    categories = plain.replace("edges = [20, 40]", 'levels = ["a", "b"]').replace(
        "edges = [500, 600]\nmissing = true", 'levels = ["a", "b"]'
    )
    spec = spec_of(tmp_path, categories.replace("[table]", "horizon = 100\n[table]"))
    assert (spec.policy, dict(spec.parameters)) == ("scout", {})
    unpriced = plain.replace("price = 1.0", "")
    assert spec_of(tmp_path, unpriced).policy == "scout"


def test_auto_with_a_saved_agent_is_what_was_saved(tmp_path: Path) -> None:
    Agent(LENDING, Learner, seed=1).save(tmp_path / "agent.npz")
    text = TEXT.replace('history = "cases.parquet"', 'agent = "agent.npz"')
    spec = spec_of(tmp_path, text.replace('"learner"', '"auto"'))
    assert spec.policy == "learner"
    assert isinstance(Agent.from_spec(spec).policy, Learner)


def test_a_file_keeps_its_history_when_it_is_read_and_written() -> None:
    file = parse_policy_file(tomllib.loads(TEXT))
    assert parse_policy_file(tomllib.loads(to_toml(file))) == file
