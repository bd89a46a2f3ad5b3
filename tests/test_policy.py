"""Every registered policy refuses what it cannot use, and changes nothing when it does."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from random_plans import plan_for
from thrifty.checks import check_policy
from thrifty.checks.subject import SMALL
from thrifty.environments import Replay, World
from thrifty.errors import (
    InvalidAction,
    InvalidInput,
    InvalidObservation,
    InvalidParameter,
    InvalidProblem,
    InvalidPurchase,
    InvalidReward,
    SaveError,
    ThriftyError,
    UnknownName,
)
from thrifty.playing import play
from thrifty.policies import POLICIES, policy_named, registered_name
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed

WORLD = World.random(levels=(2, 3, 2), n_actions=3, rounds=60, seed=1).draw(seed=1)
SEEN = Observation([0, 2, -1], [0.1, 0.2, math.nan])
NAMES = list(POLICIES)
LEARNERS = [name for name in NAMES if name != "oracle"]


def made(name: str, world: Replay = WORLD, seed: Seed = 0, **parameters: Any) -> Policy:
    make = policy_named(name)
    if name == "oracle":
        parameters["truth"] = world.truth
    if name == "plan":
        parameters.setdefault("plan", plan_for(world.problem))
    if name.startswith("ncc"):
        parameters = {"horizon": world.horizon, **parameters}
    return make(world.problem, seed=seed, **parameters)


def trained(name: str) -> Policy:
    policy = made(name)
    play(policy, WORLD, rounds=40)
    return policy


def everything_about(policy: Policy) -> dict[str, Any]:
    arrays = {name: array.tobytes() for name, array in policy.get_state().items()}
    generator: Any = policy.rng.bit_generator.state
    return {**arrays, "generator": repr(generator), "rounds": policy.rounds}


def assert_refused(
    policy: Policy, error: type[ThriftyError], culprit: str, call: Callable[[], object]
) -> None:
    before = everything_about(policy)
    with pytest.raises(error, match=culprit):
        call()
    assert everything_about(policy) == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, -0.01, 1.01, True, "1", None])
def test_a_reward_outside_0_and_1_is_refused(name: str, reward: Any) -> None:
    policy = trained(name)
    culprit = str(reward) if isinstance(reward, float) else repr(reward)
    assert_refused(policy, InvalidReward, culprit, lambda: policy.update(SEEN, 0, reward))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("action", [-1, 3, 0.0, True, "a1", None])
def test_an_unknown_action_is_refused(name: str, action: Any) -> None:
    policy = trained(name)
    assert_refused(policy, InvalidAction, repr(action), lambda: policy.update(SEEN, action, 1.0))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("codes", "culprit"),
    [([0, 3, -1], "code 3 .*'x2'"), ([2, -1, -1], "code 2 .*'x1'"), ([0, 0], "2 features")],
)
def test_an_observation_of_another_problem_is_refused(
    name: str, codes: list[int], culprit: str
) -> None:
    policy = trained(name)
    other = Observation(codes, [0.1 if code >= 0 else math.nan for code in codes])
    calls: list[Callable[[], object]] = [
        lambda: policy.update(other, 0, 1.0),
        lambda: policy.choose_action(other),
        lambda: policy.action_values(other),
    ]
    for call in calls:
        assert_refused(policy, InvalidObservation, culprit, call)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("available", "culprit"),
    [
        ([False, False, False], "no action is available"),
        ([True, True], r"shape \(2,\)"),
        ([1, 0, 1], "dtype int64"),
        (True, r"shape \(\)"),
    ],
)
def test_actions_that_cannot_be_available_are_refused(
    name: str, available: Any, culprit: str
) -> None:
    policy = trained(name)
    assert_refused(
        policy,
        InvalidAction,
        culprit,
        lambda: policy.choose_action(SEEN, available=available),
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("only", range(3))
def test_a_single_available_action_is_taken(name: str, only: int) -> None:
    policy = trained(name)
    for _ in range(5):
        assert policy.choose_action(SEEN, available=np.arange(3) == only) == only


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        *[("ncc-ucrl2", "horizon", value) for value in (0, -1, 2.5, "10", True)],
        *[("ncc-ucrl2", "window", value) for value in (0, -5, 10.0, math.inf)],
        *[("ncc-ucrl2", "delta", value) for value in (0, 1, -0.1, 1.5, math.nan, "0.1", None)],
        *[("ncc-ucrl2", "cost_range", value) for value in (-0.1, math.inf, math.nan)],
        *[("ncc-ucrl2", "simplex", value) for value in (1, 0, "yes", None)],
        *[("ncc-ucrl2", "sweep_first", value) for value in (1, None)],
        *[("ncc-ucrl2", "unseen_mass", value) for value in (1, None)],
        *[("ncc-ucrl2", "whole_window", value) for value in (1, None)],
        *[("ncc-ucrl2", "last_tie", value) for value in (1, None)],
        *[("ncc-ucrl2-published", "horizon", value) for value in (0, 1.0)],
        *[("ncc-ucrl2-published", "window", value) for value in (0, 1.0)],
        *[("ncc-ucrl2-published", "delta", value) for value in (0, 1)],
        *[("sim-oos", "delta", value) for value in (0, 1, -1, math.nan)],
        *[("sim-oos", "simplex", value) for value in (0, "no")],
        *[("ucb1", "alpha", value) for value in (-0.1, math.nan, math.inf, "1")],
        *[("sw-ucb", "alpha", value) for value in (-0.1, math.nan)],
        *[("sw-ucb", "tau", value) for value in (0, -1, 1.5)],
        *[("linucb", "alpha", value) for value in (-0.1, math.nan)],
        *[("linucb", "encoding", value) for value in ("onehot", None, 1)],
        *[("ps-linucb", "alpha", value) for value in (-0.1, math.nan)],
        *[("ps-linucb", "omega", value) for value in (0, 2.0)],
        *[("ps-linucb", "delta", value) for value in (-0.1, math.nan)],
        *[("ps-linucb", "encoding", value) for value in ("ordinals", None)],
        *[("plan", "plan", value) for value in (None, "plan.json", 3)],
        *[("epsilon-greedy", "epsilon", value) for value in (-0.01, 1.01, math.nan)],
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(name: str, parameter: str, value: Any) -> None:
    with pytest.raises(InvalidParameter, match=rf"{parameter} is .*(must be|give) .*"):
        made(name, **{parameter: value})


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_that_is_none_is_refused(name: str, seed: Any) -> None:
    with pytest.raises(InvalidParameter, match="seed is"):
        made(name, seed=seed)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"'ucb2'.*ucb1") as caught:
        policy_named("ucb2")
    assert isinstance(caught.value, KeyError)


def test_a_registered_class_knows_its_name() -> None:
    names = {name: registered_name(made(name)) for name in NAMES}
    same = {name: name for name in NAMES}
    assert names == same | {
        "ncc-ucrl2-published": "ncc-ucrl2",
        "ncc-ucrl2-repaired": "ncc-ucrl2",
        "auto": "scout",
    }


@pytest.mark.parametrize("name", LEARNERS)
def test_every_policy_keeps_the_promises_of_its_interface(name: str) -> None:
    needed: dict[str, Any] = {"plan": plan_for(SMALL)} if name == "plan" else {}
    check_policy(name, **needed)


# Problems of unusual size.


def table(levels: tuple[int, ...], n_actions: int, rounds: int = 20, price: float = 0.1) -> Replay:
    rng = np.random.default_rng(3)
    return Replay(
        contexts=rng.integers(0, levels, (rounds, len(levels))),
        rewards=rng.integers(0, 2, (rounds, n_actions)).astype(np.float64),
        costs=np.full((rounds, len(levels)), price),
        problem=Problem.anonymous(levels, n_actions),
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("levels", "n_actions", "price"),
    [((1,), 1, 0.1), ((1,), 3, 0.0), ((4,), 1, 0.0), ((1, 1, 2), 2, 0.0)],
)
def test_the_smallest_problems_work(
    name: str, levels: tuple[int, ...], n_actions: int, price: float
) -> None:
    world = table(levels, n_actions, price=price)
    run = play(made(name, world), world)
    assert run.rounds == 20
    assert ((run.actions >= 0) & (run.actions < n_actions)).all()


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_purchase_is_learnt_from(name: str) -> None:
    policy = trained(name)
    nothing = Observation([-1, -1, -1], [math.nan] * 3)
    action = policy.choose_action(nothing)
    policy.update(nothing, action, 1.0)
    assert policy.rounds == 41


# seq-oos plans for every partial state, of which there are too many; a test of its own says so.
@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "seq-oos"])
def test_as_many_features_as_a_mask_has_bits_work(name: str) -> None:
    # Scout needs a mask that stands for no set.
    most = 63 if name in ("scout", "auto") else 64
    world = table((2,) * most, 2)
    run = play(made(name, world), world)
    assert run.observed.shape == (20, most)


def test_64_features_are_too_many_for_scout() -> None:
    with pytest.raises(InvalidParameter, match=r"63-bit masks.*64 features"):
        made("scout", table((2,) * 64, 2))


@pytest.mark.parametrize("name", ["ncc-ucrl2", "ncc-ucrl2-published", "sim-oos"])
def test_65_features_are_too_many_for_masks(name: str) -> None:
    with pytest.raises(InvalidParameter, match=r"64-bit masks.*65 features"):
        made(name, table((2,) * 65, 2))


@pytest.mark.parametrize(
    "name",
    [
        *[name for name in NAMES if "linucb" in name],
        "epsilon-greedy",
        "sw-ucb",
        "ucb1",
        "uniform",
    ],
)
def test_65_features_work_where_none_is_chosen(name: str) -> None:
    world = table((2,) * 65, 2)
    run = play(made(name, world), world)
    assert run.observed.shape == (20, 65)


@pytest.mark.parametrize("features", [17, 64])
def test_the_oracle_refuses_more_subsets_than_it_can_compare(features: int) -> None:
    with pytest.raises(InvalidProblem, match=f"2\\^{features} subsets.*at most 16"):
        made("oracle", table((2,) * features, 2))


# Price lists.


@pytest.mark.parametrize(
    "prices", [[0.1, 0.2], [0.1, 0.2, -0.1], [0.1, math.nan, 0.2], [math.inf, 0.0, 0.0], 0.1]
)
def test_a_price_list_that_is_none_is_refused(prices: Any) -> None:
    policy = trained("sim-oos")
    assert_refused(policy, InvalidParameter, "price list", lambda: policy.read_price_list(prices))


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("-oos")])
def test_only_sim_oos_and_seq_oos_are_told_prices(name: str) -> None:
    policy = trained(name)
    before = everything_about(policy)
    policy.read_price_list([0.1, 0.2, 0.3])
    assert everything_about(policy) == before
    assert not policy.reads_price_list


def test_without_a_price_list_the_last_price_paid_stands_in() -> None:
    policy = made("sim-oos")
    policy.update(Observation([0, -1, 1], [0.1, math.nan, 0.3]), 0, 1.0)
    policy.update(Observation([0, -1, -1], [0.2, math.nan, math.nan]), 0, 1.0)
    assert policy.get_state()["prices"].tolist() == [0.2, 0.0, 0.3]
    policy.read_price_list([0.5, 0.5, 0.5])
    policy.update(Observation([0, -1, -1], [0.2, math.nan, math.nan]), 0, 1.0)
    assert policy.get_state()["prices"].tolist() == [0.5, 0.5, 0.5]


# The base class, with a policy of one's own.


class Stubborn(Policy):
    """Does what it was told to, sensible or not."""

    def __init__(self, problem: Problem, *, mask: Any, action: Any) -> None:
        super().__init__(problem)
        self.mask, self.action = mask, action

    def _choose_features(self, known: Observation) -> Purchase:
        return Purchase(self.mask)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        assert observation.codes.size == available.size == 3
        action: int = self.action
        return action

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        assert type(action) is int
        assert type(reward) is float
        assert observation is SEEN


def test_a_policy_cannot_buy_what_is_not_there() -> None:
    policy = Stubborn(WORLD.problem, mask=[True, False], action=0)
    with pytest.raises(InvalidPurchase, match=r"Stubborn .*shape \(2,\) for 3 features"):
        policy.choose_features()


@pytest.mark.parametrize("action", [-1, 3, 1])
def test_a_policy_cannot_take_an_action_that_is_not_available(action: int) -> None:
    policy = Stubborn(WORLD.problem, mask=[True] * 3, action=action)
    with pytest.raises(InvalidAction, match=rf"Stubborn chose action {action}.*\[0, 2\]"):
        policy.choose_action(SEEN, available=[True, False, True])


def test_hooks_get_plain_numbers() -> None:
    policy = Stubborn(WORLD.problem, mask=[True] * 3, action=0)
    policy.update(SEEN, np.int64(1), np.float64(0.5))  # type: ignore[arg-type]
    assert policy.rounds == 1


def test_a_policy_of_ones_own_has_no_index_and_cannot_be_saved_unless_it_says_so() -> None:
    policy = Stubborn(WORLD.problem, mask=[True] * 3, action=0)
    assert policy.action_values(SEEN) is None
    with pytest.raises(SaveError, match="Stubborn cannot be saved"):
        policy.get_state()
    with pytest.raises(SaveError, match="Stubborn cannot be restored"):
        policy.set_state({})


def test_a_policy_shows_its_parameters() -> None:
    assert repr(made("sw-ucb", tau=7)) == "SWUCB(alpha=0.1, tau=7, rounds=0)"


@pytest.mark.parametrize("name", NAMES)
def test_refusals_are_value_errors_of_ours(name: str) -> None:
    policy = made(name)
    with pytest.raises(ValueError, match="reward") as caught:
        policy.update(SEEN, 0, 2.0)
    assert isinstance(caught.value, InvalidInput)
