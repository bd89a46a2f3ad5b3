"""The benchmark runs from end to end; how long things take is for `make bench` to say."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOT_COMPILED = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # compiling would take longer than the test


def benchmarks(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=NOT_COMPILED, capture_output=True, text=True, check=False
    )


TABLES = [
    ("NCC-UCRL2 on the published arrays", "Time a round", 3),
    ("Every policy, compiled", "Time a round", 10),
    ("Every policy, compiled", "Related work in the benchmark", 6),
    ("One live decision", "Time a round", 11),
    ("Growth", "Features, the paper's text", 2),
    ("Growth", "Actions", 2),
    ("Growth", "Window, 3 features", 2),
    ("Growth", "Horizon", 2),
    ("Growth", "Slopes", 4),
    ("A second worker", "8 seeds", 3),
    ("Cold start", "Imports", 2),
    ("Cold start", "Processor time of first uses", 6),
]


def table_under(page: str, title: str) -> list[list[str]]:
    """Return the cells of the table with this title, without its rule."""
    lines = page.split(f"**{title}**\n\n", 1)[1].split("\n\n", 1)[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [cells[0], *cells[2:]]


def section(page: str, title: str) -> str:
    return page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_every_part_has_its_tables(tmp_path: Path) -> None:
    """All of it in one test, because the run takes a while."""
    out = tmp_path / "results.md"
    done = benchmarks("--quick", "--out", out)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == [out]
    page = out.read_text(encoding="utf-8")
    assert_that_it_says_where_it_comes_from(page.split("## ", 1)[0])
    for part, title, least in TABLES:
        headers, *rows = table_under(section(page, part), title)
        assert len(rows) >= least, title
        assert {len(row) for row in rows} == {len(headers)}, title
    assert_that_players_agree(page)
    assert_that_targets_are_judged(page)


def assert_that_it_says_where_it_comes_from(head: str) -> None:
    assert 'make bench ARGS="--quick"' in head
    assert "mean nothing" in head
    for fact in ("CPU", "cores", "memory", "system", "Python", "packages", "source", "date"):
        assert f"\n- {fact}: " in head


def assert_that_players_agree(page: str) -> None:
    """The solver chooses as the compiled loop does, and an agent gains what its policy gains."""
    headers, *rows = table_under(section(page, "NCC-UCRL2 on the published arrays"), "Time a round")
    assert {row[headers.index("same choices")] for row in rows} == {"2 of 2"}
    headers, *rows = table_under(section(page, "One live decision"), "Time a round")
    gains = {row[0]: row[headers.index("gain") : headers.index("target")] for row in rows}
    for name in ("ncc-ucrl2-published", "ucb1", "linucb"):
        assert gains[f"Thrifty {name}"] == gains[f"Thrifty Agent {name}"]


def assert_that_targets_are_judged(page: str) -> None:
    headers, *rows = table_under(page, "Targets")
    assert headers == ["what", "target", "measured", "verdict"]
    assert {row[-1] for row in rows} <= {"met", "not met"}
    assert len(rows) >= 11


def test_parts_that_were_not_run_are_named(tmp_path: Path) -> None:
    done = benchmarks("--quick", "--only", "policies", "--out", tmp_path / "results.md")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "Not run: ncc, live, growth, parallel, cold." in page
    assert "## Growth" not in page


def test_a_part_that_does_not_exist_is_refused() -> None:
    done = benchmarks("--only", "polices")
    assert done.returncode == 2
    assert "choose among ncc, policies, live, growth, parallel, cold" in done.stderr
