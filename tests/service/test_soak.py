"""Two policies with drift for a few seconds: the dashboard agrees with the exported log."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from benchmarks.soak import compare_totals


def test_the_dashboard_agrees_with_the_exported_log(tmp_path: Path) -> None:
    """benchmarks/soak.py does it for ten minutes."""
    with ThreadPoolExecutor(1) as pool:  # a browser that was opened before has a loop here
        rows = pool.submit(
            compare_totals, tmp_path, lambda tally: len(tally.seconds) < 600
        ).result()
    assert [row["policy"] for row in rows] == ["lending", "borrowing"]
    for row in rows:
        assert row["decisions"] > 20
        assert row["shown"] == pytest.approx(row["log"])
        for key, value in row["drawn"].items():
            assert value == pytest.approx(row["log"][key])
