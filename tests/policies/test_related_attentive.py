"""Facts from the papers of the policies that buy few features or test for changes."""

import os
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import naive
import naive_attentive
from thrifty.checks import check_policy
from thrifty.environments import Replay, World
from thrifty.errors import DamagedFile, InvalidParameter
from thrifty.kernels.baselines import one_feature
from thrifty.playing import play
from thrifty.policies import POLICIES, TSRC, WTSRC, AdaILTCB, AdaILTCBPlus, SeqOOS
from thrifty.problem import Group, PriceList, Problem
from thrifty.rounds import Observation, Purchase, Run
from thrifty.seeds import environment_seed, generator, policy_seed
from thrifty.simulation import simulate

SMALL = World.random(levels=(2, 3, 2), n_actions=3, rounds=300, reward_changes=(150,), seed=5)
SHORT = World.random(levels=(2, 3, 2), n_actions=3, rounds=120, reward_changes=(60,), seed=6)
statistical = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="thousands of rounds"
)


def assert_same(one: Run | naive.Played, other: Run | naive.Played) -> None:
    np.testing.assert_array_equal(one.observed, other.observed)
    np.testing.assert_array_equal(one.actions, other.actions)


# TSRC and WTSRC.


def relevant(seed: int, feature: Sequence[int], per_period: int) -> Replay:
    """Return rounds in which one of eight features says which of two actions is right.

    `feature` is the relevant one in each period. The right action has a reward with probability
    0.9, the other one with 0.1.
    """
    rng = np.random.default_rng(seed)
    rounds = per_period * len(feature)
    contexts = rng.integers(2, size=(rounds, 8))
    period = np.arange(rounds) // per_period
    right = contexts[np.arange(rounds), np.array(feature)[period]]
    means = np.where(right[:, None] == np.arange(2), 0.9, 0.1)
    rewards = (rng.random((rounds, 2)) < means).astype(float)
    return Replay(contexts, rewards, np.full((rounds, 8), 0.01))


class RandomFeatures(TSRC):
    """Buys as many features as TSRC, at random: the baseline Random-EI of the paper."""

    def _choose_features(self, known: Observation) -> Purchase:
        mask = super()._choose_features(known).mask
        chosen: NDArray[np.bool_] = self.rng.permutation(mask)
        return Purchase(chosen)


