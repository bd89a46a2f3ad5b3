"""`Agent`: live decisions in your own process, with names instead of codes and in money."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.archive import read_archive, write_archive
from thrifty.background_fits import BackgroundFits, run_due_fits
from thrifty.case import Case
from thrifty.case_inputs import action_mask, free_codes, parse_purchase, parse_reward, require_free
from thrifty.case_record import ABANDONED, REWARDED, CaseRecord
from thrifty.decider import Decider
from thrifty.errors import (
    InvalidField,
    InvalidParameter,
    RoundClosed,
    UnknownRound,
)
from thrifty.parameters import Whole, as_float, check_parameter, is_whole
from thrifty.plans.cases import PastCases
from thrifty.policies.auto import AUTO
from thrifty.policy import Policy, show_policy
from thrifty.policy_factory import (
    DEFAULT_KEEP,
    describe_agent,
    parameters_in_money,
    policy_from_name,
    policy_from_saved_agent,
    require_agent,
    restore_policy,
)
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import Seed
from thrifty.specification import PolicySpec
from thrifty.surveyor.history import History


class Agent:
    """Make live decisions with a policy, one case at a time.

    Names replace codes, and amounts are in money. Any number of cases may be open at once, and
    rewards may come late, in any order, or never.

    Parameters
    ----------
    problem : Problem
        Features, actions and, if you have them, outcomes, prices and the range of rewards.
    policy : Policy, str or callable
        Name of a policy, such as "scout", "surveyor", "linucb" or "ucb1" (`thrifty list policies`
        and `POLICIES` have all names), the class of a policy, or a policy made for the problem. By
        default `thrifty.policies.auto.auto` chooses Scout or Surveyor, by what the problem
        declares.
    history : path, DataFrame, mapping, PastCases or History, optional
        Past cases to learn from first, with a column for every feature (see `read_history`). Only
        some policies can use them, such as "surveyor", which "auto" chooses then.
    target : str, optional
        Column of the history with the outcome of each case. By default its columns `action` and
        `reward` say what is known about the outcome.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.
    keep : int
        Number of closed cases that can still be explained.
    background : bool
        True runs fits of the policy's models in another process, so that no call waits for them.
        Each call first applies the fit that has finished since the last one. Decisions then depend
        on how long fits take. Use the agent in a `with` statement, or call `close` at the end.
        False, the default, runs fits inside `tell`.
    propensities : bool
        True, the default, records the probability of every decision, which `explain` shows. False
        saves the time.
    **parameters
        Parameters of the policy. Amounts, such as a budget, are in money.

    Attributes
    ----------
    problem : Problem
        The problem.
    policy : Policy
        The policy that decides.

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
    >>> case = agent.observe(case, values={"health": "good"})  # costs the list price
    >>> case.action
    'reject'
    >>> agent.tell(case, outcome="well")
    >>> agent.explain(case)["reward"], agent.open_cases
    (0.0, ())
    """

    def __init__(
        self,
        problem: Problem,
        policy: Policy | str | Callable[..., Policy] = AUTO,
        *,
        history: Any = None,
        target: str | None = None,
        seed: Seed = None,
        keep: int = DEFAULT_KEEP,
        background: bool = False,
        propensities: bool = True,
        **parameters: Any,
    ) -> None:
        check_parameter("keep", keep, Whole(0), owner="Agent")
        if not isinstance(policy, Policy):
            past = _read_history(problem, history, target)
            policy = policy_from_name(policy, problem, seed, parameters, past)
        elif seed is not None or history is not None or parameters:
            raise InvalidParameter(
                f"{policy!r} has its seed, history and parameters already: set them when you make "
                "the policy, or give the agent the policy's name."
            )
        if not isinstance(policy, Policy):
            raise InvalidParameter(
                f"policy is {policy!r}: give the agent a Policy made for its problem, or the name "
                "of one."
            )
        if policy.problem != problem:
            raise InvalidParameter(
                f"{policy!r} was made for another problem, so its codes would have other "
                "meanings: make it with the problem of the agent."
            )
        self.problem = problem
        self.policy = policy
        self._decider = Decider(policy)
        self._decider.records_propensities = propensities
        self._nothing_known = Observation.nothing(problem)
        self._free: tuple[str, ...] = ()
        self._max_cost = math.inf
        self._keep = keep
        self._next_id = 1
        self._open: dict[int, CaseRecord] = {}
        self._closed: dict[int, CaseRecord] = {}
        self._set_background(background)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        keep: int = DEFAULT_KEEP,
        background: bool = False,
    ) -> Agent:
        """Make the agent that a policy.toml declares.

        Parameters
        ----------
        path : path
            A policy.toml in which every feature has its levels or edges, as written by
            `thrifty worth`. The file of `thrifty init` has none yet: complete it with
            `thrifty worth` first.
        keep : int
            Number of closed cases that can still be explained.
        background : bool
            True runs fits in another process.

        Returns
        -------
        Agent
            The agent.
        """
        from thrifty.policy_file import read_spec

        return cls.from_spec(read_spec(Path(path)), keep=keep, background=background)

    @classmethod
    def from_spec(
        cls, spec: PolicySpec, *, keep: int = DEFAULT_KEEP, background: bool = False
    ) -> Agent:
        """Make the agent of a specification, from its saved agent if it has one.

        Parameters
        ----------
        spec : PolicySpec
            A specification, as read from a policy.toml.
        keep : int
            Number of closed cases that can still be explained.
        background : bool
            True runs fits in another process.

        Returns
        -------
        Agent
            The agent.
        """
        if spec.agent is None:
            parameters = dict(spec.parameters)
            agent = cls(
                spec.problem,
                spec.policy,
                seed=spec.seed,
                keep=keep,
                background=background,
                **parameters,
            )
        else:
            policy = policy_from_saved_agent(spec, spec.agent)
            agent = cls(spec.problem, policy, keep=keep, background=background)
        agent._free, agent._max_cost = spec.free, spec.max_cost
        return agent

    @property
    def open_cases(self) -> tuple[int, ...]:
        """Ids of the cases that wait for an observation or a reward, oldest first."""
        return tuple(self._open)

    def ask(
        self,
        free: Mapping[str, Any] | None = None,
        *,
        available: Iterable[str] | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> Case:
        """Open a case.

        Parameters
        ----------
        free : mapping, optional
            Values that are known without paying, by feature.
        available : iterable of str, optional
            Actions to choose from, in case nothing is bought. None means all.
        prices : mapping, optional
            Current price of every feature, in money. Only policies whose attribute
            `reads_price_list` is True accept prices here, such as "sim-oos"; all others
            learn prices by paying them.

        Returns
        -------
        Case
            The features to buy or, if there are none, the action.
        """
        self._advance_fits()
        if self._free:
            require_free(self.problem, self._free, free)
        known = free_codes(self.problem, free) if free else {}
        mask = action_mask(self.problem, available)
        if prices is not None:
            self._decider.read_price_list(_price_list(self.policy, prices))
        record = CaseRecord(self._next_id, known)
        seen = Observation.from_free(self.problem, known) if known else self._nothing_known
        record.decide(self._decider.decide(seen, step=0, available=mask, case=record.id))
        self._open[self._next_id] = record
        self._next_id += 1
        return _view(self.problem, record)

    def observe(
        self,
        case: Case | int | str,
        values: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        *,
        available: Iterable[str] | None = None,
    ) -> Case:
        """Report the result of a purchase.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id.
        values : mapping, optional
            Values by feature: the name of a level, or a number. Leave out a feature that could not
            be obtained, or give None.
        costs : mapping, optional
            Costs in money, by feature or by bundle. If you leave out the cost of a value, its list
            price counts. A feature that could not be obtained costs nothing unless you give a cost.
        available : iterable of str, optional
            Actions to choose from. None means all.

        Returns
        -------
        Case
            The features to buy next or, if there are none, the action.
        """
        self._advance_fits()
        record = self._find_open(case)
        bought = parse_purchase(self.problem, record, values, costs, max_cost=self._max_cost)
        mask = action_mask(self.problem, available)
        seen = record.observation_after(self.problem.n_features, bought)
        decision = self._decider.decide(
            seen, step=len(record.steps), available=mask, case=record.id, notes=record.notes
        )
        # Only now, so that a call that raises has changed nothing.
        record.observe(bought)
        record.seen = seen
        record.decide(decision)
        return _view(self.problem, record)

    def tell(
        self, case: Case | int | str, reward: float | None = None, *, outcome: str | None = None
    ) -> None:
        """Report the reward or the outcome of a case, from which the policy learns.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id.
        reward : float, optional
            Reward in money, within the problem's range of rewards.
        outcome : str, optional
            Name of the outcome. The reward is then taken from the problem's table.
        """
        self._advance_fits()
        record = self._find_open(case)
        record.require_acted()
        action = record.action
        assert action is not None
        money, which = parse_reward(self.problem, action, reward, outcome)
        self._decider.learn(record.observation(self.problem.n_features), action, money, which)
        record.reward, record.outcome = money, which
        self._close(record, REWARDED)
        if self._fits is not None:
            self._fits.start()

    def abandon(self, case: Case | int | str) -> None:
        """Close a case without a reward; the policy learns nothing from it.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id.
        """
        self._close(self._find_open(case), ABANDONED)

    def case(self, case: Case | int | str) -> Case:
        """Return the next step of an open case, for instance after `load`.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id.

        Returns
        -------
        Case
            The features to buy or, if there are none, the action.
        """
        return _view(self.problem, self._find_open(case))

    def explain(self, case: Case | int | str) -> dict[str, Any]:
        """Return everything known about a case, and why the policy decided as it did.

        Parameters
        ----------
        case : Case, int or str
            The case, or its id. It may be closed.

        Returns
        -------
        dict
            JSON values, amounts in money:

            - `case`, `status` (open, acted or closed) and `end` (rewarded or abandoned).
            - `free`: levels of the free features.
            - `steps`: the purchases. Each has `buy`, the features to buy; `reasons`, the policy's
              reasons, or None (see `Policy.reasons`); `values`, the levels that were obtained;
              `costs`; and `unavailable`, the features that could not be obtained.
            - `action`, and `action_values`: the policy's estimates when it chose the action, None
              for an action that was never tried.
            - `action_why`: in words, how the action compares with the next best, or None.
            - `action_reasons`: why a policy that buys in steps bought nothing more, or None.
            - `reward` and `outcome`.

            The reasons of Scout are `kind` (exploit, explore, probe or save), `set_in_use` (the
            features that it relies on), `certainty` (its probability that this set is the right
            one) and `considered` (the purchases it compared, best first, each with its expected
            `reward`, its `price`, its `value`, which is the reward minus the price, and its
            `weight`, the probability that exactly these features matter).
        """
        key = _issued_id(case, self._next_id)
        record = self._open.get(key) or self._closed.get(key)
        if record is None:
            raise RoundClosed(
                f"case {key} is closed and no longer in memory: only the last {self._keep} closed "
                "cases are kept, so explain a case sooner or give the agent a larger `keep`."
            )
        return record.explain(self.problem)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the agent, its policy and its cases to one file.

        `load` continues exactly where the saved agent stopped, to the last bit. A fit that has not
        finished is saved, and run again after `load`.

        Parameters
        ----------
        path : path
            File to write, for instance "agent.npz". It is written with exactly this name: no
            suffix is added, so give `load` the same path.
        """
        manifest = {
            **describe_agent(self.policy),
            "keep": self._keep,
            "free": list(self._free),
            "most_cost": None if math.isinf(self._max_cost) else self._max_cost,
            "next_id": self._next_id,
            "open": [record.to_dict() for record in self._open.values()],
            "closed": [record.to_dict() for record in self._closed.values()],
        }
        write_archive(path, manifest, self.policy.get_state())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        policy: Callable[..., Policy] | None = None,
        background: bool = False,
    ) -> Agent:
        """Load a saved agent.

        Parameters
        ----------
        path : path
            File written by `save`.
        policy : callable, optional
            Class or function that makes a policy that is not in the registry, called as
            `policy(problem, seed=..., **parameters)`.
        background : bool
            True runs fits in another process.

        Returns
        -------
        Agent
            The agent.
        """
        manifest, state = read_archive(path)
        require_agent(manifest, str(path))
        problem = Problem.from_dict(manifest["problem"])
        made = restore_policy(problem, manifest["policy"], state, policy)
        former = "format" not in manifest  # release 0.1, whose open cases had another form
        keep = manifest["history" if former else "keep"]
        agent = cls(problem, made, keep=keep, background=True)  # so that no fit is run twice
        # Again, since a new agent reads the list prices, which may differ from the saved ones.
        made.set_state(state)
        agent._next_id = manifest["next_id"]
        if not former:
            limit, agent._free = manifest["most_cost"], tuple(manifest["free"])
            agent._max_cost = math.inf if limit is None else limit
            agent._open = _records(manifest["open"])
            agent._closed = _records(manifest["closed"])
        agent._set_background(background)
        return agent

    def close(self) -> None:
        """Stop the process of an agent with `background=True`; a fit that is running stays due.

        The agent can still be saved. Reporting another reward starts the process again.
        """
        if self._fits is not None:
            self._fits.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _set_background(self, background: bool) -> None:
        """Run fits in another process from the next call on, or here, where one may be due."""
        self._fits = BackgroundFits(self.policy) if background else None
        if not background:
            self.policy.fits_beside = False
            run_due_fits(self.policy)

    def _advance_fits(self) -> None:
        if self._fits is not None:
            self._fits.apply()
            self._fits.start()

    def _find_open(self, case: Case | int | str) -> CaseRecord:
        key = _issued_id(case, self._next_id)
        if key not in self._open:
            end = self._closed[key].end if key in self._closed else "closed"
            raise RoundClosed(
                f"case {key} was already {end}, so this call changed nothing: ask for another case."
            )
        return self._open[key]

    def _close(self, record: CaseRecord, end: str) -> None:
        record.close(end)
        self._closed[int(record.id)] = self._open.pop(int(record.id))
        if len(self._closed) > self._keep:  # a dict is ordered, so the first one is the oldest
            del self._closed[next(iter(self._closed))]

    def __repr__(self) -> str:
        policy = show_policy(self.policy, parameters_in_money(self.policy))
        return f"Agent({policy}, {len(self._open)} open cases)"


