"""policy.toml: what is read, by hand-written examples."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from thrifty import Agent, Bundle, Feature, Group, Outcomes, PriceList, RewardRange
from thrifty.errors import InvalidSpec
from thrifty.policy_file import (
    build_spec,
    from_prices,
    parse_policy_file,
    parse_spec,
    read_policy_file,
    read_spec,
    to_toml,
)
from thrifty.policy_file.model import PriceColumn
from thrifty.policy_file.old_formats import POLICY, PRICE_LIST
from thrifty.specification import PolicySpec, RewardRule

OLD = Path(__file__).with_name("release_0_1")
DIGESTS = {
    # what release 0.1 computed for these files, and stores keep
    "lending.toml": "5dab6c818466e2de30f477b1b77e803c6f12881b9144b6a8e5c74d74c754c40a",
    "warm.toml": "91f7d539214a728da465e3ff26a6e2f52955948f60ddac798c571644bb399464",
    "worth.toml": "ae310ad16fe4726b1cac1009a2186442436f2ebacdaf210076095bd552ef55e2",
}
COMPLETE = """
[policy]
name = "lending"
policy = "linucb"
seed = 1
alpha = 0.3
tenant = "bank"

[[features]]
name = "income"
levels = ["low", "high"]
price = 0.4

[[features]]
name = "age"
edges = [30, 60]
missing = "unknown"
free = true

[[features]]
name = "town"
levels = ["Rome", "elsewhere"]
other = "elsewhere"
missing = true

[[features]]
name = "TSH"
levels = ["low", "high"]
edges = [2.5]
price = 20.68

[[features]]
name = "T3"
edges = [1.5, 3]
levels = ["low", "normal", "high"]
price = {column = "t3_price"}

[[features]]
name = "score"
edges = [500]

[[features]]
name = "history"
levels = ["none", "clean", "arrears"]

[[groups]]
name = "blood"
features = ["TSH", "T3"]
setup = 2.10

[[bundles]]
name = "report"
features = ["score", "history"]
price = 5

[actions]
names = ["decline", "approve"]

[rewards]
unit = "EUR"

[outcomes]
names = ["repaid", "default"]
[outcomes.rewards]
approve = {repaid = 120, default = -900}
decline = 0

