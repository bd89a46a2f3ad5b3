"""A policy for people: names instead of codes, many open rounds, one file to save it in."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import (
    ForeignFile,
    InvalidAction,
    InvalidObservation,
    InvalidParameter,
    OutOfTurn,
    RoundClosed,
    SaveError,
    ThriftyError,
    UnknownRound,
)
from thrifty.parameters import Whole, as_float, check_parameter, is_whole
from thrifty.policies import policy_named, registered_name
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.record import Record
from thrifty.saving import read_archive, write_archive
from thrifty.seeds import Seed
from thrifty.simulation import policy_maker, require_parameters

_KIND = "agent"


@dataclass(frozen=True)
class Round:
    """An open round: what is still to be bought in it, and the way to its action."""

    id: int
    features: tuple[str, ...]
    _agent: Agent = field(repr=False, compare=False)

    def act(
        self,
        values: Mapping[str, str],
        costs: Mapping[str, float],
        available: Iterable[str] | None = None,
    ) -> str:
        """Choose the action, from the level and the cost of each of `features`.

        `available` names the actions to choose from; None means all of them.
        """
        return self._agent._act(self.id, values, costs, available)


class Agent:
    """Decides by name, keeps open rounds, and learns from rewards whenever they come.

    `policy` is a `Policy`, or its name or class, with its seed and parameters; Scout unless
    another one is named. The last
    `history` closed rounds can still be explained; older ones are forgotten.

    >>> from thrifty.problem import Feature
    >>> problem = Problem(
    ...     features=(Feature("health", ("poor", "good")), Feature("age", ("young", "old"))),
    ...     actions=("reject", "accept"),
    ... )
    >>> agent = Agent(problem, "ucb1", seed=1)
    >>> round = agent.ask(free={"age": "old"})
    >>> round.features  # UCB1 never buys; others name what to look up before acting
    ()
    >>> round.act(values={}, costs={}, available=["accept"])
    'accept'
    >>> agent.tell(round.id, 1.0)
    >>> agent.explain(round.id)["free"], agent.open_rounds
    ({'age': 'old'}, ())
    """

    def __init__(
        self,
        problem: Problem,
        policy: Policy | str | Callable[..., Policy] = "scout",
        *,
        seed: Seed = None,
        history: int = 1000,
        **parameters: Any,
    ) -> None:
        check_parameter("history", history, Whole(0), owner="Agent")
        if not isinstance(policy, Policy):
            policy = _made(policy, problem, seed, parameters)
        elif seed is not None or parameters:
            raise InvalidParameter(
                f"{policy!r} has its seed and parameters already: give them to it, or give the "
                "agent the policy's name."
            )
        if not isinstance(policy, Policy):
            raise InvalidParameter(
                f"policy is {policy!r}: give the agent a Policy made with its problem, or the "
                "name of one."
            )
        if policy.problem != problem:
            raise InvalidParameter(
                f"{policy!r} was made for another problem, so its codes would mean other names: "
                "make it with the problem of the agent."
            )
        self.problem = problem
        self.policy = policy
        self._history = history
        self._next_id = 1
        self._open: dict[int, Record] = {}
        self._closed: dict[int, Record] = {}

    @property
    def open_rounds(self) -> tuple[int, ...]:
        """The ids of the rounds that wait for an action or a reward, oldest first."""
        return tuple(self._open)

    def ask(
        self,
        *,
        free: Mapping[str, str] | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> Round:
        """Open a round: the policy chooses which features to buy.

        `free` holds the levels of features that are known without paying; the policy learns of
        them as bought for 0. `prices` is for
        policies with `reads_price_list`, and for those only: the price of every feature.
        """
        known = _codes(self.problem, free or {})
        if prices is not None:
            if not self.policy.reads_price_list:
                raise InvalidParameter(
                    f"{self.policy!r} reads no price list, for it learns prices by paying them: "
                    "ask without prices."
                )
            self.policy.read_price_list(_price_list(self.problem, prices))
        purchase = self.policy.choose_features()
        record = Record(self._next_id, tuple(purchase.mask.tolist()), int(purchase.purpose), known)
        record.reasons = self.policy.reasons(purchase)
        self._open[record.id] = record
        self._next_id += 1
        return self._view(record)

    def round(self, round_id: int) -> Round:
        """Return an open round again, for instance after `load`."""
        return self._view(self._find_open(round_id))

    def tell(self, round_id: int, reward: float) -> None:
        """Report the reward of a round that has acted, in [0, 1]; the policy learns from it."""
        record = self._find_open(round_id)
        if record.action is None:
            raise OutOfTurn(
                f"round {round_id} has not acted yet, so it cannot have a reward: call act first, "
                "or abandon it."
            )
        self.policy.update(record.observation(), record.action, reward)
        record.reward = float(reward)
        self._close(record, "told")

    def abandon(self, round_id: int) -> None:
        """Close a round whose reward will never come; the policy learns nothing from it."""
        self._close(self._find_open(round_id), "abandoned")

    def explain(self, round_id: int) -> dict[str, Any]:
        """Say what is known of a round, in plain JSON values.

        `reasons` say why the features were bought, where the policy tells (see `Policy.reasons`).
        `action_values` are the policy's at the time of acting: None where it gives none, and None
        for an action whose value is not finite, such as one that was never tried.
        """
        self._require_issued(round_id)
        record = self._open.get(round_id) or self._closed.get(round_id)
        if record is None:
            raise RoundClosed(
                f"round {round_id} is closed and forgotten: only the last {self._history} closed "
                "rounds are kept, so explain a round sooner or give the agent a longer history."
            )
        return record.explained(self.problem)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, from which `load` continues bit for bit."""
        policy, generator = self.policy, self.policy.rng.bit_generator
        manifest = {
            "kind": _KIND,
            "problem": self.problem.to_dict(),
            "policy": {
                "name": registered_name(policy),
                "class": type(policy).__qualname__,
                "parameters": _plain(policy.parameters),
                "rounds": policy.rounds,
                "generator": _plain(generator.state),
            },
            "history": self._history,
            "next_id": self._next_id,
            "open": [record.to_dict() for record in self._open.values()],
            "closed": [record.to_dict() for record in self._closed.values()],
        }
        write_archive(path, manifest, policy.get_state())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, policy: Callable[..., Policy] | None = None
    ) -> Agent:
        """Read an agent back.

        A policy that is not in the registry is made by `policy`, which is called as
        `policy(problem, seed=..., **parameters)`.
        """
        manifest, state = read_archive(path)
        if manifest.get("kind") != _KIND:
            raise ForeignFile(
                f"{path} holds {manifest.get('kind')!r}, not an agent: give a file that "
                "Agent.save wrote."
            )
        problem = Problem.from_dict(manifest["problem"])
        agent = cls(
            problem,
            _restored(problem, manifest["policy"], state, policy),
            history=manifest["history"],
        )
        agent._next_id = manifest["next_id"]
        agent._open = _records(manifest["open"])
        agent._closed = _records(manifest["closed"])
        return agent

    def _act(
        self,
        round_id: int,
        values: Mapping[str, str],
        costs: Mapping[str, float],
        available: Iterable[str] | None,
    ) -> str:
        record = self._find_open(round_id)
        if record.action is not None:
            raise OutOfTurn(
                f"round {round_id} has acted already, and its action stands: ask for a new round."
            )
        to_buy = record.to_buy(self.problem)
        _require_exactly(self.problem, values, to_buy, "values", round_id)
        _require_exactly(self.problem, costs, to_buy, "costs", round_id)
        features, places = self.problem.features, record.places_to_buy
        bought = {i: features[i].code(values[features[i].name]) for i in places}
        paid = {i: _cost(features[i].name, costs) for i in places}
        mask = None if available is None else _action_mask(self.problem, available)
        observation = record.observing(bought, paid)
        action_values = self.policy.action_values(observation)
        action = self.policy.choose_action(observation, available=mask)
        # Only now: what is refused changes nothing.
        record.bought, record.costs, record.seen = bought, paid, observation
        record.status, record.action, record.action_values = "acted", action, action_values
        return self.problem.actions[action]

    def _view(self, record: Record) -> Round:
        return Round(record.id, record.to_buy(self.problem), self)

    def _find_open(self, round_id: int) -> Record:
        self._require_issued(round_id)
        if round_id not in self._open:
            end = self._closed[round_id].status if round_id in self._closed else "closed"
            raise RoundClosed(
                f"round {round_id} was {end} before: a round ends once, so this changed nothing."
            )
        return self._open[round_id]

    def _require_issued(self, round_id: int) -> None:
        if not is_whole(round_id) or not 0 < round_id < self._next_id:
            raise UnknownRound(
                f"round {round_id!r} was never asked for: use the id of a round from ask."
            )

    def _close(self, record: Record, status: str) -> None:
        record.status, record.seen = status, None
        del self._open[record.id]
        self._closed[record.id] = record
        if len(self._closed) > self._history:
            del self._closed[next(iter(self._closed))]

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, {len(self._open)} open rounds)"


