"""worth.html in a real browser, with hostile names."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from thrifty.policy_file import from_prices, read_policy_file
from thrifty.tables import level_of, read_cases
from thrifty.worth.evaluation import evaluate
from thrifty.worth.files import write_report
from watching import watched

SCRIPT = "<script>document.title = 'caught'</script>"
IMAGE = '"><img src=x onerror="document.title = \'caught\'">'
BACKWARDS = "\u202eneddih\u202c \u200frtl"
LONG = "a very long name " * 30
MARKUP = "<b>bold</b> & <a href='http://example.com'>link</a>"
NAMES = [SCRIPT, IMAGE, BACKWARDS, LONG, MARKUP]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the report on cases whose names and values are all hostile."""
    rng = np.random.default_rng(3)
    number = 1200
    columns = {name: rng.integers(0, 3, number) for name in NAMES}
    table = {
        name: np.array([SCRIPT, f"{name[:20]} {IMAGE}", "plain"])[codes]
        for name, codes in columns.items()
    }
    informative = columns[SCRIPT] + columns[LONG] >= 2 + (rng.random(number) < 0.1)
    table["</script>"] = np.where(informative, "<i>yes</i>", "no & never")
    table["{{price}}"] = np.where(np.arange(number) < 500, 0.02, 0.05).astype(str)
    file = from_prices(
        {SCRIPT: "{{price}}", LONG: 0.01, BACKWARDS: 0.02},
        target="</script>",
        currency="<u>$</u>",
        bundles={"</style><h1>bundle": ((IMAGE, MARKUP), 0.03)},
    )
    evaluation = evaluate(read_cases(pl.DataFrame(table), file, in_order=True))
    folder = tmp_path_factory.mktemp("worth") / "out"
    write_report(evaluation, folder, name="<b>cases</b>.csv", command=f"thrifty worth {SCRIPT}")
    return folder


@pytest.fixture(scope="module")
def opened(browser: Browser, written: Path) -> Iterator[tuple[Page, list[str]]]:
    with watched(browser, written / "worth.html", width=1280) as opened:
        yield opened


@pytest.fixture
def page(opened: tuple[Page, list[str]], written: Path) -> Iterator[Page]:
    """Return the page; after each test check for errors and network requests."""
    page, noted = opened
    yield page
    assert noted == [(written / "worth.html").as_uri()]


def test_markup_in_names_has_no_effect(page: Page) -> None:
    assert page.title() == "What is worth its price: <b>cases</b>.csv"
    assert page.locator("img, body b, body a[href^='http']").count() == 0
    assert page.locator("h1").count() == 1


def test_hostile_names_are_shown_as_text(page: Page) -> None:
    shown = page.locator("td bdi").all_text_contents()
    assert {SCRIPT, IMAGE, MARKUP, BACKWARDS, LONG} <= set(shown)
    labels = page.locator("#worth-of-features .ytick").all_text_contents()
    assert any(label.startswith("<script>document.title") for label in labels)
    assert all(len(label) < 40 for label in labels)
    assert "\u202e" not in page.locator("#verdict").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    wide = page.evaluate(
        "[...document.querySelectorAll('body *')].filter("
        "part => part.getBoundingClientRect().right > innerWidth + 1"
        " && !part.closest('.wide, .js-plotly-plot')).map(part => part.outerHTML.slice(0, 80))"
    )
    assert wide == []
    narrow = page.evaluate(
        "[...document.querySelectorAll('td')].filter(cell => cell.innerText.length > 3"
        " && cell.getBoundingClientRect().width < 25).length"
    )
    assert narrow == 0
    size = page.evaluate(
        "parseFloat(getComputedStyle(document.querySelector('#verdict')).fontSize)"
    )
    assert size >= 16


def test_every_figure_is_drawn_and_explained(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.locator("figure.plan .plan-box").count() >= 3
    figures = page.locator("figure:not(.plan)")
    assert figures.count() == 4
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        expect(figure.locator(".cartesianlayer .trace path").first).to_be_attached()
        assert figure.locator("figcaption").inner_text().endswith(".")


def test_a_policy_is_switched_off_and_on(page: Page) -> None:
    plot = page.locator("#stream")
    plot.scroll_into_view_if_needed()
    lines = plot.locator(".xy .scatterlayer .trace")
    before = lines.count()
    plot.locator(".legendtoggle").first.click()
    expect(lines).to_have_count(before - 1)
    plot.locator(".legendtoggle").first.click()
    expect(lines).to_have_count(before)


def test_numbers_appear_on_hover(page: Page) -> None:
    plot = page.locator("#worth-of-features")
    plot.scroll_into_view_if_needed()
    boxes = [bar.bounding_box() for bar in plot.locator(".barlayer .point path").all()]
    bar = max((box for box in boxes if box is not None), key=lambda box: box["width"])
    page.mouse.move(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
    expect(plot.locator(".hovertext").first).to_be_attached()


def test_json_and_policy_keep_hostile_names(written: Path) -> None:
    found = json.loads((written / "worth.json").read_text(encoding="utf-8"))
    assert set(found["best_subset"]) == {SCRIPT, LONG}
    assert {column["column"] for column in found["columns"]} == set(NAMES)
    policy = read_policy_file(written / "policy.toml")
    assert {
        part.name for feature in policy.features for part in feature.parts or (feature,)
    } == set(NAMES)
    assert [(bundle.name, bundle.features) for bundle in policy.bundles] == [
        ("</style><h1>bundle", (IMAGE, MARKUP))
    ]
    assert level_of(policy, IMAGE, {IMAGE: "plain"}) == "plain"
