"""Random numbers that depend only on the policy's seed, the case, the call and the purchase."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from thrifty.decider import FEATURES


class KeyedRandom:
    """One generator that is set anew for every call of every case.

    Philox is counter-based: its key is all it needs. So neither the order of the cases nor the
    process that decides makes a difference.

    >>> keyed = KeyedRandom(seed=1)
    >>> first = keyed.of("a", "features").random()
    >>> keyed.of("a", "action").random() == first, keyed.of("a", "features").random() == first
    (False, True)
    >>> keyed.of("a", "features", 1).random() == first
    False
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._bits = np.random.Philox(key=0)
        self._start = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def of(self, case: str, call: str, step: int = 0) -> np.random.Generator:
        """Return the generator of a call; it is good until the next one is asked for.

        Only purchases are numbered, since a case has one action. The first one has no number: so it
        was when there was but one.
        """
        which = f"{call}/{step}" if call == FEATURES and step else call
        key = blake2b(f"{self._seed}/{case}/{which}".encode(), digest_size=16).digest()
        self._start["state"]["key"] = np.frombuffer(key, dtype="<u8")
        self._bits.state = self._start
        return self._generator
