"""Regret against the oracle, and how good the chosen actions were."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.oracle_plan import strides_of
from thrifty.environments.replay import Replay
from thrifty.environments.truth import Truth
from thrifty.errors import InvalidTable
from thrifty.parameters import require_instance
from thrifty.rounds import Run, Runs

Floats = NDArray[np.float64]


class Drawable(Protocol):
    """An environment that can be drawn from a seed, such as `World` and `Replay`."""

    def draw(self, seed: int) -> Replay:
        """Return the rounds of a seed."""


def expected_regret(run: Run, environment: Drawable | Callable[[int], Drawable]) -> Floats:
    """Return the regret of each round by the true means.

    The regret of round t is `rho*_t - (r_t(a_t, psi_t) - sum of the mean costs of I_t)`, where
    psi_t is the partial state that was bought or free. Given everything before round t, and so
    I_t and the rule h_t, psi_t occurs with probability p(psi). So the expectation of
    r_t(h_t(psi_t), psi_t) is the reward part of equation (2), and the expectation of the regret is
    `rho*_t - rho_t` of the policy, the term of equation (6). The noise of rewards and costs is
    removed, and only the randomness of psi_t is left, so the regret of a single round may be
    negative. If the truth consists of the table's own means in hindsight, p is the frequency over
    all rounds, and the equality holds as far as the rounds are exchangeable.

    Parameters
    ----------
    run : Run or Runs
        Result of `play` or `simulate`.
    environment : Replay, World or callable
        The environment that was played. For the `Runs` of `simulate`, give the same environment or
        function of the seed that you gave to `simulate`.

    Returns
    -------
    array of float, shape (T,) or (S, T)
        Regret of each round, for each seed if there are several.

    Examples
    --------
    >>> from thrifty.environments import Replay
    >>> replay = Replay([[0], [1]], [[1, 0], [0, 1]], [[0.1], [0.1]])
    >>> blind = Run(np.zeros((2, 1), bool), np.array([0, 0]), np.array([1.0, 0.0]), np.zeros(2))
    >>> expected_regret(blind, replay).round(3).tolist()
    [0.4, 0.4]
    """
    require_instance(run, Run, "run", "from play or simulate")
    if isinstance(run, Runs) and not isinstance(environment, Replay):
        pairs = zip(run, run.seeds, strict=True)
        return np.stack([_regret_on(one, _draw(environment, seed)) for one, seed in pairs])
    require_instance(environment, Replay, "the environment of one run", "such as world.draw(seed)")
    return _regret_on(run, cast(Replay, environment))


def _draw(environment: Drawable | Callable[[int], Drawable], seed: int) -> Replay:
    draw = getattr(environment, "draw", environment)
    if not callable(draw):
        raise InvalidTable(
            f"{environment!r} is not an environment: give the one that simulate played."
        )
    made: Drawable = draw(seed)
    return made.draw(seed)


def _regret_on(run: Run, replay: Replay) -> Floats:
    _require_of(run, replay)
    truth = replay.truth
    plan, rounds = truth.oracle_plan, slice(run.rounds)
    best = plan.gains[plan.plan_of_round[rounds]]
    mean_costs = (run.observed * truth.costs[truth.cost_piece[rounds]]).sum(axis=-1)
    known = run.observed | replay.free
    gains = _mean_rewards(run, known, truth, _states(replay)[rounds]) - mean_costs
    regret: Floats = best - gains
    return regret


def value_of_information(replay: Replay) -> Floats:
    """Return how much more the oracle gains in each round than the best action without features.

    Both gains use the true means, and the best action may differ between periods. The result, of
    shape (T,), is what a policy that buys features can win.

    >>> from thrifty.environments import Replay
    >>> replay = Replay([[0], [1]], [[1, 0], [0, 1]], [[0.1], [0.1]])
    >>> value_of_information(replay).round(3).tolist()
    [0.4, 0.4]
    """
    truth, plan = replay.truth, replay.truth.oracle_plan
    blind = truth.best_rewards(np.zeros(truth.levels.size, dtype=np.bool_))
    value: Floats = plan.gains[plan.plan_of_round] - blind[truth.reward_piece]
    return value


def uniform_regret(replay: Replay) -> Floats:
    """Return the regret of each round of buying nothing and taking every action equally often.

    It uses the true means, and no random numbers. The result, of shape (T,), is what there is to
    win by deciding well.

    >>> from thrifty.environments import Replay
    >>> replay = Replay([[0], [1]], [[1, 0], [0, 1]], [[0.1], [0.1]])
    >>> uniform_regret(replay).round(3).tolist()
    [0.4, 0.4]
    """
    truth, plan = replay.truth, replay.truth.oracle_plan
    means = truth.mean_rewards(np.zeros(truth.levels.size, dtype=np.bool_))[:, :, 0].mean(axis=1)
    regret: Floats = plan.gains[plan.plan_of_round] - means[truth.reward_piece]
    return regret


def realised_regret(run: Run, oracle_run: Run) -> Floats:
    """Return the gain of the oracle minus the gain of the run, as in the paper's figures.

    Parameters
    ----------
    run : Run or Runs
        Result of `play` or `simulate`.
    oracle_run : Run or Runs
        Result of the oracle on the same rounds: one run, or one for each seed.

    Returns
    -------
    array of float, shape (T,) or (S, T)
        Regret of each round, for each seed if there are several.

    Examples
    --------
    >>> one = Run(np.ones((1, 1), bool), np.array([0]), np.array([1.0]), np.array([0.25]))
    >>> other = Run(np.zeros((1, 1), bool), np.array([1]), np.array([0.0]), np.array([0.0]))
    >>> realised_regret(other, one).tolist()
    [0.75]
    """
    ours, theirs = run.gains.shape, oracle_run.gains.shape
    if theirs not in (ours, ours[-1:]):
        raise InvalidTable(
            f"the gains have shape {ours} and those of the oracle {theirs}: give runs of the same "
            "rounds and seeds, or one run of the oracle."
        )
    return oracle_run.gains - run.gains


def accuracy_by_observations(run: Run) -> Floats:
    """Return the mean reward of the rounds with at most 0, 1, ..., D features bought (Fig. 6).

    Parameters
    ----------
    run : Run or Runs
        Result of `play` or `simulate`.

    Returns
    -------
    array of float, shape (D + 1,) or (S, D + 1)
        Mean rewards, for each seed if there are several; nan where there are no such rounds.

    Examples
    --------
    >>> run = Run(np.array([[True], [True]]), np.zeros(2, int), np.array([1.0, 0.0]), np.zeros(2))
    >>> accuracy_by_observations(run).tolist()
    [nan, 0.5]
    """
    bought = run.observed.sum(axis=-1)[..., None] <= np.arange(run.observed.shape[-1] + 1)
    rounds = bought.sum(axis=-2)
    rewards = (bought * run.rewards[..., None]).sum(axis=-2)
    accuracy = np.full(rewards.shape, np.nan)
    np.divide(rewards, rounds, out=accuracy, where=rounds > 0)
    return accuracy


def _mean_rewards(
    run: Run, known: NDArray[np.bool_], truth: Truth, states: NDArray[np.intp]
) -> Floats:
    informative = known & truth.relevant
    # An oracle exists only for a few relevant features, so their masks fit into an integer.
    columns = informative[..., truth.relevant]
    masks = columns @ (1 << np.arange(columns.shape[-1]))
    means = np.empty(run.actions.shape)
    for number in np.unique(masks):
        where = np.nonzero(masks == number)
        t = where[-1]
        psi, rewards = _partial_states(truth, tuple(informative[where][0]))
        means[where] = rewards[truth.reward_piece[t], run.actions[where], psi[states[t]]]
    return means


@lru_cache(maxsize=128)  # several runs of one environment buy the same sets
def _partial_states(truth: Truth, mask: tuple[bool, ...]) -> tuple[NDArray[np.int64], Floats]:
    return truth.partial_states(mask), truth.mean_rewards(mask)


@lru_cache(maxsize=4)  # several runs of one environment come one after the other
def _states(replay: Replay) -> NDArray[np.intp]:
    """Return the index of each round's state in the truth."""
    truth = replay.truth
    strides = strides_of(truth.levels, truth.relevant)
    keys = truth.states @ strides
    order = np.argsort(keys)
    wanted = replay.contexts @ strides
    places: NDArray[np.intp] = order[np.searchsorted(keys[order], wanted).clip(max=len(keys) - 1)]
    unknown = keys[places] != wanted
    if unknown.any():
        t = int(np.argmax(unknown))
        raise InvalidTable(
            f"round {t} has the state {replay.contexts[t].tolist()}, which the truth does not "
            "list: add every state that occurs to the truth."
        )
    return places


def _require_of(run: Run, replay: Replay) -> None:
    if run.rounds > replay.horizon or run.observed.shape[-1] != replay.problem.n_features:
        raise InvalidTable(
            f"a run of {run.rounds} rounds and {run.observed.shape[-1]} features on a table of "
            f"{replay.horizon} and {replay.problem.n_features}: give the table that was played."
        )
    if not (run.rewards == replay.rewards[np.arange(run.rounds), run.actions]).all():
        raise InvalidTable(
            "the rewards of the run are not those of this table: give the table that was played "
            "or, if every seed has its own, the environment that simulate played."
        )
