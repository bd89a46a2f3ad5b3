"""Scout: explore blindly, exploit the set with the largest value, restart after a change.

There are three kinds of rounds, by the interval rule of `subsets`:

- *exploit*: buy I*, the set with the largest value, and act by it; teaches the table of I*.
- *explore*: buy all features that could pay for themselves, act blindly; teaches all their subsets.
- *probe*: buy those features and I*, act by I* alone; teaches all sets that contain I*, and prices.

With a budget there is a fourth kind, *save*: if more was spent than the rounds so far allow, buy
nothing and act without features. While only sure actions are exploited, a fifth kind, *recall*,
buys and acts as in a former regime that was better, in case it is back.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Bools, Floats, Ints, Mask
from thrifty.kernels.runtime.choice import uniform
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.scout import (
    change_detection,
    growth,
    model_weights,
    prices,
    regimes,
    reward_scale,
    set_values,
    subsets,
    sure_actions,
    wide_rounds,
)
from thrifty.kernels.scout.exploration import (
    YOUNG,
    chance_to_explore,
    chance_to_probe,
    chance_to_recall,
    fill_explored,
    grows,
    is_asleep,
    much_to_gain,
)
from thrifty.kernels.scout.likelihood import (
    clip_mean,
    dispersion,
    largest_dispersion,
    note_spread,
)
from thrifty.kernels.scout.reward_scale import SPAN
from thrifty.kernels.scout.state import FIRST_WAIT, MAX_EVENTS, ScoutState, blind_mean
from thrifty.kernels.shared import variates
from thrifty.kernels.shared.masks import contains, fill, mask_of
from thrifty.kernels.shared.variates import beta, stream_of

FEATURE_DRAWS, ACTION_DRAWS = 2, 1
EXPLOIT, EXPLORE, PROBE, SAVE, RECALL = 0, 1, 2, 3, 4
KINDS = 8  # a power of 2, so that GIVEN does not change the kind
GIVEN = 1 << 62
"""A purpose is the kind of the round and the set in use: KINDS * ticket + kind, plus GIVEN if free
values were known."""

ROUNDS_BETWEEN_CHOICES = 10
PROBES_AFTER_ALARM = 3
THOMPSON_PULLS = 2.0
MIN_CHANCE = 0.001
ACTION_MEMORY = 0.98
MIN_PULLS_TO_JUDGE, MIN_PULLS_FOR_SPREAD = 3.0, 8.0
RECOGNITION_ROUNDS = 150
"""A former regime may be recognised for this many rounds after a restart."""
MAX_RESTORED_AGE = 400
USUAL_RATE = 0.01
RESTART, RESTORED, ROW_FORGOTTEN, PRICE_ALARM = 0, 1, 2, 3


@jit
def choose_features(state: ScoutState, known: Ints, draws: Floats, mask: Bools) -> int:
    """Fill the mask for an explore, probe, exploit or save round; return the purpose.

    Free features are not bought, and the set in use is the best one given the free values.
    """
    book = state.book
    if book[0]["stale"] or book[0]["age"] % ROUNDS_BETWEEN_CHOICES == 0:
        _choose_set(state)
    if state.limits.budget * max(1, book[0]["round"]) < book[0]["spent"]:
        fill(np.int64(0), mask)
        return SAVE
    fill_explored(state, mask)
    in_use = book[0]["in_use"]
    free = mask_of(known)
    if free != 0:
        for i in range(mask.size):
            mask[i] = mask[i] and known[i] < 0
        in_use = _best_set_given(state, known)
    epsilon = chance_to_explore(state, mask)
    epsilon_or_probe = epsilon + chance_to_probe(state, epsilon)
    kind = EXPLOIT
    if draws[0] < epsilon:
        kind = EXPLORE
        _keep_some(mask, np.int64(0), state.limits.features, draws[1])
    elif book[0]["probes_due"] > 0 or draws[0] < epsilon_or_probe:
        kind = PROBE
        _keep_some(mask, state.subsets.masks[in_use] & ~free, state.limits.features, draws[1])
    else:
        former = _former_regime(state)
        if former != NONE:
            place = _set_of_former(state, former)
            fill(state.subsets.masks[place], mask)
            if draws[0] < epsilon_or_probe + chance_to_recall(state, former, mask):
                kind, in_use = RECALL, place
        fill(state.subsets.masks[in_use], mask)
    purpose = int(KINDS * subsets.ticket_of(state.subsets, in_use) + kind)
    return purpose if free == 0 else purpose + GIVEN


@jit_inner
def _former_regime(state: ScoutState) -> int:
    """Return the former regime that may have come back unnoticed, or NONE."""
    if not state.limits.recall or state.book[0]["age"] < RECOGNITION_ROUNDS or grows(state):
        return NONE
    return regimes.best_former(state.regimes) if is_asleep(state) else NONE


@jit_inner
def _set_of_former(state: ScoutState, former: int) -> int:
    """Return the place of the set by which a former regime acted."""
    any_features = np.int64(-1)
    return regimes.used_set(state.regimes, former, any_features)


@jit_inner
def _keep_some(mask: Bools, kept: Mask, most: int, draw: float) -> None:
    """Add the kept set, and drop others at random until at most `most` features are left."""
    n = mask.size
    free = most
    others = 0
    for i in range(n):
        if contains(kept, i, n):
            mask[i] = True
            free -= 1
        elif mask[i]:
            others += 1
    if others <= free:
        return
    stream = stream_of(draw)
    for i in range(n):
        if mask[i] and not contains(kept, i, n):
            mask[i] = variates.uniform(stream) * others < free
            free -= mask[i]
            others -= 1


@jit_inner
def _choose_set(state: ScoutState) -> None:
    """Make the short list and choose I*."""
    book = state.book
    means = np.empty(state.prices.size)
    prices.means(state.prices, state.scale[SPAN], means)
    book[0]["certainty"] = model_weights.make_short_list(state.weights)
    best, value = set_values.best_set(
        state.subsets,
        state.weights,
        state.wide_rounds,
        state.comparison,
        means,
        blind_mean(state),
        state.limits.budget / state.scale[SPAN],
    )
    book[0]["in_use"] = best
    book[0]["value"] = value
    book[0]["stale"] = 0


@jit_inner
def _best_set_given(state: ScoutState, known: Ints) -> int:
    """Return the set in use of a case with these free values."""
    if state.comparison.compared[0] == 0:
        return state.book[0]["in_use"]
    means = np.empty(state.prices.size)
    prices.means(state.prices, state.scale[SPAN], means)
    budget = state.limits.budget / state.scale[SPAN]
    return set_values.best_set_given(
        state.subsets, state.wide_rounds, state.comparison, means, budget, known
    )


@jit
def worth_given(state: ScoutState, known: Ints) -> Floats:
    """Return the values and prices of the sets that were compared last, given free values."""
    means = np.empty(state.prices.size)
    prices.means(state.prices, state.scale[SPAN], means)
    worth = set_values.worth_given(state.subsets, state.wide_rounds, state.comparison, means, known)
    return worth_in_declared_range(state, worth)


@jit
def worth_in_declared_range(state: ScoutState, worth: Floats) -> Floats:
    """Return values and prices of sets on the declared scale of rewards."""
    found = np.empty_like(worth)
    for k in range(len(worth)):
        found[k, 0] = reward_scale.declared(state.scale, worth[k, 0])
        found[k, 1] = worth[k, 1] * state.scale[SPAN]
    return found


@jit
def index(state: ScoutState, codes: Ints) -> Floats:
    """Return m(a, psi) of every action, on the declared scale of rewards."""
    observed = mask_of(codes)
    values = np.empty(state.habits.size)
    for a in range(values.size):
        value = _predict(state, observed, codes, a)[0]
        values[a] = reward_scale.declared(state.scale, value)
    return values


@jit_inner
def _predict(state: ScoutState, observed: Mask, codes: Ints, action: int) -> tuple[float, float]:
    return set_values.predict(
        state.subsets, state.weights, blind_mean(state), observed, codes, action
    )


@jit_inner
def _expect(
    state: ScoutState, purpose: int, basis: Mask, codes: Ints, action: int
) -> tuple[float, float]:
    """Return the predicted reward of an action, and the number of rewards behind it."""
    mean, number = _predict(state, basis, codes, action)
    if purpose < GIVEN:
        return mean, number
    place = subsets.place_of(state.subsets, basis)
    if place == NONE:
        return mean, number
    return set_values.refine(state.subsets, place, codes, action, mean)


@jit_inner
def _basis(state: ScoutState, purpose: int, observed: Mask) -> Mask:
    """Return B, the features that the action depends on.

    More may have been observed than was bought. All of it is used if that set is a fixed one; a
    grown set may have lost its place before the reward comes, and then B would be unknown. If the
    set in use has lost its place, B is the observed set.
    """
    kind, in_use = purpose % KINDS, subsets.set_with(state.subsets, purpose % GIVEN // KINDS)
    if kind == EXPLORE:
        return np.int64(0)
    place = subsets.place_of(state.subsets, observed)
    if in_use == NONE or (kind not in (PROBE, RECALL) and NONE < place < state.subsets.order.size):
        return observed
    return state.subsets.masks[in_use] & observed


@jit
def choose_action(
    state: ScoutState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Act blindly in explore rounds, else by Thompson sampling."""
    if purpose % KINDS == EXPLORE:
        return _blind_action(state, available, draws[0])
    basis = _basis(state, purpose, mask_of(codes))
    if purpose % KINDS == RECALL:
        former = _former_regime(state)
        if former != NONE:
            return _former_action(state, former, basis, codes, available)
    stream = stream_of(draws[0])
    chosen = NONE
    largest = -1.0
    for a in range(available.size):
        mean, number = _expect(state, purpose, basis, codes, a)
        mean = min(max(mean, MIN_CHANCE), 1 - MIN_CHANCE)
        size = number / dispersion(state.spread, a) + THOMPSON_PULLS
        value = beta(mean * size, (1 - mean) * size, stream)
        if available[a] and value > largest:
            chosen, largest = a, value
    return chosen


