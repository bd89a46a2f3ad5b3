"""A fresh policy that learns from an exported log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thrifty.agent import Agent
from thrifty.case_inputs import free_codes
from thrifty.errors import InvalidTable, ThriftyError
from thrifty.rounds import Observation
from thrifty.service.events import OPENED, Event
from thrifty.service.model import Model
from thrifty.service.projection import Projection
from thrifty.specification import PolicySpec


@dataclass(frozen=True)
class ReplayResult:
    """What came of a replay.

    `same_purchase` counts the cases in which the fresh policy would have made the same first
    purchase.
    """

    learnt: int
    cases: int
    same_purchase: int
    reward: float
    spend: float


def replay(spec: PolicySpec, events: Iterable[Event], save: Path | None = None) -> ReplayResult:
    """Let a fresh policy learn the rounds of a log, and save it as an agent.

    At the opening of every case it is asked what it would buy. From a case it learns everything
    that was known at the end, in however many purchases. What it would have earned itself cannot be
    known from the log: there is no reward for what was not done.
    """
    model, cases, same = _Careful(spec), 0, 0
    projection = Projection(spec, model)
    for event in events:
        try:
            if event.kind == OPENED:
                cases += 1
                same += _would_buy(spec, model, event) == set(event.body["buy"])
            projection.apply(event)
        except ThriftyError as error:
            raise InvalidTable(
                f"event {event.position.seq} does not fit the policy ({error.__cause__ or error}) "
                "Its features, levels, actions and outcomes, and its range of rewards, must "
                "include those of the log."
            ) from error
    if save is not None:
        Agent(spec.problem, model.policy).save(save)
    return ReplayResult(
        model.learnt, cases, same, projection.totals.reward, projection.totals.spend
    )


class _Careful(Model):
    """Refuses a reward that its range does not hold: here nobody has checked it before."""

    def learn(
        self,
        seen: Observation,
        action: int,
        reward: float,
        outcome: int | None = None,
        *,
        priced: NDArray[np.bool_] | None = None,
    ) -> None:
        """Learn from a case, in money."""
        money = self.problem.rewards.require(reward)
        super().learn(seen, action, money, outcome, priced=priced)


def _would_buy(spec: PolicySpec, model: Model, event: Event) -> set[str]:
    free, former = event.body["free"], "contract" not in event.body
    known = {} if former else free_codes(spec.problem, free)
    seen = Observation.from_free(spec.problem, known)
    places = model.decide(seen, step=0, case=event.case).places
    wanted = {spec.problem.feature_names[i] for i in places}
    return wanted.difference(free, spec.free) if former else wanted