def mean_reward(
    policy: type[TSRC | WTSRC], feature: Sequence[int], rounds: int, **more: Any
) -> float:
    def world(seed: int) -> Replay:
        return relevant(seed, feature, rounds // len(feature))

    if policy is not RandomFeatures:
        runs = simulate(policy, world, seeds=range(6), encoding="one-hot", **more)
        return float(runs.rewards.mean())
    found = [  # the compiled loop does not call its hook
        play(policy(replay.problem, seed=0, encoding="one-hot", **more), replay).rewards
        for replay in map(world, range(6))
    ]
    return float(np.mean(found))


@statistical
def test_tsrc_stands_between_random_features_and_all_features() -> None:
    # The order in the paper's tables for stationary data.
    rewards = [
        mean_reward(RandomFeatures, feature=[0], rounds=1500, max_features=1),
        mean_reward(TSRC, feature=[0], rounds=1500, max_features=1),
        mean_reward(TSRC, feature=[0], rounds=1500, max_features=8),
    ]
    assert rewards[0] + 0.1 < rewards[1] < rewards[2] - 0.03


@statistical
def test_a_window_helps_if_the_relevant_feature_changes_and_costs_if_not() -> None:
    # The order in the paper's tables: WTSRC before TSRC for nonstationary data only.
    changing, same = [0, 4, 2], [0]
    gained = [
        mean_reward(WTSRC, feature=feature, rounds=3000, max_features=2)
        - mean_reward(TSRC, feature=feature, rounds=3000, max_features=2)
        for feature in (changing, same)
    ]
    assert gained[0] > 0.05
    assert gained[1] < -0.01


def test_wtsrc_with_a_window_as_long_as_the_run_is_tsrc() -> None:
    seeds = range(4)
    one = simulate("tsrc", SMALL, seeds=seeds)
    other = simulate("wtsrc", SMALL, seeds=seeds, window=300)
    assert_same(one, other)
    shorter = simulate("wtsrc", SMALL, seeds=seeds, window=20)
    assert (one.observed != shorter.observed).any()


def test_with_all_features_the_window_does_not_matter() -> None:
    # The baseline Fullfeatures of the paper: contextual Thompson sampling.
    runs = [simulate("wtsrc", SMALL, seeds=range(3), max_features=9, window=w) for w in (5, 300)]
    assert runs[0].observed.all()
    assert_same(*runs)


def test_the_posterior_of_two_rewards_by_hand() -> None:
    policy = TSRC(Problem.anonymous((2, 3), 2), max_features=1)
    for code, reward in ((0, 1.0), (1, 0.25)):
        policy.update(Observation([code, -1], [0.1, np.nan]), 1, reward)
    state = policy.get_state()
    # B = 1 + 1^2 + 2^2 = 6 and g = 1 * 1 + 2 * 0.25 = 1.5 in the first dimension.
    np.testing.assert_allclose(state["inverses"][1], np.diag([1 / 6, 1.0]))
    np.testing.assert_allclose(state["means"][1], [0.25, 0])
    assert (state["chosen"].tolist(), state["gained"].tolist()) == ([2, 0], [1.25, 0])


def test_free_features_are_not_among_the_bought_ones() -> None:
    policy = TSRC(Problem.anonymous((2, 3, 2), 2), max_features=2, seed=1)
    known = Observation.from_free(policy.problem, {0: 1})
    assert policy.choose_features(known).mask.tolist() == [False, True, True]


def test_a_round_leaves_the_window() -> None:
    policy = WTSRC(Problem.anonymous((2, 3), 2), window=2)
    for reward, i in ((0.1, 0), (0.5, 0), (0.25, 1)):
        codes = [0 if i == k else -1 for k in range(2)]
        policy.update(
            Observation(codes, [np.nan if code < 0 else 0.1 for code in codes]), 0, reward
        )
    state = policy.get_state()
    assert (state["chosen"].tolist(), state["gained"].tolist()) == ([1, 1], [0.5, 0.25])


# Seq-OOS.


def branching(seed: int) -> Replay:
    """Return rounds in which the first of three features says which of the others matters."""
    rng = np.random.default_rng(seed)
    contexts = rng.integers(2, size=(2500, 3))
    right = np.where(contexts[:, 0] == 0, contexts[:, 1], contexts[:, 2])
    means = np.where(right[:, None] == np.arange(2), 0.95, 0.05)
    rewards = (rng.random((2500, 2)) < means).astype(float)
    return Replay(contexts, rewards, np.full((2500, 3), 0.1))


@statistical
def test_seq_oos_learns_a_plan_that_beats_every_fixed_set() -> None:
    # Sets bought at once, as in Sim-OOS, gain at most 0.95 - 0.3, a plan in steps 0.95 - 0.2.
    runs = simulate("seq-oos", branching, seeds=range(5), reward_scale=0.2, probability_scale=0.0)
    assert runs.gains[:, -1000:].mean() > 0.69


@statistical
def test_for_a_single_feature_seq_oos_is_sim_oos() -> None:
    world = World.random(levels=(3,), n_actions=3, rounds=1500, reward_changes=(500,), seed=5)
    one, other = (simulate(name, world, seeds=range(4)) for name in ("sim-oos", "seq-oos"))
    assert_same(one, other)
    assert 0.01 < one.observed.mean() < 0.99


@pytest.mark.parametrize("scales", [(1.0, 1.0), (0.1, 0.0), (0.3, 0.2)])
@pytest.mark.parametrize("free", [(False, False, False), (False, True, False)])
def test_the_twin_of_seq_oos(scales: tuple[float, float], free: tuple[bool, ...]) -> None:
    more: dict[str, Any] = {"reward_scale": scales[0], "probability_scale": scales[1]}
    for seed in range(2):
        drawn = SHORT.draw(environment_seed(seed))
        replay = Replay(drawn.contexts, drawn.rewards, drawn.costs, free, problem=drawn.problem)
        run = simulate("seq-oos", replay, seeds=[seed], **more)[0]
        twin = naive_attentive.SeqOOS(replay.problem.levels.tolist(), 3, **more)
        draws = generator(policy_seed(seed)).random(replay.horizon)
        other = naive_attentive.run_in_steps(twin, replay, draws)
        assert_same(run, other)
        np.testing.assert_array_equal(run.costs, other.costs)


@pytest.mark.parametrize("free", [None, (False, True, False)])
def test_the_loop_of_seq_oos_plays_like_single_calls(free: tuple[bool, ...] | None) -> None:
    drawn = SHORT.draw(environment_seed(3))
    replay = Replay(drawn.contexts, drawn.rewards, drawn.costs, free, problem=drawn.problem)
    policy = SeqOOS(replay.problem, reward_scale=0.3, probability_scale=0.2, seed=policy_seed(3))
    plain = play(policy, replay)
    compiled = simulate("seq-oos", replay, seeds=[3], reward_scale=0.3, probability_scale=0.2)[0]
    assert_same(plain, compiled)
    np.testing.assert_array_equal(plain.costs, compiled.costs)
    assert len({*compiled.observed.sum(axis=1).tolist()}) > 2


def test_seq_oos_pays_a_setup_fee_once() -> None:
    drawn = SHORT.draw(environment_seed(3))
    names = tuple(feature.name for feature in drawn.problem.features)
    prices = PriceList(groups=[Group("blood", names[:2], setup=0.125)])
    problem = Problem(drawn.problem.features, drawn.problem.actions, prices=prices)
    replay = Replay(drawn.contexts, drawn.rewards, drawn.costs, problem=problem)
    run = simulate("seq-oos", replay, seeds=[3], reward_scale=0.3, probability_scale=0.0)[0]
    fees = 0.125 * run.observed[:, :2].any(axis=1)
    paid = (drawn.costs * run.observed).sum(axis=1) + fees
    np.testing.assert_allclose(run.costs, paid)
    assert 0 < fees.mean() < 0.125


def test_the_value_of_a_feature_by_hand() -> None:
    policy = SeqOOS(Problem.anonymous((2,), 2), reward_scale=0.0, probability_scale=0.0)
    policy.read_price_list([0.25])
    nothing, low, high = (
        Observation([-1], [np.nan], 1),
        Observation([0], [0.25], 1),
        Observation([1], [0.25], 1),
    )
    for reward in (0.5, 0.25):  # 0.375 without the feature, for either action
        for action in range(2):
            policy.update(nothing, action, reward)
    for seen, rewards in ((low, (1.0, 0.0)), (high, (0.5, 0.75)), (high, (0.5, 0.75))):
        for action, reward in enumerate(rewards):
            policy.update(seen, action, reward)
    # Two rounds with the low value and four with the high one: (1 + 2 * 0.75) / 3 - 0.25.
    assert policy.choose_features().mask.tolist() == [True]
    np.testing.assert_allclose(policy.get_state()["gains"][0], [2.5 / 3 - 0.25])
    bought = [Observation([code], [0.25]) for code in range(2)]
    assert [policy.choose_action(seen) for seen in bought] == [0, 1]


def test_seq_oos_remembers_the_order_of_purchases() -> None:
    policy = SeqOOS(Problem.anonymous((2, 2), 1))
    order = (2 << 4 | 1) << 1  # feature 2 first, then feature 1
    policy.update(Observation([1, 0], [0.1, 0.1], order), 0, 1.0)
    moves = policy.get_state()["moves"]
    # Partial states are numbered (code of x1 + 1) + 3 (code of x2 + 1).
    assert np.argwhere(moves).tolist() == [[3, 1], [5, 0]]


def test_a_problem_with_too_many_partial_states_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"at most 20000 .* about 5\.9e\+04 partial states"):
        SeqOOS(Problem.anonymous((2,) * 10, 2))
    with pytest.raises(InvalidParameter, match="15 features"):
        SeqOOS(Problem.anonymous((1,) * 15, 2))