@jit_inner
def _former_action(
    state: ScoutState, former: int, basis: Mask, codes: Ints, available: Bools
) -> int:
    """Return the action that was best in the former regime."""
    chosen = NONE
    largest = -1.0
    for a in range(available.size):
        value = regimes.mean_by_used_set(state.regimes, former, state.subsets, basis, codes, a)
        if available[a] and value > largest:
            chosen, largest = a, value
    return chosen


@jit_inner
def _blind_action(state: ScoutState, available: Bools, draw: float) -> int:
    """Choose blindly: half of the time any action, else in proportion to recent exploitation."""
    if state.book[0]["age"] <= YOUNG:
        return uniform(available, draw)
    if draw < 0.5:
        return uniform(available, 2 * draw)
    total = 0.0
    for a in range(available.size):
        total += state.habits[a] if available[a] else 0.0
    left = (2 * draw - 1) * total
    for a in range(available.size):
        if available[a]:
            left -= state.habits[a]
            if left < 0.0:
                return a
    return uniform(available, 2 * draw - 1)


@jit
def update(
    state: ScoutState, codes: Ints, costs: Floats, action: int, paid: float, purpose: int
) -> None:
    """Learn from a round: the scale of rewards, prices, changes, weights and tables."""
    book = state.book
    _learn_scale(state, paid)
    reward = reward_scale.scaled(state.scale, paid)
    kind, observed = purpose % KINDS, mask_of(codes)
    basis = _basis(state, purpose, observed)
    _learn_prices(state, codes, costs)
    if state.limits.recall and book[0]["restarts"] > 0 and book[0]["age"] < RECOGNITION_ROUNDS:
        _recognise(state, observed, codes, action, reward)
    if kind in (EXPLORE, RECALL):
        _recognise_return(state, observed, codes, action, reward)
    else:
        _judge(state, purpose, basis, codes, action, reward)
    if kind in (EXPLOIT, SAVE):
        _note_habit(state, action)
        j = subsets.place_of(state.subsets, basis)
        if j != NONE:
            cell = subsets.cell_of(state.subsets, j, codes)
            subsets.learn_one(state.subsets, cell, action, reward)
    else:
        _learn_from_wide_round(state, basis, observed, codes, action, reward)
        if kind == EXPLORE:
            sure_actions.note_reward(state.variety, action, reward)
            state.blind[0] += reward
            state.blind[1] += 1.0
        elif kind == PROBE and book[0]["probes_due"] > 0:
            book[0]["probes_due"] -= 1
    book[0]["age"] += 1
    book[0]["round"] += 1
    rate = max(1 / book[0]["age"], USUAL_RATE)
    state.usual[0] += rate * (book[0]["value"] - state.usual[0])
    regimes.note_round(state.regimes)
    _look_again(state)
    subsets.remember(state.subsets, book[0]["age"])


