"""The dashboard in a real browser, while traffic runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.load import CaseSource, Tally, traffic
from playwright.sync_api import Browser, Page, expect

import fitter
import ladder
from service.shadow_files import with_shadows
from small_service import LEVELS, Served, ladder_file, policy_file, run_apart, served
from thrifty.client import Client
from waiting import LIMIT, wait_until

HOSTILE = "<img src=x onerror=document.title='owned'><b>income</b>"


def make_traffic(service: Served, policy: str = "lending", cases: int = 10) -> None:
    world = CaseSource({**LEVELS, HOSTILE: ("low", "high")}, price=0.5)
    tally = Tally()
    load = traffic(service.port, policy, world, connections=4, cases=cases, seed=1, tally=tally)
    run_apart(load)
    assert not tally.errors


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("dashboard")
    policy = policy_file(folder)
    other = policy_file(folder, name="hostile")
    other.write_text(other.read_text().replace('name = "income"', f'name = "{HOSTILE}"'))
    idle = policy_file(folder, name="idle")
    steps = ladder_file(folder, name="steps", more="epsilon = 0.0")
    files, env = (policy, other, idle, steps), ladder.environment(folder)
    with served(*files, "--store", folder / "store.db", env=env) as running:
        make_traffic(running)
        make_traffic(running, "hostile")
        yield running


@pytest.fixture
def page(browser: Browser, service: Served) -> Iterator[Page]:
    """Open the dashboard; check that there are no errors and no requests to other hosts."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(LIMIT * 1000)
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(service.url)
    expect(page.locator("#features .barlayer .trace").first).to_be_attached()
    yield page
    page.close()
    assert complaints == []
    assert asked
    assert [url for url in asked if not url.startswith((service.url, "data:,"))] == []


def shown(page: Page, name: str) -> float:
    text = page.locator(f'[data-name="{name}"] b').inner_text()
    return float(text.replace(",", ""))


def choose(page: Page, policy: str) -> None:
    page.get_by_role("button", name=policy).click()
    expect(page.get_by_role("button", name=policy)).to_have_attribute("aria-current", "true")


def test_the_page_shows_the_totals(page: Page, service: Served) -> None:
    choose(page, "lending")
    with Client(service.url) as client:
        known = client.policy("lending")
    expect(page.locator('[data-name="acted"] b')).to_have_text("40")
    for name in ("gain", "reward", "spend"):
        assert shown(page, name) == pytest.approx(known[name], abs=0.006)
    assert page.locator("#money .scatterlayer .trace").count() == 3
    assert page.locator('[data-name="set"] b').inner_text() == "income, history, age"


def test_the_page_updates_itself(page: Page, service: Served) -> None:
    choose(page, "lending")
    before = shown(page, "acted")
    make_traffic(service, cases=5)
    expect(page.locator('[data-name="acted"] b')).to_have_text(f"{before + 20:.0f}")


def test_hostile_names_are_text(page: Page) -> None:
    choose(page, "hostile")
    expect(page.locator('[data-name="set"] b')).to_contain_text(HOSTILE)
    expect(page.locator("#features")).to_contain_text("onerror=doc")
    assert page.title() == "Thrifty"
    assert page.locator("img").count() == 0
    assert page.locator("#features b").count() == 0


def test_a_policy_without_events_shows_no_data(page: Page) -> None:
    choose(page, "idle")
    for plot in ("#money", "#features"):
        expect(page.locator(plot)).to_contain_text("no data yet")
        expect(page.locator(f"{plot} .tick, {plot} .trace")).to_have_count(0)
    for list_of in ("#notices", "#open", "#late"):
        expect(page.locator(list_of)).to_have_text("none")


def test_case_view_shows_values_and_reasons(page: Page, service: Served) -> None:
    choose(page, "lending")
    with Client(service.url) as client:
        case = client.ask(free={"age": 20}, policy="lending")
        values = dict.fromkeys(case.buy, "low") | {"history": "none"}
        client.observe(case, values, dict.fromkeys(case.buy, 0.1), available=["approve"])
    name = str(case.id)
    expect(page.locator("#open")).to_contain_text(name)
    page.get_by_role("button", name=name).click()
    view = page.locator("#case-view")
    expect(view).to_contain_text("value of each action")
    expect(view).to_contain_text("income, history")
    expect(view).to_contain_text("history: none")
    expect(view).to_contain_text("paid income: 0.1, history: 0.1")
    expect(view.get_by_role("cell", name="approve", exact=True)).to_be_visible()
    choose(page, "idle")
    expect(view).to_have_text("")  # it was another policy's


def test_purchases_in_steps_are_shown_one_by_one(page: Page, service: Served) -> None:
    with Client(service.url, "steps") as client:
        case = client.ask(free={"age": 20})
        case = client.observe(case, {"income": "high"}, {"income": 0.9})
        case = client.observe(case, {"history": None}, {"history": 0.1}, available=["approve"])
        client.tell(case, outcome="repaid")
    page.locator("#case-id").fill(str(case.id))
    page.get_by_role("button", name="Show").click()
    rows = page.locator("#case-view table").first.locator("tr")
    expect(rows.filter(has_text="purchase 1").locator("td")).to_have_text(
        "income for about 1\nvalues income: high\npaid income: 0.9"
    )
    expect(rows.filter(has_text="purchase 2").locator("td")).to_have_text(
        "history for about 1.5\nunavailable: history\npaid history: 0.1"
    )
    expect(rows.filter(has_text="outcome").locator("td")).to_have_text("repaid")
    expect(rows.filter(has_text="rewards").locator("td")).to_have_text("120 (repaid, learnt)")
    why = page.locator("#case-view table").nth(1)
    expect(why.get_by_role("row", name="2: climbed")).to_contain_text("1")


