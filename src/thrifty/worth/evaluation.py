"""The complete evaluation of a table: what to buy in which order, what it gains, and a backtest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from thrifty.plans.break_even import BreakEven, break_even
from thrifty.plans.learning import KINDS, Learnt, learn
from thrifty.plans.nested import NestedGains, n_outer_folds, nested_gains
from thrifty.plans.price_curve import FACTORS, PricePoint, price_curve
from thrifty.plans.refitting import TENTHS
from thrifty.plans.tree import PlanTree
from thrifty.tables.cases import Cases
from thrifty.worth.backtest import (
    MAX_REPLAYED,
    PLAN,
    SURVEYOR,
    SURVEYOR_PARTS,
    Backtest,
    Strategy,
    add_surveyor,
    asks_for_policy,
    block_mean,
    require_history,
    run_backtest,
    surveyor_parameters,
)
from thrifty.worth.halves import (
    Halves,
    LaterHalf,
    SplitHalf,
    compare_later_half,
    learn_halves,
    split_half,
)
from thrifty.worth.selection import Estimate, Floats, Kind, recommend

OnProgress = Callable[[str, float], None]
"""Called with what is being done and the share of the work that is finished, from 0 to 1."""

LEARNING, BREAK_EVEN, PRICE_CURVE, BACKTEST_PART = 1.0, 0.1, 0.3, 1.0
"""Rough times of the parts, as multiples of the time that learning from all cases takes."""
BACKTEST_PARTS = 3
"""Number of parts of the backtest without Surveyor."""
SURVEYOR_PER_CASE = 0.0005
"""Rough time that Surveyor needs for a case of the backtest, in the same unit."""
SURVEYOR_PART = "backtest of Surveyor"
DIFFERENT_TENTH = 2.81
"""Standard errors beyond which one of ten tenths differs: 95% for all ten together."""


def _ignore(what: str, share: float) -> None:
    del what, share


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Results of evaluating a table of cases; amounts are in the table's own money.

    Parts that were not finished because the evaluation was interrupted are None or empty, and
    `missing` names them.

    Parameters
    ----------
    cases : Cases
        The evaluated cases.
    seed : int
        Random seed.
    learnt : Learnt
        Plans learnt from all cases, or from a sample if there are very many.
    nested : NestedGains
        What the same procedure gained in cases that it had not seen.
    recommended : str
        "plan", "fixed", "nothing" or "everything".
    split_half : SplitHalf, optional
        What each half of the cases chooses, tested on the other half.
    later_half : LaterHalf, optional
        Test whether rules learnt earlier still hold later; None if the cases are shuffled.
    price_curve : tuple of PricePoint
        Gains if all prices are multiplied by a factor.
    worths : tuple of BreakEven
        What each look is worth, the most valuable first.
    backtest : Backtest, optional
        Policies replayed on the cases.
    missing : tuple of str
        Parts that were not finished.
    """

    cases: Cases
    seed: int
    learnt: Learnt
    nested: NestedGains
    recommended: Kind
    split_half: SplitHalf | None = None
    later_half: LaterHalf | None = None
    price_curve: tuple[PricePoint, ...] = ()
    worths: tuple[BreakEven, ...] = ()
    backtest: Backtest | None = None
    missing: tuple[str, ...] = ()

    @property
    def recommended_tree(self) -> PlanTree:
        """What is recommended, as a plan; a fixed set or nothing is a plan with a single leaf."""
        return self.tree(self.recommended)

    @property
    def n_cases_learnt(self) -> int:
        """Number of cases that plans are learnt from."""
        return self.learnt.bank.cases.n_cases

    @cached_property
    def gain(self) -> Mapping[str, Estimate]:
        """Gain per case of nothing, everything, fixed, plan and printed, on unseen cases."""
        return {kind: Estimate.from_values(self.nested.gains[kind]) for kind in KINDS}

    @cached_property
    def spend(self) -> Mapping[str, float]:
        """Mean price of what each of them buys in these cases."""
        past = self.cases.past_cases
        spends = {
            kind: float(past.cost(self.tree(kind).used).mean())
            for kind in ("nothing", "everything", "fixed")
        }
        # The printed form of the plan buys the same.
        spends["plan"] = float(self.learnt.plan.decide(past.codes).costs(past).mean())
        return {**spends, "printed": spends["plan"]}

    @cached_property
    def tenths(self) -> Mapping[str, Floats]:
        """Gain per case in each tenth of the cases in their order, on unseen cases, (10,)."""
        return {
            kind: np.array([part.mean() for part in np.array_split(gains, TENTHS)])
            for kind, gains in self.nested.gains.items()
        }

    @cached_property
    def different_tenths(self) -> tuple[int, ...]:
        """Tenths, from 0, in which the recommendation did significantly better or worse.

        Its gain is compared with buying nothing. Shuffled cases have no such tenths.
        """
        if not self.cases.order.is_chronological:
            return ()
        gains = self.nested.gains[self.recommended]
        if self.recommended != "nothing":
            gains = gains - self.nested.gains["nothing"]
        parts = np.array_split(gains, TENTHS)
        found = []
        for k, part in enumerate(parts):
            rest = np.concatenate([other for j, other in enumerate(parts) if j != k])
            if len(part) < 2:
                continue
            error = np.sqrt(part.var(ddof=1) / len(part) + rest.var(ddof=1) / len(rest))
            if abs(part.mean() - rest.mean()) > DIFFERENT_TENTH * error:
                found.append(k)
        return tuple(found)

    @property
    def best_looks(self) -> tuple[int, ...]:
        """Looks of the best fixed set; none if it does not beat buying nothing."""
        looks = self.learnt.fixed.used
        return looks if self.gain_over("fixed", "nothing").is_above_zero else ()

    @property
    def best_subset(self) -> list[str]:
        """Names of the features of the best fixed set."""
        return self.look_names(self.best_looks)

    @property
    def is_uncertain(self) -> bool:
        """True if halves of the cases would choose other sets than all cases do."""
        return self.split_half is not None and any(
            set(chosen) != set(self.best_subset) for chosen in self.split_half.chosen
        )

    @property
    def has_drifted(self) -> bool:
        """True if rules learnt on the earlier half are clearly worse in the later half."""
        return self.later_half is not None and self.later_half.difference.is_below_zero

    @property
    def scout_over_recommended(self) -> Estimate | None:
        """How much more Scout gains in the backtest than the recommendation on unseen cases."""
        if self.backtest is None:
            return None
        return self._over_recommended(self.backtest.result(Strategy.SCOUT).gains)

    @property
    def agent_over_recommended(self) -> Estimate | None:
        """The same for the policy that the policy file asks for; None if that is Surveyor."""
        if self.backtest is None or self.backtest.agent_gains is None:
            return None
        return self._over_recommended(self.backtest.agent_gains)

    @property
    def served(self) -> str:
        """What policy.toml serves: the name of a learning policy, or the recommendation.

        That is Surveyor, unless the policy file asks for a plan or for another policy. Without a
        backtest such a policy has not been trained, and Surveyor is served.
        """
        section = self.cases.policy_file.policy
        if section is not None and section.policy == PLAN:
            return self.recommended
        if section is not None and self.keeps_policy:
            return section.policy
        return SURVEYOR

    @property
    def keeps_policy(self) -> bool:
        """True if the policy that the policy file asks for was trained and is served."""
        return self.backtest is not None and asks_for_policy(self.cases.policy_file.policy)

    @property
    def surveyor_over(self) -> Mapping[Strategy, Estimate]:
        """How much more Surveyor gains in the backtest than plan, fixed set and Scout.

        It is empty if Surveyor has not been replayed.
        """
        if self.backtest is None or not self.backtest.has_surveyor:
            return {}
        others = (Strategy.PLAN, Strategy.FIXED, Strategy.SCOUT)
        return {other: self.backtest.difference(Strategy.SURVEYOR, other) for other in others}

    @property
    def is_learning_worse(self) -> bool:
        """True if the policy that the policy file asks for gains significantly less."""
        over = self.agent_over_recommended
        return over is not None and over.is_below_zero

    def tree(self, kind: str) -> PlanTree:
        """Return one of the plans learnt from all cases.

        Parameters
        ----------
        kind : str
            "nothing", "everything", "fixed", "plan" or "printed".

        Returns
        -------
        PlanTree
            The plan.
        """
        tree: PlanTree = getattr(self.learnt, kind)
        return tree

    def gain_over(self, kind: str, other: str) -> Estimate:
        """Return how much more one plan gains than another, per case, on unseen cases.

        Parameters
        ----------
        kind, other : str
            "nothing", "everything", "fixed", "plan" or "printed".

        Returns
        -------
        Estimate
            The difference, from comparing case by case.
        """
        return Estimate.from_values(self.nested.gains[kind] - self.nested.gains[other])

    def look_names(self, looks: Sequence[int]) -> list[str]:
        """Return the names of looks.

        Parameters
        ----------
        looks : sequence of int
            Positions of looks.

        Returns
        -------
        list of str
            Names in the same order.
        """
        return [self.cases.past_cases.looks[k].name for k in looks]

    def _over_recommended(self, gains: Floats) -> Estimate:
        every = 1 if self.backtest is None else self.backtest.every
        return block_mean(gains - self.nested.gains[self.recommended][::every])


