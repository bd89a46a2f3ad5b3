"""A file that is written and read again is the same."""

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.policy_file import Comments, PolicyFile, to_toml
from thrifty.policy_file.model import (
    ActionsSection,
    BundleSection,
    ColumnSection,
    FeatureSection,
    GroupSection,
    LogSection,
    OutcomesSection,
    PolicySection,
    PriceColumn,
    RewardRuleSection,
    RewardsSection,
    TableSection,
)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
several = st.lists(names, min_size=2, max_size=4, unique=True)
amounts = st.floats(-1e9, 1e9)
prices = st.none() | st.floats(0, 1e9) | st.builds(PriceColumn, column=names)
addresses = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
edges = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4, unique=True).map(sorted).map(tuple)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def codings(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the keys that say how a column is coded, complete or not."""
    kind = draw(st.sampled_from(["found out", "category", "number", "named number", "date"]))
    coding: dict[str, Any] = {"absent": tuple(draw(st.lists(names, max_size=2)))}
    if kind == "found out":
        coding |= {"bins": draw(optional(st.integers(2, 100))), "period": "month"}
    elif kind == "category":
        coding["levels"] = tuple(draw(several))
        coding["other"] = draw(optional(st.sampled_from(coding["levels"])))
    elif kind == "date":
        coding |= {"kind": "date", "levels": ("early", "late"), "edges": ("2024-05-31",)}
    else:
        coding["edges"] = draw(edges)
        if kind == "named number":
            coding["levels"] = tuple(f"bin {k}" for k in range(len(coding["edges"]) + 1))
    coding["missing"] = draw(st.sampled_from([None, True, "absent, that is"]))
    return coding


@st.composite
def features(draw: st.DrawFn, name: str, sold: bool) -> FeatureSection:
    """Draw a feature; one that is in a bundle has no price of its own."""
    parts = [
        {"name": name, **draw(codings())} for name in draw(st.lists(names, max_size=2, unique=True))
    ]
    coding = {"levels": ("a & b", "c & d")} if parts else draw(codings())
    free = not sold and draw(st.booleans())
    return FeatureSection(
        name=name,
        price=None if sold or free else draw(prices),
        free=free,
        columns=tuple(draw(st.lists(names, max_size=2))),
        parts=tuple(ColumnSection(**part) for part in parts),
        **coding,
    )


@st.composite
def outcomes(draw: st.DrawFn) -> tuple[OutcomesSection, tuple[str, ...]]:
    """Draw outcomes, and the actions that they reward."""
    found, actions = draw(several), tuple(draw(several))
    rows = {
        action: draw(amounts | st.fixed_dictionaries(dict.fromkeys(found, amounts)))
        for action in actions
    }
    return OutcomesSection(names=tuple(found), rewards=rows), actions


@st.composite
def policy_files(draw: st.DrawFn) -> PolicyFile:
    """Draw a file that uses any of the keys."""
    names_ = draw(st.lists(names, max_size=5, unique=True))
    bundled = names_[:2] if len(names_) > 2 and draw(st.booleans()) else []
    paid, actions = draw(outcomes())
    parameters = {"alpha": draw(amounts), "window": 5, "flag": True, "words": ["a", "b"]}
    own = st.builds(
        PolicySection,
        name=addresses,
        policy=st.just("linucb"),
        seed=st.integers(0, 2**53),
        agent=optional(names),
        tenant=addresses,
        **{key: st.just(value) for key, value in parameters.items() if draw(st.booleans())},
    )
    texts = optional(names)
    table = st.builds(
        TableSection,
        target=texts,
        time=texts,
        missing=st.lists(names, max_size=2).map(tuple),
        leave_out=st.lists(names, max_size=2).map(tuple),
        encoding=texts,
        separator=texts,
    )
    patterns = optional(st.sampled_from(["{feature}_known", "p_{feature}"]))
    log = st.builds(
        LogSection,
        action=names,
        outcome=texts,
        case=texts,
        sequence=texts,
        feature_probability=patterns,
        bought=patterns,
        cost=patterns,
    )
    rule = st.builds(
        RewardRuleSection,
        rule=st.sampled_from(["first", "last", "sum"]),
        deadline=st.sampled_from(["14d", "1.5h", 30.0, 0.25]),
        default=optional(amounts),
        learn_late=st.booleans(),
    )
    fee = draw(st.floats(0, 1e6))
    groups = [GroupSection(name="group", features=(name,), setup=fee) for name in names_[-1:]]
    bundle = "bundle" + "".join(names_)
    return PolicyFile(
        policy=draw(optional(own)),
        table=draw(table),
        log=draw(log),
        features=tuple(draw(features(name, name in bundled)) for name in names_),
        groups=tuple(groups),
        bundles=(BundleSection(name=bundle, features=tuple(bundled), price=draw(prices)),)
        if bundled
        else (),
        actions=ActionsSection(names=actions),
        rewards=RewardsSection(unit=draw(st.text(max_size=5).filter(_encodes)), low=-2e9, high=2e9),
        outcomes=draw(st.sampled_from([None, paid])),
        reward_rule=draw(rule),
    )


def _encodes(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def reread(file: PolicyFile, comments: Comments | None = None) -> PolicyFile:
    """Return what is read from what is written; no parameters of a policy are checked."""
    return PolicyFile.model_validate(tomllib.loads(to_toml(file, comments)))


@settings(max_examples=200, deadline=None)
@given(policy_files())
def test_a_written_file_is_read_back(file: PolicyFile) -> None:
    assert reread(file) == file


@settings(max_examples=50, deadline=None)
@given(policy_files(), st.text().filter(_encodes))
def test_comments_change_nothing(file: PolicyFile, comment: str) -> None:
    places = ["policy", "policy.name", "table", "table.target", "rewards.unit", "outcomes.rewards"]
    places += [
        f"features.{feature.name}{key}"
        for feature in file.features
        for key in ("", ".name", ".edges")
    ]
    comments = Comments((comment, ""), dict.fromkeys(places, comment), (comment,))
    assert reread(file, comments) == file
