"""Read policy.toml: as a `PolicyFile`, or as the specification of a policy that decides."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from thrifty.errors import InvalidSpec, ThriftyError
from thrifty.features import Feature
from thrifty.outcomes import Outcomes
from thrifty.policies import policy_named
from thrifty.policy_file.model import (
    FeatureSection,
    PolicyFile,
    PolicySection,
    RewardRuleSection,
)
from thrifty.policy_file.old_formats import as_new, from_price_list, rewards_as_new
from thrifty.policy_file.problems import described
from thrifty.problem import Problem, RewardRange
from thrifty.simulation import require_parameters
from thrifty.specification import PolicySpec, RewardRule

MAX_FEATURES, MAX_LEVELS, MAX_ACTIONS = 256, 1024, 1024
MAX_TEXT = 200
AGENT_LIMIT = 256 * 2**20
_PLAIN = (str, int, float, bool)
T = TypeVar("T")


def read_policy_file(path: str | os.PathLike[str]) -> PolicyFile:
    """Read a policy.toml, complete or not, or a file of release 0.1.

    Parameters
    ----------
    path : path
        A policy.toml, or a price list of release 0.1.

    Returns
    -------
    PolicyFile
        Its `notices` say if the file is in an old format.

    Raises
    ------
    InvalidSpec
        With the path, the key and the remedy, if the file cannot be used.
    """
    file = _at(path, lambda: parse_policy_file(_toml(Path(path))))
    return file.noting(tuple(f"{os.fspath(path)}: {it}" for it in file.notices))


def parse_policy_file(content: Mapping[str, Any]) -> PolicyFile:
    """Return the policy file that the content of a TOML file describes.

    Parameters
    ----------
    content : mapping
        What `tomllib.loads` returned.

    Returns
    -------
    PolicyFile

    Examples
    --------
    >>> file = parse_policy_file({"features": [{"name": "income", "price": 0.4}]})
    >>> file.features[0].price
    0.4
    """
    new, notices = as_new(content)
    file = _validated(new)
    if file.policy is not None:
        with _invalid_spec():
            _require_policy(file.policy)
    return file.noting(notices)


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
    """

    def merged() -> PolicyFile:
        given = _validated(rewards_as_new(_toml(Path(path))))
        if given.outcomes is None:
            raise InvalidSpec("it has no rewards: give each action its own in [outcomes.rewards].")
        unit = given.rewards.unit or file.rewards.unit
        rewards = given.rewards if given.rewards.low is not None else file.rewards
        return file.changed(
            outcomes=given.outcomes,
            actions=given.actions,
            rewards=rewards.model_copy(update={"unit": unit}),
        )

    return _at(path, merged)


