"""Write the report: worth.json, worth.html, policy.toml and the trained agent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thrifty._version import __version__
from thrifty.errors import SaveError
from thrifty.files import atomic_write
from thrifty.json_values import to_json_value
from thrifty.policy_file import Comments, to_toml
from thrifty.policy_file.writing import DEADLINE_COMMENT
from thrifty.tables.cases import Cases
from thrifty.tables.completion import AGENT, POLICY, complete_policy_file
from thrifty.worth.backtest import Backtest, Strategy, StrategyResult
from thrifty.worth.evaluation import Evaluation
from thrifty.worth.page import html_report
from thrifty.worth.selection import FeatureWorth
from thrifty.worth.verdict import verdict_lines

JSON, PAGE = "worth.json", "worth.html"
FILES = (JSON, PAGE, POLICY, AGENT)
SCHEMA = 1


def require_report_folder(folder: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse a folder in which the report would overwrite files that are not a report.

    A report that `thrifty worth` wrote earlier may be replaced.

    Parameters
    ----------
    folder : Path
        Folder to write to; it need not exist.
    inputs : iterable of Path
        Files that were read and must stay as they are.

    Raises
    ------
    SaveError
        If a file would be lost.
    """
    written = {(folder / name).resolve() for name in FILES}
    for path in inputs:
        if path.resolve() in written:
            raise SaveError(
                f"the report would overwrite {path}, which you gave as input: choose another "
                "folder with --out."
            )
    if has_report(folder):
        return
    for name in FILES:
        if (folder / name).exists():
            raise SaveError(
                f"{folder / name} exists and is not part of an earlier report, so it is not "
                "overwritten: choose another folder with --out, or move the file."
            )


def has_report(folder: Path) -> bool:
    """Return True if the folder has a report of `thrifty worth`."""
    return (folder / JSON).exists()


def write_report(evaluation: Evaluation, folder: Path, *, name: str, command: str) -> list[Path]:
    """Write all files of the report to a folder; on an error none of them changes.

    Parameters
    ----------
    evaluation : Evaluation
        Results from `evaluate`.
    folder : Path
        Folder to write to. It is created if needed; an earlier report in it is replaced.
    name : str
        Name of the file of cases, for the title of the page and the name of the policy.
    command : str
        The command that made the report.

    Returns
    -------
    list of Path
        Paths of worth.json, worth.html, policy.toml and agent.npz.

    Raises
    ------
    SaveError
        If the folder cannot be written.
    """
    policy = complete_policy_file(evaluation.cases, name=name, seed=evaluation.seed)
    content = json.dumps(as_json(evaluation, command), indent=2, ensure_ascii=False)
    texts = {
        JSON: content + "\n",
        PAGE: html_report(evaluation, name, command),
        POLICY: to_toml(policy, _comments(evaluation)),
    }
    paths = [folder / file for file in (*texts, AGENT)]
    with ExitStack() as stack:
        *drafts, agent = [
            stack.enter_context(atomic_write(path, make_folder=True)) for path in paths
        ]
        for draft, text in zip(drafts, texts.values(), strict=True):
            draft.write_text(text, encoding="utf-8")
        evaluation.backtest.agent.save(agent)
    return paths


def _comments(evaluation: Evaluation) -> Comments:
    advice = (
        "It gained less in the backtest than the recommendation: read worth.html before serving it."
        if evaluation.is_learning_worse
        else "Run it with: thrifty serve policy.toml"
    )
    header = ("Written by `thrifty worth`: a policy that has learnt from past cases.", advice)
    return Comments(header, DEADLINE_COMMENT)


