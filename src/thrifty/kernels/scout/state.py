"""The state of Scout: its limits, its tables and its counters."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints
from thrifty.kernels.runtime.compilation import jit_inner
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
from thrifty.kernels.scout.change_detection import Surprise
from thrifty.kernels.scout.growth import Growth
from thrifty.kernels.scout.likelihood import initial_spread
from thrifty.kernels.scout.model_weights import Weights
from thrifty.kernels.scout.prices import Prices
from thrifty.kernels.scout.regimes import Regimes
from thrifty.kernels.scout.set_values import Comparison
from thrifty.kernels.scout.subsets import Subsets
from thrifty.kernels.scout.sure_actions import Variety
from thrifty.kernels.scout.wide_rounds import WideRounds

LIKELY_SIZE = 5
"""With very many features, the prior expects at most this many to matter."""

BOOK = np.dtype(
    [
        ("round", np.int64),  # number of updates
        ("age", np.int64),  # since the last restart
        ("in_use", np.int64),  # I*
        ("value", np.float64),  # V(I*)
        ("certainty", np.float64),  # the largest weight of a set
        ("stale", np.int64),  # 1 if I* must be chosen again
        ("probes_due", np.int64),
        ("restarts", np.int64),
        ("spent", np.float64),
    ],
    align=True,
)
MAX_EVENTS = 256
FIRST_WAIT = 600
"""Number of rounds in which nothing seems worth buying before the first second look."""


class Limits(NamedTuple):
    """Most features of a round, mean spend per round, and whether to recognise former regimes."""

    features: int
    budget: float
    recall: bool


class ScoutState(NamedTuple):
    """The limits, the parts, and the counters (`book`).

    `scale` is that of rewards (see `reward_scale`), `blind` the sum and number of blind rewards,
    `habits` how often each action was exploited lately, `idle` the number of rounds in which
    nothing seemed worth buying and how many lead to a second look, `usual` the mean of V(I*) over
    the last rounds, `events` a ring of (round, kind, feature or NONE), and `happened` the number of
    events.
    """

    limits: Limits
    book: NDArray[np.void]
    subsets: Subsets
    weights: Weights
    wide_rounds: WideRounds
    growth: Growth
    comparison: Comparison
    prices: Prices
    surprise: Surprise
    regimes: Regimes
    spread: Floats
    variety: Variety
    scale: Floats
    blind: Floats
    habits: Floats
    idle: Ints
    usual: Floats
    events: Ints
    happened: Ints


def initial(
    levels: Ints,
    n_actions: int,
    *,
    max_features: int | None,
    budget: float | None,
    recall: bool = True,
) -> ScoutState:
    """Return the state before the first round."""
    most = levels.size if max_features is None else min(max_features, levels.size)
    tables = subsets.initial(levels, n_actions, most)
    fixed = tables.order.size
    sizes = np.full(len(tables.masks), NONE)
    sizes[:fixed] = np.bitwise_count(tables.masks[:fixed])
    likely = most if fixed == len(sizes) else min(most, LIKELY_SIZE)
    return ScoutState(
        Limits(most, math.inf if budget is None else float(budget), recall),
        book=np.zeros(1, BOOK),
        subsets=tables,
        weights=model_weights.initial(sizes, levels.size, likely),
        wide_rounds=wide_rounds.initial(levels.size),
        growth=growth.initial(n_actions),
        comparison=set_values.initial(n_actions),
        prices=prices.initial(levels.size),
        surprise=change_detection.initial(len(tables.pulls)),
        regimes=regimes.initial(tables.pulls.shape, len(tables.masks)),
        spread=initial_spread(n_actions),
        variety=sure_actions.initial(n_actions),
        scale=reward_scale.initial(),
        blind=np.array([0.5, 1.0]),
        habits=np.full(n_actions, 1 / n_actions),
        idle=np.array([0, FIRST_WAIT]),
        usual=np.zeros(1),
        events=np.zeros((MAX_EVENTS, 3), np.int64),
        happened=np.zeros(1, np.int64),
    )


@jit_inner
def blind_mean(state: ScoutState) -> float:
    """Return the mean reward of blind rounds."""
    return state.blind[0] / state.blind[1]
