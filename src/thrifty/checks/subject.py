"""A policy under check: however it was handed in, a way to make as many of it as needed."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thrifty.checks.tables import Tables, play_rounds
from thrifty.errors import InvalidParameter
from thrifty.policies import policy_named
from thrifty.policy import Policy
from thrifty.problem import Problem

SMALL = Problem.anonymous(levels=(2, 3, 2), n_actions=3)
ROUNDS = 120
HORIZON = 10_000
"""The horizon told to policies that need one; no check plays longer."""


@dataclass(frozen=True)
class Subject:
    """A policy under check.

    `build` makes a new policy, always the same, for a problem; `on_any_problem` says whether it
    can do so for others than `problem`.
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
        """Make a subject of a registry name, a factory or a policy."""
        if isinstance(policy, Policy):
            _require_nothing_else(policy, problem, parameters)
            return cls(repr(policy), policy.problem, seed, lambda _: duplicate(policy), False)
        name = policy if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))
        factory = policy_named(policy) if isinstance(policy, str) else policy
        arguments = {"seed": seed, **_horizon(factory, name), **parameters}
        build = _builder(factory, arguments, name)
        return cls(name, SMALL if problem is None else problem, seed, build, True)

    def fresh(self) -> Policy:
        """Make a new policy."""
        return self.build(self.problem)

    def trained(self, rounds: int) -> Policy:
        """Make a new policy that has played the first `rounds` rounds."""
        policy = self.fresh()
        play_rounds(policy, self.tables(), range(rounds))
        return policy

    def tables(self, rounds: int = ROUNDS, *, other: int = 0) -> Tables:
        """Return rounds to play; each value of `other` gives different ones."""
        return Tables.draw(self.problem, rounds, 1000 * self.seed + other)


def duplicate(policy: Policy) -> Policy:
    """Return an independent copy of `policy`."""
    try:
        return copy.deepcopy(policy)
    except Exception as error:
        raise InvalidParameter(
            f"{policy!r} cannot be copied ({error}), and its checks need several that start from "
            "the same state: hand in its class, or a function that makes it."
        ) from error


def _require_nothing_else(
    policy: Policy, problem: Problem | None, parameters: dict[str, Any]
) -> None:
    if parameters or problem not in (None, policy.problem):
        raise InvalidParameter(
            f"{policy!r} has its problem and its parameters already: hand in its class or its "
            "name to check it with others."
        )


def _horizon(factory: Callable[..., Policy], name: str) -> dict[str, Any]:
    asked = inspect.signature(factory).parameters
    if "truth" in asked:
        raise InvalidParameter(
            f"{name} is told the truth about its world, which exists in simulation only, so it "
            "makes none of a policy's promises: check another one."
        )
    return {"horizon": HORIZON} if "horizon" in asked else {}


def _builder(
    factory: Callable[..., Policy], arguments: dict[str, Any], name: str
) -> Callable[[Problem], Policy]:
    unwritten = sorted(getattr(factory, "__abstractmethods__", ()))

    def build(problem: Problem) -> Policy:
        if unwritten:
            raise InvalidParameter(f"{name} has no {', '.join(unwritten)}: write what is missing.")
        try:
            policy = factory(problem, **arguments)
        except TypeError as error:
            raise InvalidParameter(
                f"{name} cannot be made with {', '.join(arguments)} alone ({error}): give "
                "check_policy its other parameters too."
            ) from error
        if not isinstance(policy, Policy):
            raise InvalidParameter(
                f"{name} made a {type(policy).__name__}, which is no Policy: derive it from "
                "thrifty.Policy, whose methods the checks call."
            )
        if not hasattr(policy, "_parameters"):
            raise InvalidParameter(
                f"{name} does not call super().__init__(problem, seed=seed, ...), which keeps the "
                "books: call it first in __init__, with every parameter."
            )
        return policy

    return build
