"""Seeds: all randomness comes from `numpy.random.SeedSequence`."""

from __future__ import annotations

import numbers

import numpy as np

from thrifty.errors import InvalidParameter

Seed = int | np.random.SeedSequence | np.random.Generator | None


def generator(seed: Seed) -> np.random.Generator:
    """Return the random generator of a seed.

    >>> generator(7).random() == generator(7).random()
    True
    >>> generator(-1)
    Traceback (most recent call last):
        ...
    thrifty.errors.InvalidParameter: seed is -1: a seed is a whole number of at least 0, a \
SeedSequence, a Generator or None.
    """
    if isinstance(seed, bool) or not (
        seed is None
        or isinstance(seed, np.random.SeedSequence | np.random.Generator)
        or (isinstance(seed, numbers.Integral) and seed >= 0)
    ):
        raise InvalidParameter(
            f"seed is {seed!r}: a seed is a whole number of at least 0, a SeedSequence, "
            "a Generator or None."
        )
    return np.random.default_rng(seed)


def policy_seed(seed: int) -> np.random.SeedSequence:
    """Return the seed of the policy in the run with this seed."""
    return np.random.SeedSequence(seed).spawn(2)[0]


def policy_generator(seed: Seed) -> np.random.Generator:
    """Return the random generator of a policy.

    An integer is replaced by its `policy_seed`, so `UCB1(problem, seed=3)` draws the same numbers
    as `simulate(..., seeds=[3])`.
    """
    drawn = generator(seed)
    if isinstance(seed, numbers.Integral):
        return np.random.default_rng(policy_seed(int(seed)))
    return drawn


def environment_seed(seed: int) -> np.random.SeedSequence:
    """Return the seed of the environment in the run with this seed, the same for every policy."""
    return np.random.SeedSequence(seed).spawn(2)[1]
