"""Environments that draw all of their rounds in advance."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.replay import Replay
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


class DrawnEnvironment(ABC):
    """An environment whose rounds are drawn from a seed, then replayed.

    Derive from this class, write `draw`, and call `super().__init__`.

    Parameters
    ----------
    seed : SeedSequence
        Seed of the rounds before the first `reset` with another one.
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._seed = seed
        self._replay: Replay | None = None

    @abstractmethod
    def draw(self, seed: Seed) -> Replay:
        """Draw all rounds.

        Parameters
        ----------
        seed : int, SeedSequence, Generator or None
            The same seed gives the same rounds.

        Returns
        -------
        Replay
            Codes, rewards of all actions and costs of all features as tables.
        """

    @property
    def replay(self) -> Replay:
        """The rounds that are being played."""
        if self._replay is None:
            self._replay = self.draw(self._seed)
        return self._replay

    def reset(self, *, seed: Seed = None) -> None:
        """Start over at the first round.

        Parameters
        ----------
        seed : int, SeedSequence, Generator or None
            Draw new rounds from this seed. None replays the same rounds.
        """
        if seed is not None:
            self._replay = self.draw(seed)
        self.replay.reset()

    def known(self) -> Observation:
        """Return what is known about the current round so far.

        Returns
        -------
        Observation
            The free values, and in later steps also what was bought.
        """
        return self.replay.known()

    def reveal(self, purchase: Purchase) -> Observation:
        """Sell features of the current round.

        Parameters
        ----------
        purchase : Purchase
            The features to buy.

        Returns
        -------
        Observation
            Everything known about the round so far.
        """
        return self.replay.reveal(purchase)

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
        return self.replay.step(action)

    def price_list(self) -> NDArray[np.float64]:
        """Return the cost of every feature in the current round.

        Returns
        -------
        array of float, shape (D,)
            Costs on the policy's scale (see `Replay.price_list`).
        """
        return self.replay.price_list()
