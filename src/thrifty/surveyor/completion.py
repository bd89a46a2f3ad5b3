"""Outcomes and rewards of complete cases, some of whose outcomes an action hid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thrifty.plans.binning import Binning
from thrifty.plans.booster import BoostingSettings, Draws, ModelRule, fit_booster
from thrifty.plans.cases import PastCases
from thrifty.surveyor.frequencies import OutcomeCounts
from thrifty.surveyor.labels import SAME_REWARD, OutcomeTable

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_FOLDS = 3
BISECTIONS = 30
SMALLEST_CHANCE = 0.1
"""Chances of revealing an outcome count as at least this much, so that no case counts too much."""


def complete_cases(
    cases: PastCases,
    possible: Bools,
    chances: Floats,
    table: OutcomeTable,
    rng: np.random.Generator,
) -> PastCases:
    """Fill in the outcomes that are not known, and estimate what every action earns.

    A model of all columns, which has not seen the case, gives the probabilities q of the outcomes.
    Hidden outcomes are drawn from it, so that the cases in which an action hid the outcome are not
    missing from the models of plans. Rewards are not taken from the drawn outcomes, because a wrong
    model would confirm itself. They are doubly robust estimates: the model's expectation, plus its
    error in the cases in which the reward of the action became known, divided by the chance of
    that. If an action pays the same for two outcomes, it may tell the reward of one action and hide
    that of another.

    Parameters
    ----------
    cases : PastCases
        Complete cases; their outcomes are not used.
    possible : array of bool, shape (n, O)
        Outcomes that are possible in each case.
    chances : array of float, shape (n, A)
        Probability with which each action was taken.
    table : OutcomeTable
        Rewards by action and outcome.
    rng : Generator
        Source of randomness.

    Returns
    -------
    PastCases
        The cases with outcomes and, unless all outcomes are known, with estimated rewards.
    """
    known = possible.sum(axis=1) == 1
    if known.all():
        return replace(cases, outcomes=possible.argmax(axis=1))
    expected = _unseen_probabilities(cases, possible, rng)
    tells = ~possible.all(axis=1)
    weights = tells / np.clip(chances @ table.tells, SMALLEST_CHANCE, 1.0)
    expected = calibrated(expected, possible, weights)
    left = expected * possible
    left /= left.sum(axis=1, keepdims=True)
    return replace(
        cases,
        outcomes=np.where(known, possible.argmax(axis=1), _drawn(left, rng.random(len(left)))),
        estimates=_estimated_rewards(expected, possible, chances, table),
    )


def _estimated_rewards(
    expected: Floats, possible: Bools, chances: Floats, table: OutcomeTable
) -> Floats:
    """Return a doubly robust estimate of the reward of every action in every case, (n, A)."""
    rewards = table.table
    lowest = np.where(possible[:, None, :], rewards, np.inf).min(axis=2)
    highest = np.where(possible[:, None, :], rewards, -np.inf).max(axis=2)
    is_known = highest - lowest <= SAME_REWARD * table.scale.span
    likely = (expected * possible).argmax(axis=1)
    known_by = table.determines[:, likely].transpose(1, 0, 2)  # cases, actions taken, actions
    chance = np.einsum("na,nab->nb", chances, known_by.astype(np.float64))
    weights = is_known / np.clip(chance, SMALLEST_CHANCE, 1.0)
    believed = expected @ rewards.T
    estimates: Floats = believed + weights * (lowest - believed)
    return estimates


def calibrated(expected: Floats, possible: Bools, weights: Floats) -> Floats:
    """Draw probabilities towards the frequencies, as far as the outcomes do not confirm them.

    Parameters
    ----------
    expected : array of float, shape (n, O)
        Probabilities from models that have not seen the case.
    possible : array of bool, shape (n, O)
        Outcomes that are possible in each case.
    weights : array of float, shape (n,)
        Weight of each case; 0 if nothing is known about its outcome.

    Returns
    -------
    array of float, shape (n, O)
        Probabilities.
    """
    counts = OutcomeCounts(possible.shape[1])
    for row, weight in zip(possible, weights, strict=True):
        if weight > 0:
            counts.add(row, float(weight))
    frequencies = counts.frequencies
    share = confirmed_share(expected, frequencies, possible, weights)
    drawn: Floats = frequencies + share * (expected - frequencies)
    return np.maximum(drawn, 1e-9)


def confirmed_share(
    expected: Floats,
    frequencies: Floats,
    possible: Bools,
    weights: Floats | None = None,
    *,
    doubt: float = 1.0,
) -> float:
    """Return the share of what models say beyond the frequencies that unseen cases confirm.

    It is the share of largest likelihood if probabilities are f + share (p - f), where f are the
    frequencies and p the probabilities of the models, less some standard errors.

    Parameters
    ----------
    expected : array of float, shape (n, O)
        Probabilities from models that have not seen the case.
    frequencies : array of float, shape (O,)
        Frequencies of the outcomes.
    possible : array of bool, shape (n, O)
        Outcomes that are possible in each case.
    weights : array of float, shape (n,), optional
        Weight of each case; by default 1.
    doubt : float
        Number of standard errors that are subtracted.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> expected = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> right = np.array([[True, False], [False, True]])
    >>> half = np.array([0.5, 0.5])
    >>> confirmed_share(expected, half, right, doubt=0.0), confirmed_share(expected, half, ~right)
    (1.0, 0.0)
    """
    usual = possible @ frequencies
    more = (possible * (expected - frequencies)).sum(axis=1)
    each = np.ones(len(more)) if weights is None else weights

    def slopes(share: float) -> Floats:
        found: Floats = more / np.maximum(usual + share * more, 1e-9)
        return found

    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(each @ slopes(middle)) > 0 else (low, middle)
    share = 1.0 if float(each @ slopes(1.0)) >= 0 else low
    scores = slopes(share)
    information = float(each @ scores**2)
    if information <= 0:
        return 0.0
    error = float(np.sqrt(((each * scores) ** 2).sum())) / information
    return min(max(share - doubt * error, 0.0), 1.0)


def _unseen_probabilities(cases: PastCases, possible: Bools, rng: np.random.Generator) -> Floats:
    """Return the probabilities of the outcomes from models that have not seen the case's own."""
    tells = np.flatnonzero(~possible.all(axis=1))
    folds = np.full(len(possible), -1)
    folds[tells] = np.arange(tells.size) % N_FOLDS
    found = np.zeros(possible.shape)
    for fold in range(N_FOLDS):
        rows = np.flatnonzero(folds != fold)
        model = fit_model(cases.subset(rows), possible[rows], rng)
        inside = folds == fold
        found[inside] = model.probabilities(cases.codes[inside])
        hidden = folds < 0
        found[hidden] += model.probabilities(cases.codes[hidden]) / N_FOLDS
    return np.maximum(found, 1e-9)


