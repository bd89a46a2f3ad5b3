"""Scout's own decisions: which kind of round, what it buys, what it learns from it."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive_scout
from thrifty.kernels.runtime.arrays import NONE
from thrifty.kernels.runtime.steps import BoundSteps
from thrifty.kernels.scout import change_detection, exploration, prices, steps, subsets
from thrifty.kernels.scout.exploration import YOUNG
from thrifty.kernels.scout.state import MAX_EVENTS, initial
from thrifty.kernels.scout.steps import EXPLOIT, EXPLORE, KINDS, PROBE

Floats = NDArray[np.float64]
repeatable = settings(derandomize=True, deadline=None, max_examples=60)

epsilon = numba.njit(lambda state, explored: exploration.chance_to_explore(state, explored))
probes = numba.njit(lambda state, chance: exploration.chance_to_probe(state, chance))
bind = numba.njit(lambda tables, j, mask: subsets.bind(tables, j, mask))
much_to_gain = numba.njit(lambda state: exploration.much_to_gain(state))
ticket_of = numba.njit(lambda tables, j: subsets.ticket_of(tables, j))
explored = numba.njit(lambda state, mask: exploration.fill_explored(state, mask))
keep_some = numba.njit(lambda mask, kept, most, draw: steps._keep_some(mask, kept, most, draw))
basis = numba.njit(lambda state, purpose, observed: steps._basis(state, purpose, observed))
blind_action = numba.njit(
    lambda state, available, draw: steps._blind_action(state, available, draw)
)
note_event = numba.njit(lambda state, kind, feature: steps._note_event(state, kind, feature))

LEVELS = (2, 3, 2)
SETS = naive_scout.sets_that_fit(LEVELS, 3)
ALL = np.ones(3, np.bool_)
NOTHING = np.full(3, NONE)


def packed(state: Any) -> Any:
    """Return the state as compiled steps take it."""
    return BoundSteps(state).argument


def made(
    levels: tuple[int, ...] = LEVELS,
    n_actions: int = 3,
    *,
    max_features: int | None = None,
    budget: float | None = None,
    **book: float,
) -> Any:
    """Return a state whose book says this."""
    state = initial(np.array(levels, np.int64), n_actions, max_features=max_features, budget=budget)
    for name, value in book.items():
        state.book[name] = value
    return state


def priced(state: Any, *means: float) -> Any:
    for i, mean in enumerate(means):
        state.prices[i]["mean"], state.prices[i]["seen"] = mean, 10
    return state


def taught(state: Any) -> set[naive_scout.Set]:
    """Return the sets whose tables hold anything."""
    offsets = state.subsets.offsets
    return {
        members
        for j, members in enumerate(SETS)
        if state.subsets.pulls[offsets[j] : offsets[j + 1]].any()
    }


def learn(
    state: Any, kind: int, in_use: int, codes: list[int], action: int = 0, reward: float = 1.0
) -> None:
    seen = np.array(codes)
    costs = np.where(seen >= 0, 0.05, np.nan)
    steps.update(packed(state), seen, costs, action, reward, KINDS * in_use + kind)


# How often to explore.


def test_the_first_round_explores() -> None:
    assert epsilon(made(age=0), ALL) == 1.0


@pytest.mark.parametrize("price", [0.1, 0.4])
def test_a_young_policy_explores_by_age_doubt_and_price_alone(price: float) -> None:
    age, certainty = YOUNG, 0.75
    state = priced(made(age=age, certainty=certainty, value=0.99), price, price, price)
    chance = exploration.EPSILON * (1 + exploration.AMBIGUITY * (1 - certainty)) / math.sqrt(age)
    cheap = (
        min(1, exploration.LOSS / (3 * price + exploration.YOUNG_LOSS)) ** exploration.YOUNG_CAUTION
    )
    assert (cheap < 1) == (price == 0.4)
    assert epsilon(state, ALL) == pytest.approx(
        cheap * min(1, max(exploration.MIN_EPSILON, chance))
    )


def test_a_round_that_may_buy_few_features_is_as_cheap_as_that() -> None:
    prices = (0.4, 0.4, 0.4)
    all_of_them = priced(made(age=YOUNG + 1, value=0.5), *prices)
    one_of_them = all_of_them._replace(limits=all_of_them.limits._replace(features=1))
    usual = by_formula(YOUNG + 1, all_of_them.book["certainty"][0], 0.5, 0.5, 1.2)
    assert epsilon(all_of_them, ALL) == pytest.approx(usual)
    usual = by_formula(YOUNG + 1, all_of_them.book["certainty"][0], 0.5, 0.5, 0.4)
    assert epsilon(one_of_them, ALL) == pytest.approx(usual)


NOTHING_MATTERS = 1 / 4
"""The weight of the empty set of three features, by the prior."""


def by_formula(
    age: int,
    certainty: float,
    value: float,
    blind: float,
    price: float,
    nothing_matters: float = NOTHING_MATTERS,
    *,
    doubted_too: bool = True,
) -> float:
    chance = exploration.EPSILON * (1 + exploration.AMBIGUITY * (1 - certainty)) / math.sqrt(age)
    doubted = min(1, max(0, max(0, 1 - value) / exploration.CAREFUL - 1)) if doubted_too else 0.0
    matters = max(exploration.MIN_MATTERING, (1 - nothing_matters) ** (1 - doubted / 2))
    chance = min(exploration.MAX_EPSILON, max(exploration.MIN_EPSILON, chance) * matters)
    loss = value - blind + price
    scope = min(1, max(0, 1 - value) / (exploration.HEADROOM * max(loss, exploration.MIN_LOSS)))
    cheap = (exploration.LOSS / max(loss, exploration.LOSS)) ** exploration.CAUTION
    return float(chance * scope * cheap)


@repeatable
@given(
    st.integers(YOUNG + 1, 10**6),
    st.floats(0, 1),
    st.floats(-1, 1.2),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0.001, 1),
)
def test_later_headroom_and_loss_count_too(
    age: int, certainty: float, value: float, blind: float, price: float, nothing: float
) -> None:
    state = priced(made(age=age, certainty=certainty, value=value), price, 0.1, 0.2)
    state.blind[:] = [10 * blind, 10.0]
    state.weights.log[0] = math.log(nothing)
    found = epsilon(state, np.array([True, False, True]))
    expected = by_formula(age, certainty, value, blind, price + 0.2, nothing)
    assert found == pytest.approx(expected)
    assert 0 <= found <= exploration.MAX_EPSILON


def test_what_can_be_gained_is_compared_with_what_exploring_loses() -> None:
    # A sure reward of .9, and a gamble that may be better: little to gain, little to lose.
    little = by_formula(400, 0.5, 0.9, 0.9, 0.1, 0)
    assert little == pytest.approx(by_formula(400, 0.5, 0.5, 0.5, 0.5, 0))
    assert by_formula(400, 0.5, 0.9, 0.9, 0.5, 0) == pytest.approx(little / 4)


def test_nothing_is_explored_where_nothing_can_be_gained() -> None:
    assert epsilon(made(age=YOUNG + 1, value=1.0), ALL) == 0.0


def test_doubt_does_not_count_while_only_sure_actions_are_exploited() -> None:
    state = priced(made(age=400, certainty=0.5, value=0.6), 0.1, 0.1, 0.1)
    state.variety["seen"], state.variety["variance"] = 100.0, [0.0, 0.2, 0.2]
    state.habits[:] = [0.8, 0.1, 0.1]
    awake = epsilon(state, ALL)
    state.habits[:] = [0.95, 0.05, 0.0]
    asleep = by_formula(400, 1.0, 0.6, 0.5, 0.3, doubted_too=False)
    assert epsilon(state, ALL) == pytest.approx(asleep) != awake
    state.book["certainty"] = 0.1
    assert epsilon(state, ALL) == pytest.approx(asleep)


def test_rewards_larger_than_any_seen_are_possible_within_the_declared_range() -> None:
    state = priced(made(age=400, certainty=1.0, value=1.0), 0.1, 0.1, 0.1)
    assert epsilon(state, ALL) == 0.0
    state.scale[:2] = 0.2, 0.5
    assert epsilon(state, ALL) > 0.0
    state.scale[:2] = 0.5, 0.5
    assert epsilon(state, ALL) == 0.0


def test_exploring_is_rarer_the_older_the_surer_and_the_dearer() -> None:
    often = by_formula(400, 0.5, 0.6, 0.5, 0.1)
    assert by_formula(1600, 0.5, 0.6, 0.5, 0.1) == pytest.approx(often / 2)
    assert by_formula(400, 0.9, 0.6, 0.5, 0.1) < often
    assert by_formula(400, 0.5, 0.6, 0.5, 0.1 + 2 * exploration.LOSS) < often


# What to explore.


def test_a_second_look_needs_headroom_and_rare_changes() -> None:
    # The hazard is (restarts + 1/2) / (round + 1000), and may be .001.
    for value, restarts, looks in ((0.4, 3, True), (0.5, 3, False), (0.4, 4, False)):
        state = priced(made(value=value, restarts=restarts, round=3_000), 0.05, 0.05, 0.05)
        assert much_to_gain(packed(state)) == looks


def bought(state: Any) -> list[bool]:
    mask = np.zeros(3, np.bool_)
    explored(state, mask)
    return [bool(bought) for bought in mask]


def test_features_dearer_than_the_headroom_are_left_out_later() -> None:
    dear = priced(made(age=YOUNG + 1, value=0.8), 0.1, 0.3, 0.19)
    assert bought(dear) == [True, False, True]
    dear.book["age"] = YOUNG
    assert bought(dear) == [True, True, True]


def test_a_feature_never_seen_is_explored() -> None:
    state = priced(made(age=YOUNG + 1, value=1.0), 0.1, 0.3)
    assert bought(state) == [False, False, True]


# Which kind of round.


def kind_of(state: Any, draw: float) -> tuple[int, list[bool]]:
    mask = np.zeros(3, np.bool_)
    purpose = steps.choose_features(packed(state), NOTHING, np.array([draw, 0.5]), mask)
    assert purpose // KINDS == state.book["in_use"][0]
    return purpose % KINDS, mask.tolist()


def settled() -> Any:
    """Return a state that uses the second feature and finds the third one too dear."""
    state = made(age=401, certainty=0.9, value=0.7, in_use=SETS.index((1,)))
    return priced(state, 0.05, 0.05, 0.4)


def test_explore_then_probe_then_exploit_as_the_draw_grows() -> None:
    chance = by_formula(401, 0.9, 0.7, 0.5, 0.1)
    edge = chance * (1 + exploration.PROBES)
    assert kind_of(settled(), 0.999 * chance) == (EXPLORE, [True, True, False])
    assert kind_of(settled(), 1.001 * chance) == (PROBE, [True, True, False])
    assert kind_of(settled(), 0.999 * edge) == (PROBE, [True, True, False])
    assert kind_of(settled(), 1.001 * edge) == (EXPLOIT, [False, True, False])


def test_a_probe_buys_the_set_in_use_however_dear() -> None:
    state = settled()
    state.book["in_use"] = SETS.index((2,))
    state.book["probes_due"] = 1
    assert kind_of(state, 0.99) == (PROBE, [True, True, True])


def kept(mask: list[bool], basis: int, most: int, draw: float) -> list[bool]:
    out = np.array(mask)
    keep_some(out, np.int64(basis), most, draw)
    return [bool(bought) for bought in out]


def test_a_wide_round_buys_no_more_than_it_may() -> None:
    assert kept([True, True, True], 0, 3, 0.3) == [True, True, True]
    assert kept([False, True, False], 0b001, 3, 0.3) == [False, True, True]
    for draw in np.linspace(0, 1, 50, endpoint=False):
        some = kept([True, True, True], 0b010, 2, float(draw))
        assert some[1]
        assert sum(some) == 2
        twin = naive_scout.some_of((0, 1, 2), (1,), 2, float(draw))
        assert tuple(np.flatnonzero(some).tolist()) == twin


def test_each_feature_is_as_likely_to_be_bought() -> None:
    # 3,000 draws of 2 out of 3: a share of 2/3, four standard errors are 0.035.
    draws = np.random.default_rng(0).random(3000)
    shares = np.mean([kept([True] * 3, 0, 2, float(draw)) for draw in draws], axis=0)
    assert shares.tolist() == pytest.approx([2 / 3] * 3, abs=0.035)


def test_nothing_is_bought_when_too_much_was_spent() -> None:
    state = made(budget=0.05, age=50, round=50, spent=2.6)
    mask = np.ones(3, np.bool_)
    assert steps.choose_features(packed(state), NOTHING, np.zeros(2), mask) == steps.SAVE
    assert not mask.any()
    learn(state, steps.SAVE, 0, [-1, -1, -1])
    assert taught(state) == {()}
    learn(state, steps.SAVE, 0, [-1, -1, -1])
    assert state.book["spent"][0] == 2.6
    state.book["spent"] = 2.4
    assert steps.choose_features(packed(state), NOTHING, np.zeros(2), mask) % KINDS == EXPLORE


# What the action rests on.


def test_the_basis_of_the_three_kinds() -> None:
    state, j = made(), SETS.index((1,))
    assert basis(state, KINDS * j + EXPLORE, np.int64(0b111)) == 0
    assert basis(state, KINDS * j + PROBE, np.int64(0b111)) == 0b010
    assert basis(state, KINDS * j + EXPLOIT, np.int64(0b010)) == 0b010
    # More was known for free, and is used; less came than was bought.
    assert basis(state, KINDS * j + EXPLOIT, np.int64(0b011)) == 0b011
    assert basis(state, KINDS * j + PROBE, np.int64(0b100)) == 0


def test_what_has_no_table_is_not_used() -> None:
    state, n = made((2,) * 40, 2), 40
    j = 1  # the first feature alone
    everything = np.int64(2**n - 1)
    assert basis(state, KINDS * j + EXPLOIT, everything) == state.subsets.masks[j] == 1 << (n - 1)


# Very many features.


def growing(**book: Any) -> Any:
    """Return a state with tables of single features, and room for three larger sets."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MAX_MEANS", "MAX_MEANS_WHEN_GROWING"):
            patch.setattr(subsets, name, 24)
        patch.setattr(subsets, "MAX_GROWN_SETS", 3)
        return made(**book)