@jit_inner
def _look_again(state: ScoutState) -> None:
    """Restart if nothing has seemed worth buying for long, although much could be gained.

    Without purchases a change of what the features mean is not noticed, and wide rounds from before
    hide it. Each time nothing is found, the next look comes after twice as many rounds.
    """
    if state.book[0]["in_use"] != 0:
        state.idle[0] = 0
        state.idle[1] = FIRST_WAIT
        return
    if state.limits.budget < np.inf or not much_to_gain(state):
        return
    state.idle[0] += 1
    if state.idle[0] >= state.idle[1]:
        state.idle[0] = 0
        state.idle[1] *= 2
        _restart(state, NONE)


@jit_inner
def _learn_scale(state: ScoutState, reward: float) -> None:
    """Extend the range of rewards seen, and convert everything that was learnt to it."""
    f, g = reward_scale.note_reward(state.scale, reward)
    if f == 1.0 and g == 0.0:
        return
    tables, rounds, former = state.subsets, state.wide_rounds, state.regimes
    reward_scale.convert(tables.sums, tables.pulls, f, g)
    reward_scale.convert(tables.wide_sums, tables.wide_pulls, f, g)
    reward_scale.convert(former.sums, former.pulls, f, g)
    for k in range(former.books.size):
        total, pulls = former.books[k]["blind_sum"], former.books[k]["blind_pulls"]
        former.books[k]["blind_sum"] = f * (total - 0.5) + g * (pulls - 1.0) + 0.5
        former.values[k] = f * former.values[k] + g
    for t in range(rounds.rewards.size):
        rounds.rewards[t] = f * rounds.rewards[t] + g
    # One of the blind rewards is imagined, in the middle of any range.
    state.blind[0] = f * (state.blind[0] - 0.5) + g * (state.blind[1] - 1.0) + 0.5
    sure_actions.convert(state.variety, f, g)
    state.book[0]["value"] = f * state.book[0]["value"] + g
    state.usual[0] = f * state.usual[0] + g
    state.book[0]["stale"] = 1


