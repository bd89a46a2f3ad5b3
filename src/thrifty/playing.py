"""The loop in which a policy plays an environment."""

from __future__ import annotations

import numpy as np

from thrifty.environment import Environment
from thrifty.errors import InvalidParameter
from thrifty.parameters import Whole, check_parameter, require_instance
from thrifty.policy import Policy
from thrifty.rounds import Observation, Run


def play(policy: Policy, environment: Environment, *, rounds: int | None = None) -> Run:
    """Let a policy play an environment, from its first round on.

    Parameters
    ----------
    policy : Policy
        A policy made for the environment's problem. It keeps what it has learnt before.
    environment : Environment
        The environment. It is reset first.
    rounds : int, optional
        Number of rounds. By default all rounds of the environment.

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
    environment.reset(seed=None)
    price_list = getattr(environment, "price_list", None) if policy.reads_price_list else None
    outcome = getattr(environment, "outcome", lambda: None)  # optional in the interface
    for t in range(rounds):
        if price_list is not None:
            policy.read_price_list(price_list())
        observation = look(policy, environment)
        action = policy.choose_action(observation)
        reward = environment.step(action)
        policy.update(observation, action, reward, outcome=outcome())
        observed[t], costs[t] = observation.bought, observation.total_cost
        actions[t], rewards[t] = action, reward
    return Run(observed, actions, rewards, costs)


def look(policy: Policy, environment: Environment) -> Observation:
    """Buy what the policy chooses in the current round, step by step if it is stepwise."""
    observation = environment.known()
    while True:
        purchase = policy.choose_features(observation)
        observation = environment.reveal(purchase)
        if not policy.stepwise or not purchase.mask.any():
            return observation


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
