"""`thrifty worth`, `thrifty init` and `thrifty example`, as commands."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from experiments.small_experiments import THRIFTY, files_below, thrifty
from shared_runs import CommandCache
from thrifty import Agent, Plan
from thrifty.cli import main
from thrifty.errors import InvalidSpec
from thrifty.examples import SYNTHETIC
from thrifty.policies import LinUCB, Scout, Surveyor
from thrifty.policies.plan import PlanPolicy
from thrifty.policy_file import read_policy_file, read_spec
from thrifty.policy_file.old_formats import PRICE_LIST
from thrifty.problem import RewardRange
from thrifty.specification import RewardRule
from thrifty.worth.evaluation import Evaluation
from waiting import wait_until

Called = Callable[..., tuple[int, str]]

GOOD = "income,history,outcome\n" + "low,clean,no\nhigh,clean,yes\nhigh,arrears,no\n" * 40
PRICES = "[prices]\nincome = 0.02\nhistory = 0.03\n"
FILES = ["history.parquet", "plan.json", "policy.toml", "worth.html", "worth.json"]


@pytest.fixture
def called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Called:
    """Return a function that runs a command in a temporary folder: exit code and output."""

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["thrifty", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        shown = capsys.readouterr()
        return int(caught.value.code or 0), shown.err if caught.value.code else shown.out

    return call


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def column_of(name: str, values: list[str]) -> str:
    """Return a table with an income, a column with these values, and an outcome."""
    rows = [
        f"{'low' if k % 3 else 'high'},{value},{'yes' if k % 2 else 'no'}"
        for k, value in enumerate(values)
    ]
    return lines(f"income,{name},outcome", *rows)


WIDE = lines(
    ",".join([*(f"c{k}" for k in range(199)), "outcome"]),
    *(
        ",".join(["a" if (k + j) % 2 else "b" for j in range(199)] + ["yes" if k % 3 else "no"])
        for k in range(60)
    ),
)
BAD: dict[str, tuple[str | bytes, str, str, str]] = {
    # name: the table, the prices as in release 0.1, more of that file, what the message says
    "empty": ("", PRICES, "", r"cases.csv is empty: give a file with a header"),
    "blank": ("\n \n", PRICES, "", r"cases.csv is empty"),
    "header only": (
        "income,history,outcome\n",
        PRICES,
        "",
        r"but no cases: add one row per past case",
    ),
    "few cases": (
        "income,history,outcome\n" + "a,b,yes\n" * 9,
        PRICES,
        "",
        r"only 9 cases .* 'outcome'; at least 40",
    ),
    "one column": ("outcome\nyes\nno\n", PRICES, "", r"only one column.*--separator"),
    "wrong delimiter": (
        GOOD.replace(",", ":"),
        PRICES,
        "",
        r"only one column, 'income:history:.*separator",
    ),
    "wrong delimiter given": (GOOD, PRICES, 'separator = ";"', r"only one column.*--separator"),
    "two separators": (
        GOOD,
        PRICES,
        'separator = "::"',
        r"separator '::' is not a single character",
    ),
    "open quote": (
        GOOD + '"low,clean,no\n',
        PRICES,
        "",
        r"cannot be read as a table",
    ),
    "ragged": (
        GOOD + "low,clean,no,9,9\n",
        PRICES,
        "",
        r"every row has as many values as the header, 3",
    ),
    "mixed types": (
        column_of("history", [str(k) for k in range(60)] + ["unknown"]),
        PRICES,
        "",
        r"column 'history' mixes numbers.*'unknown'.*absent = \['unknown'\]",
    ),
    "mixed dates": (
        column_of("history", [f"2024-01-{k % 28 + 1:02d}" for k in range(60)] + ["soon"]),
        PRICES,
        "",
        r"column 'history' mixes dates.*'soon'",
    ),
    "Latin-1": (
        GOOD.replace("clean", "né").encode("latin-1"),
        PRICES,
        "",
        r"not UTF-8 \(line 2, column 'history', byte 0xe9\).*--encoding latin-1",
    ),
    "wrong encoding": (
        GOOD.encode("utf-16"),
        PRICES,
        'encoding = "utf-8"',
        r"not encoded as 'utf-8'.*--encoding",
    ),
    "unknown encoding": (GOOD, PRICES, 'encoding = "klingon"', r"not encoded as 'klingon'"),
    "distinct values": (
        column_of("history", [f"case {k}" for k in range(2000)]),
        PRICES,
        "",
        r"column 'history' has 2,000 distinct values in 2,000 cases: it looks like an identifier",
    ),
    "distinct outcomes": (
        column_of("history", ["a"] * 99),
        "target = 'who'\n[prices]\nincome = 0.1",
        "",
        r"target \(--target, or \[table\] target in policy.toml\): the table has no column 'who'",
    ),
    "all missing": (
        column_of("history", ["", "NA", "?"] * 20),
        PRICES,
        "",
        r"column 'history' is empty in every case",
    ),
    "duplicate columns": (
        GOOD.replace("history", "income", 1),
        PRICES,
        "",
        r"column 'income' appears 2 times in the header",
    ),
    "nameless column": (GOOD.replace("history", "", 1), PRICES, "", r"column 2 .* has no name"),
    "unknown column": (
        GOOD,
        "[prices]\nincom = 0.1",
        "",
        r"feature 'incom': the table has no column 'incom' \(did you mean 'income'\?\)",
    ),
    "unknown time": (
        GOOD,
        PRICES,
        'time = "when"',
        r"or \[table\] time in policy.toml\): the table has no column 'when'",
    ),
    "time that is none": (
        GOOD,
        PRICES,
        'time = "history"',
        r"the time, column 'history', is 'clean' in",
    ),
    "one outcome": (
        GOOD.replace("yes", "no"),
        PRICES,
        "",
        r"column 'outcome', is 'no' in every case",
    ),
    "no outcome": (
        column_of("history", ["a"] * 60).replace("yes", "").replace("no\n", "\n"),
        PRICES,
        "",
        r"only 0 cases have a value in the target, column 'outcome'",
    ),
    "prices as text": (
        GOOD,
        "[prices]\nincome = 'cheap'",
        "",
        r"price of 'income': the table has no column 'cheap'",
    ),
    "a workbook": (
        b"PK\x03\x04" + b"\x00" * 50,
        PRICES,
        "",
        r"is an Excel workbook.*save it as CSV",
    ),
    "packed": (b"\x1f\x8b" + b"\x00" * 50, PRICES, "", r"compressed with gzip.*decompress it"),
    "prices in a list": (
        GOOD,
        "[prices]\nincome = [1, 2]",
        "",
        r"feature 'income': price is \[1, 2\]",
    ),
    "no prices": (GOOD, "", "", r"no feature has a price.*thrifty init.*\[\[features\]\]"),
    "negative price": (
        GOOD,
        "[prices]\nincome = -1",
        "",
        r"feature 'income': price is -1: give a finite number of at least 0",
    ),
    "price that is NaN": (GOOD, "[prices]\nincome = nan", "", r"feature 'income': price is nan"),
    "infinite price": (GOOD, "[prices]\nincome = inf", "", r"feature 'income': price is inf"),
    "price column of words": (
        GOOD,
        "[prices]\nincome = {column = 'history'}",
        "",
        r"column 'history', the price of 'income', is 'clean' in case 1",
    ),
    "price column that is not there": (
        GOOD,
        "[prices]\nincome = {column = 'cost'}",
        "",
        r"price of 'income': the table has no column 'cost'",
    ),
    "negative price in a column": (
        column_of("cost", ["0.5"] * 60 + ["-2"]),
        "[prices]\nincome = {column = 'cost'}",
        "",
        r"column 'cost', the price of 'income', is '-2' in case 61",
    ),
    "target for sale": (
        GOOD,
        "[prices]\noutcome = 1",
        "",
        r"'outcome' is the target and also one of the \[\[features\]\]",
    ),
    "column twice": (
        GOOD,
        PRICES,
        'free = ["income"]',
        r"feature 'income': it is free and has a price",
    ),
    "decimal comma": (
        GOOD,
        "[prices]\nincome = 12,50\n",
        "",
        r"is not valid TOML.*: write 12.50 with a decimal point instead of 12,50\.",
    ),
    "not TOML": (GOOD, "[prices\n", "", r"is not valid TOML.*thrifty init"),
    "unknown setting": (GOOD, PRICES, 'tarject = "outcome"', r"'tarject' is 'outcome'.*'target'"),
    "unknown kind": (
        GOOD,
        PRICES + "[columns.income]\nkind = 'colour'",
        "",
        r"feature 'income': kind is 'colour': use one of 'number'",
    ),
    "unknown action": (
        GOOD,
        PRICES + "[rewards]\ngo = 1\nstay = 0\nfly = 2",
        'actions = ["go", "stay"]',
        r"has action 'fly', which is not in \[actions\] names, 'go', 'stay'",
    ),
    "unknown outcome": (
        GOOD,
        PRICES + "[rewards]\ngo = {yes = 1, no = 0, maybe = 3}\nstay = 0",
        "",
        r"action 'go' has a reward for outcome 'maybe'",
    ),
    "missing outcome": (
        GOOD,
        PRICES + "[rewards]\ngo = {yes = 1}\nstay = 0",
        "",
        r"action 'go' has no reward for outcome 'no'",
    ),
    "one action": (
        GOOD,
        PRICES + "[rewards]\ngo = {yes = 1, no = 0}",
        "",
        r"'go' is the only action .* at least two",
    ),
    "reward that is NaN": (
        GOOD,
        PRICES + "[rewards]\ngo = {yes = nan, no = 0}\nstay = 0",
        "",
        r"rewards.go is \{'yes': nan, 'no': 0\}: give a finite number",
    ),
    "equal rewards": (GOOD, PRICES + "[rewards]\ngo = 1\nstay = 1", "", r"every reward is 1"),
    "infinity": (
        column_of("history", [str(k) for k in range(60)] + ["inf"]),
        PRICES,
        "",
        r"column 'history' contains inf in case 61",
    ),
    "too many features": (
        WIDE,
        "[prices]\n" + lines(*(f"c{k} = 0.1" for k in range(199))),
        "",
        r"199 features, and at most 40 .* \(for example 'c40'\)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_one_clear_line(name: str, called: Called, tmp_path: Path) -> None:
    table, prices, more, expected = BAD[name]
    content = table if isinstance(table, bytes) else table.encode()
    (tmp_path / "cases.csv").write_bytes(content)
    target = "" if "target" in prices else 'target = "outcome"\n'
    (tmp_path / "prices.toml").write_text(f"{target}{more}\n{prices}", encoding="utf-8")
    code, words = called("worth", "cases.csv", "--prices", "prices.toml")
    assert code == 2
    words = words.removeprefix(f"thrifty: prices.toml: {PRICE_LIST}\n")
    assert re.fullmatch(rf"thrifty: [^\n]*{expected}[^\n]*\n", words), words
    assert sorted(path.name for path in files_below(tmp_path)) == ["cases.csv", "prices.toml"]


def test_a_million_distinct_values_are_refused(called: Called, tmp_path: Path) -> None:
    number = 1_000_000
    ids = pl.Series("history", np.arange(number)).cast(pl.String) + "x"
    frame = pl.DataFrame({"income": ["low", "high"] * (number // 2), "history": ids})
    frame.with_columns(outcome=frame["income"]).write_csv(tmp_path / "cases.csv")
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    code, words = called("worth", "cases.csv", "--target", "outcome", "--prices", "prices.toml")
    assert (code, "column 'history' has 1,000,000 distinct values" in words) == (2, True)
    code, words = called("worth", "cases.csv", "--target", "history", "--prices", "prices.toml")
    assert (code, "'history' is the target and also one of" in words) == (2, True)


def test_missing_files_are_named(called: Called, tmp_path: Path) -> None:
    assert called("worth", "no.csv", "--target", "y")[0] == 2
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    code, words = called("worth", "cases.csv", "--target", "outcome", "--prices", "no.toml")
    assert code == 2
    assert "no.toml: the file cannot be read" in words
    code, words = called("worth", "cases.csv", "--target", "outcome", "--prices", "income=5")
    assert code == 2
    assert "give the path of a TOML file, such as the policy.toml that `thrifty init" in words
    (tmp_path / "broken.parquet").write_text("no parquet", encoding="utf-8")
    code, words = called("worth", "broken.parquet", "--target", "outcome")
    assert code == 2
    assert "cannot be read as Parquet" in words


def test_a_folder_that_cannot_be_written_stays_as_it_was(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    code, words = called(
        "worth", "cases.csv", "--target", "outcome", "--prices", "prices.toml", "--out", "taken"
    )
    assert (code, "worth.json cannot be written" in words) == (2, True)
    names = ["cases.csv", "prices.toml", "taken"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"\xef\xbb\xbf" + GOOD.encode(), []),
        (GOOD.replace(",", ";").encode(), []),
        (GOOD.replace("\n", "\r\n").encode(), []),
        (GOOD.encode("utf-16"), []),
        (GOOD.replace("clean", "propre é").encode("latin-1"), ["--encoding", "latin-1"]),
        (GOOD.replace(",", ":").encode(), ["--separator", ":"]),
    ],
    ids=["BOM", "semicolons", "CRLF", "UTF-16", "Latin-1", "colons"],
)
def test_unusual_files_are_read(
    content: bytes, options: list[str], called: Called, tmp_path: Path
) -> None:
    (tmp_path / "cases.csv").write_bytes(content)
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    command = ["worth", "cases.csv", "--target", "outcome", "--prices", "prices.toml"]
    code, words = called(*command, *options)
    assert code == 0, words
    # Who has a low income is declined at once, and the history need not be bought.
    plan = "Follow the plan: buy income first (0.020), then history only where needed; it spends "
    assert f"{plan}0.040 per case on average. It gains 0.960 per case (95% CI " in words
    assert "└─ income is low or another value or missing: no " in words
    assert sorted(path.name for path in (tmp_path / "worth").iterdir()) == FILES


def test_the_lending_example_from_end_to_end(tmp_path: Path, commands: CommandCache) -> None:
    for name, options in (("cases.csv", ()), ("policy.toml", ("--prices",))):
        shown = thrifty("example", "lending", *options, cwd=tmp_path)
        (tmp_path / name).write_text(shown.stdout, encoding="utf-8")
    shown = commands.thrifty("worth", "cases.csv", "--policy", "policy.toml", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "release 0.1" not in shown.stderr
    plan = (
        "Follow the plan: buy employment first (4.00), then income, history, bureau and phone only "
    )
    assert plan in shown.stdout
    assert "more than always buying income, history, employment and phone." in shown.stdout
    assert "region_code: no measurable value in these cases (costs 1.00)." in shown.stdout
    found = json.loads((tmp_path / "worth" / "worth.json").read_text(encoding="utf-8"))
    assert set(found["best_subset"]) == SYNTHETIC["lending"].best_subset
    assert found["replay"]["price_changes"] == [
        {"case": 12000, "feature": "history", "before": 9.0, "after": 5.0}
    ]
    policies = {policy["policy"]: policy for policy in found["replay"]["policies"]}
    assert found["recommended"] == "plan"
    assert found["plan_gain_per_case"]["low"] > found["fixed_gain_per_case"]["mean"]
    assert len(found["tenths"]["plan"]) == 10
    assert set(policies) == {
        "Plan",
        "Scout",
        "Surveyor",
        "NCC-UCRL2",
        "Fixed set",
        "Buy everything",
        "Buy nothing",
        "Hindsight",
    }
    for policy in policies.values():
        assert policy["total_gain"] == pytest.approx(policy["total_reward"] - policy["total_spend"])
        low, high = policy["gain_per_case"]["low"], policy["gain_per_case"]["high"]
        assert low <= policy["total_gain"] / found["replay"]["cases"] <= high
    assert max(policies, key=lambda name: policies[name]["total_gain"]) == "Hindsight"

    path = tmp_path / "worth" / "policy.toml"
    written, spec = read_policy_file(path), read_spec(path)
    agent = Agent.from_file(path)
    assert agent.problem == spec.problem
    assert isinstance(agent.policy, Surveyor)
    assert not (tmp_path / "worth" / "agent.npz").exists()
    assert spec.problem.rewards == RewardRange(-900, 120, "EUR")
    assert spec.name == "lending"
    assert written.reward_rule.deadline == "7d"
    assert spec.rule == RewardRule()
    raw = {"income": "high", "history": "clean", "bureau": "good", "employment": "permanent"}
    raw |= {"region_code": "25", "contract": "monthly", "tenure": "longer"}
    case, steps = agent.ask(free={"channel": "online"}), []
    while case.buy:
        steps.append(case.buy)
        case = agent.observe(case, {name: raw[name] for name in case.buy})
    assert steps[0] == ("employment",)
    assert agent.explain(case)["steps"][0]["reasons"]["kind"] == "follow"
    assert case.action == "approve"
    agent.tell(case, outcome="repaid")
    assert agent.explain(case)["reward"] == 120.0
    # A crisis changes the risky kinds of jobs halfway. The plan has learnt from all cases, and
    # Surveyor from the latest ones.
    learnt = Plan.load(tmp_path / "worth" / "plan.json")
    for decider, risky in ((agent, "self-employed"), (learnt, "temporary")):
        case = decider.observe(decider.ask(free={"channel": "online"}), {"employment": risky})
        assert case.action == "decline"
    again = thrifty("worth", "cases.csv", "--prices", "policy.toml", "--json", cwd=tmp_path)
    other = json.loads(again.stdout)
    assert {**other, "command": ""} == {**found, "command": ""}  # the same seed, the same numbers


def test_an_example_that_does_not_exist(called: Called) -> None:
    code, words = called("example", "lendin")
    assert (code, "use one of lending, triage, nursery" in words) == (2, True)


def test_init_writes_a_file_that_works(called: Called, tmp_path: Path) -> None:
    rows = [
        f"{1000 + k};{'2024-01-02' if k % 2 else '03.02.2024'};€ {k % 37 + 5},50;"
        f"{'unclear' if k % 5 else 'x'};{'repaid' if k % 3 else 'default'}"
        for k in range(120)
    ]
    table = lines("id;date;amount;note;status", *rows)
    (tmp_path / "cases.csv").write_text(table, encoding="utf-8")
    code, words = called("init", "cases.csv")
    assert code == 0
    assert "separator: semicolons" in words
    assert "prices are placeholders" in words
    text = (tmp_path / "policy.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text) == {
        "policy": {"name": "cases", "policy": "auto", "seed": 0},
        "table": {"target": "status", "time": "date"},
        "features": [{"name": "amount", "price": 0.01}, {"name": "note", "price": 0.01}],
        "reward_rule": {"deadline": "7d"},
    }
    assert "# id: left out, an identifier" in text
    code, words = called("init", "cases.csv")
    assert (code, "policy.toml exists" in words) == (2, True)
    assert (tmp_path / "policy.toml").read_text(encoding="utf-8") == text
    code, words = called("worth", "cases.csv", "--policy", "policy.toml")
    assert code == 0, words
    assert "120 cases, ordered by date" in words
    warned = words.index("Warning: All prices are 0.01, the placeholder of `thrifty init`")
    assert warned < words.index("Warning: No rewards are given") < words.index("\nBuy nothing: no ")
    assert "not used (identifiers): 'id'" in words


def test_optional_settings_of_init_can_be_uncommented(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    assert called("init", "cases.csv")[0] == 0
    text = (tmp_path / "policy.toml").read_text(encoding="utf-8")
    more = text.split("# Optional settings", 1)[1].splitlines()[2:]
    example = tomllib.loads(
        "\n".join(line.removeprefix("# ") for line in more if line.startswith("# "))
    )
    assert {*example} == {"table", "features", "bundles", "groups"}
    top = text.split("[policy]")[0]
    commented = top[top.index("# [rewards]") :].splitlines()
    rewards = tomllib.loads("\n".join(line.removeprefix("# ") for line in commented))
    assert rewards["outcomes"]["rewards"] == {"action1": {"no": 0, "yes": 0}, "action2": 0}


def test_init_treats_a_few_words_among_numbers_as_missing(called: Called, tmp_path: Path) -> None:
    values = [f"{k % 50},{k % 10} €" for k in range(100)] + ["k.A.", "n. b."]
    table = column_of("amount", [f'"{value}"' for value in values])
    (tmp_path / "cases.csv").write_text(table, encoding="utf-8")
    assert called("init", "cases.csv")[0] == 0
    features = read_policy_file(tmp_path / "policy.toml").features
    assert [(feature.name, feature.price, feature.absent) for feature in features] == [
        ("income", 0.01, ()),
        ("amount", 0.01, ("k.A.", "n. b.")),
    ]
    code, words = called("worth", "cases.csv", "--policy", "policy.toml")
    assert code == 0, words


def test_init_of_a_wide_file(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(WIDE, encoding="utf-8")
    assert called("init", "cases.csv", "--target", "outcome")[0] == 0
    assert len(read_policy_file(tmp_path / "policy.toml").features) == 199


def test_a_file_of_init_is_not_served_before_it_has_levels(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    assert called("init", "cases.csv")[0] == 0
    with pytest.raises(InvalidSpec, match=r"policy.toml: feature 'income' has no levels yet"):
        read_spec(tmp_path / "policy.toml")


def test_old_and_new_files_give_the_same_result(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    rewards = "go = {yes = 30, no = -50}\nstay = 0\n"
    old = f'target = "outcome"\ncurrency = "EUR"\n{PRICES}[rewards]\n{rewards}'
    new = lines(
        '[table]\ntarget = "outcome"\n[rewards]\nunit = "EUR"',
        '[[features]]\nname = "income"\nprice = 0.02\n[[features]]\nname = "history"\nprice = 0.03',
        f"[outcomes.rewards]\n{rewards}",
    )
    found = []
    for name, text in (("old.toml", old), ("new.toml", new)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        code, words = called("worth", "cases.csv", "--prices", name, "--json")
        assert code == 0, words
        found.append({**json.loads(words), "command": ""})
    assert found[0] == found[1]
    assert found[0]["best_subset"] == ["income", "history"]


def test_the_policy_and_its_parameters_are_kept(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    assert called("init", "cases.csv")[0] == 0
    path = tmp_path / "policy.toml"
    text = path.read_text(encoding="utf-8")
    own = 'policy = "linucb"\nalpha = 0.3'
    path.write_text(text.replace('policy = "auto"', own), encoding="utf-8")
    code, words = called("worth", "cases.csv", "--policy", "policy.toml")
    assert code == 0, words
    written = read_policy_file(tmp_path / "worth" / "policy.toml").policy
    assert written is not None
    assert (written.policy, written.parameters) == ("linucb", {"alpha": 0.3})
    agent = Agent.from_file(tmp_path / "worth" / "policy.toml")
    assert isinstance(agent.policy, LinUCB)
    assert agent.policy.rounds == 120


def test_a_plan_is_served_if_the_file_asks_for_it(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    assert called("init", "cases.csv")[0] == 0
    path = tmp_path / "policy.toml"
    text = path.read_text(encoding="utf-8")
    for policy, kind, more in (
        ("plan", PlanPolicy, None),
        ("scout", Scout, "agent.npz"),
        ("surveyor", Surveyor, "history.parquet"),
    ):
        path.write_text(text.replace('"auto"', f'"{policy}"'), encoding="utf-8")
        assert called("worth", "cases.csv", "--policy", "policy.toml")[0] == 0
        assert isinstance(Agent.from_file(tmp_path / "worth" / "policy.toml").policy, kind)
        # What an earlier report needed is removed.
        others = set(FILES) - {"history.parquet"}
        found = {path.name for path in (tmp_path / "worth").iterdir()}
        assert found - others == ({more} if more else set())


def test_an_earlier_report_is_replaced_and_other_files_are_not(
    called: Called, tmp_path: Path
) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    assert called("init", "cases.csv")[0] == 0
    before = (tmp_path / "policy.toml").read_bytes()
    command = ["worth", "cases.csv", "--policy", "policy.toml"]
    shown = [called(*command) for _ in range(2)]
    assert [code for code, _ in shown] == [0, 0]
    replaced = "Replaced the earlier report in worth/."
    assert [replaced in words for _, words in shown] == [False, True]
    code, words = called(*command, "--out", ".")
    assert (code, "the report would overwrite policy.toml, which you gave" in words) == (2, True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "policy.toml").write_bytes(before)
    code, words = called(*command, "--out", "mine")
    assert (code, "policy.toml exists and is not part of an earlier report" in words) == (2, True)
    assert (tmp_path / "mine" / "policy.toml").read_bytes() == before
    assert (tmp_path / "policy.toml").read_bytes() == before


def test_a_target_with_too_many_values_is_refused_by_init(called: Called, tmp_path: Path) -> None:
    rows = [f"{k % 7},{k * 1.5},{k * 2.5}" for k in range(60)]
    (tmp_path / "cases.csv").write_text(lines("age,amount,loss", *rows), encoding="utf-8")
    code, words = called("init", "cases.csv", "--target", "loss")
    assert (code, "'loss', has 60 distinct values" in words) == (2, True)
    assert not (tmp_path / "policy.toml").exists()


def test_prices_in_another_unit_than_rewards_are_warned_about(
    called: Called, tmp_path: Path
) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    (tmp_path / "prices.toml").write_text("income = 5\n", encoding="utf-8")
    code, words = called("worth", "cases.csv", "--target", "outcome", "--policy", "prices.toml")
    assert code == 0, words
    assert "No rewards are given, so a correct prediction earns 1" in words


def test_a_feature_without_a_price_is_warned_about(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    text = (
        '[table]\ntarget = "outcome"\n[[features]]\nname = "income"\nprice = 0.02\n'
        '[[features]]\nname = "history"\n'
    )
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    code, words = called("worth", "cases.csv", "--policy", "policy.toml")
    assert code == 0, words
    warning = "Warning: Not used, because policy.toml gives neither a price nor free = true: "
    assert f"{warning}'history'." in words
    assert "not used (no price)" not in words


def test_the_price_of_a_bundle_is_shown_once(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    text = lines(
        '[table]\ntarget = "outcome"\n[[features]]\nname = "income"\n[[features]]',
        'name = "history"\n[[bundles]]\nname = "file"\nfeatures = ["income", "history"]',
        "price = 0.05",
    )
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    code, words = called("worth", "cases.csv", "--policy", "policy.toml")
    assert code == 0, words
    columns = words[: words.index("Backtest on ")]
    assert columns.count("0.05") == 1
    assert re.search(r"file +0\.050? +bundle of 2 columns *\n +income +category", columns)


def test_a_policy_that_was_asked_for_is_kept_with_a_warning_if_it_is_worse(
    called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    text = (
        '[policy]\nname = "mine"\npolicy = "ucb1"\n[table]\ntarget = "outcome"\n'
        '[[features]]\nname = "income"\nprice = 0.02\n'
        '[[features]]\nname = "history"\nprice = 0.03\n'
    )
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    shown = {}
    for is_worse in (False, True):
        monkeypatch.setattr(Evaluation, "is_learning_worse", is_worse)
        shown[is_worse] = called("worth", "cases.csv", "--policy", "policy.toml")[1]
        header = (tmp_path / "worth" / "policy.toml").read_text(encoding="utf-8").split("\n\n")[0]
        assert ("thrifty serve policy.toml" in header) is not is_worse
    assert "Live decisions: thrifty serve worth/policy.toml" in shown[False]
    assert "thrifty serve" not in shown[True]
    assert "The policy of your policy.toml gained " in shown[True]
    assert Agent.from_file(tmp_path / "worth" / "policy.toml").policy.rounds == 120
    assert (tmp_path / "worth" / "agent.npz").exists()
    # Surveyor is served once nothing else is asked for.
    plain = text.replace('policy = "ucb1"\n', "")
    (tmp_path / "policy.toml").write_text(plain, encoding="utf-8")
    assert called("worth", "cases.csv", "--policy", "policy.toml")[0] == 0
    assert sorted(path.name for path in (tmp_path / "worth").iterdir()) == FILES


def test_the_backtest_can_be_left_out(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    text = '[policy]\nname = "mine"\n[table]\ntarget = "outcome"\n'
    text += '[[features]]\nname = "income"\nprice = 0.02\n'
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    code, shown = called("worth", "cases.csv", "--policy", "policy.toml", "--no-replay")
    assert code == 0
    assert "Backtest" not in shown
    written = json.loads((tmp_path / "worth" / "worth.json").read_text(encoding="utf-8"))
    assert written["replay"] is None
    assert written["missing"] == []
    assert written["served"] == "surveyor"
    code, shown = called("worth", "cases.csv", "--policy", "policy.toml", "--history", "1000")
    assert code != 0
    assert "history is 1,000, but of the 120 cases" in shown


@pytest.mark.parametrize(
    ("shown", "missing", "replayed"),
    [
        (b"Worth of", ["worth of features", "backtest"], False),
        (b"Backtest of Surveyor", ["backtest of Surveyor"], True),
    ],
)
def test_an_interrupt_writes_what_is_finished(
    shown: bytes, missing: list[str], replayed: bool, tmp_path: Path
) -> None:
    for name, options in (("cases.csv", ("--rows", "6000")), ("policy.toml", ("--policy",))):
        printed = thrifty("example", "lending", *options, cwd=tmp_path).stdout
        (tmp_path / name).write_text(printed, encoding="utf-8")
    command = [str(THRIFTY), "worth", "cases.csv", "--policy", "policy.toml"]
    # The progress bar, which a terminal shows, tells when a part begins.
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm"}
    with (
        (tmp_path / "progress").open("wb") as progress,
        subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=progress, env=environment
        ) as process,
    ):
        wait_until(lambda: shown in (tmp_path / "progress").read_bytes(), "the part")
        process.send_signal(signal.SIGINT)
        words = process.communicate()[0].decode()
    assert process.returncode == 130, words
    assert "Follow the plan: " in words
    assert f"Interrupted: not finished are {' and '.join(missing)}. Run the command" in words
    assert b"Stopped. The report has what was finished." in (tmp_path / "progress").read_bytes()
    found = json.loads((tmp_path / "worth" / "worth.json").read_text(encoding="utf-8"))
    assert found["missing"] == missing
    assert found["honest_gain_per_case"]["mean"] > 0
    policies = found["replay"]["policies"] if replayed else []
    names = [policy["policy"] for policy in policies]
    assert ("Scout" in names, "Surveyor" in names) == (replayed, False)
    assert isinstance(Agent.from_file(tmp_path / "worth" / "policy.toml").policy, Surveyor)


def test_an_interrupt_of_a_compiled_function_is_an_interrupt(
    called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python may report Ctrl-C as SystemErrors, with the KeyboardInterrupt as the first cause."""
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    assert called("init", "cases.csv")[0] == 0
    nested = SystemError("a property returned a result with an exception set")
    nested.__cause__ = KeyboardInterrupt()
    causes: list[BaseException | None] = [nested, None]

    def interrupted(*_: object, **__: object) -> None:
        raise SystemError("fit returned a result with an exception set") from causes.pop(0)

    monkeypatch.setattr("thrifty.worth.evaluation.add_surveyor", interrupted)
    code, words = called("worth", "cases.csv", "--policy", "policy.toml")
    assert (code, "Missing: backtest of Surveyor." in words) == (130, True)
    found = json.loads((tmp_path / "worth" / "worth.json").read_text(encoding="utf-8"))
    assert found["missing"] == ["backtest of Surveyor"]
    monkeypatch.setattr(sys, "argv", ["thrifty", "worth", "cases.csv", "--policy", "policy.toml"])
    with pytest.raises(SystemError, match="returned a result"):  # any other one is a mistake
        main()


def test_a_table_without_target_and_prices_leads_to_init(called: Called, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(GOOD, encoding="utf-8")
    code, words = called("worth", "cases.csv")
    assert (code, "no target is given" in words, "thrifty init" in words) == (2, True, True)
    code, words = called("worth", "cases.csv", "--target", "outcome")
    assert (code, "no feature has a price" in words, "thrifty init" in words) == (2, True, True)
