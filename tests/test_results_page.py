"""The script that writes the results of the benchmark into the documentation."""

from itertools import product
from pathlib import Path

import polars as pl
import pytest
from benchmarks.results_page import KINDS_TITLE, WORLDS_TITLE, kind_of, main, replaced

from thrifty.experiments.attributes import ATTRIBUTES

POLICIES = {
    "UCB1": ("ucb1", "all", 0.2),
    "D-UCB": ("d-ucb", "all", 0.3),
    "LinUCB": ("linucb", "all", -0.4),
    "D-LinUCB": ("d-linucb", "all", 0.1),
    "LinUCB, best set": ("linucb", "best-fixed", 0.5),
    "D-LinUCB, best set": ("d-linucb", "best-fixed", 0.6),
    "TSRC": ("tsrc", "all", 0.25),
    "Scout": ("scout", "all", 0.7),
}
WORLDS = {"calm": 0, "wild": 8}
PAGE = f"""# Results

```text title="thrifty run worlds"
Ranking over 2 worlds (of before)
old
```

```text title="python -m benchmarks.results_page"
{KINDS_TITLE}
old
```

```text title="another command"
Something else
```
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Write a table of runs; policies are 0.1 worse in the wild world."""
    rows = [
        {
            "world": world,
            **dict.fromkeys(ATTRIBUTES, 1.0),
            "changes": float(changes),
            "policy": label,
            "name": name,
            "feature_set": features,
            "seed": seed,
            "gain": 50.0,
            "oracle_gain": 100.0,
            "score": score - 0.1 * (changes > 0),
        }
        for (world, changes), (label, (name, features, score)), seed in product(
            WORLDS.items(), POLICIES.items(), range(2)
        )
    ]
    (tmp_path / "results" / "worlds").mkdir(parents=True)
    pl.DataFrame(rows).write_parquet(tmp_path / "results" / "worlds" / "runs.parquet")
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    for page in ("benchmark.md", "benchmark-lessons.md"):
        (tmp_path / "docs" / page).write_text(PAGE, encoding="utf-8")
    return tmp_path


def test_tables_and_figures_are_replaced(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = ["--results", str(results / "results"), "--docs", str(results / "docs")]
    assert main([*folders]) == 0
    assert (results / "docs" / "benchmark.md").read_text(encoding="utf-8") == PAGE
    assert main([*folders, "--write"]) == 0
    printed = capsys.readouterr().out
    page = (results / "docs" / "benchmark.md").read_text(encoding="utf-8")
    assert "old" not in page
    assert "Something else" in page
    for block in page.split("```")[1:4:2]:
        assert block.partition("\n")[2] in printed
    drawn = sorted(path.name for path in (results / "docs" / "pictures").iterdir())
    assert drawn == [f"benchmark-{name}.png" for name in ("difficulty", "profiles", "ranking")]


def test_the_best_policies_by_kind_and_by_world(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--results", str(results / "results")])
    kinds, worlds = capsys.readouterr().out.split(WORLDS_TITLE)
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in kinds.splitlines() if line}
    best = ["0.20", "0.30", "-0.40", "0.10", "0.25", "0.70", "0.50", "0.60"]
    assert rows["changes", "none"] == ["1", *best]
    [wild] = [line for line in worlds.splitlines() if line.strip().startswith("wild")]
    assert wild.split() == ["wild", "D-UCB", "0.20", "Scout", "0.60", "D-LinUCB", "0.50"]


def test_every_policy_of_the_benchmark_has_a_kind() -> None:
    assert kind_of("ps-linucb", "all") == "all features, for changes"
    assert kind_of("uniform", "all") == "no features, no forgetting"
    assert kind_of("dal-ncc-ucrl2", "all") == "chooses features"


def test_blocks_of_other_tables_stay() -> None:
    assert replaced(PAGE, {}) == PAGE
