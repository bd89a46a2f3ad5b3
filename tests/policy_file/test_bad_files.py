"""Files that cannot be used: each is refused with a line that names the key and the remedy."""

import tomllib
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_file.test_reading import COMPLETE, PRICES
from thrifty.errors import InvalidSpec
from thrifty.policy_file import (
    build_spec,
    parse_policy_file,
    parse_spec,
    read_policy_file,
    read_spec,
)

MANY = ", ".join(f'"{k}"' for k in range(1025))
REPLACED: dict[str, tuple[str, str, str]] = {
    # name: what is replaced in a complete file, by what, and what the message says
    # [policy]
    "section misspelt": ("[policy]", "[polic]", "unknown key 'polic' (did you mean 'policy'?)"),
    "policy as a text": ('[policy]\nname = "lending"', 'policy = "lending"\n[pol]', "'pol'"),
    "name of an address": ('name = "lending"', 'name = "a/b"', "[policy]: name is 'a/b': use 1 to"),
    "name too long": ('"lending"', f'"{"a" * 65}"', "use 1 to 64 letters"),
    "name a number": ('name = "lending"', "name = 5", "[policy]: name is 5: give text in quotes"),
    "no name": ('name = "lending"\n', "", "[policy] has no 'name': add it"),
    "tenant": ('tenant = "bank"', 'tenant = "a b"', "[policy]: tenant is 'a b'"),
    "policy unknown": ('"linucb"', '"linusb"', "there is no policy 'linusb'"),
    "oracle": ('"linucb"\nseed = 1\nalpha = 0.3', '"oracle"', "'oracle', which needs the true"),
    "seed negative": ("seed = 1", "seed = -1", "[policy]: seed is -1: give a whole number from 0"),
    "seed true": ("seed = 1", "seed = true", "seed is True: give a whole number"),
    "seed fraction": ("seed = 1", "seed = 1.5", "seed is 1.5: give a whole number"),
    "parameter": ("alpha = 0.3", "speed = 1", "no parameter 'speed': its parameters are alpha"),
    "parameter a date": ("alpha = 0.3", "alpha = 2024-05-31", "[policy] alpha is datetime.date"),
    # [[features]]
    "feature twice": ('name = "income"', 'name = "history"', "feature 'history' appears twice"),
    "feature nameless": (
        'name = "income"',
        'name = ""',
        "feature 1: name is '': give text that is not empty",
    ),
    "feature without name": ('name = "income"\n', "", "feature 1 has no 'name'"),
    "control characters": ('name = "income"', 'name = "a\\u0000b"', "control characters"),
    "long name": ('name = "income"', f'name = "{"a" * 201}"', "is too long"),
    "key misspelt": ("price = 0.4", "pricee = 0.4", "'pricee' (did you mean 'price'?)"),
    "key unknown": ("price = 0.4", "zzz = 0.4", "feature 'income' has the unknown key 'zzz': use"),
    "price negative": ("price = 0.4", "price = -1", "feature 'income': price is -1: give a finite"),
    "price nan": ("price = 0.4", "price = nan", "price is nan: give a finite number of at least 0"),
    "price infinite": ("price = 0.4", "price = inf", "price is inf: give a finite number"),
    "price a text": ("price = 0.4", 'price = "0.4"', "price is '0.4': give a finite number"),
    "price true": ("price = 0.4", "price = true", "price is True: give a finite number"),
    "price of no column": ('{column = "t3_price"}', '{colum = "x"}', "price is {'colum': 'x'}"),
    "free and a price": (
        "free = true",
        "free = true\nprice = 1",
        "'age': it is free and has a pri",
    ),
    "free and a column": (
        "free = true",
        'free = true\nprice = {column = "x"}',
        "'age': it is free and has a price, which contradict each other: remove",
    ),
    "free a text": ("free = true", 'free = "yes"', "'age': free is 'yes': give true or false"),
    "levels numbers": ('["low", "high"]', "[1, 2]", "'income': entry 1 of levels is 1: give"),
    "levels a text": ('levels = ["low", "high"]', 'levels = "low"', "levels is 'low': give a list"),
    "levels empty": ('levels = ["low", "high"]', "levels = []", "feature 'income' has no levels"),
    "levels twice": ('["low", "high"]', '["low", "low"]', "'income': level 'low' appears twice"),
    "levels too many": (
        '["low", "high"]',
        f"[{MANY}]",
        "feature 'income': levels has 1025 entries",
    ),
    "level too long": ('["low", "high"]', f'["low", "{"a" * 201}"]', "'income': levels: 'aaa"),
    "level of control": ('["low", "high"]', '["low", "a\\tb"]', "control characters"),
    "no levels": ('levels = ["low", "high"]\n', "", "feature 'income' has no levels yet: add"),
    "edges falling": ("[30, 60]", "[60, 30]", "feature 'age': edges [60.0, 30.0] are not finite"),
    "edges equal": ("[30, 60]", "[30, 30]", "edges [30.0, 30.0] are not finite numbers that inc"),
    "edges nan": (
        "[30, 60]",
        "[30, nan]",
        "edges [30.0, nan] are not finite numbers that increase",
    ),
    "edges infinite": ("[30, 60]", "[30, inf]", "edges [30.0, inf] are not finite numbers"),
    "edges text": ("[30, 60]", '["30", "60"]', "feature 'age': edges ['30', '60'] contain text"),
    "edges empty": ("[30, 60]", "[]", "feature 'age': edges is []: give a list of increasing"),
    "edges a number": ("[30, 60]", "30", "feature 'age': edges is 30: give a list of increasing"),
    "edges true": ("[30, 60]", "[true]", "feature 'age': edges is [True]: give a list of inc"),
    "256 intervals": ("[30, 60]", f"{list(range(255))}", "255 edges make 256 intervals, and at"),
    "edges without levels": (
        "[1.5, 3]",
        "[1, 2, 3]",
        "3 edges make 4 intervals, and its first 4 levels",
    ),
    "edges of a category": ("edges = [30, 60]", 'kind = "text"\nedges = [3]', "kind is 'text'"),
    "missing empty": ('"unknown"', '""', "feature 'age': missing is '': give true, which means"),
    "missing a number": ('missing = "unknown"', "missing = -1", "'age': missing is -1: give true"),
    "other unknown": ('other = "elsewhere"', 'other = "else"', "'town': other is 'else', which is"),
    "other without levels": ('levels = ["Rome", "elsewhere"]\n', "", "'town': other names a level"),
    "kind unknown": ("price = 0.4", 'kind = "colour"', "kind is 'colour': use one of 'number', 'c"),
    "period unknown": ("price = 0.4", 'period = "hour"', "period is 'hour': use one of 'year'"),
    "bins one": ("edges = [500]", "bins = 1", "'score': bins is 1: give a whole number from 2"),
    "bins and edges": (
        "edges = [500]",
        "edges = [500]\nbins = 5",
        "'score': bins and edges exclude",
    ),
    "levels and a count": ("price = 0.4", "max_levels = 3", "'income': max_levels and levels excl"),
    "absent a text": ("price = 0.4", 'absent = "?"', "'income': absent is '?': give a list"),
    "parts without levels": (
        "edges = [500]",
        '[[features.parts]]\nname = "a"\n[[features.parts]]\nname = "b"',
        "feature 'score': it has parts but no levels",
    ),
    "part misspelt": (
        "edges = [500]",
        'levels = ["a"]\n[[features.parts]]\nname = "a"\nkindd = "number"',
        "feature 'score', part 'a' has the unknown key 'kindd' (did you mean 'kind'?)",
    ),
    "date edges of words": (
        "edges = [500]",
        'kind = "date"\nlevels = ["a", "b"]\nedges = ["soon"]',
        "feature 'score': edges ['soon'] must be increasing dates",
    ),
    "date edges falling": (
        "edges = [500]",
        'kind = "date"\nlevels = ["a", "b", "c"]\nedges = ["2024-05-31", "2024-05-01"]',
        "must be increasing dates",
    ),
    "date periods": (
        "edges = [500]",
        'kind = "date"\nlevels = ["a"]\nedges = ["2024-05-31"]',
        "1 edges make 2 periods, but there are 1 levels",
    ),
    "date edges alone, falling": (
        "edges = [500]",
        'kind = "date"\nedges = ["2024-05-31", "2024-05-30"]',
        "feature 'score': edges ['2024-05-31', '2024-05-30'] must be increasing dates",
    ),
    "date edges numbers": (
        "edges = [500]",
        'kind = "date"\nedges = [5, 6]',
        "feature 'score': edges [5.0, 6.0] must be increasing dates",
    ),
    # [[groups]] and [[bundles]]
    "fee negative": ("setup = 2.10", "setup = -1", "group 'blood': setup is -1: give a finite"),
    "fee nan": ("setup = 2.10", "setup = nan", "group 'blood': setup is nan"),
    "fee a text": ("setup = 2.10", 'setup = "2"', "group 'blood': setup is '2'"),
    "no fee": ("setup = 2.10", "", "group 'blood' has no 'setup': add it"),
    "fee of nothing": ('["TSH", "T3"]', "[]", "group 'blood': features is empty"),
    "fee of unknown": (
        '["TSH", "T3"]',
        '["TSH", "T4"]',
        "group 'blood' contains 'T4', which is not a",
    ),
    "group misspelt": ("setup = 2.10", "setup = 2\nfees = 1", "group 'blood' has the unknown key"),
    "two groups": (
        "[[bundles]]",
        '[[groups]]\nname = "more"\nfeatures = ["T3"]\nsetup = 1\n[[bundles]]',
        "feature of a group 'T3' appears twice",
    ),
    "bundle of unknown": ('["score", "history"]', '["score", "x"]', "bundle 'report' contains 'x'"),
    "bundle of one": ('["score", "history"]', '["score"]', "bundle 'report' has the features"),
    "bundle and price": (
        '["score", "history"]',
        '["score", "income"]',
        "in bundle 'report'",
    ),
    "bundle and free": ('["score", "history"]', '["score", "age"]', "'age' is free and is also in"),
    "bundle and column": ('["score", "history"]', '["score", "T3"]', "'T3' has its own price"),
    "bundle named": ('name = "report"', 'name = "income"', "bundle 'income' has the name of a"),
    "bundle price": ("price = 5", "price = -5", "bundle 'report': price is -5"),
    "two bundles": (
        "[actions]",
        '[[bundles]]\nname = "more"\nfeatures = ["history", "town"]\n[actions]',
        "feature of a bundle 'history' appears twice",
    ),
    "bundles a table": ("[[bundles]]", "[bundles]", "bundles"),
    # [actions], [rewards] and [outcomes]
    "no actions": ('names = ["decline", "approve"]', "names = []", "[actions]: names is empty"),
    "action twice": (
        '["decline", "approve"]',
        '["approve", "approve"]',
        "action 'approve' appears",
    ),
    "action too many": ('["decline", "approve"]', '["approve"]', "action 'decline', which is not"),
    "action without rewards": ("decline = 0", "", "action 'decline' has no rewards: add it to"),
    "unit a number": ('unit = "EUR"', "unit = 5", "[rewards]: unit is 5: give text"),
    "unit of control": ('unit = "EUR"', 'unit = "a\\tb"', "[rewards] unit: 'a\\tb' is too long or"),
    "range reversed": (
        'unit = "EUR"',
        "low = 200\nhigh = 120",
        "[rewards]: low = 200 is not below",
    ),
    "range infinite": (
        'unit = "EUR"',
        "low = -inf",
        "[rewards]: low is -inf: give a finite number",
    ),
    "range huge": ('unit = "EUR"', "high = 1e13", "[rewards]: high is 10000000000000.0: give"),
    "range too narrow": ('unit = "EUR"', "high = 100", "go from -900 to 120, outside the declared"),
    "outcome unknown": (
        "default = -900",
        "defalt = -900",
        "'approve' lack ['default'] and have un",
    ),
    "outcome lacking": (", default = -900", "", "rewards of action 'approve' lack ['default']"),
    "outcome twice": ('["repaid", "default"]', '["repaid", "repaid"]', "outcome 'repaid' appears"),
    "one outcome": ('["repaid", "default"]', '["repaid"]', "outcomes are ['repaid']: with"),
    "reward nan": ("repaid = 120", "repaid = nan", "[outcomes]: rewards.approve is {'repaid': nan"),
    "reward a text": ("decline = 0", 'decline = "0"', "[outcomes]: rewards.decline is '0': give"),
    "rewards equal": ("repaid = 120, default = -900", "repaid = 0, default = 0", "from 0.0 to 0.0"),
    # [reward_rule]
    "rule unknown": (
        '"sum"',
        '"best"',
        "[reward_rule]: rule is 'best': use one of 'first', 'last'",
    ),
    "deadline of words": ('"14d"', '"soon"', "[reward_rule]: deadline is 'soon': give seconds"),
    "deadline zero": ('"14d"', "0", "[reward_rule]: deadline is 0: give seconds"),
    "deadline too far": ('"14d"', '"9999d"', "deadline is '9999d': give seconds"),
    "default outside": (
        "default = -5",
        "default = 121",
        "[reward_rule] default is 121, outside the",
    ),
    "default a text": (
        "default = -5",
        'default = "x"',
        "[reward_rule]: default is 'x': give a fin",
    ),
    "late a text": (
        "learn_late = true",
        'learn_late = "no"',
        "learn_late is 'no': give true or fal",
    ),
    "rule misspelt": (
        "[reward_rule]",
        "[rewards_rule]",
        "'rewards_rule' (did you mean 'reward_rule",
    ),
    "rule key misspelt": ('rule = "sum"', 'rul = "sum"', "'rul' (did you mean 'rule'?)"),
    # [table]
    "target a list": (
        "[rewards]",
        '[table]\ntarget = ["y"]\n[rewards]',
        "[table]: target is ['y']",
    ),
    "table misspelt": (
        "[rewards]",
        '[table]\ntarg = "y"\n[rewards]',
        "'targ' (did you mean 'target",
    ),
    "words a text": (
        "[rewards]",
        '[table]\nmissing = "?"\n[rewards]',
        "[table]: missing is '?': give",
    ),
    # the file
    "features a table": (
        "[[bundles]]",
        "[bundle]",
        "unknown key 'bundle' (did you mean 'bundles'?)",
    ),
    "notices": (
        "[rewards]",
        'notices = ["x"]\n[rewards]',
        "[actions] has the unknown key 'notices'",
    ),
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_file_that_cannot_be_served_is_refused(name: str, tmp_path: Path) -> None:
    before, after, message = REPLACED[name]
    assert before in COMPLETE
    path = tmp_path / "policy.toml"
    path.write_text(COMPLETE.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(InvalidSpec) as caught:
        read_spec(path)
    words = str(caught.value)
    assert message in words
    assert words.startswith(f"{path}: ")
    assert "\n" not in words
    assert "validation error" not in words
    assert words.endswith(".")


WHOLE: dict[str, tuple[str, str]] = {
    # name: the file, and what the message says
    "not TOML": ("[policy", "is not valid TOML"),
    "no policy": ('[[features]]\nname = "x"\nlevels = ["a"]', "there is no [policy]"),
    "no features": ('[policy]\nname = "x"', "there are 0 [[features]]: give 1 to 256"),
    "too many features": (
        '[policy]\nname = "x"\n'
        + "".join(f'[[features]]\nname = "{k}"\nlevels = ["a"]\n' for k in range(257)),
        "there are 257 [[features]]: give 1 to 256",
    ),
    "no actions": (
        '[policy]\nname = "x"\n[[features]]\nname = "x"\nlevels = ["a"]',
        "there are no [actions]",
    ),
    "too many actions": (
        '[policy]\nname = "x"\n[[features]]\nname = "x"\nlevels = ["a"]\n'
        f"[actions]\nnames = [{MANY}]",
        "[actions] names has 1025 entries",
    ),
    "outcomes without names": (
        '[policy]\nname = "x"\n[[features]]\nname = "x"\nlevels = ["a"]\n'
        "[outcomes.rewards]\ngo = 1\nstay = 0",
        "[outcomes] needs names and the rewards of each action",
    ),
    "features as a table": ('[policy]\nname = "x"\n[features]\nincome = 3', "features is {'income"),
    "a price list": ("income = 0.4", "there is no [policy]"),
    "an old setting": (
        'tarject = "y"\n[prices]\nx = 1',
        "'tarject' is 'y', which is neither a setting",
    ),
    "an old table": ('target = "y"\nprices = 3', "prices is 3: write it as a table, [prices]"),
    "an old list": ('target = "y"\nfree = "x"', "free is 'x': give a list of names"),
    "an old bundle": ("[bundles.r]\nprice = 1", "bundle 'r' has no `columns`"),
    "an old bundle of one": (
        '[bundles.r]\nprice = 1\ncolumns = ["a"]',
        "bundle 'r' has the features ['a']: a bundle has at least two",
    ),
    "an old column": ("[columns.x]\nlevles = 3", "feature 'x' has the unknown key 'levles' (did"),
    "an old table of rewards": (
        '[policy]\nname = "x"\n[actions]\nnames = ["a", "b"]\n'
        '[rewards]\noutcomes = ["y", "n"]\ntable = [[1, 0]]',
        "[rewards] table needs a row per action",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_file_that_cannot_be_served_is_refused(name: str, tmp_path: Path) -> None:
    text, message = WHOLE[name]
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSpec) as caught:
        read_spec(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidSpec,
        match=r"no\.toml: the file cannot be read \(No such file or directory\): give the path",
    ):
        read_policy_file(tmp_path / "no.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidSpec, match=r"binary\.toml: the file cannot be read"):
        read_policy_file(tmp_path / "binary.toml")


def test_rewards_in_the_wrong_section_are_pointed_to_the_right_one() -> None:
    with pytest.raises(InvalidSpec, match=r"Rewards by action go in \[outcomes\.rewards\]\.$"):
        parse_policy_file({"features": [], "rewards": {"unit": "EUR", "approve": {"yes": 1.0}}})


def test_the_complete_file_is_accepted() -> None:
    """What the other tests replace is all that is wrong with their files."""
    assert parse_spec(tomllib.loads(COMPLETE)).name == "lending"


def test_requirements_of_serve_do_not_apply_to_worth() -> None:
    """A file for `thrifty worth` may have many features, long names and no levels."""
    features = [{"name": "a" * 500 + str(k), "price": 1} for k in range(300)]
    assert len(parse_policy_file({"features": features}).features) == 300


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just(date(2024, 5, 31)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def paths_in(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of everything in a file."""
    if isinstance(content, dict):
        return [path, *(inner for key in content for inner in paths_in(content[key], (*path, key)))]
    if isinstance(content, list):
        return [
            path,
            *(inner for k, item in enumerate(content) for inner in paths_in(item, (*path, k))),
        ]
    return [path]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from([COMPLETE, PRICES]), st.data())
def test_any_content_is_accepted_or_refused_with_a_message(text: str, data: st.DataObject) -> None:
    content: dict[str, Any] = deepcopy(tomllib.loads(text))
    path = data.draw(st.sampled_from(paths_in(content)[1:]))
    inner: Any = content
    for key in path[:-1]:
        inner = inner[key]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        inner[data.draw(st.text(max_size=5))] = data.draw(values)
    else:
        inner[path[-1]] = data.draw(values)
    message = "Accepted."
    try:
        file = parse_policy_file(content)
        if file.policy is not None:
            build_spec(file)
    except InvalidSpec as error:
        message = str(error)
    assert message.endswith(".")
