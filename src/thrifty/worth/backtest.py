"""Backtest: replay the cases in order and record what each strategy would have earned."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.agent import Agent
from thrifty.environments.past_cases import replay_of
from thrifty.errors import InvalidParameter
from thrifty.plans.bank import Bank
from thrifty.plans.cases import LookSet, PastCases
from thrifty.plans.learning import Learnt, learn
from thrifty.plans.refitting import MIN_TO_LEARN, TENTHS, refitted_actions
from thrifty.plans.tree import Decisions, PlanTree
from thrifty.playing import play
from thrifty.policies import NCCUCRL2, Scout, Surveyor
from thrifty.policies.auto import AUTO
from thrifty.policies.compiled import CompiledPolicy
from thrifty.policies.registry import require_parameters
from thrifty.policies.scout import ScoutEvent
from thrifty.policy_factory import scaled_parameters
from thrifty.policy_file.baselines import BASELINE
from thrifty.policy_file.model import PolicySection
from thrifty.seeds import generator
from thrifty.tables.cases import Cases
from thrifty.worth.halves import Halves
from thrifty.worth.money import join_names
from thrifty.worth.selection import Z_95, Estimate

Floats = NDArray[np.float64]

MAX_REPLAYED = 200_000
"""Longer tables are thinned: every k-th case is replayed."""
MAX_RUNS = 3
MAX_CASES_SCOUT_RUNS = 50_000
MAX_CASES_NCC_RUNS = 5_000
"""Scout and NCC-UCRL2 are run several times up to these numbers of cases."""
MAX_SWEPT = 3_000_000
"""NCC-UCRL2 starts with a sweep only if it has to remember at most this many partial states."""
FIRST_PART = 0.2
"""Share of the cases on which the plan and the fixed set are learnt."""
BLOCKS = 50
MIN_STRETCH = 20
"""Least number of cases between two changes of a price."""
SURVEYOR_PARTS = 50
"""Number of parts in which the cases are replayed to Surveyor, to show progress."""
SURVEYOR, PLAN = "surveyor", "plan"
"""Names of policies in policy.toml."""
HINDSIGHT_PER_TENTH = 2
"""Number of sets that look best in a tenth of the cases and are tried there."""


class Strategy(StrEnum):
    """The strategies of the backtest, by the name that tables and worth.json show."""

    PLAN = "Plan"
    FIXED = "Fixed set"
    SCOUT = "Scout"
    SURVEYOR = "Surveyor"
    NCC = "NCC-UCRL2"
    EVERYTHING = "Buy everything"
    NOTHING = "Buy nothing"
    HINDSIGHT = "Hindsight"


@dataclass(frozen=True, eq=False)
class StrategyResult:
    """What a strategy earned and paid in every case, in money.

    `rewards` and `costs` are means over `runs` runs; `purchase_rates` (D,) are the shares of cases
    in which each feature was bought.
    """

    strategy: Strategy
    description: str
    rewards: Floats
    costs: Floats
    runs: int = 1
    purchase_rates: Floats | None = None

    @property
    def gains(self) -> Floats:
        """Reward minus cost of every case."""
        return self.rewards - self.costs

    def gain_per_case(self) -> Estimate:
        """Return the mean gain with an interval that allows for correlated neighbours."""
        return block_mean(self.gains)


class PriceChange(NamedTuple):
    """A change of a feature's mean price, at the case with this index."""

    case: int
    feature: str
    before: float
    after: float


