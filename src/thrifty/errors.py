"""Every error that Thrifty raises on purpose.

    ThriftyError
    ├── InvalidInput (also a ValueError)
    │   ├── InvalidProblem       features, levels or actions that make no problem
    │   ├── InvalidParameter     a policy's or an environment's parameter out of its range
    │   ├── InvalidSpec          a file that describes no experiment, prices or rewards
    │   ├── InvalidTable         cases, contexts, rewards or costs that cannot be used
    │   ├── InvalidPurchase      a mask that does not fit the problem
    │   ├── InvalidObservation   codes or costs that cannot have been seen
    │   ├── InvalidAction        an action that does not exist or is not available
    │   ├── InvalidReward        a reward that is not a number in [0, 1]
    │   └── InvalidField         a field of a request that cannot be used, by name
    ├── UnknownName (also a KeyError)
    ├── RoundError
    │   ├── OutOfTurn            a step of a round taken before or after its time
    │   ├── UnknownRound         a round that was never asked for
    │   ├── RoundClosed          a second reward for the same round
    │   ├── KeyReused            an idempotency key that stands for another request
    │   ├── TooManyOpen          no more rounds can be open at once
    │   └── EnvironmentEnded     no rounds are left to play
    ├── SaveError
    │   ├── ForeignFile          not a file of ours
    │   ├── DamagedFile          ours, but its checksum does not hold
    │   └── UnsupportedVersion   ours, but written in a format this version cannot read
    ├── StoreError
    │   ├── StoreInUse           another process holds the store
    │   ├── StoreUnavailable     it cannot be written or read at the moment
    │   └── BrokenLog            events that cannot have happened
    ├── AccessDenied             no key, or one that does not open this
    ├── ClusterError             other machines that cannot be used, or are lost
    └── CheckFailed (also an AssertionError)

A message says what was wrong, why it matters and what to do. Whatever raises one of these has
changed no state.
"""

from __future__ import annotations


class ThriftyError(Exception):
    """The root of the tree: catch it to catch everything below."""


class InvalidInput(ThriftyError, ValueError):
    """Something handed in cannot be used."""


class InvalidProblem(InvalidInput):
    """Features, levels or actions that make no problem."""


class InvalidParameter(InvalidInput):
    """A parameter outside of the values it may take."""


class InvalidSpec(InvalidInput):
    """A file that describes no experiment, prices or rewards."""


class InvalidTable(InvalidInput):
    """Cases, contexts, rewards or costs that cannot be used."""


class InvalidPurchase(InvalidInput):
    """A purchase that does not fit the problem."""


class InvalidObservation(InvalidInput):
    """Codes or costs that cannot have been seen."""


class InvalidAction(InvalidInput):
    """An action that does not exist or is not available."""


class InvalidReward(InvalidInput):
    """A reward that is not a number in [0, 1]."""


class InvalidField(InvalidInput):
    """A field of a request that cannot be used; `field` is its name."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class UnknownName(ThriftyError, KeyError):
    """A name that is not among the ones known."""

    __str__ = Exception.__str__  # KeyError would print the message's repr


class RoundError(ThriftyError):
    """A round is not in the state that the call needs."""


class OutOfTurn(RoundError):
    """A step of a round taken before or after its time."""


class UnknownRound(RoundError):
    """A round that was never asked for."""


class RoundClosed(RoundError):
    """A round that has had its reward already."""


class KeyReused(RoundError):
    """An idempotency key that stands for another request."""


class TooManyOpen(RoundError):
    """No more rounds can be open at once."""


class EnvironmentEnded(RoundError):
    """No rounds are left to play."""


class SaveError(ThriftyError):
    """A saved file cannot be written or read."""


class ForeignFile(SaveError):
    """The file was not written by Thrifty."""


class DamagedFile(SaveError):
    """The file was written by Thrifty and has changed since."""


class UnsupportedVersion(SaveError):
    """The file's format is not one that this version reads."""


class StoreError(ThriftyError):
    """A store cannot be used."""


class StoreInUse(StoreError):
    """Another process holds the store."""


class StoreUnavailable(StoreError):
    """The store cannot be written or read at the moment."""


class BrokenLog(StoreError):
    """The log holds an event that cannot have happened."""


class AccessDenied(ThriftyError):
    """No key was shown, or one that does not open this; `known` tells the two apart."""

    def __init__(self, message: str, *, known: bool) -> None:
        super().__init__(message)
        self.known = known


class ClusterError(ThriftyError):
    """Other machines cannot be used, or are lost."""


class CheckFailed(ThriftyError, AssertionError):
    """A policy or an environment breaks a promise of its interface."""
