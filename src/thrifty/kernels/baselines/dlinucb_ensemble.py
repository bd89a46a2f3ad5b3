"""DenBand: an ensemble of LinUCB models, each watched by an auditor; it buys everything.

The auditor of a model is a ridge regression of the model's present errors in the last rounds. With
S = sum of x x' and c = sum of r x over these rounds, it is beta = (S + I)^-1 (c - S theta). Models
share the samples of the last rounds; those before a model began do not count for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import NONE, Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.grid import on_grid, round_to_grid
from thrifty.kernels.shared.linear import (
    add,
    add_outer,
    add_sample,
    add_to_inverse,
    copy,
    dot,
    encode,
    invert,
    multiply,
    multiply_symmetric,
    radius_of,
    reset,
    take_from_inverse,
    width_of,
)
from thrifty.kernels.shared.purchases import everything

UNUSED = -1


class EnsembleSettings(NamedTuple):
    """The parameters."""

    alpha: float
    noise: float
    margin: float
    delta: float
    audit: float
    tolerance: float


class Models(NamedTuple):
    """Each model's regressions, by model and action, and counts by model.

    `ages` are numbers of rounds, or UNUSED where there is no model; `idle` counts the rounds since
    a model last learnt, `samples` what it has learnt from, and `started` all models. `radii` are
    the alpha_t that follow from `samples`.
    """

    inverses: Floats
    targets: Floats
    thetas: Floats
    samples: Ints
    radii: Floats
    ages: Ints
    idle: Ints
    started: Ints


class Auditors(NamedTuple):
    """Each auditor's (S + I)^-1, S, c, beta and number of samples, by model and action."""

    inverses: Floats
    matrices: Floats
    targets: Floats
    betas: Floats
    counts: Ints


class Recent(NamedTuple):
    """The samples of the last rounds, written round and round."""

    codes: Ints
    actions: Ints
    rewards: Floats
    clock: Ints


class DynamicEnsembleState(NamedTuple):
    """Settings, encoding, models, auditors and samples."""

    settings: EnsembleSettings
    places: Ints
    models: Models
    auditors: Auditors
    recent: Recent


def initial(
    n_actions: int,
    n_features: int,
    settings: EnsembleSettings,
    *,
    tau: int,
    models: int,
    places: Ints,
    size: int,
) -> DynamicEnsembleState:
    """Return the state before the first round: one model without samples."""
    ages = np.full(models, UNUSED)
    ages[0] = 0
    identities = np.tile(np.eye(size), (models, n_actions, 1, 1))
    vectors = np.zeros((models, n_actions, size))
    counts = np.zeros(models, np.int64)
    return DynamicEnsembleState(
        settings,
        places,
        Models(
            identities,
            vectors,
            vectors.copy(),
            samples=counts,
            radii=np.ones(models),
            ages=ages,
            idle=counts.copy(),
            started=np.ones(1, np.int64),
        ),
        Auditors(
            identities.copy(),
            np.zeros_like(identities),
            vectors.copy(),
            vectors.copy(),
            np.zeros((models, n_actions), np.int64),
        ),
        Recent(
            np.zeros((tau, n_features), np.int64),
            np.zeros(tau, np.int64),
            np.zeros(tau),
            np.zeros(1, np.int64),
        ),
    )


@jit_inner
def _width(state: DynamicEnsembleState, k: int, a: int, x: Floats) -> float:
    """Return B, the bound on the error of the model's prediction."""
    return state.models.radii[k] * width_of(state.models.inverses[k, a], x)


@jit_inner
def _lower_bound(state: DynamicEnsembleState, k: int, a: int, x: Floats) -> float:
    """Return the lower bound of the model's badness, infinite if it is not admissible."""
    auditors, settings = state.auditors, state.settings
    badness = abs(dot(auditors.betas[k, a], x))
    spread = settings.audit * width_of(auditors.inverses[k, a], x)
    if badness > spread + _width(state, k, a, x) + settings.tolerance:
        return np.inf
    return on_grid(badness - spread)


@jit_inner
def _chosen_model(state: DynamicEnsembleState, a: int, x: Floats) -> int:
    """Return the admissible model with the least lower bound, the oldest of several, or NONE."""
    ages = state.models.ages
    chosen, least = NONE, np.inf
    for k in range(ages.size):
        if ages[k] != UNUSED:
            bound = _lower_bound(state, k, a, x)
            older = chosen != NONE and bound == least and ages[k] > ages[chosen]
            if bound < least or older:
                chosen, least = k, bound
    return chosen


@jit_inner
def _has_admissible(state: DynamicEnsembleState, a: int, x: Floats) -> bool:
    """Return True if some model is admissible."""
    for k in range(state.models.ages.size):
        if state.models.ages[k] != UNUSED and _lower_bound(state, k, a, x) < np.inf:
            return True
    return False


@jit
def index(state: DynamicEnsembleState, codes: Ints) -> Floats:
    """Return theta . x + alpha sqrt(x' A^-1 x) of the model chosen for each action.

    Without an admissible model the value is that of a new one. Values are rounded to the grid from
    the second model on.
    """
    models = state.models
    x = encode(codes, state.places, models.thetas.shape[2])
    values = np.empty(models.thetas.shape[1])
    for a in range(values.size):
        k = _chosen_model(state, a, x)
        if k == NONE:
            values[a] = state.settings.alpha * np.sqrt(dot(x, x))
        else:
            width = width_of(models.inverses[k, a], x)
            values[a] = dot(models.thetas[k, a], x) + state.settings.alpha * width
    if models.started[0] > 1:
        round_to_grid(values)
    return values


