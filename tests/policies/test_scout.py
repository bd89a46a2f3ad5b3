"""Scout as a policy: its promises, its edges, and how well it does.

Seeds are fixed, so a test that passes goes on passing until Scout's behaviour changes.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import naive
import naive_scout
from thrifty.agent import Agent
from thrifty.checks import check_policy
from thrifty.environments import Replay, World, nursery
from thrifty.environments.families import FAMILIES, many_features
from thrifty.environments.safe_families import safe_action, winter
from thrifty.environments.schedule import Schedule
from thrifty.errors import InvalidParameter
from thrifty.kernels.runtime.arrays import NONE
from thrifty.kernels.scout import steps as kernel
from thrifty.kernels.scout import subsets
from thrifty.kernels.scout.state import FIRST_WAIT, MAX_EVENTS
from thrifty.playing import play
from thrifty.policies import Scout
from thrifty.problem import Feature, Problem
from thrifty.regret import expected_regret
from thrifty.rounds import Observation, Purchase, Run
from thrifty.seeds import environment_seed, generator, policy_seed
from thrifty.simulation import simulate

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
statistical = pytest.mark.skipif(not COMPILED, reason="thousands of rounds")
PROBLEM = Problem.anonymous((2, 3), 3)


def recurring(rounds: int, period: int, *, seed: int = 0) -> World:
    """Return a world whose first feature tells the better action, in two regimes by turns.

    The price of the first feature doubles halfway.
    """
    one = np.array([[[0.9, 0.85], [0.1, 0.15]], [[0.15, 0.1], [0.85, 0.9]]])
    periods = -(-rounds // period)
    return World(
        Problem.anonymous((2, 2), 2),
        probabilities=np.full((2, 2), 0.25),
        rewards=[one[::-1] if k % 2 else one for k in range(periods)],
        costs=[[0.03, 0.02], [0.06, 0.02]],
        rounds=rounds,
        reward_schedule=Schedule([k * period for k in range(1, periods)]),
        cost_schedule=Schedule([rounds // 2]),
        seed=seed,
    )


def events_of(policy: Scout) -> list[int]:
    """Return the kinds of the events so far, in order."""
    state = policy._state
    assert state.happened[0] <= MAX_EVENTS
    kinds: list[int] = state.events[: state.happened[0], 1].tolist()
    return kinds


def assert_same(one: Run | naive.Played, other: Run | naive.Played) -> None:
    for name in ("observed", "actions", "rewards", "costs"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# Promises.


@statistical
@pytest.mark.parametrize("seed", range(2))
def test_the_conformance_suite(seed: int) -> None:
    check_policy("scout", seed=seed)


def test_purposes_and_actions_are_whole_numbers_compiled_or_not() -> None:
    policy = Scout(PROBLEM, seed=0)
    for _ in range(5):
        purchase = policy.choose_features()
        seen = observed(np.random.default_rng(0), purchase, 0.0)
        action = policy.choose_action(seen)
        assert (type(purchase.purpose), type(action)) == (int, int)
        policy.update(seen, action, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_compiled_loop_plays_like_the_plain_one(seed: int) -> None:
    world = recurring(1200 if COMPILED else 250, 300)
    run = simulate("scout", world, seeds=[seed])[0]
    replay = world.draw(environment_seed(seed))
    assert_same(run, play(Scout(world.problem, seed=policy_seed(seed)), replay))


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    world = recurring(300, 100).draw(seed=1)
    runs = [play(Scout(world.problem, seed=seed), world) for seed in (1, 1, 2)]
    assert_same(runs[0], runs[1])
    assert (runs[0].actions != runs[2].actions).any()


def played_like_the_twin(world: World, seed: int, **limits: Any) -> tuple[Scout, naive_scout.Scout]:
    """Let both play the same rounds, and return what has become of them."""
    replay = world.draw(environment_seed(seed))
    policy = Scout(world.problem, seed=policy_seed(seed), **limits)
    draws = generator(policy_seed(seed)).random((world.horizon, 3))
    twin = naive_scout.Scout(world.problem.levels.tolist(), world.problem.n_actions, **limits)
    tables = (replay.contexts, replay.rewards, replay.costs)
    played = naive.run(twin, *tables, draws, replay.free.tolist())
    assert_same(play(policy, replay), played)
    return policy, twin


@statistical
@pytest.mark.parametrize("seed", range(3))
def test_the_twin_through_restarts_and_regimes(seed: int) -> None:
    policy, twin = played_like_the_twin(recurring(2400, 400), seed)
    kinds = events_of(policy)
    assert kinds.count(kernel.RESTART) == twin.restarts >= 3
    assert kinds.count(kernel.RESTORED) == twin.restored >= 1
    assert kernel.PRICE_ALARM in kinds


@statistical
def test_the_twin_where_a_regime_is_restored_by_mistake() -> None:
    """No regime comes back, so what is restored does not last."""
    world = World.random(
        levels=(2, 3), n_actions=3, rounds=3000, reward_changes=range(300, 3000, 300), seed=4
    )
    policy, twin = played_like_the_twin(world, 1)
    assert twin.wrongly >= 1
    assert policy._state.regimes.trials[:2].tolist() == [twin.rightly, twin.wrongly]


@statistical
def test_without_recall_no_regime_is_restored() -> None:
    world = recurring(2400, 400)
    policy, twin = played_like_the_twin(world, 0, recall=False)
    kinds = events_of(policy)
    assert kinds.count(kernel.RESTART) == twin.restarts >= 3
    assert kinds.count(kernel.RESTORED) == twin.restored == 0
    with pytest.raises(InvalidParameter, match="recall is 1"):
        Scout(world.problem, recall=1)  # type: ignore[arg-type]


@statistical
def test_regimes_that_come_back_are_worth_remembering() -> None:
    # `thrifty run ablations/recall` has the ratio of regrets on 40 seeds, with its interval.
    make = FAMILIES["recurring-regimes"]
    regrets = [
        expected_regret(simulate("scout", make, seeds=range(8), recall=recall), make).sum()
        for recall in (True, False)
    ]
    assert regrets[0] < 0.8 * regrets[1]


@pytest.mark.parametrize("seed", range(2))
def test_the_twin_where_only_small_sets_fit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    few_sets(monkeypatch, 100)
    rounds = 400 if COMPILED else 60
    world = World.random(levels=(2, 3, 2, 2), n_actions=2, rounds=rounds, seed=seed)
    policy, twin = played_like_the_twin(world, seed)
    assert max(len(features) for features in twin.tables.fixed) == 2
    assert_same_sets(policy, twin)


def few_sets(monkeypatch: pytest.MonkeyPatch, numbers: int) -> None:
    """Make room for so many means, and three larger sets; only Python reads these constants."""
    monkeypatch.setattr(subsets, "MAX_MEANS", numbers)
    monkeypatch.setattr(subsets, "MAX_MEANS_WHEN_GROWING", numbers)
    monkeypatch.setattr(subsets, "MAX_GROWN_SETS", 3)


def assert_same_sets(policy: Scout, twin: naive_scout.Scout) -> None:
    """Check that some sets have grown, the same ones, in the same places, of the same weight."""
    tables, n, fixed = policy._state.subsets, len(twin.levels), len(twin.tables.fixed)
    masks = [None if features is None else mask_of(features, n) for features in twin.tables.grown]
    assert [None if mask == NONE else mask for mask in tables.masks[fixed:].tolist()] == masks
    assert tables.bindings.sum() >= sum(twin.births.values()) > 0
    logs = policy._state.weights.log[tables.masks != NONE]
    assert logs.tolist() == pytest.approx(list(twin.log_weights.values()), abs=1e-8)


def mask_of(features: naive_scout.Set, n: int) -> int:
    return sum(1 << (n - 1 - i) for i in features)


def xor_of_two_regimes(rounds: int, period: int) -> World:
    """Return a world in which the first and the third of four features decide, only together."""
    x = np.indices((2,) * 4)
    one = np.where(x[0] == x[2], 0.9, 0.15)
    periods = -(-rounds // period)
    return World(
        Problem.anonymous((2,) * 4, 2),
        probabilities=np.full((2,) * 4, 1 / 16),
        rewards=[np.stack([one, 1 - one][:: -1 if k % 2 else 1]) for k in range(periods)],
        costs=[[0.02] * 4],
        rounds=rounds,
        reward_schedule=Schedule([k * period for k in range(1, periods)]),
    )


def test_the_twin_whose_sets_grow_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    few_sets(monkeypatch, 20)
    rounds = 300 if COMPILED else 80
    policy, twin = played_like_the_twin(xor_of_two_regimes(rounds, rounds), 1, max_features=2)
    assert max(len(features) for features in twin.tables.sets) == 2
    assert_same_sets(policy, twin)


@statistical
def test_the_twin_whose_grown_sets_are_forgotten_and_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few_sets(monkeypatch, 20)
    policy, twin = played_like_the_twin(xor_of_two_regimes(900, 300), 1)
    assert (twin.restarts, twin.restored) == (2, 1)
    assert (0, 2) in twin.tables.grown
    assert_same_sets(policy, twin)


@pytest.mark.parametrize("n_features", [12, pytest.param(14, marks=statistical)])
def test_the_twin_with_very_many_features(n_features: int) -> None:
    world = many_features(1, n_features=n_features, n_levels=3, rounds=100)
    policy, twin = played_like_the_twin(world, 0)
    assert_same_sets(policy, twin)


def test_the_twin_whose_rewards_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
    few_sets(monkeypatch, 20)
    rounds, rng = 300 if COMPILED else 80, np.random.default_rng(5)
    replay = xor_of_two_regimes(rounds, rounds).draw(seed=3)
    policy = Scout(replay.problem, seed=policy_seed(7))
    draws = generator(policy_seed(7)).random((rounds, 3))
    twin = naive_scout.Scout((2,) * 4, 2)
    late: list[tuple[Observation, int, int, float]] = []
    for t in range(rounds):
        twin.read_draws(draws[t].tolist())
        purchase, (mask, purpose) = policy.choose_features(), twin.choose_features()
        assert purchase.mask.tolist() == list(mask)
        codes = np.where(purchase.mask, replay.contexts[t], -1)
        costs = np.where(purchase.mask, replay.costs[t], np.nan)
        seen = Observation(codes, costs, purchase.purpose)
        action = policy.choose_action(seen)
        assert action == twin.choose_action(
            tuple(codes.tolist()), draws[t].tolist(), purpose, (0, 1)
        )
        late.append((seen, purpose, action, float(replay.rewards[t, action])))
        if len(late) > 25:
            before, purpose, action, reward = late.pop(int(rng.integers(25)))
            policy.update(before, action, reward)
            twin.update(
                tuple(before.codes.tolist()), before.costs.tolist(), action, reward, purpose
            )
    assert_same_sets(policy, twin)


@pytest.mark.parametrize("limits", [{"max_features": 1}, {"max_features": 2, "budget": 0.02}])
def test_the_twin_within_limits(limits: dict[str, Any]) -> None:
    rounds = 500 if COMPILED else 60
    world = World.random(levels=(2, 3, 2), n_actions=2, rounds=rounds, prices=(0.01, 0.04), seed=2)
    policy, twin = played_like_the_twin(world, 0, **limits)
    assert max(len(features) for features in twin.tables.sets) == limits["max_features"]
    assert policy._state.book["spent"][0] == pytest.approx(twin.spent)
    if "budget" in limits:
        assert twin.spent <= limits["budget"] * rounds + 2 * 0.05


@statistical
def test_the_twin_with_rewards_that_are_not_0_or_1() -> None:
    world = World.random(levels=(2, 3), n_actions=3, rounds=800, reward_noise="beta", seed=1)
    policy, twin = played_like_the_twin(world, 0)
    assert policy._state.spread == pytest.approx(np.array(twin.spread))
    assert min(twin.phi(a) for a in range(3)) < 0.9


@statistical
@pytest.mark.parametrize("placement", [(-90.0, 60.0), (-900.0, 120.0)])
def test_the_twin_beside_a_safe_action(placement: tuple[float, float]) -> None:
    world = safe_action(1, turns=1, low=placement[0], high=placement[1], rounds=900)
    policy, twin = played_like_the_twin(world, 0)
    assert (twin.span < 0.5) == (placement[0] == -900)
    assert [twin.is_sure(a) for a in range(2)] == [True, False]
    assert policy._state.scale[:2].tolist() == pytest.approx([twin.low, twin.span])


@statistical
def test_the_twin_when_a_better_regime_returns() -> None:
    policy, twin = played_like_the_twin(winter(4, turns=2, rounds=2_400), 2)
    kinds = [event.kind for event in policy.events]
    assert kinds.count("restart") == twin.restarts
    assert kinds.count("regime restored") == twin.restored >= 1
    assert twin.recalled >= 3
    assert policy._state.regimes.trials[:2].tolist() == [twin.rightly, twin.wrongly]


@statistical
def test_the_twin_looks_again_where_nothing_seems_worth_buying() -> None:
    """Both actions pay .2 whatever the features are, so much could be gained."""
    world = World(
        Problem.anonymous((2, 2), 2),
        probabilities=np.full((2, 2), 0.25),
        rewards=np.full((1, 2, 2, 2), 0.2),
        costs=[[0.03, 0.03]],
        rounds=2_400,
    )
    policy, twin = played_like_the_twin(world, 3)
    assert twin.restarts >= 1
    assert twin.wait >= 2 * FIRST_WAIT
    assert policy._state.idle.tolist() == [twin.idle, twin.wait]


@statistical
@pytest.mark.parametrize("placement", [(-900.0, 120.0), (-5_000.0, 5_000.0), (-90.0, 4_000.0)])
def test_the_declared_range_hardly_matters(placement: tuple[float, float]) -> None:
    """The first ten rounds use the declared range, so runs are alike, but not the same."""
    gains = []
    for low, high in ((-90.0, 60.0), placement):
        make = partial(safe_action, low=low, high=high, rounds=4_000)
        runs = simulate("scout", make, seeds=range(12), workers=1)
        gains.append((low + (high - low) * runs.gains).mean())
    assert gains[0] > 14
    assert gains[1] == pytest.approx(gains[0], rel=0.05)


@statistical
def test_a_turn_beside_a_safe_action_is_noticed() -> None:
    """Declining gains nothing; the oracle gains about 21 per round."""
    runs = simulate("scout", partial(safe_action, turns=3), seeds=range(8), workers=1)
    assert (-90 + 150 * runs.gains).mean() > 16


def gamble(seed: int, rounds: int = 20_000) -> tuple[float, int]:
    """Return what Scout loses a round beside a safe action, and how often it starts afresh.

    Declining gives exactly .88; approving gives 1, or 0 in one case of four of the worse kind.
    """
    rng = np.random.default_rng(seed)
    kinds = rng.integers(2, size=rounds)
    repaid = rng.random(rounds) < np.where(kinds == 0, 0.97, 0.75)
    rewards = np.column_stack([np.full(rounds, 0.88), repaid.astype(float)])
    world = Replay(kinds[:, None], rewards, np.full((rounds, 1), 0.001))
    policy = Scout(world.problem, seed=seed)
    run = play(policy, world)
    best = np.where(kinds == 0, 0.97, 0.88).mean()
    return best - run.rewards.mean(), sum(event.kind == "restart" for event in policy.events)


@statistical
def test_a_safe_action_beside_a_gamble_hides_nothing() -> None:
    losses, restarts = zip(*(gamble(seed) for seed in range(1, 13)), strict=True)
    # Nothing changes. False alarms are one in several thousand rounds, and the regime is restored.
    assert np.mean(restarts) <= 5
    assert np.mean(losses) < 0.0125  # a quarter of what never approving loses


LENDING = Problem(
    features=(Feature("income", ("low", "high")), Feature("history", ("none", "clean", "arrears"))),
    actions=("decline", "refer", "approve"),
)


def decide(agent: Agent, rng: np.random.Generator, rounds: int) -> list[Any]:
    """Let the agent approve cases with a clean history, if it learns to; rewards come late."""
    seen, late = [], []
    for _ in range(rounds):
        truth = {"income": "high", "history": ("none", "clean", "arrears")[int(rng.integers(3))]}
        free = {"income": "low"} if rng.random() < 0.3 else {}
        case = agent.ask(free=free)
        bought = {name: truth[name] for name in case.buy}
        if case.buy:
            case = agent.observe(case, bought, dict.fromkeys(bought, 0.02))
        good = truth["history"] == "clean"
        reward = float(rng.random() < (0.9 if good == (case.action == "approve") else 0.2))
        seen.append((sorted(bought.items()), case.action))
        late.append((case, reward))
        if len(late) > 3:
            agent.tell(*late.pop(int(rng.integers(3))))
    return seen


def test_a_saved_agent_goes_on_bit_for_bit(tmp_path: Path) -> None:
    agent = Agent(LENDING, "scout", seed=3)
    decide(agent, np.random.default_rng(0), 150)
    agent.save(tmp_path / "agent.thrifty")
    loaded = Agent.load(tmp_path / "agent.thrifty")
    assert loaded.open_cases == agent.open_cases
    one, other = (decide(either, np.random.default_rng(1), 150) for either in (agent, loaded))
    assert one == other
    for name, array in agent.policy.get_state().items():
        np.testing.assert_array_equal(array, loaded.policy.get_state()[name])


# Edges.


def table(levels: tuple[int, ...], n_actions: int, rounds: int, price: float) -> Replay:
    rng = np.random.default_rng(0)
    problem = Problem.anonymous(levels, n_actions)
    return Replay(
        rng.integers(0, levels, size=(rounds, len(levels))),
        (rng.random((rounds, n_actions)) < 0.5).astype(float),
        np.full((rounds, len(levels)), price),
        problem=problem,
    )


@pytest.mark.parametrize(
    ("levels", "n_actions", "price"),
    [
        pytest.param((2,), 2, 0.05, id="one feature"),
        pytest.param((1,), 2, 0.05, id="one level"),
        pytest.param((1, 1, 1), 3, 0.01, id="features that tell nothing"),
        pytest.param((2, 3), 1, 0.05, id="one action"),
        pytest.param((2, 3), 2, 0.0, id="for nothing"),
        pytest.param((2, 3), 2, 1.0, id="as dear as can be"),
        pytest.param((500, 2), 2, 0.01, id="many levels"),
        pytest.param((2,) * 40, 2, 0.001, id="many features"),
        pytest.param((2,) * 63, 2, 0.001, id="as many features as can be"),
        pytest.param((20,) * 8, 3, 0.001, id="parents of too many partial states"),
    ],
)
def test_odd_problems(levels: tuple[int, ...], n_actions: int, price: float) -> None:
    rounds = (200 if len(levels) < 40 else 20) if COMPILED else 6
    world = table(levels, n_actions, rounds, price)
    run = simulate("scout", world, seeds=[0, 1])
    assert run.actions.max() < n_actions
    assert np.isfinite(run.gains).all()


def test_more_features_than_bits_are_refused() -> None:
    Scout(Problem.anonymous((2,) * 63, 2))
    with pytest.raises(InvalidParameter, match="63-bit"):
        Scout(Problem.anonymous((2,) * 64, 2))


def observed(rng: np.random.Generator, purchase: Purchase, free: float) -> Observation:
    """Return an observation of what was bought, and of each other feature with a chance `free`."""
    known = purchase.mask | (rng.random(2) < free)
    costs = np.where(purchase.mask, 0.05, 0.0)
    return Observation(
        np.where(known, rng.integers(0, [2, 3]), -1),
        np.where(known, costs, np.nan),
        purchase.purpose,
    )


def test_only_available_actions_are_taken() -> None:
    policy, rng = Scout(PROBLEM, seed=0), np.random.default_rng(0)
    for _ in range(300 if COMPILED else 80):
        available = rng.random(3) < 0.5
        if not available.any():
            available[rng.integers(3)] = True
        seen = observed(rng, policy.choose_features(), 0.0)
        action = policy.choose_action(seen, available=available)
        assert available[action]
        policy.update(seen, action, float(rng.random() < 0.5))


def test_features_known_for_free_are_learnt_from_and_used() -> None:
    policy, rng = Scout(PROBLEM, seed=0), np.random.default_rng(0)
    policy.choose_features()
    exploit = 0  # the empty set in use
    for _ in range(60):
        code = int(rng.integers(2))
        seen = Observation([code, -1], [0.0, np.nan], exploit)
        action = policy.choose_action(seen)
        policy.update(seen, action, float(action == code))
    tables = policy._state.subsets
    assert tables.pulls[0].sum() == 0
    assert tables.pulls[1:3].sum() == 60
    for _ in range(100 if COMPILED else 40):
        seen = observed(rng, policy.choose_features(), 0.5)
        policy.update(seen, policy.choose_action(seen), float(rng.random() < 0.5))


def test_updates_may_come_late_in_any_order_or_never() -> None:
    policy, rng = Scout(PROBLEM, seed=0), np.random.default_rng(0)
    open_rounds: list[tuple[Observation, int]] = []
    for _ in range(400 if COMPILED else 100):
        seen = observed(rng, policy.choose_features(), 0.2)
        open_rounds.append((seen, policy.choose_action(seen)))
        if len(open_rounds) > 20:
            late, action = open_rounds.pop(int(rng.integers(20)))
            if rng.random() < 0.8:
                policy.update(late, action, float(rng.random() < 0.5))
    values = policy.action_values(Observation([1, 2], [0.0, 0.0]))
    assert values is not None
    assert ((values >= 0) & (values <= 1)).all()


def test_values_are_means() -> None:
    policy = Scout(PROBLEM, seed=0)
    nothing = Observation([-1, -1], [np.nan, np.nan])
    values = policy.action_values(nothing)
    assert values is not None
    assert values.tolist() == [0.5, 0.5, 0.5]


# How well it does.


@statistical
def test_the_gain_on_the_published_arrays() -> None:
    # The oracle gains 8,781, SW-UCB 6,794.
    runs = simulate("scout", nursery.published(), seeds=range(3))
    assert runs.gains.sum(axis=1).min() > 7700


def restarts_in(world: World, seed: int) -> list[int]:
    """Return the rounds in which Scout restarts."""
    policy = Scout(world.problem, seed=policy_seed(seed))
    play(policy, world.draw(environment_seed(seed)))
    state = policy._state
    events = state.events[: state.happened[0]]
    rounds: list[int] = events[events[:, 1] == kernel.RESTART, 0].tolist()
    return rounds


@statistical
def test_it_restarts_soon_after_an_abrupt_change() -> None:
    # The action that paid 0.9 pays 0.1: a handful of rewards of 0 tells. A false alarm in some runs
    # is allowed for, as below.
    found = [restarts_in(recurring(2000, 1000), seed) for seed in range(8)]
    assert all(any(1000 <= t < 1040 for t in rounds) for rounds in found)
    assert sum(t < 1000 for rounds in found for t in rounds) <= 2


@statistical
def test_it_hardly_ever_restarts_in_a_stationary_world() -> None:
    # With probabilities known, a run of 2,000 rounds would restart twice at the most in the mean:
    # see the test of false alarms in tests/kernels/test_change_detection.py.
    worlds = [recurring(2000, 2000), World.random(levels=(3, 2), n_actions=3, rounds=2000, seed=4)]
    found = [restarts_in(world, seed) for world in worlds for seed in range(6)]
    assert sum(len(rounds) for rounds in found) <= 3


@statistical
def test_it_buys_the_feature_that_matters_and_not_the_other() -> None:
    world = recurring(4000, 4000)
    runs = simulate("scout", world, seeds=range(5))
    bought = runs.observed[:, 2000:].mean(axis=(0, 1))
    assert bought[0] > 0.9
    assert bought[1] < 0.2


@statistical
def test_two_of_twenty_features_that_matter_only_together_are_found() -> None:
    x = np.indices((2, 2))
    one = np.where(x[0] == x[1], 0.85, 0.15)
    world = World(
        Problem.anonymous((2,) * 20, 2),
        probabilities=np.full((2, 2), 1 / 4),
        rewards=[np.stack([one, 1 - one])],
        costs=[[0.01] * 20],
        rounds=3000,
        irrelevant={i: [0.5, 0.5] for i in range(20) if i not in (4, 13)},
    )
    runs = simulate("scout", world, seeds=range(4))
    bought = runs.observed[:, 2000:].mean(axis=1)
    assert (bought[:, [4, 13]] > 0.8).all()
    assert (np.delete(bought, [4, 13], axis=1) < 0.3).all()


@statistical
def test_three_of_twenty_features_are_found() -> None:
    worlds = [many_features(seed, n_features=20, n_levels=2, rounds=10_000) for seed in range(4)]
    for seed, world in enumerate(worlds):
        run = simulate("scout", world, seeds=[seed])[0]
        relevant = np.array(world.truth.relevant, dtype=bool)
        bought = run.observed[5000:].mean(axis=0)
        assert bought[relevant].mean() > 3 * bought[~relevant].mean()
