"""What every loop exports. One registry per process is handed in; there is no global one."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_ACTIONS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)


class LoopMeters:
    """The meters of one loop."""

    def __init__(self, name: str, metrics: "LoopMetrics") -> None:
        self.duration = metrics.duration.labels(name)
        self.lag = metrics.lag.labels(name)
        self.errors = metrics.errors.labels(name)
        self.overruns = metrics.overruns.labels(name)
        self.actions = metrics.actions.labels(name)
        self.last_success = metrics.last_success.labels(name)


class LoopMetrics:
    """The meters of all loops, labelled by loop."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.duration = Histogram(
            "remuda_loop_cycle_seconds", "How long a cycle took.", ["loop"], registry=registry
        )
        self.lag = Gauge(
            "remuda_loop_lag_seconds", "How late the last cycle began.", ["loop"], registry=registry
        )
        self.errors = Counter("remuda_loop_errors", "Cycles that failed.", ["loop"], registry=registry)
        self.overruns = Counter(
            "remuda_loop_overruns", "Cycles that took longer than the interval.", ["loop"], registry=registry
        )
        self.actions = Histogram(
            "remuda_loop_plan_actions", "Actions in a plan.", ["loop"], buckets=_ACTIONS, registry=registry
        )
        self.last_success = Gauge(
            "remuda_loop_last_success_timestamp_seconds",
            "When a cycle last succeeded.",
            ["loop"],
            registry=registry,
        )

    def of(self, name: str) -> LoopMeters:
        """The meters of one loop."""
        return LoopMeters(name, self)


class ConfigMeters:
    """Whether the configuration in force is the one in the files."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._is_loaded = Gauge(
            "remuda_config_last_reload_successful",
            "1 while the files are what is in force, 0 after a reload that was refused.",
            [],
            registry=registry,
        )
        self.reloaded(is_refused=False)

    def reloaded(self, *, is_refused: bool) -> None:
        """The files were read again; when they are refused, what was loaded before stays in force."""
        self._is_loaded.set(int(not is_refused))
