"""The interface of environments."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


@runtime_checkable
class Environment(Protocol):
    """A world in which rounds are played, one at a time.

    A round is `known`, then `reveal` once or more, then `step` once; anything else raises
    `OutOfTurn`. After the last round `known` and `reveal` raise `EnvironmentEnded`. An environment
    that ends has an attribute `horizon`, the number of its rounds. One whose problem declares
    outcomes may have a method `outcome() -> int | None`: that of the round that `step` has just
    ended.
    """

    problem: Problem

    def reset(self, *, seed: Seed = None) -> None:
        """Start over at the first round.

        A seed draws the world anew from it; None replays the one that is there. The same seed
        gives the same world whatever the policy does, so that comparisons are paired.
        """

    def known(self) -> Observation:
        """Return what is known of the round so far: at first the free values and nothing else."""

    def reveal(self, purchase: Purchase) -> Observation:
        """Sell the features of `purchase`; return all that is known of the round by now.

        What is known already is not sold again. The observation has the purpose of this purchase.
        """

    def step(self, action: int) -> float:
        """Take the action of the round and return its reward in [0, 1]."""