@jit_inner
def _learn_prices(state: ScoutState, codes: Ints, costs: Floats) -> None:
    for i in range(codes.size):
        if np.isnan(costs[i]):  # not bought
            continue
        state.book[0]["spent"] += costs[i]
        # A failed purchase is no evidence about the price.
        if codes[i] >= 0 and prices.pay(state.prices, i, costs[i], state.scale[SPAN]):
            state.book[0]["probes_due"] = PROBES_AFTER_ALARM
            state.book[0]["stale"] = 1
            _note_event(state, PRICE_ALARM, i)


@jit_inner
def _learn_from_wide_round(
    state: ScoutState, basis: Mask, observed: Mask, codes: Ints, action: int, reward: float
) -> None:
    """Update the weights and tables of the sets between the basis and the observed one."""
    subsets.find_cells(state.subsets, observed, codes)
    model_weights.weigh(
        state.subsets,
        state.weights,
        basis,
        observed,
        action,
        reward,
        blind_mean(state),
        dispersion(state.spread, action),
    )
    subsets.learn(state.subsets, basis, observed, action, reward)
    wide_rounds.record_round(state.wide_rounds, codes, observed, basis, action, reward)
    if grows(state):
        _grow(state)
    if state.book[0]["age"] > YOUNG:
        state.book[0]["stale"] = 1


@jit_inner
def _grow(state: ScoutState) -> None:
    """Let a set grow if it is time."""
    place = growth.grow(
        state.growth,
        state.subsets,
        state.weights,
        state.wide_rounds,
        state.subsets.masks[state.book[0]["in_use"]],
        state.limits.features,
        blind_mean(state),
        largest_dispersion(state.spread),
    )
    if place != NONE:
        model_weights.make_short_list(state.weights)  # the replaced set may have been on the list
        offsets = state.subsets.offsets
        change_detection.reset_cells(state.surprise, offsets[place], offsets[place + 1])


