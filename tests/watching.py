"""Pages opened from a file, with everything noted that they complain of or ask for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from waiting import PAGE_LIMIT


@contextmanager
def watched(browser: Browser, file: Path, *, width: int) -> Iterator[tuple[Page, list[str]]]:
    """Open a page of figures, and note every complaint and every request."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(PAGE_LIMIT * 1000)
    noted: list[str] = []
    page.on("console", lambda message: noted.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: noted.append(str(error)))
    page.on("request", lambda request: noted.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator(".js-plotly-plot .modebar").last).to_be_attached()
    yield page, noted
    page.close()
