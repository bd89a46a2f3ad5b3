"""Read policy.toml, as a `PolicyFile` or as the specification of a policy that decides."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from thrifty.errors import InvalidSpec, ThriftyError
from thrifty.features import Feature
from thrifty.outcomes import Outcomes
from thrifty.plans.files import plan_to_dict
from thrifty.plans.tree import PlanTree
from thrifty.policies import policy_named
from thrifty.policies.registry import require_parameters
from thrifty.policy_factory import require_history_use
from thrifty.policy_file.baselines import with_baseline
from thrifty.policy_file.error_messages import describe_error
from thrifty.policy_file.histories import chosen_policy, learnt_agent, read_policy_history
from thrifty.policy_file.model import (
    FeatureSection,
    PolicyFile,
    PolicySection,
    RewardRuleSection,
)
from thrifty.policy_file.old_formats import upgrade, upgrade_price_list, upgrade_rewards
from thrifty.policy_file.plans import PLAN, planned_free, planned_problem, read_policy_plan
from thrifty.policy_file.shadows import read_shadows
from thrifty.problem import Problem, RewardRange
from thrifty.specification import PolicySpec, RewardRule

MAX_FEATURES, MAX_LEVELS, MAX_ACTIONS = 256, 1024, 1024
MAX_TEXT = 200
AGENT_LIMIT = 256 * 2**20
_DECIMAL_COMMA = re.compile(r"=\s*(-?\d+,\d+)")
_PARAMETER_TYPES = (str, int, float, bool)


def read_policy_file(path: str | os.PathLike[str]) -> PolicyFile:
    """Read a policy.toml, complete or not, or a file of release 0.1.

    Parameters
    ----------
    path : path
        A policy.toml, or a price list of release 0.1.

    Returns
    -------
    PolicyFile
        The content; its `notices` mention an old format.

    Raises
    ------
    InvalidSpec
        If the file cannot be used; the message has the path, the key and the remedy.
    """
    with _naming(path):
        file = parse_policy_file(_load_toml(Path(path)))
    return file.with_notices(tuple(f"{os.fspath(path)}: {notice}" for notice in file.notices))


def parse_policy_file(content: Mapping[str, Any]) -> PolicyFile:
    """Return the policy file that the content of a TOML file describes.

    Parameters
    ----------
    content : mapping
        The result of `tomllib.loads`.

    Returns
    -------
    PolicyFile
        The validated file.

    Raises
    ------
    InvalidSpec
        If the content is not valid.

    Examples
    --------
    >>> file = parse_policy_file({"features": [{"name": "income", "price": 0.4}]})
    >>> file.features[0].price
    0.4
    """
    new, notices = upgrade(content)
    file = _validate(new)
    if file.policy is not None:
        with _invalid_spec():
            _require_policy(file.policy)
    return file.with_notices(notices)


def read_rewards(path: str | os.PathLike[str], file: PolicyFile) -> PolicyFile:
    """Return `file` with the rewards, actions and currency of a second file.

    Parameters
    ----------
    path : path
        A file with `[outcomes.rewards]`, or in a format of release 0.1.
    file : PolicyFile
        The file to complete.

    Returns
    -------
    PolicyFile
        A copy of `file` with the rewards.

    Raises
    ------
    InvalidSpec
        If the second file cannot be used or has no rewards.
    """
    with _naming(path):
        given = _validate(upgrade_rewards(_load_toml(Path(path))))
        if given.outcomes is None:
            raise InvalidSpec("there are no rewards: add the rewards of each action.")
        # A range belongs to its rewards; the currency may be given in either file.
        unit = given.rewards.unit or file.rewards.unit
        rewards = given.rewards if given.rewards.low is not None else file.rewards
        return file.replace(
            outcomes=given.outcomes,
            actions=given.actions,
            rewards=rewards.model_copy(update={"unit": unit}),
        )


def from_prices(
    prices: Mapping[str, float | str],
    *,
    target: str | None = None,
    time: str | None = None,
    free: Iterable[str] = (),
    bundles: Mapping[str, tuple[Iterable[str], float | str]] | None = None,
    groups: Mapping[str, tuple[Iterable[str], float]] | None = None,
    rewards: Mapping[str, Any] | None = None,
    currency: str = "",
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    leave_out: Iterable[str] = (),
) -> PolicyFile:
    """Make a policy file in Python, without writing TOML.

    Parameters
    ----------
    prices : mapping
        Price of each column, or name of the column that holds the price of each case.
    target : str, optional
        The column of outcomes.
    time : str, optional
        The column to order cases by.
    free : iterable of str
        Columns that are known in every case.
    bundles : mapping, optional
        `{name: (columns, price)}`: columns that are sold together.
    groups : mapping, optional
        `{name: (columns, fee)}`: columns that share a setup fee, paid once on top of their prices.
    rewards : mapping, optional
        `{action: {outcome: money}}`, or one number for an action.
    currency : str
        Unit of prices and rewards.
    columns : mapping, optional
        Further keys of `[[features]]` by column, such as `{"age": {"bins": 5}}`.
    leave_out : iterable of str
        Columns that are not used.

    Returns
    -------
    PolicyFile
        A file for `thrifty.tables.read_cases`.

    Examples
    --------
    >>> file = from_prices({"income": 0.4}, target="outcome", free=["age"])
    >>> [feature.name for feature in file.features], file.table.target
    (['age', 'income'], 'outcome')
    """
    content: dict[str, Any] = {
        "prices": dict(prices),
        "free": list(free),
        "leave_out": list(leave_out),
        "currency": currency,
        "bundles": {
            name: {"columns": list(names), "price": price}
            for name, (names, price) in (bundles or {}).items()
        },
        "rewards": dict(rewards or {}),
    }
    named = {"target": target, "time": time}
    content |= {key: column for key, column in named.items() if column is not None}
    new = upgrade_price_list(content)
    for feature in new["features"]:
        feature |= (columns or {}).get(feature["name"], {})
    new["groups"] = [
        {"name": name, "features": list(names), "setup": fee}
        for name, (names, fee) in (groups or {}).items()
    ]
    return _validate(new)


def read_spec(
    path: str | os.PathLike[str], *, notify: Callable[[str], None] | None = None
) -> PolicySpec:
    """Read a complete policy.toml, and the saved agent, history or plan that it names.

    Parameters
    ----------
    path : path
        A policy.toml, of this release or of 0.1.
    notify : callable, optional
        Called with each notice about the file, for example about an old format.

    Returns
    -------
    PolicySpec
        The specification, for `Agent.from_spec` and the service.

    Raises
    ------
    InvalidSpec
        If the file cannot be used; the message has the path, the key and the remedy.
    """
    file = read_policy_file(path)
    if notify is not None:
        for notice in file.notices:
            notify(notice)
    with _naming(path):
        return build_spec(file, Path(path).parent, notify=notify)


def parse_spec(content: Mapping[str, Any]) -> PolicySpec:
    """Return the specification that the content of a policy.toml describes.

    Parameters
    ----------
    content : mapping
        The result of `tomllib.loads`; it may not name a saved agent or a history.

    Returns
    -------
    PolicySpec
        The specification.

    Raises
    ------
    InvalidSpec
        If the content is not valid or not complete.
    """
    return build_spec(parse_policy_file(content))


def build_spec(
    file: PolicyFile,
    folder: Path | None = None,
    *,
    notify: Callable[[str], None] | None = None,
) -> PolicySpec:
    """Return the specification of a policy that decides.

    Parameters
    ----------
    file : PolicyFile
        A complete file.
    folder : Path, optional
        Folder that the paths of the saved agent, the history and the plan are relative to.
    notify : callable, optional
        Called with each note about the history.

    Returns
    -------
    PolicySpec
        The specification.

    Raises
    ------
    InvalidSpec
        If `[policy]`, the levels of a feature or the actions are missing.
    """
    if file.policy is None:
        raise InvalidSpec(
            'there is no [policy] section, which names the policy: add [policy] with name = "...".'
        )
    own = file.policy
    with _invalid_spec():
        plan = read_policy_plan(own, folder)
        problem = _problem(file) if plan is None else _planned_problem(file, plan)
        free = (
            tuple(feature.name for feature in file.features if feature.free)
            if plan is None
            else planned_free(file, plan)
        )
        agent = _read_agent(own.agent, folder)
        policy, chosen = chosen_policy(own, problem, free, agent)
        parameters = with_baseline(chosen, folder)
        history = read_policy_history(file, problem, free, folder)
        if history is not None:
            agent = learnt_agent(policy, problem, own.seed, parameters, history, notify)
    spec = PolicySpec(
        name=own.name,
        tenant=own.tenant,
        policy=policy,
        parameters=parameters if plan is None else {PLAN: plan_to_dict(plan)},
        seed=own.seed,
        problem=problem,
        free=free,
        rule=_rule(file.reward_rule, problem.rewards),
        columns={feature.name: feature.columns for feature in file.features if feature.columns},
        agent=agent,
    )
    return replace(spec, shadows=read_shadows(own, spec, folder, partial(_read_shadow, notify)))


def _read_shadow(notify: Callable[[str], None] | None, path: Path) -> PolicySpec:
    """Read the policy.toml of a shadow, which has no shadows itself."""
    file = read_policy_file(path)
    if file.policy is not None and file.policy.shadow:
        raise InvalidSpec(
            f"{path} has shadows of its own, but it is a shadow itself: remove `shadow` from it."
        )
    return read_spec(path, notify=notify)


@contextmanager
def _invalid_spec() -> Iterator[None]:
    """Turn errors of policies and problems into errors of the file."""
    try:
        yield
    except ThriftyError as error:
        raise InvalidSpec(str(error)) from error


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the path in front of every error."""
    try:
        yield
    except ThriftyError as error:
        raise InvalidSpec(f"{os.fspath(path)}: {error}") from error


