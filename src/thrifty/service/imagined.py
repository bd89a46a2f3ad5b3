"""What a policy would have done in a case that another policy decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.case_record import CaseRecord, PurchaseResult
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.service.model import Model


@dataclass(frozen=True, slots=True)
class ImaginedCase:
    """The purchases and the action of a policy that did not act.

    Parameters
    ----------
    places : tuple of int
        Positions of the features that it would have bought, as far as that is known.
    missing : tuple of int
        Those of them that the acting policy did not buy. If there are any, it is not known what
        the policy would have done after them.
    purpose : int
        Note of the policy to itself.
    action : int, optional
        The action; None if something is missing.
    """

    places: tuple[int, ...]
    missing: tuple[int, ...] = ()
    purpose: int = 0
    action: int | None = None

    def seen(self, whole: Observation) -> Observation:
        """Return the part of what is known about the case that this policy would have seen."""
        hidden = ~np.isnan(whole.costs)  # what was paid for
        hidden[list(self.places)] = False
        codes, costs = whole.codes.copy(), whole.costs.copy()
        codes[hidden], costs[hidden] = -1, np.nan
        return Observation.unchecked(codes, costs, self.purpose)

    def to_body(self, problem: Problem) -> dict[str, Any]:
        """Return the content for the log; `from_body` reverses it."""
        names = problem.feature_names
        body: dict[str, Any] = {"buy": [names[i] for i in self.places], "purpose": self.purpose}
        if self.action is None:
            return body | {"missing": [names[i] for i in self.missing]}
        return body | {"action": problem.actions[self.action]}

    @classmethod
    def from_body(cls, problem: Problem, body: Mapping[str, Any]) -> ImaginedCase:
        """Return the case that the log describes."""
        action = body.get("action")
        return cls(
            places=tuple(map(problem.feature_index, body["buy"])),
            missing=tuple(map(problem.feature_index, body.get("missing", ()))),
            purpose=int(body["purpose"]),
            action=None if action is None else problem.action_index(action),
        )


def imagine(
    model: Model, case: str, whole: Observation, available: NDArray[np.bool_] | None
) -> ImaginedCase:
    """Let a policy decide about a case, as far as what was bought for it covers its purchases.

    Parameters
    ----------
    model : Model
        The policy; deciding changes nothing.
    case : str
        Id of the case.
    whole : Observation
        Everything that is known about the case when the acting policy acts, in money.
    available : array of bool, optional
        Actions to choose from; None means all.

    Returns
    -------
    ImaginedCase
        What it would have done. It sees the free values, and of the others those that it asked for.
    """
    codes, costs, n = whole.codes.tolist(), whole.costs.tolist(), whole.codes.size
    is_paid = [cost == cost for cost in costs]  # a cost of NaN means that nothing was bought
    free = {i: codes[i] for i in range(n) if codes[i] >= 0 and not is_paid[i]}
    record = CaseRecord(case, free)
    places: tuple[int, ...] = ()
    while record.action is None:
        seen = record.observation(n)
        decision = model.decide(
            seen, step=len(record.steps), available=available, case=case, record=False
        )
        places += decision.places
        missing = tuple(i for i in decision.places if not is_paid[i])
        if missing:
            return ImaginedCase(places, missing, decision.purpose)
        record.decide(decision)
        if decision.places:
            obtained = {i: codes[i] for i in decision.places if codes[i] >= 0}
            record.observe(PurchaseResult(obtained, {i: costs[i] for i in decision.places}))
    return ImaginedCase(places, (), record.purpose, record.action)
