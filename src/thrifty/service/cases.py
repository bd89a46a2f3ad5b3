"""The state of a case: its events applied to a `CaseRecord`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.case_inputs import free_codes
from thrifty.case_record import ACTED, CLOSED, EXPIRED, OPEN, CaseRecord, Decision, PurchaseResult
from thrifty.errors import BrokenLog
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.service.events import (
    ABANDONED,
    LATE_LEARNT,
    LEARNT,
    NOTED,
    OBSERVED,
    OPENED,
    REWARDED,
    SETTLED,
    Event,
)
from thrifty.service.imagined import ImaginedCase
from thrifty.service.panel import LearntCase, ShadowCase
from thrifty.service.propensity_bodies import ACTION, BUY, logged_propensity


@dataclass(frozen=True, slots=True)
class Reward:
    """A reward in money, and the index of its outcome if that is known."""

    money: float
    outcome: int | None = None


@dataclass(slots=True)
class CaseState:
    """The state of a case, computed from its events.

    Parameters
    ----------
    problem : Problem
        Translates names to indices and values to codes.
    record : CaseRecord
        What is known and bought, and the action.
    events : list of Event
        All events so far.
    acted : Event, optional
        The event that holds the action.
    learnt_reward : Reward, optional
        The reward that the policy has learnt from the case.
    noted : list of Reward
        Rewards that are kept until the deadline.
    is_legacy : bool
        True if release 0.1 opened the case.
    decider : str, optional
        Name of the policy that decides the case; None if the log has no name.
    turn : int
        Number of changes of the panel before the case.
    shadows : mapping
        What the other policies would have done, by name, as in the log.
    purchase_chance : float
        Probability of all purchases of the case; 0 if it is not known.
    """

    problem: Problem
    record: CaseRecord
    events: list[Event] = field(default_factory=list)
    acted: Event | None = None
    learnt_reward: Reward | None = None
    noted: list[Reward] = field(default_factory=list)
    is_legacy: bool = False
    decider: str | None = None
    turn: int = 0
    shadows: Mapping[str, Any] = field(default_factory=dict)
    purchase_chance: float = 1.0
    _legacy_free: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def new(cls, problem: Problem, name: str) -> CaseState:
        """Return a case without events."""
        return cls(problem, CaseRecord(name, {}))

    @classmethod
    def from_events(cls, problem: Problem, events: Iterable[Event]) -> CaseState:
        """Return the case of these events, of which there must be at least one."""
        first, *others = events
        case = cls.new(problem, first.case)
        for event in (first, *others):
            case.apply(event)
        return case

    @classmethod
    def from_late_reward(cls, problem: Problem, event: Event) -> CaseState:
        """Return the case that is embedded in the event of a late reward."""
        body = event.body
        observed: Sequence[Any] = body["observed"] if "observed" in body else [body["acted"]]
        case = cls.new(problem, event.case)
        case._open(body["opened"])
        for observation in observed:
            case._observe(observation)
        return case

    @property
    def id(self) -> str:
        """Id of the case."""
        return str(self.record.id)

    @property
    def status(self) -> str:
        """`open` until the case has its action, then `acted` until it is `closed`."""
        return self.record.status

    @property
    def end(self) -> str | None:
        """How the case was closed: `rewarded`, `abandoned` or `expired`."""
        return self.record.end

    @property
    def is_learnt(self) -> bool:
        """True if the policy has learnt from the case."""
        return self.learnt_reward is not None

    @property
    def opened(self) -> Event:
        """The event that opened the case."""
        return self.events[0]

    @property
    def decided(self) -> list[Event]:
        """The events with decisions: the opening and the observations."""
        return [event for event in self.events if event.kind in (OPENED, OBSERVED)]

    @property
    def step(self) -> int:
        """Number of the next event."""
        return len(self.events)

    @property
    def deadline(self) -> int:
        """Time of the deadline, in microseconds."""
        return int(self.opened.body["deadline"])

    @property
    def buy(self) -> list[str]:
        """Names of the features to buy now."""
        return [self.problem.feature_names[i] for i in self.record.places]

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of all features that were to be bought, in the order of the purchases."""
        names = self.problem.feature_names
        return tuple(names[i] for look in self.record.steps for i in look.places)

    @property
    def action(self) -> int:
        """Index of the action, which must have been chosen."""
        assert self.record.action is not None
        return self.record.action

    def observation(self) -> Observation:
        """Return everything that is known about the case, with costs in money."""
        return self.record.observation(self.problem.n_features)

    def priced(self) -> NDArray[np.bool_] | None:
        """Return a mask of the features whose prices were observed; None for all that were bought.

        Release 0.1 did not record free values, so a cost of 0 there says nothing about the price.
        """
        return self.observation().costs > 0 if self.is_legacy else None

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        if event.step != self.step or (event.kind == OPENED) != (self.step == 0):
            raise _impossible(event, f"the next step is {self.step}")
        if event.kind == OPENED:
            self._open(event.body)
        elif event.kind == OBSERVED:
            self._require(event, OPEN)
            self._observe(event.body)
        elif event.kind == REWARDED:
            self._reward(event)
        elif event.kind == ABANDONED:
            self._require(event, OPEN, ACTED)
            self.record.close(ABANDONED)
        elif event.kind == SETTLED:
            self._require(event, OPEN, ACTED)
            self._settle(event)
        else:
            raise _impossible(event, "the kind is unknown")
        if self.acted is None and self.record.action is not None:
            self.acted = event
        self.events.append(event)

    def bought(self, body: Mapping[str, Any]) -> PurchaseResult:
        """Return the result of a purchase from the body of an observation."""
        features, place = self.problem.features, self.problem.feature_index
        codes = {
            place(name): features[place(name)].code(value) for name, value in body["values"].items()
        }
        costs = {place(name): cost for name, cost in body["costs"].items()}
        wanted = set(self.record.places)
        if not self.is_legacy and not (codes.keys() <= costs.keys() == wanted):
            raise ValueError(
                f"{self.buy} were to be bought, but {list(body['costs'])} were paid for"
            )
        return self.visible(PurchaseResult(codes, costs))

    def visible(self, bought: PurchaseResult) -> PurchaseResult:
        """Return the part of a purchase that the policy sees.

        In release 0.1 the policy also saw the free values, as bought for 0, and nothing about
        features that were unavailable.
        """
        if not self.is_legacy:
            return bought
        free = self._legacy_free
        paid = {i: bought.costs[i] for i in bought.codes}
        return PurchaseResult({**free, **bought.codes}, {**dict.fromkeys(free, 0.0), **paid})

    def _open(self, body: Mapping[str, Any]) -> None:
        known = free_codes(self.problem, body["free"])
        self.is_legacy = "contract" not in body
        if self.is_legacy:
            self._legacy_free = known
        else:
            self.record.free = known
            _require_decision(body)
        self.turn = body.get("turn", 0)
        self._note_panel(body)
        self.record.decide(self._decision(body))

    def _observe(self, body: Mapping[str, Any]) -> None:
        bought, decision = self.bought(body), self._decision(body)
        _require_decision(body)
        self._note_panel(body)
        self.record.observe(bought)
        self.record.decide(decision)

    def _note_panel(self, body: Mapping[str, Any]) -> None:
        """Remember who decided, with what probability, and what the others would have done."""
        self.decider = body.get("by", self.decider)
        self.shadows = body.get("shadows", self.shadows)
        chances = body.get("propensity")
        self.purchase_chance *= 0.0 if chances is None else chances.get("buy", 1.0)

    def learnt(self, reward: Reward) -> LearntCase:
        """Return the case with a reward, for all policies that learn from it."""
        return LearntCase(
            seen=self.observation(),
            action=self.action,
            reward=reward.money,
            outcome=reward.outcome,
            priced=self.priced(),
            decider=self.decider,
            turn=self.turn,
            shadows={
                name: ShadowCase(ImaginedCase.from_body(self.problem, body), body.get("chance"))
                for name, body in self.shadows.items()
            },
            usual=self.purchase_chance > 0.5,
        )

    def _decision(self, body: Mapping[str, Any]) -> Decision:
        action = body.get("action")
        return Decision(
            places=tuple(map(self.problem.feature_index, body.get("buy", ()))),
            purpose=body.get("purpose", self.record.purpose),
            action=None if action is None else self.problem.action_index(action),
            purchase_propensity=logged_propensity(body, BUY),
            action_propensity=logged_propensity(body, ACTION),
        )

    def _reward(self, event: Event) -> None:
        reward, use = self.reward_in(event.body), event.body["use"]
        if use == LEARNT:
            self._require(event, ACTED)
            self._learn(reward)
            self.record.close(REWARDED)
        elif use == NOTED:
            self._require(event, ACTED)
            self.noted.append(reward)
        elif use == LATE_LEARNT:
            if self.acted is None or self.is_learnt:
                raise _impossible(event, "the case has no action, or was learnt before")
            self._learn(reward)

    def _settle(self, event: Event) -> None:
        if event.body["reward"] is not None:
            self._learn(self.reward_in(event.body))
        self.record.close(REWARDED if self.noted else EXPIRED)

    def _learn(self, reward: Reward) -> None:
        self.learnt_reward = reward
        self.record.reward, self.record.outcome = reward.money, reward.outcome

    def reward_in(self, body: Mapping[str, Any]) -> Reward:
        """Return the reward in a body; release 0.1 stored no outcomes."""
        name, outcomes = body.get("outcome"), self.problem.outcomes
        if name is None or outcomes is None:
            return Reward(body["reward"])
        return Reward(body["reward"], outcomes.index(name))

    def _require(self, event: Event, *statuses: str) -> None:
        if self.status not in statuses:
            raise _impossible(event, f"the case is {self.status}")


def _require_decision(body: Mapping[str, Any]) -> None:
    if bool(body.get("buy")) == (body.get("action") is not None):
        raise ValueError("a decision must either buy something or act")


def _impossible(event: Event, why: str) -> BrokenLog:
    return BrokenLog(
        f"event {event.position.seq} ({event.kind}, step {event.step} of case {event.case}) is not "
        f"valid: {why}. The log was changed or damaged: restore a backup of the store."
    )


__all__ = ["ACTED", "CLOSED", "EXPIRED", "OPEN", "CaseState", "Reward"]
