"""Random numbers that depend only on the policy's seed, the case, the call and the purchase."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from thrifty.decider import FEATURES


class KeyedRandom:
    """A generator that is seeded again for every call of every case.

    Philox is counter-based, so its key determines all of its numbers. A decision therefore depends
    neither on the order of the cases nor on the process that makes it.

    >>> random = KeyedRandom(seed=1)
    >>> first = random.generator("a", "features").random()
    >>> random.generator("a", "action").random() == first
    False
    >>> random.generator("a", "features").random() == first
    True
    >>> random.generator("a", "features", 1).random() == first
    False
    """

    def __init__(self, seed: int, stream: str = "") -> None:
        self._seed = f"{seed}/{stream}" if stream else f"{seed}"
        self._bits = np.random.Philox(key=0)
        self._start = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def generator(self, case: str, call: str, step: int = 0) -> np.random.Generator:
        """Return the generator of a call; it is valid until the next call of this method.

        Only purchases are numbered, because a case has one action. The first purchase has no
        number, for compatibility with release 0.1, where a case had only one purchase.
        """
        name = f"{call}/{step}" if call == FEATURES and step else call
        key = blake2b(f"{self._seed}/{case}/{name}".encode(), digest_size=16).digest()
        self._start["state"]["key"] = np.frombuffer(key, dtype="<u8")
        self._bits.state = self._start
        return self._generator
