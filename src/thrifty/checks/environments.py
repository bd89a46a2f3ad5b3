"""What any environment must do.

Each check is a function of a `Stage`; the first line of its docstring is the promise it checks.
A failed check raises `CheckFailed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.checks.failing import require, require_refused, run_checks
from thrifty.environment import Environment
from thrifty.errors import EnvironmentEnded, InvalidParameter, OutOfTurn, ThriftyError
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase

ROUNDS = 60
LONGEST = 100_000
"""Environments with more rounds than this are not played to their end."""


@dataclass(frozen=True, eq=False)
class Stage:
    """An environment under check, and the seed of the world that is played."""

    environment: Environment
    seed: int

    @property
    def problem(self) -> Problem:
        """The environment's problem."""
        return self.environment.problem

    @property
    def rounds(self) -> int:
        """The number of rounds that a check plays."""
        return min(ROUNDS, getattr(self.environment, "horizon", ROUNDS))

    @property
    def fees(self) -> NDArray[np.float64]:
        """The setup fee of each feature's group, on the policy's scale."""
        fees = np.zeros(self.problem.n_features)
        for group in () if self.problem.prices is None else self.problem.prices.groups:
            for name in group.features:
                fees[self.problem.feature_index(name)] = self.problem.rewards.scaled_cost(
                    group.setup
                )
        return fees

    def script(self, k: int = 0) -> Iterator[tuple[Purchase, int]]:
        """Yield what to buy and do in each round; each `k` gives another script."""
        rng = np.random.default_rng(k)
        for _ in range(self.rounds):
            mask = rng.random(self.problem.n_features) < 0.5
            yield Purchase(mask, purpose=k), int(rng.integers(self.problem.n_actions))


@dataclass(frozen=True, eq=False)
class Seen:
    """One round as the player saw it."""

    observation: Observation
    action: int
    reward: float

    def agrees_with(self, other: Seen, fees: NDArray[np.float64]) -> bool:
        """Whether both can come from the same world: features and actions in common agree.

        The costs of a feature may differ by the setup fee of its group.
        """
        mine, theirs = self.observation, other.observation
        common, paid = mine.mask & theirs.mask, mine.bought & theirs.bought
        return (
            np.array_equal(mine.codes[common], theirs.codes[common])
            and _same_costs(mine.costs[paid], theirs.costs[paid], fees[paid])
            and (self.action != other.action or self.reward == other.reward)
        )


_PROTOCOL = ("problem", "reset", "known", "reveal", "step")


def check_environment(environment: Environment, *, seed: int = 0) -> None:
    """Raise `CheckFailed` if `environment` breaks a promise of its interface, else return.

    The environment is played, and left at the first round of the world with this `seed`.

    >>> from thrifty.environments import Replay
    >>> check_environment(Replay(contexts=[[0], [1]], rewards=[[1, 0]] * 2, costs=[[0.1]] * 2))
    """
    if isinstance(environment, type):
        name = environment.__name__
        raise InvalidParameter(f"{name} is a class: give an environment, such as {name}(...).")
    run_checks(ENVIRONMENT_CHECKS, Stage(environment, seed), type(environment).__name__)
    environment.reset(seed=seed)


def has_the_protocol(stage: Stage) -> None:
    """Have a problem, reset, known, reveal, step and, if it ends, a whole horizon."""
    environment = stage.environment
    missing = [name for name in _PROTOCOL if not hasattr(environment, name)]
    require(not missing, f"it has no {', '.join(missing)}")
    require(isinstance(stage.problem, Problem), f"its problem is {stage.problem!r}")
    horizon = getattr(environment, "horizon", 1)
    require(type(horizon) is int and horizon >= 1, f"its horizon is {horizon!r}")
    environment.reset(seed=stage.seed)
    if hasattr(environment, "price_list"):
        prices = np.asarray(environment.price_list())
        fits = prices.shape == (stage.problem.n_features,) and bool((prices >= 0).all())
        require(fits, f"its price list is {prices.tolist()}, not one cost per feature")


def shows_exactly_what_was_bought(stage: Stage) -> None:
    """Show the codes, within their levels, and costs of what was bought, and free values alone."""
    stage.environment.reset(seed=stage.seed)
    for purchase, action in stage.script():
        free = stage.environment.known()
        _require_free(stage, free)
        observation = stage.environment.reveal(purchase)
        _require_shape(stage, observation, "reveal")
        bought, shown = (purchase.mask & ~free.mask).tolist(), observation.bought.tolist()
        together = _sold_together(stage.problem, purchase.mask) & ~free.mask
        require(shown in (bought, together.tolist()), f"{bought} was bought and {shown} was shown")
        same = np.array_equal(observation.codes[free.mask], free.codes[free.mask])
        require(same, "free values changed when something was bought")
        stage.environment.step(action)


