"""Colours and settings of figures."""

from dataclasses import replace

import matplotlib
import pytest

from figures.small_tables import results_of, table_of
from thrifty.experiments.spec import Entry
from thrifty.figures.style import (
    COLOURS,
    SPARE,
    label_colours,
    line_styles,
    new_figure,
    policy_colour,
    print_quality,
)
from thrifty.policies import POLICIES

EXPERIMENT = results_of(table_of("Oracle")).experiment


def test_every_policy_has_a_colour() -> None:
    assert set(COLOURS) == set(POLICIES)
    assert not set(COLOURS.values()) & set(SPARE)


def test_only_variants_share_a_colour() -> None:
    shared = [name for name, colour in COLOURS.items() if colour == COLOURS["ncc-ucrl2"]]
    assert shared == ["ncc-ucrl2", "ncc-ucrl2-published", "ncc-ucrl2-repaired"]
    assert len(set(COLOURS.values())) == len(COLOURS) - 2


@pytest.mark.parametrize("label", ["Oracle", "UCB1", "w = 300"])
def test_the_label_does_not_matter(label: str) -> None:
    experiment = replace(EXPERIMENT, entries=(Entry(label, "sim-oos"),))
    assert label_colours(experiment) == {label: COLOURS["sim-oos"]}


def test_an_unknown_policy_always_has_the_same_colour() -> None:
    assert policy_colour("my policy") == "#AA4499"  # in every process: no salted hash


def window_colours(*windows: int) -> list[str]:
    entries = tuple(Entry(f"{w}", "ncc-ucrl2", {"window": w}) for w in windows)
    return list(label_colours(replace(EXPERIMENT, entries=entries)).values())


def test_windows_go_from_dark_to_bright() -> None:
    colours = window_colours(100, 300, 1000, 1500)
    brightness = [sum(matplotlib.colors.to_rgb(colour)) for colour in colours]
    assert brightness == sorted(brightness)
    assert len(set(colours)) == 4
    assert window_colours(0, 1) == [colours[0]] * 2


def test_shared_colours_have_different_dashes() -> None:
    entries = (
        Entry("a", "ncc-ucrl2", {"delta": 0.1}),
        Entry("UCB1", "ucb1"),
        Entry("b", "ncc-ucrl2-published"),
    )
    styles = line_styles(replace(EXPERIMENT, entries=entries), ["a", "UCB1", "b"])
    assert styles["a"]["color"] == styles["b"]["color"]
    assert styles["a"]["linestyle"] == styles["UCB1"]["linestyle"] == "solid"
    assert styles["b"]["linestyle"] != "solid"


def test_settings_are_restored() -> None:
    before = dict(matplotlib.rcParams)
    with print_quality():
        assert matplotlib.rcParams["savefig.dpi"] == 300
        new_figure(1, 1)
    assert dict(matplotlib.rcParams) == before