def test_reasons_are_readable(page: Page, service: Served) -> None:
    with Client(service.url) as client:
        case = client.explain(client.ask(free={"age": 20}, policy="lending"))
    sets = [{"features": ["income", "age"], "value": 0.87272}, {"features": [], "value": 0.5}]
    reasons = {
        "set_in_use": ["income"],
        "considered": sets,
        "long": [f"level {k}" for k in range(99)],
    }
    case["steps"][0]["reasons"] = reasons
    page.route("**/v1/cases/*", lambda route: route.fulfill(json=case))
    page.locator("#case-id").fill(case["case"])
    page.get_by_role("button", name="Show").click()
    rows = page.locator("#case-view table").nth(1).locator("tr")
    expect(rows.filter(has_text="set in use").locator("td")).to_have_text("income")
    expect(rows.filter(has_text="considered").locator("td")).to_have_text(
        "features: income & age, value: 0.8727\nfeatures: nothing, value: 0.5"
    )
    page.set_viewport_size({"width": 400, "height": 800})
    heading = rows.filter(has_text="considered").locator("th")
    assert heading.evaluate("node => node.clientWidth") > 60  # no word is broken up
    with Client(service.url) as client:
        client.abandon(case["case"])


def test_the_page_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    fits = "document.documentElement.scrollWidth <= innerWidth"
    wait_until(lambda: page.evaluate(fits), "a page that fits")


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a service whose policy reports everything that a dashboard can show."""
    folder: Path = tmp_path_factory.mktemp("planner")
    policy = policy_file(folder, policy="fitter")
    policy.write_text(policy.read_text().replace('name = "income"', f'name = "{HOSTILE}"'))
    with served(policy, "--store", folder / "store.db", env=fitter.environment(folder)) as running:
        make_traffic(running)
        yield running


@pytest.mark.parametrize("width", [1280, 390])
def test_the_plan_and_what_the_policy_reports(
    browser: Browser, planner: Served, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(LIMIT * 1000)
    try:
        page.goto(planner.url)
        expect(page.locator("#plan .plan-box")).to_have_count(5)
        texts = page.locator("#plan .plan-box").all_inner_texts()
        boxes = [[" ".join(line.split()) for line in text.splitlines() if line] for text in texts]
        assert boxes[0][:2] == ["In every case", f"Buy {HOSTILE} for 0.4 EUR"]
        assert boxes[1][:2] == [f"{HOSTILE} is low", "Action: decline"]
        assert boxes[4][-1] == "20% of cases, spent 1.9 EUR, gain 40 EUR per case"
        assert "Expected gain 12.5 EUR per case" in page.locator("#plan-note").inner_text()
        assert shown(page, "explored-cost") == 1.5
        assert shown(page, "changes") == 2
        assert shown(page, "surplus") == -31.25
        assert shown(page, "max-loss") == 250
        assert shown(page, "budget-ceiling") == 400
        assert shown(page, "budget-spend") == 125.5
        assert shown(page, "budget-price") == 0.125
        assert "after 1,200 rounds: a change began" in page.locator("#notices").inner_text()
        assert page.title() == "Thrifty"
        assert page.locator("#plan b, #plan img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_shadows_and_their_estimates(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, width: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("shadows")
    shadows = {"careful": "scout", "eager": "linucb"}
    path = with_shadows(folder, policy="uniform", shadows=shadows, more="traffic = 0.25")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(LIMIT * 1000)
    try:
        with served(path, "--store", folder / "store.db") as running:
            with Client(running.url, "lending") as client:
                page.goto(running.url)
                expect(page.locator("#shadow-rows")).to_contain_text("no case yet")
                for k in range(12):
                    case = client.ask(free={"age": "old"}, case_key=f"customer {k}")
                    while case.buy:
                        case = client.observe(case, dict.fromkeys(case.buy))
                    client.tell(case, outcome="repaid")
                careful, eager = page.locator("#shadow-rows tr").all()
                expect(careful).to_contain_text("11 of 12")
                expect(careful).to_contain_text("careful (scout, decides 25% of cases)")
                expect(careful).to_contain_text("EUR to ")
                expect(eager).to_contain_text("not known in any case")
                expect(page.locator("#shadows-note")).to_contain_text("lending acts.")
                view = client.status("lending")["shadows"][0]
                expect(careful).to_contain_text(f"{view['difference']:,.2f}".rstrip("0"))
                client.promote("lending", "careful")
                expect(page.locator("#shadows-note")).to_contain_text("careful acts.")
                expect(page.locator("#shadow-rows")).to_contain_text("lending (uniform")
                client.demote("lending")
                expect(page.locator("#shadows-note")).to_contain_text("lending acts.")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.close()


def test_a_policy_without_shadows_shows_none(page: Page) -> None:
    choose(page, "lending")
    expect(page.locator("#shadows")).to_be_hidden()


def test_a_policy_that_reports_nothing_shows_no_plan(page: Page) -> None:
    choose(page, "lending")
    expect(page.locator("#plan")).to_be_hidden()
    expect(page.locator("#status")).to_be_hidden()
