"""`Schedule`: when means change, abruptly or gradually."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thrifty.environments.tables import increasing
from thrifty.errors import InvalidParameter, InvalidTable
from thrifty.parameters import Whole, check_parameter


@dataclass(frozen=True, init=False)
class Schedule:
    """The rounds in which one table of means is replaced by the next.

    Without a ramp, changes are abrupt. With a ramp, the means move from the old to the new table in
    equal steps, so they are piecewise constant and the truth of a world stays exact.

    Parameters
    ----------
    changes : sequence of int
        Change points: rounds, counted from 0, in which a change begins.
    ramp : int
        Number of rounds that a change takes. 0 means that it is abrupt.
    steps : int
        Number of intermediate tables on a ramp, at most one per round.

    Examples
    --------
    >>> piece, means = Schedule([2], ramp=3, steps=3).pieces(np.array([0.0, 0.4]), rounds=7)
    >>> means[piece].round(3).tolist()
    [0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.4]
    """

    changes: tuple[int, ...]
    ramp: int
    steps: int

    def __init__(self, changes: Sequence[int] = (), *, ramp: int = 0, steps: int = 10) -> None:
        check_parameter("ramp", ramp, Whole(0), owner="Schedule")
        check_parameter("steps", steps, Whole(1), owner="Schedule")
        points = increasing(changes)
        if points is None or (points and points[0] < 1):
            raise InvalidParameter(
                f"Schedule's changes are {changes!r}: a change point is the first round, counted "
                "from 0, with another mean, so give strictly increasing whole numbers from 1 on."
            )
        for earlier, later in pairwise(points):
            if earlier + ramp > later:
                raise InvalidParameter(
                    f"the ramp of {ramp} rounds from change point {earlier} on is not over when "
                    f"the next change begins at {later}: shorten the ramp or move the change."
                )
        object.__setattr__(self, "changes", points)
        object.__setattr__(self, "ramp", int(ramp))
        object.__setattr__(self, "steps", int(steps))

    def pieces(
        self, tables: NDArray[np.float64], rounds: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return which table of means applies in each round.

        Parameters
        ----------
        tables : array of float, shape (K, ...)
            One table for each period, that is one more than there are changes.
        rounds : int
            Number of rounds. A ramp may extend beyond the last round.

        Returns
        -------
        piece : array of int, shape (rounds,)
            Index into `means` for each round.
        means : array of float, shape (pieces, ...)
            The tables, including the intermediate ones of ramps.
        """
        if len(tables) != len(self.changes) + 1:
            raise InvalidTable(
                f"{len(tables)} tables of means for {len(self.changes)} changes: one applies "
                "before the first change and one after each, so give one more than there are "
                "changes."
            )
        if self.changes and self.changes[-1] >= rounds:
            raise InvalidParameter(
                f"Schedule's last change is at round {self.changes[-1]} and the last round is "
                f"{rounds - 1}: leave the change out or play longer."
            )
        starts, means = [0], [tables[0]]
        for change, (old, new) in zip(self.changes, pairwise(tables), strict=True):
            for after, share in self._ramp_steps():
                starts.append(change + after)
                means.append(old + share * (new - old) if share < 1 else new)
        piece = np.searchsorted(starts, np.arange(rounds), side="right") - 1
        return piece.astype(np.int64), np.stack(means)

    def _ramp_steps(self) -> list[tuple[int, float]]:
        """Return for each step its first round, from the change point on, and its share."""
        steps = min(self.steps, self.ramp)
        return [(self.ramp * k // max(steps, 1), (k + 1) / (steps + 1)) for k in range(steps + 1)]
