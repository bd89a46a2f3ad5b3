"""Ridge regression with an identity prior, one sample at a time."""

from __future__ import annotations

import math

import numpy as np

from thrifty.kernels.runtime.arrays import Floats, Ints
from thrifty.kernels.runtime.compilation import jit_inner
from thrifty.kernels.shared.variates import normal


@jit_inner
def encode(codes: Ints, places: Ints, size: int) -> Floats:
    """Return the vector x of a partial state; features that were not observed are 0.

    With `places` empty the codes themselves, counted from 1; else a 1 at places[i] + code.
    """
    x = np.zeros(size)
    for i in range(codes.size):
        if codes[i] >= 0:
            if places.size == 0:
                x[i] = codes[i] + 1
            else:
                x[places[i] + codes[i]] = 1.0
    return x


@jit_inner
def multiply(matrix: Floats, x: Floats) -> Floats:
    """Return the matrix times x (numba's own dot needs scipy).

    Entries of 0 are left out, because x mostly consists of indicators. Columns come one after
    another, so that the sums do not wait for each other.
    """
    out = np.zeros(x.size)
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                out[i] += matrix[i, j] * x[j]
    return out


@jit_inner
def multiply_symmetric(matrix: Floats, x: Floats) -> Floats:
    """Return the symmetric matrix times x, from its rows, which lie side by side in memory."""
    out = np.zeros(x.size)
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                out[i] += matrix[j, i] * x[j]
    return out


@jit_inner
def copy(source: Floats, target: Floats) -> None:
    """Write the source, a vector or a matrix, into the target (slices compile slowly)."""
    for k in range(source.size):
        target.flat[k] = source.flat[k]


@jit_inner
def add(target: Floats, x: Floats, weight: float) -> None:
    """Add weight x to the target in place."""
    for i in range(x.size):
        target[i] += weight * x[i]


@jit_inner
def dot(x: Floats, y: Floats) -> float:
    """Return the scalar product."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@jit_inner
def add_outer(matrix: Floats, x: Floats, weight: float) -> None:
    """Add weight x x' to the matrix in place."""
    for i in range(x.size):
        if x[i] != 0.0:
            for j in range(x.size):
                matrix[i, j] += weight * x[i] * x[j]


@jit_inner
def add_to_inverse(inverse: Floats, x: Floats) -> None:
    """Turn A^-1 into (A + x x')^-1 in place, by the formula of Sherman and Morrison."""
    y = multiply(inverse, x)
    add_outer(inverse, y, -1.0 / (1.0 + dot(x, y)))


@jit_inner
def take_from_inverse(inverse: Floats, x: Floats) -> None:
    """Turn A^-1 into (A - x x')^-1 in place; A must contain the sample x."""
    y = multiply(inverse, x)
    add_outer(inverse, y, 1.0 / (1.0 - dot(x, y)))


@jit_inner
def add_sample(inverse: Floats, target: Floats, theta: Floats, x: Floats, reward: float) -> None:
    """Add a sample to one regression: A += x x', b += r x, theta = A^-1 b."""
    add_to_inverse(inverse, x)
    add(target, x, reward)
    copy(multiply(inverse, target), theta)


@jit_inner
def take_sample(inverse: Floats, target: Floats, theta: Floats, x: Floats, reward: float) -> None:
    """Remove a sample from one regression: A -= x x', b -= r x, theta = A^-1 b."""
    take_from_inverse(inverse, x)
    add(target, x, -reward)
    copy(multiply(inverse, target), theta)


@jit_inner
def width_of(inverse: Floats, x: Floats) -> float:
    """Return sqrt(x' A^-1 x)."""
    total = 0.0
    for i in range(x.size):
        if x[i] != 0.0:
            row = 0.0
            for j in range(x.size):
                if x[j] != 0.0:
                    row += inverse[i, j] * x[j]
            total += x[i] * row
    return math.sqrt(max(0.0, total))


@jit_inner
def reset(inverse: Floats, target: Floats, theta: Floats) -> None:
    """Return one regression to its start: A = I, b = 0."""
    for i in range(theta.size):
        target[i] = theta[i] = 0.0
        for j in range(theta.size):
            inverse[i, j] = 1.0 if i == j else 0.0


@jit_inner
def invert(matrix: Floats) -> Floats:
    """Return the inverse of a symmetric positive definite matrix, by Gauss-Jordan elimination.

    The elimination runs in place and on the lower triangle, a quarter of the usual work.
    """
    n = matrix.shape[0]
    inverse = matrix.copy()
    column = np.empty(n)
    for k in range(n):
        pivot = inverse[k, k]
        for i in range(n):
            column[i] = inverse[max(i, k), min(i, k)]
        column[k] = 0.0
        for i in range(n):
            factor = column[i] / pivot
            for j in range(i + 1):
                inverse[i, j] -= factor * column[j]
        for i in range(n):
            inverse[max(i, k), min(i, k)] = column[i] / pivot
        inverse[k, k] = -1.0 / pivot
    for i in range(n):
        for j in range(i + 1):
            inverse[i, j] = inverse[j, i] = -inverse[i, j]
    return inverse


@jit_inner
def upper_bounds(inverses: Floats, thetas: Floats, x: Floats, alpha: float) -> Floats:
    """Return theta_a . x + alpha sqrt(x' A_a^-1 x) for every action a."""
    values = np.empty(thetas.shape[0])
    for a in range(values.size):
        values[a] = dot(thetas[a], x) + alpha * width_of(inverses[a], x)
    return values


@jit_inner
def radius_of(noise: float, dimension: int, samples: int, delta: float) -> float:
    """Return sigma^2 sqrt(d log(1 + n / delta)) + 1, the radius of a ridge regression's error.

    This is alpha_t of Wu, Iyer and Wang (2018) with an identity prior.
    """
    return noise * noise * math.sqrt(dimension * math.log(1.0 + samples / delta)) + 1.0


@jit_inner
def upper_triangle(matrix: Floats) -> Floats:
    """Return U with U' U = the positive semidefinite matrix, by Cholesky's method.

    A row whose pivot is 0, or less by rounding, is 0.
    """
    n = matrix.shape[0]
    upper = np.zeros((n, n))
    row = np.empty(n)
    for j in range(n):
        for i in range(j, n):
            row[i] = matrix[i, j]
        for k in range(j):
            factor = upper[k, j]
            for i in range(n):  # more than needed, but several at a time
                row[i] -= factor * upper[k, i]
        if row[j] > 0.0:
            root = math.sqrt(row[j])
            for i in range(j, n):
                upper[j, i] = row[i] / root
    return upper


@jit_inner
def draw_normal(mean: Floats, spread: Floats, scale: float, stream: Ints, out: Floats) -> None:
    """Write a draw from the normal distribution with this mean and covariance scale^2 spread."""
    upper = upper_triangle(spread)
    copy(mean, out)
    for j in range(mean.size):
        z = scale * normal(stream)
        for i in range(j, mean.size):
            out[i] += upper[j, i] * z