def _load_toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise InvalidSpec(
            f"the file cannot be read ({_reason(error)}): give the path of a TOML file, such "
            "as the policy.toml that `thrifty init cases.csv` writes."
        ) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        comma = _DECIMAL_COMMA.search(text)
        remedy = (
            f"write {comma[1].replace(',', '.')} with a decimal point instead of {comma[1]}"
            if comma
            else "correct it, or write a new one with `thrifty init cases.csv`"
        )
        raise InvalidSpec(f"the file is not valid TOML ({error}): {remedy}.") from error


def _reason(error: OSError | UnicodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _validate(content: Mapping[str, Any]) -> PolicyFile:
    try:
        return PolicyFile.model_validate(dict(content))
    except ValidationError as error:
        raise InvalidSpec(describe_error(error, content)) from error


def _require_policy(section: PolicySection) -> None:
    if section.policy == "oracle":
        raise InvalidSpec(
            "[policy] policy is 'oracle', which needs the true probabilities and cannot decide "
            "about new cases: choose another policy."
        )
    make = policy_named(section.policy)
    require_parameters(make, section.parameters)
    if section.history is not None:
        require_history_use(make, section.policy)
    for name, value in section.parameters.items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, _PARAMETER_TYPES):
                raise InvalidSpec(
                    f"[policy] {name} is {value!r}: give a number, text, true or false, or a list "
                    "of them."
                )