def test_a_campaign_comes_first_until_it_is_clear_what_matters() -> None:
    doubtful = {"age": YOUNG + 1, "value": 0.5, "certainty": 0.99 - exploration.CAMPAIGN_DOUBT}
    loss = 0.3  # the prices: by value and the mean of blind rewards exploring loses nothing
    state = priced(growing(**doubtful), 0.1, 0.1, 0.1)
    least = exploration.HEADROOM * loss
    rounds = exploration.CAMPAIGN * min(1, 0.5 / least) * min(1, exploration.CAMPAIGN_LOSS / loss)
    state.wide_rounds.clock[:] = [math.ceil(rounds) + 6, 7]
    assert epsilon(state, ALL) == exploration.MAX_EPSILON
    state.wide_rounds.clock[0] += 1
    nothing = math.exp(state.weights.log[0])
    usual = by_formula(YOUNG + 1, doubtful["certainty"], 0.5, 0.5, loss, nothing, doubted_too=False)
    assert epsilon(state, ALL) == pytest.approx(usual)
    state.wide_rounds.clock[0] = 7
    state.book["certainty"] = 1.01 - exploration.CAMPAIGN_DOUBT
    assert epsilon(state, ALL) < exploration.MAX_EPSILON


def test_with_very_many_features_a_dear_round_is_feared_less() -> None:
    loss = 2 * exploration.GROWING_LOSS
    sure = {"age": 400, "value": 0.5, "certainty": 1.0}
    state = priced(growing(**sure), loss, 0.0, 0.0)
    nothing = math.exp(state.weights.log[0])
    cheap = exploration.GROWING_HEADROOM / exploration.HEADROOM
    usual = by_formula(400, 1.0, 0.5, 0.5, cheap, nothing, doubted_too=False)
    assert epsilon(state, ALL) == pytest.approx(usual / 2)