def test_a_state_of_another_problem_is_refused() -> None:
    policy, other = (SeqOOS(Problem.anonymous(levels, 2)) for levels in ((2, 2), (2, 3)))
    with pytest.raises(DamagedFile, match="SeqOOS has"):
        policy.set_state(other.get_state())


def test_seq_oos_keeps_its_promises_with_other_radii() -> None:
    check_policy("seq-oos", reward_scale=0.2, probability_scale=0.0)


# Ada-ILTCB and Ada-ILTCB+.

NAMES = ["ada-iltcb", "ada-iltcb-plus"]
ENDLESS = 1e12
"""A threshold that no test reaches."""


def turning(seed: int, rounds: int, changes: Sequence[int]) -> Replay:
    """Return rounds in which the first of three features says which action is right.

    At every change the right actions turn by one. Right actions pay with probability 0.9, others
    with 0.1.
    """
    rng = np.random.default_rng(seed)
    contexts = rng.integers(3, size=(rounds, 3))
    turns = np.searchsorted(changes, np.arange(rounds), side="right")
    right = (contexts[:, 0] + turns) % 3
    means = np.where(right[:, None] == np.arange(3), 0.9, 0.1)
    rewards = (rng.random((rounds, 3)) < means).astype(float)
    return Replay(contexts, rewards, np.zeros((rounds, 3)))


