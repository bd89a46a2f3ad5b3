"""The largest gain at each average spend, if plans are mixed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


class Point(NamedTuple):
    """What a plan spends and gains per case on average, in money."""

    spend: float
    gain: float


class Mix(NamedTuple):
    """Two neighbouring plans that together meet an average spend.

    Parameters
    ----------
    cheap, dear : int
        Positions of the plans in `Frontier.points`; the same if one plan is enough.
    share : float
        Share of the cases in which the dearer plan is followed.
    shadow_price : float
        What another unit of spend would gain, beyond the unit itself.
    """

    cheap: int
    dear: int
    share: float
    shadow_price: float


def upper_hull(points: Sequence[Point]) -> list[int]:
    """Return which points lie on the upper concave hull, as far as more spend gains more.

    Parameters
    ----------
    points : sequence of Point
        At least one point.

    Returns
    -------
    list of int
        Positions of the points, by increasing spend and gain.

    Examples
    --------
    >>> upper_hull([Point(0, 0), Point(1, 1), Point(2, 4), Point(4, 5), Point(5, 5)])
    [0, 2, 3]
    """
    hull: list[int] = []
    for k in sorted(range(len(points)), key=lambda k: (points[k].spend, -points[k].gain)):
        if hull and points[k].gain <= points[hull[-1]].gain:
            continue
        while len(hull) > 1 and _is_below(points[hull[-2]], points[hull[-1]], points[k]):
            hull.pop()
        hull.append(k)
    return hull


def _is_below(left: Point, middle: Point, right: Point) -> bool:
    """Return True if the middle point is not above the line between the others."""
    rise = (middle.gain - left.gain) * (right.spend - left.spend)
    return rise <= (right.gain - left.gain) * (middle.spend - left.spend)


@dataclass(frozen=True)
class Frontier:
    """The upper concave hull of the spend and gain of plans.

    Parameters
    ----------
    points : tuple of Point
        Corners of the hull, by increasing spend and gain.

    Examples
    --------
    >>> frontier = Frontier.of([Point(0, 0), Point(2, 6), Point(6, 10), Point(3, 5)])
    >>> frontier.points
    (Point(spend=0, gain=0), Point(spend=2, gain=6), Point(spend=6, gain=10))
    >>> frontier.mix(3.0)
    Mix(cheap=1, dear=2, share=0.25, shadow_price=1.0)
    >>> frontier.gain(3.0), frontier.gain(9.0)
    (7.0, 10.0)
    """

    points: tuple[Point, ...]

    @classmethod
    def of(cls, points: Iterable[Point]) -> Frontier:
        """Return the frontier of some plans.

        Parameters
        ----------
        points : iterable of Point
            What each plan spends and gains.

        Returns
        -------
        Frontier
            Their upper concave hull.
        """
        given = list(points)
        return cls(tuple(given[k] for k in upper_hull(given)))

    def mix(self, spend: float) -> Mix:
        """Return the plans to mix for an average spend.

        Parameters
        ----------
        spend : float
            Average spend per case.

        Returns
        -------
        Mix
            The neighbours around the spend. Beyond an end of the frontier it is the plan at that
            end; at the upper end the shadow price is 0.
        """
        last = len(self.points) - 1
        if spend >= self.points[last].spend:
            return Mix(last, last, 0.0, 0.0)
        dear = next(k for k, point in enumerate(self.points) if point.spend > spend)
        if dear == 0:
            return Mix(0, 0, 0.0, self._slope(0, 1) if last else 0.0)
        share = (spend - self.points[dear - 1].spend) / self._width(dear - 1, dear)
        return Mix(dear - 1, dear, share, self._slope(dear - 1, dear))

    def gain(self, spend: float) -> float:
        """Return the largest gain at an average spend.

        Parameters
        ----------
        spend : float
            Average spend per case, at least that of the cheapest plan.

        Returns
        -------
        float
            Gain per case.
        """
        mix = self.mix(spend)
        low, high = self.points[mix.cheap].gain, self.points[mix.dear].gain
        return low + mix.share * (high - low)

    def _width(self, cheap: int, dear: int) -> float:
        return self.points[dear].spend - self.points[cheap].spend

    def _slope(self, cheap: int, dear: int) -> float:
        return (self.points[dear].gain - self.points[cheap].gain) / self._width(cheap, dear)


def mixed(frontiers: Sequence[Frontier], weights: Sequence[float]) -> Frontier:
    """Return the frontier of cases of several kinds, each with its own frontier.

    The next unit is spent where it gains most.

    Parameters
    ----------
    frontiers : sequence of Frontier
        One for each kind of case.
    weights : sequence of float
        How frequent the kinds are.

    Returns
    -------
    Frontier
        Spend and gain per case over all kinds.

    Examples
    --------
    >>> steep = Frontier((Point(0, 0), Point(2, 8)))
    >>> flat = Frontier((Point(0, 1), Point(2, 3)))
    >>> mixed([flat, steep], [1, 1]).points
    (Point(spend=0.0, gain=0.5), Point(spend=1.0, gain=4.5), Point(spend=2.0, gain=5.5))
    """
    shares = [weight / sum(weights) for weight in weights]
    kinds = list(zip(frontiers, shares, strict=True))
    starts = [(frontier.points[0], share) for frontier, share in kinds]
    spend = sum(share * point.spend for point, share in starts)
    gain = sum(share * point.gain for point, share in starts)
    steps = [
        (share * (after.spend - before.spend), share * (after.gain - before.gain))
        for frontier, share in kinds
        for before, after in pairwise(frontier.points)
    ]
    points = [Point(spend, gain)]
    for more_spend, more_gain in sorted(steps, key=lambda step: -step[1] / step[0]):
        points.append(Point(points[-1].spend + more_spend, points[-1].gain + more_gain))
    return Frontier.of(points)
