"""policy.toml: what is read, and what is refused with the reason."""

from dataclasses import replace
from pathlib import Path

import pytest

from small_service import policy_file, policy_text
from thrifty import Agent
from thrifty.errors import ForeignFile, InvalidSpec, ThriftyError
from thrifty.service.model import Model
from thrifty.service.specification import PolicySpec, read_spec


def test_everything_is_read(tmp_path: Path) -> None:
    rule = 'rule = "sum"\ndeadline = "14d"\ndefault = -5\nlearn_late = true'
    spec = read_spec(policy_file(tmp_path, more="alpha = 0.3", rule=rule))
    assert (spec.id, spec.policy, spec.seed) == ("default/lending", "linucb", 1)
    assert spec.parameters == {"alpha": 0.3}
    assert [it.name for it in spec.features] == ["income", "history", "age"]
    assert spec.by_name["age"].level(60) == "middle"
    assert spec.by_name["age"].level(60.1) == "old"
    assert (spec.scale.unit, spec.scale.low, spec.scale.high) == ("EUR", -900, 120)
    assert (spec.rule.rule, spec.rule.deadline, spec.rule.default) == ("sum", 14 * 86400, -5)
    assert spec.rule.learn_late
    assert PolicySpec.from_dict(spec.to_dict()) == spec


@pytest.mark.parametrize("content", [b"no agent", b""])
def test_what_is_no_saved_agent_is_named_by_its_policy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "agent.npz").write_bytes(content)
    spec = read_spec(policy_file(tmp_path, more='agent = "agent.npz"'))
    with pytest.raises(ForeignFile, match=r"^the saved agent of 'lending' was not written by"):
        Model(spec)


def test_a_number_in_quotes_is_told_apart_from_a_level(tmp_path: Path) -> None:
    age = read_spec(policy_file(tmp_path)).by_name["age"]
    assert (age.level("old"), age.level(44)) == ("old", "middle")
    with pytest.raises(InvalidSpec, match="'44' is a text and no level: give a number, without"):
        age.level("44")


def test_defaults(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(
        '[policy]\nname = "p"\n[[features]]\nname = "x"\nlevels = ["0", "1"]\n'
        '[actions]\nnames = ["a", "b"]\n'
    )
    spec = read_spec(path)
    assert (spec.policy, spec.seed, spec.tenant) == ("scout", 0, "default")
    assert (spec.scale.low, spec.scale.high) == (0, 1)
    assert (spec.rule.rule, spec.rule.deadline, spec.rule.default) == ("first", 7 * 86400, None)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[policy]", "[polic]", "the file has no 'policy', which must be a table"),
        ('name = "lending"', 'name = "a/b"', "1 to 64 letters"),
        ('name = "lending"', "name = 5", "must be a text"),
        ('policy = "linucb"', 'policy = "linusb"', "there is no policy 'linusb'"),
        ('policy = "linucb"', 'policy = "oracle"', "cannot serve"),
        ("seed = 1", "seed = -1", "a whole number"),
        ("seed = 1", "seed = true", "a whole number"),
        ("seed = 1", "speed = 1", "no parameter 'speed'"),
        ("seed = 1", 'agent = "nowhere.npz"', "cannot be read"),
        ('name = "income"', 'name = "history"', "stands twice"),
        ('name = "income"', 'name = ""', "not a name"),
        ('name = "income"', 'name = "a\\u0000b"', "control characters"),
        ("price = 0.4", "price = -1", "0 <= value"),
        ("price = 0.4", "price = nan", "0 <= value"),
        ("price = 0.4", "cost = 0.4", "unknown keys ['cost']: it can have name, levels"),
        ('levels = ["low", "high"]', 'levels = ["low", "low"]', "stands twice"),
        ('levels = ["low", "high"]', "levels = [1, 2]", "give texts"),
        ('levels = ["low", "high"]', "levels = []", "no levels"),
        ("edges = [30, 60]", "edges = [60, 30]", "finite numbers that rise"),
        ("edges = [30, 60]", "edges = [30, inf]", "finite numbers that rise"),
        ("edges = [30, 60]", "edges = [10, 20, 30]", "name every bin"),
        ('names = ["decline", "approve"]', "names = []", "nothing to do"),
        ("low = -900", "low = 200", "low must be below high"),
        ("low = -900", "low = -inf", "must be a number"),
        ("[reward_rule]", '[reward_rule]\nrule = "best"', "use one of first, last, sum"),
        ("[reward_rule]", '[reward_rule]\ndeadline = "soon"', "30m, 12h or 14d"),
        ("[reward_rule]", "[reward_rule]\ndeadline = 0", "30m, 12h or 14d"),
        ("[reward_rule]", "[reward_rule]\ndefault = 121", "must be a number with"),
        ("[reward_rule]", "[rewards_rule]", "unknown keys ['rewards_rule']"),
        ("[policy]", "[policy", "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_refused(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    text = policy_text()
    assert before in text
    path = tmp_path / "policy.toml"
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(InvalidSpec) as caught:
        read_spec(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_warmed_up_agent_goes_on_where_it_was(tmp_path: Path) -> None:
    spec = read_spec(policy_file(tmp_path))
    agent = Agent(spec.problem, "linucb", seed=1)
    for _ in range(20):
        round_ = agent.ask()
        values = dict(zip(round_.features, ("low", "clean", "old"), strict=True))
        round_.act(values, dict.fromkeys(values, 0.1))
        agent.tell(round_.id, 1.0)
    agent.save(tmp_path / "agent.npz")
    warm = read_spec(policy_file(tmp_path, more='agent = "agent.npz"'))
    state = Model(warm).policy.get_state()
    assert all((state[name] == array).all() for name, array in agent.policy.get_state().items())
    assert warm.digest != spec.digest
    for wrong in (replace(warm, actions=("a", "b")), replace(warm, policy="ucb1")):
        with pytest.raises(ThriftyError, match="other features, levels, actions or another policy"):
            Model(wrong)
    with pytest.raises(ThriftyError, match=r"alpha = 0\.9"):
        Model(replace(warm, parameters={"alpha": 0.9}))
