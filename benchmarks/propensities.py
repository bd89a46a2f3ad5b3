"""Stated probabilities of decisions, compared with the frequencies of very many decisions.

`python -m benchmarks.propensities` lets every registered policy decide 100,000 times in each of
several states, and prints the p-value of a chi-square test for each. A line per policy follows: the
numbers of its tests and of their cells, the largest error that it states, and the smallest p-value.
Holm's method bounds the probability of any false alarm in the whole table.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from thrifty import POLICIES, Bundle, Feature, Policy, PriceList, Problem
from thrifty.checks.frequencies import FrequencyTest, compare_frequencies
from thrifty.checks.tables import RoundTables, ask, look, play_rounds
from thrifty.environments import Replay
from thrifty.policies.plan import sample_plan
from thrifty.rounds import Observation, Purchase

FALSE_ALARMS = 0.01
"""Probability of any false alarm in the whole table."""
TRAINED = (0, 40, 400)
"""Numbers of rounds after which a policy is tested."""
PLAIN = Problem.anonymous(levels=(2, 3, 2), n_actions=3)
SOLD_TOGETHER = Problem(
    [Feature(name, ("no", "yes")) for name in ("one", "two", "three", "four")],
    ["stay", "go"],
    prices=PriceList({"one": 0.05, "four": 0.05}, bundles=[Bundle("both", ("two", "three"), 0.1)]),
)
SAFE = Problem(
    [Feature("score", ("low", "middle", "high")), Feature("history", ("bad", "good"))],
    ["approve", "decline"],
    outcomes={"approve": {"repaid": 20, "lost": -50}, "decline": {"repaid": 0, "lost": 0}},
    prices={"score": 1, "history": 2},
)
SAFE_LIMITS: dict[str, Any] = {"horizon": 1_500, "max_loss": 50.0}
SAFE_PRICES = 0.05
"""Prices of features beside a safe action, compared with those of the other problems."""
PLAYERS: dict[str, tuple[str, Problem, dict[str, Any]]] = {
    **{name: (name, PLAIN, {}) for name in POLICIES},
    "epsilon-greedy, epsilon 0.3": ("epsilon-greedy", PLAIN, {"epsilon": 0.3}),
    "scout, 2 features at most": ("scout", PLAIN, {"max_features": 2}),
    "scout, a budget": ("scout", PLAIN, {"budget": 0.05}),
    "scout, bundles": ("scout", SOLD_TOGETHER, {}),
    "scout, 2 features at most, bundles": ("scout", SOLD_TOGETHER, {"max_features": 2}),
    "surveyor, a budget": ("surveyor", PLAIN, {"budget": 0.1}),
    "surveyor, a safe action": ("surveyor", SAFE, SAFE_LIMITS),
    "surveyor, a safe action and a budget": ("surveyor", SAFE, {**SAFE_LIMITS, "budget": 0.01}),
    "auto, a safe action": ("auto", SAFE, {}),
}
"""The policies by the names in the table: name in the registry, problem and parameters."""


@dataclass(frozen=True)
class Row:
    """One state of one policy."""

    policy: str
    state: str
    result: FrequencyTest

    @property
    def name(self) -> str:
        """The policy and the state."""
        return f"{self.policy}, {self.state}"

    def __str__(self) -> str:
        found = self.result
        return (
            f"{self.name:70} cells {found.n_cells:3d}  error {found.error:7.1e}  "
            f"p {found.p_value:.4f} {found.surprise}"
        )


def main() -> int:
    """Print the table; return 1 if a policy's frequencies differ from its probabilities."""
    options = _options()
    rows: list[Row] = []
    start = perf_counter()
    for row in _rows(options.only, options.decisions):
        rows.append(row)
        print(f"[{perf_counter() - start:5.0f} s] {row}", flush=True)
    alarms = holm([row.result.p_value for row in rows], FALSE_ALARMS)
    print("\n".join(summary(rows)))
    names = [row.name for row, alarm in zip(rows, alarms, strict=True) if alarm]
    print(
        f"{len(rows)} tests of {options.decisions:,} decisions each; rejected: {names or 'none'}."
    )
    print(f"The probability of any false alarm in the table is at most {FALSE_ALARMS:.0%} (Holm).")
    return int(any(alarms))


def summary(rows: list[Row]) -> list[str]:
    """Return a heading, and a line for each policy."""
    found: dict[str, list[FrequencyTest]] = {}
    for row in rows:
        found.setdefault(row.policy, []).append(row.result)
    return [f"{'policy':38}{'tests':>6}{'cells':>6}{'error':>9}{'smallest p':>12}"] + [
        f"{policy:38}{len(results):6}{sum(result.n_cells for result in results):6}"
        f"{max(result.error for result in results):9.0e}"
        f"{min(result.p_value for result in results):12.4f}"
        for policy, results in found.items()
    ]


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


def _rows(only: list[str], n_decisions: int) -> Iterator[Row]:
    """Test every player in every state, without and with free values."""
    for label, (name, problem, parameters) in PLAYERS.items():
        if only and name not in only:
            continue
        tables = RoundTables.draw(problem, max(TRAINED), seed=1)
        if problem is SAFE:
            tables = replace(tables, costs=SAFE_PRICES * tables.costs)
        policy, played = _make(name, problem, tables, parameters), 0
        for rounds in TRAINED[-1:] if name == "surveyor" else TRAINED:
            _train(policy, tables, range(played, rounds))
            played = rounds
            for free in ((), (0,)):
                ask(policy, tables)  # with the price list
                reveal = partial(_revealed, tables, rounds + 1)
                known = tables.known(rounds + 1, free)
                found = compare_frequencies(policy, known, reveal, n_decisions)
                assert found is not None
                given = ", a value known" if free else ""
                yield Row(label, f"after {rounds} rounds{given}", found)


def _train(policy: Policy, tables: RoundTables, rounds: range) -> None:
    """Let a policy learn, with outcomes if the problem declares some."""
    outcomes = tables.problem.outcomes
    if outcomes is None:
        play_rounds(policy, tables, rounds)
        return
    rng = np.random.default_rng(rounds.start)
    for t in rounds:
        observation = look(policy, tables, t)
        action = policy.choose_action(observation)
        outcome = int(rng.random() < 0.7 - 0.3 * tables.codes[t, 0])
        reward = tables.problem.rewards.scaled_reward(float(outcomes.table[action, outcome]))
        is_told = action == 0  # declining hides the outcome
        policy.update(observation, action, reward, outcome=outcome if is_told else None)


def _revealed(tables: RoundTables, t: int, purchase: Purchase, known: Observation) -> Observation:
    return tables.observe(t, purchase, known)


def _make(name: str, problem: Problem, tables: RoundTables, parameters: dict[str, Any]) -> Policy:
    make = POLICIES[name]
    wanted = inspect.signature(make).parameters
    given = dict(parameters)
    if "horizon" in wanted:
        given.setdefault("horizon", 10_000)
    if "plan" in wanted:
        given["plan"] = sample_plan(problem)
    if "truth" in wanted:
        given["truth"] = Replay(tables.codes, tables.rewards, tables.costs).truth
    return make(problem, seed=1, **given)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.propensities", description=__doc__)
    parser.add_argument("--decisions", type=int, default=100_000, help="decisions in each state")
    parser.add_argument("only", nargs="*", help="names of policies; by default all of them")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
