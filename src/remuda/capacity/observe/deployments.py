"""
RunnerDeployments, the older form of scale sets: what their runners are made of, and how many there may be.

Facts of actions-runner-controller (group actions.summerwind.dev): without an autoscaler there are `replicas`, 1 where
that is not said; one without a maximum is an error of its controller and changes nothing. Beside the container `runner`
runs `docker`, unless that is switched off or containers are listed.
"""

from msgspec.structs import asdict, replace

from remuda.capacity import manifests
from remuda.capacity.snapshot import JOB_PODS, ScaleSet
from remuda.model.manifests import Resources

#: what its runners carry
DEPLOYMENT = "runner-deployment-name"
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


def _filled(container: manifests.RunnerContainer, defaults: Resources) -> manifests.RunnerContainer:
    own = container.resources
    resources = Resources(own.requests or defaults.requests, own.limits or defaults.limits)
    return replace(container, resources=resources)


def bounds_of(
    item: manifests.RunnerDeployment, autoscaler: manifests.RunnerAutoscaler | None
) -> tuple[int, int]:
    """The least and the most runners."""
    replicas = _DEFAULT_REPLICAS if item.spec.replicas is None else item.spec.replicas
    if autoscaler is None or autoscaler.spec.max_replicas is None:
        return replicas, replicas
    least = autoscaler.spec.min_replicas
    return _DEFAULT_REPLICAS if least is None else least, autoscaler.spec.max_replicas


def as_scale_set(item: manifests.RunnerDeployment) -> manifests.ScaleSet:
    """The scale set that a RunnerDeployment comes to, but for its bounds."""
    spec = item.spec.template.spec
    owner = spec.repository or spec.organization or (spec.enterprise and f"enterprises/{spec.enterprise}")
    template = manifests.Template(item.spec.template.metadata, pod_of(spec))
    return manifests.ScaleSet(
        metadata=item.metadata,
        spec=manifests.ScaleSetSpec(
            github_config_url=owner and _GITHUB + owner,
            runner_scale_set_labels=spec.labels,
            template=template,
        ),
    )


def targeted(made: ScaleSet, item: manifests.RunnerDeployment, bounds: tuple[int, int]) -> ScaleSet:
    """A scale set as it is judged, with what differs: its own name is no label."""
    labels = item.spec.template.spec.labels
    is_hooked = item.spec.template.spec.container_mode == "kubernetes"
    return replace(
        made, kind="RunnerDeployment", labels=labels, own_labels=labels, min=bounds[0], max=bounds[1],
        unsure=(*made.unsure, JOB_PODS) if is_hooked else made.unsure,
    )  # fmt: skip
