"""
RunnerDeployments and RunnerSets, the older forms of scale sets: what their runners are made of, and how many there may be.

Facts of actions-runner-controller (group actions.summerwind.dev): without an autoscaler there are `replicas`, 1 where
that is not said; one without a maximum is an error of its controller and changes nothing. Beside the container `runner`
runs `docker`, unless that is switched off or, in a RunnerDeployment, containers are listed.
"""

from typing import Literal, TypeAlias

from msgspec.structs import asdict, replace

from remuda.capacity import manifests
from remuda.capacity.snapshot import JOB_PODS, ScaleSet
from remuda.model.manifests import Resources

Older: TypeAlias = manifests.RunnerDeployment | manifests.RunnerSet
#: what their runners carry
DEPLOYMENT, RUNNER_SET = "runner-deployment-name", "runnerset-name"
_DEFAULT_REPLICAS = 1
_GITHUB = "https://github.com/"


def pod_of(spec: manifests.RunnerSpec) -> manifests.PlacedSpec:
    """The pod that the controller makes of a runner."""
    containers = spec.containers
    if not containers:
        containers = (manifests.RunnerContainer(name="runner"),)
        if spec.docker_enabled is not False and not spec.dockerd_within_runner_container:
            containers = (*containers, manifests.RunnerContainer(name="docker"))
    defaults = {"runner": spec.resources or Resources(), "docker": spec.dockerd_container_resources}
    known = {
        key: value for key, value in asdict(spec).items() if key in manifests.PlacedSpec.__struct_fields__
    }
    filled = tuple(_filled(each, defaults.get(each.name, Resources())) for each in containers)
    return manifests.PlacedSpec(
        **(known | {"containers": (*filled, *spec.sidecar_containers), "resources": None})
    )


def _pod_of_set(spec: manifests.RunnerSetSpec) -> manifests.PlacedSpec:
    """The pod of a RunnerSet's runner: its template, and the containers that the controller adds where they are missing."""
    containers = spec.template.spec.containers
    has_docker = spec.docker_enabled is not False and not spec.dockerd_within_runner_container
    for name in ("runner", "docker") if has_docker and spec.container_mode != "kubernetes" else ("runner",):
        if all(each.name != name for each in containers):
            containers = (*containers, manifests.RunnerContainer(name=name))
    return replace(spec.template.spec, containers=containers)


def _filled(container: manifests.RunnerContainer, defaults: Resources) -> manifests.RunnerContainer:
    own = container.resources
    resources = Resources(own.requests or defaults.requests, own.limits or defaults.limits)
    return replace(container, resources=resources)


def bounds_of(item: Older, autoscaler: manifests.RunnerAutoscaler | None) -> tuple[int, int]:
    """The least and the most runners."""
    replicas = _DEFAULT_REPLICAS if item.spec.replicas is None else item.spec.replicas
    if autoscaler is None or autoscaler.spec.max_replicas is None:
        return replicas, replicas
    least = autoscaler.spec.min_replicas
    return _DEFAULT_REPLICAS if least is None else least, autoscaler.spec.max_replicas


def _config(item: Older) -> manifests.RunnerSpec | manifests.RunnerSetSpec:
    return item.spec if isinstance(item, manifests.RunnerSet) else item.spec.template.spec


def kind_of(item: Older) -> Literal["RunnerDeployment", "RunnerSet"]:
    """Its kind, which objects of a typed list do not carry."""
    return "RunnerSet" if isinstance(item, manifests.RunnerSet) else "RunnerDeployment"


def as_scale_set(item: Older) -> manifests.ScaleSet:
    """The scale set that one of the older kinds comes to, but for its bounds."""
    spec = _config(item)
    owner = spec.repository or spec.organization or (spec.enterprise and f"enterprises/{spec.enterprise}")
    pod = _pod_of_set(item.spec) if isinstance(item, manifests.RunnerSet) else pod_of(item.spec.template.spec)
    template = manifests.Template(item.spec.template.metadata, pod)
    return manifests.ScaleSet(
        metadata=item.metadata,
        spec=manifests.ScaleSetSpec(
            github_config_url=owner and _GITHUB + owner,
            runner_scale_set_labels=spec.labels,
            template=template,
        ),
    )


def targeted(made: ScaleSet, item: Older, bounds: tuple[int, int]) -> ScaleSet:
    """A scale set as it is judged, with what differs: its own name is no label."""
    labels = _config(item).labels
    is_hooked = _config(item).container_mode == "kubernetes"
    return replace(
        made, kind=kind_of(item), labels=labels, own_labels=labels, min=bounds[0], max=bounds[1],
        unsure=(*made.unsure, JOB_PODS) if is_hooked else made.unsure,
    )  # fmt: skip
