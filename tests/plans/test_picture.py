"""The picture of a plan: its text, escaping, and how it fits a wide and a narrow window."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from random_plans import random_plan
from thrifty.features import Feature
from thrifty.pages import page as html_page
from thrifty.plans.picture import MAX_COLUMNS, MAX_LISTED, PICTURE_CSS, plan_picture
from thrifty.plans.tree import ActionRule, Leaf, Node, PlanTree, Split
from thrifty.problem import Problem
from watching import watched

SCRIPT = "<script>document.title = 'caught'</script>" + "long name " * 30
WAIT, TREAT = (ActionRule(a, np.eye(2)[a]) for a in range(2))


class _ByCode:
    """Acts by the code of the first feature."""

    def action_values(self, codes: np.ndarray) -> np.ndarray:
        return np.asarray(np.eye(2)[np.clip(codes[:, 0], 0, 1)])


def plan(*, name: str = "TSH", low: Node | None = None) -> PlanTree:
    problem = Problem(
        [Feature.number(name, edges=(6.05,), missing=True), Feature("sex", ("f", "m"))],
        ["wait", "treat"],
        prices={name: 22.78, "sex": 1.0},
    )
    low = low or Leaf((), WAIT, 90, -22.0)
    high = Leaf((1,), TREAT, 10, -30.0)
    root = Split((0,), 0, np.array([True, False, True, True]), low, high, 100)
    return PlanTree(problem, np.zeros(2, np.bool_), root)


def text(html: str) -> str:
    """Return the text of a picture, a line for each paragraph."""
    lines = re.findall(r"<p[^>]*>(.*?)</p>", html)
    return "\n".join(" ".join(unescape(re.sub(r"<[^>]+>", "", line)).split()) for line in lines)


def test_boxes_show_purchases_comparisons_shares_and_gains() -> None:
    assert text(plan_picture(plan(), currency="EUR")).splitlines() == [
        "In every case",
        "Buy TSH for 22.78 EUR",
        "100% of cases (100), spent 22.78 EUR",
        "TSH is at most 6.05 or missing",
        "Action: wait",
        "90% of cases (90), spent 22.78 EUR, gain -22.00 EUR per case",
        "TSH is above 6.05",
        "Buy sex for 1.00 EUR",
        "Action: treat",
        "10% of cases (10), spent 23.78 EUR, gain -30.00 EUR per case",
    ]


def test_a_leaf_with_a_model_shows_how_often_it_takes_each_action() -> None:
    tree = plan(low=Leaf((), _ByCode(), 90, 0.0))
    codes = np.array([[0, 0], [0, 0], [0, 1], [2, 0], [1, 1]], np.int16)
    lines = text(plan_picture(tree, codes=codes)).splitlines()
    assert lines[lines.index("Act by the model") + 1] == "wait 75%, treat 25%"
    assert "75%" not in text(plan_picture(tree))


def test_a_plan_without_counts_shows_no_shares() -> None:
    tree = PlanTree(plan().problem, np.zeros(2, np.bool_), Leaf((0,), WAIT))
    assert "of cases" not in plan_picture(tree)


def test_many_purchases_are_folded() -> None:
    names = [f"x{k}" for k in range(MAX_LISTED + 3)]
    features = [Feature(name, ("a", "b")) for name in names]
    problem = Problem(features, ["wait", "treat"], prices=dict.fromkeys(names, 1.0))
    leaf = Leaf(tuple(range(len(names))), WAIT)
    html = plan_picture(PlanTree(problem, np.zeros(len(names), np.bool_), leaf))
    assert "<summary>and 3 more</summary><p><bdi>x6</bdi>" in html
    assert "Buy x0, x1, x2, x3, x4, x5 … for 9.00" in text(html)


@pytest.mark.parametrize("seed", range(20))
def test_every_node_of_a_random_plan_has_a_box(seed: int) -> None:
    tree = random_plan(seed, depth=4)
    html = plan_picture(tree, codes=np.zeros((5, len(tree.problem.features)), np.int16))
    assert html.count('class="plan-box leaf"') == len(tree.leaves)
    assert html.count('class="plan-box split"') == len(tree.leaves) - 1
    assert html.count("<li") == html.count("</li>") == 2 * len(tree.leaves) - 1


def deep_plan(depth: int) -> PlanTree:
    """Return a plan with a comparison on every level."""

    def grow(depth: int) -> Node:
        if depth == 0:
            return Leaf((0,), TREAT, 1, 2.0)
        below = Leaf((), WAIT, 1, 1.0)
        return Split((), 0, np.array([True, False, True, True]), below, grow(depth - 1), depth + 1)

    return PlanTree(plan(name=SCRIPT).problem, np.array([True, False]), grow(depth))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with a shallow and a deep plan, both with a hostile name."""
    path = tmp_path_factory.mktemp("picture") / "plan.html"
    plot = '<div class="js-plotly-plot"><div class="modebar"></div></div>'
    pictures = [plan_picture(deep_plan(depth)) for depth in (MAX_COLUMNS - 1, 9)]
    path.write_text(html_page("plan", [*pictures, plot], PICTURE_CSS), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(browser: Browser, file: Path) -> Iterator[Page]:
    with watched(browser, file, width=1280) as (page, noted):
        yield page
        assert noted == [file.as_uri()]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_picture_fits_its_window(opened: Page, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    opened.wait_for_function(f"innerWidth == {width}")
    assert opened.title() == "plan"
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [box.bounding_box() for box in opened.locator(".plan-box").all()]
    assert all(box is not None and box["x"] + box["width"] <= width for box in boxes)
    assert min(box["width"] for box in boxes if box is not None) >= 100


def test_a_shallow_plan_runs_from_left_to_right_where_there_is_room(opened: Page) -> None:
    def is_beside(width: int) -> bool:
        opened.set_viewport_size({"width": width, "height": 900})
        opened.wait_for_function(f"innerWidth == {width}")
        root, child = (opened.locator(".plan-box").nth(k).bounding_box() for k in range(2))
        assert root is not None
        assert child is not None
        return child["x"] >= root["x"] + root["width"]

    assert is_beside(1280)
    assert not is_beside(390)
