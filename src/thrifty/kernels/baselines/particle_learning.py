"""Particle learning of linear coefficients that drift as random walks; it buys everything.

Every action has particles of its own. By a particle the coefficients are c + theta * eta: c and
theta are constant, eta is a random walk with steps N(0, W). A particle has the posterior of (c,
theta), given the draws of eta so far, N(mean, variance * spread) with variance ~ IG(shape, scale);
the posterior of eta, N(walk mean, walk spread), given the draws of c, theta and the variance; and a
draw of each.
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
    add_to_inverse,
    copy,
    dot,
    draw_normal,
    encode,
    multiply,
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

    `drawn` holds c, then theta; `means`, `targets` and `spreads` refer to both at once.
    """

    alpha: float
    step: float
    noise: float
    places: Ints
    counts: Ints
    drawn: Floats
    means: Floats
    targets: Floats
    spreads: Floats
    scales: Floats
    variances: Floats
    walks: Floats
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
        drawn=np.zeros((*shape, 2 * size)),
        means=np.zeros((*shape, 2 * size)),
        targets=np.zeros((*shape, 2 * size)),
        spreads=np.tile(np.eye(2 * size), (*shape, 1, 1)),
        scales=np.full(shape, noise),
        variances=np.full(shape, noise),
        walks=np.zeros((*shape, size)),
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
    x = encode(codes, state.places, state.walks.shape[2])
    n_particles = state.scales.shape[1]
    means, widths = np.empty(state.counts.size), np.empty(state.counts.size)
    for a in range(means.size):
        mean = variance = 0.0
        for p in range(n_particles):
            z = _regressors(x, state.walk_means[a, p])
            mean += dot(z, state.means[a, p])
            variance += _variance(state, a, p, x, z)
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
def _regressors(x: Floats, walk: Floats) -> Floats:
    """Return (x, x * eta), the vector that is multiplied by (c, theta)."""
    z = np.empty(2 * x.size)
    for i in range(x.size):
        z[i] = x[i]
        z[x.size + i] = x[i] * walk[i]
    return z


@jit_inner
def _variance(state: ParticleLearningState, a: int, p: int, x: Floats, z: Floats) -> float:
    """Return the variance of x . (c + theta * eta) by the particle."""
    d = x.size
    total = state.variances[a, p] * dot(z, multiply(state.spreads[a, p], z))
    for i in range(d):
        for j in range(d):
            walk = state.walk_spreads[a, p, i, j] + (state.step if i == j else 0.0)
            both = state.means[a, p, d + i] * state.means[a, p, d + j]
            both += state.variances[a, p] * state.spreads[a, p, d + i, d + j]
            total += x[i] * x[j] * walk * both
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
    x = encode(codes, state.places, state.walks.shape[2])
    stream = stream_of_purpose(purpose, state.counts.sum())
    if state.counts[a] == 0:
        for p in range(state.scales.shape[1]):
            _draw_coefficients(state, a, p, SHAPE, stream)
    _resample(state, a, x, reward, uniform(stream))
    state.counts[a] += 1
    for p in range(state.scales.shape[1]):
        _move_walk(state, a, p, x, reward)
        draw_normal(
            state.walk_means[a, p], state.walk_spreads[a, p], 1.0, stream, state.walks[a, p]
        )
        _add_sample(state, a, p, _regressors(x, state.walks[a, p]), reward)
        _draw_coefficients(state, a, p, SHAPE + state.counts[a] / 2, stream)


@jit_inner
def _draw_coefficients(
    state: ParticleLearningState, a: int, p: int, shape: float, stream: Ints
) -> None:
    """Draw the variance of rewards, then c and theta given it."""
    state.variances[a, p] = state.scales[a, p] / gamma(shape, stream)
    scale = math.sqrt(state.variances[a, p])
    draw_normal(state.means[a, p], state.spreads[a, p], scale, stream, state.drawn[a, p])


@jit_inner
def _direction(state: ParticleLearningState, a: int, p: int, x: Floats) -> Floats:
    """Return x * theta, which is multiplied by eta."""
    u = np.empty(x.size)
    for i in range(x.size):
        u[i] = x[i] * state.drawn[a, p, x.size + i]
    return u


@jit_inner
def _gain(state: ParticleLearningState, a: int, p: int, u: Floats) -> Floats:
    """Return (walk spread + W) u."""
    gain = multiply(state.walk_spreads[a, p], u)
    add(gain, u, state.step)
    return gain


@jit_inner
def _residual(state: ParticleLearningState, a: int, p: int, x: Floats, reward: float) -> float:
    """Return the reward less the prediction with the drawn c and theta."""
    return reward - dot(_regressors(x, state.walk_means[a, p]), state.drawn[a, p])


@jit_inner
def _resample(state: ParticleLearningState, a: int, x: Floats, reward: float, draw: float) -> None:
    """Replace particles by copies of others, by systematic resampling with one uniform number."""
    n = state.scales.shape[1]
    weights = np.empty(n)
    for p in range(n):
        u = _direction(state, a, p, x)
        variance = state.variances[a, p] + dot(u, _gain(state, a, p, u))
        error = _residual(state, a, p, x, reward)
        weights[p] = -(error * error / variance + math.log(variance)) / 2
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
            _copy_particle(state, a, parent, p)


@jit_inner
def _copy_particle(state: ParticleLearningState, a: int, source: int, target: int) -> None:
    copy(state.drawn[a, source], state.drawn[a, target])
    copy(state.means[a, source], state.means[a, target])
    copy(state.targets[a, source], state.targets[a, target])
    copy(state.spreads[a, source], state.spreads[a, target])
    copy(state.walk_means[a, source], state.walk_means[a, target])
    copy(state.walk_spreads[a, source], state.walk_spreads[a, target])
    state.scales[a, target] = state.scales[a, source]
    state.variances[a, target] = state.variances[a, source]


@jit_inner
def _move_walk(state: ParticleLearningState, a: int, p: int, x: Floats, reward: float) -> None:
    """Update the posterior of eta by a step of the Kalman filter."""
    error = _residual(state, a, p, x, reward)
    u = _direction(state, a, p, x)
    gain = _gain(state, a, p, u)
    variance = state.variances[a, p] + dot(u, gain)
    add(state.walk_means[a, p], gain, error / variance)
    for i in range(x.size):
        state.walk_spreads[a, p, i, i] += state.step
    add_outer(state.walk_spreads[a, p], gain, -1.0 / variance)


@jit_inner
def _add_sample(state: ParticleLearningState, a: int, p: int, z: Floats, reward: float) -> None:
    """Update the posterior of c, theta and the variance by a sample of the regression on z."""
    error = reward - dot(z, state.means[a, p])
    width = dot(z, multiply(state.spreads[a, p], z))
    state.scales[a, p] += error * error / (2 * (1 + width))
    add_to_inverse(state.spreads[a, p], z)
    add(state.targets[a, p], z, reward)
    copy(multiply(state.spreads[a, p], state.targets[a, p]), state.means[a, p])


STEPS[ParticleLearningState] = Steps(everything_with_a_draw, update, choose_action=choose_action)
