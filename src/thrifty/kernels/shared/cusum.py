"""The CUSUM test for a change, of Page (1954)."""

from __future__ import annotations

from thrifty.kernels.runtime.compilation import jit_inner


@jit_inner
def add_to_cusum(total: float, evidence: float, slack: float) -> float:
    """Return the sum with one more piece of evidence, less the slack, and at least 0.

    Without a change the slack keeps the sum near 0. After a change it grows, and an alarm is due
    when it passes a threshold.
    """
    return max(0.0, total + evidence - slack)