def evaluate(
    cases: Cases,
    *,
    seed: int = 1,
    history: int | None = None,
    replay: bool = True,
    on_progress: OnProgress = _ignore,
) -> Evaluation:
    """Learn what to buy in which order, what each feature is worth, and backtest policies.

    The same cases and seed give the same result.

    Parameters
    ----------
    cases : Cases
        Past cases, from `thrifty.tables.read_cases`.
    seed : int
        Random seed.
    history : int, optional
        Number of cases that Surveyor learns from before the others are replayed to it. By default
        a fifth of them, from which the plan and the fixed set of the backtest are learnt, too.
    replay : bool
        False leaves out the backtest.
    on_progress : callable
        Called with what is being done and the share of the work that is finished.

    Returns
    -------
    Evaluation
        The recommendation, honest gains, the worth of each feature, and the backtest.
    """
    *_, evaluation = evaluate_in_steps(
        cases, seed=seed, history=history, replay=replay, on_progress=on_progress
    )
    return evaluation


def evaluate_in_steps(
    cases: Cases,
    *,
    seed: int = 1,
    history: int | None = None,
    replay: bool = True,
    on_progress: OnProgress = _ignore,
) -> Iterator[Evaluation]:
    """Yield the evaluation after each part, so that an interrupt loses nothing that is finished.

    Parameters
    ----------
    cases : Cases
        Past cases.
    seed : int
        Random seed.
    history : int, optional
        Number of cases that Surveyor learns from before the others are replayed to it. By default
        a fifth of them, from which the plan and the fixed set of the backtest are learnt, too.
    replay : bool
        False leaves out the backtest.
    on_progress : callable
        Called with what is being done and the share of the work that is finished.

    Yields
    ------
    Evaluation
        The recommendation with its honest gains first, then with one part more each time.
    """
    past = cases.past_cases
    require_history(history, past.n_cases)
    surveyor_parameters(cases.policy_file.policy)  # refused now, not after minutes
    n_folds = n_outer_folds(past.n_cases)
    surveyor_time = SURVEYOR_PER_CASE * min(past.n_cases, MAX_REPLAYED)
    backtest_time = BACKTEST_PART * BACKTEST_PARTS + surveyor_time if replay else 0.0
    progress = _Progress(
        LEARNING * (1 + n_folds + 2) + PRICE_CURVE + BREAK_EVEN * len(past.looks) + backtest_time,
        on_progress,
    )
    progress.start("Learning from all cases (slower the first time)")
    learnt = learn(past, seed=seed)
    progress.advance(LEARNING, "Testing on unseen cases")
    nested = nested_gains(
        past, seed=seed, n_folds=n_folds, on_fold=lambda: progress.advance(LEARNING)
    )
    backtest_part = ("backtest",) if replay else ()
    missing = ("halves of the cases", "price curve", "worth of features", *backtest_part)
    evaluation = Evaluation(cases, seed, learnt, nested, recommend(learnt, nested), missing=missing)
    yield evaluation
    progress.start("Learning from halves of the cases")
    halves = learn_halves(past, seed, lambda: progress.advance(LEARNING))
    evaluation = _with_halves(evaluation, halves)
    yield evaluation
    progress.start("Trying other prices")
    points = price_curve(learnt.bank, on_point=lambda: progress.advance(PRICE_CURVE / len(FACTORS)))
    evaluation = replace(evaluation, price_curve=points, missing=missing[2:])
    yield evaluation
    for look in range(len(past.looks)):
        progress.start(f"Worth of {past.looks[look].name}")
        (worth,) = break_even(learnt.bank, [look])
        # The bank may have a sample of the cases; the price is that of all.
        worth = replace(worth, price=float(past.cost([look]).mean()))
        progress.advance(BREAK_EVEN)
        worths = sorted((*evaluation.worths, worth), key=lambda worth: -worth.value)
        is_last = look == len(past.looks) - 1
        evaluation = replace(
            evaluation, worths=tuple(worths), missing=missing[3:] if is_last else missing[2:]
        )
        yield evaluation
    if not replay:
        return
    progress.start("Backtest")
    backtest = run_backtest(
        cases, learnt, halves, seed, on_part=lambda: progress.advance(BACKTEST_PART)
    )
    yield replace(evaluation, backtest=backtest, missing=(SURVEYOR_PART,))
    progress.start("Backtest of Surveyor")
    backtest = add_surveyor(
        backtest,
        seed,
        on_part=lambda: progress.advance(surveyor_time / SURVEYOR_PARTS),
        history=history,
    )
    yield replace(evaluation, backtest=backtest, missing=())


def _with_halves(evaluation: Evaluation, halves: Halves) -> Evaluation:
    cases, past = evaluation.cases, evaluation.cases.past_cases
    later = None
    if cases.order.is_chronological:
        looks = evaluation.recommended_tree.used
        later = compare_later_half(past, looks, halves, evaluation.seed)
    return replace(
        evaluation,
        split_half=split_half(halves, past),
        later_half=later,
        missing=evaluation.missing[1:],
    )


class _Progress:
    """Adds up the work that is finished."""

    def __init__(self, total: float, on_progress: OnProgress) -> None:
        self.total, self.on_progress = total, on_progress
        self.done, self.what = 0.0, ""

    def start(self, what: str) -> None:
        self.what = what
        self.on_progress(what, self.done / self.total)

    def advance(self, work: float, what: str | None = None) -> None:
        self.done += work
        self.start(what or self.what)
