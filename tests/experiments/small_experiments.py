"""Small experiments, and the command line as a subprocess."""

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from thrifty.experiments.spec import Entry, Experiment

EXPERIMENT = Experiment(
    id="small",
    title="Small",
    environment="random",
    environment_params={"levels": [2, 3], "n_actions": 2, "rounds": 450, "reward_changes": [200]},
    entries=(
        Entry("oracle", "oracle"),
        Entry("ncc", "ncc-ucrl2", {"window": 60, "cost_range": 0.05}),
        Entry("ucb1", "ucb1", {"alpha": 0.3}),
    ),
    seeds=(0, 1, 2, 3),
)

SPEC = """
title = "Two policies in a small environment"
seeds = "0:4"

[environment]
name = "random"
levels = [2, 2]
n_actions = 2
rounds = 300

[[policies]]
policy = "ucb1"
alpha = 0.6

[[policies]]
label = "anything"
policy = "uniform"
"""

THRIFTY = Path(sys.executable).with_name("thrifty")


def thrifty(
    *arguments: str | Path,
    cwd: Path | None = None,
    before: Callable[[], None] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a command; `before` is called in its process first."""
    return subprocess.run(
        [THRIFTY, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        preexec_fn=before,
    )


def no_file_above(size: int) -> Callable[[], None]:
    """Return a function that limits a process and its children to files of this many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def written(folder: Path, text: str, name: str = "mine.toml") -> str:
    """Write a specification and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def files_below(folder: Path) -> list[Path]:
    """Return every file, including drafts."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