@pytest.mark.parametrize("value", [0.5, 0.4])
def test_a_campaign_that_loses_nothing_is_not_put_off(value: float) -> None:
    # For nothing, where exploring gains as much as exploiting does, or more.
    state = priced(growing(age=YOUNG + 1, value=value, certainty=0.1), 0.0, 0.0, 0.0)
    assert epsilon(state, ALL) == exploration.MAX_EPSILON


def test_of_many_features_probes_are_due_to_what_can_be_gained() -> None:
    age, value = 400, 1 - exploration.GROWING_HEADROOM / 2
    state = growing(age=age, value=value)
    expected = exploration.GROWING_PROBES / 4 / math.sqrt(age)
    assert probes(state, 0.0) == pytest.approx(expected)
    assert probes(state, 1.0) == pytest.approx(max(exploration.PROBES, expected))
    state.book["age"] = YOUNG
    assert probes(state, 0.1) == pytest.approx(exploration.PROBES * 0.1)
    assert probes(made(age=age, value=value), 0.1) == pytest.approx(exploration.PROBES * 0.1)


def with_pair(place: int = 4, mask: int = 0b110) -> Any:
    """Return a state in which a pair has grown, its place's second set."""
    state = growing(age=50)
    for grown_set in (0b011, mask):
        bind(state.subsets, place, grown_set)
    return state


