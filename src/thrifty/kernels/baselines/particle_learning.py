"""Particle learning of linear coefficients that drift as random walks; it buys everything.

Every action has particles of its own. By a particle the coefficients are c + theta * eta: c and
theta are constant, eta is a random walk with steps N(0, W). A particle has the posterior of (c,
theta), given the draws of eta so far, N(mean, variance * spread) with variance ~ IG(shape, scale);
the posterior of eta, N(walk mean, walk spread), given the draws of c, theta and the variance; and a
draw of the variance.

A sample with context x depends on x . c, and on theta and eta only where x is not 0. So no more is
drawn, and only when the sample comes. With indicators this saves most of the time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thrifty.kernels.runtime.arrays import Bools, Floats, Ints
from thrifty.kernels.runtime.compilation import jit, jit_inner
from thrifty.kernels.runtime.steps import STEPS, Steps
from thrifty.kernels.shared.largest_normal import draw_largest, fill_chances
from thrifty.kernels.shared.linear import (
    add,
    add_outer,
    copy,
    dot,
    draw_normal,
    encode,
    multiply_symmetric,
)
from thrifty.kernels.shared.purchases import everything_with_a_draw
from thrifty.kernels.shared.variates import (
    gamma,
    stream_of,
    stream_of_purpose,
    uniform,
)

FEATURE_DRAWS = ACTION_DRAWS = 1
SHAPE = 1.0


class ParticleLearningState(NamedTuple):
    """The parameters, the encoding, the number of samples of each action, and its particles.

    `means` and `spreads` refer to c, then theta.
    """

    alpha: float
    step: float
    noise: float
    places: Ints
    counts: Ints
    means: Floats
    spreads: Floats
    scales: Floats
    variances: Floats
    walk_means: Floats
    walk_spreads: Floats


def initial(
    n_actions: int,
    alpha: float,
    particles: int,
    walk: float,
    noise: float,
    places: Ints,
    size: int,
) -> ParticleLearningState:
    """Return the state before the first round; particles are drawn at the first sample."""
    shape = (n_actions, particles)
    return ParticleLearningState(
        alpha,
        walk * walk,
        noise,
        places,
        counts=np.zeros(n_actions, np.int64),
        means=np.zeros((*shape, 2 * size)),
        spreads=np.tile(np.eye(2 * size), (*shape, 1, 1)),
        scales=np.full(shape, noise),
        variances=np.full(shape, noise),
        walk_means=np.zeros((*shape, size)),
        walk_spreads=np.zeros((*shape, size, size)),
    )


@jit
def choose_action(
    state: ParticleLearningState, codes: Ints, available: Bools, draws: Floats, purpose: int
) -> int:
    """Return the first action with the largest reward by the mean of a draw from each particle.

    It is normal, with the mean of the particles' means and 1 / P^2 of the sum of their variances.
    """
    means, widths = _draws_of_rewards(state, codes)
    return draw_largest(means, widths, available, stream_of(draws[0]))


@jit_inner
def _draws_of_rewards(state: ParticleLearningState, codes: Ints) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the reward that is drawn for each action."""
    x = encode(codes, state.places, state.walk_means.shape[2])
    seen = _places_of_entries(x)
    n_particles = state.scales.shape[1]
    means, widths = np.empty(state.counts.size), np.empty(state.counts.size)
    for a in range(means.size):
        mean = variance = 0.0
        for p in range(n_particles):
            mean += _mean(state, a, p, x, seen)
            variance += _variance(state, a, p, x, seen)
        means[a] = mean / n_particles
        widths[a] = state.alpha * math.sqrt(variance) / n_particles
    return means, widths


@jit
def action_chances(state: ParticleLearningState, codes: Ints, available: Bools) -> Floats:
    """Return the probability of each action in `choose_action`."""
    means, widths = _draws_of_rewards(state, codes)
    chances = np.empty(means.size)
    fill_chances(means, widths, available, chances)
    return chances


@jit_inner
def _places_of_entries(x: Floats) -> Ints:
    """Return the places where x is not 0."""
    places = np.empty(x.size, np.int64)
    n = 0
    for i in range(x.size):
        if x[i] != 0.0:
            places[n] = i
            n += 1
    return places[:n]


