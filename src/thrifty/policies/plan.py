"""A plan as a policy: it buys what its tree says, acts at a leaf, and learns nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DamagedFile, InvalidParameter
from thrifty.plans.binning import Binning
from thrifty.plans.booster import Booster, ModelRule
from thrifty.plans.files import plan_from_dict, plan_to_dict
from thrifty.plans.steps import Step, explain_step
from thrifty.plans.tree import Leaf, PlanTree
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.rounds import Observation, Purchase
from thrifty.seeds import Seed


class PlanContent(dict[str, Any]):
    """The content of a plan.json as a parameter of a policy; its repr is short."""

    def __repr__(self) -> str:
        return f"<plan {self['checksum'][:8]}>"


@dataclass(frozen=True)
class PlanConstraint:
    """Accepts the content of a plan that was read and checked."""

    def accepts(self, value: Any) -> bool:
        """Return True for the content of a plan."""
        return isinstance(value, PlanContent)

    def convert(self, value: Any) -> Any:
        """Return the content as it is."""
        return value

    def __str__(self) -> str:
        return "a plan"


class PlanPolicy(Policy):
    """Plan: buy what a plan says, step by step, and act at a leaf; it never learns.

    A feature that is known or settled is not bought again. A value that could not be obtained goes
    the way that the plan has for such values.

    Parameters
    ----------
    problem : Problem
        Features and actions, which must be those of the plan. Prices and rewards may differ.
    plan : PlanTree or mapping
        The plan, or the content of a plan.json.
    seed : int, SeedSequence, Generator or None
        Not used: a plan draws no random numbers.

    Examples
    --------
    >>> from thrifty.plans.tree import ActionRule, Split
    >>> problem = Problem.anonymous(levels=(2,), n_actions=2)
    >>> priced = Problem(problem.features, problem.actions, prices={"x1": 0.1})
    >>> stay, go = (Leaf((), ActionRule(a, np.eye(2)[a])) for a in range(2))
    >>> split = Split((0,), 0, np.array([True, False, True]), low=stay, high=go)
    >>> policy = PlanPolicy(problem, plan=PlanTree(priced, np.array([False]), split))
    >>> policy.choose_features().mask.tolist()
    [True]
    >>> policy.choose_action(Observation([1], [0.1]))
    1
    """

    stepwise = True
    random_purchases = random_actions = False
    allowed = {"plan": PlanConstraint()}

    def __init__(
        self,
        problem: Problem,
        *,
        plan: PlanTree | Mapping[str, Any] | None = None,
        seed: Seed = None,
    ) -> None:
        tree = as_tree(plan)
        super().__init__(problem, seed=seed, plan=PlanContent(plan_to_dict(tree)))
        require_same_problem(tree, problem)
        self.tree = tree
        self._root = Step.of(tree, tree.root)

    def reasons(
        self, purchase: Purchase, known: Observation | None = None
    ) -> Callable[[], dict[str, Any]]:
        """Explain the purchase that the plan has just chosen, or why it stops.

        Parameters
        ----------
        purchase : Purchase
            The purchase that `choose_features` returned.
        known : Observation, optional
            What was known when it was chosen.

        Returns
        -------
        callable
            Returns `why`, a sentence, and `path`, the comparisons that led to it.
        """
        del purchase  # it follows from what is known
        seen = self._nothing_known if known is None else known
        return partial(explain_step, self.tree, self._root, seen)

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return nothing, because a plan does not learn.

        Returns
        -------
        dict
            An empty dictionary.
        """
        return {}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Accept the output of `get_state`.

        Parameters
        ----------
        state : mapping
            An empty mapping.
        """
        if state:
            raise DamagedFile(
                f"a plan has no state, but arrays {sorted(state)} were saved: they belong to "
                "another policy, so load them with that."
            )

    def _choose_features(self, known: Observation) -> Purchase:
        mask = np.zeros(len(self._levels), dtype=np.bool_)
        mask[list(self._root.follow(known)[1])] = True
        return Purchase.unchecked(mask, 0)

    def _choose_action(self, observation: Observation, available: NDArray[np.bool_]) -> int:
        values = self._values(observation)
        return int(np.where(available, values, -np.inf).argmax())

    def _action_values(self, observation: Observation) -> NDArray[np.float64]:
        scale = self.problem.rewards
        scaled: NDArray[np.float64] = (self._values(observation) - scale.low) / scale.span
        return scaled

    def _values(self, observation: Observation) -> NDArray[np.float64]:
        """Return the expected rewards in money; what could have been bought counts as missing."""
        step = self._root.leaf(observation.codes.tolist())
        assert isinstance(step.node, Leaf)
        values: NDArray[np.float64] = step.node.rule.action_values(
            observation.codes.astype(np.int16)[None]
        )[0]
        return values

    def _update(
        self, observation: Observation, action: int, reward: float, outcome: int | None
    ) -> None:
        pass


def as_tree(plan: Any) -> PlanTree:
    """Return a plan that is given as a tree, or as the content of a plan.json."""
    if isinstance(plan, PlanTree):
        return plan
    if isinstance(plan, Mapping):
        return plan_from_dict(plan)
    raise InvalidParameter(
        f"plan is {plan!r}: the policy carries out a plan, so give a PlanTree or the content of a "
        'plan.json; in policy.toml, write plan = "plan.json".'
    )


def require_same_problem(tree: PlanTree, problem: Problem) -> None:
    """Raise `InvalidParameter` if a plan was made for other features, levels or actions."""
    own, names = tree.problem, problem.feature_names
    if own.feature_names != names:
        raise InvalidParameter(
            f"the plan was made for the features {_list(own.feature_names)}, but the problem has "
            f"{_list(names)}, so its values would be confused: use the same features in the same "
            "order, or make a plan for this problem."
        )
    for planned, given in zip(own.features, problem.features, strict=True):
        if planned != given:
            raise InvalidParameter(
                f"feature {given.name!r} has other levels or edges than the plan was made for: "
                f"the plan has {_list(planned.levels)}, the problem {_list(given.levels)}. Use the "
                "same levels and edges, or make a plan for this problem."
            )
    if own.actions != problem.actions:
        raise InvalidParameter(
            f"the plan was made for the actions {_list(own.actions)}, but the problem has "
            f"{_list(problem.actions)}: use the same actions in the same order, or make a plan for "
            "this problem."
        )


def sample_plan(problem: Problem) -> PlanTree:
    """Return a plan that buys the first feature and acts by a model, to compile what plans use."""
    actions = range(problem.n_actions)
    outcomes = {problem.actions[a]: {"one": float(a % 2), "two": 1.0 - a % 2} for a in actions}
    prices = dict.fromkeys(problem.feature_names, 0.1)
    planned = Problem(problem.features, problem.actions, outcomes, prices)
    assert planned.outcomes is not None
    lookups = tuple(np.zeros(levels + 1, np.uint8) for levels in problem.levels.tolist())
    tree = np.zeros((1, 1, 1), np.int16), np.zeros((1, 1, 1), np.uint8), np.zeros((1, 1, 2))
    booster = Booster((0,), np.zeros(1), *tree)
    binning = Binning(lookups, np.ones(problem.n_features, np.int64))
    rule = ModelRule(binning, (booster,), planned.outcomes.table)
    return PlanTree(planned, np.zeros(problem.n_features, np.bool_), Leaf((0,), rule))


def _list(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
