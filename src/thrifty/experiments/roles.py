"""Roles of policies in a comparison with the paper."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Part that a policy plays in a comparison with the paper.

    The paper's claims and the report select policies by role, never by label.
    """

    PROGRAM = "program"
    """NCC-UCRL2 as in the authors' program."""
    TEXT = "text"
    """NCC-UCRL2 as in the paper's text alone."""
    SIMPLEX = "simplex"
    """The program with the text's window and ties, and q in the simplex."""
    BENCHMARK = "benchmark"
    """A policy that the paper compares NCC-UCRL2 with."""
    LATER_BENCHMARK = "later-benchmark"
    """A policy that the authors added to their program after the paper."""
    TUNED = "tuned"
    """A policy with the parameters that a grid search found."""