def test_a_late_reward_of_a_set_that_lost_its_place_is_taken_to_rest_on_all_that_was_seen() -> None:
    state = with_pair()
    ticket = int(ticket_of(state.subsets, 4))
    assert basis(state, KINDS * ticket + EXPLOIT, np.int64(0b110)) == 0b110
    assert basis(state, KINDS * ticket + PROBE, np.int64(0b111)) == 0b110
    bind(state.subsets, 4, 0b101)
    for kind, codes in ((EXPLOIT, [1, 2, -1]), (PROBE, [1, 2, 1])):
        learn(state, kind, ticket, codes)
        assert not state.subsets.pulls.any()  # neither of these sets has tables
    learn(state, PROBE, ticket, [1, -1, 1])
    first = int(state.subsets.offsets[4])
    assert state.subsets.pulls[first + 3, 0] == state.subsets.pulls.sum() == 1


def test_what_is_known_for_free_is_used_only_if_its_table_stays() -> None:
    # The action must rest on the same features when it is chosen and when its reward comes.
    state, j = with_pair(), SETS.index((0,))
    before = basis(state, KINDS * j + EXPLOIT, np.int64(0b110))
    bind(state.subsets, 4, 0b101)
    assert basis(state, KINDS * j + EXPLOIT, np.int64(0b110)) == before == 0b100


