"""Every error that Thrifty raises on purpose.

    ThriftyError
    ├── InvalidInput (also a ValueError)
    │   ├── InvalidProblem       features, levels, actions, outcomes or prices that do not fit
    │   ├── InvalidParameter     a parameter outside its range
    │   ├── InvalidSpec          a file with an invalid experiment, policy, prices or rewards
    │   ├── InvalidTable         cases, contexts, rewards or costs that cannot be used
    │   ├── InvalidPurchase      a mask that does not fit the problem
    │   ├── InvalidObservation   codes or costs that are impossible
    │   ├── InvalidAction        an action that does not exist or is not available
    │   ├── InvalidReward        a reward outside its range
    │   └── InvalidField         a field of a request that cannot be used, by name
    ├── UnknownName (also a KeyError)
    ├── RoundError
    │   ├── OutOfTurn            a call in the wrong order
    │   ├── UnknownRound         a case or round that was never opened
    │   ├── RoundClosed          a case or round that has ended already
    │   ├── KeyReused            an idempotency key that belongs to another request
    │   ├── TooManyOpen          the limit of open cases is reached
    │   ├── StaleFit             the result of a fit that is not due
    │   └── EnvironmentEnded     no rounds are left to play
    ├── SaveError
    │   ├── ForeignFile          the file was not written by Thrifty
    │   ├── DamagedFile          the file does not match its checksum
    │   └── UnsupportedVersion   the file has a format that this version cannot read
    ├── StoreError
    │   ├── StoreInUse           another process uses the store
    │   ├── StoreUnavailable     the store cannot be read or written at the moment
    │   └── BrokenLog            the log contains an impossible event
    ├── AccessDenied             the API key is missing, or lacks the permission
    ├── ClusterError             other machines cannot be used, or were lost
    ├── FitFailed                the models of a policy could not be fitted
    └── CheckFailed (also an AssertionError)

Every message says what is wrong, why it matters and what to do. A call that raises one of these
errors has changed no state.
"""

from __future__ import annotations


class ThriftyError(Exception):
    """Base class of all errors: catch it to catch every error below."""


class InvalidInput(ThriftyError, ValueError):
    """An argument cannot be used."""


class InvalidProblem(InvalidInput):
    """Features, levels, actions, outcomes or prices do not fit together."""


class InvalidParameter(InvalidInput):
    """A parameter is outside its range."""


class InvalidSpec(InvalidInput):
    """A file describes an invalid experiment, policy, price list or set of rewards."""


class InvalidTable(InvalidInput):
    """Cases, contexts, rewards or costs cannot be used."""


class InvalidPurchase(InvalidInput):
    """A purchase does not fit the problem."""


class InvalidObservation(InvalidInput):
    """An observation has impossible codes or costs."""


class InvalidAction(InvalidInput):
    """An action does not exist or is not available."""


class InvalidReward(InvalidInput):
    """A reward is outside its range: [0, 1] for a policy, in money for an `Agent`."""


class InvalidField(InvalidInput):
    """A field of a request cannot be used.

    Parameters
    ----------
    field : str
        Name of the field, such as `values.income`.
    message : str
        Explanation, without the name of the field.

    Examples
    --------
    >>> error = InvalidField("reward", "report the reward in money, or the outcome.")
    >>> error.field, str(error)
    ('reward', 'reward: report the reward in money, or the outcome.')
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class UnknownName(ThriftyError, KeyError):
    """A name does not exist."""

    __str__ = Exception.__str__  # KeyError would print the message's repr


class RoundError(ThriftyError):
    """A case or round is not in the state that the call needs."""


class OutOfTurn(RoundError):
    """A call came in the wrong order, such as an action before a purchase."""


class UnknownRound(RoundError):
    """A case or round was never opened."""


class RoundClosed(RoundError):
    """A case or round has ended already."""


class KeyReused(RoundError):
    """An idempotency key belongs to another request."""


class TooManyOpen(RoundError):
    """The limit of open cases is reached."""


class StaleFit(RoundError):
    """The result of a fit is not due: it was used before, or a newer fit has replaced it."""


class EnvironmentEnded(RoundError):
    """No rounds are left to play."""


class SaveError(ThriftyError):
    """A file cannot be saved or loaded."""


class ForeignFile(SaveError):
    """The file was not written by Thrifty."""


class DamagedFile(SaveError):
    """The file was written by Thrifty and has changed since."""


class UnsupportedVersion(SaveError):
    """The file has a format that this version cannot read."""


class StoreError(ThriftyError):
    """A store cannot be used."""


class StoreInUse(StoreError):
    """Another process uses the store."""


class StoreUnavailable(StoreError):
    """The store or the service cannot be reached at the moment."""


class BrokenLog(StoreError):
    """The log contains an impossible event."""


class AccessDenied(ThriftyError):
    """The API key is missing or unknown, or it lacks the permission.

    Parameters
    ----------
    message : str
        Explanation.
    known : bool
        True if the key is known and lacks the permission, False if it is missing or unknown.
    """

    def __init__(self, message: str, *, known: bool) -> None:
        super().__init__(message)
        self.known = known


class ClusterError(ThriftyError):
    """Other machines cannot be used, or were lost."""


class FitFailed(ThriftyError):
    """The models of a policy could not be fitted; the policy keeps those that it has."""


class NoOverlap(ThriftyError):
    """A log says too little about a policy to estimate its gain."""


class CheckFailed(ThriftyError, AssertionError):
    """A policy or an environment breaks a promise of its interface."""