def _problem(file: PolicyFile) -> Problem:
    if not 1 <= len(file.features) <= MAX_FEATURES:
        raise InvalidSpec(f"there are {len(file.features)} [[features]]: give 1 to {MAX_FEATURES}.")
    features = tuple(map(_feature, file.features))
    actions, outcomes = _actions(file), _outcomes(file)
    _require_sales(file)
    return Problem(
        features=features,
        actions=actions,
        outcomes=outcomes,
        prices=file.price_list(),
        rewards=file.rewards.range(outcomes),
    )


def _planned_problem(file: PolicyFile, plan: PlanTree) -> Problem:
    problem = planned_problem(file, plan)
    _require_sales(file)
    _require_texts("feature name", problem.feature_names, MAX_FEATURES)
    for feature in problem.features:
        _require_texts(f"feature {feature.name[:40]!r}: levels", feature.levels, MAX_LEVELS)
    _require_texts("[actions] names", problem.actions, MAX_ACTIONS)
    return problem


def _require_sales(file: PolicyFile) -> None:
    _require_texts("[rewards] unit", [file.rewards.unit])
    for sales, what in ((file.groups, "group"), (file.bundles, "bundle")):
        _require_texts(f"{what} name", [sale.name for sale in sales])


def _feature(section: FeatureSection) -> Feature:
    feature = section.feature()
    what = f"feature {section.name[:40]!r}"
    if feature is None:
        raise InvalidSpec(
            f"{what} has no levels yet: add levels or edges, or run `thrifty worth`, which writes "
            "a policy.toml with the levels found in a table."
        )
    _require_texts("feature name", [section.name])
    _require_texts(f"{what}: levels", feature.levels, MAX_LEVELS)
    _require_texts(f"{what}: columns", section.columns, MAX_FEATURES)
    return feature