def test_a_set_that_grows_is_on_the_short_list_at_once_with_a_weight_below_1() -> None:
    rng, state = np.random.default_rng(0), growing()
    grown: list[int] = []
    for _ in range(40):
        codes, action = rng.integers(0, [2, 3, 2]).tolist(), int(rng.integers(3))
        learn(state, EXPLORE, 0, codes, action, float((codes[0] + codes[2]) % 2 == action % 2))
        assert np.exp(state.weights.log).sum() == pytest.approx(1, abs=0.01)
        grown = state.subsets.masks[4:].tolist()
        listed = state.weights.listed[: state.weights.length[0]]
        assert (state.subsets.masks[listed] != subsets.NO_SET).all()
    assert 0b101 in grown
    assert 4 + grown.index(0b101) in listed


# Blind actions.


def shares(state: Any, available: list[bool]) -> Floats:
    """Return how often each action is chosen, over a fine grid of draws."""
    draws = (np.arange(12_000) + 0.5) / 12_000
    chosen = [blind_action(state, np.array(available), draw) for draw in draws]
    return np.bincount(chosen, minlength=len(available)) / len(draws)


def test_blind_actions_are_uniform_at_first() -> None:
    state = made(age=YOUNG)
    state.habits[:] = [0.7, 0.2, 0.1]
    assert shares(state, [True] * 3).tolist() == pytest.approx([1 / 3] * 3)
    assert shares(state, [False, True, True]).tolist() == pytest.approx([0, 1 / 2, 1 / 2])


def test_later_half_of_them_follow_the_habits() -> None:
    state = made(age=YOUNG + 1)
    state.habits[:] = [0.7, 0.2, 0.1]
    half_and_half = [1 / 6 + 0.35, 1 / 6 + 0.1, 1 / 6 + 0.05]
    assert shares(state, [True] * 3).tolist() == pytest.approx(half_and_half, abs=2e-4)
    without_the_first = [0, 1 / 4 + 1 / 3, 1 / 4 + 1 / 6]
    assert shares(state, [False, True, True]).tolist() == pytest.approx(without_the_first, abs=2e-4)