def _read_history(problem: Problem, history: Any, target: str | None) -> Any:
    """Return past cases as policies learn from them, from a table or as they are."""
    if history is None:
        if target is not None:
            raise InvalidParameter(
                f"target is {target!r}, a column of the history, but there is no history: give one "
                "or leave out target."
            )
        return None
    if isinstance(history, PastCases | History):
        return history
    from thrifty.frames.history import read_history

    return read_history(history, problem, target=target)


def _issued_id(case: Case | int | str, next_id: int) -> int:
    key = case.id if isinstance(case, Case) else case
    if not is_whole(key) or not 0 < int(key) < next_id:
        raise UnknownRound(f"there is no case {key!r}: use a case that ask returned.")
    return int(key)


def _view(problem: Problem, record: CaseRecord) -> Case:
    names = problem.feature_names
    buy = tuple([names[i] for i in record.places])
    price = None
    if buy and problem.prices is not None:
        price = problem.prices.total(buy, [names[i] for i in record.owned()])
    action = None if record.action is None else problem.actions[record.action]
    return Case(record.id, buy, action, price, problem.rewards.unit)


def _records(descriptions: Iterable[Mapping[str, Any]]) -> dict[int, CaseRecord]:
    return {int(plain["id"]): CaseRecord.from_dict(plain) for plain in descriptions}


def _price_list(policy: Policy, prices: Mapping[str, float]) -> NDArray[np.float64]:
    if not policy.reads_price_list:
        raise InvalidParameter(
            f"{policy!r} does not use a price list, it learns prices by paying them: ask without "
            "prices."
        )
    names = policy.problem.feature_names
    lacking = [name for name in names if name not in prices]
    extra = [name for name in prices if name not in names]
    if lacking or extra:
        raise InvalidField(
            "prices",
            f"prices of {lacking} are missing and {extra} are unknown features: give a price for "
            f"each of {list(names)}.",
        )
    amounts = [as_float(prices[name]) for name in names]
    for name, amount in zip(names, amounts, strict=True):
        if not 0 <= amount < math.inf:
            raise InvalidField(
                f"prices.{name}", f"{prices[name]!r} is not a finite number of at least 0."
            )
    return np.array(amounts)
