"""`auto`: choose between Scout and Surveyor by what the problem declares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from thrifty.errors import InvalidParameter
from thrifty.plans.cases import PastCases
from thrifty.policies.scout import Scout
from thrifty.policies.surveyor import Surveyor
from thrifty.policy import Policy
from thrifty.problem import Problem
from thrifty.seeds import Seed
from thrifty.surveyor.history import History

AUTO = "auto"
"""Name in the registry, and the default of `Agent` and of policy.toml."""
MAX_LEVELS = 8
"""Scout keeps a table of cells: a feature with more levels has too few cases in each."""
MAX_CELLS = 5_000
"""The same for all features together."""


def auto(
    problem: Problem,
    *,
    history: PastCases | History | None = None,
    horizon: int = 10_000,
    seed: Seed = None,
    **parameters: Any,
) -> Policy:
    """Make a Scout or a Surveyor, whichever suits the problem: the default of `Agent`.

    Surveyor is chosen if both of these hold, and Scout otherwise:

    1. The problem declares outcomes with rewards, and a price for every feature that is not free.
    2. There is a history, an ordered feature (a number or a date), a feature with more than 8
       levels, or there are more than 5,000 combinations of levels.

    The policy is saved as what it is.

    Parameters
    ----------
    problem : Problem
        Features and actions. A feature without a price counts as free if others have prices.
    history : PastCases or History, optional
        Past cases to learn from first, which only Surveyor can use.
    horizon : int
        Number of cases over which exploring has to pay. Scout does not need it.
    seed : int, SeedSequence, Generator or None
        Source of all randomness.
    **parameters
        Further parameters of the policy that is chosen.

    Returns
    -------
    Policy
        The policy.

    Examples
    --------
    >>> auto(Problem.anonymous(levels=(2, 3), n_actions=2))
    Scout(max_features=None, budget=None, recall=True, rounds=0)
    """
    make: Callable[..., Policy] = chosen_by_auto(problem, has_history=history is not None)
    if make is Scout:
        return make(problem, seed=seed, **parameters)
    return make(problem, history=history, horizon=horizon, seed=seed, **parameters)


def chosen_by_auto(
    problem: Problem, *, has_history: bool = False, free: Iterable[str] | None = None
) -> type[Scout] | type[Surveyor]:
    """Return the class of the policy that `auto` makes.

    Parameters
    ----------
    problem : Problem
        Features and actions.
    has_history : bool
        True if there are past cases to learn from.
    free : iterable of str, optional
        Features that are known before buying. By default those without a price, if others have
        prices.

    Returns
    -------
    type
        `Scout` or `Surveyor`.

    Raises
    ------
    InvalidParameter
        If there is a history, but the problem does not declare what Surveyor needs to use it.
    """
    lacking = _lacking(problem, free)
    if lacking is None:
        return Surveyor if has_history or _is_large(problem) else Scout
    if has_history:
        raise InvalidParameter(
            f"'auto' chooses Scout, which cannot learn from a history, because {lacking}: declare "
            "it, or leave out history."
        )
    return Scout


def _lacking(problem: Problem, free: Iterable[str] | None) -> str | None:
    """Return what the problem does not declare and Surveyor needs."""
    if problem.outcomes is None:
        return "the problem declares no outcomes"
    if problem.prices is None:
        return "the problem declares no prices"
    if free is None:
        return None
    known = {*free, *problem.prices.prices}
    known |= {name for bundle in problem.prices.bundles for name in bundle.features}
    lacking = [name for name in problem.feature_names if name not in known]
    return f"feature {lacking[0]!r} has no price" if lacking else None


def _is_large(problem: Problem) -> bool:
    """Return True if tables of cells would have too few cases in each cell."""
    levels = problem.levels.tolist()
    has_long = any(feature.ordered for feature in problem.features) or max(levels) > MAX_LEVELS
    return has_long or math.prod(levels) > MAX_CELLS
