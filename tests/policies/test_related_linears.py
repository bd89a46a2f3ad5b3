"""Linear policies for worlds that change, against facts of their papers and numbers by hand."""

import math
import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from thrifty.environments import Replay, Schedule, World, nursery
from thrifty.errors import InvalidParameter
from thrifty.playing import play
from thrifty.policies import (
    POLICIES,
    BOBSWLinUCB,
    DiscountedLinUCB,
    DynamicEnsemble,
    DynamicLinUCB,
    LinUCB,
    SWLinUCB,
)
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation
from thrifty.seeds import environment_seed, generator, policy_seed
from thrifty.simulation import simulate

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
SEEDS = range(20) if COMPILED else range(1)
ROUNDS = 10_000 if COMPILED else 150
Floats = NDArray[np.float64]

# Special cases: equal to the last bit.


NEVER_FORGETTING: dict[str, dict[str, Any]] = {
    "d-linucb": {"discount": 1.0},
    "dlinucb": {"noise": 10.0},
    "dlinucb-ensemble": {"noise": 10.0, "tolerance": 10.0},
    "sw-linucb": {"window": ROUNDS},
}
NAMES = [*NEVER_FORGETTING, "bob-sw-linucb"]


def values_of(policy: Policy, seen: Observation) -> Floats:
    values = policy.action_values(seen)
    assert values is not None
    return values


def assert_same_values(one: Policy, other: Policy, world: Replay) -> None:
    for codes in world.contexts[:50].tolist():
        seen = Observation(codes, [0.1] * len(codes))
        np.testing.assert_array_equal(values_of(one, seen), values_of(other, seen))


@pytest.mark.parametrize("encoding", ["ordinal", "one-hot"])
@pytest.mark.parametrize("name", NEVER_FORGETTING)
def test_a_policy_that_forgets_nothing_is_linucb(name: str, encoding: str) -> None:
    worlds, seeds = nursery.shuffled, list(SEEDS)[:2]
    parameters = {"alpha": 0.3, "encoding": encoding, **NEVER_FORGETTING[name]}
    own = simulate(name, worlds, seeds=seeds, rounds=ROUNDS, **parameters)
    plain = simulate("linucb", worlds, seeds=seeds, rounds=ROUNDS, alpha=0.3, encoding=encoding)
    np.testing.assert_array_equal(own.actions, plain.actions)
    np.testing.assert_array_equal(own.costs, plain.costs)
    world = worlds(0)
    trained = POLICIES[name](world.problem, **parameters)
    other = LinUCB(world.problem, alpha=0.3, encoding=encoding)
    play(trained, world, rounds=150)
    play(other, world, rounds=150)
    assert_same_values(trained, other, world)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_one_block_bandit_over_bandit_is_sw_linucb_with_the_drawn_window(seed: int) -> None:
    rounds = 1000 if COMPILED else 150
    problem = nursery.shuffled(0).problem
    windows = BOBSWLinUCB(problem, block=rounds).windows
    draw = generator(policy_seed(seed)).random()
    window = int(windows[int(draw * len(windows))])
    own = simulate("bob-sw-linucb", nursery.shuffled, seeds=[seed], rounds=rounds, block=rounds)
    plain = simulate("sw-linucb", nursery.shuffled, seeds=[seed], rounds=rounds, window=window)
    np.testing.assert_array_equal(own.actions, plain.actions)


def test_a_block_of_one_round_never_learns() -> None:
    run = simulate("bob-sw-linucb", nursery.shuffled, seeds=[0], rounds=200, block=1)
    assert (run.actions == 0).all()


# Numbers by hand.

ONE = Problem.anonymous((2,), 1)
FIRST, SECOND = Observation([0], [0.1]), Observation([1], [0.1])  # x = 1 and x = 2


def test_discounted_sums_by_hand() -> None:
    # After rewards 1 and 0: V = 2, then 2/2 + 1 + 1/2 = 2.5; V~ = 2, then 2/4 + 1 + 3/4 = 2.25.
    # b = 1, then 1/2: theta = 0.2, and the width is sqrt(2.25) / 2.5 = 0.6.
    policy = DiscountedLinUCB(ONE, alpha=2.0, discount=0.5)
    policy.update(FIRST, 0, 1.0)
    policy.update(FIRST, 0, 0.0)
    assert policy.action_values(FIRST) == pytest.approx([0.2 + 2 * 0.6])


