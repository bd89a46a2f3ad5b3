"""Frequencies of the outcomes, from cases that were not chosen by what was seen of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EM_STEPS = 30
OPTIMISM = 1.5
"""Standard errors that are added to the value of an action which reveals the outcome."""


class Frequencies(ABC):
    """Frequencies of the outcomes, and how sure they are."""

    @property
    @abstractmethod
    def frequencies(self) -> Floats:
        """The frequencies, (O,)."""

    @property
    @abstractmethod
    def n_effective(self) -> float:
        """Number of cases of equal weight that would tell as much."""

    @abstractmethod
    def forget(self, kept: float) -> None:
        """Reduce the counts to those of at most this many cases, because the world has changed."""

    @abstractmethod
    def gap_errors(self, rewards: Floats, action: int) -> Floats:
        """Return the standard error of each constant action's distance to another one, (A,)."""

    @abstractmethod
    def optimistic_values(self, rewards: Floats, information: Floats) -> Floats:
        """Return the values of constant actions, with a bonus for those that reveal more."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values."""

    @property
    def n_rare(self) -> float:
        """Number of such cases with an outcome other than the most frequent one."""
        return self.n_effective * (1 - float(self.frequencies.max()))

    def shrunk_frequencies(self, equal: float) -> Floats:
        """Return the frequencies with more cases that are divided evenly among the outcomes.

        Parameters
        ----------
        equal : float
            Number of these cases.

        Returns
        -------
        array of float, shape (O,)
            Frequencies.
        """
        n = self.n_effective + 1  # one is in `frequencies`
        frequencies = self.frequencies
        shrunk: Floats = (n * frequencies + equal / frequencies.size) / (n + equal)
        return shrunk

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

    def plausible(self, rewards: Floats, doubt: float) -> NDArray[np.bool_]:
        """Return which constant actions may be the best one.

        Parameters
        ----------
        rewards : array of float, shape (A, O)
            Rewards by action and outcome.
        doubt : float
            Standard errors by which an action must seem worse to be ruled out.

        Returns
        -------
        array of bool, shape (A,)
            True for each action that is not ruled out.

        Examples
        --------
        Approving seems to lose 4 per case after three cases, but that may be chance:

        >>> counts = OutcomeCounts(2)
        >>> for repaid in (True, True, False):
        ...     counts.add(np.array([repaid, not repaid]))
        >>> rewards = np.array([[10.0, -40.0], [0.0, 0.0]])
        >>> (rewards @ counts.frequencies).round(2).tolist()
        [-8.75, 0.0]
        >>> counts.plausible(rewards, 2.0).tolist()
        [True, True]
        """
        values = rewards @ self.frequencies
        best = int(values.argmax())
        may_be_best: NDArray[np.bool_] = np.asarray(
            values + doubt * self.gap_errors(rewards, best) >= values[best]
        )
        return may_be_best


