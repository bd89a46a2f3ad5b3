"""The checks of `check_environment`.

Each check is a function of an `EnvironmentSubject`; the first line of its docstring is the promise
it checks. A failed check raises `CheckFailed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.checks.runner import require, require_refused, run_checks
from thrifty.environment import Environment
from thrifty.errors import EnvironmentEnded, InvalidParameter, OutOfTurn, ThriftyError
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.sales import Sales

ROUNDS = 60
MAX_HORIZON = 100_000
"""Environments with more rounds than this are not played to the end."""


@dataclass(frozen=True, eq=False)
class EnvironmentSubject:
    """An environment under check.

    Parameters
    ----------
    environment : Environment
        The environment.
    seed : int
        Seed of the rounds that are played.
    """

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
        """Setup fee of each feature's group, on the policy's scale."""
        return Sales.from_problem(self.problem).fee_of_feature()

    def script(self, k: int = 0) -> Iterator[tuple[Purchase, int]]:
        """Yield a purchase and an action for each round; each `k` gives another script."""
        rng = np.random.default_rng(k)
        for _ in range(self.rounds):
            mask = rng.random(self.problem.n_features) < 0.5
            yield Purchase(mask, purpose=k), int(rng.integers(self.problem.n_actions))


@dataclass(frozen=True, eq=False)
class PlayedRound:
    """One round as the policy saw it."""

    observation: Observation
    action: int
    reward: float

    def agrees_with(self, other: PlayedRound, fees: NDArray[np.float64]) -> bool:
        """Return True if both agree on the features and actions they have in common.

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
    """Check that an environment keeps all promises of its interface.

    The environment is played, and reset with the seed at the end.

    Parameters
    ----------
    environment : Environment
        The environment.
    seed : int
        Seed of the rounds that are played.

    Raises
    ------
    CheckFailed
        At the first promise that the environment breaks.

    Examples
    --------
    >>> from thrifty.environments import Replay
    >>> check_environment(Replay(contexts=[[0], [1]], rewards=[[1, 0]] * 2, costs=[[0.1]] * 2))
    """
    if isinstance(environment, type):
        name = environment.__name__
        raise InvalidParameter(f"{name} is a class: give an environment, such as {name}(...).")
    run_checks(
        ENVIRONMENT_CHECKS, EnvironmentSubject(environment, seed), type(environment).__name__
    )
    environment.reset(seed=seed)


def has_the_interface(subject: EnvironmentSubject) -> None:
    """Have a problem, reset, known, reveal, step and, if it ends, an integer horizon."""
    environment = subject.environment
    missing = [name for name in _PROTOCOL if not hasattr(environment, name)]
    require(not missing, f"it has no {', '.join(missing)}")
    require(isinstance(subject.problem, Problem), f"its problem is {subject.problem!r}")
    horizon = getattr(environment, "horizon", 1)
    require(type(horizon) is int and horizon >= 1, f"its horizon is {horizon!r}")
    environment.reset(seed=subject.seed)
    if hasattr(environment, "price_list"):
        prices = np.asarray(environment.price_list())
        fits = prices.shape == (subject.problem.n_features,) and bool((prices >= 0).all())
        require(fits, f"its price list is {prices.tolist()}, not one cost per feature")


def shows_exactly_what_was_bought(subject: EnvironmentSubject) -> None:
    """Show valid codes and costs of the features bought, and the free values, but nothing else."""
    sales = Sales.from_problem(subject.problem)
    subject.environment.reset(seed=subject.seed)
    for purchase, action in subject.script():
        free = subject.environment.known()
        _require_free(subject, free)
        observation = subject.environment.reveal(purchase)
        _require_shape(subject, observation, "reveal")
        bought, shown = (purchase.mask & ~free.mask).tolist(), observation.bought.tolist()
        together = sales.sold(purchase.mask, free.mask)
        require(shown in (bought, together.tolist()), f"{bought} was bought and {shown} was shown")
        same = np.array_equal(observation.codes[free.mask], free.codes[free.mask])
        require(same, "free values changed when something was bought")
        subject.environment.step(action)


def _require_free(subject: EnvironmentSubject, free: Observation) -> None:
    _require_shape(subject, free, "known")
    paid = free.costs[~np.isnan(free.costs)]
    require(not paid.size, f"{paid.tolist()} was paid before anything was bought")


