"""An average spend per case that is kept in closed loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from thrifty.plans.cases import Floats
from thrifty.plans.frontier import Frontier, Mix, Point
from thrifty.plans.steps import Step
from thrifty.plans.tree import Leaf, PlanTree
from thrifty.surveyor.knowledge import Knowledge

SETTLING_SHARE, SETTLING_CASES = 0.05, 200
"""The balance is settled over this share of the horizon, and over at least this many cases."""
EXPLORING_SHARE = 0.02
"""Share of the ceiling that exploring may use on average once the first phase is over."""
FIRST_EXPLORING_SHARE = 0.1
"""Share of the ceiling of all cases of the horizon that the first phase of exploring may use."""


@dataclass(frozen=True)
class Account:
    """What was spent, compared with an average that is allowed. Amounts are in money.

    Every case adds the ceiling to the balance, and takes what was paid from it. A positive balance
    is at most the ceiling of `settling` cases: what is not spent in a long time is not saved up.

    Parameters
    ----------
    ceiling : float
        Average spend per case that is allowed.
    settling : float
        Number of cases over which the balance is settled.
    n_cases : int
        Number of cases so far.
    spent : float
        What was paid in them.
    balance : float
        What may be spent beyond the ceiling; negative after too much was spent.

    Examples
    --------
    >>> account = Account.open(2.0, horizon=10_000)
    >>> account = account.after(5.0).after(0.0).after(0.0)
    >>> account.balance, round(account.mean, 2), account.target
    (1.0, 1.67, 2.002)
    """

    ceiling: float
    settling: float
    n_cases: int = 0
    spent: float = 0.0
    balance: float = 0.0

    @classmethod
    def open(cls, ceiling: float, *, horizon: int) -> Account:
        """Return an account before the first case.

        Parameters
        ----------
        ceiling : float
            Average spend per case that is allowed.
        horizon : int
            Number of cases that are planned for.

        Returns
        -------
        Account
            The account.
        """
        return cls(ceiling, max(SETTLING_CASES, SETTLING_SHARE * horizon))

    def after(self, paid: float) -> Account:
        """Return the account after another case.

        Parameters
        ----------
        paid : float
            What the case has cost.

        Returns
        -------
        Account
            The account.
        """
        balance = min(self.balance + self.ceiling - paid, self.settling * self.ceiling)
        return replace(self, n_cases=self.n_cases + 1, spent=self.spent + paid, balance=balance)

    @property
    def mean(self) -> float:
        """Mean spend per case so far."""
        return self.spent / max(self.n_cases, 1)

    @property
    def target(self) -> float:
        """Average spend per case that settles the balance; it may be negative."""
        return self.ceiling + self.balance / self.settling

    def exploring_limit(self, price: float, explored: float, first_cases: int) -> float:
        """Return the largest probability of looking at everything in the next case.

        Parameters
        ----------
        price : float
            Price of everything.
        explored : float
            What exploring has cost in this phase.
        first_cases : int
            Number of cases whose ceiling the first phase may share in; 0 after the first phase.

        Returns
        -------
        float
            Probability.
        """
        if explored < FIRST_EXPLORING_SHARE * self.ceiling * first_cases:
            return 1.0
        return min(1.0, EXPLORING_SHARE * self.ceiling / max(price, 1e-12))

    def to_dict(self) -> dict[str, Any]:
        """Return the account as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Account:
        """Return what `to_dict` described."""
        return cls(**plain)


