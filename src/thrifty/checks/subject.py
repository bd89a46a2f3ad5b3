"""`Subject`: a policy under check, with a way to make new copies of it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thrifty.checks.tables import RoundTables, play_rounds
from thrifty.errors import InvalidParameter
from thrifty.policies import policy_named
from thrifty.policy import Policy
from thrifty.problem import Problem

SMALL = Problem.anonymous(levels=(2, 3, 2), n_actions=3)
ROUNDS = 120
HORIZON = 10_000
"""Horizon of policies that need one; no check plays more rounds."""


@dataclass(frozen=True)
class Subject:
    """A policy under check.

    Parameters
    ----------
    name : str
        Name of the policy in messages.
    problem : Problem
        Problem that the checks use.
    seed : int
        Seed of the policy and of the rounds.
    build : callable
        Makes a new policy for a problem, always in the same state.
    on_any_problem : bool
        True if `build` accepts other problems too.
    """

    name: str
    problem: Problem
    seed: int
    build: Callable[[Problem], Policy]
    on_any_problem: bool

    @classmethod
    def of(
        cls, policy: Any, *, problem: Problem | None, seed: int, parameters: dict[str, Any]
    ) -> Subject:
        """Make a subject from any form that `check_policy` accepts.

        Parameters
        ----------
        policy : str, Policy or callable
            Name in the registry, policy, or a class or function that makes one.
        problem : Problem or None
            Problem to use, or None for a small one.
        seed : int
            Seed of the policy and of the rounds.
        parameters : dict
            Parameters of the policy.

        Returns
        -------
        Subject
            The subject.
        """
        if isinstance(policy, Policy):
            _require_nothing_else(policy, problem, parameters)
            return cls(repr(policy), policy.problem, seed, lambda _: duplicate(policy), False)
        name = policy if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))
        factory = policy_named(policy) if isinstance(policy, str) else policy
        arguments = {"seed": seed, **_horizon(factory, name), **parameters}
        build = _builder(factory, arguments, name)
        return cls(name, SMALL if problem is None else problem, seed, build, True)

    def fresh(self) -> Policy:
        """Make a new policy.

        Returns
        -------
        Policy
            A policy that has not learnt anything.
        """
        return self.build(self.problem)

    def trained(self, rounds: int) -> Policy:
        """Make a new policy and let it play.

        Parameters
        ----------
        rounds : int
            Number of rounds to play.

        Returns
        -------
        Policy
            The trained policy.
        """
        policy = self.fresh()
        play_rounds(policy, self.tables(), range(rounds))
        return policy

    def tables(self, rounds: int = ROUNDS, *, other: int = 0) -> RoundTables:
        """Return rounds to play.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        other : int
            Each value gives different rounds.

        Returns
        -------
        RoundTables
            The rounds.
        """
        return RoundTables.draw(self.problem, rounds, 1000 * self.seed + other)


def duplicate(policy: Policy) -> Policy:
    """Return an independent copy of `policy`."""
    try:
        return copy.deepcopy(policy)
    except Exception as error:
        raise InvalidParameter(
            f"{policy!r} cannot be copied ({error}), but the checks need several copies in the "
            "same state: give its class, or a function that makes it."
        ) from error


def _require_nothing_else(
    policy: Policy, problem: Problem | None, parameters: dict[str, Any]
) -> None:
    if parameters or problem not in (None, policy.problem):
        raise InvalidParameter(
            f"{policy!r} has its problem and its parameters already: give its class or its name "
            "to check it with others."
        )


def _horizon(factory: Callable[..., Policy], name: str) -> dict[str, Any]:
    asked = inspect.signature(factory).parameters
    if "truth" in asked:
        raise InvalidParameter(
            f"{name} needs the truth of its environment, which exists in simulation only, so the "
            "promises of a policy do not apply to it: check another policy."
        )
    return {"horizon": HORIZON} if "horizon" in asked else {}


def _builder(
    factory: Callable[..., Policy], arguments: dict[str, Any], name: str
) -> Callable[[Problem], Policy]:
    missing = sorted(getattr(factory, "__abstractmethods__", ()))

    def build(problem: Problem) -> Policy:
        if missing:
            raise InvalidParameter(f"{name} has no {', '.join(missing)}: write what is missing.")
        try:
            policy = factory(problem, **arguments)
        except TypeError as error:
            raise InvalidParameter(
                f"{name} cannot be made with {', '.join(arguments)} alone ({error}): give "
                "check_policy its other parameters too."
            ) from error
        if not isinstance(policy, Policy):
            raise InvalidParameter(
                f"{name} made a {type(policy).__name__}, which is not a Policy: derive it from "
                "thrifty.Policy, whose methods the checks call."
            )
        if not hasattr(policy, "_parameters"):
            raise InvalidParameter(
                f"{name} does not call super().__init__(problem, seed=seed, ...), which sets up "
                "the policy: call it first in __init__, with every parameter."
            )
        return policy

    return build
