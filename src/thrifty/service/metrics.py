"""Metrics for Prometheus: decisions, spend, rewards and their lag, restarts, queue, latency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from thrifty.service.projection import Projection
from thrifty.service.totals import LAGS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_STEPS = {"cases": "open", "observations": "observe", "reward": "reward", "abandon": "abandon"}


class RequestMetrics:
    """Measures the process itself: how long answers take, and how many wait to be written."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._latency = Histogram(
            "thrifty_request_seconds",
            "How long requests took, by step and class of status.",
            ["step", "status"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self._series: dict[tuple[str, int], Any] = {}
        self.queue = Gauge(
            "thrifty_queue", "Requests that wait to be written.", registry=self.registry
        )
        self.started = Gauge(
            "thrifty_start_time_seconds", "When the process started.", registry=self.registry
        )
        self.ready = Gauge("thrifty_ready", "1 if it can write.", registry=self.registry)

    def answered(self, scope: Mapping[str, Any], status: int, seconds: float) -> None:
        """Note an answer."""
        step = _STEPS.get(scope["path"].rpartition("/")[2], "other")
        if scope["method"] == "GET":
            step = "read"
        place = (step, status // 100)
        series = self._series.get(place)
        if series is None:
            series = self._series[place] = self._latency.labels(step, f"{status // 100}xx")
        series.observe(seconds)


def rendered(meter: RequestMetrics, projections: Iterable[Projection]) -> bytes:
    """Return the page, with the totals of these projections."""
    registry = CollectorRegistry()
    registry.register(_ProjectionCollector(list(projections)))
    return generate_latest(meter.registry) + generate_latest(registry)


class _ProjectionCollector(Collector):
    """Turns totals into metrics when they are asked for."""

    def __init__(self, projections: list[Projection]) -> None:
        self.projections = projections

    def collect(self) -> Iterator[Metric]:
        """Yield every metric of every policy."""
        yield self._counter(
            "thrifty_decisions",
            "Decisions by kind.",
            "kind",
            {"opened": "buy", "bought more": "buy more", "acted": "act"},
        )
        yield self._counter(
            "thrifty_cases_ended",
            "Cases closed without a reward.",
            "how",
            {"abandoned": "abandoned", "expired": "expired"},
        )
        yield self._counter("thrifty_learnt", "Rounds learnt.", "how", {"learnt": "learnt"})
        uses = ("learnt", "noted", "extra", "late", "late-learnt")
        yield self._counter(
            "thrifty_rewards", "Rewards by use.", "use", {f"rewarded {use}": use for use in uses}
        )
        yield self._gauge(
            "thrifty_open_cases", "Cases open.", lambda projection: len(projection.cases)
        )
        yield self._gauge(
            "thrifty_reward", "Sum of rewards learnt.", lambda projection: projection.totals.reward
        )
        yield self._gauge(
            "thrifty_gain", "Rewards minus spend.", lambda projection: projection.totals.gain
        )
        yield self._features("thrifty_spend", "Spend by feature.", "spend_on")
        yield self._features("thrifty_purchases", "Values bought, by feature.", "purchases")
        yield self._features(
            "thrifty_unavailable", "Values that could not be had, by feature.", "unavailable"
        )
        yield self._noticed()
        yield self._lags()

    def _counter(self, name: str, text: str, label: str, kinds: Mapping[str, str]) -> Metric:
        family = CounterMetricFamily(name, text, labels=["policy", label])
        for projection in self.projections:
            for count, kind in kinds.items():
                family.add_metric([projection.spec.name, kind], projection.totals.counts[count])
        return family

    def _gauge(self, name: str, text: str, value: Any) -> Metric:
        family = GaugeMetricFamily(name, text, labels=["policy", "unit"])
        for projection in self.projections:
            family.add_metric([projection.spec.name, projection.spec.unit], value(projection))
        return family

    def _features(self, name: str, text: str, counter: str) -> Metric:
        family = CounterMetricFamily(name, text, labels=["policy", "feature"])
        for projection in self.projections:
            for feature in projection.spec.problem.features:
                count = getattr(projection.totals, counter)[feature.name]
                family.add_metric([projection.spec.name, feature.name], count)
        return family

    def _noticed(self) -> Metric:
        family = CounterMetricFamily(
            "thrifty_noticed",
            "Restarts, price alarms and the like that the policy noticed.",
            labels=["policy", "kind"],
        )
        for projection in self.projections:
            for kind in {"restart", "price alarm", *projection.totals.noticed}:
                family.add_metric([projection.spec.name, kind], projection.totals.noticed[kind])
        return family

    def _lags(self) -> Metric:
        family = HistogramMetricFamily(
            "thrifty_reward_lag_seconds", "From the action to its reward.", labels=["policy"]
        )
        for projection in self.projections:
            sums, buckets = 0, []
            for end, count in zip((*LAGS, "+Inf"), projection.totals.lags, strict=True):
                sums += count
                buckets.append((str(end), float(sums)))
            family.add_metric([projection.spec.name], buckets, projection.totals.lag)
        return family