def test_actions_not_taken_are_discounted_too() -> None:
    # V = 2, then 2/2 + 1/2 = 1.5; V~ = 2, then 2/4 + 3/4 = 1.25; b = 1/2.
    policy = DiscountedLinUCB(Problem.anonymous((2,), 2), alpha=1.0, discount=0.5)
    policy.update(FIRST, 0, 1.0)
    policy.update(FIRST, 1, 0.0)
    values = policy.action_values(FIRST)
    assert values == pytest.approx([0.5 / 1.5 + math.sqrt(1.25) / 1.5, math.sqrt(2) / 2])


def test_a_discount_of_0_and_a_window_of_1_remember_the_last_round() -> None:
    for policy in (DiscountedLinUCB(ONE, alpha=1.0, discount=0.0), SWLinUCB(ONE, window=1)):
        policy.update(FIRST, 0, 1.0)
        policy.update(SECOND, 0, 1.0)  # A = 1 + 4 and b = 2
        alpha = policy.parameters["alpha"]
        assert policy.action_values(FIRST) == pytest.approx([2 / 5 + alpha / math.sqrt(5)])


def test_a_window_counts_rounds_of_all_actions() -> None:
    policy = SWLinUCB(Problem.anonymous((2,), 2), alpha=1.0, window=2)
    for action in (0, 1, 1):
        policy.update(FIRST, action, 1.0)
    values = policy.action_values(FIRST)
    assert values == pytest.approx([1.0, 2 / 3 + 1 / math.sqrt(3)])


@pytest.mark.parametrize("window", [1, 7, 50, 400])
def test_the_window_stays_exact_over_many_rounds(window: int) -> None:
    rng = np.random.default_rng(1)
    problem = Problem.anonymous((5, 3, 9), 2)
    policy = SWLinUCB(problem, alpha=1.0, window=window)
    samples = []
    for _ in range(1950):
        seen = Observation(rng.integers(0, problem.levels), [0.1] * 3)
        samples.append((seen, int(rng.integers(2)), float(rng.random())))
        policy.update(*samples[-1])
    other = LinUCB(problem, alpha=1.0)
    for sample in samples[-window:]:
        other.update(*sample)
    for seen, _, _ in samples[:20]:
        expected = values_of(other, seen)
        np.testing.assert_allclose(values_of(policy, seen), expected, rtol=0, atol=1e-11)


def chances_of_windows(policy: BOBSWLinUCB) -> list[float]:
    everything = np.ones(1, np.bool_)
    return [chance for _, chance in policy._purchase_probabilities(FIRST, everything)]


def test_the_weights_of_windows_by_hand() -> None:
    # Windows 1 and 2, and gamma = sqrt(2 log 2 / (2 (e - 1))) for two blocks of 2 rounds.
    policy = BOBSWLinUCB(ONE, horizon=4, block=2)
    gamma = math.sqrt(math.log(2) / (math.e - 1))
    assert policy.windows.tolist() == [1, 2]
    assert chances_of_windows(policy) == pytest.approx([0.5, 0.5])
    policy.update(FIRST, 0, 1.0)  # a round without a purpose has the first window
    assert chances_of_windows(policy) == [1.0, 0.0]
    policy.update(FIRST, 0, 0.5)
    s = math.exp(gamma / 2 * 0.75 / 0.5)
    expected = (1 - gamma) * s / (s + 1) + gamma / 2
    assert chances_of_windows(policy) == pytest.approx([expected, 1 - expected])


@pytest.mark.parametrize(("purpose", "window"), [(0, 0), (1, 1), (7, 1), (-3, 0)])
def test_the_first_reward_of_a_block_decides_whose_window_is_used(
    purpose: int, window: int
) -> None:
    policy = BOBSWLinUCB(ONE, horizon=4, block=2)
    policy.update(Observation([0], [0.1], purpose), 0, 1.0)
    assert chances_of_windows(policy)[window] == 1.0
    policy.update(Observation([0], [0.1], 1 - window), 0, 1.0)
    assert chances_of_windows(policy)[window] > 0.5


