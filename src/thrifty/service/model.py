"""A policy behind its specification: the only thing that decides and learns."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.agent import Agent
from thrifty.errors import DamagedFile, InvalidParameter, InvalidSpec, SaveError
from thrifty.policies import policy_named, registered_name
from thrifty.policy import Policy
from thrifty.rounds import Observation, Purchase
from thrifty.service.randomness import ACTION, FEATURES, UPDATE, Keyed
from thrifty.service.specification import PolicySpec

MOST_CONSIDERED = 5
_PAID = "service.paid"


class Model:
    """What was learnt so far, and the decisions that follow from it.

    A decision is a function of the rounds learnt, in their order, and of the case's id: deciding
    changes nothing. Policies may put off some work until they are asked; so they are asked once
    after every round learnt, and their state is then the same whoever asks next.
    """

    def __init__(self, spec: PolicySpec) -> None:
        self.spec = spec
        self.policy = _policy(spec)
        self._random = Keyed(spec.seed)
        self.learnt = 0
        self._paid = np.zeros((2, spec.problem.n_features))  # sums of costs, and how many
        self._refresh()

    def choose_features(self, case: str) -> tuple[Purchase, dict[str, Any] | None]:
        """Choose what to buy for a case, and say why."""
        self.policy.rng = self._random.of(case, FEATURES)
        purchase = self.policy.choose_features()
        reasons = self.policy.reasons(purchase)
        return purchase, None if reasons is None else _shortened(reasons())

    def choose_action(
        self, case: str, observation: Observation, available: NDArray[np.bool_] | None
    ) -> tuple[int, list[float | None] | None]:
        """Choose the action of a case; also return the values that the choice rests on."""
        values = self.policy.action_values(observation)
        self.policy.rng = self._random.of(case, ACTION)
        action = self.policy.choose_action(observation, available=available)
        return action, None if values is None else _finite(values)

    def learn(self, observation: Observation, action: int, reward: float) -> None:
        """Learn from a round, in money; what is not finite never comes here."""
        scale = self.spec.scale
        scaled = Observation.trusted(
            observation.codes.copy(), observation.costs / scale.span, observation.purpose
        )
        self.policy.rng = self._random.of(str(self.learnt), UPDATE)
        self.policy.update(scaled, action, scale.reward(reward))
        paid = observation.costs > 0  # what came with a case was seen for nothing
        self._paid[0, paid] += observation.costs[paid]
        self._paid[1, paid] += 1
        self.learnt += 1
        self._refresh()

    def expected_prices(self, places: Sequence[int]) -> list[float | None]:
        """Return what each feature cost on average where it was paid for, or its list price."""
        sums, counts = self._paid
        return [
            sums[i].item() / counts[i].item() if counts[i] else self.spec.features[i].price
            for i in places
        ]

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything learnt, as named arrays."""
        counts = np.array([self.learnt, self.policy.rounds])
        return {**self.policy.get_state(), _PAID: self._paid.copy(), "service.counts": counts}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take what `state` returned."""
        own = dict(state)
        paid, counts = own.pop(_PAID, None), own.pop("service.counts", None)
        if paid is None or counts is None or paid.shape != self._paid.shape:
            raise DamagedFile("the arrays of the service itself are missing: it is no snapshot.")
        self.policy.set_state(own)
        self._paid = paid.copy()
        self.learnt, self.policy.rounds = (int(it) for it in counts)
        self._refresh()

    def _refresh(self) -> None:
        self.policy.rng = self._random.of("", FEATURES)
        self.policy.choose_features()


def rehearse(spec: PolicySpec) -> None:
    """Go through a round with a model that is thrown away; what cannot be made is refused.

    Afterwards everything is compiled and loaded, and no request has to wait for that.
    """
    model = Model(spec)
    purchase, _ = model.choose_features("rehearsal")
    codes, costs = np.where(purchase.mask, 0, -1), np.where(purchase.mask, 0.0, np.nan)
    seen = Observation.trusted(codes, costs, purchase.purpose)
    action, _ = model.choose_action("rehearsal", seen, None)
    model.learn(seen, action, spec.scale.low)


def _policy(spec: PolicySpec) -> Policy:
    if spec.agent is None:
        agent = Agent(spec.problem, spec.policy, seed=spec.seed, **_own_parameters(spec))
    else:
        agent = _loaded(spec, spec.agent)
    policy = agent.policy
    if policy.reads_price_list:
        prices = [feature.price for feature in spec.features]
        if None in prices:
            raise InvalidSpec(f"{spec.policy} reads a price list: give every feature a price.")
        policy.read_price_list(np.array(prices, dtype=np.float64) / spec.scale.span)
    policy.get_state()  # what cannot be saved cannot be served
    return policy


def _loaded(spec: PolicySpec, data: bytes) -> Agent:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.npz"
        path.write_bytes(data)
        try:
            agent = Agent.load(path)
        except SaveError as error:
            said = str(error).replace(str(path), f"the saved agent of {spec.name!r}")
            raise type(error)(said) from error
    if agent.problem != spec.problem or registered_name(agent.policy) != spec.policy:
        raise InvalidSpec(
            f"the saved agent is {agent.policy!r} for other features, levels, actions or another "
            "policy than the file says: save it anew, or correct the file."
        )
    for name, value in _own_parameters(spec).items():
        saved = agent.policy.parameters.get(name)
        if saved != value and not _nearly(saved, value):
            raise InvalidParameter(
                f"{name} = {value!r} on the policy's own scale, and the saved agent was made with "
                f"{saved!r}: leave it out, or save an agent anew."
            )
    return agent


def _own_parameters(spec: PolicySpec) -> dict[str, Any]:
    """Return the parameters as the policy takes them: amounts of money as shares of the range."""
    make = policy_named(spec.policy)
    kind: Any = getattr(make, "__self__", make)  # NCCUCRL2.published is a method of its class
    return {
        name: spec.scale.cost(value) if name in kind.amounts and _is_number(value) else value
        for name, value in spec.parameters.items()
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _nearly(one: Any, other: Any) -> bool:
    """Whether they are the same number but for the rounding of a scale."""
    return _is_number(one) and _is_number(other) and math.isclose(one, other)


def _shortened(reasons: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reasons with the first few of the alternatives, so that the log stays small."""
    return {
        name: _sayable(value[:MOST_CONSIDERED] if isinstance(value, list) else value)
        for name, value in reasons.items()
    }


def _sayable(reason: Any) -> Any:
    """Return it with None for every number that is not finite: JSON has no others.

    >>> _sayable([{"value": -math.inf, "price": 2.0}])
    [{'value': None, 'price': 2.0}]
    """
    if isinstance(reason, dict):
        return {name: _sayable(value) for name, value in reason.items()}
    if isinstance(reason, list):
        return [_sayable(value) for value in reason]
    return None if isinstance(reason, float) and not math.isfinite(reason) else reason


def _finite(values: NDArray[np.float64]) -> list[float | None]:
    finite = np.isfinite(values).tolist()
    return [value if ok else None for value, ok in zip(values.tolist(), finite, strict=True)]
