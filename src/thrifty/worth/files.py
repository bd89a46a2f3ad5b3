"""What is written: worth.json, worth.html, policy.toml and the agent."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thrifty._version import __version__
from thrifty.files import atomic_write
from thrifty.json_values import to_json_value
from thrifty.policy_file import Comments, to_toml
from thrifty.tables.descriptions import AGENT, POLICY, policy_file_of
from thrifty.worth.answer import Answer
from thrifty.worth.backtest import FIXED, SCOUT, Played, Stream
from thrifty.worth.page import page_of
from thrifty.worth.selection import FeatureWorth
from thrifty.worth.verdict import verdict

JSON, PAGE = "worth.json", "worth.html"
SCHEMA = 1
_COMMENTS = Comments(
    header=("A policy that has learnt from past cases: `thrifty serve policy.toml` decides by it.",)
)


def write_answer(answer: Answer, folder: Path, *, name: str, command: str) -> list[Path]:
    """Write all files to a folder; they appear together, or none does."""
    policy = policy_file_of(answer.cases, name=name, seed=answer.seed)
    content = json.dumps(as_json(answer, command), indent=2, ensure_ascii=False)
    texts = {
        JSON: content + "\n",
        PAGE: page_of(answer, name, command),
        POLICY: to_toml(policy, _COMMENTS),
    }
    paths = [folder / file for file in (*texts, AGENT)]
    with ExitStack() as stack:
        *drafts, agent = [
            stack.enter_context(atomic_write(path, make_folder=True)) for path in paths
        ]
        for draft, text in zip(drafts, texts.values(), strict=True):
            draft.write_text(text, encoding="utf-8")
        answer.stream.agent.save(agent)
    return paths


def as_json(answer: Answer, command: str = "") -> dict[str, Any]:
    """Return everything as plain JSON values; docs/worth.md has the schema."""
    cases = answer.cases
    rewards = cases.rewards
    content = {
        "schema": SCHEMA,
        "thrifty": __version__,
        "command": command,
        "verdict": verdict(answer),
        "best_subset": answer.best_subset,
        "best_columns": [part.name for i in answer.bought for part in cases.features[i].parts],
        "currency": rewards.currency,
        "cases": cases.number,
        "target": cases.target,
        "order": cases.order,
        "notes": list(cases.said),
        "spend_per_case": answer.spend,
        "gain_per_case": asdict(answer.gain),
        "honest_gain_per_case": asdict(answer.honest.gain),
        "chosen_by_halves": [answer.named(it) for it in answer.honest.chosen],
        "later_half": {
            "learnt_on_earlier_half": asdict(answer.later),
            "learnt_on_both_halves": asdict(answer.later_by_all),
        }
        if answer.ordered
        else None,
        "features": [_feature(answer, it) for it in answer.worths],
        "free": [feature.name for feature in cases.features if feature.free],
        "columns": [
            {
                "column": part.name,
                "feature": feature.name,
                "kind": part.kind,
                "done": part.said,
                "levels": list(part.levels),
                "edges": part.edges and list(part.edges),
            }
            for feature in cases.features
            for part in feature.parts
        ],
        "actions": list(rewards.actions),
        "outcomes": list(rewards.outcomes),
        "rewards": rewards.by_action,
        "frontier": [
            {"features": answer.named(it.features), "spend": it.spend, "reward": asdict(it.reward)}
            for it in answer.steps
        ],
        "search": {
            "sets": answer.compared,
            "all_sets": answer.all_sets,
            "cases": answer.searched_on,
        },
        "replay": _stream(answer, answer.stream),
    }
    return to_json_value(content)  # type: ignore[no-any-return]


def _feature(answer: Answer, worth: FeatureWorth) -> dict[str, Any]:
    return {
        "feature": answer.cases.names[worth.feature],
        "columns": [part.name for part in answer.cases.features[worth.feature].parts],
        "buy": worth.feature in answer.best,
        "price": worth.price,
        "break_even": worth.break_even,
        "estimate": asdict(worth.estimate),
        "best_with": answer.named(worth.best_with),
        "best_without": answer.named(worth.best_without),
    }


def _stream(answer: Answer, stream: Stream) -> dict[str, Any]:
    number = stream.cases.number
    return {
        "cases": number,
        "every": stream.every,
        "policies": [_played(answer, it, number) for it in stream.played],
        "scout_more_than": {
            it.policy: asdict(stream.difference(SCOUT, it.policy))
            for it in stream.played
            if it.policy != SCOUT
        },
        "fixed_set": answer.named(stream.fixed),
        "first_part": stream.first_part,
        "hindsight_sets": [answer.named(it) for it in stream.hindsight],
        "scout_events": [
            {"case": it.round, "kind": it.kind, "feature": it.feature} for it in stream.events
        ],
        "price_changes": [
            {"case": case, "feature": name, "before": before, "after": after}
            for case, name, before, after in stream.price_changes
        ],
    }


def _played(answer: Answer, played: Played, number: int) -> dict[str, Any]:
    reward, cost = float(played.rewards.mean()), float(played.costs.mean())
    bought = None
    if played.bought is not None:
        bought = dict(zip(answer.cases.names, played.bought.tolist(), strict=True))
    return {
        "policy": played.policy,
        "what": played.what,
        "runs": played.runs,
        "gain_per_case": asdict(played.per_case()),
        "reward_per_case": reward,
        "spend_per_case": cost,
        "total_gain": (reward - cost) * number,
        "total_reward": reward * number,
        "total_spend": cost * number,
        "bought": bought,
    }


__all__ = ["FIXED", "JSON", "PAGE", "as_json", "write_answer"]
