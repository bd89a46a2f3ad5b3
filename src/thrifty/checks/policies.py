"""The checks of `check_policy`.

Each check is a function of a `Subject`; the first line of its docstring is the promise it checks.
A failed check raises `CheckFailed`.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.checks.bad_calls import bad_calls
from thrifty.checks.frequencies import FALSE_ALARMS, compare_frequencies
from thrifty.checks.memory import deep_size, differences, snapshot
from thrifty.checks.runner import require, require_refused, run_checks
from thrifty.checks.subject import ROUNDS, Subject
from thrifty.checks.tables import (
    RoundDecision,
    RoundTables,
    ask,
    first_difference,
    look,
    play_round,
    play_rounds,
)
from thrifty.errors import InvalidInput, SaveError, ThriftyError
from thrifty.policy import Policy
from thrifty.problem import Problem, RewardRange
from thrifty.rounds import Observation, Purchase

REPETITIONS = 1_000
"""Number of times a case is repeated to compare frequencies with probabilities."""


def check_policy(
    policy: str | Policy | Callable[..., Policy],
    *,
    problem: Problem | None = None,
    seed: int = 0,
    **parameters: Any,
) -> None:
    """Check that a policy keeps all promises of its interface.

    Parameters
    ----------
    policy : str, Policy or callable
        Name in the registry, or a class or function, called as
        `policy(problem, seed=seed, **parameters)`, with `horizon` if it takes one. If you give a
        policy, copies of it are checked.
    problem : Problem, optional
        Problem to use. By default a small one.
    seed : int
        Seed of the policy and of the rounds.
    **parameters
        Parameters of the policy.

    Raises
    ------
    CheckFailed
        At the first promise that the policy breaks.

    Examples
    --------
    >>> class Glutton(Policy):
    ...     def _choose_features(self, known):
    ...         return Purchase.everything(self.problem)
    ...     def _choose_action(self, observation, available):
    ...         return 0
    ...     def _update(self, observation, action, reward, outcome):
    ...         pass
    >>> check_policy(Glutton)
    Traceback (most recent call last):
        ...
    thrifty.errors.CheckFailed: Glutton fails only_available_actions: a valid call raised \
