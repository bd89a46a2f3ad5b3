"""Many seeds of one policy in one world: compiled, and in parallel."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import numpy as np

from thrifty.environment import Environment
from thrifty.environments.replay import Replay
from thrifty.errors import InvalidParameter
from thrifty.parameters import Whole, check_parameter, is_whole, require_instance
from thrifty.playing import number_of_rounds, play
from thrifty.policies import policy_named
from thrifty.policies.compiled import CompiledPolicy, Record
from thrifty.policy import Policy
from thrifty.rounds import Observation, Runs
from thrifty.seeds import environment_seed

World = Environment | Callable[[int], Environment]


def simulate(
    name: str | Callable[..., Policy],
    environment: World,
    *,
    seeds: Iterable[int],
    workers: int | None = None,
    rounds: int | None = None,
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
        Name of a policy in the registry, or a class or function that makes one.
    environment : Environment or callable
        An environment, drawn again for every seed if it is random, or a function that makes the
        environment of a seed, such as `nursery.shuffled`.
    seeds : iterable of int
        One run is played for each seed.
    workers : int, optional
        Number of threads. By default one per core.
    rounds : int, optional
        Number of rounds. By default all rounds of the environment.
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
    first = _world_of(environment, chosen[0])
    problem, length = first.problem, number_of_rounds(first, rounds)
    shape = (len(chosen), length)
    runs = Runs(
        observed=np.zeros((*shape, problem.n_features), dtype=np.bool_),
        actions=np.zeros(shape, dtype=np.int64),
        rewards=np.zeros(shape),
        costs=np.zeros(shape),
        seeds=chosen,
    )

    def run(k: int) -> None:
        world = first if k == 0 else _world_of(environment, chosen[k])
        if world.problem != problem:
            raise InvalidParameter(
                f"the world of seed {chosen[k]} has another problem than that of seed "
                f"{chosen[0]}: runs in one table need one problem, so simulate them apart."
            )
        number_of_rounds(world, length)
        policy = _make_policy(make, world, chosen[k], {"horizon": length, **params})
        record = (runs.observed[k], runs.actions[k], runs.rewards[k], runs.costs[k])
        _play_into(record, policy, world)
        if progress is not None:
            progress(chosen[k])

    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        for _ in pool.map(run, range(len(chosen))):
            pass
    return runs


def warm_up(name: str) -> None:
    """Compile a policy's loop and its single calls, and keep them on disk where that is possible.

    >>> warm_up("uniform")
    """
    world = Replay([[0, 0], [0, 1]] * 2, [[0.0, 1.0]] * 4, [[0.1, 0.1]] * 4)
    simulate(name, world, seeds=[0], workers=1)
    policy = _make_policy(policy_named(name), world, 0, {"horizon": world.horizon})
    play(policy, world, rounds=2)
    policy.action_values(Observation([0, -1], [0.1, np.nan]))


def policy_maker(policy: str | Callable[..., Policy]) -> Callable[..., Policy]:
    """Return what makes the policy of this name, or the class or function itself."""
    if isinstance(policy, str):
        return policy_named(policy)
    if isinstance(policy, Policy) or not callable(policy):
        raise InvalidParameter(
            f"{policy!r} is neither a policy's name nor its class: a new policy is made for every "
            "seed, so give what makes it, for instance UCB1 or 'ucb1'."
        )
    return policy


def require_parameters(make: Callable[..., Policy], params: Mapping[str, Any]) -> None:
    """Refuse parameters that the policy made by `make` does not have."""
    known = sorted(set(inspect.signature(make).parameters) - {"problem", "seed", "truth"})
    for name in params:
        if name not in known:
            raise InvalidParameter(
                f"the policy has no parameter {name!r}: its parameters are "
                f"{', '.join(known) or 'none'}."
            )


def _make_policy(
    make: Callable[..., Policy], world: Environment, seed: int, params: Mapping[str, Any]
) -> Policy:
    """Make a policy for a world, with the world's horizon and truth if it wants them."""
    wanted = inspect.signature(make).parameters
    given = {name: value for name, value in params.items() if name in wanted}
    if "truth" in wanted:
        given["truth"] = _truth_of(world)
    return make(world.problem, seed=seed, **given)


def _require_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    require_instance(seeds, Iterable, "seeds", "for instance range(5)")
    chosen = tuple(seeds)
    for seed in chosen:
        if not is_whole(seed) or seed < 0:
            raise InvalidParameter(f"seed {seed!r}: seeds are whole numbers of at least 0.")
    if not chosen:
        raise InvalidParameter("no seeds, so there is nothing to run: give at least one.")
    return tuple(int(seed) for seed in chosen)


def _world_of(environment: World, seed: int) -> Environment:
    """Return the world of a seed, drawn beforehand if it can be, and nobody else's."""
    world = environment
    if not isinstance(world, Environment):
        if not callable(world):
            raise InvalidParameter(
                f"environment is {world!r}: give an environment, or a function of the seed that "
                "makes one."
            )
        try:
            inspect.signature(world).bind(seed)
        except TypeError as error:
            raise InvalidParameter(
                f"environment is {world!r}, which cannot be called with a seed alone ({error}): "
                "call it, and give what it returns."
            ) from error
        world = world(seed)
        require_instance(world, Environment, f"the environment of seed {seed}")
    draw = getattr(world, "draw", None)
    if draw is not None:
        replay: Replay = draw(seed)
        return replay
    world = deepcopy(world)
    world.reset(seed=environment_seed(seed))
    return world


def _truth_of(world: Environment) -> Any:
    truth = getattr(world, "truth", None)
    if truth is None:
        raise InvalidParameter(
            "this environment does not tell its truth, and the oracle lives on it: use a Replay, "
            "a World or another environment with an attribute `truth`."
        )
    return truth


def _play_into(record: Record, policy: Policy, world: Environment) -> None:
    """Play as many rounds as `record` holds, compiled if both sides are arrays."""
    if isinstance(policy, CompiledPolicy) and isinstance(world, Replay):
        policy.run_compiled(world, record)
        return
    world = deepcopy(world)  # several runs may replay the same table
    run = play(policy, world, rounds=len(record[1]))
    for out, array in zip(record, (run.observed, run.actions, run.rewards, run.costs), strict=True):
        out[:] = array