def _records(descriptions: Iterable[Mapping[str, Any]]) -> dict[int, Record]:
    return {record.id: record for record in map(Record.from_dict, descriptions)}


def _codes(problem: Problem, levels: Mapping[str, str]) -> dict[int, int]:
    if not levels:
        return {}
    features = problem.features
    positions = sorted(map(problem.feature_index, levels))
    return {i: features[i].code(levels[features[i].name]) for i in positions}


def _cost(name: str, costs: Mapping[str, Any]) -> float:
    number = as_float(costs[name])
    if not 0 <= number < math.inf:
        raise InvalidObservation(
            f"feature {name!r} cost {costs[name]!r}: a cost is a finite number of at least 0, "
            "anything else would spoil every later estimate."
        )
    return number


def _price_list(problem: Problem, prices: Mapping[str, float]) -> NDArray[np.float64]:
    names = problem.feature_names
    _require_exactly(problem, prices, names, "prices", None)
    return np.array([_cost(name, prices) for name in names])


def _require_exactly(
    problem: Problem,
    given: Mapping[str, Any],
    wanted: Sequence[str],
    what: str,
    round_id: int | None,
) -> None:
    if len(given) == len(wanted) and all(name in given for name in wanted):
        return
    for name in given:
        problem.feature_index(name)
    missing = [name for name in wanted if name not in given]
    extra = [name for name in given if name not in wanted]
    if missing or extra:
        where = "the price list" if round_id is None else f"round {round_id}"
        raise InvalidObservation(
            f"{what} of {where} lack {missing} and have {extra} too many: give exactly {wanted}, "
            "for the policy learns what it chose to look at and what that cost."
        )


