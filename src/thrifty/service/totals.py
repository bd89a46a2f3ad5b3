"""Running totals of a policy, in bounded memory."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LAGS = (1.0, 10.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0)
"""Upper bounds of the histogram of reward delays, in seconds; one more class has the rest."""
_RECENT, _LATE, _NOTICES = 200, 20, 100


@dataclass
class TimeSeries:
    """Sums over equal intervals of time; if there are too many, neighbours are merged.

    >>> series = TimeSeries(max_buckets=2)
    >>> for at in (0, 1_000_000, 2_000_000):
    ...     series.add(at, spend=1.0)
    >>> series.width, [(bucket["start"], bucket["spend"]) for bucket in series.rows()]
    (2000000, [(0, 2.0), (2000000, 1.0)])
    """

    max_buckets: int = 240
    width: int = 1_000_000
    buckets: dict[int, list[float]] = field(default_factory=dict)

    COLUMNS = ("opened", "acted", "learnt", "reward", "spend")

    def add(self, at: int, **amounts: float) -> None:
        """Add amounts to the interval of a time."""
        place = at // self.width
        bucket = self.buckets.get(place)
        if bucket is None:
            bucket = self.buckets[place] = [0.0] * len(self.COLUMNS)
        for name, amount in amounts.items():
            bucket[self.COLUMNS.index(name)] += amount
        while len(self.buckets) > self.max_buckets:
            self._merge()

    def _merge(self) -> None:
        merged: dict[int, list[float]] = {}
        for place in sorted(self.buckets):
            into = merged.setdefault(place // 2, [0.0] * len(self.COLUMNS))
            for k, amount in enumerate(self.buckets[place]):
                into[k] += amount
        self.width, self.buckets = 2 * self.width, merged

    def rows(self) -> list[dict[str, float]]:
        """Return the intervals in order, as dicts."""
        return [
            {
                "start": place * self.width,
                **dict(zip(self.COLUMNS, self.buckets[place], strict=True)),
            }
            for place in sorted(self.buckets)
        ]

    def to_list(self) -> list[Any]:
        """Return JSON values; `from_list` reverses it."""
        return [self.max_buckets, self.width, [[k, *self.buckets[k]] for k in sorted(self.buckets)]]

    @classmethod
    def from_list(cls, plain: list[Any]) -> TimeSeries:
        """Rebuild from what `to_list` returned."""
        max_buckets, width, rows = plain
        return cls(max_buckets, width, {int(row[0]): list(row[1:]) for row in rows})


@dataclass
class Totals:
    """Totals for the dashboard and the metrics; a part of the projection."""

    counts: Counter[str] = field(default_factory=Counter)
    reward: float = 0.0
    spend: float = 0.0
    lag: float = 0.0
    lags: list[int] = field(default_factory=lambda: [0] * (len(LAGS) + 1))
    purchases: Counter[str] = field(default_factory=Counter)
    unavailable: Counter[str] = field(default_factory=Counter)
    spend_on: Counter[str] = field(default_factory=Counter)
    series: TimeSeries = field(default_factory=TimeSeries)
    recent: deque[tuple[str, ...]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    late: deque[str] = field(default_factory=lambda: deque(maxlen=_LATE))
    noticed: Counter[str] = field(default_factory=Counter)
    notices: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_NOTICES))
    looked: int = 0

    @property
    def gain(self) -> float:
        """Reward minus spend."""
        return self.reward - self.spend

    def opened(self, at: int) -> None:
        """Count an opened case."""
        self.counts["opened"] += 1
        self.series.add(at, opened=1)

    def acted(self, at: int) -> None:
        """Count an action."""
        self.counts["acted"] += 1
        self.series.add(at, acted=1)

    def bought(self, at: int, body: Mapping[str, Any]) -> None:
        """Count a purchase and its costs."""
        spent = 0.0
        for name, cost in body["costs"].items():
            self.spend_on[name] += cost
            spent += cost
        self.purchases.update(body["values"].keys())
        self.unavailable.update(body["unavailable"])
        self.spend += spent
        self.series.add(at, spend=spent)

    def waited(self, seconds: float) -> None:
        """Count the delay of a reward."""
        self.lag += seconds
        self.lags[bisect_left(LAGS, seconds)] += 1

    def learnt(self, at: int, reward: float) -> None:
        """Count a reward that was learnt."""
        self.counts["learnt"] += 1
        self.reward += reward
        self.series.add(at, learnt=1, reward=reward)

    @property
    def set_in_use(self) -> list[str] | None:
        """The features that were bought together most often in the latest cases."""
        if not self.recent:
            return None
        return list(Counter(self.recent).most_common(1)[0][0])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values; `from_dict` reverses it."""
        return {
            "counts": dict(self.counts),
            "reward": self.reward,
            "spend": self.spend,
            "lag": self.lag,
            "lags": list(self.lags),
            "bought": dict(self.purchases),
            "unavailable": dict(self.unavailable),
            "spend_on": dict(self.spend_on),
            "series": self.series.to_list(),
            "recent": [list(names) for names in self.recent],
            "late": list(self.late),
            "noticed": dict(self.noticed),
            "notices": list(self.notices),
            "looked": self.looked,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Totals:
        """Rebuild from what `to_dict` returned."""
        return cls(
            counts=Counter(plain["counts"]),
            reward=plain["reward"],
            spend=plain["spend"],
            lag=plain["lag"],
            lags=list(plain["lags"]),
            purchases=Counter(plain["bought"]),
            unavailable=Counter(plain["unavailable"]),
            spend_on=Counter(plain["spend_on"]),
            series=TimeSeries.from_list(plain["series"]),
            recent=deque(map(tuple, plain["recent"]), maxlen=_RECENT),
            late=deque(plain["late"], maxlen=_LATE),
            noticed=Counter(plain["noticed"]),
            notices=deque(plain["notices"], maxlen=_NOTICES),
            looked=plain["looked"],
        )