def _drawn(probabilities: Floats, draws: Floats) -> Integers:
    sums = probabilities.cumsum(axis=1)
    below = (sums <= draws[:, None] * sums[:, -1:]).sum(axis=1)
    drawn: Integers = np.minimum(below, probabilities.shape[1] - 1)
    return drawn


def fit_model(cases: PastCases, possible: Bools, rng: np.random.Generator) -> ModelRule:
    """Return a model of the outcome on all columns.

    Parameters
    ----------
    cases : PastCases
        Complete cases; their outcomes are not used.
    possible : array of bool, shape (n, O)
        Outcomes that are possible in each case.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ModelRule
        The model, fitted to the cases about whose outcome something is known.
    """
    n_outcomes = possible.shape[1]
    rows = np.flatnonzero(~possible.all(axis=1))
    labelled = replace(cases.subset(rows), outcomes=possible[rows].argmax(axis=1))
    binning = Binning.learn(labelled)
    bins = binning.apply(labelled.codes)
    settings = BoostingSettings.for_cases(len(rows))
    n_scores = 1 if n_outcomes == 2 else n_outcomes
    draws = Draws.make(rng, len(rows), bins.shape[1], n_scores, settings)
    columns = range(bins.shape[1])
    booster = fit_booster(
        bins, possible[rows], n_outcomes, columns, binning.n_bins, draws, settings
    )
    return ModelRule(binning, (booster,), cases.rewards)