def _action_mask(problem: Problem, available: Iterable[str]) -> NDArray[np.bool_]:
    mask = np.zeros(problem.n_actions, dtype=np.bool_)
    for name in (available,) if isinstance(available, str) else available:
        mask[problem.action_index(name)] = True
    if not mask.any():
        raise InvalidAction("no action is available: at least one must be, or abandon the round.")
    return mask


def _made(
    policy: str | Callable[..., Policy],
    problem: Problem,
    seed: Seed,
    parameters: Mapping[str, Any],
) -> Policy:
    make = policy_maker(policy)
    require_parameters(make, parameters)
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))
    try:
        return make(problem, seed=seed, **parameters)
    except TypeError as error:
        raise InvalidParameter(
            f"{name} cannot be made with parameters {sorted(parameters)} ({error}): give the agent "
            "exactly those that the policy takes."
        ) from error


def _restored(
    problem: Problem,
    saved: Mapping[str, Any],
    state: Mapping[str, NDArray[Any]],
    factory: Callable[..., Policy] | None,
) -> Policy:
    if factory is None and saved["name"] is None:
        raise SaveError(
            f"the file holds a {saved['class']}, which is not in the registry, so it cannot be "
            "made from its name: give load its class as policy=..."
        )
    make = policy_named(saved["name"]) if factory is None else factory
    try:
        policy = make(problem, seed=0, **saved["parameters"])
        policy.set_state(state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ThriftyError):
            raise
        raise SaveError(
            f"a {saved['class']} was saved, and what is made now cannot take its state "
            f"({error!r}): load it with the class that was saved."
        ) from error
    policy.rounds = saved["rounds"]
    _restore_generator(policy, saved["generator"])
    return policy


def _restore_generator(policy: Policy, state: Mapping[str, Any]) -> None:
    if type(policy.rng.bit_generator).__name__ != state["bit_generator"]:
        policy.rng = np.random.Generator(getattr(np.random, state["bit_generator"])())
    policy.rng.bit_generator.state = state


def _plain(value: Any) -> Any:
    """Return numpy's numbers and arrays as JSON values."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
