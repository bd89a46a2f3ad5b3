"""Choose which policies experiments run: some of their own, further ones, or a class of yours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from thrifty.errors import UnknownName
from thrifty.experiments.makers import class_name, full_name, is_file
from thrifty.experiments.spec import Entry, Experiment
from thrifty.names import suggestion
from thrifty.policies import POLICIES


def with_policies(experiments: Sequence[Experiment], names: Sequence[str]) -> list[Experiment]:
    """Return the experiments with the policies that the names choose.

    Parameters
    ----------
    experiments : sequence of Experiment
        Experiments of one folder.
    names : sequence of str
        Labels or registered names keep these policies only. A registered policy that no experiment
        has is added with its default parameters. FILE.py:Class adds a policy of your own to those
        that are kept. No names keep everything.

    Returns
    -------
    list of Experiment
        The experiments that have a policy left.

    Raises
    ------
    UnknownName
        If a name is neither a label nor a registered policy.
    InvalidParameter
        If a file has no such policy.

    Examples
    --------
    >>> from thrifty.experiments.spec import find
    >>> [own] = with_policies([find("worlds/stationary")], ["UCB1", "surveyor"])
    >>> [entry.label for entry in own.entries]
    ['UCB1', 'surveyor']
    """
    if not names:
        return list(experiments)
    kept = [name for name in names if not is_file(name)]
    known = {name for experiment in experiments for name in _names(experiment)}
    added = [Entry(name, _registered(name, known)) for name in kept if name not in known]
    own = [full_name(name) for name in names if is_file(name)]
    chosen = [
        _selected(experiment, kept, [*added, *_own(experiment, own)]) for experiment in experiments
    ]
    return [experiment for experiment in chosen if experiment.entries]


def _selected(experiment: Experiment, kept: Collection[str], added: Sequence[Entry]) -> Experiment:
    entries = [
        entry for entry in experiment.entries if not kept or {entry.label, entry.policy} & {*kept}
    ]
    labels = {entry.label for entry in entries}
    targets = (target for target in experiment.targets if {target.policy, target.against} <= labels)
    return replace(experiment, entries=(*entries, *added), targets=tuple(targets))


def _own(experiment: Experiment, policies: Sequence[str]) -> list[Entry]:
    """Return entries of your own policies, under labels that the experiment does not have."""
    taken = {entry.label for entry in experiment.entries}
    entries = []
    for policy in dict.fromkeys(policies):
        label = class_name(policy)
        while label in taken:
            label += " (own)"
        taken.add(label)
        entries.append(Entry(label, policy))
    return entries


def _names(experiment: Experiment) -> set[str]:
    return {name for entry in experiment.entries for name in (entry.label, entry.policy)}


def _registered(name: str, known: Collection[str]) -> str:
    if name not in POLICIES:
        hint = suggestion(name, [*known, *POLICIES])
        raise UnknownName(
            f"there is no policy {name!r}{hint}: use the label of a policy of the experiment, a "
            "name from `thrifty list policies`, or FILE.py:Class for one of your own."
        )
    return name
