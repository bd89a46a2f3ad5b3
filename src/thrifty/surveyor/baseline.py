"""A given plan that gains are compared with, instead of the best constant action."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.steps import Step
from thrifty.plans.tree import Leaf, PlanTree
from thrifty.rounds import Observation

Floats = NDArray[np.float64]

HIDDEN_DOUBT = 2.0
"""Standard errors that are added to the mean gain of the baseline where its gain stayed hidden."""
FEWEST_CASES = 30
"""Number of cases from which on the mean gain of the baseline is an estimate."""


@dataclass
class GainRecord:
    """Mean gain of the baseline in cases that were not chosen by what was seen of them.

    Parameters
    ----------
    n : int
        Number of cases.
    mean : float
        Mean gain in money.
    squares : float
        Sum of the squared deviations from the mean.

    Examples
    --------
    >>> record = GainRecord()
    >>> for gain in (10.0, -2.0, 10.0, -2.0):
    ...     record.add(gain)
    >>> record.mean, record.error
    (4.0, 3.0)
    """

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, gain: float) -> None:
        """Take in a case."""
        self.n += 1
        before, self.mean = self.mean, self.mean + (gain - self.mean) / self.n
        self.squares += (gain - before) * (gain - self.mean)

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return math.sqrt(self.squares) / self.n if self.n else math.inf


class Baseline:
    """A plan that is carried out until another one is better, and when nothing more may be lost.

    Parameters
    ----------
    tree : PlanTree
        The plan.

    Attributes
    ----------
    step : Step
        The first step of the plan.
    record : GainRecord
        Its gains in the cases in which everything was bought.
    """

    def __init__(self, tree: PlanTree) -> None:
        self.tree = tree
        self.step = Step.of(tree, tree.root)
        self.record = GainRecord()

    def leaf(self, known: Observation) -> Leaf:
        """Return the leaf at which the plan acts if nothing more is bought."""
        node = self.step.leaf(known.codes.tolist()).node
        assert isinstance(node, Leaf)
        return node

    def action_values(self, known: Observation) -> Floats:
        """Return what the plan expects of each action in a case, in money, (A,)."""
        codes = known.codes.astype(np.int16)[None]
        values: Floats = self.leaf(known).rule.action_values(codes)[0]
        return values

    def would_do(self, known: Observation) -> tuple[int, float] | None:
        """Return what the plan would have done in a case that is over.

        Parameters
        ----------
        known : Observation
            What was known in the end, and what was paid for it.

        Returns
        -------
        action : int
            The action.
        cost : float
            What its purchases cost, on the policy's scale.

            None if the plan would have bought something that was not bought.
        """
        codes, costs = known.codes.tolist(), known.costs.tolist()
        step, wanted = self.step, set(self.step.features)
        while step.low is not None and not _lacks(step, codes, costs):
            step = step.next(codes)
            wanted |= set(step.features)
        if _lacks(step, codes, costs):
            return None
        cost = sum(costs[k] for k in sorted(wanted) if not math.isnan(costs[k]))
        return int(self.action_values(known).argmax()), cost

    def add(self, gain: float) -> None:
        """Count a case in which everything was bought to learn."""
        self.record.add(gain)

    def hidden_gain(self, most: float) -> float:
        """Return what the plan may have gained in a case in which that stayed hidden.

        Parameters
        ----------
        most : float
            The most that it can gain.

        Returns
        -------
        float
            An upper bound on the mean; `most` as long as there are few cases.
        """
        if self.record.n < FEWEST_CASES:
            return most
        return min(self.record.mean + HIDDEN_DOUBT * self.record.error, most)

    def is_beaten(self, gain: float) -> bool:
        """Return True if a plan with this expected gain seems better."""
        record = self.record
        return record.n >= FEWEST_CASES and gain > record.mean + record.error

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        return asdict(self.record)

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Restore what `to_dict` described."""
        self.record = GainRecord(**plain)


def _lacks(step: Step, codes: list[int], costs: list[float]) -> bool:
    """Return True if something that the plan buys at a step was not bought in a case."""
    return any(codes[i] < 0 and math.isnan(costs[i]) for i in step.features)
