"""Interfaces of a store: the log, its index, declared policies, snapshots and leases.

A store is one database. `Store` bundles five small interfaces over it, so that each part of the
service depends only on what it uses. `checks.check_store` tests an implementation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from thrifty.errors import StoreError
from thrifty.service.events import Event, Position
from thrifty.specification import PolicySpec

CHUNK = 500
"""Number of events that are read from a database at a time."""


class LeaseLost(StoreError):
    """Another process holds the lease now; the events were not written."""


@dataclass(frozen=True)
class Lease:
    """The right to close the cases of a policy and to save its snapshots.

    Parameters
    ----------
    policy : str
        Id of the policy.
    holder : str
        Name of the process.
    fence : int
        Increases whenever another process takes the lease. A lease with a lower fence is void.
    """

    policy: str
    holder: str
    fence: int


class EventLog(ABC):
    """An append-only log.

    The engine appends events and reads them back in order. An event that `append` returns is on the
    disk. `read` returns events in their final order: no event will ever appear before one that was
    returned. A failure raises `StoreUnavailable`, after which the batch is in the log completely or
    not at all, so `append` can be repeated.
    """

    @abstractmethod
    def append(self, drafts: Sequence[Event], lease: Lease | None = None) -> list[Event | None]:
        """Write events in one transaction.

        Parameters
        ----------
        drafts : sequence of Event
            Events without positions.
        lease : Lease, optional
            Write only if this lease is still held.

        Returns
        -------
        list of Event or None
            The events with their positions; None for an event whose step or key is already taken.

        Raises
        ------
        LeaseLost
            If another process holds the lease; no event was written.
        """

    @abstractmethod
    def read(self, after: Position, limit: int = CHUNK) -> list[Event]:
        """Return the next events of the log.

        Parameters
        ----------
        after : Position
            Position of the last event that was read.
        limit : int
            Maximum number of events.

        Returns
        -------
        list of Event
            Events in the order of the log; empty at its end.
        """


class EventIndex(ABC):
    """Look up events of the log by case, by idempotency key or by what was learnt before.

    Everything that `EventLog.append` has returned is found.
    """

    @abstractmethod
    def cases(self, ids: Sequence[str]) -> Mapping[str, list[Event]]:
        """Return the events of cases.

        Parameters
        ----------
        ids : sequence of str
            Ids of cases.

        Returns
        -------
        mapping
            The events by case, in the order of their steps; unknown cases are missing.
        """

    @abstractmethod
    def with_key(self, tenant: str, key: str) -> Event | None:
        """Return the event that was written under an idempotency key.

        Parameters
        ----------
        tenant : str
            Each tenant has its own keys.
        key : str
            The idempotency key.

        Returns
        -------
        Event or None
            None if the key has not been used.
        """

    @abstractmethod
    def decisions(self, spec: PolicySpec) -> Iterator[tuple[Event, list[Event]]]:
        """Yield every decision of a policy, ordered by the number of rounds learnt before it.

        Parameters
        ----------
        spec : PolicySpec
            The policy.

        Yields
        ------
        tuple
            The event of a decision, and the earlier events of its case.
        """

    @abstractmethod
    def count(self) -> int:
        """Return the number of events in the log.

        Returns
        -------
        int
            Number of events of all policies.
        """


class PolicyRegistry(ABC):
    """The specifications of the policies whose events are in the log.

    A specification never changes under its name, because decisions in the log depend on it.
    """

    @abstractmethod
    def declare(self, spec: PolicySpec) -> None:
        """Store a specification.

        Parameters
        ----------
        spec : PolicySpec
            The policy. Declaring the same specification again has no effect.

        Raises
        ------
        InvalidSpec
            If the name is declared with another specification.
        """

    @abstractmethod
    def require_unchanged(self, spec: PolicySpec) -> None:
        """Raise `InvalidSpec` if the name is declared with another specification.

        Parameters
        ----------
        spec : PolicySpec
            The policy, which need not be declared.
        """

    @abstractmethod
    def specs(self) -> list[PolicySpec]:
        """Return all declared policies.

        Returns
        -------
        list of PolicySpec
            Ordered by tenant and name.
        """


class SnapshotStore(ABC):
    """Snapshots of policies. They only save time: the log alone determines the state."""

    @abstractmethod
    def load(self, spec: PolicySpec) -> Iterator[bytes]:
        """Yield the snapshots of a policy, newest first.

        Parameters
        ----------
        spec : PolicySpec
            The policy.

        Yields
        ------
        bytes
            A snapshot as it was saved.
        """

    @abstractmethod
    def save(self, spec: PolicySpec, position: Position, data: bytes, lease: Lease) -> None:
        """Save a snapshot; keep it and the one before it, and delete the others.

        Parameters
        ----------
        spec : PolicySpec
            The policy.
        position : Position
            Position of the last event in the snapshot.
        data : bytes
            The snapshot.
        lease : Lease
            Must still be held.

        Raises
        ------
        LeaseLost
            If another process holds the lease; nothing was saved.
        """


class LeaseStore(ABC):
    """Leases, which make sure that only one process closes the cases of a policy."""

    @abstractmethod
    def acquire(self, policy: str, holder: str, seconds: float) -> Lease | None:
        """Take or renew the lease of a policy.

        Parameters
        ----------
        policy : str
            Id of the policy.
        holder : str
            Name of this process.
        seconds : float
            How long the lease is valid unless it is renewed.

        Returns
        -------
        Lease or None
            None if another process holds the lease.
        """

    @abstractmethod
    def release(self, lease: Lease) -> None:
        """End a lease now, so that another process need not wait until it expires.

        Parameters
        ----------
        lease : Lease
            A lease of this process.
        """


class Store(ABC):
    """A database with everything that a service keeps.

    Attributes
    ----------
    id : str
        Unique id of the database; a snapshot is only valid in the store that it was taken in.
    exclusive : bool
        True if no other process can write to the store while it is open.
    log : EventLog
        All events.
    index : EventIndex
        Look-ups in the log.
    policies : PolicyRegistry
        Declared policies.
    snapshots : SnapshotStore
        Snapshots of policies.
    leases : LeaseStore
        Leases of policies.
    """

    id: str
    exclusive: bool
    log: EventLog
    index: EventIndex
    policies: PolicyRegistry
    snapshots: SnapshotStore
    leases: LeaseStore

    @abstractmethod
    def probe(self) -> None:
        """Raise `StoreUnavailable` if events cannot be written at the moment."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections and release the store."""