[reward_rule]
rule = "sum"
deadline = "14d"
default = -5
learn_late = true
"""
PRICES = """
target = "outcome"
time = "day"
currency = "EUR"
encoding = "latin-1"
separator = ";"
actions = ["decline", "approve"]
missing = ["?"]
free = ["channel"]
leave_out = ["id"]
[prices]
income = 6
history = {column = "history_price"}
bureau = "bureau_price"
report = {columns = ["a", "b"], price = 2}
[bundles.phone]
columns = ["contract", "tenure"]
price = {column = "phone_price"}
[rewards]
approve = {repaid = 120, default = -900}
decline = 0
[columns.income]
kind = "number"
bins = 4
edges = [1, 2]
missing = ["-1"]
[columns.tenure]
levels = 8
[columns.when]
period = "month"
"""


def test_everything_is_read() -> None:
    spec = parse_spec(tomllib.loads(COMPLETE))
    assert (spec.id, spec.policy, spec.seed) == ("bank/lending", "linucb", 1)
    assert spec.parameters == {"alpha": 0.3}
    assert spec.free == ("age",)
    assert spec.problem.features == (
        Feature("income", ("low", "high")),
        Feature.number("age", (30, 60), missing="unknown"),
        Feature("town", ("Rome", "elsewhere", "(missing)"), (), "(missing)", "elsewhere"),
        Feature.number("TSH", (2.5,), levels=("low", "high")),
        Feature.number("T3", (1.5, 3), levels=("low", "normal", "high")),
        Feature.number("score", (500,)),
        Feature("history", ("none", "clean", "arrears")),
    )
    assert spec.problem.actions == ("decline", "approve")
    assert spec.problem.prices == PriceList(
        {"income": 0.4, "TSH": 20.68},
        [Group("blood", ("TSH", "T3"), 2.1)],
        [Bundle("report", ("score", "history"), 5)],
    )
    assert spec.problem.outcomes == Outcomes(
        ("repaid", "default"), {"decline": 0, "approve": {"repaid": 120, "default": -900}}
    )
    assert spec.problem.rewards == RewardRange(-900, 120, "EUR")
    assert spec.rule == RewardRule("sum", 14 * 86400.0, -5.0, True)
    assert PolicySpec.from_dict(spec.to_dict()) == spec


def test_defaults() -> None:
    content = {
        "policy": {"name": "p"},
        "features": [{"name": "x", "levels": ["0", "1"]}],
        "actions": {"names": ["a", "b"]},
    }
    spec = parse_spec(content)
    assert (spec.policy, spec.seed, spec.tenant) == ("scout", 0, "default")
    assert (spec.problem.rewards, spec.problem.prices) == (RewardRange(0, 1), None)
    assert spec.rule == RewardRule("first", 7 * 86400.0, None, False)
    assert parse_spec({**content, "rewards": {"high": 5}}).problem.rewards == RewardRange(0, 5)


def test_one_file_is_enough_for_worth(tmp_path: Path) -> None:
    """A file of `init` has prices and no levels; what is not given is not made up."""
    path = tmp_path / "policy.toml"
    path.write_text(
        '\ufeff[table]\ntarget = "outcome"\ntime = "day"\nmissing = ["?"]\nleave_out = ["id"]\n'
        '[[features]]\nname = "income"\nprice = 0.4\n'
        '[[features]]\nname = "age"\nprice = {column = "age_price"}\nbins = 5\nabsent = ["-1"]\n',
        encoding="utf-8",
    )
    file = read_policy_file(path)
    assert file.policy is None
    assert (file.table.target, file.table.time) == ("outcome", "day")
    assert (file.table.missing, file.table.leave_out) == (("?",), ("id",))
    income, age = file.features
    assert (income.price, income.feature()) == (0.4, None)
    assert (age.price, age.bins, age.absent) == (PriceColumn(column="age_price"), 5, ("-1",))
    assert file.notices == ()


def test_actions_and_outcomes_may_come_from_the_rewards() -> None:
    content = {
        "policy": {"name": "p"},
        "features": [{"name": "x", "levels": ["0", "1"]}],
        "outcomes": {"rewards": {"go": {"well": 5, "ill": -2}, "stay": 1}},
    }
    spec = parse_spec(content)
    assert spec.problem.actions == ("go", "stay")
    assert spec.problem.outcomes is not None
    assert spec.problem.outcomes.names == ("well", "ill")
    assert spec.problem.rewards == RewardRange(-2, 5)


def test_a_date_is_a_category_and_keeps_its_edges() -> None:
    section = {"name": "day", "kind": "date", "levels": ["early", "late"], "edges": ["2024-05-31"]}
    file = parse_policy_file(tomllib.loads(COMPLETE) | {"groups": [], "bundles": []})
    spec = build_spec(file.replace(features=parse_policy_file({"features": [section]}).features))
    assert spec.problem.features == (Feature("day", ("early", "late")),)
    native = tomllib.loads(
        '[[features]]\nname = "day"\nkind = "date"\nlevels = ["early", "late"]\n'
        "edges = [2024-05-31]\n"
    )
    assert parse_policy_file(native) == parse_policy_file({"features": [section]})


def test_the_saved_agent_is_relative_to_the_file(tmp_path: Path) -> None:
    text = COMPLETE.replace("alpha = 0.3", 'agent = "saved/agent.npz"')
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSpec, match=r"agent\.npz cannot be read .* relative to policy.toml"):
        read_spec(tmp_path / "policy.toml")
    (tmp_path / "saved").mkdir()
    agent = Agent(parse_spec(tomllib.loads(COMPLETE)).problem, "linucb", seed=1)
    agent.save(tmp_path / "saved" / "agent.npz")
    assert read_spec(tmp_path / "policy.toml").agent is not None
    assert Agent.from_file(tmp_path / "policy.toml").policy.rounds == 0
    with pytest.raises(InvalidSpec, match="was not read from a file"):
        parse_spec(tomllib.loads(text))


def test_an_agent_that_is_far_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thrifty.policy_file.reading.AGENT_LIMIT", 10)
    (tmp_path / "agent.npz").write_bytes(b"0" * 11)
    text = COMPLETE.replace("alpha = 0.3", 'agent = "agent.npz"')
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSpec, match="larger than 10 bytes"):
        read_spec(tmp_path / "policy.toml")


@pytest.mark.parametrize("name", DIGESTS)
def test_a_store_of_release_0_1_accepts_its_files(name: str) -> None:
    spec = read_spec(OLD / name)
    assert DIGESTS[name] in spec.digests
    other = read_spec(OLD / ("warm.toml" if name == "lending.toml" else "lending.toml"))
    assert DIGESTS[name] not in other.digests


def test_a_policy_file_of_release_0_1_without_a_policy_is_for_scout() -> None:
    text = (OLD / "worth.toml").read_text(encoding="utf-8")
    plain = parse_policy_file(tomllib.loads(text.replace('policy = "scout"\n', "")))
    assert plain == parse_policy_file(tomllib.loads(text))
    assert plain.policy is not None
    assert plain.policy.policy == "scout"


def test_a_policy_file_of_release_0_1_gets_outcomes_and_one_notice() -> None:
    notices: list[str] = []
    spec = read_spec(OLD / "worth.toml", notify=notices.append)
    assert notices == [f"{OLD / 'worth.toml'}: {POLICY}"]
    assert spec.problem.outcomes == Outcomes(
        ("default", "repaid"), {"approve": {"default": -900, "repaid": 120}, "decline": 0}
    )
    score = spec.problem.features[spec.problem.feature_index("score")]
    assert score == Feature.number("score", (150, 300, 448.5), missing=True)
    assert spec.columns == {"report": ("age", "cost")}
    notices.clear()
    read_spec(OLD / "lending.toml", notify=notices.append)
    assert notices == []


def test_a_price_list_of_release_0_1_is_read_with_one_notice() -> None:
    file = read_policy_file(OLD / "prices.toml")
    assert file.notices == (f"{OLD / 'prices.toml'}: {PRICE_LIST}",)
    assert (file.table.target, file.table.time) == ("outcome", "day")
    assert {feature.name: feature.price for feature in file.features} == dict.fromkeys(
        ("income", "age", "score", "town", "owner", "cost"), 0.01
    )


def test_every_setting_of_an_old_price_list_has_its_place() -> None:
    file = parse_policy_file(tomllib.loads(PRICES))
    assert file.notices == (PRICE_LIST,)
    new = tomllib.loads("""