def of_prices(
    prices: Mapping[str, float | str],
    *,
    target: str | None = None,
    time: str | None = None,
    free: Iterable[str] = (),
    bundles: Mapping[str, tuple[Iterable[str], float | str]] | None = None,
    rewards: Mapping[str, Any] | None = None,
    currency: str = "",
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    leave_out: Iterable[str] = (),
) -> PolicyFile:
    """Make a policy file in Python, for `thrifty.tables.cases_of`.

    Parameters
    ----------
    prices : mapping
        The price of each column, or the name of the column that holds each case's price.
    target, time : str, optional
        The columns of outcomes and of time.
    free, leave_out : iterable of str
        Columns that are always known, and columns that are not used.
    bundles : mapping, optional
        `{name: (columns, price)}`: columns that are sold together.
    rewards : mapping, optional
        `{action: {outcome: money}}`, or one number for an action.
    currency : str
        The unit of prices and rewards.
    columns : mapping, optional
        Further keys of `[[features]]` by column, such as `{"age": {"bins": 5}}`.

    Returns
    -------
    PolicyFile

    Examples
    --------
    >>> file = of_prices({"income": 0.4}, target="outcome", free=["age"])
    >>> [it.name for it in file.features], file.table.target
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
    content |= {key: it for key, it in (("target", target), ("time", time)) if it is not None}
    new = from_price_list(content)
    for feature in new["features"]:
        feature |= (columns or {}).get(feature["name"], {})
    return _validated(new)


def read_spec(
    path: str | os.PathLike[str], *, notify: Callable[[str], None] | None = None
) -> PolicySpec:
    """Read a complete policy.toml, and the saved agent that it names.

    Parameters
    ----------
    path : path
        A policy.toml, of this release or of 0.1.
    notify : callable, optional
        Called with each notice about the file, such as that its format is an old one.

    Returns
    -------
    PolicySpec

    Raises
    ------
    InvalidSpec
        With the path, the key and the remedy, if the file cannot be used.
    """
    file = read_policy_file(path)
    if notify is not None:
        for notice in file.notices:
            notify(notice)
    return _at(path, lambda: spec_of(file, Path(path).parent))


def parse_spec(content: Mapping[str, Any]) -> PolicySpec:
    """Return the specification of a policy.toml that was read already and names no agent."""
    return spec_of(parse_policy_file(content))


def spec_of(file: PolicyFile, folder: Path | None = None) -> PolicySpec:
    """Return the specification of a policy that decides.

    Parameters
    ----------
    file : PolicyFile
        A complete file.
    folder : Path, optional
        Where the saved agent is looked for.

    Returns
    -------
    PolicySpec

    Raises
    ------
    InvalidSpec
        If the file is not complete: `serve` needs `[policy]`, levels of every feature and actions.
    """
    if file.policy is None:
        raise InvalidSpec('there is no [policy], which names it: add [policy] with name = "...".')
    own = file.policy
    with _invalid_spec():
        problem = _problem(file)
    return PolicySpec(
        name=own.name,
        tenant=own.tenant,
        policy=own.policy,
        parameters=own.parameters,
        seed=own.seed,
        problem=problem,
        free=tuple(it.name for it in file.features if it.free),
        rule=_rule(file.reward_rule, problem.rewards),
        columns={it.name: it.columns for it in file.features if it.columns},
        agent=_agent(own.agent, folder),
    )


@contextmanager
def _invalid_spec() -> Iterator[None]:
    """Turn errors of policies and problems into those of a file."""
    try:
        yield
    except ThriftyError as error:
        raise InvalidSpec(str(error)) from error


def _at(path: str | os.PathLike[str], read: Callable[[], T]) -> T:
    """Name the path in every error."""
    try:
        return read()
    except ThriftyError as error:
        text = str(error)
        named = text if text.startswith(f"{os.fspath(path)} ") else f"{os.fspath(path)}: {text}"
        raise InvalidSpec(named) from error


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeError) as error:
        raise InvalidSpec(f"{path} cannot be read ({error}): check the path.") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidSpec(
            f"{path} is not TOML ({error}): `thrifty init cases.csv` writes a file to start from."
        ) from error


def _validated(content: Mapping[str, Any]) -> PolicyFile:
    try:
        return PolicyFile.model_validate(dict(content))
    except ValidationError as error:
        raise InvalidSpec(described(error, content)) from error


def _require_policy(section: PolicySection) -> None:
    if section.policy == "oracle":
        raise InvalidSpec(
            "[policy] policy is 'oracle', which knows the truth and cannot decide about new cases: "
            "choose another policy."
        )
    require_parameters(policy_named(section.policy), section.parameters)
    for name, value in section.parameters.items():
        for it in value if isinstance(value, list) else [value]:
            if not isinstance(it, _PLAIN):
                raise InvalidSpec(
                    f"[policy] {name} is {value!r}: give a number, a text, true or false, or a "
                    "list of them."
                )


def _problem(file: PolicyFile) -> Problem:
    if not 1 <= len(file.features) <= MAX_FEATURES:
        raise InvalidSpec(f"there are {len(file.features)} [[features]]: give 1 to {MAX_FEATURES}.")
    features = tuple(map(_feature, file.features))
    actions, outcomes = _actions(file), _outcomes(file)
    _require_texts("[rewards] unit", [file.rewards.unit])
    for sales, what in ((file.groups, "group"), (file.bundles, "bundle")):
        _require_texts(f"{what} name", [it.name for it in sales])
    return Problem(
        features=features,
        actions=actions,
        outcomes=outcomes,
        prices=file.price_list(),
        rewards=file.rewards.range(outcomes),
    )


def _feature(section: FeatureSection) -> Feature:
    feature = section.feature()
    what = f"feature {section.name[:40]!r}"
    if feature is None:
        raise InvalidSpec(
            f"{what} has no levels yet: give levels or edges, or let `thrifty worth` find them in "
            "a table; it writes a policy.toml that has them."
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
            'there are no [actions]: say what can be done, as in names = ["decline", "approve"].'
        )
    _require_texts("[actions] names", names, MAX_ACTIONS)
    return names


def _outcomes(file: PolicyFile) -> Outcomes | None:
    if file.outcomes is None:
        return None
    names = file.outcomes.known_names()
    if names is None or not file.outcomes.rewards:
        raise InvalidSpec(
            "[outcomes] needs names and the rewards of each action: give both, or leave [outcomes] "
            "out."
        )
    _require_texts("[outcomes] names", names, MAX_ACTIONS)
    return Outcomes(names, file.outcomes.rewards)


def _rule(section: RewardRuleSection, rewards: RewardRange) -> RewardRule:
    default = section.default
    if default is not None and not rewards.low <= default <= rewards.high:
        raise InvalidSpec(
            f"[reward_rule] default is {default:g}, outside of the range of rewards from "
            f"{rewards.low:g} to {rewards.high:g}: correct it, or widen [rewards]."
        )
    return RewardRule(section.rule, section.seconds, default, section.learn_late)


def _agent(name: str | None, folder: Path | None) -> bytes | None:
    if name is None:
        return None
    if folder is None:
        raise InvalidSpec(
            f"[policy] agent is {name!r}, relative to a file, and there is no file: leave it out."
        )
    path = folder / name
    try:
        if path.stat().st_size > AGENT_LIMIT:
            raise InvalidSpec(
                f"[policy] agent {path} is larger than {AGENT_LIMIT} bytes, so it is not a saved "
                "agent: give the path that Agent.save wrote to."
            )
        return path.read_bytes()
    except OSError as error:
        raise InvalidSpec(
            f"[policy] agent {path} cannot be read ({error}): give the path that Agent.save wrote "
            "to, relative to this file."
        ) from error


def _require_texts(what: str, texts: Iterable[str], most: int | None = None) -> None:
    given = list(texts)
    if most is not None and len(given) > most:
        raise InvalidSpec(f"{what} has {len(given)} entries: give at most {most}.")
    for text in given:
        if len(text) > MAX_TEXT or any(ord(it) < 32 for it in text):
            raise InvalidSpec(
                f"{what}: {text[:40]!r} is too long or holds control characters: give at most "
                f"{MAX_TEXT} characters."
            )
