"""Where the pod template of a kind of workload is."""

from msgspec import Struct


class Template(Struct, frozen=True):
    """Where the pods of a kind are described."""

    api_version: str
    #: keys down to the pod's spec
    path: tuple[str, ...] = ("spec", "template", "spec")
    #: whether a server lets the template of one that is there be changed
    is_changeable: bool = True
    #: whether Kustomize knows how lists of it are merged; else it would replace all containers
    is_merged: bool = True


KINDS = {
    "Deployment": Template("apps/v1"),
    "StatefulSet": Template("apps/v1"),
    "DaemonSet": Template("apps/v1"),
    "ReplicaSet": Template("apps/v1"),
    "CronJob": Template("batch/v1", ("spec", "jobTemplate", "spec", "template", "spec")),
    "Job": Template("batch/v1", is_changeable=False),
    "Rollout": Template("argoproj.io/v1alpha1", is_merged=False),
    "DeploymentConfig": Template("apps.openshift.io/v1", is_merged=False),
    "Pod": Template("v1", ("spec",), is_changeable=False),
}


def unknown(kind: str) -> str:
    """Why there is no patch for other kinds."""
    return f"where a {kind} has its containers is not known, only of {', '.join(KINDS)}; try another form"