def test_available_actions_without_habits_are_uniform() -> None:
    state = made(age=YOUNG + 1)
    state.habits[:] = [1.0, 0.0, 0.0]
    assert shares(state, [False, True, True]).tolist() == pytest.approx([0, 1 / 2, 1 / 2], abs=2e-4)


def test_habits_are_what_was_exploited() -> None:
    state = made()
    learn(state, EXPLOIT, 0, [-1, -1, -1], action=2)
    kept = steps.ACTION_MEMORY / 3
    assert state.habits.tolist() == pytest.approx([kept, kept, kept + 1 - steps.ACTION_MEMORY])
    learn(state, EXPLORE, 0, [0, 0, 0], action=1)
    assert state.habits.sum() == pytest.approx(1)
    assert state.habits[0] == pytest.approx(kept)


# What a round teaches.


def test_each_kind_teaches_the_sets_of_its_interval() -> None:
    j = SETS.index((1,))
    for kind, codes, expected in (
        (EXPLOIT, [-1, 2, -1], {(1,)}),
        (PROBE, [0, 2, -1], {(1,), (0, 1)}),
        (EXPLORE, [0, 2, -1], {(), (0,), (1,), (0, 1)}),
        (EXPLOIT, [-1, 2, 1], {(1, 2)}),
    ):
        state = made()
        learn(state, kind, j, codes)
        assert taught(state) == expected


def test_only_blind_rewards_count_for_the_blind_mean() -> None:
    state = made()
    learn(state, EXPLOIT, 0, [-1, -1, -1])
    learn(state, PROBE, 0, [0, 0, 0])
    assert state.blind.tolist() == [0.5, 1.0]
    learn(state, EXPLORE, 0, [0, 0, 0], reward=1.0)
    assert state.blind.tolist() == [1.5, 2.0]
    assert state.book["age"][0] == state.book["round"][0] == 3


def test_wide_rounds_are_written_down_and_ask_for_a_new_choice_when_no_longer_young() -> None:
    state = made()
    learn(state, EXPLOIT, 0, [-1, -1, -1])
    assert state.wide_rounds.clock[0] == 0
    learn(state, EXPLORE, 0, [0, 2, 1])
    assert state.wide_rounds.states[0].tolist() == [0, 2, 1]
    assert not state.book["stale"][0]
    state.book["age"] = YOUNG + 1
    learn(state, PROBE, 0, [0, 2, 1])
    assert state.book["stale"][0]


# What makes it forget.


def events(state: Any) -> list[list[int]]:
    rows: list[list[int]] = state.events[: state.happened[0]].tolist()
    return rows


def surprised(state: Any) -> int:
    """Let a well-known action of the empty set fail until it restarts; return after how many."""
    state.subsets.pulls[0, 0] = state.subsets.sums[0, 0] = subsets.MEMORY
    for failures in range(1, 100):
        learn(state, EXPLOIT, 0, [-1, -1, -1], reward=0.0)
        if state.book["restarts"][0]:
            return failures
    raise AssertionError("no restart")


def test_a_restart_forgets_all_but_this_round() -> None:
    state = made(age=50)
    learn(state, EXPLORE, 0, [0, 0, 0], action=1)
    state.weights.log[:] = np.log(np.arange(1, 9) / 36)
    before = state.weights.log.copy()
    failures = surprised(state)
    assert state.subsets.pulls.sum() == 1
    assert state.subsets.sums.sum() == 0
    assert not state.subsets.wide_pulls.any()
    assert state.wide_rounds.clock.tolist() == [1, 1]
    assert state.blind.tolist() == [0.5, 1.0]
    assert state.book["age"][0] == 1
    assert state.book["stale"][0]
    assert not state.surprise.sums.any()
    assert events(state) == [[failures, steps.RESTART, NONE]]
    prior = dict(zip(SETS, state.weights.prior.tolist(), strict=True))
    expected = naive_scout.tempered(dict(zip(SETS, before.tolist(), strict=True)), prior)
    assert state.weights.log.tolist() == pytest.approx(list(expected.values()))


