"""Replay: a new policy learns from an exported log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from thrifty.agent import Agent
from thrifty.background_fits import run_due_fits
from thrifty.case_inputs import free_codes
from thrifty.errors import InvalidTable, ThriftyError
from thrifty.rounds import Observation
from thrifty.service.events import FITTED, OPENED, PANEL_KINDS, Event
from thrifty.service.model import Model
from thrifty.service.panel import LearntCase
from thrifty.service.projection import Projection
from thrifty.specification import PolicySpec


@dataclass(frozen=True)
class ReplayResult:
    """Result of a replay.

    Parameters
    ----------
    learnt : int
        Number of rounds learnt.
    cases : int
        Number of cases in the log.
    same_purchase : int
        Number of cases in which the new policy would have made the same first purchase.
    reward, spend : float
        Total reward and spend in the log.
    """

    learnt: int
    cases: int
    same_purchase: int
    reward: float
    spend: float


def replay(spec: PolicySpec, events: Iterable[Event], save: Path | None = None) -> ReplayResult:
    """Let a new policy learn the rounds of a log, and save it as an agent.

    At the opening of every case the policy is asked what it would buy. It learns from everything
    that was known at the end of the case, whatever the number of purchases. It runs fits of its
    own; those of the log belong to the policy that wrote it. The log cannot show what the policy
    would have earned, because it has no rewards for actions that were not taken.
    """
    model, cases, same = _CheckedModel(spec), 0, 0
    projection = Projection(spec, _Student(model))
    for event in events:
        if event.kind == FITTED or event.kind in PANEL_KINDS:
            continue
        try:
            if event.kind == OPENED:
                cases += 1
                same += _would_buy(spec, model, event) == set(event.body["buy"])
            projection.apply(event)
        except ThriftyError as error:
            raise InvalidTable(
                f"event {event.position.seq} does not fit the policy ({error.__cause__ or error}) "
                "The policy needs all features, levels, actions and outcomes of the log, and a "
                "range of rewards that includes those of the log."
            ) from error
    if save is not None:
        Agent(spec.problem, model.policy).save(save)
    return ReplayResult(
        model.rounds_learnt, cases, same, projection.totals.reward, projection.totals.spend
    )


class _CheckedModel(Model):
    """A model that runs its fits and refuses rewards outside its range, as a log may have some."""

    def __init__(self, spec: PolicySpec) -> None:
        super().__init__(spec)
        self.policy.fits_beside = False
        run_due_fits(self.policy)
        self._refresh()


class _Student:
    """Lets a model learn the cases of a log, whichever policy decided them."""

    def __init__(self, model: _CheckedModel) -> None:
        self._model, self.policy = model, model.policy

    def learn(self, case: LearntCase) -> None:
        money = self._model.problem.rewards.require(case.reward)
        self._model.learn(case.seen, case.action, money, case.outcome, priced=case.priced)

    def apply_fit(self, number: int, result: bytes, name: str | None = None) -> bool:
        raise AssertionError(f"fit {number} of {name} ({len(result)} bytes) belongs to the log")

    def change(self, event: Event) -> None:
        raise AssertionError(f"event {event.position} belongs to the log")


def _would_buy(spec: PolicySpec, model: Model, event: Event) -> set[str]:
    free, is_legacy = event.body["free"], "contract" not in event.body
    known = {} if is_legacy else free_codes(spec.problem, free)
    seen = Observation.from_free(spec.problem, known)
    places = model.decide(seen, step=0, case=event.case).places
    wanted = {spec.problem.feature_names[i] for i in places}
    return wanted.difference(free, spec.free) if is_legacy else wanted
