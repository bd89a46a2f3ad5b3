"""Random numbers that depend on nothing but the policy's seed and the case."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

FEATURES, ACTION, UPDATE = "features", "action", "update"


class Keyed:
    """One generator, set anew for every step of every case.

    Philox is counter-based: its key is all it needs. Neither the order of the cases nor the process
    that decides makes any difference.

    >>> keyed = Keyed(seed=1)
    >>> first = keyed.of("a", FEATURES).random()
    >>> keyed.of("a", ACTION).random() == first, keyed.of("a", FEATURES).random() == first
    (False, True)
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._bits = np.random.Philox(key=0)
        self._start = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def of(self, case: str, step: str) -> np.random.Generator:
        """Return the generator of a step; it is good until the next one is asked for."""
        key = blake2b(f"{self._seed}/{case}/{step}".encode(), digest_size=16).digest()
        self._start["state"]["key"] = np.frombuffer(key, dtype="<u8")
        self._bits.state = self._start
        return self._generator