def as_json(evaluation: Evaluation, command: str = "") -> dict[str, Any]:
    """Return the content of worth.json; docs/worth-files.md has the schema."""
    cases = evaluation.cases
    rewards = cases.rewards
    content = {
        "schema": SCHEMA,
        "thrifty": __version__,
        "command": command,
        "verdict": verdict_lines(evaluation),
        "best_subset": evaluation.best_subset,
        "best_columns": [
            part.name
            for i in evaluation.best_set
            if not cases.free[i]
            for part in cases.features[i].parts
        ],
        "currency": rewards.currency,
        "cases": cases.n_cases,
        "target": cases.target,
        "order": str(cases.order),
        "notes": list(cases.notes),
        "spend_per_case": evaluation.spend,
        "gain_per_case": asdict(evaluation.gain),
        "gain_over_nothing_per_case": asdict(evaluation.gain_over_nothing),
        "scout_over_best_subset_per_case": asdict(evaluation.scout_over_best),
        "honest_gain_per_case": asdict(evaluation.split_half.gain),
        "chosen_by_halves": [
            evaluation.priced_names(features) for features in evaluation.split_half.chosen
        ],
        "later_half": _later_half(evaluation),
        "features": [_feature(evaluation, worth) for worth in evaluation.feature_worths],
        "free": [feature.name for feature in cases.features if feature.free],
        "columns": _columns(cases),
        "actions": list(rewards.actions),
        "outcomes": list(rewards.outcomes),
        "rewards": rewards.by_action,
        "frontier": [
            {
                "features": evaluation.priced_names(point.features),
                "spend": point.spend,
                "reward": asdict(point.reward),
            }
            for point in evaluation.frontier
        ],
        "search": {
            "sets": evaluation.n_sets,
            "all_sets": evaluation.all_sets,
            "skipped": evaluation.n_skipped_sets,
            "cases": evaluation.n_cases_searched,
        },
        "replay": _backtest(evaluation, evaluation.backtest),
    }
    return to_json_value(content)  # type: ignore[no-any-return]


def _later_half(evaluation: Evaluation) -> dict[str, Any] | None:
    if not evaluation.cases.order.is_chronological:
        return None
    return {
        "learnt_on_earlier_half": asdict(evaluation.later_half),
        "learnt_on_both_halves": asdict(evaluation.later_half_all),
    }


def _columns(cases: Cases) -> list[dict[str, Any]]:
    return [
        {
            "column": part.name,
            "feature": feature.name,
            "kind": part.kind,
            "done": part.description,
            "levels": list(part.levels),
            "edges": part.edges and list(part.edges),
        }
        for feature in cases.features
        for part in feature.parts
    ]


def _feature(evaluation: Evaluation, worth: FeatureWorth) -> dict[str, Any]:
    feature = evaluation.cases.features[worth.feature]
    return {
        "feature": feature.name,
        "columns": [part.name for part in feature.parts],
        "buy": worth.feature in evaluation.best_set,
        "price": worth.price,
        "break_even": worth.break_even,
        "estimate": asdict(worth.estimate),
        "best_with": evaluation.priced_names(worth.best_with),
        "best_without": evaluation.priced_names(worth.best_without),
    }


def _backtest(evaluation: Evaluation, backtest: Backtest) -> dict[str, Any]:
    return {
        "cases": backtest.cases.n_cases,
        "every": backtest.every,
        "policies": [_result(evaluation, result) for result in backtest.results],
        "scout_more_than": {
            result.strategy.value: asdict(backtest.difference(Strategy.SCOUT, result.strategy))
            for result in backtest.results
            if result.strategy is not Strategy.SCOUT
        },
        "fixed_set": evaluation.priced_names(backtest.fixed_set),
        "first_part": backtest.n_first,
        "hindsight_sets": [
            evaluation.priced_names(features) for features in backtest.hindsight_sets
        ],
        "scout_events": [
            {"case": event.round, "kind": event.kind, "feature": event.feature}
            for event in backtest.events
        ],
        "price_changes": [change._asdict() for change in backtest.price_changes],
    }


def _result(evaluation: Evaluation, result: StrategyResult) -> dict[str, Any]:
    n_cases = len(result.rewards)
    reward, cost = float(result.rewards.mean()), float(result.costs.mean())
    rates = result.purchase_rates
    return {
        "policy": result.strategy.value,
        "what": result.description,
        "runs": result.runs,
        "gain_per_case": asdict(result.gain_per_case()),
        "reward_per_case": reward,
        "spend_per_case": cost,
        "total_gain": (reward - cost) * n_cases,
        "total_reward": reward * n_cases,
        "total_spend": cost * n_cases,
        "bought": None
        if rates is None
        else dict(zip(evaluation.cases.names, rates.tolist(), strict=True)),
    }