def restarts(name: str, replay: Replay, seed: int, **parameters: Any) -> list[int]:
    """Return the rounds after which the policy restarted."""
    policy = POLICIES[name](replay.problem, seed=seed, horizon=replay.horizon, **parameters)
    assert isinstance(policy, AdaILTCB | AdaILTCBPlus)
    found: list[int] = []
    for t, codes in enumerate(replay.contexts):
        bought = policy.choose_features()
        seen = Observation(codes, np.zeros(codes.size), bought.purpose)
        action = policy.choose_action(seen)
        policy.update(seen, action, float(replay.rewards[t, action]))
        if policy.restarts > len(found):
            found.append(t)
    return found


@statistical
@pytest.mark.parametrize("name", NAMES)
def test_each_change_leads_to_one_restart_and_nothing_else_does(name: str) -> None:
    for seed in range(3):
        found = restarts(name, turning(seed, 7500, [3000]), seed, threshold=0.3)
        assert len(found) == 1
        assert found[0] > 3000


@statistical
@pytest.mark.parametrize("name", NAMES)
def test_without_a_change_no_test_fails(name: str) -> None:
    # In the paper with probability 1 - delta in each run, delta = 0.05.
    world = World.random(levels=(3, 2, 3), n_actions=3, rounds=20_000, seed=3)
    runs = simulate(name, world, seeds=range(20))
    unlimited = simulate(name, world, seeds=range(20), threshold=ENDLESS)
    assert_same(runs, unlimited)


@statistical
@pytest.mark.parametrize("name", NAMES)
def test_restarts_gain_much_after_changes(name: str) -> None:
    def world(seed: int) -> Replay:
        return turning(seed, 9000, [3000, 6000])

    runs = simulate(name, world, seeds=range(4), threshold=0.3)
    never = simulate(name, world, seeds=range(4), threshold=ENDLESS)
    assert runs.rewards.mean() > never.rewards.mean() + 0.1


def test_block_0_is_uniform() -> None:
    one = simulate("ada-iltcb", SMALL, seeds=range(3), block=10_000)
    other = simulate("uniform", SMALL, seeds=range(3))
    np.testing.assert_array_equal(one.actions, other.actions)


def test_it_restarts_after_the_longest_interval() -> None:
    assert restarts("ada-iltcb", turning(1, 100, []), 1, interval=30) == [29, 59, 89]


@pytest.mark.parametrize("least", [1 / 6, 0.05])
@pytest.mark.parametrize("psi", [0.1, 1.0, 100.0])
def test_the_distribution_satisfies_both_constraints(least: float, psi: float) -> None:
    rng = np.random.default_rng(7)
    levels, contexts = np.array([2, 3]), rng.integers([2, 3], size=(60, 2))
    rewards = rng.dirichlet(np.ones(3), size=60)  # estimates for each context and action
    q = one_feature.empty_mixtures(levels, 1, 40)
    table = np.zeros((int(q.offsets[-1]), 3))
    for codes, row in zip(contexts, rewards, strict=True):
        for i in range(2):
            table[q.offsets[i] + codes[i]] += row / 60
    one_feature.solve(q, 0, contexts, table, least, psi)
    policies = [(i, a) for i in range(2) for a in product(range(3), repeat=int(levels[i]))]
    taken = np.array([[actions[x[i]] for x in contexts] for i, actions in policies])
    means = np.array([rewards[np.arange(60), row].mean() for row in taken])
    weights = np.zeros(len(policies))
    for s in range(int(q.sizes[0])):
        i = int(q.features[0, s])
        weights[policies.index((i, tuple(q.actions[0, s, : levels[i]].tolist())))] += q.weights[
            0, s
        ]
    regrets = means.max() - means
    chances = np.array([weights @ (taken == a) for a in range(3)]) * (1 - 3 * least) + least
    variances = np.array([(1 / chances[row, np.arange(60)]).mean() for row in taken])
    assert weights.sum() == pytest.approx(1)
    assert weights @ regrets <= 2 * psi * 3 * least + 1e-9
    assert (variances <= 2 * 3 + regrets / (psi * least) + 1e-9).all()


