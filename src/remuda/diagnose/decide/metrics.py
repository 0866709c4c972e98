"""Whether there is anything to size workloads by: Prometheus and its samples, metrics-server, recommender and VPA objects."""

from collections.abc import Iterator

from remuda.diagnose.decide.verdicts import Seen, counted, listed
from remuda.diagnose.measurements import LEAST_S, WHOLE_S, Component, Measurements
from remuda.model.checks import CheckResult

MEMORY, CPU = "container_memory_working_set_bytes", "container_cpu_usage_seconds_total"
REQUESTS = "kube_pod_container_resource_requests"
_GRANT = "remuda rbac diagnose metrics | kubectl apply -f -, and bind yourself to it"
_GIVE = "give the address of yours: remuda diagnose metrics --prometheus URL"


def judge_metrics(snapshot: Measurements) -> Iterator[CheckResult]:
    """What is wrong, the cause before what it causes."""
    return (
        check(snapshot)
        for check in (prometheus, samples, history, pods, metrics_server, recommender, advisors)
    )


def prometheus(snapshot: Measurements) -> CheckResult:
    """Whether it answers, and is up where it runs in the cluster."""
    seen = Seen("prometheus")
    for item in snapshot.prometheis:
        if item.ready < item.desired:
            seen.add(_short_of(item), _look_at(item))
    asked = snapshot.prometheus
    if asked is not None and asked.trouble:
        seen.add(f"{asked.url}: {asked.trouble}", f"curl -s {asked.url}/-/ready should say that it is ready")
        return seen.problem("Prometheus does not answer")
    if seen:
        return seen.problem("Prometheus is down, or a part of it")
    if asked is None:
        message = (
            "there is " + listed(str(item) for item in snapshot.prometheis) if snapshot.prometheis else ""
        )
        return seen.unknown("no Prometheus was asked", (message,) if message else (), (_GIVE,))
    if asked.down:
        for target in asked.down[:5]:
            seen.add(f"target {target} is down", "look at the targets page of Prometheus: it shows the error")
        return seen.problem(f"{counted(len(asked.down), 'target')} that measure containers cannot be scraped")
    return seen.ok(f"Prometheus {asked.version} answers", (asked.url,))


def samples(snapshot: Measurements) -> CheckResult:
    """Whether it has what is needed: use of CPU and memory by container, and what they request."""
    seen = Seen("samples")
    asked = snapshot.prometheus
    if asked is None or asked.trouble:
        return seen.unknown("Prometheus could not be asked")
    for metric in (MEMORY, CPU):
        if asked.series.get(metric):
            continue
        if reach := asked.reach.get(metric):
            seen.add(
                f"{metric} has no sample of the last five minutes, though samples go back {_long(reach)}: scraping has stopped",
                "look at the targets page of Prometheus: it shows since when the kubelets are not scraped, and why",
            )
        else:
            seen.add(
                f"there is no series of {metric}",
                "let Prometheus scrape /metrics/cadvisor of every kubelet; kube-prometheus-stack does by default",
            )
    if seen:
        return seen.problem(
            "use of containers is not measured any more"
            if all(asked.reach.get(metric) for metric in (MEMORY, CPU))
            else "use of containers is not measured"
        )
    lines = [f"{asked.series[metric]:,} series of {metric}" for metric in (MEMORY, CPU)]
    if not asked.series.get(REQUESTS):
        lines.append(
            f"no series of {REQUESTS}: without kube-state-metrics kills are known only as far as pods still show them"
        )
    return seen.ok("use of CPU and memory is measured", lines)


def history(snapshot: Measurements) -> CheckResult:
    """How far back samples go, and how much is missing."""
    seen = Seen("history")
    asked = snapshot.prometheus
    if asked is None or asked.trouble or not asked.reach.get(MEMORY):
        return seen.unknown("there are no samples to look back on")
    reach = min(asked.reach.get(metric, 0) for metric in (MEMORY, CPU))
    if reach < LEAST_S:
        seen.add(
            f"samples go back {_long(reach)}, and {_long(LEAST_S - reach)} are missing until recommendations are more than "
            f"provisional: an upper bound is {1 + LEAST_S / max(reach, 60):.1f} times what it will come to",
            "wait; where the retention is shorter than a day, raise --storage.tsdb.retention.time to 9d or more",
        )
        return seen.problem("there is less than a day of samples")
    if reach < WHOLE_S:
        return seen.ok(
            f"samples go back {_long(reach)}",
            (f"{_long(WHOLE_S - reach)} more will narrow the bounds: 8 days are looked at",),
        )
    return seen.ok("samples go back 8 days")


