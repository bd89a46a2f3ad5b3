"""Short names for the arrays that kernels work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = Any
"""An observation set as a 64-bit number (numpy's, or Python's where compilation is off)."""

NONE = -1
"""Index that means: no such row."""
