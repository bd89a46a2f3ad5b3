"""The conformance suite passes what is right and names what is wrong."""

import functools
import random
from typing import Any

import numpy as np
import pytest

from broken_policies import BROKEN_ENVIRONMENTS, BROKEN_POLICIES, Means, Table
from thrifty.checks import ENVIRONMENT_CHECKS, POLICY_CHECKS, check_environment, check_policy
from thrifty.checks.memory import deep_size, snapshot
from thrifty.checks.tables import RoundTables, play_rounds
from thrifty.environments import Replay
from thrifty.errors import CheckFailed, InvalidParameter, UnknownName
from thrifty.parameters import Whole
from thrifty.policy import Policy
from thrifty.problem import Bundle, Feature, Group, PriceList, Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


@pytest.mark.parametrize(("policy", "check"), BROKEN_POLICIES.items())
def test_a_broken_policy_fails_the_check_of_what_it_breaks(
    policy: type[Policy], check: str
) -> None:
    with pytest.raises(CheckFailed, match=rf"^{policy.__name__} fails {check}: .*promises to "):
        check_policy(policy)


@pytest.mark.parametrize(("environment", "check"), BROKEN_ENVIRONMENTS.items())
def test_a_broken_environment_fails_the_check_of_what_it_breaks(
    environment: type[Table], check: str
) -> None:
    name = environment.__name__
    with pytest.raises(CheckFailed, match=rf"^{name} fails {check}: .*promises to "):
        check_environment(environment())


def test_what_was_forgotten_is_named() -> None:
    class WithoutUpdate(Policy):
        def _choose_features(self, known: Observation) -> Purchase:
            return Purchase.everything(self.problem)

        def _choose_action(self, observation: object, available: object) -> int:
            return 0

    class WithoutSuper(Means):
        def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
            del seed
            self.problem = problem

    class WithoutStep:
        problem = Problem.anonymous(levels=(2,), n_actions=2)

        def reset(self, *, seed: Seed = None) -> None:
            del seed

    with pytest.raises(InvalidParameter, match=r"^WithoutUpdate has no _update: write"):
        check_policy(WithoutUpdate)
    with pytest.raises(InvalidParameter, match="does not call super"):
        check_policy(WithoutSuper)
    with pytest.raises(CheckFailed, match="it has no known, reveal, step"):
        check_environment(WithoutStep())  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"^Table is a class"):
        check_environment(Table)  # type: ignore[arg-type]


def test_every_check_has_something_broken_that_it_notices() -> None:
    assert {check.__name__ for check in POLICY_CHECKS} == set(BROKEN_POLICIES.values())
    assert {check.__name__ for check in ENVIRONMENT_CHECKS} == set(BROKEN_ENVIRONMENTS.values())


@pytest.mark.parametrize("seed", range(3))
def test_a_correct_policy_passes(seed: int) -> None:
    check_policy(Means, seed=seed)


def test_a_policy_is_checked_by_name_and_with_parameters() -> None:
    check_policy("ucb1")
    with pytest.raises(InvalidParameter, match="alpha"):
        check_policy("ucb1", alpha=-1)
    with pytest.raises(UnknownName, match="ucb1"):
        check_policy("no-such-policy")


class Window(Means):
    """Correct: forgets the oldest of its last ten updates, and counts what it is asked."""

    allowed = {"horizon": Whole(1)}  # noqa: RUF012

    def __init__(self, problem: Problem, *, horizon: int, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed, horizon=horizon)
        self.recent: list[tuple[Any, ...]] = []
        self.asked = 0

    def _choose_features(self, known: Observation) -> Purchase:
        self.asked += 1
        return super()._choose_features(known)

    def _update(self, observation: Any, action: int, reward: float, outcome: int | None) -> None:
        super()._update(observation, action, reward, outcome)
        self.recent.append((observation, action, reward))
        if len(self.recent) > 10:
            old, action, reward = self.recent.pop(0)
            self.sums[old.codes[0], action] -= reward
            self.counts[old.codes[0], action] -= 1

    def get_state(self) -> Any:
        return Policy.get_state(self)


def test_a_policy_with_a_window_and_a_horizon_passes() -> None:
    check_policy(Window)
    check_policy(functools.partial(Window, horizon=50))


class InSteps(Means):
    """Correct: buys the first feature and, only where its level is 1, the last one."""

    stepwise = True

    def _choose_features(self, known: Observation) -> Purchase:
        mask = np.zeros(self.problem.n_features, dtype=np.bool_)
        mask[0] = True
        mask[-1] = known.codes[0] == 1
        return Purchase(mask, purpose=int(known.codes[0]))


def test_a_stepwise_policy_passes() -> None:
    check_policy(InSteps)