@dataclass
class OutcomeCounts(Frequencies):
    """Weighted counts of outcomes, and what they say about constant actions.

    A case counts one divided by the probability that so much became known about its outcome. Cases
    whose action was chosen by what was seen of them, and may have hidden the outcome, must not be
    counted otherwise. If an action leaves several outcomes possible, their frequencies are those of
    largest likelihood.

    Parameters
    ----------
    n_outcomes : int
        Number of outcomes.
    weights : dict of tuple of bool to float
        Sum of the weights of the cases with each set of possible outcomes.
    squares : float
        Sum of the squared weights of the cases.

    Examples
    --------
    >>> counts = OutcomeCounts(2)
    >>> counts.add(np.array([True, False]), weight=3.0)
    >>> counts.frequencies.tolist(), counts.n_effective
    ([0.875, 0.125], 1.0)
    """

    n_outcomes: int
    weights: dict[tuple[bool, ...], float] = field(default_factory=dict)
    squares: float = 0.0
    _frequencies: Floats | None = field(default=None, repr=False)

    @property
    def frequencies(self) -> Floats:
        """The frequencies, with one more case that is divided evenly among the outcomes, (O,)."""
        if self._frequencies is None:
            self._frequencies = self._estimate()
        return self._frequencies

    def _estimate(self) -> Floats:
        """Return the frequencies by the EM algorithm, which begins with the known outcomes."""
        sets = np.array([*self.weights, (True,) * self.n_outcomes], np.float64)
        weights = np.array([*self.weights.values(), 0.0])
        prior = np.full(self.n_outcomes, 1 / self.n_outcomes)
        is_exact = sets.sum(axis=1) == 1
        found = _normalised(weights[is_exact] @ sets[is_exact] + prior)
        for _ in range(0 if is_exact[:-1].all() else EM_STEPS):
            likely = sets * found
            found = _normalised(weights @ (likely / likely.sum(axis=1, keepdims=True)) + prior)
        return found

    @property
    def n_effective(self) -> float:
        """Number of cases of equal weight that would tell as much."""
        total = sum(self.weights.values())
        return total**2 / self.squares if self.squares > 0 else 0.0

    def add(
        self,
        possible: NDArray[np.bool_],
        weight: float = 1.0,
        probabilities: Floats | None = None,
    ) -> None:
        """Count a case.

        Parameters
        ----------
        possible : array of bool, shape (O,)
            True for each possible outcome.
        weight : float
            One divided by the probability that so much became known.
        probabilities : array of float, shape (O,), optional
            Probabilities of the outcomes by which the action was chosen. Without them, the action
            must not depend on what was seen of the case.
        """
        if probabilities is None or possible.sum() == 1:
            self._add(tuple(possible.tolist()), weight)
        else:
            likely = probabilities * possible
            for k in np.flatnonzero(possible).tolist():
                share = float(likely[k] / max(float(likely.sum()), 1e-12))
                self._add(tuple(j == k for j in range(self.n_outcomes)), weight * share)
        self.squares += weight**2
        self._frequencies = None

    def _add(self, key: tuple[bool, ...], weight: float) -> None:
        self.weights[key] = self.weights.get(key, 0.0) + weight

    def forget(self, kept: float) -> None:
        """Reduce the counts to those of at most this many cases, because the world has changed."""
        share = min(1.0, kept / max(self.n_effective, 1e-12))
        self.weights = {key: share * weight for key, weight in self.weights.items()}
        self.squares *= share
        self._frequencies = None

    def gap_errors(self, rewards: Floats, action: int) -> Floats:
        """Return the standard error of each constant action's distance to another one.

        Parameters
        ----------
        rewards : array of float, shape (A, O)
            Rewards by action and outcome.
        action : int
            The other action.

        Returns
        -------
        array of float, shape (A,)
            Standard errors; 0 for the action itself.
        """
        frequencies, gaps = self.frequencies, rewards - rewards[action]
        variances = gaps**2 @ frequencies - (gaps @ frequencies) ** 2
        errors: Floats = np.sqrt(np.maximum(variances, 0.0) / (self.n_effective + 1))
        return errors

    def optimistic_values(self, rewards: Floats, information: Floats) -> Floats:
        """Return the values of constant actions, with a bonus for those that reveal more.

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
        values = rewards @ self.frequencies
        best = int(values.argmax())
        more = np.maximum(information - information[best], 0.0)
        errors = self.gap_errors(rewards, best)
        optimistic: Floats = values + OPTIMISM * more * errors
        return optimistic

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        weights = [[list(key), weight] for key, weight in self.weights.items()]
        return {"n_outcomes": self.n_outcomes, "weights": weights, "squares": self.squares}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> OutcomeCounts:
        """Return what `to_dict` described."""
        weights = {tuple(key): weight for key, weight in plain["weights"]}
        return cls(plain["n_outcomes"], weights, plain["squares"])


def _normalised(counts: Floats) -> Floats:
    frequencies: Floats = counts / counts.sum()
    return frequencies
