"""Independent random streams, one for each thing that an environment draws."""

from __future__ import annotations

import numpy as np

from thrifty.seeds import Seed, environment_seed, generator


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """Return the seed sequence of an environment.

    An integer is replaced by its `environment_seed`, so an environment and a policy with the same
    seed never share a stream. A Generator is asked for entropy: the next call gives another
    sequence.

    >>> seed_sequence(7).spawn_key == environment_seed(7).spawn_key
    True
    """
    source = generator(seed)
    if seed is None:
        return np.random.SeedSequence()
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(source.integers(0, 2**63, size=4).tolist())
    return environment_seed(int(seed))


def streams(seed: Seed, number: int) -> tuple[np.random.Generator, ...]:
    """Return `number` independent generators, the same ones for the same seed.

    >>> [stream.random() for stream in streams(7, 2)] == [s.random() for s in streams(7, 2)]
    True
    """
    parent = seed_sequence(seed)
    # Not parent.spawn, which counts its children: the next call would give other streams.
    return tuple(
        np.random.default_rng(
            np.random.SeedSequence(
                parent.entropy, spawn_key=(*parent.spawn_key, k), pool_size=parent.pool_size
            )
        )
        for k in range(number)
    )