@jit_inner
def _judge(
    state: ScoutState, purpose: int, basis: Mask, codes: Ints, action: int, reward: float
) -> None:
    """Test the reward against its prediction; restart or clear a cell after an alarm."""
    mean, number = _expect(state, purpose, basis, codes, action)
    if number < MIN_PULLS_TO_JUDGE:
        return
    p = clip_mean(mean)
    phi = dispersion(state.spread, action)
    if number >= MIN_PULLS_FOR_SPREAD:
        note_spread(state.spread, action, reward, p)
    is_sure = sure_actions.is_sure(state.variety, action)
    sums = state.surprise.sure if is_sure else state.surprise.sums
    if change_detection.add_evidence(sums, reward, p, phi):
        _restart(state, NONE)
        return
    if is_sure:
        return
    j = subsets.place_of(state.subsets, basis)
    if j == NONE:
        return
    cell = subsets.cell_of(state.subsets, j, codes)
    if change_detection.add_evidence_in(state.surprise, cell, reward, p, phi):
        subsets.forget_cell(state.subsets, cell)
        _note_event(state, ROW_FORGOTTEN, NONE)


@jit_inner
def _restart(state: ScoutState, kept: int) -> None:
    """Clear all rewards, store the regime in case it returns, and move weights to the prior.

    The stored regime `kept` is not replaced.
    """
    book = state.book
    book[0]["restarts"] += 1
    regimes.store(
        state.regimes,
        state.subsets,
        state.weights,
        state.blind,
        book[0]["in_use"],
        state.usual[0],  # V(I*) itself has fallen before the alarm
        book[0]["age"],
        book[0]["restarts"],
        kept,
    )
    regimes.note_restart(state.regimes)
    subsets.forget_all(state.subsets)
    wide_rounds.close(state.wide_rounds)
    model_weights.temper(state.weights)
    change_detection.reset(state.surprise)
    state.blind[0] = 0.5
    state.blind[1] = 1.0
    book[0]["age"] = 0
    book[0]["stale"] = 1
    _note_event(state, RESTART, NONE)


@jit_inner
def _recognise(state: ScoutState, observed: Mask, codes: Ints, action: int, reward: float) -> None:
    """Restore a former regime if it explains the rewards since the restart clearly better."""
    p = clip_mean(_predict(state, observed, codes, action)[0])
    phi = dispersion(state.spread, action)
    k = regimes.recognise(state.regimes, state.subsets, observed, codes, action, reward, p, phi)
    if k != NONE:
        _restore(state, k)


@jit_inner
def _recognise_return(
    state: ScoutState, observed: Mask, codes: Ints, action: int, reward: float
) -> None:
    """Restore the former regime if it explains wide rounds better, and store the present one."""
    former = _former_regime(state)
    if former == NONE or sure_actions.is_sure(state.variety, action):
        return
    theirs = regimes.mean_by_used_set(state.regimes, former, state.subsets, observed, codes, action)
    p = clip_mean(_predict(state, observed, codes, action)[0])
    phi = dispersion(state.spread, action)
    if regimes.has_returned(state.regimes, former, reward, theirs, p, phi):
        _restart(state, former)
        _restore(state, former)


@jit_inner
def _restore(state: ScoutState, k: int) -> None:
    """Restore a former regime."""
    book = state.book
    state.usual[0] = state.regimes.values[k]
    age = regimes.restore(
        state.regimes, k, state.subsets, state.weights, state.wide_rounds, state.blind
    )
    change_detection.reset(state.surprise)
    book[0]["age"] = max(book[0]["age"], min(age, MAX_RESTORED_AGE))
    if grows(state):  # places have other sets now
        model_weights.make_short_list(state.weights)
        book[0]["in_use"] = 0
    book[0]["stale"] = 1
    _note_event(state, RESTORED, NONE)


@jit_inner
def _note_habit(state: ScoutState, action: int) -> None:
    for a in range(state.habits.size):
        state.habits[a] *= ACTION_MEMORY
    state.habits[action] += 1 - ACTION_MEMORY


@jit_inner
def _note_event(state: ScoutState, kind: int, feature: int) -> None:
    place = state.happened[0] % MAX_EVENTS
    state.events[place, 0] = state.book[0]["round"]
    state.events[place, 1] = kind
    state.events[place, 2] = feature
    state.happened[0] += 1


STEPS[ScoutState] = Steps(choose_features, update, index, choose_action)
