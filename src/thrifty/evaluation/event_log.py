"""Read a log from the events of a service: an exported file, or a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thrifty.errors import InvalidTable, UnknownName
from thrifty.evaluation.logged_cases import Bools, LoggedCases
from thrifty.problem import Problem
from thrifty.service.events import (
    LATE_LEARNT,
    LEARNT,
    OBSERVED,
    OPENED,
    REWARDED,
    SETTLED,
    Event,
    Position,
)
from thrifty.service.stores.base import CHUNK, Store

ERROR_LIMIT = 0.1
"""Probabilities with a larger relative error are mentioned."""


def events_of_store(store: Store, policy: str, tenant: str) -> Iterator[Event]:
    """Yield the events of a policy from a store.

    Parameters
    ----------
    store : Store
        An open store.
    policy, tenant : str
        Name of the policy, and its tenant.

    Yields
    ------
    Event
        The events in their order.
    """
    position = Position()
    while events := store.log.read(position, CHUNK):
        position = events[-1].position
        yield from (e for e in events if (e.policy, e.tenant) == (policy, tenant))


def read_event_log(events: Iterable[Event], problem: Problem, free: Bools) -> LoggedCases:
    """Return the cases of a service whose reward is known.

    The reward of a case is the one that its policy learnt. Cases without one are left out, and
    cases in which not all actions were available.

    Parameters
    ----------
    events : iterable of Event
        The events of one policy.
    problem : Problem
        The target's problem. Its features and actions code those of the log of the same names.
    free : array of bool, shape (D,)
        True for features that are known before buying.

    Returns
    -------
    LoggedCases
        The cases, in the order in which they were opened.

    Raises
    ------
    InvalidTable
        If the log does not fit the problem, or has no probabilities.
    """
    cases: dict[str, _Case] = {}
    for event in events:
        if event.kind == OPENED:
            cases[event.case] = _Case()
        if event.case in cases:
            cases[event.case].add(event)
    return _Coder(problem, free).code(cases)


@dataclass(slots=True)
class _Case:
    """One case as its events describe it."""

    values: dict[str, Any] = field(default_factory=dict)
    settled: list[str] = field(default_factory=list)
    costs: dict[str, float] = field(default_factory=dict)
    purchases: tuple[tuple[str, ...], ...] = ()
    action: str | None = None
    reward: float | None = None
    bought: float = 1.0
    acted: float = float("nan")
    error: float = 0.0
    is_restricted: bool = False

    def add(self, event: Event) -> None:
        body = event.body
        if event.kind == OPENED:
            self.values.update(body["free"])
            self.settled += body["free"]
            self._decide(body)
        elif event.kind == OBSERVED:
            self.values.update(body["values"])
            self.settled += [*body["values"], *body["unavailable"]]
            self.costs.update(body["costs"])
            self._decide(body)
        elif (event.kind == SETTLED and body.get("reward") is not None) or (
            event.kind == REWARDED and body["use"] in (LEARNT, LATE_LEARNT)
        ):
            self.reward = body["reward"]

    def _decide(self, body: Mapping[str, Any]) -> None:
        stated = body.get("propensity") or {}
        if "buy" in stated:
            self._multiply("buy", stated)
        elif "contract" in body or body.get("buy"):
            self.bought = float("nan")  # the policy was asked, and its answer is not known
        if body.get("buy"):
            self.purchases = (*self.purchases, tuple(sorted(body["buy"])))
        if body.get("action") is not None:
            self.action = body["action"]
            self.acted = stated.get("action", float("nan"))
            self._add_error("action", stated)
            self.is_restricted = body.get("available") is not None

    def _multiply(self, key: str, stated: Mapping[str, float]) -> None:
        self.bought *= stated[key]
        self._add_error(key, stated)

    def _add_error(self, key: str, stated: Mapping[str, float]) -> None:
        if stated.get(f"{key}_error") and stated[key] > 0:
            self.error = float(np.hypot(self.error, stated[f"{key}_error"] / stated[key]))


class _Coder:
    """Codes cases by the features of a problem."""

    def __init__(self, problem: Problem, free: Bools) -> None:
        self.problem, self.free = problem, free
        self.places = {name: i for i, name in enumerate(problem.feature_names)}
        self.actions = {name: a for a, name in enumerate(problem.actions)}
        self.known: dict[tuple[int, Any], int] = {}

    def code(self, cases: Mapping[str, _Case]) -> LoggedCases:
        used = {
            name: case
            for name, case in cases.items()
            if case.reward is not None and case.action is not None and not case.is_restricted
        }
        if not used:
            raise InvalidTable(
                f"the log has {len(cases):,} cases, but none with an action, chosen among all "
                "actions, and a reward, so there is nothing to estimate from: report rewards, and "
                "name another policy with --of if the log has one."
            )
        n, n_features = len(used), self.problem.n_features
        codes = np.full((n, n_features), -1, np.int16)
        settled = np.tile(self.free, (n, 1))
        costs = np.zeros((n, n_features))
        sequences: dict[tuple[tuple[str, ...], ...], int] = {}
        for row, case in enumerate(used.values()):
            for name in case.settled:
                settled[row, self._place(name)] = True
            for name, value in case.values.items():
                codes[row, self._place(name)] = self._code(self._place(name), value)
            for name, cost in case.costs.items():
                costs[row, self._place(name)] = cost
        every = list(used.values())
        return LoggedCases(
            problem=self.problem,
            codes=codes,
            settled=settled,
            free=self.free,
            actions=np.array([self._action(case.action) for case in every]),
            rewards=np.array([case.reward for case in every], dtype=np.float64),
            costs=costs,
            action_probabilities=np.array([case.acted for case in every], dtype=np.float64),
            purchase_probabilities=np.array([case.bought for case in every], dtype=np.float64),
            trajectories=np.array(
                [sequences.setdefault(case.purchases, len(sequences)) for case in every]
            ),
            ids=list(used),
            notes=_notes(cases, every),
        )

    def _place(self, name: str) -> int:
        if name not in self.places:
            raise InvalidTable(
                f"the log has feature {name!r}, which the target's problem lacks: evaluate a "
                "target for all features of the log."
            )
        return self.places[name]

    def _action(self, name: str | None) -> int:
        if name not in self.actions:
            raise InvalidTable(
                f"the log has action {name!r}, which the target's problem lacks: evaluate a target "
                "for all actions of the log."
            )
        return self.actions[name]

    def _code(self, place: int, value: Any) -> int:
        key = place, value
        if key not in self.known:
            feature = self.problem.features[place]
            try:
                has_level = value is not None or feature.missing is not None
                self.known[key] = feature.code(value) if has_level else -1
            except UnknownName as error:
                raise InvalidTable(
                    f"the log has a value that fits no level of the target's problem: {error}"
                ) from error
        return self.known[key]


def _notes(cases: Mapping[str, _Case], used: list[_Case]) -> tuple[str, ...]:
    notes = []
    restricted = sum(case.is_restricted for case in cases.values())
    if restricted:
        notes.append(
            f"{restricted:,} of {len(cases):,} cases could not choose among all actions and are "
            "left out"
        )
    lacking = len(cases) - len(used) - restricted
    if lacking > 0:
        notes.append(
            f"{lacking:,} of {len(cases):,} cases have no reward and are left out, as if that did "
            "not depend on the reward"
        )
    errors = sum(case.error > ERROR_LIMIT for case in used)
    if errors:
        notes.append(
            f"the probabilities of {errors:,} cases are estimates with an error above "
            f"{ERROR_LIMIT:.0%}, so their weights are a little too large on average"
        )
    return tuple(notes)
