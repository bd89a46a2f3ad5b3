"""A policy for people: names instead of codes, money, many open cases, one file to save it in."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.case import Case
from thrifty.deciding import Decider
from thrifty.errors import (
    ForeignFile,
    InvalidField,
    InvalidParameter,
    InvalidSpec,
    RoundClosed,
    SaveError,
    ThriftyError,
    UnknownRound,
)
from thrifty.lifecycle import (
    ABANDONED,
    REWARDED,
    CaseRecord,
    action_mask,
    bought_of,
    free_codes,
    require_free,
    reward_of,
)
from thrifty.parameters import Whole, as_float, check_parameter, is_whole
from thrifty.policies import policy_named, registered_name
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.saving import read_archive, unpack_archive, write_archive
from thrifty.seeds import Seed
from thrifty.simulation import policy_maker, require_parameters
from thrifty.specification import PolicySpec

_KIND = "agent"
_FORMAT = 2


class Agent:
    """Decides by name and in money, keeps open cases, and learns from rewards whenever they come.

    Parameters
    ----------
    problem : Problem
        Features, actions and, where you have them, outcomes, prices and the range of rewards.
    policy : Policy, str or callable
        A policy, or its name or class; Scout by default.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.
    keep : int
        The number of closed cases that can still be explained.
    **parameters
        Parameters of the policy. Amounts, such as a budget, are in money.

    Examples
    --------
    >>> from thrifty.problem import Feature
    >>> problem = Problem(
    ...     features=(Feature("health", ("poor", "good")), Feature.number("age", edges=(18, 65))),
    ...     actions=("reject", "accept"),
    ...     outcomes={"reject": 0, "accept": {"well": 50, "ill": -200}},
    ...     prices={"health": 3.5},
    ... )
    >>> agent = Agent(problem, "linucb", seed=1)
    >>> case = agent.ask(free={"age": 44})
    >>> case.buy, case.expected_price
    (('health',), 3.5)
    >>> case = agent.observe(case, values={"health": "good"})  # at the list price
    >>> case.action
    'reject'
    >>> agent.tell(case, outcome="well")
    >>> agent.explain(case)["reward"], agent.open_cases
    (0.0, ())
    """

    def __init__(
        self,
        problem: Problem,
        policy: Policy | str | Callable[..., Policy] = "scout",
        *,
        seed: Seed = None,
        keep: int = 1000,
        **parameters: Any,
    ) -> None:
        check_parameter("keep", keep, Whole(0), owner="Agent")
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
        self._decider = Decider(policy)
        self._free: tuple[str, ...] = ()
        self._most_cost = math.inf
        self._keep = keep
        self._next_id = 1
        self._open: dict[int, CaseRecord] = {}
        self._closed: dict[int, CaseRecord] = {}

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, keep: int = 1000) -> Agent:
        """Make the agent that a policy.toml declares.

        Parameters
        ----------
        path : path
            A policy.toml, as `thrifty init` and `thrifty worth` write it.
        keep : int
            The number of closed cases that can still be explained.

        Returns
        -------
        Agent
        """
        from thrifty.policy_file import read_spec

        return cls.from_spec(read_spec(Path(path)), keep=keep)

    @classmethod
    def from_spec(cls, spec: PolicySpec, *, keep: int = 1000) -> Agent:
        """Make the agent of a specification, from its saved agent if it has one."""
        if spec.agent is None:
            parameters = dict(spec.parameters)
            agent = cls(spec.problem, spec.policy, seed=spec.seed, keep=keep, **parameters)
        else:
            agent = cls(spec.problem, _policy_of(spec, spec.agent), keep=keep)
        agent._free, agent._most_cost = spec.free, spec.most_cost
        return agent

    @property
    def open_cases(self) -> tuple[int, ...]:
        """The ids of the cases that wait for an observation or a reward, oldest first."""
        return tuple(self._open)

    def ask(
        self,
        *,
        free: Mapping[str, Any] | None = None,
        available: Iterable[str] | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> Case:
        """Open a case: the policy chooses what to buy or, if nothing, the action.

        Parameters
        ----------
        free : mapping, optional
            Values that are known without paying, by feature.
        available : iterable of str, optional
            The actions to choose from, if nothing is to be bought; None means all.
        prices : mapping, optional
            The price of every feature now. For policies with `reads_price_list` only.

        Returns
        -------
        Case
        """
        if self._free:
            require_free(self.problem, self._free, free)
        known = free_codes(self.problem, free) if free else {}
        mask = action_mask(self.problem, available)
        if prices is not None:
            self._read_prices(prices)
        record = CaseRecord(self._next_id, known)
        record.decide(
            self._decider.decide(Observation.of_free(self.problem, known), step=0, available=mask)
        )
        self._open[self._next_id] = record
        self._next_id += 1
        return self._view(record)

    def observe(
        self,
        case: Case | int | str,
        values: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        *,
        available: Iterable[str] | None = None,
    ) -> Case:
        """Report what came of a purchase; the policy chooses what to buy next, or the action.

        Parameters
        ----------
        case : Case or int
            The case, or its id.
        values : mapping
            Values by feature: the name of a level, or a number. What could not be had is left out
            or None.
        costs : mapping
            What was paid, by feature or by bundle. What is left out cost its list price.
        available : iterable of str, optional
            The actions to choose from; None means all.

        Returns
        -------
        Case
        """
        record = self._find_open(case)
        bought = bought_of(self.problem, record, values, costs, most_cost=self._most_cost)
        mask = action_mask(self.problem, available)
        seen = record.observing(self.problem.n_features, bought)
        decision = self._decider.decide(seen, step=len(record.looks), available=mask)
        # Only now: what is refused changes nothing.
        record.observe(bought)
        record.decide(decision)
        return self._view(record)

    def tell(
        self, case: Case | int | str, reward: float | None = None, *, outcome: str | None = None
    ) -> None:
        """Report what came of the action; the policy learns from it.

        Parameters
        ----------
        case : Case or int
            The case, or its id.
        reward : float, optional
            In money, within the problem's range of rewards.
        outcome : str, optional
            What turned out to be true; the reward follows from it.
        """
        record = self._find_open(case)
        record.require_acted()
        action = record.action
        assert action is not None
        money, which = reward_of(self.problem, action, reward, outcome)
        self._decider.learn(record.observation(self.problem.n_features), action, money, which)
        record.reward, record.outcome = money, which
        self._close(record, REWARDED)

    def abandon(self, case: Case | int | str) -> None:
        """Close a case whose reward will never come; the policy learns nothing from it."""
        self._close(self._find_open(case), ABANDONED)

    def case(self, case: Case | int | str) -> Case:
        """Return what to do next in an open case, for instance after `load`."""
        return self._view(self._find_open(case))

    def explain(self, case: Case | int | str) -> dict[str, Any]:
        """Say what is known of a case, and why it was decided as it was, in JSON values.

        Returns
        -------
        dict
            `steps` holds each purchase with the policy's `reasons`, where the policy gives them
            (see `Policy.reasons`). `action_values` are the policy's own at the time of acting,
            None for an action that was never tried.
        """
        key = self._require_issued(case)
        record = self._open.get(key) or self._closed.get(key)
        if record is None:
            raise RoundClosed(
                f"case {key} is closed and forgotten: only the last {self._keep} closed cases are "
                "kept, so explain a case sooner or give the agent a larger `keep`."
            )
        return record.explained(self.problem)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, from which `load` continues bit for bit."""
        policy, generator = self.policy, self.policy.rng.bit_generator
        manifest = {
            "kind": _KIND,
            "format": _FORMAT,
            "problem": self.problem.to_dict(),
            "policy": {
                "name": registered_name(policy),
                "class": type(policy).__qualname__,
                "parameters": _plain(policy.parameters),
                "rounds": policy.rounds,
                "generator": _plain(generator.state),
            },
            "keep": self._keep,
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

        Parameters
        ----------
        path : path
            A file that `save` wrote.
        policy : callable, optional
            Makes a policy that is not in the registry, as
            `policy(problem, seed=..., **parameters)`.

        Returns
        -------
        Agent
        """
        manifest, state = read_archive(path)
        _require_agent(manifest, str(path))
        problem = Problem.from_dict(manifest["problem"])
        made = _restored(problem, manifest["policy"], state, policy)
        if manifest.get("format") != _FORMAT:  # release 0.1: what was open then had other steps
            agent = cls(problem, made, keep=manifest["history"])
        else:
            agent = cls(problem, made, keep=manifest["keep"])
            agent._open = _records(manifest["open"])
            agent._closed = _records(manifest["closed"])
        agent._next_id = manifest["next_id"]
        return agent

    def _read_prices(self, prices: Mapping[str, float]) -> None:
        if not self.policy.reads_price_list:
            raise InvalidParameter(
                f"{self.policy!r} reads no price list, since it learns prices by paying them: "
                "ask without prices."
            )
        self._decider.read_price_list(_price_list(self.problem, prices))

    def _view(self, record: CaseRecord) -> Case:
        names, places = self.problem.feature_names, record.places
        buy = tuple([names[i] for i in places])
        price = None
        if buy and self.problem.prices is not None:
            price = self.problem.prices.total(buy, [names[i] for i in record.owned()])
        action = None if record.action is None else self.problem.actions[record.action]
        return Case(record.id, buy, action, price, self.problem.rewards.unit)

    def _find_open(self, case: Case | int | str) -> CaseRecord:
        key = self._require_issued(case)
        if key not in self._open:
            end = self._closed[key].end if key in self._closed else "closed"
            raise RoundClosed(
                f"case {key} was {end} before: a case ends once, so this changed nothing."
            )
        return self._open[key]

    def _require_issued(self, case: Case | int | str) -> int:
        key = case.id if isinstance(case, Case) else case
        if not is_whole(key) or not 0 < int(key) < self._next_id:
            raise UnknownRound(f"there is no case {key!r}: use a case that ask returned.")
        return int(key)

    def _close(self, record: CaseRecord, end: str) -> None:
        record.close(end)
        key = int(record.id)
        del self._open[key]
        self._closed[key] = record
        if len(self._closed) > self._keep:
            del self._closed[next(iter(self._closed))]

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, {len(self._open)} open cases)"


def _records(descriptions: Iterable[Mapping[str, Any]]) -> dict[int, CaseRecord]:
    return {int(it["id"]): CaseRecord.from_dict(it) for it in descriptions}


def _price_list(problem: Problem, prices: Mapping[str, float]) -> NDArray[np.float64]:
    names = problem.feature_names
    lacking = [name for name in names if name not in prices]
    extra = [name for name in prices if name not in names]
    if lacking or extra:
        raise InvalidField(
            "prices", f"they lack {lacking} and have unknown features {extra}: give {list(names)}."
        )
    amounts = [as_float(prices[name]) for name in names]
    for name, amount in zip(names, amounts, strict=True):
        if not 0 <= amount < math.inf:
            raise InvalidField(
                f"prices.{name}", f"{prices[name]!r} is not a finite number of at least 0."
            )
    return np.array(amounts)


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
        return make(problem, seed=seed, **scaled_parameters(make, problem, parameters))
    except TypeError as error:
        raise InvalidParameter(
            f"{name} cannot be made with parameters {sorted(parameters)} ({error}): give the agent "
            "exactly those that the policy takes."
        ) from error


def scaled_parameters(
    make: Callable[..., Policy], problem: Problem, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters as a policy takes them: amounts of money on its own scale."""
    kind: Any = getattr(make, "__self__", make)  # NCCUCRL2.published is a method of its class
    amounts: frozenset[str] = getattr(kind, "amounts", frozenset())
    return {
        name: problem.rewards.scaled_cost(value) if name in amounts and _is_number(value) else value
        for name, value in parameters.items()
    }


def _policy_of(spec: PolicySpec, data: bytes) -> Policy:
    """Return the policy of a saved agent, for the problem of the specification."""
    manifest, state = unpack_archive(data, Path(f"the saved agent of {spec.name!r}"))
    _require_agent(manifest, f"the saved agent of {spec.name!r}")
    saved = manifest["policy"]
    if (_shape(Problem.from_dict(manifest["problem"])), saved["name"]) != (
        _shape(spec.problem),
        spec.policy,
    ):
        raise InvalidSpec(
            f"the saved agent is a {saved['class']} for other features, levels, actions or another "
            "policy than the file says: save it anew, or correct the file."
        )
    wanted = scaled_parameters(policy_named(spec.policy), spec.problem, spec.parameters)
    for name, value in wanted.items():
        before = saved["parameters"].get(name)
        if before != value and not _nearly(before, value):
            raise InvalidParameter(
                f"{name} = {value!r} on the policy's own scale, and the saved agent was made with "
                f"{before!r}: leave it out, or save an agent anew."
            )
    return _restored(spec.problem, saved, state, None)


def _require_agent(manifest: Mapping[str, Any], where: str) -> None:
    if manifest.get("kind") != _KIND:
        raise ForeignFile(
            f"{where} holds {manifest.get('kind')!r}, not an agent: give a file that Agent.save "
            "wrote."
        )


def _shape(problem: Problem) -> tuple[Any, ...]:
    """Return what a policy's codes mean; prices and rewards may have changed since it was saved."""
    return tuple((it.name, it.levels) for it in problem.features), problem.actions


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _nearly(one: Any, other: Any) -> bool:
    """Whether they are the same number but for the rounding of a scale."""
    return _is_number(one) and _is_number(other) and math.isclose(one, other)


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
