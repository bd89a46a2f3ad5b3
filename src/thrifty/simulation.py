"""`simulate`: play a policy for many seeds, compiled and in parallel."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import numpy as np

from thrifty.environment import Environment
from thrifty.environments.replay import Replay
from thrifty.errors import InvalidParameter
from thrifty.parameters import Whole, check_parameter, is_whole, require_instance
from thrifty.playing import number_of_rounds, play
from thrifty.policies.compiled import Record, RunsCompiled
from thrifty.policies.plan import sample_plan
from thrifty.policies.registry import make_policy, policy_maker, policy_named, require_parameters
from thrifty.policy import Policy
from thrifty.rounds import Observation, RunPropensities, Runs
from thrifty.seeds import environment_seed

EnvironmentSource = Environment | Callable[[int], Environment]


def simulate(
    name: str | Callable[..., Policy],
    environment: EnvironmentSource,
    *,
    seeds: Iterable[int],
    workers: int | None = None,
    rounds: int | None = None,
    propensities: bool = False,
    progress: Callable[[int], None] | None = None,
    **params: Any,
) -> Runs:
    """Play a policy once for every seed, compiled if possible and in parallel.

    Policy and environment get independent random streams from each seed. The stream of the
    environment does not depend on the policy, so runs of two policies with the same seeds are
    paired. Results do not depend on the number of workers.

    Parameters
    ----------
    name : str or callable
        The policy: its name in `POLICIES`, such as "scout", its class, such as `Scout`, or a
        function called as `make(problem, seed=..., **params)`. A policy is made for every seed, so
        an instance is not accepted.
    environment : Environment or callable
        An environment, drawn again for every seed if it is random, or a function that makes the
        environment of a seed, such as `nursery.shuffled`.
    seeds : iterable of int
        One run is played for each seed.
    workers : int, optional
        Number of threads. By default one per core.
    rounds : int, optional
        Number of rounds. By default all rounds of the environment.
    propensities : bool
        True also returns the probability of each decision. The rounds are the same, but they are
        played one by one, which takes many times as long as compiled.
    progress : callable, optional
        Called with each seed when its run is finished.
    **params
        Parameters of the policy.

    Returns
    -------
    Runs
        Purchases, actions, rewards and costs, with a first axis for the seeds.

    Examples
    --------
    >>> from thrifty.environments import nursery
    >>> runs = simulate("sw-ucb", nursery.published(), seeds=[0], alpha=0.1, tau=100)
    >>> float(runs.gains.sum())
    6794.0
    """
    make = policy_maker(name)
    require_parameters(make, params)
    chosen = _require_seeds(seeds)
    if workers is not None:
        check_parameter("workers", workers, Whole(1), owner="simulate")
    first = _environment_for(environment, chosen[0])
    problem, length = first.problem, number_of_rounds(first, rounds)
    shape = (len(chosen), length)
    runs = Runs(
        observed=np.zeros((*shape, problem.n_features), dtype=np.bool_),
        actions=np.zeros(shape, dtype=np.int64),
        rewards=np.zeros(shape),
        costs=np.zeros(shape),
        seeds=chosen,
        propensities=RunPropensities.empty(shape) if propensities else None,
    )

    chances = runs.propensities

    def run(k: int) -> None:
        own = first if k == 0 else _environment_for(environment, chosen[k])
        if own.problem != problem:
            raise InvalidParameter(
                f"the environment of seed {chosen[k]} has another problem than that of seed "
                f"{chosen[0]}: all runs need the same problem, so simulate them separately."
            )
        number_of_rounds(own, length)
        policy = make_policy(make, own, chosen[k], {"horizon": length, **params})
        record = (runs.observed[k], runs.actions[k], runs.rewards[k], runs.costs[k])
        _play_into(record, policy, own, None if chances is None else chances[k])
        if progress is not None:
            progress(chosen[k])

    _run_all(run, len(chosen), workers or os.cpu_count() or 1)
    return runs


def warm_up(name: str) -> None:
    """Compile a policy's loop and its single calls, and cache them on disk if possible.

    >>> warm_up("uniform")
    """
    replay = Replay([[0, 0], [0, 1]] * 2, [[0.0, 1.0]] * 4, [[0.1, 0.1]] * 4)
    params: dict[str, Any] = {"plan": sample_plan(replay.problem)} if name == "plan" else {}
    simulate(name, replay, seeds=[0], workers=1, **params)
    policy = make_policy(policy_named(name), replay, 0, {"horizon": replay.horizon, **params})
    play(policy, replay, rounds=2, propensities=True)
    policy.action_values(Observation([0, -1], [0.1, np.nan]))


def _run_all(run: Callable[[int], None], n_runs: int, workers: int) -> None:
    threads = min(workers, n_runs)
    if threads == 1:  # without a thread, an interrupt stops the run at once
        for k in range(n_runs):
            run(k)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(run, range(n_runs)):  # the loop raises the error of a failed run
            pass


def _require_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    require_instance(seeds, Iterable, "seeds", "for instance range(5)")
    chosen = tuple(seeds)
    for seed in chosen:
        if not is_whole(seed) or seed < 0:
            raise InvalidParameter(f"seed {seed!r}: seeds are whole numbers of at least 0.")
    if not chosen:
        raise InvalidParameter("no seeds, so there is nothing to run: give at least one.")
    return tuple(int(seed) for seed in chosen)


def _environment_for(source: EnvironmentSource, seed: int) -> Environment:
    """Return the environment of one run: drawn in advance if possible, otherwise a copy."""
    environment = source
    if not isinstance(environment, Environment):
        environment = _call_with_seed(environment, seed)
    draw = getattr(environment, "draw", None)
    if draw is not None:
        replay: Replay = draw(seed)
        return replay
    environment = deepcopy(environment)
    environment.reset(seed=environment_seed(seed))
    return environment


def _call_with_seed(source: Any, seed: int) -> Environment:
    if not callable(source):
        raise InvalidParameter(
            f"environment is {source!r}: give an environment, or a function of the seed that makes "
            "one."
        )
    try:
        inspect.signature(source).bind(seed)
    except TypeError as error:
        raise InvalidParameter(
            f"environment is {source!r}, which cannot be called with a seed alone ({error}): call "
            "it, and give what it returns."
        ) from error
    environment: Environment = source(seed)
    require_instance(environment, Environment, f"the environment of seed {seed}")
    return environment


def _play_into(
    record: Record, policy: Policy, environment: Environment, chances: RunPropensities | None
) -> None:
    """Play as many rounds as `record` has, compiled if policy and environment are arrays."""
    is_asked = chances is not None
    if (
        not is_asked
        and isinstance(environment, Replay)
        and isinstance(policy, RunsCompiled)
        and policy.can_run_compiled(environment)
    ):
        policy.run_compiled(environment, record)
        return
    environment = deepcopy(environment)  # several runs may replay the same table
    run = play(policy, environment, rounds=len(record[1]), propensities=is_asked)
    if chances is not None and run.propensities is not None:
        chances.fill(run.propensities)
    for out, array in zip(record, (run.observed, run.actions, run.rewards, run.costs), strict=True):
        out[:] = array
