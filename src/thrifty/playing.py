"""The loop in which a policy plays an environment."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from thrifty.environment import Environment
from thrifty.errors import InvalidParameter
from thrifty.parameters import Whole, check_parameter, require_instance
from thrifty.policy import Policy
from thrifty.propensities import Propensity
from thrifty.rounds import Observation, Run, RunPropensities


def play(
    policy: Policy,
    environment: Environment,
    *,
    rounds: int | None = None,
    propensities: bool = False,
) -> Run:
    """Let a policy play an environment, from its first round on.

    Parameters
    ----------
    policy : Policy
        A policy made for the environment's problem. It keeps what it has learnt before.
    environment : Environment
        The environment. It is reset first.
    rounds : int, optional
        Number of rounds. By default all rounds of the environment.
    propensities : bool
        True also returns the probability of each decision. The rounds are the same, only slower.

    Returns
    -------
    Run
        Purchases, actions, rewards and costs of each round.

    Examples
    --------
    >>> from thrifty.environments import Replay
    >>> from thrifty.policies import UCB1
    >>> replay = Replay(contexts=[[0], [1]], rewards=[[1, 0], [1, 0]], costs=[[0.1], [0.1]])
    >>> play(UCB1(replay.problem), replay).gains
    array([1., 1.])
    """
    require_instance(policy, Policy, "policy", "such as UCB1(environment.problem)")
    require_instance(
        environment, Environment, "environment", "with problem, reset, known, reveal and step"
    )
    if policy.problem != environment.problem:
        raise InvalidParameter(
            f"{policy!r} was made for another problem, so its codes would have other meanings: "
            "make it with environment.problem."
        )
    rounds = number_of_rounds(environment, rounds)
    observed = np.zeros((rounds, environment.problem.n_features), dtype=np.bool_)
    actions = np.zeros(rounds, dtype=np.int64)
    rewards = np.zeros(rounds)
    costs = np.zeros(rounds)
    chances = RunPropensities.empty((rounds,)) if propensities else None
    environment.reset(seed=None)
    price_list = getattr(environment, "price_list", None) if policy.reads_price_list else None
    outcome = getattr(environment, "outcome", lambda: None)  # optional in the interface
    for t in range(rounds):
        if price_list is not None:
            policy.read_price_list(price_list())
        if chances is None:
            observation = look(policy, environment)
        else:
            observation, bought = _look_and_ask(policy, environment, t)
        action = policy.choose_action(observation)
        if chances is not None:
            _record(chances, t, bought, _ask_action(policy, observation, action, bought, t))
        reward = environment.step(action)
        policy.update(observation, action, reward, outcome=outcome())
        observed[t], costs[t] = observation.bought, observation.total_cost
        actions[t], rewards[t] = action, reward
    return Run(observed, actions, rewards, costs, propensities=chances)


def look(policy: Policy, environment: Environment) -> Observation:
    """Buy what the policy chooses in the current round, step by step if it is stepwise."""
    observation = environment.known()
    while True:
        purchase = policy.choose_features(observation)
        observation = environment.reveal(purchase)
        if not policy.stepwise or not purchase.mask.any():
            return observation


_Asked = list[Propensity | None]


def _look_and_ask(policy: Policy, environment: Environment, t: int) -> tuple[Observation, _Asked]:
    """Buy as `look` does, and return the probability of each step as well."""
    observation, asked, notes = environment.known(), _Asked(), None
    while True:
        purchase = policy.choose_features(observation)
        seed = f"{t}/{len(asked)}"
        found = policy.propensity(observation, purchase, notes=notes, seed=seed)
        asked.append(None if found is None else found.of_made(purchase.purpose))
        notes = asked[-1].notes if asked[-1] is not None else {purchase.purpose: 1.0}
        observation = environment.reveal(purchase)
        if not policy.stepwise or not purchase.mask.any():
            return observation, asked


def _ask_action(
    policy: Policy, observation: Observation, action: int, bought: _Asked, t: int
) -> Propensity | None:
    last = bought[-1]
    if last is None:
        return None
    found = policy.propensity(observation, action, notes=last.notes, seed=f"{t}/action")
    return None if found is None else found.of_made(observation.purpose)


def _record(chances: RunPropensities, t: int, bought: _Asked, acted: Propensity | None) -> None:
    """Write the probabilities of a round."""
    chances.purchases[t], chances.purchase_errors[t] = _product(bought)
    chances.actions[t], chances.action_errors[t] = _product([acted])


def _product(steps: Iterable[Propensity | None]) -> tuple[float, float]:
    """Return the product of probabilities, and its error."""
    product, error = 1.0, 0.0
    for step in steps:
        if step is None:
            return math.nan, math.nan
        error = math.hypot(error * step.probability, product * step.error)
        product *= step.probability
    return product, error


def number_of_rounds(environment: Environment, rounds: int | None) -> int:
    """Return the number of rounds to play: `rounds`, or all rounds of the environment."""
    horizon: int | None = getattr(environment, "horizon", None)
    if rounds is None and horizon is None:
        raise InvalidParameter(
            "this environment never ends, so the number of rounds is not known: give rounds=..."
        )
    wanted = horizon if rounds is None else rounds
    wanted = int(check_parameter("rounds", wanted, Whole(1), owner="play"))
    if horizon is not None and wanted > horizon:
        raise InvalidParameter(
            f"rounds is {wanted}, but the environment has {horizon} rounds: play fewer."
        )
    return wanted