def _actions(file: PolicyFile) -> tuple[str, ...]:
    if file.actions is not None:
        names = file.actions.names
    elif file.outcomes is not None and file.outcomes.rewards:
        names = tuple(file.outcomes.rewards)
    else:
        raise InvalidSpec(
            'there are no [actions]: add them, for example names = ["decline", "approve"].'
        )
    _require_texts("[actions] names", names, MAX_ACTIONS)
    return names


def _outcomes(file: PolicyFile) -> Outcomes | None:
    if file.outcomes is None:
        return None
    names = file.outcomes.all_names()
    if names is None or not file.outcomes.rewards:
        raise InvalidSpec(
            "[outcomes] needs names and the rewards of each action: add both, or remove [outcomes]."
        )
    _require_texts("[outcomes] names", names, MAX_ACTIONS)
    return Outcomes(names, file.outcomes.rewards)


def _rule(section: RewardRuleSection, rewards: RewardRange) -> RewardRule:
    default = section.default
    if default is not None and not rewards.low <= default <= rewards.high:
        raise InvalidSpec(
            f"[reward_rule] default is {default:g}, outside the range of rewards from "
            f"{rewards.low:g} to {rewards.high:g}: correct it, or widen the range in [rewards]."
        )
    return RewardRule(section.rule, section.seconds, default, section.learn_late)


def _read_agent(name: str | None, folder: Path | None) -> bytes | None:
    if name is None:
        return None
    if folder is None:
        raise InvalidSpec(
            f"[policy] agent is {name!r}, a path relative to policy.toml, but the content was not "
            "read from a file: remove it, or use read_spec."
        )
    path = folder / name
    try:
        # Checked before reading, so that a wrong path cannot fill the memory.
        if path.stat().st_size > AGENT_LIMIT:
            raise InvalidSpec(
                f"[policy] agent {path} is larger than {AGENT_LIMIT} bytes, so it is not a saved "
                "agent: give the path of a file that Agent.save wrote."
            )
        return path.read_bytes()
    except OSError as error:
        raise InvalidSpec(
            f"[policy] agent {path} cannot be read ({_reason(error)}): give the path of a file "
            "that Agent.save wrote, relative to policy.toml."
        ) from error


def _require_texts(what: str, texts: Iterable[str], max_entries: int | None = None) -> None:
    given = list(texts)
    if max_entries is not None and len(given) > max_entries:
        raise InvalidSpec(f"{what} has {len(given)} entries: give at most {max_entries}.")
    for text in given:
        if len(text) > MAX_TEXT or any(ord(letter) < 32 for letter in text):
            raise InvalidSpec(
                f"{what}: {text[:40]!r} is too long or contains control characters: use at "
                f"most {MAX_TEXT} printable characters."
            )