@jit_inner
def _mean(state: ParticleLearningState, a: int, p: int, x: Floats, seen: Ints) -> float:
    """Return the mean of x . (c + theta * eta) by the particle."""
    means, walk = state.means[a, p], state.walk_means[a, p]
    total = 0.0
    for i in seen:
        total += x[i] * (means[i] + walk[i] * means[x.size + i])
    return total


@jit_inner
def _variance(state: ParticleLearningState, a: int, p: int, x: Floats, seen: Ints) -> float:
    """Return the variance of x . (c + theta * eta) by the particle."""
    d, variance = x.size, state.variances[a, p]
    means, spread = state.means[a, p], state.spreads[a, p]
    walk, walk_spread = state.walk_means[a, p], state.walk_spreads[a, p]
    total = 0.0
    for k in range(seen.size):
        i = seen[k]
        for j in seen[: k + 1]:
            constant = spread[i, j] + walk[i] * spread[d + i, j] + walk[j] * spread[d + j, i]
            constant += walk[i] * walk[j] * spread[d + i, d + j]
            both = means[d + i] * means[d + j] + variance * spread[d + i, d + j]
            moved = walk_spread[i, j] + (state.step if i == j else 0.0)
            times = 1.0 if i == j else 2.0
            total += times * x[i] * x[j] * (variance * constant + moved * both)
    return total


@jit
def update(
    state: ParticleLearningState,
    codes: Ints,
    costs: Floats,
    action: int,
    reward: float,
    purpose: int,
) -> None:
    """Resample the action's particles by how well they predict the reward, then move each."""
    a = action
    x = encode(codes, state.places, state.walk_means.shape[2])
    seen = _places_of_entries(x)
    stream = stream_of_purpose(purpose, state.counts.sum())
    n_particles = state.scales.shape[1]
    errors, variances = np.empty(n_particles), np.empty(n_particles)
    gains = np.empty((n_particles, x.size))
    for p in range(n_particles):
        if state.counts[a] == 0:
            _draw_variance(state, a, p, SHAPE, stream)
        drawn = _drawn_coefficients(state, a, p, x, seen, stream)
        errors[p] = _residual(state, a, p, x, seen, drawn, reward)
        variances[p] = _fill_gain(state, a, p, x, seen, drawn, gains[p])
    _resample(state, a, errors, variances, gains, uniform(stream))
    state.counts[a] += 1
    for p in range(n_particles):
        _move_walk(state, a, p, gains[p], errors[p] / variances[p], variances[p])
        _add_sample(state, a, p, _drawn_regressors(state, a, p, x, seen, stream), reward)
        _draw_variance(state, a, p, SHAPE + state.counts[a] / 2, stream)


@jit_inner
def _draw_variance(
    state: ParticleLearningState, a: int, p: int, shape: float, stream: Ints
) -> None:
    """Draw the variance of rewards."""
    state.variances[a, p] = state.scales[a, p] / gamma(shape, stream)


@jit_inner
def _drawn_coefficients(
    state: ParticleLearningState, a: int, p: int, x: Floats, seen: Ints, stream: Ints
) -> Floats:
    """Draw x . c, then the entries of theta at these places."""
    d, n = x.size, seen.size
    means, spreads = state.means[a, p], state.spreads[a, p]
    mean, spread = np.zeros(1 + n), np.zeros((1 + n, 1 + n))
    for i in range(n):
        mean[0] += x[seen[i]] * means[seen[i]]
        mean[1 + i] = means[d + seen[i]]
        for j in range(n):
            spread[0, 0] += x[seen[i]] * x[seen[j]] * spreads[seen[i], seen[j]]
            spread[1 + i, 0] += x[seen[j]] * spreads[d + seen[i], seen[j]]
            spread[1 + i, 1 + j] = spreads[d + seen[i], d + seen[j]]
    drawn = np.empty(1 + n)
    draw_normal(mean, spread, math.sqrt(state.variances[a, p]), stream, drawn)
    return drawn


