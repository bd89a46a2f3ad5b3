"""The base class of policies, which validates every call and counts rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import partial
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
    StaleFit,
)
from thrifty.fits import Fit
from thrifty.parameters import Constraint, as_float, check_parameter, is_whole, require_instance
from thrifty.problem import Problem
from thrifty.propensities import Chances, Mixture, Notes, Propensity, repeated, seed_of
from thrifty.rounds import Observation, Purchase, as_array
from thrifty.sales import Sales
from thrifty.seeds import Seed, policy_generator


class Policy(ABC):
    """A policy chooses which features to buy, then which action to take, and learns from rewards.

    Derive from this class and write three hooks: `_choose_features(known)`,
    `_choose_action(observation, available)` and `_update(observation, action, reward, outcome)`.
    Use `self.problem`, and draw all random numbers from `self.rng`. The public methods validate
    their arguments before they call a hook.

    Do not store anything about an open round. `update` gets everything it needs in its arguments,
    and it is where rounds are counted. So any number of rounds may be open at once, and rewards may
    come late, in any order, or never.

    Parameters
    ----------
    problem : Problem
        Features and actions. A policy sees rewards in [0, 1], and costs on the same scale.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.
    **parameters
        Parameters of the policy, checked against `allowed`.

    Attributes
    ----------
    stepwise : bool
        True if the policy is asked again after each purchase, until it buys nothing more.
    allowed : mapping
        Constraint on the values of each parameter.
    grid : mapping
        Values that tuning tries, by parameter.
    amounts : frozenset of str
        Parameters that are amounts of money, such as a budget. They are scaled like costs.
    reads_price_list : bool
        True if the policy is given the current price of every feature before it buys (see
        `read_price_list`). False, the usual case, if it learns prices by paying them.
    random_purchases, random_actions : bool
        False if choosing a purchase or an action never draws random numbers. The choice then has
        the probability 1 without being computed.
    repeatable : bool
        False if deciding changes what the policy decides later. Then its decisions cannot be
        repeated to estimate their probabilities.
    action_error : float
        Bound on the numerical error of `_action_probabilities`; 0 if they are exact.
    fits_beside : bool
        False, the default, lets the policy run each of its fits inside `update`. If you set it to
        True, `update` only prepares a fit, as `due_fit`, and you run it and hand its result to
        `apply_fit`. Policies without fits ignore it.

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
    allowed: ClassVar[Mapping[str, Constraint]] = MappingProxyType({})
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType({})
    amounts: ClassVar[frozenset[str]] = frozenset()
    reads_price_list: ClassVar[bool] = False
    random_purchases: ClassVar[bool] = True
    random_actions: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    action_error: ClassVar[float] = 0.0
    fits_beside: bool = False

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
        """The policy's parameters by name."""
        return MappingProxyType(self._parameters)

    @final
    def choose_features(self, known: Observation | None = None) -> Purchase:
        """Choose the features to buy now, I_t.

        Parameters
        ----------
        known : Observation, optional
            What is known about the round so far: the free values and, in later steps, what was
            bought. None means that nothing is known.

        Returns
        -------
        Purchase
            The chosen features, completed to whole bundles, without features that are settled. An
            empty purchase means that the policy is ready to act.
        """
        if known is None:
            known = self._nothing_known
        else:
            self._require_observation(known)
        purchase = self._choose_features(known)
        require_instance(purchase, Purchase, "the return value of _choose_features")
        if purchase.mask.size != len(self._levels):
            raise InvalidPurchase(
                f"{type(self).__name__} chose a mask of shape {purchase.mask.shape} for "
                f"{self.problem.n_features} features: it must hold one entry per feature."
            )
        # The usual case: there is nothing to remove and nothing to add.
        if known is self._nothing_known and not self._has_bundles:
            return purchase
        return Purchase.unchecked(self._sales.sold(purchase.mask, known.settled), purchase.purpose)

    @final
    def choose_action(self, observation: Observation, *, available: ArrayLike | None = None) -> int:
        """Choose the action of a round, a_t = h_t(psi_t).

        Parameters
        ----------
        observation : Observation
            What is known about the round.
        available : array_like of bool, shape (A,), optional
            True for each action that may be chosen. None means all of them.

        Returns
        -------
        int
            Index of the action.
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
        """Learn from a round.

        Parameters
        ----------
        observation : Observation
            What was known when the action was chosen, with the purpose of the last purchase.
        action : int
            Action taken.
        reward : float
            Reward, in [0, 1].
        outcome : int, optional
            Index of the outcome, if the problem declares outcomes and it is known.
        """
        self._require_observation(observation)
        self._require_action(action)
        self._require_reward(reward)
        self._require_outcome(outcome)
        self._update(observation, int(action), float(reward), outcome)
        self.rounds += 1

    def read_price_list(self, prices: ArrayLike) -> None:
        """Set the current prices; called before `choose_features`.

        Only policies with `reads_price_list` use them. All other policies learn prices by paying
        them.

        Parameters
        ----------
        prices : array_like of float, shape (D,)
            Price of each feature, on the policy's scale.
        """
        del prices

    def action_values(self, observation: Observation) -> NDArray[np.float64] | None:
        """Return the estimated value of each action, without changing anything.

        Parameters
        ----------
        observation : Observation
            What is known about the round.

        Returns
        -------
        array of float, shape (A,), or None
            The values that `choose_action` compares, or None if the policy has none.
        """
        self._require_observation(observation)
        return self._action_values(observation)

    def reasons(
        self,
        purchase: Purchase,  # noqa: ARG002
        known: Observation | None = None,  # noqa: ARG002
    ) -> Callable[[], dict[str, Any]] | None:
        """Explain the purchase that the policy has just chosen.

        Called right after `choose_features`, before the policy learns anything else.

        Parameters
        ----------
        purchase : Purchase
            The purchase that `choose_features` returned.
        known : Observation, optional
            What was known when it was chosen.

        Returns
        -------
        callable or None
            Returns the explanation as JSON values when it is called, so that it costs nothing
            unless somebody asks. Numbers under the keys `reward`, `price` and `value` (reward minus
            price) are on the policy's scale; `Agent` and the service convert them to money. None
            if the policy gives no reasons. A list under the key `considered` has one dict for each
            set of features that was compared, with its `features` and its `weight`; when the
            reasons are shown, free features are left out and equal purchases are merged.
        """
        return None

    @final
    def propensity(
        self,
        known: Observation,
        choice: Any,
        *,
        notes: Notes | None = None,
        available: ArrayLike | None = None,
        seed: int | str | None = None,
    ) -> Propensity | None:
        """Return the probability of a choice, given what was seen and bought before in the case.

        The choice may be any purchase or action, also one that the policy never makes. The state
        of the policy at the time of the call counts, and it is not changed beyond the work that
        `choose_features` postpones.

        A policy may make private notes in its purchases (`Purchase.purpose`). They are summed out:
        the probability depends on what was seen and bought alone. To follow a case, give each call
        the `notes` of the call before. The product of the probabilities of all purchases and of
        the action is then the probability of the whole case, also if the policy has learnt in
        between.

        Parameters
        ----------
        known : Observation
            What is known about the round before the choice.
        choice : Purchase, array_like of bool or int
            A purchase, given by its mask as `choose_features` returns it, or an action. The mask
            of an empty purchase says that nothing (more) is bought.
        notes : mapping, optional
            Probabilities of the policy's notes, as the previous call in the same case returned
            them. By default `known.purpose` is certain, as it is before the first purchase.
        available : array_like of bool, shape (A,), optional
            True for each action that may be chosen. None means all of them.
        seed : int or str, optional
            Seed of the Monte Carlo estimate for a policy that does not state its probabilities, or
            a text that stands for one, such as the id of the case. By default it follows from
            `known` and the number of rounds.

        Returns
        -------
        Propensity or None
            The probability with its error, and the `notes` for the next call. None if the policy
            does not state it and its decisions are not `repeatable`.

        Examples
        --------
        Every action of this policy is equally likely:

        >>> from thrifty.policies import Uniform
        >>> policy = Uniform(Problem.anonymous(levels=(2,), n_actions=4))
        >>> nothing = Observation(codes=[-1], costs=[float("nan")])
        >>> bought_nothing = policy.propensity(nothing, [False])
        >>> bought_nothing.probability
        1.0
        >>> policy.propensity(nothing, 2, notes=bought_nothing.notes).probability
        0.25
        >>> policy.propensity(nothing, 2, available=[True, False, True, False]).probability
        0.5
        """
        self._require_observation(known)
        notes = {known.purpose: 1.0} if notes is None else notes
        rng = partial(_generator_of, known, self.rounds, seed)
        if not isinstance(choice, Purchase) and is_whole(choice):
            mask = self._every_action if available is None else self._require_available(available)
            self._require_action(choice)
            return self._action_propensity(known, int(choice), mask, notes, rng)
        bought = choice if isinstance(choice, Purchase) else Purchase(choice)
        if bought.mask.size != len(self._levels):
            raise InvalidPurchase(
                f"a mask of shape {bought.mask.shape} for {self.problem.n_features} features: it "
                "must hold one entry per feature."
            )
        return self._purchase_propensity(known, bought.mask, notes, rng)

    @property
    def due_fit(self) -> Fit | None:
        """The fit that was prepared and not yet applied, or None.

        A policy may replace it by a newer one, with a higher number. The older one is then stale.
        """
        return None

    def apply_fit(self, number: int, result: bytes) -> None:  # noqa: ARG002
        """Use the result of the due fit from now on.

        Parameters
        ----------
        number : int
            Number of the fit.
        result : bytes
            What its method `run` returned.

        Raises
        ------
        StaleFit
            If no fit is due, or one with another number.
        """
        raise self._stale_fit(number)

    def status(self) -> dict[str, Any]:
        """Return what the policy does at the moment, for the dashboard.

        Returns
        -------
        dict
            JSON values, with amounts in money. A policy may have any of these keys: `plan` (as
            `plan_to_dict` returns it), `plan_text` (its lines), `gain_expected` and
            `spend_expected` (per case), `explored` (`cases` and their `cost`), `changes` (rounds
            in which a change began), `max_loss`, `surplus` (gain compared with that of the best
            constant action), `cautious`, `fits` (their number) and `budget` (`ceiling`, `spend`
            and `shadow_price`).
        """
        return {}

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return everything the policy has learnt, and the fit that is due.

        Returns
        -------
        dict of str to array
            Input for `set_state`.
        """
        raise SaveError(
            f"{type(self).__name__} cannot be saved: write get_state and set_state for it."
        )

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what the policy had learnt.

        Parameters
        ----------
        state : mapping of str to array
            Output of `get_state`.
        """
        raise SaveError(
            f"{type(self).__name__} cannot be restored from {sorted(state)}: write get_state and "
            "set_state for it."
        )

    @abstractmethod
    def _choose_features(self, known: Observation) -> Purchase:
        """Choose the features to buy, given what is known so far."""

    @abstractmethod
    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        """Choose one of the available actions; at least one is available."""

    @abstractmethod
    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        """Learn from a validated round."""

    def _purchase_probabilities(
        self,
        known: Observation,  # noqa: ARG002
        mask: NDArray[np.bool_],  # noqa: ARG002
    ) -> Iterable[tuple[Purchase, float]] | None:
        """Return the purchases that `_choose_features(known)` may return, with probabilities.

        Purchases other than that of `mask` may be left out. By default the decision is repeated
        with other random numbers, unless it draws none.
        """
        return None

    def _action_probabilities(
        self,
        observation: Observation,  # noqa: ARG002
        available: NDArray[np.bool_],  # noqa: ARG002
    ) -> NDArray[np.float64] | None:
        """Return the probability of each action in `_choose_action(observation, available)`.

        By default the decision is repeated with other random numbers, unless it draws none.
        """
        return None

    def _purchase_propensity(
        self, known: Observation, mask: NDArray[np.bool_], notes: Notes, rng: _MakeGenerator
    ) -> Propensity | None:
        def note_of(choice: Any) -> int | None:
            if choice.mask is not mask:
                sold = self._sales.sold(choice.mask, known.settled)
                return choice.purpose if np.array_equal(sold, mask) else None
            return int(choice.purpose)

        mixture = Mixture()
        for purpose, weight in notes.items():
            seen = _with_purpose(known, purpose)
            stated = self._purchase_probabilities(seen, mask)
            if stated is not None:
                chances = Chances(stated)
            elif not self.random_purchases:
                chances = Chances([(self._choose_features(seen), 1.0)])
            elif self.repeatable:
                chances = self._repeated(partial(self._choose_features, seen), rng)
            else:
                return None
            mixture.add(weight, chances, note_of)
        return mixture.propensity(with_notes=True)

    def _action_propensity(
        self,
        known: Observation,
        action: int,
        available: NDArray[np.bool_],
        notes: Notes,
        rng: _MakeGenerator,
    ) -> Propensity | None:
        mixture = Mixture()
        for purpose, weight in notes.items():
            seen = _with_purpose(known, purpose)
            stated = self._action_probabilities(seen, available)
            if stated is not None:
                probability = float(stated[action])
                if len(notes) == 1 and weight == 1.0:  # the usual case
                    return Propensity(min(1.0, probability), self.action_error)
                chances = Chances([(action, probability)], bound=self.action_error)
            elif not self.random_actions:
                chances = Chances([(self._choose_action(seen, available), 1.0)])
            elif self.repeatable:
                chances = self._repeated(partial(self._choose_action, seen, available), rng)
            else:
                return None
            mixture.add(weight, chances, lambda choice: 0 if choice == action else None)
        return mixture.propensity(with_notes=False)

    def _repeated(self, decide: Callable[[], Any], rng: _MakeGenerator) -> Chances:
        """Return how often a decision has each result, without using the policy's generator."""
        own = self.rng

        def with_generator(other: np.random.Generator) -> Any:
            self.rng = other
            return decide()

        try:
            return repeated(with_generator, rng())
        finally:
            self.rng = own

    def _allowed(self, name: str) -> Constraint:
        if name not in self.allowed:
            raise InvalidParameter(
                f"{type(self).__name__} does not declare the range of its parameter {name!r}: add "
                f"it to `allowed`, for instance allowed = {{{name!r}: Real(0)}}."
            )
        return self.allowed[name]

    def _require_due_fit(self, number: int) -> Fit:
        """Return the due fit, or raise `StaleFit` if it does not have this number."""
        due = self.due_fit
        if due is None or due.number != number:
            raise self._stale_fit(number)
        return due

    def _stale_fit(self, number: int) -> StaleFit:
        due = "no fit is" if self.due_fit is None else f"fit {self.due_fit.number} is"
        return StaleFit(
            f"the result of fit {number} cannot be used, because {due} due: drop this result."
        )

    def _action_values(self, observation: Observation) -> NDArray[np.float64] | None:  # noqa: ARG002
        return None

    def _require_observation(self, observation: Observation) -> None:
        require_instance(observation, Observation, "observation")
        # Plain lists and a tuple: for a few features that is faster than comparing arrays.
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
        # Compiled code distinguishes writable from read-only arrays: one version is enough.
        mask.flags.writeable = False
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
                f"outcome {outcome!r}: the problem declares {len(names)} outcomes, counted from 0, "
                "so report one of them, or None if the outcome is not known."
            )

    def _require_reward(self, reward: float) -> None:
        if not 0 <= as_float(reward) <= 1:
            raise InvalidReward(
                f"reward {reward!r} is not a number in [0, 1], which every confidence bound "
                "assumes: rescale rewards before you report them."
            )

    def __repr__(self) -> str:
        return show_policy(self, self.parameters)


_MakeGenerator = Callable[[], np.random.Generator]


def _with_purpose(known: Observation, purpose: int) -> Observation:
    if purpose == known.purpose:
        return known
    return Observation.unchecked(known.codes, known.costs, purpose)


def _generator_of(known: Observation, rounds: int, seed: int | str | None) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed_of(known, rounds, seed)))


def show_policy(policy: Policy, parameters: Mapping[str, Any]) -> str:
    """Return a policy as text, with these values of its parameters."""
    settings = "".join(f"{name}={value!r}, " for name, value in parameters.items())
    return f"{type(policy).__name__}({settings}rounds={policy.rounds})"
