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
    """Return the matrix times x (numba's own dot needs scipy)."""
    out = np.zeros(x.size)
    for i in range(x.size):
        for j in range(x.size):
            out[i] += matrix[i, j] * x[j]
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
        for j in range(x.size):
            matrix[i, j] += weight * x[i] * x[j]


@jit_inner
def add_to_inverse(inverse: Floats, x: Floats) -> None:
    """Turn A^-1 into (A + x x')^-1 in place, by the formula of Sherman and Morrison."""
    y = multiply(inverse, x)
    add_outer(inverse, y, -1.0 / (1.0 + dot(x, y)))


@jit_inner
def invert(matrix: Floats) -> Floats:
    """Return the inverse of a symmetric positive definite matrix, by Gauss-Jordan elimination."""
    n = matrix.shape[0]
    work = matrix.copy()
    inverse = np.eye(n)
    for k in range(n):
        pivot = work[k, k]
        for j in range(n):
            work[k, j] /= pivot
            inverse[k, j] /= pivot
        for i in range(n):
            if i != k:
                factor = work[i, k]
                for j in range(n):
                    work[i, j] -= factor * work[k, j]
                    inverse[i, j] -= factor * inverse[k, j]
    return inverse


@jit_inner
def upper_bounds(inverses: Floats, thetas: Floats, x: Floats, alpha: float) -> Floats:
    """Return theta_a . x + alpha sqrt(x' A_a^-1 x) for every action a."""
    values = np.empty(thetas.shape[0])
    for a in range(values.size):
        width = dot(x, multiply(inverses[a], x))
        values[a] = dot(thetas[a], x) + alpha * np.sqrt(width)
    return values


@jit_inner
def lower_triangle(matrix: Floats) -> Floats:
    """Return L with L L' = the positive semidefinite matrix, by Cholesky's method.

    A column whose pivot is 0, or less by rounding, is 0.
    """
    n = matrix.shape[0]
    lower = np.zeros((n, n))
    for j in range(n):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= lower[j, k] * lower[j, k]
        if pivot > 0.0:
            root = math.sqrt(pivot)
            lower[j, j] = root
            for i in range(j + 1, n):
                rest = matrix[i, j]
                for k in range(j):
                    rest -= lower[i, k] * lower[j, k]
                lower[i, j] = rest / root
    return lower


@jit_inner
def draw_normal(mean: Floats, spread: Floats, scale: float, stream: Ints, out: Floats) -> None:
    """Write a draw from the normal distribution with this mean and covariance scale^2 spread."""
    lower = lower_triangle(spread)
    copy(mean, out)
    for j in range(mean.size):
        z = scale * normal(stream)
        for i in range(j, mean.size):
            out[i] += lower[i, j] * z
