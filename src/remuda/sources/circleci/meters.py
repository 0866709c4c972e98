"""Prometheus metrics of CircleCI, shared by all sources of a process."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from remuda.model.times import SECOND, Instant


class CircleMeters:
    """Requests by what came of them, and how fresh the numbers of each class are."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "remuda_circleci_requests",
            "Requests to CircleCI, by call and outcome.",
            ["call", "outcome"],
            registry=registry,
        )
        self._stale = Gauge(
            "remuda_circleci_stale",
            "1 while CircleCI gives no good numbers for a class.",
            ["class"],
            registry=registry,
        )
        self._last_good = Gauge(
            "remuda_circleci_last_good_timestamp_seconds",
            "When CircleCI last gave good numbers for a class.",
            ["class"],
            registry=registry,
        )

    def asked(self, call: str, outcome: str) -> None:
        """Count a request."""
        self._requests.labels(call, outcome).inc()

    def show(self, job_class: str, good_at: Instant | None, *, is_stale: bool) -> None:
        """Set the gauges of a class."""
        self._stale.labels(job_class).set(1 if is_stale else 0)
        if good_at is not None:
            self._last_good.labels(job_class).set(good_at / SECOND)

    def forget(self, job_class: str) -> None:
        """Show nothing for a class: it is gone, or another replica cares for it."""
        for gauge in (self._stale, self._last_good):
            gauge.remove(job_class)
