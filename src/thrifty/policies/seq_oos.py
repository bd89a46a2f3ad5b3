"""Seq-OOS: sequential optimistic observation selection, for fixed prices and rewards."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.environments.replay import Replay
from thrifty.errors import DamagedFile, InvalidParameter
from thrifty.kernels.ncc import seq_oos as kernel
from thrifty.kernels.ncc.sweep import SWEEP, sweep_rounds
from thrifty.parameters import Real
from thrifty.policies.compiled import Record, require_prices
from thrifty.policies.ties import chances_of_untried_or_last, equal_chances
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed

MAX_STATES = 20_000
MAX_FEATURES = 14  # so that the order of the purchases fits in a purpose, four bits for each


class SeqOOS(Policy):
    """Seq-OOS: buy one feature after another, each chosen by the values seen so far.

    The sequential counterpart of `SimOOS`. A round is a Markov decision process whose states are
    the partial states psi. In psi the policy stops with the best action, or buys feature i, pays
    its price c_i and comes to psi with the value of i. Its plan is the optimistic value

    F(psi) = max{max_a r~(a, psi), max_i -c_i + max_p sum_b p(b) F(psi, i = b)},

    computed by backward induction from the states in which everything is known. p is any
    distribution within min{1, sqrt(10 Psi_tot log(4t / delta) / N(psi, i))} of the frequencies,
    where N(psi, i) counts the rounds in which i was bought next in psi. r~, the episodes, the first
    2^D rounds and actions that were never tried in a state are as in `SimOOS`, which it equals for
    a single feature. Like `SimOOS` it gets prices in advance.

    A plan computes a value for each of the Psi_tot partial states, and at first nearly every round
    needs a new plan: 2,400 of the 10,000 rounds of Nursery, with 1,200 partial states. So a round
    takes about 20 us there, nearly all of it for plans; other policies have no such table. Where
    features have setup fees or are sold in bundles, rounds are played one by one, which takes
    longer. Problems with more than 20,000 partial states or 14 features are refused.

    Atan, Ghoorchian, Maghsudi, van der Schaar (2021). Data-driven online recommender systems with
    costly information acquisition. IEEE Transactions on Services Computing.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    delta : float
        Error probability of the confidence radii. The default is that of `SimOOS`.
    reward_scale : float
        Factor of the confidence radius of rewards. 1 is the paper's.
    probability_scale : float
        Factor of the confidence radius of probabilities. 1 is the paper's, and 0 uses the
        frequencies themselves.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.

    Examples
    --------
    >>> policy = SeqOOS(Problem.anonymous(levels=(2, 2), n_actions=2), seed=0)
    >>> policy.choose_features().mask.tolist()
    [False, False]
    """

    stepwise = True
    allowed = {
        "delta": Real(0, 1, open=True),
        "reward_scale": Real(0),
        "probability_scale": Real(0),
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {"reward_scale": (0.05, 0.2, 1.0), "probability_scale": (0.0, 1.0)}
    )
    reads_price_list = True
    random_purchases = False

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float = 0.8,
        reward_scale: float = 1.0,
        probability_scale: float = 1.0,
        seed: Seed = None,
    ) -> None:
        scales = {"reward_scale": reward_scale, "probability_scale": probability_scale}
        super().__init__(problem, seed=seed, delta=delta, **scales)
        _require_small(problem)
        self._rules = kernel.Rules(
            levels=problem.levels,
            strides=kernel.strides_of(problem.levels),
            delta=float(delta),
            scales=np.array([reward_scale, probability_scale], dtype=np.float64),
            sweep=sweep_rounds(problem.n_features),
        )
        self._state = kernel.initial(problem.levels, problem.n_actions)

    def read_price_list(self, prices: ArrayLike) -> None:
        """Set the current prices, for the next plan.

        Parameters
        ----------
        prices : array_like of float, shape (D,)
            Price of each feature, on the policy's scale.
        """
        self._state.prices[:] = require_prices(self.problem, prices)
        self._state.has_price_list[0] = True

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return the counts, the prices and the plan.

        Returns
        -------
        dict of str to array
            Input for `set_state`.
        """
        return {name: array.copy() for name, array in self._state._asdict().items()}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the counts, the prices and the plan.

        Parameters
        ----------
        state : mapping of str to array
            Output of `get_state`.
        """
        own = self._state._asdict()
        for name in own.keys() | state.keys():
            expected, found = _kind(own.get(name)), _kind(state.get(name))
            if expected != found:
                raise DamagedFile(
                    f"array {name!r} is {found} where SeqOOS has {expected}: it was saved by "
                    "another policy, problem or version."
                )
        for name, array in own.items():
            array[...] = state[name]

    def can_run_compiled(self, world: Replay) -> bool:
        """Return True if every feature is sold alone: steps and setup fees are played one by one.

        Parameters
        ----------
        world : Replay
            Rounds to play.

        Returns
        -------
        bool
            Whether `run_compiled` plays them.
        """
        return not (world.sales.fees.size or (world.sales.bundles >= 0).any())

    def run_compiled(self, world: Replay, out: Record) -> None:
        """Play the first rounds of `world`, as many as `out` holds, and record them there.

        Parameters
        ----------
        world : Replay
            Rounds in which every feature is sold alone.
        out : tuple of arrays
            Room for purchases, actions, rewards and costs.
        """
        observed, actions, rewards, costs = out
        rounds = kernel.Rounds(
            contexts=np.ascontiguousarray(world.contexts),
            rewards=np.ascontiguousarray(world.rewards),
            costs=np.ascontiguousarray(world.costs),
            free=world.free,
            draws=self.rng.random(len(actions)),
            observed=observed,
            actions=actions,
            gained=rewards,
            paid=costs,
        )
        kernel.play_rounds(self._state, self._rules, rounds)
        self.rounds += len(actions)

    def _choose_features(self, known: Observation) -> Purchase:
        mask = np.zeros(self.problem.n_features, dtype=np.bool_)
        if known.purpose & SWEEP:
            return Purchase.unchecked(mask, _purpose(known))
        if self._state.clock[0] < self._rules.sweep and np.isnan(known.costs).all():
            bits = int(self._state.clock[0])
            for i in range(mask.size):
                mask[i] = bits >> (mask.size - 1 - i) & 1
            return Purchase.unchecked(mask, SWEEP)
        if self._state.plan_is_due[0]:
            self._plan()
        s = self._number(known.codes)
        gains = np.where(known.settled, -np.inf, self._state.gains[s])
        best = int(gains.argmax())
        mask[best] = gains[best] > self._state.optimistic[s].max()
        return Purchase.unchecked(mask, _purpose(known))

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        chances = self._action_probabilities(observation, available)
        # One number in every round, as in Sim-OOS. Chances are equal or all on one action.
        allowed = np.flatnonzero(chances)
        return int(allowed[int(self.rng.random() * allowed.size)])

    def _action_probabilities(
        self, observation: Observation, available: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        if observation.purpose & SWEEP:
            return equal_chances(available)
        return chances_of_untried_or_last(self._action_values(observation), available)

    def _action_values(self, observation: Observation) -> NDArray[np.float64]:
        s = self._number(observation.codes)
        values: NDArray[np.float64] = np.where(
            self._state.pulls[s] > 0, self._state.optimistic[s], np.inf
        )
        return values

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        del outcome  # rewards are all that it learns from
        state, codes = self._state, observation.codes
        order = _order(_purpose(observation))
        free = codes.copy()
        free[order] = -1
        s = self._number(free)
        for i in order:
            if codes[i] >= 0:
                s += (int(codes[i]) + 1) * int(self._rules.strides[i])
                state.moves[s, i] += 1
        state.pulls[s, action] += 1
        state.sums[s, action] += reward
        before = state.planned_pulls[s, action]
        if state.pulls[s, action] - before >= max(1, before):
            state.plan_is_due[0] = True
        if not state.has_price_list[0]:
            paid = observation.bought
            state.prices[paid] = observation.costs[paid]
        state.clock[0] += 1

    def _plan(self) -> None:
        rules = self._rules
        kernel.plan(self._state, rules.levels, rules.strides, rules.delta, rules.scales)

    def _number(self, codes: NDArray[np.int64]) -> int:
        """Return the number of a partial state."""
        return int((codes + 1) @ self._rules.strides)


def _order(purpose: int) -> list[int]:
    """Return the features in the order in which they were bought.

    >>> _order((3 << 4 | 1) << 1)
    [2, 0]
    """
    bought = []
    rest = purpose >> 1
    while rest:
        bought.append((rest & 15) - 1)
        rest >>= 4
    return bought[::-1]


def _purpose(known: Observation) -> int:
    """Return the purpose of the last purchase, completed by the features that it has brought.

    The lowest bit marks a sweep. Each four bits above are a feature, counted from 1.
    """
    order = _order(known.purpose)
    for i in np.flatnonzero(~np.isnan(known.costs)).tolist():
        if i not in order:
            order.append(i)
    purpose = 0
    for i in order:
        purpose = purpose << 4 | (i + 1)
    return purpose << 1 | (known.purpose & SWEEP)


def _kind(array: NDArray[Any] | None) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    return None if array is None else (array.dtype, array.shape)


def _require_small(problem: Problem) -> None:
    if problem.n_features > MAX_FEATURES or problem.log_psi_tot > np.log(MAX_STATES):
        raise InvalidParameter(
            f"SeqOOS plans for each of the partial states, at most {MAX_STATES} and of at most "
            f"{MAX_FEATURES} features, and the problem has {problem.n_features} features and "
            f"about {np.exp(min(700.0, problem.log_psi_tot)):.3g} partial states: leave out "
            "features, merge levels or choose another policy, such as 'sim-oos'."
        )