def test_an_environment_with_free_values_fees_bundles_and_outcomes_passes() -> None:
    rng = np.random.default_rng(1)
    problem = Problem(
        tuple(Feature(name, ("0", "1")) for name in "abcd"),
        ("x", "y"),
        outcomes={"x": {"good": 10, "bad": -10}, "y": 0},
        prices=PriceList(groups=[Group("g", ("a", "b"), 2.0)], bundles=[Bundle("p", ("c", "d"))]),
    )
    shape = (70, 4)
    world = Replay(
        rng.integers(0, 2, shape),
        rng.random((70, 2)),
        rng.random(shape),
        free=[False, True, False, False],
        outcomes=rng.integers(0, 2, 70),
        problem=problem,
    )
    check_environment(world)


def test_a_policy_that_reads_the_price_list_passes() -> None:
    class Bargains(Means):
        reads_price_list = True

        def read_price_list(self, prices: Any) -> None:
            self.prices = np.array(prices)

        def _choose_features(self, known: Observation) -> Purchase:
            return Purchase(self.prices < 0.1)

        def get_state(self) -> Any:
            return {**super().get_state(), "prices": getattr(self, "prices", np.zeros(0))}

    check_policy(Bargains)


def test_a_policy_is_checked_in_copies() -> None:
    policy = Means(Problem.anonymous((2, 2), 2), seed=5)
    before = snapshot(policy)
    check_policy(policy)
    assert snapshot(policy) == before
    with pytest.raises(InvalidParameter, match="already"):
        check_policy(policy, problem=Problem.anonymous((3,), 2))


def test_a_policy_is_checked_on_the_problem_that_is_given() -> None:
    class Picky(Means):
        def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
            assert problem.n_actions < 5
            super().__init__(problem, seed=seed)

    with pytest.raises(AssertionError):
        check_policy(Picky, problem=Problem.anonymous((2,), 5))


def test_what_cannot_be_checked_is_refused_before_any_check() -> None:
    def oracle(problem: Problem, *, truth: object, seed: Seed = None) -> Policy:
        raise AssertionError(problem, truth, seed)

    def nothing(problem: Problem, *, seed: Seed = None) -> Any:
        return problem, seed

    with pytest.raises(InvalidParameter, match="simulation only"):
        check_policy(oracle)
    with pytest.raises(InvalidParameter, match="other parameters"):
        check_policy("ucb1", window=3)
    with pytest.raises(InvalidParameter, match="not a Policy"):
        check_policy(nothing)


def test_an_unfinished_policy_that_cannot_be_copied_says_so() -> None:
    policy = Means(Problem.anonymous((2,), 2))
    policy.stream = (n for n in range(3))  # type: ignore[attr-defined]
    with pytest.raises(InvalidParameter, match="give its class"):
        check_policy(policy)


def test_global_generators_are_left_alone_by_the_checks() -> None:
    states = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    check_policy(Means)
    assert states == (random.getstate(), str(np.random.get_state()))  # noqa: NPY002


@pytest.mark.parametrize("seed", range(3))
def test_a_correct_environment_passes_and_is_left_at_its_first_round(seed: int) -> None:
    world = Table()
    check_environment(world, seed=seed)
    assert world.t == 0


def test_an_endless_environment_passes() -> None:
    class Endless:
        def __init__(self) -> None:
            self.table = Table()
            self.problem = self.table.problem

        def reset(self, *, seed: Seed = None) -> None:
            self.table.reset(seed=seed)

        def known(self) -> Any:
            return self.table.known()

        def reveal(self, purchase: Purchase) -> Any:
            return self.table.reveal(purchase)

        def step(self, action: int) -> float:
            return self.table.step(action)

    check_environment(Endless())


def test_scrambling_changes_all_that_is_hidden_and_nothing_else() -> None:
    problem = Problem.anonymous((40, 40), 2)
    world = RoundTables.draw(problem, 50, seed=1)
    decisions = play_rounds(Means(problem, seed=2), world, range(50))
    other = world.scrambled(decisions, seed=3)
    bought = np.array([decision.features for decision in decisions])
    taken = np.array([decision.action for decision in decisions])
    assert (world.codes[bought] == other.codes[bought]).all()
    assert (world.costs[bought] == other.costs[bought]).all()
    assert (world.rewards[range(50), taken] == other.rewards[range(50), taken]).all()
    assert (world.codes[~bought] != other.codes[~bought]).mean() > 0.9
    assert (world.costs[~bought] != other.costs[~bought]).all()
    assert (world.rewards[range(50), 1 - taken] != other.rewards[range(50), 1 - taken]).all()


def test_sizes_count_what_containers_hold() -> None:
    assert deep_size({"a": [np.zeros(1000)]}) > 8000
    loop: list[Any] = []
    loop.append(loop)
    assert deep_size(loop) < 1000
