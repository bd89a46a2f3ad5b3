"""Reports: one file each, which holds the numbers and needs nothing else."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.made_up_paper import reproduction
from figures.small_results import KINDS, plain
from thrifty.errors import SaveError
from thrifty.experiments.conclusions import draw_conclusions
from thrifty.figures.figure_list import figure_specs
from thrifty.figures.report import PACKAGES, write_paper_report, write_report

TITLE = "Gains & <costs> </title><script>"
LABEL = 'U<CB>1 & "co" </script><b>'
RESULTS = plain("Oracle", LABEL, title=TITLE)
COMMAND = "thrifty figures 'a & b' --report"


class Page(HTMLParser):
    """The rows of all tables, the text, and the addresses of whatever a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.words: list[str] = []
        self.addresses: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "td":
            self.rows[-1][-1] += data
        if self._inside not in {"script", "style"}:
            self.words.append(data)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("one")
    return write_report(folder, RESULTS, COMMAND).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("paper")
    return write_paper_report(folder, reproduction(), COMMAND).read_text(encoding="utf-8")


def test_the_table_has_ours_beside_theirs(text: str) -> None:
    rows = {row[0]: row[1:] for row in Page(text).rows if len(row) == 11}
    gains = ["13.0", "12 to 14", "12", "14", "14", "1", "5", "100%"]
    assert rows[LABEL] == [*gains, "12.5", "11; 14"]
    assert rows["Oracle"][-2:] == ["", ""]


def test_parameters_seeds_and_versions(text: str) -> None:
    rows = Page(text).rows
    assert [LABEL, "ucb1", "alpha = 0.6"] in rows
    params = "levels = [2, 2], n_actions = 2, rounds = 20, reward_changes = [10]"
    assert ["environment", "random", params] in rows
    assert ["seeds", "0, 1", ""] in rows
    assert {"thrifty", "Python", *PACKAGES} <= {row[0] for row in rows if len(row) == 2}
    assert COMMAND in Page(text).words


def test_what_others_wrote_is_text(text: str) -> None:
    page = Page(text)
    assert page.words.count(TITLE) == 2  # the title and the heading
    assert "b" not in page.tags
    assert page.tags.count("script") == 1 + len(figure_specs(RESULTS))
    assert "</script><b>" not in text


def require_alone(text: str) -> None:
    """A browser fetches nothing: all addresses are in the page itself."""
    addresses = Page(text).addresses
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    anchors = {link.removeprefix("#") for link in addresses if link.startswith("#")}
    assert anchors <= set(re.findall(r'<h2 id="([^"]+)"', text))
    assert "cdn.plot.ly" not in re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.DOTALL)
    assert len(text) > 1_000_000  # the library is inside
    assert text.endswith("</html>\n")


def test_nothing_is_fetched(text: str, paper: str) -> None:
    require_alone(text)
    require_alone(paper)


def report_of(kind: str, folder: Path) -> str:
    return write_report(folder, KINDS[kind], COMMAND).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_report_with_its_figures(tmp_path: Path, kind: str) -> None:
    text = report_of(kind, tmp_path)
    page = Page(text)
    for spec in figure_specs(KINDS[kind]):
        assert spec.caption in page.words
        assert re.search(f'<div id="[a-z0-9-]*-{spec.name}"', text)
    assert KINDS[kind].experiment.title in page.words


def test_the_report_of_a_grid_has_the_choice(tmp_path: Path) -> None:
    page = Page(report_of("grid", tmp_path))
    chosen = "alpha = 0.1, omega = 100, delta = 0.3"
    reported = "alpha = 0.2, omega = 100, delta = 0.4"
    assert ["ps-linucb", chosen, reported, "8.0", "5.0", "8"] in page.rows


def test_the_report_of_horizons_has_slopes_and_bounds(tmp_path: Path) -> None:
    page = Page(report_of("horizons", tmp_path))
    rows = {row[0]: row[1:] for row in page.rows if len(row) == 5}
    assert rows["the text"] == ["10", "20", "0.50", "0.50 to 0.50"]
    assert float(rows["bound of the theorem"][0].replace(",", "")) > 20


def test_the_report_of_a_grid_has_its_values(tmp_path: Path) -> None:
    rows = Page(report_of("grid", tmp_path)).rows
    (listed,) = [row[2] for row in rows if row[:2] == ["ps-linucb (grid)", "ps-linucb"]]
    assert all(value in listed for value in ("0.1", "0.2", "50", "100", "0.3", "0.4"))


def test_bounds_stand_below_their_horizons(tmp_path: Path) -> None:
    results = KINDS["horizons"]
    backwards = replace(results.experiment, horizons=results.experiment.horizons[::-1])
    path = write_report(tmp_path, replace(results, experiment=backwards), COMMAND)
    (row,) = [r for r in Page(path.read_text(encoding="utf-8")).rows if "theorem" in "".join(r)]
    assert int(row[1].replace(",", "")) < int(row[2].replace(",", ""))


def test_the_papers_report_has_every_experiment_and_claim(paper: str) -> None:
    page, done = Page(paper), reproduction()
    for results in done.all:
        assert results.experiment.title in page.words
        assert page.words.count(results.experiment.id) >= 2  # a link, and its parameters
    for claim in done.claims:
        value = claim.format(claim.value)
        assert [claim.claim, claim.measured, value, claim.interval, claim.verdict] in page.rows
    for conclusion in draw_conclusions(done):
        assert conclusion.text in page.words
    assert COMMAND in page.words
    assert {"thrifty", "Python", *PACKAGES} <= {row[0] for row in page.rows if len(row) == 2}


def test_the_papers_report_has_every_parameter(paper: str) -> None:
    rows = Page(paper).rows
    for results in reproduction().all:
        experiment = results.experiment
        for entry in experiment.entries:
            listed = ", ".join(f"{key} = {value}" for key, value in entry.params.items())
            if not experiment.is_grid:
                assert [entry.label, entry.policy, listed] in rows
        seeds = f"{experiment.seeds[0]} to {experiment.seeds[-1]}"
        assert ["seeds", seeds, ""] in rows


def test_the_papers_report_has_what_the_choices_are_worth(paper: str) -> None:
    rows = Page(paper).rows
    # Judged in the order of the labels: 10 and 11 for the paper's, 12 and 13 for the tuned.
    assert [row[:3] for row in rows if row[:1] == ["ucb1"] and len(row) == 4] == [
        ["ucb1", "+2.0", "+2 to +2"]
    ]


def test_the_file_is_complete_or_not_there(tmp_path: Path) -> None:
    path = write_report(tmp_path, KINDS["line"], COMMAND)
    assert list(tmp_path.iterdir()) == [path]
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(SaveError, match="cannot be written"):
        write_report(in_the_way, KINDS["line"], COMMAND)
