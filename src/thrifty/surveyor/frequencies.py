"""Frequencies of the outcomes, from cases that were not chosen by what was seen of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

OPTIMISM = 1.5
"""Standard errors that are added to the value of an action which reveals the outcome."""


@dataclass
class OutcomeCounts:
    """Weighted counts of outcomes, and what they say about constant actions.

    A case counts one divided by the probability that its outcome became known. Cases whose action
    was chosen by what was seen of them, and whose outcome it may have hidden, must not be counted
    otherwise.

    Parameters
    ----------
    counts : array of float, shape (O,)
        Sum of the weights of each outcome.
    squares : float
        Sum of the squared weights of the cases.

    Examples
    --------
    >>> counts = OutcomeCounts.empty(2)
    >>> counts.add(np.array([1.0, 0.0]), weight=3.0)
    >>> counts.frequencies.tolist(), counts.n_effective
    ([0.8, 0.2], 1.0)
    """

    counts: Floats = field(repr=False)
    squares: float = 0.0

    @classmethod
    def empty(cls, n_outcomes: int) -> OutcomeCounts:
        """Return counts of no cases."""
        return cls(np.zeros(n_outcomes))

    @property
    def frequencies(self) -> Floats:
        """The frequencies, each outcome counted once too often, (O,)."""
        frequencies: Floats = (self.counts + 1) / (self.counts.sum() + self.counts.size)
        return frequencies

    @property
    def n_effective(self) -> float:
        """Number of cases of equal weight that would tell as much."""
        return float(self.counts.sum()) ** 2 / self.squares if self.squares > 0 else 0.0

    @property
    def n_rare(self) -> float:
        """Number of cases with an outcome other than the most frequent one."""
        total = float(self.counts.sum())
        return self.n_effective * (1 - float(self.counts.max()) / total) if total > 0 else 0.0

    def add(self, probabilities: Floats, weight: float = 1.0) -> None:
        """Count a case.

        Parameters
        ----------
        probabilities : array of float, shape (O,)
            1 for its outcome, or the probabilities of those that are possible.
        weight : float
            One divided by the probability that so much became known.
        """
        self.counts = self.counts + weight * probabilities
        self.squares += weight**2

    def forget(self, kept: float) -> None:
        """Reduce the counts to those of at most this many cases, because the world has changed."""
        share = min(1.0, kept / max(self.n_effective, 1e-12))
        self.counts, self.squares = share * self.counts, share * self.squares

    def values(self, rewards: Floats) -> Floats:
        """Return the expected reward of each constant action.

        Parameters
        ----------
        rewards : array of float, shape (A, O)
            Rewards by action and outcome.

        Returns
        -------
        array of float, shape (A,)
            Expected rewards.
        """
        values: Floats = rewards @ self.frequencies
        return values

    def optimistic_values(self, rewards: Floats, information: Floats) -> Floats:
        """Return the values of constant actions, with a bonus for those that reveal the outcome.

        If a wrong estimate makes an action that hides the outcome the best one, nothing corrects
        it. The bonus prevents that. It is `OPTIMISM` standard errors of the difference to the best
        action, so it vanishes with the number of cases.

        Parameters
        ----------
        rewards : array of float, shape (A, O)
            Rewards by action and outcome.
        information : array of float, shape (A,)
            Share of the uncertainty about the outcome that each action resolves.

        Returns
        -------
        array of float, shape (A,)
            Values.
        """
        frequencies = self.frequencies
        values = rewards @ frequencies
        behind = rewards - rewards[int(values.argmax())]
        variances = behind**2 @ frequencies - (behind @ frequencies) ** 2
        errors = np.sqrt(np.maximum(variances, 0.0) / (self.n_effective + 1))
        optimistic: Floats = values + OPTIMISM * information * errors
        return optimistic

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        return {"counts": self.counts.tolist(), "squares": self.squares}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> OutcomeCounts:
        """Return what `to_dict` described."""
        return cls(np.array(plain["counts"]), plain["squares"])