def _require_shape(subject: EnvironmentSubject, observation: object, call: str) -> None:
    require(isinstance(observation, Observation), f"{call} returned {observation!r}")
    assert isinstance(observation, Observation)
    codes, levels = observation.codes, subject.problem.levels
    require(codes.shape == levels.shape, f"an observation has codes of shape {codes.shape}")
    fits = bool((codes < levels).all())
    require(fits, f"codes {codes.tolist()} do not fit {levels.tolist()} levels")


def steps_add_up(subject: EnvironmentSubject) -> None:
    """Sell the same features at the same total cost at once or in several steps."""
    environment, whole = subject.environment, []
    environment.reset(seed=subject.seed)
    for purchase, action in subject.script():
        whole.append(PlayedRound(environment.reveal(purchase), action, environment.step(action)))
    environment.reset()
    for seen, (purchase, action) in zip(whole, subject.script(), strict=True):
        observation = environment.known()
        for i in np.flatnonzero(purchase.mask):
            one = Purchase(np.arange(purchase.mask.size) == i, purchase.purpose)
            observation = environment.reveal(one)
        observation = environment.reveal(purchase)  # nothing is left to sell
        again = PlayedRound(observation, action, environment.step(action))
        paid = (seen.observation.total_cost, observation.total_cost)
        same = np.array_equal(seen.observation.codes, observation.codes)
        require(
            same and math.isclose(*paid, rel_tol=1e-12),
            f"a single purchase showed {_shown(seen)}, several steps showed {_shown(again)}",
        )


def outcomes_are_declared(subject: EnvironmentSubject) -> None:
    """Return only outcomes that its problem declares, if it returns any."""
    tell = getattr(subject.environment, "outcome", None)
    if tell is None:
        return
    names = () if subject.problem.outcomes is None else subject.problem.outcomes.names
    subject.environment.reset(seed=subject.seed)
    for purchase, action in subject.script():
        subject.environment.reveal(purchase)
        subject.environment.step(action)
        outcome = tell()
        known = outcome is None or (type(outcome) is int and 0 <= outcome < len(names))
        require(known, f"its outcome is {outcome!r}, and the problem declares {list(names)}")


def purpose_is_returned(subject: EnvironmentSubject) -> None:
    """Return the purpose of a purchase unchanged in the observation."""
    subject.environment.reset(seed=subject.seed)
    notes = (0, 7, -3, 2**40)
    for t, (purchase, action) in enumerate(subject.script()):
        note = notes[t % len(notes)]
        back = subject.environment.reveal(Purchase(purchase.mask, purpose=note)).purpose
        require(type(back) is int and back == note, f"purpose {note} came back as {back!r}")
        subject.environment.step(action)


def rewards_are_in_range(subject: EnvironmentSubject) -> None:
    """Return rewards that are floats in [0, 1]."""
    for seen in _play(subject, k=0, seed=subject.seed):
        fits = isinstance(seen.reward, float) and math.isfinite(seen.reward)
        require(fits and 0 <= seen.reward <= 1, f"step returned {seen.reward!r}")


def same_seed_same_rounds(subject: EnvironmentSubject) -> None:
    """Draw the same rounds from the same seed."""
    first = _play(subject, k=0, seed=subject.seed)
    _play(subject, k=0, seed=subject.seed + 1)
    _require_agreement(
        subject, first, _play(subject, k=0, seed=subject.seed), "the same seed was given twice"
    )


def reset_replays(subject: EnvironmentSubject) -> None:
    """Start over with the same rounds after a reset without a seed, even during a round."""
    first = _play(subject, k=0, seed=subject.seed)
    _require_agreement(
        subject, first, _play(subject, k=0, seed=None), "reset() was called after the run"
    )
    subject.environment.reset()
    subject.environment.reveal(Purchase.nothing(subject.problem))
    _require_agreement(
        subject, first, _play(subject, k=0, seed=None), "reset() was called in mid-round"
    )


def rounds_do_not_depend_on_the_player(subject: EnvironmentSubject) -> None:
    """Play the same rounds for the same seed, whatever is bought and which actions are taken."""
    first = _play(subject, k=0, seed=subject.seed)
    for k in range(1, 5):
        other = _play(subject, k=k, seed=subject.seed)
        _require_agreement(subject, first, other, "only purchases and actions differed")


