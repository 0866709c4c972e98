"""
Files of `kubectl get -o json` or `-o yaml` to a `Snapshot`.

Nothing here raises for what a file holds: what is wrong becomes problems, all at once.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from remuda.model.times import Instant
from remuda.objects.dumps import Dumps, FilesRead, Form
from remuda.rightsize import manifests
from remuda.rightsize.observe.faults import faults
from remuda.rightsize.observe.gather import Gathering
from remuda.rightsize.snapshot import Snapshot, Unknown

#: what makes pods; without any there is nothing to size
WORKLOADS: Final = "workloads"


def read_files(
    paths: Iterable[str | Path], now: Instant, stdin: BinaryIO | None = None
) -> FilesRead[Snapshot]:
    """Read files, directories (their *.json, *.yaml and *.yml) and `-`, which is standard input."""
    gathering = Gathering()
    reading = Dumps(FORMS, gathering, now, "right-sizing", guess=FORMS["Pod"])
    source = reading.read_all(paths, stdin)
    snapshot = gathering.snapshot(source, now, _unknown(reading.met))
    return reading.result(snapshot)


def _form(
    kind: str, api_versions: tuple[str, ...], type_: type[Struct], add: Callable[[Gathering, Any], bool]
) -> Form[Gathering]:
    return Form(
        kind,
        api_versions,
        type_,
        lambda into, item, _, __: add(into, item),
        msgspec.json.Decoder(type_).decode,
        faults=faults,
    )


_ARGO, _OPENSHIFT, _STRIMZI = (
    ("argoproj.io/v1alpha1",),
    ("apps.openshift.io/v1",),
    ("core.strimzi.io/v1beta2", "core.strimzi.io/v1"),
)
_CORE, _APPS, _BATCH = ("v1",), ("apps/v1",), ("batch/v1",)
_SCALING = ("autoscaling/v2", "autoscaling/v1")
_ADVISING = ("autoscaling.k8s.io/v1", "autoscaling.k8s.io/v1beta2")
FORMS: Final = {
    form.kind: form
    for form in (
        _form("Deployment", _APPS, manifests.Deployment, Gathering.add_deployment),
        _form("StatefulSet", _APPS, manifests.Replicated, Gathering.add_stateful_set),
        _form("DaemonSet", _APPS, manifests.DaemonSet, Gathering.add_daemon_set),
        _form("ReplicaSet", _APPS, manifests.Replicated, Gathering.add_replica_set),
        _form("CronJob", _BATCH, manifests.CronJob, Gathering.add_cron_job),
        _form("Job", _BATCH, manifests.Job, Gathering.add_job),
        _form("Rollout", _ARGO, manifests.Rollout, Gathering.add_rollout),
        _form("DeploymentConfig", _OPENSHIFT, manifests.DeploymentConfig, Gathering.add_deployment_config),
        _form("ReplicationController", _CORE, manifests.Replicated, Gathering.add_replication_controller),
        _form("StrimziPodSet", _STRIMZI, manifests.PodSet, Gathering.add_pod_set),
        _form("Pod", _CORE, manifests.Pod, Gathering.add_pod),
        _form("Namespace", _CORE, manifests.Namespace, Gathering.add_namespace),
        _form("LimitRange", _CORE, manifests.LimitRange, Gathering.add_limit_range),
        _form("ResourceQuota", _CORE, manifests.Quota, Gathering.add_quota),
        _form("HorizontalPodAutoscaler", _SCALING, manifests.Autoscaler, Gathering.add_autoscaler),
        _form("VerticalPodAutoscaler", _ADVISING, manifests.Advisor, Gathering.add_advisor),
    )
}
_MAKERS: Final = frozenset(FORMS) - {
    "Pod", "Namespace", "LimitRange", "ResourceQuota", "HorizontalPodAutoscaler", "VerticalPodAutoscaler",
}  # fmt: skip


def _unknown(met: set[str]) -> Iterator[Unknown]:
    """What no file speaks of; nobody need have a VerticalPodAutoscaler."""
    if not _MAKERS & met:
        words = "add what `kubectl get deployments,statefulsets,daemonsets,cronjobs -A -o json` prints"
        yield Unknown(WORKLOADS, f"no file holds any: {words}")
    for part, kind, what in (
        ("pods", "Pod", "pods -A"),
        ("namespaces", "Namespace", "namespaces"),
        ("limitranges", "LimitRange", "limitranges -A"),
        ("resourcequotas", "ResourceQuota", "resourcequotas -A"),
        ("horizontalpodautoscalers", "HorizontalPodAutoscaler", "horizontalpodautoscalers -A"),
    ):
        if kind not in met:
            words = f"add what `kubectl get {what} -o json` prints"
            yield Unknown(part, f"no file holds any: if there are some, {words}")