@pytest.mark.parametrize(("failures", "started"), [(8, 1), (9, 2)])
def test_a_model_is_dropped_when_its_badness_passes_the_bound(failures: int, started: int) -> None:
    # 8/58 < 0.01 + sqrt(log(10) / (2 58)) = 0.151, and 9/59 = 0.153 >= 0.01 + 0.140.
    policy = DynamicLinUCB(ONE, noise=0.2)
    for reward in [1.0] * 50 + [0.0] * failures:
        policy.update(SECOND, 0, reward)
    assert policy.n_started == started


def test_the_margin_of_a_test_by_hand() -> None:
    # After 10 rewards of 1: theta = 10/11 and the width is 1/sqrt(11). With noise 0.1 and delta
    # 0.01 epsilon is 0.2576, and the radius is 1 + 0.01 sqrt(log(1001)). The bound is 0.567.
    bound = (1 + 0.01 * math.sqrt(math.log(1001))) / math.sqrt(11) + 0.257583
    for reward, fails in ((10 / 11 - bound + 1e-6, False), (10 / 11 - bound - 1e-6, True)):
        policy = DynamicLinUCB(ONE, noise=0.1)
        for _ in range(10):
            policy.update(FIRST, 0, 1.0)
        policy.update(FIRST, 0, reward)
        assert policy.get_state()["failures"].sum() == fails


def test_an_auditor_by_hand() -> None:
    # x = 1 and r = 1: A = 2, theta = 1/2; S = 1, c = 1 and beta = (1 - 1/2) / 2.
    policy = DynamicEnsemble(ONE, noise=0.0)
    policy.update(FIRST, 0, 1.0)
    state = policy.get_state()
    assert state["models.thetas"][0].tolist() == [[0.5]]
    assert state["auditors.betas"][0].tolist() == [[0.25]]


# Facts of the papers, in small worlds. One feature has a few levels, and for each level one of two
# actions is good. A regression on indicators of the levels is exact.

GOOD = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])


