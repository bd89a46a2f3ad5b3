"""The interface of environments."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


@runtime_checkable
class Environment(Protocol):
    """A world in which rounds are played, one at a time.

    A round is `reveal`, then `step`, once each and in this order; anything else raises
    `OutOfTurn`. After the last round `reveal` raises `EnvironmentEnded`. An environment that ends
    has an attribute `horizon`, the number of its rounds.
    """

    problem: Problem

    def reset(self, *, seed: Seed = None) -> None:
        """Start over at the first round.

        A seed draws the world anew from it; None replays the one that is there. The same seed
        gives the same world whatever the policy does, so that comparisons are paired.
        """

    def reveal(self, purchase: Purchase) -> Observation:
        """Sell the features of `purchase`: their codes and costs, and nothing of the others."""

    def step(self, action: int) -> float:
        """Take the action of the round and return its reward in [0, 1]."""
