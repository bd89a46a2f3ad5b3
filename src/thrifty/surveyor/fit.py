"""`PlanFit`: everything that learning a plan needs, so that it can be done beside decisions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.cases import Bools, PastCases
from thrifty.problem import Outcomes, Problem
from thrifty.surveyor.completion import complete_cases
from thrifty.surveyor.knowledge import Knowledge, learn_plans, refit_models
from thrifty.surveyor.labels import OutcomeTable
from thrifty.surveyor.memory import KeptCases
from thrifty.surveyor.old_cases import share_of_old_cases
from thrifty.surveyor.partial_bank import PartialCases

PLAN_ROWS, PLAN_RARE = 150, 15
"""A plan needs this many complete cases, or this many with an outcome that is not the usual one."""


class FitSettings(NamedTuple):
    """What a fit does.

    Parameters
    ----------
    search : bool
        True to search for a plan, False to fit the models of the present one again.
    seed : int
        Random seed of the policy.
    since : int
        Number of the case in which the last change began.
    accepted : float
        Standard errors by which a plan must seem better than buying nothing.
    keep_plan : bool
        True if the present plan has proved itself: it stays if the search finds none.
    one_purchase : bool
        True if a plan may buy only once per case.
    is_selected : bool
        True if actions decide whether outcomes become known.
    budget : float, optional
        Average spend per case that is allowed.
    """

    search: bool
    seed: int
    since: int
    accepted: float
    keep_plan: bool
    one_purchase: bool
    is_selected: bool
    budget: float | None = None


class FitResult(NamedTuple):
    """What a fit found.

    Parameters
    ----------
    knowledge : Knowledge or None
        The plans; None if only one outcome was seen, so that there is nothing to learn.
    is_new_plan : bool
        True if a plan was searched for, and it replaces the present one.
    """

    knowledge: Knowledge | None
    is_new_plan: bool

    def to_bytes(self) -> bytes:
        """Return the result as JSON. Numbers keep all their bits."""
        plain = None if self.knowledge is None else self.knowledge.to_dict()
        return json.dumps({"knowledge": plain, "is_new_plan": self.is_new_plan}).encode()

    @classmethod
    def from_bytes(cls, result: bytes) -> FitResult:
        """Return what `to_bytes` described."""
        plain = json.loads(result)
        learnt = plain["knowledge"]
        return cls(
            None if learnt is None else Knowledge.from_dict(learnt), bool(plain["is_new_plan"])
        )


@dataclass(frozen=True, eq=False)
class PlanFit:
    """Search for a plan, or fit the models of the present plan again.

    Parameters
    ----------
    number : int
        Number of the fit.
    settings : FitSettings
        What to do.
    problem : Problem
        The problem, with outcomes and prices.
    free : array of bool, shape (D,)
        True for features that are known before buying.
    prices : mapping
        Present price of every look, by name.
    complete, partial : KeptCases
        Cases in which everything was bought, and others whose outcome is known.
    knowledge : Knowledge or None
        The present plans.
    """

    number: int
    settings: FitSettings
    problem: Problem
    free: Bools
    prices: Mapping[str, float]
    complete: KeptCases
    partial: KeptCases
    knowledge: Knowledge | None

    def run(self) -> bytes:
        """Learn, and return the result as JSON.

        Returns
        -------
        bytes
            Input for `FitResult.from_bytes`. The same fit always gives the same bytes on the same
            kind of machine.
        """
        return self.learn().to_bytes()

    def learn(self) -> FitResult:
        """Learn.

        Returns
        -------
        FitResult
            The plans.
        """
        rng = np.random.default_rng([self.settings.seed, self.number])
        rows = self._chosen_rows(rng)
        cases = complete_cases(
            self._cases(rows),
            self.complete.possible[rows],
            self.complete.chances[rows],
            OutcomeTable.of(self.problem),
            rng,
        )
        seed = int(rng.integers(2**31))
        if len(set(cases.outcomes.tolist())) < 2:
            return FitResult(self.knowledge, is_new_plan=False)
        partial = self._partial_cases(cases)
        if self.settings.search or self.knowledge is None:
            return self._search(cases, partial, seed)
        return FitResult(refit_models(self.knowledge, cases, partial, seed=seed), False)

    def _search(self, cases: PastCases, partial: PartialCases, seed: int) -> FitResult:
        """Return the best plan found, or the present one if it has proved itself."""
        settings = self.settings
        found = learn_plans(
            cases,
            partial,
            seed=seed,
            one_purchase=settings.one_purchase,
            accepted=settings.accepted,
            present=None if self.knowledge is None else self.knowledge.candidate,
            budget=settings.budget,
        )
        n_rare = cases.n_cases - int(np.bincount(cases.outcomes).max())
        if found.buys and cases.n_cases < PLAN_ROWS and n_rare < PLAN_RARE:
            found = found.without_purchases()
        if not found.buys and self.knowledge is not None and settings.keep_plan:
            return FitResult(refit_models(self.knowledge, cases, partial, seed=seed), False)
        return FitResult(found, True)

    def _chosen_rows(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return the complete cases to learn from: those since the change, and some before."""
        every = np.arange(len(self.complete.numbers))
        is_new = self.complete.numbers >= self.settings.since
        if is_new.all():
            return every
        share = share_of_old_cases(self._cases(every), self.complete.possible, is_new, rng)
        old = np.flatnonzero(~is_new)
        kept = old[:: round(1 / share)] if share > 0 else old[:0]
        return np.concatenate([kept, np.flatnonzero(is_new)])

    def _cases(self, rows: NDArray[np.intp]) -> PastCases:
        """Return complete cases at present prices; their outcomes are to be filled in."""
        prices = {name: np.full(len(rows), price) for name, price in self.prices.items()}
        outcomes = np.zeros(len(rows), np.int64)
        return PastCases(self.problem, self.complete.codes[rows], outcomes, self.free, prices)

    def _partial_cases(self, cases: PastCases) -> PartialCases:
        """Return the cases since the change in which some looks were bought."""
        kept = self.partial.since(self.settings.since)
        bought = np.zeros((len(kept.numbers), len(cases.looks)), np.bool_)
        for k, look in enumerate(cases.looks):
            bought[:, k] = kept.settled[:, list(look.columns)].all(axis=1)
        outcomes = kept.possible.argmax(axis=1)
        return PartialCases(kept.codes, outcomes, bought, self.settings.is_selected)

    def to_state(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return what differs between the fits of a policy, as arrays; see `from_state`."""
        plain = {
            "number": self.number,
            "settings": self.settings._asdict(),
            "free": self.free.tolist(),
            "prices": dict(self.prices),
            "rewards": OutcomeTable.of(self.problem).table.tolist(),
            "knowledge": None if self.knowledge is None else self.knowledge.to_dict(),
        }
        return {
            prefix: np.frombuffer(json.dumps(plain).encode(), np.uint8),
            **self.complete.to_state(f"{prefix}_complete"),
            **self.partial.to_state(f"{prefix}_partial"),
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, NDArray[Any]], prefix: str, problem: Problem
    ) -> PlanFit:
        """Return the fit that `to_state` described, for a problem with the same outcomes."""
        plain = json.loads(state[prefix].tobytes())
        problem = _with_rewards(problem, np.array(plain["rewards"]))
        learnt = plain["knowledge"]
        return cls(
            number=plain["number"],
            settings=FitSettings(**plain["settings"]),
            problem=problem,
            free=np.array(plain["free"], np.bool_),
            prices=plain["prices"],
            complete=KeptCases.from_state(state, f"{prefix}_complete"),
            partial=KeptCases.from_state(state, f"{prefix}_partial"),
            knowledge=None if learnt is None else Knowledge.from_dict(learnt),
        )


def _with_rewards(problem: Problem, rewards: NDArray[np.float64]) -> Problem:
    """Return the problem with other rewards; those of undeclared outcomes move while learning."""
    assert problem.outcomes is not None
    names, actions = problem.outcomes.names, problem.actions
    table = {
        action: dict(zip(names, row, strict=True))
        for action, row in zip(actions, rewards.tolist(), strict=True)
    }
    return Problem(
        problem.features, actions, Outcomes(names, table), problem.prices, problem.rewards
    )
