"""Stated probabilities of decisions, compared with the frequencies of very many decisions.

`python -m benchmarks.propensities` lets every registered policy decide 100,000 times in each of
several states, and prints the p-value of a chi-square test for each. Holm's method bounds the
probability of any false alarm in the whole table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from thrifty import POLICIES, Feature, Policy, Problem
from thrifty.checks.frequencies import FrequencyTest, compare_frequencies
from thrifty.checks.tables import RoundTables, ask, play_rounds
from thrifty.environments import Replay
from thrifty.policies.plan import sample_plan
from thrifty.rounds import Observation, Purchase

FALSE_ALARMS = 0.01
"""Probability of any false alarm in the whole table."""
SHORT, LONG = 40, 400
"""Numbers of rounds after which a policy is tested, besides at the start."""
PLAIN = Problem.anonymous(levels=(2, 3, 2), n_actions=3)
BUNDLED = Problem.from_dict
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "scout, 2 features at most": ("scout", {"max_features": 2}),
    "scout, budget 0.1": ("scout", {"budget": 0.1}),
    "surveyor, budget 0.1": ("surveyor", {"budget": 0.1}),
    "epsilon-greedy, epsilon 0.3": ("epsilon-greedy", {"epsilon": 0.3}),
}


@dataclass(frozen=True)
class Row:
    """One state of one policy."""

    policy: str
    rounds: int
    case: str
    result: FrequencyTest | None


def main() -> int:
    """Print the table; return 1 if a policy's frequencies differ from its probabilities."""
    options = _options()
    rows, start = [], perf_counter()
    for row in _rows(options.only, options.decisions):
        rows.append(row)
        print(f"[{perf_counter() - start:5.0f} s] {_line(row)}", flush=True)
    tested = [row for row in rows if row.result is not None]
    alarms = holm([row.result.p_value for row in tested if row.result is not None], FALSE_ALARMS)
    names = [f"{row.policy} after {row.rounds} rounds" for row, no in zip(tested, alarms) if no]
    print(f"{len(tested)} tests of {options.decisions:,} decisions; rejected: {names or 'none'}")
    print(f"Holm's method: the chance of any false alarm in the table is at most {FALSE_ALARMS:.0%}.")
    return int(any(alarms))


def holm(p_values: list[float], level: float) -> list[bool]:
    """Return which hypotheses Holm's method rejects.

    >>> holm([0.001, 0.02, 0.5], 0.05)
    [True, True, False]
    """
    rejected = [False] * len(p_values)
    for k, place in enumerate(np.argsort(p_values).tolist()):
        if p_values[place] > level / (len(p_values) - k):
            break
        rejected[place] = True
    return rejected
