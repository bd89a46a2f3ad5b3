"""The interface of environments."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


@runtime_checkable
class Environment(Protocol):
    """The interface that `play` and `simulate` call: rounds, played one after the other.

    In each round the caller calls `known`, then `reveal` at least once, then `step` once. Any other
    order raises `OutOfTurn`. After the last round `known` and `reveal` raise `EnvironmentEnded`.

    An environment with a last round has an attribute `horizon`, its number of rounds. If its
    problem declares outcomes, it may have a method `outcome() -> int | None` that returns the
    outcome of the round that `step` has just ended.

    Attributes
    ----------
    problem : Problem
        Features and actions of every round.
    """

    problem: Problem

    def reset(self, *, seed: Seed = None) -> None:
        """Start over at the first round.

        Parameters
        ----------
        seed : int, SeedSequence, Generator or None
            Draw new rounds from this seed. None replays the same rounds. The same seed gives the
            same rounds whatever the policy does, so comparisons between policies are paired.
        """

    def known(self) -> Observation:
        """Return what is known about the current round so far.

        Returns
        -------
        Observation
            The free values, and in later steps also what was bought.
        """

    def reveal(self, purchase: Purchase) -> Observation:
        """Sell features of the current round.

        Parameters
        ----------
        purchase : Purchase
            The features to buy. Features that are known already are not sold again.

        Returns
        -------
        Observation
            Everything known about the round so far, with the purpose of this purchase.
        """

    def step(self, action: int) -> float:
        """Take an action, which ends the round.

        Parameters
        ----------
        action : int
            Index of the action.

        Returns
        -------
        float
            The reward, in [0, 1].
        """
