"""Colours and settings of figures."""

import matplotlib
import pytest

from thrifty.figures.style import COLOURS, SPARE, colour_of, new_figure, print_quality, strokes


def test_every_policy_has_its_own_colour() -> None:
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert not set(COLOURS.values()) & set(SPARE)


@pytest.mark.parametrize(
    ("label", "family"),
    [
        ("NCC-UCRL2, program", "ncc-ucrl2"),
        ("PS-LinUCB", "ps-linucb"),
        ("LinUCB", "linucb"),
        ("Oracle", "oracle"),
    ],
)
def test_the_beginning_of_a_label_decides(label: str, family: str) -> None:
    assert colour_of(label) == COLOURS[family]


def test_an_unknown_label_always_has_the_same_colour() -> None:
    assert colour_of("my policy") == "#AA4499"  # in every process: no salted hash


def test_windows_go_from_dark_to_bright() -> None:
    colours = [colour_of(f"w = {w}") for w in (100, 300, 1000, 1500)]
    brightness = [sum(matplotlib.colors.to_rgb(colour)) for colour in colours]
    assert brightness == sorted(brightness)
    assert len(set(colours)) == 4
    assert colour_of("w = 0") == colour_of("w = 1") == colours[0]


def test_shared_colours_are_dashed_differently() -> None:
    drawn = strokes(["NCC-UCRL2, a", "UCB1", "NCC-UCRL2, b"])
    assert drawn["NCC-UCRL2, a"]["color"] == drawn["NCC-UCRL2, b"]["color"]
    assert drawn["NCC-UCRL2, a"]["linestyle"] == drawn["UCB1"]["linestyle"] == "solid"
    assert drawn["NCC-UCRL2, b"]["linestyle"] != "solid"


def test_settings_are_put_back() -> None:
    before = dict(matplotlib.rcParams)
    with print_quality():
        assert matplotlib.rcParams["savefig.dpi"] == 300
        new_figure(1, 1)
    assert dict(matplotlib.rcParams) == before
