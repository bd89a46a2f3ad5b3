"""The report, as its readers see it: in a real browser."""

import re
from collections.abc import Iterator
from itertools import cycle, product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from waiting import wait_until
from watching import watched


@pytest.fixture(scope="module")
def opened(browser: Browser, reproduced: Path) -> Iterator[tuple[Page, list[str]]]:
    """Open the report, and note every complaint and every request."""
    with watched(browser, reproduced / "results" / "report.html", width=1200) as opened:
        yield opened


@pytest.fixture
def page(opened: tuple[Page, list[str]], reproduced: Path) -> Iterator[Page]:
    """Use the report; whatever is done, nothing is complained of and nothing is fetched."""
    page, noted = opened
    yield page
    assert noted == [(reproduced / "results" / "report.html").as_uri()]


def test_every_figure_is_drawn(page: Page) -> None:
    figures = page.locator("figure")
    assert figures.count() >= 30
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        assert figure.locator(".js-plotly-plot").count() == 1
        expect(
            figure.locator(".cartesianlayer .trace path, .cartesianlayer image").first
        ).to_be_attached()
        assert figure.locator("figcaption").inner_text().endswith(".")


def test_the_page_is_no_wider_than_the_window(page: Page) -> None:
    for width in (1200, 700):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        wide = page.evaluate(
            "[...document.querySelectorAll('body *')].filter("
            "item => item.getBoundingClientRect().right > innerWidth + 1"
            " && !item.closest('.wide, .js-plotly-plot')).map(item => item.outerHTML.slice(0, 80))"
        )
        assert wide == []
    page.set_viewport_size({"width": 1200, "height": 900})


def test_a_policy_is_switched_off_and_on(page: Page) -> None:
    plot = page.locator("#nursery-published-cumulative-regret")
    plot.scroll_into_view_if_needed()
    lines = plot.locator(".scatterlayer .trace")
    before = lines.count()
    entry = plot.locator(".legendtoggle").first
    entry.click()
    expect(lines).to_have_count(before - 2)  # the line and the shade of its interval
    entry.click()
    expect(lines).to_have_count(before)


def test_numbers_appear_under_the_pointer(page: Page) -> None:
    plot = page.locator("#nursery-published-cumulative-regret")
    plot.scroll_into_view_if_needed()
    area = plot.locator(".nsewdrag").bounding_box()
    assert area is not None
    places = product((0.2, 0.4, 0.6, 0.8), (0.2, 0.4, 0.6, 0.8, 0.9))
    left, top, width, height = area["x"], area["y"], 0.6 * area["width"], area["height"]
    points = cycle([(left + x * width, top + y * height) for x, y in places])

    def appears() -> bool:
        page.mouse.move(*next(points))
        page.evaluate("new Promise(requestAnimationFrame)")
        return plot.locator(".hovertext").count() > 0

    wait_until(appears, "a number under the pointer")
    assert re.search(r"\d", plot.locator(".hovertext").first.text_content() or "")


def test_a_drag_zooms_and_a_double_click_goes_back(page: Page) -> None:
    plot = page.locator("#nursery-published-cumulative-regret")
    plot.scroll_into_view_if_needed()
    area = plot.locator(".nsewdrag").bounding_box()
    assert area is not None
    first = plot.locator(".xtick").nth(1)
    whole = first.text_content() or ""
    page.mouse.move(area["x"] + 100, area["y"] + 50)
    page.mouse.down()
    page.mouse.move(area["x"] + 200, area["y"] + 150, steps=5)
    page.mouse.up()
    expect(first).not_to_have_text(whole)
    plot.locator(".nsewdrag").dblclick()
    expect(first).to_have_text(whole)


def test_nothing_can_be_sent_away(page: Page) -> None:
    titles = page.locator(".modebar-btn").evaluate_all(
        "buttons => buttons.map(button => button.dataset.title)"
    )
    assert {"Zoom", "Pan", "Reset axes"} <= set(titles)
    assert not [title for title in titles if re.search("cloud|send|share", title, re.IGNORECASE)]


def test_the_report_has_conclusions_and_verdicts(page: Page) -> None:
    words = page.locator("body").inner_text()
    for text in (
        "What is confirmed, and what is not",
        "NCC-UCRL2 has the highest gain among the paper's benchmarks",
        "thrifty reproduce --figures png --seeds 0:2",
        "the largest difference is",
    ):
        assert text in words
    verdicts = page.locator("#claims td:last-child").all_inner_texts()
    assert len(verdicts) == 10
    assert set(verdicts) <= {"holds", "does not hold", "undecided"}