@jit
def update(
    state: DynamicEnsembleState,
    codes: Ints,
    costs: Floats,
    action: int,
    reward: float,
    purpose: int,
) -> None:
    """Add a model if an action has none, then let models and auditors learn from the sample."""
    models, recent = state.models, state.recent
    x = encode(codes, state.places, models.thetas.shape[2])
    for a in range(models.thetas.shape[1]):
        if not _has_admissible(state, a, x):
            _start(state)
            break
    for k in range(models.ages.size):
        if models.ages[k] != UNUSED:
            _learn(state, k, action, x, reward)
    place = recent.clock[0] % recent.rewards.size
    for i in range(codes.size):
        recent.codes[place, i] = codes[i]
    recent.actions[place] = action
    recent.rewards[place] = reward
    recent.clock[0] += 1
    if recent.clock[0] % recent.rewards.size == 0:
        _compute_inverses_again(state)


@jit_inner
def _start(state: DynamicEnsembleState) -> None:
    """Put a new model in a free place, or in that of the model that was idle for longest."""
    models, auditors = state.models, state.auditors
    chosen = 0
    for k in range(models.ages.size):
        if models.ages[k] == UNUSED:
            chosen = k
            break
        longer = models.idle[k] > models.idle[chosen]
        equal = models.idle[k] == models.idle[chosen]
        if longer or (equal and models.ages[k] > models.ages[chosen]):
            chosen = k
    for a in range(models.thetas.shape[1]):
        reset(models.inverses[chosen, a], models.targets[chosen, a], models.thetas[chosen, a])
        _reset_auditor(auditors, chosen, a)
    models.samples[chosen] = 0
    models.radii[chosen] = 1.0
    models.idle[chosen] = 0
    models.ages[chosen] = 0
    models.started[0] += 1


@jit_inner
def _radius(state: DynamicEnsembleState, samples: int) -> float:
    """Return alpha_t after this number of samples."""
    settings = state.settings
    dimension = state.models.thetas.shape[1] * state.models.thetas.shape[2]
    return radius_of(settings.noise, dimension, samples, settings.delta)


@jit_inner
def _reset_auditor(auditors: Auditors, k: int, a: int) -> None:
    """Return one auditor to a window without samples."""
    auditors.counts[k, a] = 0
    reset(auditors.inverses[k, a], auditors.targets[k, a], auditors.betas[k, a])
    for i in range(auditors.betas.shape[2]):
        for j in range(auditors.betas.shape[2]):
            auditors.matrices[k, a, i, j] = 0.0


@jit_inner
def _learn(state: DynamicEnsembleState, k: int, a: int, x: Floats, reward: float) -> None:
    """Let a model learn, if it is admissible and predicts well, and its auditor in any case."""
    models, auditors, recent = state.models, state.auditors, state.recent
    error = abs(dot(models.thetas[k, a], x) - reward)
    admissible = _lower_bound(state, k, a, x) < np.inf
    models.idle[k] += 1
    if admissible and error <= _width(state, k, a, x) + state.settings.margin:
        inverse, target = models.inverses[k, a], models.targets[k, a]
        add_sample(inverse, target, models.thetas[k, a], x, reward)
        models.samples[k] += 1
        models.radii[k] = _radius(state, models.samples[k])
        models.idle[k] = 0
    if models.ages[k] >= recent.rewards.size:
        _forget_oldest(state, k, a)
    auditors.counts[k, a] += 1
    add_to_inverse(auditors.inverses[k, a], x)
    add_outer(auditors.matrices[k, a], x, 1.0)
    add(auditors.targets[k, a], x, reward)
    _fit_auditor(state, k, a)
    models.ages[k] += 1


@jit_inner
def _forget_oldest(state: DynamicEnsembleState, k: int, next_action: int) -> None:
    """Remove the sample that leaves the window from the model's auditor.

    The auditor of the next sample's action is fitted with that sample.
    """
    auditors, recent = state.auditors, state.recent
    place = recent.clock[0] % recent.rewards.size
    a = recent.actions[place]
    auditors.counts[k, a] -= 1
    if auditors.counts[k, a] == 0:
        _reset_auditor(auditors, k, a)
        return
    x = encode(recent.codes[place], state.places, auditors.betas.shape[2])
    take_from_inverse(auditors.inverses[k, a], x)
    add_outer(auditors.matrices[k, a], x, -1.0)
    add(auditors.targets[k, a], x, -recent.rewards[place])
    if a != next_action:
        _fit_auditor(state, k, a)


@jit_inner
def _fit_auditor(state: DynamicEnsembleState, k: int, a: int) -> None:
    """Fit the model's present errors: beta = (S + I)^-1 (c - S theta)."""
    auditors = state.auditors
    errors = multiply_symmetric(auditors.matrices[k, a], state.models.thetas[k, a])
    for i in range(errors.size):
        errors[i] = auditors.targets[k, a, i] - errors[i]
    copy(multiply(auditors.inverses[k, a], errors), auditors.betas[k, a])


@jit_inner
def _compute_inverses_again(state: DynamicEnsembleState) -> None:
    """Compute (S + I)^-1 of all auditors from S, which is exact, to remove rounding errors."""
    auditors = state.auditors
    for k in range(state.models.ages.size):
        if state.models.ages[k] != UNUSED:
            for a in range(auditors.counts.shape[1]):
                matrix = auditors.matrices[k, a].copy()
                for i in range(matrix.shape[0]):
                    matrix[i, i] += 1.0
                copy(invert(matrix), auditors.inverses[k, a])


STEPS[DynamicEnsembleState] = Steps(everything, update, index)