def block_mean(values: Floats) -> Estimate:
    """Return the mean of a series with an interval from the means of consecutive blocks.

    Neighbouring cases are often similar, so an interval from single cases would be too narrow.

    >>> block_mean(np.ones(100))
    Estimate(mean=1.0, low=1.0, high=1.0)
    """
    n_blocks = min(BLOCKS, len(values) // 2)
    means = np.array([block.mean() for block in np.array_split(values, n_blocks)])
    margin = Z_95 * float(means.std(ddof=1)) / math.sqrt(n_blocks)
    mean = float(values.mean())
    return Estimate(mean, mean - margin, mean + margin)


class HindsightChoice(NamedTuple):
    """What was best in a tenth of the cases: a plan, or a fixed set of looks."""

    is_plan: bool
    looks: LookSet


@dataclass(frozen=True, eq=False)
class Backtest:
    """Results of replaying the cases.

    Parameters
    ----------
    cases : Cases
        The replayed cases: every `every`-th case of the table.
    every : int
        1 if all cases were replayed.
    results : tuple of StrategyResult
        What each strategy earned and paid.
    events : tuple of ScoutEvent
        What Scout noticed in its first run.
    price_changes : tuple of PriceChange
        Changes of prices that vary by case.
    plan : PlanTree
        The plan learnt on the first part of the cases.
    fixed_set : tuple of int
        The looks chosen on the first part of the cases.
    n_first : int
        Number of cases in the first part.
    hindsight : tuple of HindsightChoice
        What was best in each tenth of the cases.
    agent : Agent, optional
        The policy that the policy file asks for after all cases, if it is not Surveyor or a plan.
    agent_gains : array of float, optional
        What that policy gained in every case.
    """

    cases: Cases
    every: int
    results: tuple[StrategyResult, ...]
    events: tuple[ScoutEvent, ...]
    price_changes: tuple[PriceChange, ...]
    plan: PlanTree
    fixed_set: LookSet
    n_first: int
    hindsight: tuple[HindsightChoice, ...]
    agent: Agent | None = None
    agent_gains: Floats | None = None

    @property
    def has_surveyor(self) -> bool:
        """True if Surveyor has been replayed."""
        return any(result.strategy is Strategy.SURVEYOR for result in self.results)

    def result(self, strategy: Strategy) -> StrategyResult:
        """Return the result of a strategy."""
        return next(result for result in self.results if result.strategy is strategy)

    def difference(self, strategy: Strategy, other: Strategy) -> Estimate:
        """Return how much more one strategy gains per case than another."""
        return block_mean(self.result(strategy).gains - self.result(other).gains)


def run_backtest(
    cases: Cases,
    learnt: Learnt,
    halves: Halves,
    seed: int,
    on_part: Callable[[], None] = lambda: None,
) -> Backtest:
    """Run every strategy but Surveyor on the cases in their order; `on_part` is called three times.

    `add_surveyor` runs Surveyor, which takes longest.
    """
    every = math.ceil(cases.n_cases / MAX_REPLAYED)
    if every > 1:
        cases = cases.subset(np.arange(0, cases.n_cases, every))
        halves = halves.thinned(every)
    runs = MAX_RUNS if cases.n_cases <= MAX_CASES_SCOUT_RUNS else 1
    scouts = [Scout(cases.problem, seed=seed + k) for k in range(runs)]
    ncc_runs = runs if cases.n_cases <= MAX_CASES_NCC_RUNS else 1
    nccs = [_ncc_policy(cases, seed + k) for k in range(ncc_runs)]
    scout = _run_policies(
        Strategy.SCOUT, "learns what to buy and what to do, and adapts to changes", cases, scouts
    )
    on_part()
    ncc = _run_policies(Strategy.NCC, "the paper's policy, window of 250 cases", cases, nccs)
    on_part()
    past = cases.past_cases
    everything, nothing = _refitted(past, seed)
    n_first = min(max(int(cases.n_cases * FIRST_PART), MIN_TO_LEARN), cases.n_cases)
    first = learn(past.subset(np.arange(n_first)), seed=seed)
    plan = _carried_out(Strategy.PLAN, first.plan, past, n_first, everything)
    fixed = _carried_out(Strategy.FIXED, first.fixed, past, n_first, everything)
    candidates = [
        _Candidate(HindsightChoice(True, first.plan.used), plan.rewards, plan.costs),
        _Candidate(HindsightChoice(False, first.fixed.used), fixed.rewards, fixed.costs),
        _Candidate(HindsightChoice(False, ()), nothing.rewards, nothing.costs),
        _Candidate(
            HindsightChoice(False, learnt.everything.used), everything.rewards, everything.costs
        ),
        *_halves_candidates(past, learnt, halves),
    ]
    sets = [(), learnt.fixed.used, learnt.plan.used, first.fixed.used]
    hindsight, choices = _hindsight(past, learnt, candidates, sets, seed)
    agent, agent_gains = _trained_agent(cases, scouts[0], scout, seed)
    on_part()
    return Backtest(
        cases=cases,
        every=every,
        results=(plan, fixed, scout, ncc, everything, nothing, hindsight),
        events=scouts[0].events,
        price_changes=tuple(_find_price_changes(cases)),
        plan=first.plan,
        fixed_set=first.fixed.used,
        n_first=n_first,
        hindsight=choices,
        agent=agent,
        agent_gains=agent_gains,
    )


def asks_for_policy(section: PolicySection | None) -> bool:
    """Return True if a policy file asks for a policy other than Surveyor or a plan."""
    return section is not None and section.policy not in (AUTO, SURVEYOR, PLAN)


def surveyor_parameters(section: PolicySection | None) -> dict[str, Any]:
    """Return the parameters that a policy file gives Surveyor, amounts in money."""
    if section is None or section.policy not in (AUTO, SURVEYOR):
        return {}
    require_parameters(Surveyor, section.parameters, chosen=section.policy == AUTO)
    if BASELINE in section.parameters:
        raise InvalidParameter(
            f"[policy] baseline is {section.parameters[BASELINE]!r}, but `thrifty worth` makes "
            "plans itself: remove baseline, and add it to the policy.toml that worth writes."
        )
    return section.parameters


def _trained_agent(
    cases: Cases, scout: Scout, result: StrategyResult, seed: int
) -> tuple[Agent, Floats] | tuple[None, None]:
    """Return the policy that the policy file asks for after all cases, and its gains by case.

    Scout with its default parameters has played the cases already.
    """
    section = cases.policy_file.policy
    if section is None or not asks_for_policy(section):
        return None, None
    if section.policy == "scout" and not section.parameters:
        return Agent(cases.problem, scout), result.gains
    agent = Agent(cases.problem, section.policy, seed=seed, **section.parameters)
    if isinstance(agent.policy, CompiledPolicy):
        rewards, costs, _ = _run_compiled(agent.policy, cases)
    else:
        run = play(agent.policy, cases.replay())
        rewards = cases.rewards.table[run.actions, cases.outcomes]
        costs = run.costs * cases.rewards.span
    return agent, rewards - costs


def add_surveyor(
    backtest: Backtest,
    seed: int,
    on_part: Callable[[], None] = lambda: None,
    *,
    history: int | None = None,
) -> Backtest:
    """Run Surveyor on the cases, too; `on_part` is called `SURVEYOR_PARTS` times.

    Surveyor learns from the first `history` cases of the table first. By default these are the
    cases from which the plan and the fixed set are learnt, so that the three can be compared.
    """
    cases = backtest.cases.past_cases
    n_history = backtest.n_first if history is None else history // backtest.every
    surveyor = _surveyor_result(
        cases,
        min(n_history, cases.n_cases - MIN_STRETCH),
        scaled_parameters(
            Surveyor, cases.problem, surveyor_parameters(backtest.cases.policy_file.policy)
        ),
        seed,
        backtest.result(Strategy.EVERYTHING),
        on_part,
    )
    after = [result.strategy for result in backtest.results].index(Strategy.SCOUT) + 1
    results = (*backtest.results[:after], surveyor, *backtest.results[after:])
    return replace(backtest, results=results)


def _surveyor_result(
    cases: PastCases,
    n_history: int,
    parameters: dict[str, Any],
    seed: int,
    everything: StrategyResult,
    on_part: Callable[[], None],
) -> StrategyResult:
    """Buy everything in the first cases, then go on learning from what they teach."""
    rows = np.arange(cases.n_cases)
    history = cases.subset(rows[:n_history]) if n_history else None
    given = {"horizon": cases.n_cases - n_history, **parameters}
    policy = Surveyor(cases.problem, history=history, seed=seed, **given)
    rewards, costs = everything.rewards.copy(), everything.costs.copy()
    for part in np.array_split(rows[n_history:], SURVEYOR_PARTS):
        if part.size:
            stream = cases.subset(part)
            run = play(policy, replay_of(stream))
            rewards[part] = stream.rewards[run.actions, stream.outcomes]
            costs[part] = run.costs * cases.problem.rewards.span
        on_part()
    start = f"buys everything in the first {n_history:,} cases, then " if n_history else ""
    description = f"{start}learns models of the outcome, and plans again as cases come in"
    return StrategyResult(Strategy.SURVEYOR, description, rewards, costs)


def require_history(history: int | None, n_cases: int) -> None:
    """Raise `InvalidParameter` if no cases are left to replay."""
    if history is not None and not 0 <= history <= n_cases - MIN_STRETCH:
        raise InvalidParameter(
            f"history is {history:,}, but of the {n_cases:,} cases at least {MIN_STRETCH} have to "
            "be left to replay: give a smaller number, or 0 to replay all of them."
        )


def _ncc_policy(cases: Cases, seed: int) -> NCCUCRL2:
    # The policy needs the highest possible price in advance; this gives it an advantage.
    prices = [cases.list_prices, *cases.varying_prices.values()]
    highest = max(float(column.max()) for column in prices) / cases.rewards.span
    return NCCUCRL2(
        cases.problem,
        horizon=cases.n_cases,
        window=250,
        delta=0.04,
        cost_range=max(highest, 1e-6),
        sweep_first=2 ** len(cases.features) * cases.n_cases <= MAX_SWEPT,
        seed=seed,
    )


def _run_policies(
    strategy: Strategy, description: str, cases: Cases, policies: Sequence[CompiledPolicy]
) -> StrategyResult:
    # Compiled policies release the GIL, so threads are enough.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda policy: _run_compiled(policy, cases), policies))
    rewards, costs, rates = (np.mean(column, axis=0) for column in zip(*runs, strict=True))
    return StrategyResult(strategy, description, rewards, costs, len(policies), rates)


def _run_compiled(policy: CompiledPolicy, cases: Cases) -> tuple[Floats, Floats, Floats]:
    """Return rewards and costs by case, in money, and how often each feature was bought."""
    world = cases.replay()
    n_cases, n_features = world.contexts.shape
    observed = np.zeros((n_cases, n_features), dtype=np.bool_)
    actions = np.zeros(n_cases, dtype=np.int64)
    scaled_rewards, scaled_costs = np.zeros(n_cases), np.zeros(n_cases)
    policy.run_compiled(world, (observed, actions, scaled_rewards, scaled_costs))
    rewards = cases.rewards.table[actions, cases.outcomes]
    return rewards, scaled_costs * cases.rewards.span, observed.mean(axis=0)


def _result(
    strategy: Strategy, description: str, cases: PastCases, decisions: Decisions
) -> StrategyResult:
    rewards = cases.rewards[decisions.actions, cases.outcomes]
    return StrategyResult(strategy, description, rewards, decisions.costs(cases))


def _refitted(cases: PastCases, seed: int) -> tuple[StrategyResult, StrategyResult]:
    """Buy everything, and nothing, by models that are fitted again after each tenth."""
    actions = refitted_actions(cases, seed=seed, kinds=("everything", "nothing"))
    everything, nothing = (
        Decisions(found, np.full((cases.n_cases, len(cases.looks)), kind == "everything"))
        for kind, found in actions.items()
    )
    return (
        _result(
            Strategy.EVERYTHING,
            "always buys all features, and learns what to do",
            cases,
            everything,
        ),
        _result(Strategy.NOTHING, "uses free features only, and learns what to do", cases, nothing),
    )


def _carried_out(
    strategy: Strategy, tree: PlanTree, cases: PastCases, start: int, everything: StrategyResult
) -> StrategyResult:
    """Buy everything in the first part, then carry out a plan that was learnt on it."""
    names = join_names([tree.looks[k].name for k in tree.used] or ["nothing"])
    what = "the plan learnt on them" if strategy is Strategy.PLAN else "the best set in them"
    buys = "buys" if strategy is Strategy.PLAN else "is"
    decisions = tree.decide(cases.codes)
    result = _result(
        strategy,
        f"buys everything in the first {start:,} cases, then carries out {what}, which {buys} "
        f"{names}",
        cases,
        decisions,
    )
    # Learning needs all features, so the first part costs as much as buying everything.
    result.rewards[:start] = everything.rewards[:start]
    result.costs[:start] = everything.costs[:start]
    return result


class _Candidate(NamedTuple):
    choice: HindsightChoice
    rewards: Floats
    costs: Floats


def _halves_candidates(cases: PastCases, learnt: Learnt, halves: Halves) -> list[_Candidate]:
    """Return what plans learnt on a half of all cases earn in the other half."""
    return [
        _Candidate(
            HindsightChoice(kind == "plan", getattr(learnt, kind).used),
            *halves.outcomes_of(kind, cases),
        )
        for kind in ("plan", "fixed", "nothing", "everything")
    ]


def _hindsight(
    cases: PastCases,
    learnt: Learnt,
    candidates: Sequence[_Candidate],
    sets: Sequence[LookSet],
    seed: int,
) -> tuple[StrategyResult, tuple[HindsightChoice, ...]]:
    """Use in each tenth of the cases what turns out best in it, never a model that saw the case."""
    rewards, costs = np.zeros(cases.n_cases), np.zeros(cases.n_cases)
    choices = []
    parts = np.array_split(np.arange(cases.n_cases), TENTHS)
    for rows, promising in zip(parts, _promising_sets(learnt.bank), strict=True):
        tried = [
            _Candidate(choice, rewards[rows], costs[rows]) for choice, rewards, costs in candidates
        ]
        if len(rows) >= 2 * MIN_TO_LEARN:
            part = cases.subset(rows)
            tried += _fitted_to_part(part, dict.fromkeys([*sets, *promising]), seed)
        best = max(tried, key=lambda candidate: (candidate.rewards - candidate.costs).mean())
        rewards[rows], costs[rows] = best.rewards, best.costs
        choices.append(best.choice)
    description = "knows in advance what is best in each tenth of the cases"
    return StrategyResult(Strategy.HINDSIGHT, description, rewards, costs), tuple(choices)


def _promising_sets(bank: Bank) -> list[list[LookSet]]:
    """Return the sets that gain most in each tenth of the cases, by models of all cases."""
    gains = np.stack([bank.rewards(looks) - bank.cases.cost(looks) for looks in bank.sets])
    found = []
    for part in np.array_split(gains, TENTHS, axis=1):
        best = np.argsort(-part.mean(axis=1), kind="stable")[:HINDSIGHT_PER_TENTH]
        found.append([bank.sets[k] for k in best])
    return found


def _fitted_to_part(
    cases: PastCases, sets: Sequence[LookSet] | dict[LookSet, None], seed: int
) -> list[_Candidate]:
    """Return what sets earn in a part of the cases with models of the other half of the part."""
    halves = generator(seed).permutation(cases.n_cases) % 2
    banks = [Bank(cases.subset(np.flatnonzero(halves == half)), seed=seed) for half in (0, 1)]
    found = []
    for looks in sets:
        actions = np.zeros(cases.n_cases, np.int64)
        for half, bank in enumerate(banks):
            rows = np.flatnonzero(halves != half)
            actions[rows] = bank.rule(looks).action_values(cases.codes[rows]).argmax(axis=1)
        rewards = cases.rewards[actions, cases.outcomes]
        found.append(_Candidate(HindsightChoice(False, looks), rewards, cases.cost(looks)))
    return found


def _find_price_changes(cases: Cases) -> list[PriceChange]:
    changes = []
    for i, column in cases.varying_prices.items():
        points = [0, *change_points(column), len(column)]
        for start, point, stop in zip(points, points[1:], points[2:], strict=False):
            before, after = float(column[start:point].mean()), float(column[point:stop].mean())
            changes.append(PriceChange(point, cases.names[i], before, after))
    return sorted(changes)


def change_points(values: Floats) -> list[int]:
    """Return where the mean of a series changes, by binary segmentation.

    >>> change_points(np.repeat([1.0, 2.0, 1.5], 50))
    [50, 100]
    """
    noise = float(np.abs(np.diff(values)).std()) if len(values) > 2 else 0.0
    # A price list that rarely changes has differences of 0: every step is then real.
    noise = max(noise if np.median(np.abs(np.diff(values))) > 0 else 0.0, 1e-9)
    threshold = 2 * math.sqrt(2 * math.log(max(len(values), 3)))

    def cut(start: int, stop: int) -> list[int]:
        part = values[start:stop]
        if len(part) < 2 * MIN_STRETCH:
            return []
        k = np.arange(1, len(part))
        deviation = np.abs(np.cumsum(part)[:-1] - k * part.mean())
        score = deviation / np.sqrt(k * (len(part) - k) / len(part))
        score = score[MIN_STRETCH - 1 : len(part) - MIN_STRETCH]
        best = int(np.argmax(score))
        if score[best] <= threshold * noise:
            return []
        point = start + best + MIN_STRETCH
        return [*cut(start, point), point, *cut(point, stop)]

    return cut(0, len(values))
