"""Specifications: what is read, and what is refused with the culprit named."""

from pathlib import Path

import pytest

from thrifty.errors import InvalidSpec, UnknownName
from thrifty.experiments.spec import catalogue, find, parse_seeds

GOOD = """
title = "Mine"
seeds = "0:2"
rounds = 50
[world]
name = "random"
levels = [2, 3]
[[policies]]
policy = "sw-ucb"
tau = 10
published = [1, 2.5]
"""


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_is_read(tmp_path: Path) -> None:
    experiment = find(written(tmp_path, GOOD))
    assert (experiment.id, experiment.title, experiment.seeds) == ("mine", "Mine", (0, 1))
    assert (experiment.world, experiment.rounds) == ("random", 50)
    assert experiment.world_params == {"levels": [2, 3]}
    entry = experiment.entries[0]
    assert (entry.label, entry.policy, entry.params) == ("sw-ucb", "sw-ucb", {"tau": 10})
    assert entry.published == (1.0, 2.5)


def test_the_catalogue_has_the_papers_experiments() -> None:
    names = set(catalogue())
    expected = {"published", "shuffled", "stationary", "window"}
    assert {f"nursery/{name}" for name in expected} <= names
    assert all(name.count("/") == 1 for name in names)


@pytest.mark.parametrize(
    ("old", "new", "culprit"),
    [
        ('title = "Mine"', "", "'title'"),
        ('title = "Mine"', "title = 3", "title is 3"),
        ('seeds = "0:2"', 'seeds = "2:0"', "'2:0'"),
        ('seeds = "0:2"', 'seeds = "1,1"', "'1,1'"),
        ('seeds = "0:2"', "seeds = 5", "seeds is 5"),
        ("rounds = 50", 'rounds = "50"', "rounds is '50'"),
        ("rounds = 50", "rouds = 50", "'rouds'"),
        ('name = "random"', 'name = "moon"', "'moon'"),
        ("levels = [2, 3]", "level = [2, 3]", "'level'"),
        ('policy = "sw-ucb"', 'policy = "swucb"', "'swucb'"),
        ("tau = 10", "taw = 10", "'taw'"),
        ("published = [1, 2.5]", 'published = "1"', "published is '1'"),
        ("[[policies]]", "[policies]", "policies is"),
        ('policy = "sw-ucb"', 'policy = "sw-ucb"\n[[policies]]\npolicy = "sw-ucb"', "label"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, culprit: str) -> None:
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InvalidSpec) as caught:
        find(path)
    assert culprit in str(caught.value)
    assert path in str(caught.value)


def test_an_unknown_id_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="nursery/published"):
        find("nursery/nowhere")


@pytest.mark.parametrize("text", ["", "a", "1:2:3", "-1:2", "3:3", "1,,2", "1.5"])
def test_seeds_that_are_none(text: str) -> None:
    with pytest.raises(InvalidSpec, match="0:40"):
        parse_seeds(text)
