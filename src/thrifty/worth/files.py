"""Write the report: worth.json, worth.html, policy.toml, plan.json and what policy.toml needs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from thrifty._version import __version__
from thrifty.errors import SaveError
from thrifty.files import atomic_write
from thrifty.json_values import to_json_value
from thrifty.plans.break_even import BreakEven
from thrifty.plans.files import format_content, plan_to_dict
from thrifty.policy_file import Comments, PolicyFile, to_toml
from thrifty.policy_file.model import PolicySection
from thrifty.policy_file.writing import DEADLINE_COMMENT
from thrifty.tables.cases import Cases
from thrifty.tables.completion import AGENT, POLICY, complete_policy_file, policy_name
from thrifty.worth.backtest import (
    SURVEYOR,
    Backtest,
    Strategy,
    StrategyResult,
    surveyor_parameters,
)
from thrifty.worth.evaluation import Evaluation
from thrifty.worth.page import html_report
from thrifty.worth.selection import Estimate
from thrifty.worth.verdict import verdict_lines, worth_estimate

JSON, PAGE, PLAN, HISTORY = "worth.json", "worth.html", "plan.json", "history.parquet"
FILES = (JSON, PAGE, POLICY, PLAN, HISTORY, AGENT)
SCHEMA = 2


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
        Paths of worth.json, worth.html, policy.toml and plan.json. Also that of history.parquet if
        Surveyor is served, or of agent.npz if another learning policy is.

    Raises
    ------
    SaveError
        If the folder cannot be written.
    """
    content = json.dumps(as_json(evaluation, command), indent=2, ensure_ascii=False)
    tree = replace(evaluation.recommended_tree, target=evaluation.cases.target)
    plan = format_content(plan_to_dict(tree))
    texts = {
        JSON: content + "\n",
        PAGE: html_report(evaluation, name, command),
        POLICY: to_toml(_policy_file(evaluation, name), _comments(evaluation)),
        PLAN: plan + "\n",
    }
    paths = [folder / file for file in texts]
    with ExitStack() as stack:
        drafts = [stack.enter_context(atomic_write(path, make_folder=True)) for path in paths]
        for draft, text in zip(drafts, texts.values(), strict=True):
            draft.write_text(text, encoding="utf-8")
        learnt = _learnt_file(evaluation)
        if learnt is not None:
            _write_learnt(evaluation, stack.enter_context(atomic_write(folder / learnt)))
            paths.append(folder / learnt)
    for file in (HISTORY, AGENT):
        if file != learnt:
            # An earlier report may have served another policy.
            (folder / file).unlink(missing_ok=True)
    return paths


def _learnt_file(evaluation: Evaluation) -> str | None:
    """Return the file that the learning policy starts from, or None if a plan is served."""
    if evaluation.served == SURVEYOR:
        return HISTORY
    return AGENT if evaluation.keeps_policy else None


def _write_learnt(evaluation: Evaluation, path: Path) -> None:
    if evaluation.served == SURVEYOR:
        evaluation.cases.history_table().write_parquet(path)
        return
    assert evaluation.backtest is not None
    assert evaluation.backtest.agent is not None
    evaluation.backtest.agent.save(path)


def _policy_file(evaluation: Evaluation, name: str) -> PolicyFile:
    """Return a policy file that serves a learning policy, or the recommended plan."""
    cases, seed = evaluation.cases, evaluation.seed
    if evaluation.keeps_policy:
        return complete_policy_file(cases, name=name, seed=seed)
    file = complete_policy_file(
        cases, name=name, seed=seed, agent=None, problem=cases.past_cases.problem
    )
    given = cases.policy_file.policy or PolicySection(name=policy_name(name))
    keys: dict[str, Any] = {"name": given.name, "tenant": given.tenant, "seed": seed}
    if evaluation.served == SURVEYOR:
        keys |= {"policy": SURVEYOR, "history": HISTORY, **surveyor_parameters(given)}
    else:
        keys |= {"policy": "plan", "plan": PLAN}
    return file.model_copy(update={"policy": PolicySection(**keys)})


def _comments(evaluation: Evaluation) -> Comments:
    if evaluation.served == SURVEYOR:
        what = "Surveyor, which first learns from the cases of the report."
    elif evaluation.keeps_policy:
        what = "a policy that has learnt from past cases."
    else:
        what = f"the recommendation ({evaluation.recommended}), carried out as it is."
    advice = (
        "It gained less in the backtest than the recommendation: read worth.html before serving it."
        if evaluation.keeps_policy and evaluation.is_learning_worse
        else "Run it with: thrifty serve policy.toml"
    )
    inline = {"policy.history": "the cases; keep it in the folder of this file"}
    return Comments((f"Written by `thrifty worth`: {what}", advice), DEADLINE_COMMENT | inline)


