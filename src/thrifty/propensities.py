"""Propensities: the probabilities of purchases and actions, summed over a policy's notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from thrifty.rounds import Observation

Notes = Mapping[int, float]
"""The probability of each purpose, given everything that was seen and bought before."""

MONTE_CARLO_DRAWS = 100
"""Number of times a decision is repeated if its policy does not state its probabilities."""

SMALL_ERROR = 1e-5
"""An error that is not worth mentioning in a sentence."""

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Propensity:
    """The probability of a purchase or an action under a policy's own randomness.

    Parameters
    ----------
    probability : float
        The probability, given what was seen and bought before in the case.
    error : float
        Standard error of a Monte Carlo estimate, or bound on a numerical error. 0 if the
        probability is exact.
    notes : mapping
        After a purchase, the probability of each of the policy's notes (`Purchase.purpose`), for
        the next call in the same case. Empty if the purchase is impossible, and after an action.

    Examples
    --------
    >>> Propensity(0.25).error
    0.0
    """

    probability: float
    error: float = 0.0
    notes: Notes = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def certain(cls, note: int) -> Propensity:
        """Return the propensity of a purchase that is certain, with this note.

        Parameters
        ----------
        note : int
            Purpose of the purchase.

        Returns
        -------
        Propensity
            Probability 1.
        """
        return cls(1.0, notes=MappingProxyType({note: 1.0}))

    def without_notes(self) -> Propensity:
        """Return the probability and its error alone.

        Returns
        -------
        Propensity
            The same without notes.
        """
        return Propensity(self.probability, self.error)

    def of_made(self, note: int) -> Propensity:
        """Return the propensity of a choice that was made, which is not 0.

        Parameters
        ----------
        note : int
            Purpose of the purchase.

        Returns
        -------
        Propensity
            The same, or if an estimate is 0, its error.
        """
        if self.probability > 0.0:
            return self
        return Propensity(self.error, self.error, MappingProxyType({note: 1.0}))

    def in_words(self, what: str) -> str:
        """Return the probability as a sentence.

        Parameters
        ----------
        what : str
            The choice.

        Returns
        -------
        str
            A sentence.

        Examples
        --------
        >>> Propensity(0.25).in_words("treat")
        'treat had a probability of 25%, given what was known.'
        >>> Propensity(0.25, 0.014).in_words("treat")
        'treat had a probability of about 25% (error 1.4%), given what was known.'
        >>> Propensity(1.0).in_words("Buying nothing")
        'Buying nothing was certain, given what was known.'
        """
        if self.probability == 1.0 and self.error == 0.0:
            return f"{what} was certain, given what was known."
        shown = f"{100 * self.probability:.4g}%"
        if self.error > SMALL_ERROR:
            shown = f"about {shown} (error {100 * self.error:.2g}%)"
        return f"{what} had a probability of {shown}, given what was known."


@dataclass(frozen=True, slots=True)
class Chances:
    """The choices that a policy may make with one note, each with its probability.

    Parameters
    ----------
    choices : iterable of (choice, float)
        Choices and their probabilities. Choices other than the one in question may be left out.
    draws : int
        Number of repeated decisions behind the probabilities, or 0 if they were stated.
    bound : float
        Bound on the numerical error of each probability.
    """

    choices: Iterable[tuple[object, float]]
    draws: int = 0
    bound: float = 0.0

    def variance(self, probability: float) -> float:
        """Return the squared standard error of a probability; it is above 0 after any draws."""
        if self.draws == 0:
            return 0.0
        # A choice that never or always came up may still have another probability.
        share = (probability * self.draws + 1) / (self.draws + 2)
        return share * (1 - share) / self.draws


class Mixture:
    """Adds up the probability of one choice over the notes that a policy may have made."""

    def __init__(self) -> None:
        self.by_note: dict[int, float] = {}
        self._variance = self._bound = 0.0

    def add(self, weight: float, chances: Chances, note_of: Callable[[object], int | None]) -> None:
        """Add the choices made with one note.

        Parameters
        ----------
        weight : float
            Probability of the note.
        chances : Chances
            The choices.
        note_of : callable
            Returns the next note of a choice, or None if it is another choice.
        """
        total = 0.0
        for choice, probability in chances.choices:
            note = note_of(choice)
            if note is not None and probability > 0.0:
                self.by_note[note] = self.by_note.get(note, 0.0) + weight * probability
                total += probability
        self._variance += weight**2 * chances.variance(total)
        self._bound += weight * chances.bound

    def propensity(self, *, with_notes: bool) -> Propensity:
        """Return the probability of the choice."""
        total = math.fsum(self.by_note.values())
        error = math.sqrt(self._variance) + self._bound
        if not with_notes:
            return Propensity(min(1.0, total), error)
        notes = {note: part / total for note, part in self.by_note.items()}
        return Propensity(min(1.0, total), error, MappingProxyType(notes))


def repeated(decide: Callable[[np.random.Generator], Choice], rng: np.random.Generator) -> Chances:
    """Return how often a decision has each result.

    Parameters
    ----------
    decide : callable
        Makes the decision with a generator, without changing any state.
    rng : Generator
        Generator of a PCG64.

    Returns
    -------
    Chances
        One choice with probability 1 if the first decision draws no random numbers. Otherwise the
        choices of `MONTE_CARLO_DRAWS` decisions.
    """
    before = rng.bit_generator.state
    first = decide(rng)
    if rng.bit_generator.state == before:
        return Chances([(first, 1.0)])
    n = MONTE_CARLO_DRAWS
    later = (decide(rng) for _ in range(n - 1))
    return Chances([(first, 1 / n), *((choice, 1 / n) for choice in later)], draws=n)


def seed_of(known: Observation, rounds: int, seed: int | str | None = None) -> int:
    """Return the seed of an estimate: the given one, or one that depends on the case.

    Parameters
    ----------
    known : Observation
        What is known in the case.
    rounds : int
        Number of rounds learnt.
    seed : int or str, optional
        The seed, or a text that stands for it. By default the seed depends on the others.

    Returns
    -------
    int
        The seed.
    """
    if isinstance(seed, int):
        return seed
    digest = blake2b(f"{rounds} {seed}".encode(), digest_size=8)
    if seed is None:
        digest.update(np.ascontiguousarray(known.codes).tobytes())
        digest.update(np.ascontiguousarray(known.costs).tobytes())
    return int.from_bytes(digest.digest())


def one_hot(n: int, place: int) -> NDArray[np.float64]:
    """Return the probabilities of a choice that is certain.

    >>> one_hot(3, 1).tolist()
    [0.0, 1.0, 0.0]
    """
    chances = np.zeros(n)
    chances[place] = 1.0
    return chances
