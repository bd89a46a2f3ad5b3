"""The site builds without a warning, has every page and every public name, and works offline."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import thrifty
from refresh_docs import ROOT

DOCS = ROOT / "docs"
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}


class Page(HTMLParser):
    """What a page loads, links to, and can be linked to by."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if (tag, name) in LOADED and value:
                self.loads.append(value)
            if (tag, name) == ("a", "href") and value:
                self.links.append(value)
            if name == "id" and value:
                self.anchors.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_is_in_the_site_and_in_its_navigation(
    site: Path, pages: dict[Path, Page]
) -> None:
    found = {site / path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert found == pages.keys() - {site / "404.html"}
    front = pages[site / "index.html"]
    reached = {path for path, _ in internal_links(front) if path.suffix == ".html"}
    assert found <= reached


def test_search_finds_pages_and_names(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"] for entry in index["docs"]}
    assert {"index.html", "ncc-ucrl2.html", "api/thrifty.html#thrifty.simulate"} <= places
    assert (site / "search" / "search_index.js").exists()  # for a site that is opened as a file


def test_nothing_comes_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    for page in pages.values():
        assert [url for url in page.loads if urlsplit(url).netloc] == []
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", text) == []


def test_what_is_loaded_and_linked_to_is_there(pages: dict[Path, Page]) -> None:
    for page in pages.values():
        if page.path.name == "404.html":  # its links begin at the root of a server
            continue
        for path, fragment in internal_links(page):
            assert path.exists(), f"{page.path.name} links to {path}"
            if fragment and path.suffix == ".html":
                anchors = pages[path].anchors
                assert fragment in anchors, f"{page.path.name} links to {path.name}#{fragment}"


def test_every_public_name_is_documented(site: Path, pages: dict[Path, Page]) -> None:
    api = [page for path, page in pages.items() if path.parent == site / "api"]
    documented = {anchor.rpartition(".")[2] for page in api for anchor in page.anchors}
    modules = {"environments", "errors", "policies", "theory"}
    assert set(thrifty.__all__) - documented == {*modules, "__version__"}


def internal_links(page: Page) -> Iterator[tuple[Path, str]]:
    for url in page.loads + page.links:
        parts = urlsplit(url)
        if not parts.scheme and not parts.netloc:
            path = page.path.parent / unquote(parts.path) if parts.path else page.path
            yield path.resolve(), unquote(parts.fragment)
