"""The report: one file, which holds the numbers and needs nothing else."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from figures.small_tables import table_of
from thrifty.errors import SaveError
from thrifty.experiments.spec import Entry, Experiment
from thrifty.figures.report import regret_data, report, seeds_data, write_report
from thrifty.figures.style import colour_of

TABLE = table_of("Oracle", "UCB1")
EXPERIMENT = Experiment(
    id="small",
    title="Gains & <costs>",
    world="random",
    entries=(
        Entry("Oracle", "oracle"),
        Entry("UCB1", "ucb1", {"alpha": 0.6}, published=(11.0, 14.0)),
    ),
    seeds=(0, 1),
    world_params={"rounds": 20},
)


class Cells(HTMLParser):
    """The rows of all tables, and the addresses of whatever a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.fetched: list[str] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_cell = tag == "td"
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        if tag in {"script", "img", "link", "iframe"}:
            self.fetched += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def page() -> str:
    return report(EXPERIMENT, TABLE, [10])


def test_the_table_has_ours_beside_theirs(page: str) -> None:
    rows = {row[0]: row[1:] for row in _read(page).rows if len(row) == 9}
    assert rows["UCB1"] == ["13.0", "12 to 14", "12", "14", "14", "1", "12.5", "11; 14"]
    assert rows["Oracle"][-2:] == ["", ""]


def test_parameters_seeds_and_versions(page: str) -> None:
    rows = _read(page).rows
    assert ["UCB1", "ucb1", "alpha = 0.6", "to the end"] in rows
    assert ["world", "random", "rounds = 20", "to the end"] in rows
    assert "<p>0, 1</p>" in page
    assert {"thrifty", "Python", "numpy"} <= {row[0] for row in rows if row}


def test_nothing_is_fetched(page: str) -> None:
    assert _read(page).fetched == []
    assert len(page) > 1_000_000  # the library is inside
    assert page.count("Plotly.newPlot(") >= 2
    assert re.search(r'<div id="regret"', page)


def test_titles_are_text(page: str) -> None:
    assert "<h1>Gains &amp; &lt;costs&gt;</h1>" in page


def test_regret_by_hand() -> None:
    figure = regret_data(TABLE, [10])
    ucb1 = figure["data"][-1]
    assert (ucb1["x"], ucb1["y"]) == ([0, 10, 20], [0, 2, 5])
    assert ucb1["line"] == {"color": colour_of("UCB1"), "dash": "solid"}
    band = figure["data"][-2]
    assert (max(band["y"]), band["x"]) == (6, [0, 10, 20, 20, 10, 0])
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [10]


def test_seeds_by_hand() -> None:
    oracle, ucb1, printed = seeds_data(EXPERIMENT, TABLE)["data"]
    assert oracle["x"] == [13, 15]
    assert ucb1["text"] == ["seed 0", "seed 1"]
    assert (printed["x"], printed["y"]) == ([11, 14], ["UCB1", "UCB1"])


def test_the_file_is_complete_or_not_there(tmp_path: Path) -> None:
    path = write_report(tmp_path, EXPERIMENT, TABLE)
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert list(tmp_path.iterdir()) == [path]
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(SaveError, match="cannot be written"):
        write_report(in_the_way, EXPERIMENT, TABLE)


def _read(page: str) -> Cells:
    cells = Cells()
    cells.feed(page)
    return cells
