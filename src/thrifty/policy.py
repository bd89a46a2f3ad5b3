"""The interface of policies: the base class validates and keeps the books."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from operator import ge
from types import MappingProxyType
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import (
    InvalidAction,
    InvalidObservation,
    InvalidParameter,
    InvalidPurchase,
    InvalidReward,
    SaveError,
)
from thrifty.parameters import Constraint, as_float, check_parameter, is_whole, require_instance
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase, as_array
from thrifty.sales import Sales
from thrifty.seeds import Seed, policy_generator


class Policy(ABC):
    """Decides which features to buy, then which action to take, and learns from rewards.

    A subclass writes three hooks: `_choose_features(known)`, `_choose_action(observation,
    available)` and `_update(observation, action, reward, outcome)`. It may use `self.problem` and
    must draw all its randomness from `self.rng`. Input has been validated when a hook is called,
    and input that is refused never reaches one.

    A policy remembers no open round: `update` gets everything it needs in its arguments, and time
    is counted there. So any number of rounds may be open, and rewards may come late, in any order,
    or never.

    Parameters
    ----------
    problem : Problem
        What there is to decide. Rewards and costs reach a policy on its own scale: rewards in
        [0, 1].
    seed : int, SeedSequence, Generator or None
        Source of all randomness.
    **parameters
        The policy's own parameters, checked against `allowed`.

    Examples
    --------
    >>> class Coin(Policy):
    ...     def _choose_features(self, known):
    ...         return Purchase.nothing(self.problem)
    ...     def _choose_action(self, observation, available):
    ...         return int(self.rng.choice(np.flatnonzero(available)))
    ...     def _update(self, observation, action, reward, outcome):
    ...         pass
    >>> coin = Coin(Problem.anonymous(levels=(2, 3), n_actions=2), seed=1)
    >>> coin.choose_features().mask.tolist()
    [False, False]
    >>> coin
    Coin(rounds=0)
    """

    stepwise: ClassVar[bool] = False
    """Whether the policy is asked again after each purchase, until it buys nothing more."""

    allowed: ClassVar[Mapping[str, Constraint]] = MappingProxyType({})
    """The values that each parameter may take."""

    amounts: ClassVar[frozenset[str]] = frozenset()
    """The parameters that are amounts of cost: where costs are scaled, so are they."""

    reads_price_list: ClassVar[bool] = False
    """Whether the policy is told the prices before it buys (see `read_price_list`)."""

    def __init__(self, problem: Problem, *, seed: Seed = None, **parameters: Any) -> None:
        require_instance(problem, Problem, "problem")
        self._parameters = {
            name: check_parameter(name, value, self._allowed(name), owner=type(self).__name__)
            for name, value in parameters.items()
        }
        self.problem = problem
        self.rng = policy_generator(seed)
        self.rounds = 0
        self._levels = tuple(problem.levels.tolist())
        self._every_action = np.ones(problem.n_actions, dtype=np.bool_)
        self._every_action.flags.writeable = False
        self._nothing_known = Observation.nothing(problem)
        self._sales = Sales.from_problem(problem)
        self._has_bundles = bool((self._sales.bundles >= 0).any())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The policy's parameters by name; with them and its class it can be made again."""
        return MappingProxyType(self._parameters)

    @final
    def choose_features(self, known: Observation | None = None) -> Purchase:
        """Choose the features to buy now, I_t.

        Parameters
        ----------
        known : Observation, optional
            What is known of the round so far: the free values and, in later steps, what was
            bought. None means nothing.

        Returns
        -------
        Purchase
            Without what is known already or could not be had, and with what is sold together with
            the chosen features. An empty purchase means: act.
        """
        if known is None:
            known = self._nothing_known
        else:
            self._require_observation(known)
        purchase = self._choose_features(known)
        require_instance(purchase, Purchase, "what _choose_features returned")
        if purchase.mask.size != len(self._levels):
            raise InvalidPurchase(
                f"{type(self).__name__} chose a mask of shape {purchase.mask.shape} for "
                f"{self.problem.n_features} features: it must hold one entry per feature."
            )
        if known is self._nothing_known and not self._has_bundles:
            return purchase
        return Purchase.unchecked(self._sales.sold(purchase.mask, known.settled), purchase.purpose)

    @final
    def choose_action(self, observation: Observation, *, available: ArrayLike | None = None) -> int:
        """Choose the action of a round from what was observed in it, a_t = h_t(psi_t).

        `available` is a mask over the actions; None means all of them.
        """
        self._require_observation(observation)
        mask = self._every_action if available is None else self._require_available(available)
        action = self._choose_action(observation, mask)
        if not (self._is_action(action) and mask[action]):
            raise InvalidAction(
                f"{type(self).__name__} chose action {action!r}, which is not available: it must "
                f"be an int, one of {np.flatnonzero(mask).tolist()}."
            )
        return int(action)

    @final
    def update(
        self, observation: Observation, action: int, reward: float, *, outcome: int | None = None
    ) -> None:
        """Learn from a round: what was observed, what was done, what came of it.

        Parameters
        ----------
        observation : Observation
            All that was known when the action was chosen, with the purpose of the last purchase.
        action : int
            The action that was taken.
        reward : float
            Its reward, in [0, 1].
        outcome : int, optional
            Which of the problem's outcomes turned out to be true, if that is known.
        """
        self._require_observation(observation)
        self._require_action(action)
        self._require_reward(reward)
        self._require_outcome(outcome)
        self._update(observation, int(action), float(reward), outcome)
        self.rounds += 1

    def read_price_list(self, prices: ArrayLike) -> None:
        """Take note of the prices now in force; called before `choose_features`.

        Only policies with `reads_price_list` do anything here: to all others prices are unknown
        until they are paid.
        """
        del prices

    def action_values(self, observation: Observation) -> NDArray[np.float64] | None:
        """Return the values that the choice rests on, one per action, or None; a mere peek."""
        self._require_observation(observation)
        return self._action_values(observation)

    def reasons(
        self,
        purchase: Purchase,  # noqa: ARG002
        known: Observation | None = None,  # noqa: ARG002
    ) -> Callable[[], dict[str, Any]] | None:
        """Return a function that says, in JSON values, why the policy has just made this purchase.

        It is asked for right after the purchase, and called only when somebody wants to know. In it
        `reward`, `price` and `value`, a reward less a price, are on the policy's own scale; whoever
        has another one may turn them into it.
        """
        return None

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return everything learnt as named arrays, so that `set_state` can restore it."""
        raise SaveError(
            f"{type(self).__name__} cannot be saved: write get_state and set_state for it."
        )

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `get_state` returned."""
        raise SaveError(
            f"{type(self).__name__} cannot be restored from {sorted(state)}: write get_state and "
            "set_state for it."
        )

    @abstractmethod
    def _choose_features(self, known: Observation) -> Purchase:
        """Choose what to buy, by what is known so far."""

    @abstractmethod
    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        """Choose one of the available actions (at least one is)."""

    @abstractmethod
    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        """Learn from a validated round."""

    def _allowed(self, name: str) -> Constraint:
        if name not in self.allowed:
            raise InvalidParameter(
                f"{type(self).__name__} does not say what its parameter {name!r} may be: add it to "
                f"`allowed`, for instance allowed = {{{name!r}: Real(0)}}."
            )
        return self.allowed[name]

    def _action_values(self, observation: Observation) -> NDArray[np.float64] | None:  # noqa: ARG002
        return None

    def _require_observation(self, observation: Observation) -> None:
        require_instance(observation, Observation, "observation")
        codes, levels = observation.codes, self._levels
        if codes.size != len(levels):
            raise InvalidObservation(
                f"an observation of {codes.size} features for a problem of {len(levels)}: "
                "codes must hold one entry per feature."
            )
        if any(map(ge, codes.tolist(), levels)):
            i = int(np.argmax(codes >= levels))
            raise InvalidObservation(
                f"code {codes[i]} for feature {self.problem.features[i].name!r}, which has "
                f"{levels[i]} levels: codes count from 0 to {levels[i] - 1}."
            )

    def _require_available(self, available: ArrayLike) -> NDArray[np.bool_]:
        mask = as_array(available, InvalidAction)
        if mask.dtype != np.bool_ or mask.shape != (self.problem.n_actions,):
            raise InvalidAction(
                f"available has dtype {mask.dtype} and shape {mask.shape}: give one True or False "
                f"for each of the {self.problem.n_actions} actions."
            )
        if not mask.any():
            raise InvalidAction("no action is available: at least one must be, or skip the round.")
        mask.flags.writeable = (
            False  # as the mask of all actions is: compiled code tells them apart
        )
        return mask

    def _is_action(self, action: Any) -> bool:
        return is_whole(action) and 0 <= action < self.problem.n_actions

    def _require_action(self, action: int) -> None:
        if not self._is_action(action):
            raise InvalidAction(
                f"action {action!r}: actions are whole numbers from 0 to "
                f"{self.problem.n_actions - 1}."
            )

    def _require_outcome(self, outcome: int | None) -> None:
        if outcome is None:
            return
        names = () if self.problem.outcomes is None else self.problem.outcomes.names
        if not (is_whole(outcome) and 0 <= outcome < len(names)):
            raise InvalidReward(
                f"outcome {outcome!r}: the problem declares {len(names)} outcomes, counted from 0; "
                "report one of them, or None if it is not known."
            )

    def _require_reward(self, reward: float) -> None:
        if not 0 <= as_float(reward) <= 1:
            raise InvalidReward(
                f"reward {reward!r} is not a number in [0, 1], where every confidence bound "
                "assumes it to be: rescale rewards before you report them."
            )

    def __repr__(self) -> str:
        settings = "".join(f"{name}={value!r}, " for name, value in self.parameters.items())
        return f"{type(self).__name__}({settings}rounds={self.rounds})"
