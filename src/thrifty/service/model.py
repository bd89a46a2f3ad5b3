"""The model of a served policy: what it has learnt, and how it decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.agent import Agent
from thrifty.case_record import CaseRecord, Decision, PurchaseResult
from thrifty.decider import FEATURES, UPDATE, Decider
from thrifty.errors import DamagedFile, InvalidSpec
from thrifty.fits import Fit
from thrifty.json_values import to_json_value
from thrifty.policy import Policy
from thrifty.rounds import Observation
from thrifty.service.randomness import KeyedRandom
from thrifty.specification import PolicySpec

MAX_ALTERNATIVES = 5
_PAID, _COUNTS, _FITS = "service.paid", "service.counts", "service.fits"
_FIT = "fit"


class Model(Decider):
    """A policy whose decisions depend only on the case and on the changes before, in their order.

    A change is a round that was learnt or the result of a fit that was applied. The model itself
    runs no fits: they are run elsewhere, and `apply_fit` takes their results.

    Deciding changes nothing. Policies may postpone work until the next decision, so a decision is
    requested after every round learnt; the state is then the same whichever case comes next.

    Parameters
    ----------
    spec : PolicySpec
        The policy to serve.
    stream : str
        Policies with different streams draw independent random numbers, also from equal seeds.
    """

    def __init__(self, spec: PolicySpec, stream: str = "") -> None:
        self.spec = spec
        self._random = KeyedRandom(spec.seed, stream)
        self.rounds_learnt = self.fits_applied = 0
        self._paid = np.zeros((2, spec.problem.n_features))  # sums and counts of the costs
        super().__init__(_policy(spec))
        self.records_propensities = True
        self._refresh()

    def learn(
        self,
        seen: Observation,
        action: int,
        reward: float,
        outcome: int | None = None,
        *,
        priced: NDArray[np.bool_] | None = None,
    ) -> None:
        """Learn from a case, in money.

        Parameters
        ----------
        seen : Observation
            Everything that was known when the action was chosen.
        action : int
            Index of the action.
        reward : float
            The reward.
        outcome : int, optional
            Index of the outcome.
        priced : array of bool, optional
            The features whose prices were observed; by default those that were bought.
        """
        super().learn(seen, action, reward, outcome)
        paid = seen.bought if priced is None else priced
        self._paid[0, paid] += seen.costs[paid]
        self._paid[1, paid] += 1
        self.rounds_learnt += 1
        self._refresh()

    @property
    def version(self) -> int:
        """Number of changes so far: rounds learnt and fits applied."""
        return self.rounds_learnt + self.fits_applied

    @property
    def due_fit(self) -> Fit | None:
        """The fit that the policy waits for."""
        return self.policy.due_fit

    def is_due(self, number: int) -> bool:
        """Return True if the policy waits for the fit with this number."""
        due = self.policy.due_fit
        return due is not None and due.number == number

    def apply_fit(self, number: int, result: bytes) -> bool:
        """Use the result of a fit, or drop it if it is stale.

        Parameters
        ----------
        number : int
            Number of the fit.
        result : bytes
            Its result.

        Returns
        -------
        bool
            True if the policy uses the result.
        """
        if not self.is_due(number):
            return False
        self.policy.rng = self._random.generator(str(number), _FIT)
        self.policy.apply_fit(number, result)
        self.fits_applied += 1
        self._refresh()
        return True

    def expected_price(self, places: Sequence[int], owned: Iterable[int] = ()) -> float | None:
        """Return the expected total cost of features, or None if a price is unknown.

        The expected cost of a feature is the average paid so far, or its list price if it was never
        bought. For features that share a setup fee or are sold in a bundle it is the list price,
        because what was paid for them depends on what else was bought.
        """
        names, (sums, counts) = self.problem.feature_names, self._paid
        listed = self.problem.list_prices([names[i] for i in places], [names[i] for i in owned])
        shared = set() if self.problem.prices is None else self.problem.prices.shared
        prices = [
            sums[i].item() / counts[i].item()
            if counts[i] and (price is None or names[i] not in shared)
            else price
            for i, price in zip(places, listed, strict=True)
        ]
        known = [price for price in prices if price is not None]
        return float(sum(known)) if len(known) == len(prices) else None

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that was learnt, as named arrays."""
        counts = np.array([self.rounds_learnt, self.policy.rounds])
        state = {**self.policy.get_state(), _PAID: self._paid.copy(), _COUNTS: counts}
        return state | ({_FITS: np.array(self.fits_applied)} if self.fits_applied else {})

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state` returned."""
        own = dict(state)
        paid, counts, fits = own.pop(_PAID, None), own.pop(_COUNTS, None), own.pop(_FITS, 0)
        if paid is None or counts is None or paid.shape != self._paid.shape:
            raise DamagedFile("the arrays of the service are missing: this is not a snapshot.")
        self.policy.set_state(own)
        self._paid = paid.copy()
        self.rounds_learnt, self.policy.rounds = (int(count) for count in counts)
        self.fits_applied = int(fits)
        self._refresh()
        # Changes nothing, but loads the compiled code of restored models before the first request.
        self.policy.action_values(Observation.nothing(self.problem))

    def _refresh(self) -> None:
        self._draw_for("", FEATURES, 0)
        self.policy.choose_features()

    def _draw_for(self, case: Any, call: str, step: int) -> None:
        name = str(self.rounds_learnt) if call == UPDATE else str(case)
        self.policy.rng = self._random.generator(name, call, step)


def smoke_test(spec: PolicySpec) -> None:
    """Play one case with a temporary model, and raise an error if the policy cannot be served.

    Afterwards everything is compiled and loaded, so that no request has to wait for it.
    """
    model = Model(spec)
    n = spec.problem.n_features
    record = CaseRecord("smoke-test", dict.fromkeys(map(spec.problem.feature_index, spec.free), 0))
    while record.action is None:
        seen = record.observation(n)
        record.decide(model.decide(seen, step=len(record.steps), case=record.id))
        if record.places:
            bought = dict.fromkeys(record.places, 0)
            record.observe(PurchaseResult(bought, dict.fromkeys(bought, 0.0)))
    model.learn(record.observation(n), record.action, spec.problem.rewards.low)


def reasons_as_json(decision: Decision) -> dict[str, Any] | None:
    """Return the reasons for a purchase as JSON values, with the first few alternatives."""
    if decision.reasons is None:
        return None
    return {
        name: to_json_value(value[:MAX_ALTERNATIVES] if isinstance(value, list) else value)
        for name, value in decision.reasons().items()
    }


def _policy(spec: PolicySpec) -> Policy:
    policy = Agent.from_spec(spec, background=True).policy
    if policy.reads_price_list:
        names = spec.problem.feature_names
        lacking = [name for name in names if spec.problem.list_prices([name]) == [None]]
        if lacking:
            raise InvalidSpec(
                f"{spec.policy} needs a list price for every feature, and these have none: "
                f"{', '.join(map(repr, lacking))}. Add their prices to policy.toml."
            )
    policy.get_state()  # raises an error for a policy that cannot be saved in snapshots
    return policy