@dataclass(frozen=True, eq=False)
class CheaperPlans:
    """The plans of a ladder, ready to be followed instead of the plan.

    Parameters
    ----------
    trees : tuple of PlanTree
        The plans by increasing spend.
    steps : tuple of Step
        Their first steps.
    frontier : Frontier
        Spend and gain of these plans, then those of the plan. Gains follow from shadow prices.
    """

    trees: tuple[PlanTree, ...]
    steps: tuple[Step, ...]
    frontier: Frontier

    @classmethod
    def of(cls, knowledge: Knowledge) -> CheaperPlans:
        """Return the plans that spend less than the plan.

        Parameters
        ----------
        knowledge : Knowledge
            What was learnt.

        Returns
        -------
        CheaperPlans
            The plans of the ladder, or only that of buying nothing if there is no ladder; none if
            the plan buys nothing.
        """
        if not knowledge.buys:
            return cls((), (), Frontier((Point(0.0, knowledge.gain),)))
        if knowledge.ladder:
            trees = tuple(rung.plan for rung in knowledge.ladder)
            corners = [(rung.spend, rung.shadow_price) for rung in knowledge.ladder]
        else:
            advantage = max(knowledge.gain - knowledge.nothing_gain, 0.0)
            trees, corners = (knowledge.nothing,), [(0.0, advantage / knowledge.spend)]
        points = [Point(knowledge.spend, knowledge.gain)]
        for spend, price in reversed(corners):
            dearer = points[0]
            points.insert(0, Point(spend, dearer.gain - price * (dearer.spend - spend)))
        steps = tuple(Step.of(tree, tree.root) for tree in trees)
        return cls(trees, steps, Frontier(tuple(points)))

    def place(self, place: int) -> int:
        """Return a place that exists: the plans may have changed since a case began."""
        return min(place, len(self.trees) - 1)

    def choose(self, account: Account, draw: Callable[[], float]) -> int | None:
        """Return which plan to follow in a new case.

        Parameters
        ----------
        account : Account
            What was spent.
        draw : callable
            Returns a random number in [0, 1); called only if two plans are mixed.

        Returns
        -------
        int or None
            Position of one of these plans; None for the plan.
        """
        mix = self.mix(account)
        return self._chosen(mix.dear if mix.share > 0 and draw() < mix.share else mix.cheap)

    def chances(self, account: Account) -> list[tuple[int | None, float]]:
        """Return the results of `choose`, each with its probability.

        Parameters
        ----------
        account : Account
            What was spent.

        Returns
        -------
        list of (int or None, float)
            Positions and probabilities.
        """
        mix = self.mix(account)
        share = min(1.0, max(0.0, mix.share))
        return [(self._chosen(mix.dear), share), (self._chosen(mix.cheap), 1 - share)]

    def _chosen(self, place: int) -> int | None:
        return None if place == len(self.trees) else place

    def mix(self, account: Account) -> Mix:
        """Return the two plans that are followed at present, and the shadow price.

        Parameters
        ----------
        account : Account
            What was spent.

        Returns
        -------
        Mix
            The plans.
        """
        return self.frontier.mix(account.target)


def ladder_leaves(knowledge: Knowledge) -> Iterator[tuple[Leaf, Floats]]:
    """Yield the leaves of the plans of a ladder, each with its frequencies of outcomes."""
    for rung in knowledge.ladder:
        yield from zip(rung.plan.leaves, rung.leaf_frequencies, strict=True)


def describe_budget(account: Account, shadow_price: float | None) -> str:
    """Return the state of an account in words.

    Parameters
    ----------
    account : Account
        The account.
    shadow_price : float, optional
        What another unit of spend would gain, if that is known.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> account = Account.open(2.5, horizon=1).after(2.31)
    >>> describe_budget(account, 1.8)
    'Spends 2.31 per case of 2.50 allowed; another unit of spend would gain about 1.80.'
    >>> describe_budget(account, 0.0)
    'Spends 2.31 per case of 2.50 allowed; spending more would gain nothing.'
    """
    spent = f"Spends {account.mean:,.2f} per case of {account.ceiling:,.2f} allowed"
    if shadow_price is None:
        return f"{spent}."
    if shadow_price <= 0:
        return f"{spent}; spending more would gain nothing."
    return f"{spent}; another unit of spend would gain about {shadow_price:,.2f}."


def budget_status(account: Account, shadow_price: float | None) -> dict[str, Any]:
    """Return the state of an account as JSON values; amounts are per case, in money.

    Parameters
    ----------
    account : Account
        The account.
    shadow_price : float, optional
        What another unit of spend would gain, if that is known.

    Returns
    -------
    dict
        The average spend that is `allowed`, the mean that was `spent`, and the `shadow_price`.
    """
    return {"allowed": account.ceiling, "spent": account.mean, "shadow_price": shadow_price}