@jit_inner
def _drawn_regressors(
    state: ParticleLearningState, a: int, p: int, x: Floats, seen: Ints, stream: Ints
) -> Floats:
    """Draw eta; return (x, x * eta), which is multiplied by (c, theta)."""
    n = seen.size
    mean, spread, walk = np.empty(n), np.empty((n, n)), np.empty(n)
    for i in range(n):
        mean[i] = state.walk_means[a, p, seen[i]]
        for j in range(n):
            spread[i, j] = state.walk_spreads[a, p, seen[i], seen[j]]
    draw_normal(mean, spread, 1.0, stream, walk)
    z = np.zeros(2 * x.size)
    for i in range(n):
        z[seen[i]] = x[seen[i]]
        z[x.size + seen[i]] = x[seen[i]] * walk[i]
    return z


@jit_inner
def _residual(
    state: ParticleLearningState,
    a: int,
    p: int,
    x: Floats,
    seen: Ints,
    drawn: Floats,
    reward: float,
) -> float:
    """Return the reward less the prediction with the drawn c and theta."""
    error = reward - drawn[0]
    for i in range(seen.size):
        error -= x[seen[i]] * drawn[1 + i] * state.walk_means[a, p, seen[i]]
    return error


@jit_inner
def _fill_gain(
    state: ParticleLearningState,
    a: int,
    p: int,
    x: Floats,
    seen: Ints,
    drawn: Floats,
    gain: Floats,
) -> float:
    """Write (walk spread + W) u, where u = x * theta; return the variance of the reward."""
    walk_spread = state.walk_spreads[a, p]
    for i in range(x.size):
        gain[i] = 0.0
    for k in range(seen.size):
        j = seen[k]
        u = x[j] * drawn[1 + k]
        gain[j] += u * state.step
        for i in range(x.size):
            gain[i] += walk_spread[j, i] * u
    variance = state.variances[a, p]
    for k in range(seen.size):
        variance += x[seen[k]] * drawn[1 + k] * gain[seen[k]]
    return variance


@jit_inner
def _resample(
    state: ParticleLearningState,
    a: int,
    errors: Floats,
    variances: Floats,
    gains: Floats,
    draw: float,
) -> None:
    """Replace particles by copies of others, by systematic resampling with one uniform number."""
    n = state.scales.shape[1]
    weights = np.empty(n)
    for p in range(n):
        weights[p] = -(errors[p] * errors[p] / variances[p] + math.log(variances[p])) / 2
    top = weights.max()
    for p in range(n):
        weights[p] = math.exp(weights[p] - top)
    copies = np.zeros(n, np.int64)
    reached, parent = weights[0], 0
    for k in range(n):
        place = weights.sum() * (k + draw) / n
        while reached < place and parent < n - 1:
            parent += 1
            reached += weights[parent]
        copies[parent] += 1
    parent = 0
    for p in range(n):
        if copies[p] == 0:
            while copies[parent] < 2:
                parent += 1
            copies[parent] -= 1
            copy(gains[parent], gains[p])
            errors[p], variances[p] = errors[parent], variances[parent]
            _copy_particle(state, a, parent, p)


@jit_inner
def _copy_particle(state: ParticleLearningState, a: int, source: int, target: int) -> None:
    copy(state.means[a, source], state.means[a, target])
    copy(state.spreads[a, source], state.spreads[a, target])
    copy(state.walk_means[a, source], state.walk_means[a, target])
    copy(state.walk_spreads[a, source], state.walk_spreads[a, target])
    state.scales[a, target] = state.scales[a, source]
    state.variances[a, target] = state.variances[a, source]


@jit_inner
def _move_walk(
    state: ParticleLearningState, a: int, p: int, gain: Floats, step: float, variance: float
) -> None:
    """Update the posterior of eta by a step of the Kalman filter."""
    add(state.walk_means[a, p], gain, step)
    for i in range(gain.size):
        state.walk_spreads[a, p, i, i] += state.step
    add_outer(state.walk_spreads[a, p], gain, -1.0 / variance)


@jit_inner
def _add_sample(state: ParticleLearningState, a: int, p: int, z: Floats, reward: float) -> None:
    """Update the posterior of c, theta and the variance by a sample of the regression on z."""
    error = reward - dot(z, state.means[a, p])
    y = multiply_symmetric(state.spreads[a, p], z)
    width = dot(z, y)
    state.scales[a, p] += error * error / (2 * (1 + width))
    add_outer(state.spreads[a, p], y, -1.0 / (1.0 + width))
    add(state.means[a, p], y, error / (1.0 + width))


STEPS[ParticleLearningState] = Steps(everything_with_a_draw, update, choose_action=choose_action)
