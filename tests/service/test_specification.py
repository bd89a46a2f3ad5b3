"""From a specification to a served policy."""

from dataclasses import replace
from pathlib import Path

import pytest

from service.engines import read_spec, spec_of
from small_service import ladder_text, policy_file
from thrifty import Agent, PriceList
from thrifty.errors import ForeignFile, InvalidSpec, ThriftyError
from thrifty.service.model import Model
from thrifty.service.stores import open_store


@pytest.mark.parametrize("content", [b"no agent", b""])
def test_a_file_that_is_not_an_agent_is_named_by_its_policy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "agent.npz").write_bytes(content)
    spec = read_spec(policy_file(tmp_path, more='agent = "agent.npz"'))
    with pytest.raises(ForeignFile, match=r"^the saved agent of 'lending' was not written by"):
        Model(spec)


def test_a_policy_that_reads_prices_needs_all_of_them() -> None:
    spec = spec_of(policy="sim-oos")
    with pytest.raises(InvalidSpec, match=r"needs a list price .* these have none: 'age'"):
        Model(spec)
    prices = PriceList({"income": 0.4, "history": 1.5, "age": 0.0})
    Model(replace(spec, problem=replace(spec.problem, prices=prices)))


def test_a_changed_specification_is_refused(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    path = tmp_path / "policy.toml"
    path.write_text(ladder_text(policy="linucb"))
    store.policies.declare(read_spec(path))
    store.policies.declare(read_spec(path))
    for before, after in {
        "setup = 0.6": "setup = 0.7",
        "price = 5.0": "price = 6.0",
        "default = -900": "default = -899",
        "free = true": "free = false",
        "seed = 1": "seed = 2",
    }.items():
        path.write_text(ladder_text(policy="linucb").replace(before, after))
        with pytest.raises(InvalidSpec, match="with another specification"):
            store.policies.declare(read_spec(path))
    store.close()


def test_prices_come_from_the_list_until_something_was_bought(tmp_path: Path) -> None:
    """Income and history share a fee of 0.60; score and fraud are sold together for 5."""
    path = tmp_path / "policy.toml"
    path.write_text(ladder_text(policy="linucb"))
    model = Model(read_spec(path))
    income, history, age, score, fraud = range(5)
    assert model.expected_price([income, history]) == pytest.approx(0.4 + 1.5 + 0.6)
    assert model.expected_price([history], [income]) == 1.5
    assert model.expected_price([score, fraud]) == 5.0
    assert model.expected_price([score, age]) is None
    assert model.expected_price([]) == 0.0


def test_a_warmed_up_agent_goes_on_where_it_was(tmp_path: Path) -> None:
    spec = read_spec(policy_file(tmp_path))
    agent = Agent(spec.problem, "linucb", seed=1)
    for _ in range(20):
        case = agent.ask()
        values = dict(zip(case.buy, ("low", "clean", "old"), strict=True))
        case = agent.observe(case, values, dict.fromkeys(values, 0.1))
        agent.tell(case, 1.0)
    agent.save(tmp_path / "agent.npz")
    warm = read_spec(policy_file(tmp_path, more='agent = "agent.npz"'))
    state = Model(warm).policy.get_state()
    assert all((state[name] == array).all() for name, array in agent.policy.get_state().items())
    assert warm.digest != spec.digest
    other = replace(warm.problem, actions=("a", "b"))
    for wrong in (replace(warm, problem=other), replace(warm, policy="ucb1")):
        with pytest.raises(
            ThriftyError, match="other features, levels, edges, actions, another range"
        ):
            Model(wrong)
    with pytest.raises(ThriftyError, match=r"alpha = 0\.9"):
        Model(replace(warm, parameters={"alpha": 0.9}))