def pods(snapshot: Measurements) -> CheckResult:
    """Running pods that nobody measures."""
    seen = Seen("pods")
    asked = snapshot.prometheus
    if trouble := snapshot.unread.get("pods"):
        return seen.unknown("pods could not be read", (trouble,), (_GRANT,))
    if asked is None or asked.trouble or not asked.series.get(MEMORY):
        return seen.unknown("there are no samples to compare pods with")
    if not snapshot.pods:
        return seen.unknown("no pod has run for five minutes")
    missing = sorted(set(snapshot.pods) - set(asked.pods))
    if missing:
        seen.add(
            f"without samples: {listed(missing)}",
            "look whether their nodes' kubelets are among the targets, and whether a rule drops their series",
        )
        return seen.problem(f"{counted(len(missing), 'pod')} of {len(snapshot.pods)} have no samples")
    return seen.ok(f"{counted(len(snapshot.pods), 'running pod')} measured")


def metrics_server(snapshot: Measurements) -> CheckResult:
    """What `kubectl top`, the recommender and autoscalers read. With Prometheus nothing here depends on it."""
    seen = Seen("metrics-server")
    if trouble := snapshot.unread.get("apiservices"):
        return seen.unknown("the metrics API could not be looked at", (trouble,), (_GRANT,))
    for item in snapshot.servers:
        if item.ready < item.desired:
            seen.add(_short_of(item), _look_at(item))
    if snapshot.api is not None and snapshot.api.trouble:
        seen.add(
            f"APIService v1beta1.metrics.k8s.io is not available: {snapshot.api.trouble}",
            "kubectl describe apiservice v1beta1.metrics.k8s.io",
        )
    if seen:
        return seen.problem("metrics-server is down")
    if snapshot.api is not None:
        return seen.ok("the metrics API is served")
    if snapshot.advisors:
        seen.add(
            f"nothing serves metrics.k8s.io, and {counted(len(snapshot.advisors), 'VerticalPodAutoscaler')} would be fed by it",
            "install metrics-server",
        )
        return seen.problem("metrics-server is not installed")
    return seen.ok("metrics-server is not installed, and not needed: reviews ask Prometheus")


def recommender(snapshot: Measurements) -> CheckResult:
    """Who fills VPA objects. Reviews need none."""
    seen = Seen("recommender")
    if trouble := snapshot.unread.get("deployments"):
        return seen.unknown("Deployments could not be read", (trouble,), (_GRANT,))
    for item in snapshot.recommenders:
        if item.ready < item.desired or not item.desired:
            seen.add(_short_of(item), _look_at(item))
    if seen:
        return seen.problem("the recommender is down")
    if snapshot.recommenders:
        return seen.ok("the recommender runs")
    if snapshot.advisors:
        seen.add(
            f"no recommender fills {counted(len(snapshot.advisors), 'VerticalPodAutoscaler')}",
            "install the recommender, or delete these objects: a review with --prometheus needs neither",
        )
        return seen.problem("the recommender is not installed")
    return seen.ok("no recommender, and none is needed: reviews compute what it would say")


def advisors(snapshot: Measurements) -> CheckResult:
    """VPA objects: whether there are any, and whether they recommend."""
    seen = Seen("vpa-objects")
    if trouble := snapshot.unread.get("verticalpodautoscalers"):
        return seen.unknown("VerticalPodAutoscalers could not be read", (trouble,), (_GRANT,))
    is_asked = snapshot.prometheus is not None and not snapshot.prometheus.trouble
    if not snapshot.advisors:
        there = "the cluster does not know the kind" if snapshot.advisors is None else "there is none"
        if is_asked:
            return seen.ok("no VPA object, and none is needed: reviews ask Prometheus", (there,))
        seen.add(f"{there}, and no Prometheus was asked: a review has nothing to go by", _GIVE)
        return seen.problem("no VPA object")
    for item in snapshot.advisors:
        for condition, message in sorted(item.complaints.items()):
            seen.add(
                f"{item} for {item.target}: {condition}: {message or 'without a message'}",
                f"kubectl describe vpa {item.name} -n {item.namespace}",
            )
        if not item.has_recommendation and not item.complaints:
            seen.add(
                f"{item} for {item.target} has no recommendation yet",
                "see the check recommender; a new object waits a minute or two",
            )
    if seen:
        return seen.problem("VPA objects without a recommendation, or with a poor one")
    return seen.ok(f"{counted(len(snapshot.advisors), 'VPA object')} with a recommendation")


def _short_of(item: Component) -> str:
    return f"{item}: {item.ready} of {item.desired} ready" if item.desired else f"{item} is scaled to 0"


def _look_at(item: Component) -> str:
    return f"kubectl describe {item.kind.lower()} {item.name} -n {item.namespace}"


def _long(seconds: int) -> str:
    """A length of time as a person says it."""
    if seconds < 3600:
        return f"{max(0, round(seconds / 60))} minutes"
    if seconds < 2 * 86_400:
        return f"{seconds / 3600:.1f} hours"
    return f"{seconds / 86_400:.1f} days"