[table]
target = "outcome"
time = "day"
missing = ["?"]
leave_out = ["id"]
encoding = "latin-1"
separator = ";"
[[features]]
name = "channel"
free = true
[[features]]
name = "income"
price = 6
kind = "number"
edges = [1, 2]
absent = ["-1"]
[[features]]
name = "history"
price = {column = "history_price"}
[[features]]
name = "bureau"
price = {column = "bureau_price"}
[[features]]
name = "a"
[[features]]
name = "b"
[[features]]
name = "contract"
[[features]]
name = "tenure"
max_levels = 8
[[features]]
name = "when"
period = "month"
[[bundles]]
name = "report"
features = ["a", "b"]
price = 2
[[bundles]]
name = "phone"
features = ["contract", "tenure"]
price = {column = "phone_price"}
[actions]
names = ["approve", "decline"]
[rewards]
unit = "EUR"
[outcomes.rewards]
approve = {repaid = 120, default = -900}
decline = 0
""")
    assert file.with_notices(()) == parse_policy_file(new)


@pytest.mark.parametrize(
    "content",
    [
        {"income": 0.4, "age": {"column": "age_price"}, "policy": 3},
        {"policy": {"column": "policy_price"}, "income": 0.4, "age": 1},
        {"prices": {"income": 0.4}, "target": "y"},
        {"rewards": {"go": 1, "stay": 0}},
        {"target": "y"},
        {"bundles": {"both": {"columns": ["a", "b"], "price": 1}}},
    ],
    ids=["bare", "named like a section", "prices", "rewards", "target", "bundle"],
)
def test_an_old_price_list_is_recognised(content: dict[str, Any]) -> None:
    assert parse_policy_file(content).notices == (PRICE_LIST,)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"rewards": {"unit": "EUR", "low": 0, "high": 5}},
        {"features": [{"name": "x", "price": 2}]},
        {"actions": {"names": ["a"]}, "reward_rule": {"rule": "sum"}},
        {"outcomes": {"rewards": {"go": 1, "stay": 0}}},
    ],
    ids=["empty", "rewards", "features", "actions", "outcomes"],
)
def test_a_new_file_gets_no_notice(content: dict[str, Any]) -> None:
    assert parse_policy_file(content).notices == ()


def test_a_bare_price_list() -> None:
    file = parse_policy_file({"income": 0.4, "age": {"column": "age_price"}})
    assert [(feature.name, feature.price) for feature in file.features] == [
        ("income", 0.4),
        ("age", PriceColumn(column="age_price")),
    ]


def test_a_file_made_in_python_equals_its_text() -> None:
    file = from_prices(
        {"income": 6, "history": "history_price"},
        target="outcome",
        time="case",
        free=["channel"],
        bundles={"phone": (["contract", "tenure"], 5)},
        rewards={"approve": {"repaid": 120, "default": -900}, "decline": 0},
        currency="EUR",
        columns={"income": {"bins": 4}},
        leave_out=["id"],
    )
    assert file.notices == ()
    assert parse_policy_file(tomllib.loads(to_toml(file))) == file
    assert file.features[1].bins == 4
    with pytest.raises(InvalidSpec, match="feature 'income': price is -1"):
        from_prices({"income": -1})