@statistical
def test_replays_are_as_frequent_as_in_the_paper() -> None:
    # In block j, which has 2^(j - 1) L rounds, 2^((j - m) / 2 - 1) replays of index m begin.
    begun, seeds = Counter[tuple[int, int]](), 300
    for seed in range(seeds):
        policy = AdaILTCBPlus(Problem.anonymous((2,), 2), block=8, threshold=ENDLESS, seed=seed)
        for t in range(128):
            purpose = policy.choose_features().purpose
            policy.update(Observation([t % 2], [0.1], purpose), 0, 1.0)
            block, new = int(np.ceil(np.log2((t + 1) / 8))), (purpose >> 6 & 63) - 1
            begun[block, new] += new >= 0
    for j in range(1, 5):
        for m in range(j):
            expected = seeds * 2 ** ((j - m) / 2 - 1)
            # Five standard deviations: a false alarm in any of ten cases is below 1e-5.
            assert abs(begun[j, m] - expected) < 5 * np.sqrt(expected)


@statistical
def test_a_change_of_contexts_alone_is_noticed() -> None:
    # Rewards are all 0, so regrets are too. A level that was not seen before makes V large.
    problem = Problem.anonymous((2,), 2)
    policy = AdaILTCB(problem, horizon=1000, block=16, seed=0)
    for level, n in ((0, 132_000), (1, 8_000)):
        world = Replay(np.full((n, 1), level), np.zeros((n, 2)), np.zeros((n, 1)), problem=problem)
        record = np.zeros((n, 1), np.bool_), np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        policy.run_compiled(world, record)
        assert policy.restarts == level


@pytest.mark.parametrize("name", NAMES)
def test_a_reward_from_before_a_restart_is_not_used(name: str) -> None:
    policy = POLICIES[name](Problem.anonymous((2,), 2), block=2, threshold=0.001, seed=0)
    assert isinstance(policy, AdaILTCB | AdaILTCBPlus)
    late = Observation([0], [0.1], policy.choose_features().purpose)
    t = 0
    while not policy.restarts:
        seen = Observation([t % 2], [0.1], policy.choose_features().purpose)
        policy.update(seen, policy.choose_action(seen), float(t % 3 == 0))
        t += 1
    before = policy.get_state()
    policy.update(late, 0, 1.0)
    assert all(np.array_equal(array, before[name]) for name, array in policy.get_state().items())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "parameters",
    [
        {"block": 7, "psi": 100.0, "threshold": ENDLESS, "memory": 7},
        {"block": 10, "psi": 2.0, "threshold": 0.15, "memory": 50},
    ],
)
def test_the_twins_in_long_segments(name: str, parameters: dict[str, Any]) -> None:
    twins = {
        "ada-iltcb": naive_attentive.AdaILTCB,
        "ada-iltcb-plus": naive_attentive.AdaILTCBPlus,
    }
    n_draws = {"ada-iltcb": 1, "ada-iltcb-plus": 3}[name]
    replay = SHORT.draw(environment_seed(4))
    run = simulate(name, replay, seeds=[4], **parameters)[0]
    draws = generator(policy_seed(4)).random((replay.horizon, n_draws))
    twin = twins[name](replay.problem.levels.tolist(), 3, horizon=replay.horizon, **parameters)
    tables = (replay.contexts, replay.rewards, replay.costs)
    assert_same(run, naive.run(twin, *tables, draws))