def as_json(evaluation: Evaluation, command: str = "") -> dict[str, Any]:
    """Return the content of worth.json; docs/worth-files.md has the schema."""
    cases = evaluation.cases
    rewards = cases.rewards
    gains = {kind: asdict(estimate) for kind, estimate in evaluation.gain.items()}
    halves = evaluation.split_half
    content = {
        "schema": SCHEMA,
        "thrifty": __version__,
        "command": command,
        "missing": list(evaluation.missing),
        "verdict": verdict_lines(evaluation),
        "recommended": evaluation.recommended,
        "best_subset": evaluation.best_subset,
        "best_columns": [
            cases.past_cases.problem.feature_names[column]
            for k in evaluation.best_looks
            for column in cases.past_cases.looks[k].columns
        ],
        "plan": plan_to_dict(evaluation.learnt.plan),
        "currency": rewards.currency,
        "cases": cases.n_cases,
        "cases_learnt": evaluation.n_cases_learnt,
        "target": cases.target,
        "order": str(cases.order),
        "notes": list(cases.notes),
        "spend_per_case": evaluation.spend[evaluation.recommended],
        "spends_per_case": dict(evaluation.spend),
        "gain_per_case": gains[evaluation.recommended],
        "plan_gain_per_case": gains["plan"],
        "printed_gain_per_case": gains["printed"],
        "fixed_gain_per_case": gains["fixed"],
        "nothing_gain_per_case": gains["nothing"],
        "everything_gain_per_case": gains["everything"],
        "gain_over_per_case": {
            other: asdict(evaluation.gain_over(evaluation.recommended, other))
            for other in ("nothing", "everything", "fixed")
            if other != evaluation.recommended
        },
        "plan_over_fixed_per_case": asdict(evaluation.gain_over("plan", "fixed")),
        "scout_over_recommended_per_case": _optional(evaluation.scout_over_recommended),
        "honest_gain_per_case": _optional(None if halves is None else halves.gain),
        "honest_plan_gain_per_case": _optional(None if halves is None else halves.plan_gain),
        "chosen_by_halves": halves and [list(names) for names in halves.chosen],
        "first_by_halves": halves and [list(names) for names in halves.first],
        "later_half": _later_half(evaluation),
        "tenths": {kind: gains.tolist() for kind, gains in evaluation.tenths.items()},
        "different_tenths": [k + 1 for k in evaluation.different_tenths],
        "features": [_feature(evaluation, worth) for worth in evaluation.worths],
        "price_curve": [asdict(point) for point in evaluation.price_curve],
        "free": [feature.name for feature in cases.features if feature.free],
        "columns": _columns(cases),
        "actions": list(rewards.actions),
        "outcomes": list(rewards.outcomes),
        "rewards": rewards.by_action,
        "search": {"sets": len(evaluation.learnt.bank.sets), "cases": evaluation.n_cases_learnt},
        "served": evaluation.served,
        "replay": evaluation.backtest and _backtest(evaluation, evaluation.backtest),
    }
    return to_json_value(content)  # type: ignore[no-any-return]


def _optional(estimate: Estimate | None) -> dict[str, float] | None:
    return None if estimate is None else asdict(estimate)


def _later_half(evaluation: Evaluation) -> dict[str, Any] | None:
    later = evaluation.later_half
    if later is None:
        return None
    return {
        "learnt_on_earlier_half": asdict(later.earlier_rules),
        "learnt_on_both_halves": asdict(later.mixed_rules),
        "difference": asdict(later.difference),
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


def _feature(evaluation: Evaluation, worth: BreakEven) -> dict[str, Any]:
    past = evaluation.cases.past_cases
    look = past.looks[worth.look]
    return {
        "feature": look.name,
        "columns": [past.problem.feature_names[column] for column in look.columns],
        "buy": worth.look in evaluation.recommended_tree.used,
        "price": worth.price,
        "break_even": worth.value if worth.is_shown else 0.0,
        "is_shown": worth.is_shown,
        "standard_error": worth.standard_error,
        "estimate": asdict(worth_estimate(worth)),
    }


def _backtest(evaluation: Evaluation, backtest: Backtest) -> dict[str, Any]:
    return {
        "cases": backtest.cases.n_cases,
        "every": backtest.every,
        "policies": [_result(evaluation, result) for result in backtest.results],
        "scout_more_than": _more_than(backtest, Strategy.SCOUT),
        "surveyor_more_than": _more_than(backtest, Strategy.SURVEYOR)
        if backtest.has_surveyor
        else None,
        "fixed_set": evaluation.look_names(backtest.fixed_set),
        "first_part": backtest.n_first,
        "hindsight": [
            {"plan": choice.is_plan, "features": evaluation.look_names(choice.looks)}
            for choice in backtest.hindsight
        ],
        "scout_events": [
            {"case": event.round, "kind": event.kind, "feature": event.feature}
            for event in backtest.events
        ],
        "price_changes": [change._asdict() for change in backtest.price_changes],
    }


def _more_than(backtest: Backtest, strategy: Strategy) -> dict[str, Any]:
    """Return how much more a strategy gains per case than each of the others."""
    return {
        result.strategy.value: asdict(backtest.difference(strategy, result.strategy))
        for result in backtest.results
        if result.strategy is not strategy
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
