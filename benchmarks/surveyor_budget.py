"""Surveyor with a budget on made-up markets: `python -m benchmarks.surveyor_budget [FAMILY ...]`.

Each market has 20,000 cases, and Surveyor starts with 2,000 past cases. Its ceilings are shares of
what the plan that it learns from the past cases spends without a budget. The gain is compared with
two references at the spend that Surveyor had:

- `told`: the plans that the same planner learns from the same past cases, and nothing afterwards.
  Two of them are mixed, whichever are best on the stream.
- `exact`: the best plans of the market, two of them mixed.

All gains are those of a case over the best constant action. They use the expected reward of an
action given all values of the case, so the luck of single outcomes does not count.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import mean, stdev

import numpy as np
from numpy.typing import NDArray

from benchmarks.plans_on_made_up_tables import T_95
from thrifty.environments.market import Market
from thrifty.environments.markets import FAMILIES
from thrifty.plans.frontier import Frontier, Point
from thrifty.plans.tree import PlanTree
from thrifty.playing import play
from thrifty.policies import Surveyor
from thrifty.surveyor.knowledge import Knowledge

Floats = NDArray[np.float64]
NAMES = ("lending", "fees", "triage", "shop")
ROUNDS, PAST = 20_000, 2_000
SHARES = tuple(np.linspace(0.1, 0.9, 7).round(3).tolist())
REPORTING, CHOOSING = range(200, 210), range(100, 110)
SPEND_WITHIN, GAIN_SHARE = 0.01, 0.95
"""What is asked for: spend this close to the ceiling, and this share of the reference's gain."""


@dataclass(frozen=True)
class Result:
    """One run with one ceiling.

    Parameters
    ----------
    family : str
        Family of the market.
    seed : int
        Seed of the market and the policy.
    ceiling : float
        Ceiling as a share of what the plan spends without a budget.
    spend : float
        Spend as a share of the ceiling.
    gain, told, exact : float
        Gain over the best constant action: of Surveyor, and of the references at its spend.
    """

    family: str
    seed: int
    ceiling: float
    spend: float
    gain: float
    told: float
    exact: float


class Stream:
    """The cases of a market, and what strategies gain in them.

    Parameters
    ----------
    market : Market
        The market.
    seed : int
        Seed of the cases.
    """

    def __init__(self, market: Market, seed: int) -> None:
        self.market, self.seed, self.cases = market, seed, market.stream(seed)
        self._rewards = market.expected_rewards(seed)
        constants = self._rewards[np.arange(market.horizon), market.best_constants()]
        self._constant = float(constants.mean())

    def point(self, actions: NDArray[np.int64], costs: Floats) -> Point:
        """Return the spend of some decisions, and their gain over the best constant action."""
        rewards = self._rewards[np.arange(len(actions)), actions]
        return Point(float(costs.mean()), float((rewards - costs).mean()) - self._constant)

    def told(self, knowledge: Knowledge) -> Frontier:
        """Return the frontier of learnt plans."""
        trees = [knowledge.nothing, *(rung.plan for rung in knowledge.ladder), knowledge.plan]
        return Frontier.of(map(self._learnt, trees))

    def exact(self) -> Frontier:
        """Return the frontier of the market's best plans, in these cases."""
        ((_, _, levels),) = self.market._by_regime(self.seed)
        points = []
        for plan in self.market.distributions[0].frontier():
            choices = plan.follow(levels)
            points.append(self.point(choices.actions, plan.costs(choices)))
        return Frontier.of(points)

    def _learnt(self, tree: PlanTree) -> Point:
        decisions = tree.decide(self.cases.codes)
        return self.point(decisions.actions, decisions.costs(self.cases))


def run(trial: tuple[str, int, int, int]) -> list[Result]:
    """Return the results of a market with every ceiling; none if the plan buys nothing."""
    family, seed, rounds, n_past = trial
    market = FAMILIES[family](seed, rounds=rounds)
    stream, past = Stream(market, seed), market.past_cases(n_past, seed)
    exact, span = stream.exact(), market.problem.rewards.span

    def surveyor(budget: float | None) -> Surveyor:
        return Surveyor(market.problem, history=past, horizon=rounds, budget=budget, seed=seed)

    unlimited, results = surveyor(None).knowledge, []
    plan_spend = 0.0 if unlimited is None else unlimited.spend
    for share in SHARES if plan_spend > 0 else ():
        ceiling = share * plan_spend
        policy = surveyor(ceiling / span)
        assert policy.knowledge is not None
        told = stream.told(policy.knowledge)
        market.reset(seed=seed)
        played = play(policy, market)
        reached = stream.point(played.actions, played.costs * span)
        spend = reached.spend
        references = told.gain(spend), exact.gain(spend)
        results.append(Result(family, seed, share, spend / ceiling, reached.gain, *references))
    return results


def with_interval(values: Sequence[float]) -> str:
    """Return a mean with its 95% interval, in percent."""
    if len(values) < 2:
        return f"{100 * values[0]:.1f}"
    margin = T_95.get(len(values), 2.2) * stdev(values) / len(values) ** 0.5
    return f"{100 * mean(values):.1f} +- {100 * margin:.1f}"


def lines(results: Iterable[Result]) -> Iterator[str]:
    """Yield a line for each ceiling of one family."""
    every = list(results)
    for share in SHARES:
        found = [result for result in every if result.ceiling == share]
        if not found:
            continue
        spends = [result.spend for result in found]
        off = max(abs(spend - 1) for spend in spends)
        # Shares of sums: a market in which hardly anything can be gained must not dominate.
        shares = []
        for name in ("told", "exact"):
            total = mean(getattr(result, name) for result in found)
            shares.append(with_interval([1 + (r.gain - getattr(r, name)) / total for r in found]))
        yield (
            f"{found[0].family}, ceiling {100 * share:.0f}%: spend {with_interval(spends)}, worst "
            f"off by {100 * off:.2f}; gain {shares[0]} of told, {shares[1]} of exact"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every family, and print a line for each ceiling."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.surveyor_budget", description=__doc__
    )
    parser.add_argument("names", nargs="*", help=f"among {', '.join(FAMILIES)}")
    parser.add_argument("--seeds", type=int, default=len(REPORTING))
    parser.add_argument("--choosing", action="store_true", help="use the seeds for choosing")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--past", type=int, default=PAST)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    seeds = (CHOOSING if options.choosing else REPORTING)[: options.seeds]
    every: list[Result] = []
    print("spend in % of the ceiling, gain over the best constant action in % of each reference's")
    with ProcessPoolExecutor(options.workers) as pool:
        for name in options.names or NAMES:
            trials = [(name, seed, options.rounds, options.past) for seed in seeds]
            found = [result for results in pool.map(run, trials) for result in results]
            print("\n".join(lines(found)), flush=True)
            every += found
    n_within = sum(abs(result.spend - 1) <= SPEND_WITHIN for result in every)
    print(f"spend within {SPEND_WITHIN:.0%} of the ceiling: {n_within} of {len(every)} runs")
    for reference in ("told", "exact"):
        n = sum(r.gain >= GAIN_SHARE * getattr(r, reference) for r in every)
        print(f"gain at least {GAIN_SHARE:.0%} of {reference}: {n} of {len(every)} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
