"""policy.toml: what a decision service needs to know of the cases a policy learnt on."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from thrifty.data.cases import SEPARATOR, Cases, PaidFeature
from thrifty.data.columns import Coding
from thrifty.errors import InvalidSpec, InvalidTable, UnknownName
from thrifty.problem import Feature, Problem

POLICY, AGENT = "policy.toml", "agent.npz"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
MOST_OF_A_NAME = 64


def policy_toml(cases: Cases, *, name: str, seed: int, agent: str = AGENT) -> str:
    """Return the text of policy.toml."""
    rewards = cases.rewards
    lines = [
        "# A policy that has learnt from past cases: `thrifty serve policy.toml` decides by it.",
        "[policy]",
        *_keys({"name": policy_name(name), "policy": "scout", "seed": seed, "agent": agent}),
    ]
    for feature, price in zip(cases.features, cases.mean_prices.tolist(), strict=True):
        lines += ["", "[[features]]", *_keys(_described(feature, price))]
        if len(feature.parts) > 1:
            for part in feature.parts:
                lines += ["", "[[features.parts]]", *_keys({"name": part.name, **_coding(part)})]
    lines += ["", "[actions]", *_keys({"names": list(rewards.actions)})]
    lines += [
        "",
        "[rewards]  # the agent sees (reward - low) / (high - low) and price / (high - low)",
        *_keys(
            {
                "unit": rewards.currency,
                "low": rewards.low,
                "high": rewards.high,
                "outcomes": list(rewards.outcomes),
                "table": rewards.table.tolist(),
            }
        ),
    ]
    return "\n".join(lines) + "\n"


def policy_name(file: str) -> str:
    """Return a name for the policy of a file of cases, such as may stand in an address.

    >>> policy_name("Fälle 2026.csv"), policy_name("申请.csv")
    ('F-lle-2026', 'policy')
    """
    stem = _NOT_IN_NAMES.sub("-", Path(file).stem).strip("-")
    return stem[:MOST_OF_A_NAME] or "policy"


@dataclass(frozen=True)
class PolicyFile:
    """What policy.toml says, with its features ready to code new cases."""

    path: Path
    name: str
    policy: str
    seed: int
    agent: Path | None
    features: tuple[PaidFeature, ...]
    prices: tuple[float, ...]
    actions: tuple[str, ...]
    unit: str
    low: float
    high: float

    @property
    def problem(self) -> Problem:
        """What there is to decide."""
        features = tuple(Feature(it.name, it.levels) for it in self.features)
        return Problem(features=features, actions=self.actions)

    def level_of(self, feature: str, values: Mapping[str, Any]) -> str:
        """Return the level of a feature, from the raw value of each of its columns."""
        found = next((it for it in self.features if it.name == feature), None)
        if found is None:
            raise UnknownName(
                f"{self.path} has no feature {feature!r}: use one of "
                f"{', '.join(repr(it.name) for it in self.features)}."
            )
        return level_of(found, values)


def level_of(feature: PaidFeature, values: Mapping[str, Any]) -> str:
    """Return the level of a feature, from the raw value of each of its columns.

    >>> age = Coding("age", "number", ("up to 30", "over 30"), "", edges=(30.0,))
    >>> level_of(PaidFeature("age", age.levels, (age,)), {"age": "42"})
    'over 30'
    """
    names = []
    for part in feature.parts:
        if part.name not in values:
            raise InvalidTable(
                f"feature {feature.name!r} needs a value of column {part.name!r}: give it, or "
                "None if it is missing."
            )
        value = values[part.name]
        series = pl.Series(part.name, [None if value is None else str(value)], dtype=pl.String)
        names.append(part.levels[int(part.apply(series)[0])])
    level = SEPARATOR.join(names)
    if level not in feature.levels and feature.other is not None:
        return feature.other
    if level not in feature.levels:
        raise InvalidTable(
            f"bundle {feature.name!r} was never {level!r} in the cases it was coded by: use one "
            f"of {', '.join(map(repr, feature.levels))}."
        )
    return level


def read_policy_file(path: Path) -> PolicyFile:
    """Read what `policy_toml` wrote."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        policy, rewards = content["policy"], content["rewards"]
        features = tuple(_feature(it) for it in content["features"])
        agent = policy.get("agent")
        return PolicyFile(
            path=path,
            name=policy["name"],
            policy=policy["policy"],
            seed=policy["seed"],
            agent=None if agent is None else path.parent / agent,
            features=features,
            prices=tuple(float(it["price"]) for it in content["features"]),
            actions=tuple(content["actions"]["names"]),
            unit=rewards["unit"],
            low=float(rewards["low"]),
            high=float(rewards["high"]),
        )
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSpec(f"{path} cannot be read ({error}): check the path.") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidSpec(
            f"{path} is no policy file ({error!r} is missing or of the wrong kind): give one that "
            "`thrifty worth` wrote."
        ) from error


def _described(feature: PaidFeature, price: float) -> dict[str, Any]:
    described: dict[str, Any] = {"name": feature.name, "price": price}
    if feature.free:
        described["free"] = True
    if len(feature.parts) == 1:
        return {**described, **_coding(feature.parts[0])}
    described["columns"] = [part.name for part in feature.parts]
    described["levels"] = list(feature.levels)
    if feature.other is not None:
        described["other"] = feature.other
    return described


def _coding(coding: Coding) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": coding.kind, "levels": list(coding.levels)}
    if coding.edges is not None:
        described["edges"] = [
            datetime.fromtimestamp(it, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            if coding.kind == "date"
            else it
            for it in coding.edges
        ]
    for key in ("missing", "other"):
        if getattr(coding, key) is not None:
            described[key] = getattr(coding, key)
    if coding.absent:
        described["absent"] = list(coding.absent)
    return described


def _feature(content: Mapping[str, Any]) -> PaidFeature:
    parts = content.get("parts") or [content]
    return PaidFeature(
        content["name"],
        tuple(content["levels"]),
        tuple(_coding_of(it) for it in parts),
        free=bool(content.get("free", False)),
        other=content.get("other") if "parts" in content else None,
    )


def _coding_of(content: Mapping[str, Any]) -> Coding:
    edges = content.get("edges")
    if edges is not None and content["kind"] == "date":
        edges = [datetime.fromisoformat(it).replace(tzinfo=UTC).timestamp() for it in edges]
    return Coding(
        content["name"],
        content["kind"],
        tuple(content["levels"]),
        "",
        edges=None if edges is None else tuple(map(float, edges)),
        missing=content.get("missing"),
        other=content.get("other"),
        absent=tuple(content.get("absent", ())),
    )


def _keys(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {as_toml(value)}" for key, value in values.items()]


def as_toml(value: Any) -> str:
    r"""Return a value as TOML writes it.

    >>> print(as_toml(['a"b', 1.5, True]))
    ["a\"b", 1.5, true]
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return f"[{', '.join(as_toml(it) for it in value)}]"
    return repr(value)
