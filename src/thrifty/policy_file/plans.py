"""`policy = "plan"` in policy.toml: read the plan, and complete the file with the plan's problem.

The specification holds the plan itself, so a service that restarts, an audit and a replay do not
need plan.json again.
"""

from __future__ import annotations

from pathlib import Path

from thrifty.errors import InvalidSpec
from thrifty.features import Feature
from thrifty.outcomes import Outcomes, RewardRange
from thrifty.plans.files import read_plan
from thrifty.plans.tree import PlanTree
from thrifty.policies.plan import require_same_problem
from thrifty.policy_file.model import FeatureSection, PolicyFile, PolicySection
from thrifty.prices import PriceList
from thrifty.problem import Problem

PLAN = "plan"


def read_policy_plan(section: PolicySection, folder: Path | None) -> PlanTree | None:
    """Return the plan that `[policy]` names, or None if the policy is not a plan.

    Parameters
    ----------
    section : PolicySection
        The section.
    folder : Path or None
        Folder that the path of the plan is relative to.

    Returns
    -------
    PlanTree or None
        The plan.
    """
    if section.policy != PLAN:
        return None
    name = section.parameters.get(PLAN)
    if not isinstance(name, str):
        raise InvalidSpec(
            "[policy] policy is 'plan', but the file does not say which plan to carry out: add "
            'plan = "plan.json", the path of a file that `thrifty worth` or Plan.save wrote.'
        )
    if folder is None:
        raise InvalidSpec(
            f"[policy] plan is {name!r}, a path relative to policy.toml, but the content was not "
            "read from a file: use read_spec."
        )
    if section.agent is not None:
        raise InvalidSpec(
            f"[policy] agent is {section.agent!r}, but a plan learns nothing, so there is no saved "
            "agent to start from: remove agent."
        )
    return read_plan(folder / name)


def planned_problem(file: PolicyFile, tree: PlanTree) -> Problem:
    """Return the problem of a plan with the prices and rewards of a policy file.

    Parameters
    ----------
    file : PolicyFile
        Its features must be those of the plan, in any order. Levels, prices, actions and outcomes
        that it leaves out are those of the plan.
    tree : PlanTree
        The plan.

    Returns
    -------
    Problem
        Features and actions in the order of the plan.
    """
    own = tree.problem
    _require_same_names(file, own)
    actions = own.actions
    if file.actions is not None and sorted(file.actions.names) != sorted(actions):
        actions = file.actions.names  # refused below
    outcomes = _outcomes(file, own)
    problem = Problem(
        features=tuple(_feature(file, feature) for feature in own.features),
        actions=actions,
        outcomes=outcomes,
        prices=planned_prices(file, tree),
        rewards=_rewards(file, own, outcomes),
    )
    require_same_problem(tree, problem)
    return problem


def planned_free(file: PolicyFile, tree: PlanTree) -> tuple[str, ...]:
    """Return the features that come with every case: those of the plan and those of the file.

    Parameters
    ----------
    file : PolicyFile
        The policy file.
    tree : PlanTree
        The plan.

    Returns
    -------
    tuple of str
        Names of the features, in the order of the plan.
    """
    declared = {section.name for section in file.features if section.free}
    free = []
    for feature, is_free in zip(tree.problem.features, tree.free.tolist(), strict=True):
        section = file.feature(feature.name)
        if is_free and section is not None and not section.free and section.price is not None:
            raise InvalidSpec(
                f"feature {feature.name!r} has a price, but the plan was made for cases in which "
                "it is known before buying, so it would never be bought: write free = true instead "
                "of the price, or make another plan."
            )
        if is_free or feature.name in declared:
            free.append(feature.name)
    return tuple(free)


def _require_same_names(file: PolicyFile, own: Problem) -> None:
    names = [section.name for section in file.features]
    lacking = [name for name in own.feature_names if names and name not in names]
    extra = [name for name in names if name not in own.feature_names]
    for name in lacking[:1]:
        raise InvalidSpec(
            f"the plan has feature {name!r}, which is not in [[features]]: add it, or remove all "
            "[[features]] to take them from the plan."
        )
    for name in extra[:1]:
        raise InvalidSpec(
            f"feature {name!r} is not in the plan, which has "
            f"{', '.join(map(repr, own.feature_names[:12]))}: remove it, or make another plan."
        )


def _feature(file: PolicyFile, planned: Feature) -> Feature:
    section = file.feature(planned.name)
    declared = None if section is None else section.feature()
    return planned if declared is None else declared


def _outcomes(file: PolicyFile, own: Problem) -> Outcomes | None:
    section = file.outcomes
    if section is None or not section.rewards:
        return own.outcomes
    names = section.all_names()
    if names is None:  # every action has one reward, whatever the outcome
        names = () if own.outcomes is None else own.outcomes.names
    return Outcomes(names, section.rewards)


def _rewards(file: PolicyFile, own: Problem, outcomes: Outcomes | None) -> RewardRange:
    given, planned = file.rewards, own.rewards
    unit = given.unit or planned.unit
    if given.low is None and given.high is None and outcomes == own.outcomes:
        return RewardRange(planned.low, planned.high, unit)
    wanted = given.range(outcomes)
    return RewardRange(wanted.low, wanted.high, unit)


def planned_prices(file: PolicyFile, tree: PlanTree) -> PriceList:
    """Return the prices of a policy file, and those of a plan for what the file does not price.

    Parameters
    ----------
    file : PolicyFile
        The policy file; its features are features of the plan.
    tree : PlanTree
        The plan.

    Returns
    -------
    PriceList
        Prices, groups and bundles. If the file has groups, those of the plan do not count.
    """
    given, planned = file.price_list() or PriceList(), tree.problem.prices or PriceList()
    sold = {name for bundle in given.bundles for name in bundle.features}
    sold |= {section.name for section in file.features if _is_priced(section)}
    prices = {name: price for name, price in planned.prices.items() if name not in sold}
    bundles = [bundle for bundle in planned.bundles if sold.isdisjoint(bundle.features)]
    return PriceList(
        prices | dict(given.prices),
        given.groups or planned.groups,
        [*given.bundles, *bundles],
    )


def _is_priced(section: FeatureSection) -> bool:
    return section.free or isinstance(section.price, float)