InvalidAction (Glutton chose action 0, which is not available: it must be an int, one of [1].). \
The interface promises to choose one of the available actions.
    """
    subject = Subject.of(policy, problem=problem, seed=seed, parameters=parameters)
    subject.fresh()  # raises InvalidParameter if the policy cannot be made at all
    run_checks(POLICY_CHECKS, subject, subject.name)


def decisions_are_well_formed(subject: Subject) -> None:
    """Return one bool per feature, an integer purpose and an action that is an int."""
    policy, tables = subject.fresh(), subject.tables()
    for t in range(ROUNDS):
        purchase = ask(policy, tables)
        require(isinstance(purchase, Purchase), f"choose_features returned {purchase!r}")
        shape = purchase.mask.shape
        require(shape == (subject.problem.n_features,), f"it chose a mask of shape {shape}")
        require(type(purchase.purpose) is int, f"its purpose is {purchase.purpose!r}")
        observation = tables.observe(t, purchase)
        action = policy.choose_action(observation)
        require(
            type(action) is int and 0 <= action < subject.problem.n_actions,
            f"choose_action returned {action!r} of type {type(action).__name__}",
        )
        result: object = policy.update(observation, action, tables.reward(t, action))
        require(result is None, f"update returned {result!r} where it must return None")


def parameters_are_kept(subject: Subject) -> None:
    """Pass every parameter of `__init__` to `super().__init__`, so that files can store it.

    A `history` is part of what was learnt, so the state holds it.
    """
    policy = subject.fresh()
    for name, parameter in inspect.signature(type(policy).__init__).parameters.items():
        named = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        known = name in policy.parameters or name in ("self", "problem", "seed", "history")
        require(known or not named, f"{name!r} is not among its parameters after it was made")


def only_available_actions(subject: Subject) -> None:
    """Choose one of the available actions."""
    rng = np.random.default_rng(subject.seed)
    n = subject.problem.n_actions
    single = [np.arange(n) == a for a in range(n)]
    for policy in (subject.fresh(), subject.trained(30)):
        tables = subject.tables(other=1)
        for t in range(40):
            some = rng.random(n) < 0.5
            available = some if some.any() and t % 2 else single[t // 2 % n]
            observation = look(policy, tables, t)
            action = policy.choose_action(observation, available=available)
            require(bool(available[action]), f"it chose {action} of {np.flatnonzero(available)}")
            policy.update(observation, action, tables.reward(t, action))


def arguments_stay_unchanged(subject: Subject) -> None:
    """Leave purchases, observations and masks unchanged, during the round and after it."""
    policy, tables = subject.fresh(), subject.tables()
    kept: list[tuple[str, NDArray[Any], NDArray[Any]]] = []

    def keep(name: str, array: NDArray[Any]) -> None:
        kept.append((name, array, array.copy()))

    for t in range(40):
        purchase = ask(policy, tables)
        keep("a purchase's mask", purchase.mask)
        observation = tables.observe(t, purchase)
        keep("an observation's codes", observation.codes)
        keep("an observation's costs", observation.costs)
        available = np.arange(subject.problem.n_actions) != t % (subject.problem.n_actions + 1)
        available[0] |= not available.any()
        keep("the mask of available actions", available)
        action = policy.choose_action(observation, available=available)
        policy.update(observation, action, tables.reward(t, action))
    for name, array, copy in kept:
        same = np.array_equal(array, copy, equal_nan=array.dtype.kind == "f")
        require(same, f"{name} was {copy.tolist()} and became {array.tolist()}")


def no_global_randomness(subject: Subject) -> None:
    """Neither use nor change the global generators of numpy and random."""
    with _global_generators_restored():
        random.seed(subject.seed)
        np.random.seed(subject.seed)  # noqa: NPY002
        before = _global_generators()
        play_rounds(subject.fresh(), subject.tables(), range(40))
        require(before == _global_generators(), "it moved or seeded a global random generator")


def same_seed_same_run(subject: Subject) -> None:
    """Give the same run for the same seed, and share nothing with other policies."""
    rounds, tables, elsewhere = range(ROUNDS), subject.tables(), subject.tables(other=1)
    one, other, stranger = subject.fresh(), subject.fresh(), subject.fresh()
    first = play_rounds(one, tables, rounds)
    second = []
    for t in rounds:
        with _global_generators_restored():
            random.seed(t)
            np.random.seed(t)  # noqa: NPY002
            second.append(play_round(other, tables, t))
        play_round(stranger, elsewhere, t)
    parted = first_difference(first, second)
    require(
        parted is None,
        f"two runs with the same seed on the same tables differ, {parted}; another policy was "
        "playing other rounds at the same time",
    )


def nothing_leaks(subject: Subject) -> None:
    """Decide only by what was bought and by rewards of actions taken."""
    tables = subject.tables()
    decisions = play_rounds(subject.fresh(), tables, range(ROUNDS))
    for k in range(2):
        hidden_changed = tables.scrambled(decisions, seed=k)
        parted = first_difference(
            decisions, play_rounds(subject.fresh(), hidden_changed, range(ROUNDS))
        )
        require(
            parted is None,
            "decisions depend on unbought codes, unbought costs or rewards of actions that were "
            f"not taken: with other values of these, {parted}",
        )


def refused_input_changes_nothing(subject: Subject) -> None:
    """Reject invalid arguments with an error of Thrifty, and change no state."""
    policy, twin, tables = subject.fresh(), subject.fresh(), subject.tables()
    calls = list(bad_calls(subject.problem).items())
    disturbed, undisturbed = [], []
    for t in range(2 * len(calls)):
        what, call = calls[t % len(calls)]
        before = _state(policy)
        require_refused(partial(call, policy), what, ThriftyError)
        changed = differences(before, _state(policy))
        require(not changed, f"{what} was rejected, but it changed {_listed(changed)}")
        disturbed.append(play_round(policy, tables, t))
        undisturbed.append(play_round(twin, tables, t))
    parted = first_difference(disturbed, undisturbed)
    require(parted is None, f"rejected calls changed later decisions: {parted}")


def update_needs_only_its_arguments(subject: Subject) -> None:
    """Learn from the arguments of update alone, and store nothing about open rounds."""
    tables = subject.tables(other=1)
    for t in range(0, 36, 3):
        prompt, late = subject.trained(t), subject.trained(t)
        opened = _open(prompt, tables, t)
        _open(late, tables, t)
        for later in range(t + 1, t + 3):
            _open(late, tables, later)
        left_behind = differences(snapshot(prompt), snapshot(late))
        late.rng.bit_generator.state = prompt.rng.bit_generator.state
        for policy in (prompt, late):
            policy.update(opened.observation, opened.action, opened.reward)
        learnt = differences(snapshot(prompt), snapshot(late)) - left_behind
        require(
            not learnt,
            "the result of an update depends on rounds that were opened later: "
            f"{_listed(learnt)} differs, because opening them changed {_listed(left_behind)} of "
            "the policy (put a note for update into the purpose)",
        )


def rewards_in_any_order(subject: Subject) -> None:
    """Allow many open rounds, with rewards that come late, in any order, or never."""
    one, two, tables = subject.trained(30), subject.trained(30), subject.tables(other=2)
    for first in range(0, 60, 4):
        opened = _open_together(one, tables, first)
        _open_together(two, tables, first)
        # The same calls, but another round is the last to act before the rewards come.
        for policy, order in ((one, (0, 1, 2, 3)), (two, (3, 2, 1, 0))):
            for k in order:
                _force(policy, opened[k])
        two.rng.bit_generator.state = one.rng.bit_generator.state
        for policy in (one, two):
            for k in (1, 3, 0):  # the reward of round 2 is lost
                policy.update(opened[k].observation, opened[k].action, opened[k].reward)
        rounds = range(first, first + 6)
        parted = first_difference(
            play_rounds(one, tables, rounds), play_rounds(two, tables, rounds)
        )
        require(
            parted is None,
            "two policies got the same rewards for the same open rounds and differ in which of "
            f"these was the last to act; afterwards {parted}",
        )


def accepts_zero_costs_and_missing_values(subject: Subject) -> None:
    """Accept costs of zero, and purchases of which nothing was obtained."""
    play_rounds(subject.fresh(), subject.tables().free_of_charge(), range(40))
    policy, tables = subject.fresh(), subject.tables()
    for t in range(40):
        observation = tables.observe(t, ask(policy, tables), had=t % 4 != 0)
        action = policy.choose_action(observation)
        policy.update(observation, action, tables.reward(t, action))


def uses_free_values(subject: Subject) -> None:
    """Accept any free values before buying, and never buy a feature that is known."""
    n, (one, other) = subject.problem.n_features, (subject.fresh(), subject.fresh())
    tables = subject.tables()
    decisions = []
    for t in range(60):
        free = [i for i in range(n) if (t >> i % 5) & 1]
        known = tables.known(t, free)
        purchase = ask(one, tables, known)
        twice = np.flatnonzero(purchase.mask & known.mask)
        require(not twice.size, f"it buys features {twice.tolist()}, which are known for free")
        ask(other, tables, known)
        other.rng.bit_generator.state = one.rng.bit_generator.state
        decisions.append([play_round(policy, tables, t, free) for policy in (one, other)])
    parted = first_difference(*map(list, zip(*decisions, strict=True)))
    require(parted is None, f"two runs with the same free values differ, {parted}")


def purchases_end(subject: Subject) -> None:
    """Buy each feature at most once, and store nothing between the steps of a round."""
    policy, tables = subject.trained(30), subject.tables(other=1)
    if not policy.stepwise:
        return
    for t in range(40):
        known, steps = tables.known(t), 0
        while (purchase := ask(policy, tables, known)).mask.any():
            steps += 1
            require(
                steps <= subject.problem.n_features,
                f"round {t} went on buying after {steps} steps of {subject.problem.n_features} "
                "features",
            )
            known = tables.observe(t, purchase, known)
            _require_no_memory(policy, tables, t, known)


def _require_no_memory(policy: Policy, tables: RoundTables, t: int, known: Observation) -> None:
    """Ask twice with the same values known, and open one or two other rounds in between."""
    state = policy.rng.bit_generator.state
    for others in (1, 2):
        chosen = []
        for _ in range(2):
            policy.rng.bit_generator.state = state
            purchase = ask(policy, tables, known)
            chosen.append((purchase.mask.tolist(), purchase.purpose))
            for other in range(others):
                ask(policy, tables, tables.known(t + 1 + other))
        require(
            chosen[0] == chosen[1],
            f"in round {t}, with the same values known, it chose {chosen[0]} and, after another "
            f"round was opened, {chosen[1]}",
        )
    policy.rng.bit_generator.state = state


def accepts_outcomes(subject: Subject) -> None:
    """Learn from rounds with and without a known outcome."""
    if not subject.on_any_problem:
        return
    problem = _with_outcomes(subject.problem)
    one, other = subject.build(problem), subject.build(problem)
    tables = subject.tables()
    decisions = []
    for t in range(60):
        outcome = (None, 0, 1)[t % 3]
        decisions.append([_told(policy, tables, t, outcome) for policy in (one, other)])
    parted = first_difference(*map(list, zip(*decisions, strict=True)))
    require(parted is None, f"two runs with the same outcomes differ, {parted}")


def any_size_of_problem(subject: Subject) -> None:
    """Work with one feature, one level, one action or 64 features, or refuse to be made."""
    if not subject.on_any_problem:
        return
    for levels, n_actions in (((2,), 2), ((1,), 1), ((1, 3), 1), ((2,) * 64, 2)):
        problem = Problem.anonymous(levels, n_actions)
        try:
            policy = subject.build(problem)
        except InvalidInput:
            continue
        play_rounds(policy, RoundTables.draw(problem, 20, subject.seed), range(20))


def memory_is_bounded(subject: Subject) -> None:
    """Use no more memory after many rounds than after a few."""
    policy, tables = subject.fresh(), subject.tables(16)
    play_rounds(policy, tables, range(2000))
    before = deep_size(policy)
    play_rounds(policy, tables, range(2000, 4000))
    after = deep_size(policy)
    require(
        after <= 1.25 * before + 4096,
        f"it used {before} bytes after 2,000 rounds and {after} after 4,000 rounds of sixteen "
        "repeated contexts (if it has a long window, make it shorter for this check)",
    )


def action_values_change_nothing(subject: Subject) -> None:
    """Return one action value per action, or None, and change nothing."""
    policy, twin, tables = subject.fresh(), subject.fresh(), subject.tables()
    peeked, unpeeked = [], []
    for t in range(40):
        for purchase in (Purchase.nothing(subject.problem), Purchase.everything(subject.problem)):
            values = policy.action_values(tables.observe(t, purchase))
            shape = None if values is None else np.shape(values)
            require(shape in (None, (subject.problem.n_actions,)), f"values have shape {shape}")
        peeked.append(play_round(policy, tables, t))
        unpeeked.append(play_round(twin, tables, t))
    parted = first_difference(peeked, unpeeked)
    require(parted is None, f"asking for action values changed later decisions: {parted}")


def asking_for_propensities_changes_nothing(subject: Subject) -> None:
    """Return the probability of any choice, and change nothing."""
    policy, twin, tables = subject.fresh(), subject.fresh(), subject.tables()
    for t in range(40):
        decisions = []
        for is_asked, player in ((True, policy), (False, twin)):
            purchase = ask(player, tables)
            if is_asked:
                _ask_for_propensities(player, tables, t, purchase)
            decisions.append((purchase.mask.tolist(), play_round(player, tables, t)))
        require(
            decisions[0] == decisions[1],
            f"in round {t} it decided {decisions[0]} where probabilities were asked for, and "
            f"{decisions[1]} where they were not",
        )


def _ask_for_propensities(policy: Policy, tables: RoundTables, t: int, purchase: Purchase) -> None:
    """Ask for probabilities of possible and impossible choices."""
    known, notes = tables.known(t), None
    for bought in (purchase, Purchase.nothing(tables.problem), Purchase.everything(tables.problem)):
        found = policy.propensity(known, bought)
        if found is None:
            return
        require(0 <= found.probability <= 1, f"the probability of a purchase is {found}")
        notes = found.notes if bought is purchase else notes
    seen = tables.observe(t, purchase)
    for available in _masks(tables.problem.n_actions):
        chances = [
            policy.propensity(seen, a, notes=notes, available=available)
            for a in range(available.size)
        ]
        known_chances = [found for found in chances if found is not None]
        total = sum(found.probability for found in known_chances)
        error = 1e-9 + 6 * sum(found.error for found in known_chances)
        require(abs(total - 1) <= error, f"the probabilities of the actions add up to {total}")
        hidden = [
            found.probability for found, on in zip(known_chances, available, strict=True) if not on
        ]
        require(not any(hidden), f"actions that are not available have probabilities {hidden}")


def _masks(n_actions: int) -> list[NDArray[np.bool_]]:
    """Return all actions, and all but the first one."""
    every = np.ones(n_actions, np.bool_)
    return [every] if n_actions == 1 else [every, np.arange(n_actions) > 0]


def propensities_are_frequencies(subject: Subject) -> None:
    """Make choices as often as the stated probabilities say.

    A correct policy fails this check once in a million seeds: each of the chi-square tests allows
    its share of `FALSE_ALARMS`.
    """
    states, rounds = (0, 40), (1, 2)
    for trained in states:
        policy, tables = subject.trained(trained), subject.tables(other=3)
        for t in rounds:
            ask(policy, tables)  # with the price list
            reveal = partial(_revealed, tables, t)
            found = compare_frequencies(policy, tables.known(t), reveal, REPETITIONS)
            if found is None:
                return
            happened = found.surprise or (
                f"in {REPETITIONS} repetitions of a case the frequencies of its choices differ "
                f"from the probabilities that it says (p = {found.p_value:.1e})"
            )
            require(found.p_value > FALSE_ALARMS / (len(states) * len(rounds)), happened)


def _revealed(tables: RoundTables, t: int, purchase: Purchase, known: Observation) -> Observation:
    return tables.observe(t, purchase, known)


def state_can_be_restored(subject: Subject) -> None:
    """Continue in exactly the same way after get_state and set_state, if it has them."""
    for rounds in (0, 1, 45):
        policy, restored, tables = subject.trained(rounds), subject.fresh(), subject.tables(other=1)
        try:
            state = policy.get_state()
        except SaveError:
            return
        for name, array in state.items():
            plain = isinstance(array, np.ndarray) and not array.dtype.hasobject
            require(plain, f"its state {name!r} is not an array of plain numbers or text")
        restored.set_state(state)
        restored.rng.bit_generator.state = policy.rng.bit_generator.state
        restored.rounds = policy.rounds
        going_on = play_rounds(policy, tables, range(60))
        parted = first_difference(going_on, play_rounds(restored, tables, range(60)))
        require(
            parted is None,
            f"after {rounds} rounds it was saved and restored, and both policies played on with "
            f"the same random numbers (do they share an array?): {parted}",
        )


def fits_may_run_beside(subject: Subject) -> None:
    """Prepare fits that other processes can run, and use their results as if run in update."""
    inside, beside, tables = subject.fresh(), subject.fresh(), subject.tables()
    beside.fits_beside = True
    decisions = []
    for t in range(ROUNDS):
        decisions.append([play_round(policy, tables, t) for policy in (inside, beside)])
        _apply_due_fits(subject, beside)
    parted = first_difference(*map(list, zip(*decisions, strict=True)))
    require(
        parted is None,
        f"a policy that runs its fits in update and one that gets their results afterwards differ, "
        f"{parted}",
    )
    status = beside.status()
    require(json.loads(json.dumps(status)) == status, "status does not return JSON values")


def _apply_due_fits(subject: Subject, policy: Policy) -> None:
    """Run the fits that are due, and check each of them first."""
    refuse = partial(require_refused, refusal=ThriftyError)
    refuse(lambda: policy.apply_fit(-1, b"null"), "the result of a fit that is not due")
    while (fit := policy.due_fit) is not None:
        result, number = fit.run(), fit.number
        copied = pickle.loads(pickle.dumps(fit))
        require(copied.run() == result, f"a copy of fit {number} has another result")
        json.loads(result)
        restored = subject.fresh()
        restored.fits_beside = True
        restored.set_state(policy.get_state())
        again = restored.due_fit
        is_same = again is not None and again.number == number and again.run() == result
        require(is_same, f"fit {number} is not the same after get_state and set_state")
        policy.apply_fit(number, result)
        due = policy.due_fit
        require(due is None or due.number > number, f"fit {number} was applied and is still due")
        refuse(
            partial(policy.apply_fit, number, result), f"the result of fit {number} for a 2nd time"
        )


POLICY_CHECKS: tuple[Callable[[Subject], None], ...] = (
    decisions_are_well_formed,
    parameters_are_kept,
    only_available_actions,
    arguments_stay_unchanged,
    no_global_randomness,
    same_seed_same_run,
    nothing_leaks,
    refused_input_changes_nothing,
    update_needs_only_its_arguments,
    rewards_in_any_order,
    accepts_zero_costs_and_missing_values,
    uses_free_values,
    purchases_end,
    accepts_outcomes,
    any_size_of_problem,
    memory_is_bounded,
    action_values_change_nothing,
    asking_for_propensities_changes_nothing,
    propensities_are_frequencies,
    state_can_be_restored,
    fits_may_run_beside,
)
"""Every check of `check_policy`, in the order in which they run."""


@dataclass(frozen=True, eq=False)
class _Opened:
    observation: Observation
    action: int
    reward: float


def _open(policy: Policy, tables: RoundTables, t: int) -> _Opened:
    opened = _looked(policy, tables, t)
    _force(policy, opened)
    return opened


def _open_together(policy: Policy, tables: RoundTables, first: int) -> list[_Opened]:
    return [_looked(policy, tables, t) for t in range(first, first + 4)]


def _looked(policy: Policy, tables: RoundTables, t: int) -> _Opened:
    action = t % tables.problem.n_actions
    return _Opened(look(policy, tables, t), action, tables.reward(t, action))


def _with_outcomes(problem: Problem) -> Problem:
    """Return the problem with two outcomes, for each of which another action is best."""
    right = {
        name: {"one": float(a % 2 == 0), "two": float(a % 2 == 1)}
        for a, name in enumerate(problem.actions)
    }
    return Problem(problem.features, problem.actions, outcomes=right, rewards=RewardRange())


def _told(policy: Policy, tables: RoundTables, t: int, outcome: int | None) -> RoundDecision:
    observation = look(policy, tables, t)
    action = policy.choose_action(observation)
    reward = float(action % 2 == (outcome or 0))
    policy.update(observation, action, reward, outcome=outcome)
    return RoundDecision(tuple(observation.bought.tolist()), observation.purpose, action)


def _force(policy: Policy, opened: _Opened) -> None:
    # With one available action, policies that draw at random also choose the same one.
    available = np.arange(policy.problem.n_actions) == opened.action
    policy.choose_action(opened.observation, available=available)


def _state(policy: Policy) -> dict[str, Any]:
    return {**snapshot(policy), "rng": str(policy.rng.bit_generator.state)}


def _listed(paths: set[str]) -> str:
    first = sorted(paths)[:3] or ["something"]
    return ", ".join(path.removeprefix(".") for path in first) + (
        " ..." if paths - {*first} else ""
    )


def _global_generators() -> tuple[object, str]:
    return random.getstate(), str(np.random.get_state())  # noqa: NPY002


@contextlib.contextmanager
def _global_generators_restored() -> Iterator[None]:
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)  # noqa: NPY002
