"""Prometheus metrics: decisions, spend, rewards, delays, restarts, queue length and latency."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from thrifty.service.events import USES
from thrifty.service.projection import Projection
from thrifty.service.totals import LAGS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_STEPS = {"cases": "open", "observations": "observe", "reward": "reward", "abandon": "abandon"}


class RequestMetrics:
    """Metrics of the process: duration of requests, queue length, start time, readiness."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._latency = Histogram(
            "thrifty_request_seconds",
            "Duration of requests, by step and class of status.",
            ["step", "status"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self._series: dict[tuple[str, int], Any] = {}
        self.queue = Gauge(
            "thrifty_queue", "Requests waiting to be written.", registry=self.registry
        )
        self.started = Gauge(
            "thrifty_start_time_seconds", "Start time of the process.", registry=self.registry
        )
        self.ready = Gauge(
            "thrifty_ready", "1 if the service can write, else 0.", registry=self.registry
        )

    def record(self, scope: Mapping[str, Any], status: int, seconds: float) -> None:
        """Record the duration of a request."""
        step = _STEPS.get(scope["path"].rpartition("/")[2], "other")
        if scope["method"] == "GET":
            step = "read"
        labels = (step, status // 100)
        series = self._series.get(labels)
        if series is None:  # looking up labels takes longer than recording
            series = self._series[labels] = self._latency.labels(step, f"{status // 100}xx")
        series.observe(seconds)


def render_metrics(metrics: RequestMetrics, projections: Iterable[Projection]) -> bytes:
    """Return the metrics page, with the totals of these policies."""
    registry = CollectorRegistry()
    registry.register(_ProjectionCollector(list(projections)))
    return generate_latest(metrics.registry) + generate_latest(registry)


class _ProjectionCollector(Collector):
    """Turn the totals of policies into metrics."""

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
        uses = {f"rewarded {use}": use for use in USES}
        yield self._counter("thrifty_rewards", "Rewards by use.", "use", uses)
        yield self._counter(
            "thrifty_fits",
            "Fits of models, used or finished too late.",
            "how",
            {"fitted": "used", "fitted too late": "too late"},
        )
        yield self._gauge("thrifty_open_cases", "Open cases.", lambda policy: len(policy.cases))
        yield self._gauge(
            "thrifty_reward", "Sum of rewards learnt.", lambda policy: policy.totals.reward
        )
        yield self._gauge("thrifty_gain", "Rewards minus spend.", lambda policy: policy.totals.gain)
        yield self._features("thrifty_spend", "Spend by feature.", "spend_on")
        yield self._features("thrifty_purchases", "Values bought, by feature.", "purchases")
        yield self._features(
            "thrifty_unavailable", "Values that were unavailable, by feature.", "unavailable"
        )
        yield self._notices()
        yield self._lags()

    def _counter(self, name: str, text: str, label: str, kinds: Mapping[str, str]) -> Metric:
        family = CounterMetricFamily(name, text, labels=["policy", label])
        for projection in self.projections:
            for count, kind in kinds.items():
                family.add_metric([projection.spec.name, kind], projection.totals.counts[count])
        return family

    def _gauge(self, name: str, text: str, value: Callable[[Projection], float]) -> Metric:
        family = GaugeMetricFamily(name, text, labels=["policy", "unit"])
        for projection in self.projections:
            labels = [projection.spec.name, projection.spec.unit]
            family.add_metric(labels, value(projection))
        return family

    def _features(self, name: str, text: str, counter: str) -> Metric:
        family = CounterMetricFamily(name, text, labels=["policy", "feature"])
        for projection in self.projections:
            for feature in projection.spec.problem.features:
                count = getattr(projection.totals, counter)[feature.name]
                family.add_metric([projection.spec.name, feature.name], count)
        return family

    def _notices(self) -> Metric:
        family = CounterMetricFamily(
            "thrifty_noticed",
            "Changes that the policy detected, such as restarts and price alarms.",
            labels=["policy", "kind"],
        )
        for projection in self.projections:
            for kind in {"restart", "price alarm", *projection.totals.noticed}:
                family.add_metric([projection.spec.name, kind], projection.totals.noticed[kind])
        return family

    def _lags(self) -> Metric:
        family = HistogramMetricFamily(
            "thrifty_reward_lag_seconds", "Time from the action to its reward.", labels=["policy"]
        )
        for projection in self.projections:
            count, buckets = 0, []
            for end, more in zip((*LAGS, "+Inf"), projection.totals.lags, strict=True):
                count += more
                buckets.append((str(end), float(count)))
            family.add_metric([projection.spec.name], buckets, projection.totals.lag)
        return family
