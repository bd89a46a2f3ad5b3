"""A fresh policy that learns what an exported log knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thrifty.agent import Agent
from thrifty.errors import InvalidTable, ThriftyError
from thrifty.rounds import Observation
from thrifty.service.books import Book
from thrifty.service.events import OPENED, Event
from thrifty.service.model import Model
from thrifty.service.specification import PolicySpec


@dataclass(frozen=True)
class Replayed:
    """What came of a replay: what the fresh policy wanted to buy, beside what was bought."""

    learnt: int
    cases: int
    same_purchase: int
    reward: float
    spend: float


def replay(spec: PolicySpec, events: Iterable[Event], save: Path | None = None) -> Replayed:
    """Let a fresh policy learn the rounds of a log, and save it as an agent.

    At every case it is asked what it would buy. What it would have earned cannot be known from the
    log: there is no reward for what was not done.
    """
    model, cases, same = _Careful(spec), 0, 0
    book = Book(spec, model)
    for event in events:
        if event.kind == OPENED:
            cases += 1
            same += _would_buy(spec, model, event) == set(event.body["buy"])
        try:
            book.apply(event)
        except ThriftyError as error:
            raise InvalidTable(
                f"event {event.position.seq} does not fit the policy ({error.__cause__ or error}) "
                "Its features, levels and actions, and its range of rewards, must hold those of "
                "the log."
            ) from error
    if save is not None:
        Agent(spec.problem, model.policy).save(save)
    return Replayed(model.learnt, cases, same, book.totals.reward, book.totals.spend)


class _Careful(Model):
    """Refuses a reward that its range does not hold: here nobody has checked it before."""

    def learn(self, observation: Observation, action: int, reward: float) -> None:
        """Learn from a round, in money."""
        super().learn(observation, action, self.spec.require_reward("reward", reward))


def _would_buy(spec: PolicySpec, model: Model, event: Event) -> set[str]:
    purchase, _ = model.choose_features(event.case)
    names = {spec.features[i].name for i in np.flatnonzero(purchase.mask).tolist()}
    return names - set(event.body["free"]) - {it.name for it in spec.features if it.free}
