"""What Surveyor believes about the outcome of a case, and what each action is worth in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.booster import ModelRule
from thrifty.plans.tree import ActionRule, Leaf
from thrifty.propensities import one_hot
from thrifty.rounds import Observation
from thrifty.surveyor.baseline import Baseline
from thrifty.surveyor.evidence import Evidence
from thrifty.surveyor.knowledge import Knowledge
from thrifty.surveyor.plans_in_use import PlansInUse
from thrifty.surveyor.purposes import CAUTION, EXPLORE, place_of
from thrifty.surveyor.trials import action_chances

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

DOUBTED_ROWS = 30
"""Number of complete cases at which a model counts half when changes are looked for."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Probabilities of outcomes and values of actions, by models and frequencies.

    Parameters
    ----------
    evidence : Evidence
        Everything that was seen.
    knowledge : Knowledge or None
        What was learnt from it.
    plans : PlansInUse or None
        The plans, ready to be followed.
    baseline : Baseline, optional
        A given plan that is carried out when nothing more may be lost.
    """

    evidence: Evidence
    knowledge: Knowledge | None = None
    plans: PlansInUse | None = None
    baseline: Baseline | None = None

    def leaf(self, observation: Observation) -> Leaf | None:
        """Return the leaf that decides in a case, or None if a constant action is taken."""
        if observation.purpose == CAUTION:
            return None if self.baseline is None else self.baseline.leaf(observation)
        if self.knowledge is None or self.plans is None:
            return None
        if observation.purpose == EXPLORE:
            node = self.knowledge.everything.root
            assert isinstance(node, Leaf)
        else:
            node = self.plans.leaf(place_of(observation.purpose), observation.codes.tolist())
        is_constant = node is self.knowledge.plan.root and isinstance(node.rule, ActionRule)
        return None if is_constant and not node.looks else node

    def probabilities(self, observation: Observation) -> Floats:
        """Return the probabilities of the outcomes in a case, (O,)."""
        knowledge, leaf, counts = self.knowledge, self.leaf(observation), self.evidence.counts
        if leaf is None:
            return counts.frequencies
        if not isinstance(leaf.rule, ModelRule):
            if knowledge is None or self.plans is None:
                return counts.frequencies
            return self.plans.leaf_frequencies.get(id(leaf), knowledge.frequencies)
        found: Floats = leaf.rule.probabilities(observation.codes.astype(np.int16)[None])[0]
        if observation.purpose == EXPLORE and knowledge is not None:
            # A model counts as far as unseen cases confirmed it.
            share = knowledge.confidence
            found = share * found + (1 - share) * counts.frequencies
        return found

    def values(self, observation: Observation) -> Floats:
        """Return the value of each action in a case, in money, (A,)."""
        if observation.purpose == EXPLORE:
            informed: Floats = self.evidence.table.table @ self.probabilities(observation)
            return informed
        leaf = self.leaf(observation)
        if leaf is None and observation.purpose == CAUTION:
            return self.evidence.constant_values
        if leaf is None:
            return self.evidence.optimistic_values
        values: Floats = leaf.rule.action_values(observation.codes.astype(np.int16)[None])[0]
        return values

    def chances(self, observation: Observation, available: Bools) -> Floats:
        """Return the probability with which each action is to be taken, (A,)."""
        values = np.where(available, self.values(observation), -np.inf)
        if observation.purpose != EXPLORE:
            return one_hot(values.size, int(values.argmax()))
        untried = self.evidence.untried & available
        if untried.any():
            even: Floats = untried / untried.sum()
            return even
        table = self.evidence.table
        probabilities, paid = self.probabilities(observation), observation.total_cost
        gap = self.evidence.blind_gap
        return action_chances(table, probabilities, values, paid * table.scale.span, gap)

    def chances_of_taking(self, action: int, observation: Observation) -> Floats:
        """Return the probability with which each action was taken; 1 if that does not matter."""
        table = self.evidence.table
        n_actions = len(table.table)
        if table.reveals_all:
            return np.ones(n_actions)
        if observation.purpose != EXPLORE:
            return one_hot(n_actions, action)
        return self.chances(observation, np.ones(n_actions, np.bool_))

    def doubted(self, probabilities: Floats) -> Floats:
        """Return what is expected of a case when changes are looked for, (O,)."""
        assert self.knowledge is not None
        # Models of few cases are too sure of themselves.
        n_cases, frequencies = self.knowledge.n_cases, self.knowledge.frequencies
        belief = self.knowledge.confidence * n_cases / (n_cases + DOUBTED_ROWS)
        mixed: Floats = belief * probabilities + (1 - belief) * frequencies
        return mixed