def test_few_rewards_are_no_reason_to_be_surprised() -> None:
    state = made()
    state.subsets.pulls[0, 0] = state.subsets.sums[0, 0] = steps.MIN_PULLS_TO_JUDGE - 1e-9
    state.blind[:] = [1.0, 1.0]
    learn(state, EXPLOIT, 0, [-1, -1, -1], reward=0.0)
    assert not state.surprise.sums.any()


def test_a_single_partial_state_is_forgotten_if_only_it_got_worse() -> None:
    state, j = made(age=50), SETS.index((1,))
    state.weights.listed[:2], state.weights.shares[:2] = [0, j], [1e-9, 1.0]
    state.weights.length[0] = 2
    first = int(state.subsets.offsets[j])
    known = subsets.MEMORY / 2
    state.subsets.pulls[first : first + 3] = state.subsets.sums[first : first + 3] = known
    state.subsets.pulls[0] = state.subsets.sums[0] = known
    for _ in range(200):
        for level in (0, 0, 0, 0, 1, 1, 1, 1, 2):
            codes = [-1, level, -1]
            learn(state, EXPLOIT, j, codes, reward=float(level != 2))
            if state.happened[0]:
                assert events(state)[0][1] == steps.ROW_FORGOTTEN
                assert state.subsets.pulls[first + 2].sum() == 1
                assert state.subsets.pulls[first].sum() > known
                return
    raise AssertionError("nothing was forgotten")


def test_a_price_that_jumps_asks_for_probes() -> None:
    state = made(age=50)
    for cost in [0.1] * 20 + [0.5] * 10:
        if state.happened[0]:
            break
        costs = np.array([np.nan, cost, np.nan])
        codes = np.array([-1, 1, -1])
        steps.update(packed(state), codes, costs, 0, 1.0, KINDS * SETS.index((1,)) + EXPLOIT)
    assert events(state)[0][1:] == [steps.PRICE_ALARM, 1]
    assert state.book["probes_due"][0] == steps.PROBES_AFTER_ALARM
    assert state.book["stale"][0]
    for _ in range(steps.PROBES_AFTER_ALARM):
        assert kind_of(state, 0.999999)[0] == PROBE
        learn(state, PROBE, 0, [0, 1, 0])
    assert state.book["probes_due"][0] == 0


def test_a_regime_that_comes_back_is_restored() -> None:
    # The old regime knew by the second feature when action 0 pays, and now it pays so again.
    state, j = made(age=300), SETS.index((1,))
    first = int(state.subsets.offsets[j])
    known = subsets.MEMORY / 2
    state.subsets.pulls[first : first + 3, 0] = known
    state.subsets.sums[first, 0] = known
    state.weights.log[j] = 0.0
    surprised(state)
    for k in range(steps.RECOGNITION_ROUNDS):
        level = k % 3
        learn(state, EXPLORE, 0, [0, level, 0], reward=float(level == 0))
        if state.happened[0] > 1:
            break
    assert events(state)[1][1] == steps.RESTORED
    assert (state.subsets.pulls[first : first + 3, 0] > known).all()
    assert state.book["age"][0] >= min(300, steps.MAX_RESTORED_AGE)
    assert not state.surprise.sums.any()


def test_events_are_kept_in_a_ring() -> None:
    state = made()
    for k in range(MAX_EVENTS + 2):
        state.book["round"] = k
        note_event(state, steps.PRICE_ALARM, 1)
    assert state.happened[0] == MAX_EVENTS + 2
    assert state.events[:3, 0].tolist() == [MAX_EVENTS, MAX_EVENTS + 1, 2]


def test_the_constants_fit_together() -> None:
    assert {EXPLOIT, EXPLORE, PROBE, steps.SAVE, steps.RECALL} <= set(range(KINDS))
    assert steps.GIVEN % KINDS == 0  # so that the flag does not change the kind
    assert 0 < exploration.MIN_EPSILON < exploration.MAX_EPSILON <= 1
    assert all(0 < share < 1 for share in change_detection.WORSE)
    assert prices.SLACK < prices.MAX_STEP