def wrong_order_is_refused(subject: EnvironmentSubject) -> None:
    """Raise OutOfTurn and change nothing if step is called before reveal or twice."""
    undisturbed = _play(subject, k=0, seed=subject.seed)
    environment, seen = subject.environment, []
    environment.reset()
    for purchase, action in subject.script():
        require_refused(partial(environment.step, action), "step before reveal", OutOfTurn)
        observation = environment.reveal(purchase)
        seen.append(PlayedRound(observation, action, environment.step(action)))
    require_refused(partial(environment.step, 0), "a second step", OutOfTurn)
    _require_agreement(subject, undisturbed, seen, "calls out of turn were refused in between")


def refused_input_changes_nothing(subject: EnvironmentSubject) -> None:
    """Reject an invalid purchase or action, and change nothing."""
    undisturbed = _play(subject, k=0, seed=subject.seed)
    environment, seen = subject.environment, []
    too_long = Purchase(np.ones(subject.problem.n_features + 1, dtype=np.bool_))
    bad_actions: tuple[Any, ...] = (-1, subject.problem.n_actions, 0.5)
    environment.reset()
    for purchase, action in subject.script():
        what = "a mask that is too long"
        require_refused(partial(environment.reveal, too_long), what, ThriftyError)
        observation = environment.reveal(purchase)
        for bad in bad_actions:
            require_refused(partial(environment.step, bad), f"action {bad}", ThriftyError)
        seen.append(PlayedRound(observation, action, environment.step(action)))
    _require_agreement(subject, undisturbed, seen, "bad calls came in between")


def ends_at_its_horizon(subject: EnvironmentSubject) -> None:
    """Raise EnvironmentEnded on known and reveal after the last round, until the next reset."""
    horizon = getattr(subject.environment, "horizon", None)
    if horizon is None or horizon > MAX_HORIZON:
        return
    subject.environment.reset(seed=subject.seed)
    nothing = Purchase.nothing(subject.problem)
    for _ in range(horizon):
        subject.environment.reveal(nothing)
        subject.environment.step(0)
    for _ in range(2):
        reveal = partial(subject.environment.reveal, nothing)
        require_refused(reveal, f"round {horizon} of {horizon}", EnvironmentEnded)
        require_refused(
            subject.environment.known, f"round {horizon} of {horizon}", EnvironmentEnded
        )
    subject.environment.reset()
    subject.environment.reveal(nothing)


ENVIRONMENT_CHECKS: tuple[Callable[[EnvironmentSubject], None], ...] = (
    has_the_interface,
    shows_exactly_what_was_bought,
    purpose_is_returned,
    rewards_are_in_range,
    same_seed_same_rounds,
    reset_replays,
    rounds_do_not_depend_on_the_player,
    steps_add_up,
    outcomes_are_declared,
    wrong_order_is_refused,
    refused_input_changes_nothing,
    ends_at_its_horizon,
)
"""Every check of `check_environment`, in the order in which they run."""


def _play(subject: EnvironmentSubject, *, k: int, seed: int | None) -> list[PlayedRound]:
    subject.environment.reset(seed=seed)
    return [
        PlayedRound(subject.environment.reveal(purchase), action, subject.environment.step(action))
        for purchase, action in subject.script(k)
    ]


def _same_costs(
    one: NDArray[np.float64], other: NDArray[np.float64], fees: NDArray[np.float64]
) -> bool:
    return bool(((one == other) | (np.isclose(np.abs(one - other), fees) & (fees > 0))).all())


def _require_agreement(
    subject: EnvironmentSubject, one: list[PlayedRound], other: list[PlayedRound], circumstance: str
) -> None:
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        require(
            mine.agrees_with(theirs, subject.fees),
            f"round {t} showed {_shown(mine)} and then {_shown(theirs)}, though {circumstance}",
        )


def _shown(seen: PlayedRound) -> str:
    codes: NDArray[np.int64] = seen.observation.codes
    costs = seen.observation.costs.tolist()
    return f"codes {codes.tolist()}, costs {costs}, action {seen.action}, reward {seen.reward}"