def small_world(
    tables: list[Floats], *, noise: str, high: float, rounds: int = 2400, ramp: int = 0
) -> World:
    """Return a world in which good actions have the mean `high`, and bad ones 1 - `high`."""
    levels, periods = tables[0].shape[1], len(tables)
    return World(
        Problem.anonymous((levels,), 2),
        probabilities=[1 / levels] * levels,
        rewards=[(2 * high - 1) * table + 1 - high for table in tables],
        costs=[[0.0]],
        rounds=rounds,
        reward_schedule=Schedule([rounds * k // periods for k in range(1, periods)], ramp=ramp),
        cost_noise="constant",
        reward_noise=noise,
    )


NOISY = small_world([GOOD, 1 - GOOD] * 2, noise="bernoulli", high=0.8)
DRIFTING = small_world([GOOD, 1 - GOOD] * 2, noise="bernoulli", high=0.9, ramp=550)
QUIET = small_world([GOOD, 1 - GOOD] * 2, noise="constant", high=0.9)
STATIONARY = small_world([GOOD], noise="constant", high=0.9)


def mean_reward(name: str, world: World, **parameters: Any) -> float:
    runs = simulate(name, world, seeds=SEEDS, encoding="one-hot", **parameters)
    return float(runs.rewards.mean())


@pytest.mark.parametrize("world", [NOISY, DRIFTING], ids=["abrupt", "slow"])
def test_forgetting_pays_in_noisy_worlds_that_change_abruptly_or_slowly(world: World) -> None:
    """The order of the policies in the two experiments of Russac, Vernade and Cappé (2019).

    D-LinUCB and SW-LinUCB come first. In very noisy worlds dLinUCB notices no change.
    """
    plain = mean_reward("linucb", world)
    assert mean_reward("d-linucb", world, discount=0.98) > plain + 0.1
    assert mean_reward("sw-linucb", world, window=100) > plain + 0.1
    assert mean_reward("dlinucb", world, noise=0.5) == plain


def test_bandit_over_bandit_lies_between_a_good_window_and_none() -> None:
    """Cheung, Simchi-Levi and Zhu (2019): it needs no knowledge of the changes, at some price."""
    own = mean_reward("bob-sw-linucb", NOISY, block=100)
    assert mean_reward("sw-linucb", NOISY, window=100) > own + 0.02
    assert own > mean_reward("linucb", NOISY) + 0.1
    assert own > mean_reward("sw-linucb", NOISY, window=1) + 0.1


def test_bandit_over_bandit_prefers_long_windows_where_nothing_changes() -> None:
    world = small_world([GOOD], noise="bernoulli", high=0.9, rounds=6000).draw(environment_seed(1))
    policy = BOBSWLinUCB(world.problem, horizon=6000, block=50, encoding="one-hot", seed=1)
    play(policy, world)
    chances = chances_of_windows(policy)
    assert chances[0] < 0.9 * max(chances[-2:])


@pytest.mark.parametrize("periods", [1, 2, 4, 8])
def test_dlinucb_starts_one_model_for_each_period(periods: int) -> None:
    """Wu, Iyer and Wang (2018): with little noise every change is detected, and nothing else."""
    tables = [GOOD, 1 - GOOD] * 4
    world = small_world(tables[:periods], noise="constant", high=0.9, rounds=600 * periods)
    replay = world.draw(environment_seed(1))
    policy = DynamicLinUCB(replay.problem, encoding="one-hot")
    run = play(policy, replay)
    assert policy.n_started == periods
    assert run.rewards.mean() > 0.88  # of 0.9


@pytest.mark.parametrize("name", ["dlinucb", "dlinucb-ensemble"])
def test_detection_pays_where_there_is_little_noise(name: str) -> None:
    assert mean_reward(name, QUIET) > mean_reward("linucb", QUIET) + 0.25
    assert mean_reward(name, STATIONARY) == mean_reward("linucb", STATIONARY)


def losses_after_a_partial_change(name: str, **parameters: Any) -> tuple[float, float]:
    """Return the losses after a change of one level: in rounds of other levels, and of this one."""
    good = np.array([[1.0, 0.0] * 3, [0.0, 1.0] * 3])
    changed = good.copy()
    changed[:, 0] = 1 - changed[:, 0]
    world = small_world([good, changed], noise="constant", high=0.9, rounds=1800)
    losses = np.zeros(2)
    for seed in SEEDS:
        run = simulate(name, world, seeds=[seed], encoding="one-hot", **parameters)[0]
        after = np.arange(world.horizon) >= 900
        affected = world.draw(environment_seed(seed)).contexts[:, 0] == 0
        lost = 0.9 - run.rewards
        losses += [lost[after & ~affected].sum(), lost[after & affected].sum()]
    return tuple(losses / len(SEEDS))


def test_an_ensemble_goes_on_using_a_model_where_nothing_has_changed() -> None:
    """Wu, Wang, Li and Wang (2019): models are reused if a change does not concern the context.

    dLinUCB starts again with a model that must learn every level.
    """
    others, own = losses_after_a_partial_change("dlinucb-ensemble")
    assert others == pytest.approx(0.0, abs=1e-9)
    assert own < 0.5 * losses_after_a_partial_change("linucb")[1]
    assert losses_after_a_partial_change("dlinucb")[0] > 1.0


# Parameters.


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("d-linucb", "discount", 1.01),
        ("d-linucb", "discount", -0.1),
        ("sw-linucb", "window", 0),
        ("sw-linucb", "window", 2.0),
        ("bob-sw-linucb", "horizon", 0),
        ("bob-sw-linucb", "block", 0),
        ("dlinucb", "tau", 0),
        ("dlinucb", "noise", -1),
        ("dlinucb", "delta", 1),
        ("dlinucb", "test_delta", 0),
        ("dlinucb", "spare_delta", 1.5),
        ("dlinucb", "models", 0),
        ("dlinucb-ensemble", "audit", -1),
        ("dlinucb-ensemble", "tolerance", math.nan),
        ("dlinucb-ensemble", "models", 0),
        *[(name, "alpha", -0.1) for name in NAMES],
        *[(name, "encoding", "codes") for name in NAMES],
    ],
)
def test_a_parameter_out_of_range_is_refused(name: str, parameter: str, value: Any) -> None:
    with pytest.raises(InvalidParameter, match=rf"{parameter} is .*must be"):
        POLICIES[name](ONE, **{parameter: value})


@pytest.mark.parametrize("name", NAMES)
def test_the_values_of_tuning_are_allowed_and_contain_the_default(name: str) -> None:
    make: Any = POLICIES[name]
    default = make(ONE).parameters
    for parameter, values in make.grid.items():
        assert default[parameter] in values
        assert all(make.allowed[parameter].accepts(value) for value in values)
    assert 3 <= math.prod(map(len, make.grid.values())) <= 12