def _require_free(stage: Stage, free: Observation) -> None:
    _require_shape(stage, free, "known")
    paid = free.costs[~np.isnan(free.costs)]
    require(not paid.size, f"{paid.tolist()} was paid before anything was bought")


def _require_shape(stage: Stage, observation: object, call: str) -> None:
    require(isinstance(observation, Observation), f"{call} returned {observation!r}")
    assert isinstance(observation, Observation)
    codes, levels = observation.codes, stage.problem.levels
    require(codes.shape == levels.shape, f"an observation has codes of shape {codes.shape}")
    fits = bool((codes < levels).all())
    require(fits, f"codes {codes.tolist()} do not fit {levels.tolist()} levels")


def _sold_together(problem: Problem, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    names = problem.feature_names
    wanted = [name for name, bought in zip(names, mask.tolist(), strict=True) if bought]
    sold = wanted if problem.prices is None else problem.prices.expanded(wanted)
    return np.array([name in sold for name in names])


def steps_add_up(stage: Stage) -> None:
    """Sell in several steps what it sells at once, each feature once."""
    environment, whole = stage.environment, []
    environment.reset(seed=stage.seed)
    for purchase, action in stage.script():
        whole.append(Seen(environment.reveal(purchase), action, environment.step(action)))
    environment.reset()
    for seen, (purchase, action) in zip(whole, stage.script(), strict=True):
        observation = environment.known()
        for i in np.flatnonzero(purchase.mask):
            one = Purchase(np.arange(purchase.mask.size) == i, purchase.purpose)
            observation = environment.reveal(one)
        observation = environment.reveal(purchase)  # nothing is left to sell
        again = Seen(observation, action, environment.step(action))
        paid = (seen.observation.total_cost, observation.total_cost)
        same = np.array_equal(seen.observation.codes, observation.codes)
        require(
            same and math.isclose(*paid, rel_tol=1e-12),
            f"at once {_shown(seen)} was shown, and step by step {_shown(again)}",
        )


def outcomes_are_declared(stage: Stage) -> None:
    """Tell only outcomes that its problem declares, if it tells any."""
    tell = getattr(stage.environment, "outcome", None)
    if tell is None:
        return
    names = () if stage.problem.outcomes is None else stage.problem.outcomes.names
    stage.environment.reset(seed=stage.seed)
    for purchase, action in stage.script():
        stage.environment.reveal(purchase)
        stage.environment.step(action)
        outcome = tell()
        known = outcome is None or (type(outcome) is int and 0 <= outcome < len(names))
        require(known, f"its outcome is {outcome!r}, and the problem declares {list(names)}")


def purpose_comes_back(stage: Stage) -> None:
    """Hand back the purpose of a purchase in its observation, unchanged."""
    stage.environment.reset(seed=stage.seed)
    notes = (0, 7, -3, 2**40)
    for t, (purchase, action) in enumerate(stage.script()):
        note = notes[t % len(notes)]
        back = stage.environment.reveal(Purchase(purchase.mask, purpose=note)).purpose
        require(type(back) is int and back == note, f"purpose {note} came back as {back!r}")
        stage.environment.step(action)


def rewards_are_in_range(stage: Stage) -> None:
    """Return rewards that are floats in [0, 1]."""
    for seen in _play(stage, k=0, seed=stage.seed):
        fits = isinstance(seen.reward, float) and math.isfinite(seen.reward)
        require(fits and 0 <= seen.reward <= 1, f"step returned {seen.reward!r}")


def same_seed_same_world(stage: Stage) -> None:
    """Draw the same world from the same seed."""
    first = _play(stage, k=0, seed=stage.seed)
    _play(stage, k=0, seed=stage.seed + 1)
    _require_agreement(
        stage, first, _play(stage, k=0, seed=stage.seed), "the same seed was given twice"
    )


def reset_replays(stage: Stage) -> None:
    """Start over in the same world after a reset without a seed, in mid-round too."""
    first = _play(stage, k=0, seed=stage.seed)
    _require_agreement(
        stage, first, _play(stage, k=0, seed=None), "reset() was called after the run"
    )
    stage.environment.reset()
    stage.environment.reveal(Purchase.nothing(stage.problem))
    _require_agreement(
        stage, first, _play(stage, k=0, seed=None), "reset() was called in mid-round"
    )


def world_ignores_the_player(stage: Stage) -> None:
    """Play the same world for the same seed, whatever is bought and done."""
    first = _play(stage, k=0, seed=stage.seed)
    for k in range(1, 5):
        other = _play(stage, k=k, seed=stage.seed)
        _require_agreement(stage, first, other, "only purchases and actions differed")


def rounds_take_turns(stage: Stage) -> None:
    """Raise OutOfTurn, changing nothing, if step is called before reveal or twice."""
    calm = _play(stage, k=0, seed=stage.seed)
    environment, seen = stage.environment, []
    environment.reset()
    for purchase, action in stage.script():
        require_refused(partial(environment.step, action), "step before reveal", OutOfTurn)
        observation = environment.reveal(purchase)
        seen.append(Seen(observation, action, environment.step(action)))
    require_refused(partial(environment.step, 0), "a second step", OutOfTurn)
    _require_agreement(stage, calm, seen, "calls out of turn were refused in between")


def refused_input_changes_nothing(stage: Stage) -> None:
    """Refuse a purchase or an action that does not fit, changing nothing."""
    calm = _play(stage, k=0, seed=stage.seed)
    environment, seen = stage.environment, []
    too_long = Purchase(np.ones(stage.problem.n_features + 1, dtype=np.bool_))
    bad_actions: tuple[Any, ...] = (-1, stage.problem.n_actions, 0.5)
    environment.reset()
    for purchase, action in stage.script():
        what = "a mask that is too long"
        require_refused(partial(environment.reveal, too_long), what, ThriftyError)
        observation = environment.reveal(purchase)
        for bad in bad_actions:
            require_refused(partial(environment.step, bad), f"action {bad}", ThriftyError)
        seen.append(Seen(observation, action, environment.step(action)))
    _require_agreement(stage, calm, seen, "bad purchases and actions were refused in between")


def ends_at_its_horizon(stage: Stage) -> None:
    """Raise EnvironmentEnded on known and reveal after the last round, until the next reset."""
    horizon = getattr(stage.environment, "horizon", None)
    if horizon is None or horizon > LONGEST:
        return
    stage.environment.reset(seed=stage.seed)
    nothing = Purchase.nothing(stage.problem)
    for _ in range(horizon):
        stage.environment.reveal(nothing)
        stage.environment.step(0)
    for _ in range(2):
        reveal = partial(stage.environment.reveal, nothing)
        require_refused(reveal, f"round {horizon} of {horizon}", EnvironmentEnded)
        require_refused(stage.environment.known, f"round {horizon} of {horizon}", EnvironmentEnded)
    stage.environment.reset()
    stage.environment.reveal(nothing)


ENVIRONMENT_CHECKS: tuple[Callable[[Stage], None], ...] = (
    has_the_protocol,
    shows_exactly_what_was_bought,
    purpose_comes_back,
    rewards_are_in_range,
    same_seed_same_world,
    reset_replays,
    world_ignores_the_player,
    steps_add_up,
    outcomes_are_declared,
    rounds_take_turns,
    refused_input_changes_nothing,
    ends_at_its_horizon,
)
"""Every check of `check_environment`, in the order in which they run."""


def _play(stage: Stage, *, k: int, seed: int | None) -> list[Seen]:
    stage.environment.reset(seed=seed)
    return [
        Seen(stage.environment.reveal(purchase), action, stage.environment.step(action))
        for purchase, action in stage.script(k)
    ]


def _same_costs(
    one: NDArray[np.float64], other: NDArray[np.float64], fees: NDArray[np.float64]
) -> bool:
    return bool(((one == other) | (np.isclose(np.abs(one - other), fees) & (fees > 0))).all())


def _require_agreement(stage: Stage, one: list[Seen], other: list[Seen], circumstance: str) -> None:
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        require(
            mine.agrees_with(theirs, stage.fees),
            f"round {t} showed {_shown(mine)} and then {_shown(theirs)}, though {circumstance}",
        )


def _shown(seen: Seen) -> str:
    codes: NDArray[np.int64] = seen.observation.codes
    costs = seen.observation.costs.tolist()
    return f"codes {codes.tolist()}, costs {costs}, action {seen.action}, reward {seen.reward}"
