"""The words of a RunnerPool about CircleCI, whose tasks it serves, and about KubeVirt, whose VMs serve them."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from remuda.model.times import HOUR, MINUTE, Duration
from remuda.objects.scalars import ObjectName, Url
from remuda.rules.instances import check_spec

CLOUD = Url("https://runner.circleci.com/")
#: a VM's name is its pool's, a dash and a number, and becomes a host name
_LONGEST_POOL_NAME = 50


class SecretKey(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One value of a Secret in the namespace of the pool."""

    secret: Annotated[ObjectName, Meta(description="The name of the Secret.")]
    key: Annotated[
        str, Meta(min_length=1, max_length=253, pattern="^[-._a-zA-Z0-9]+$", description="The key in it.")
    ]


class CircleciSource(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The tasks of a CircleCI resource class."""

    url: Annotated[
        Url, Meta(description="Where CircleCI's runner API is: the cloud's, or that of a CircleCI Server.")
    ] = CLOUD
    token: Annotated[
        SecretKey | UnsetType,
        Meta(
            description="The API token that may read the queue. CIRCLE_TOKEN of the environment by default."
        ),
    ] = UNSET
    plan_concurrency: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | UnsetType,
        Meta(
            description="Most tasks the organisation's plan runs at once, over all its pools: more machines would idle."
        ),
    ] = UNSET


class KubevirtProvider(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """VMs of KubeVirt in the namespace of the pool, made into CircleCI runners when they boot."""

    spec: Annotated[
        dict[str, Any] | UnsetType,
        Meta(
            description="A VirtualMachineInstanceSpec, passed on as it is; a cloud-init disk and volume are added."
        ),
    ] = UNSET
    token: Annotated[
        SecretKey | UnsetType, Meta(description="The resource class token runners claim tasks with.")
    ] = UNSET
    provisioner: Annotated[
        SecretKey | UnsetType,
        Meta(
            description="Spec, token and idle timeout from a Secret in the layout of Runner Provisioner 0.1.0 instead."
        ),
    ] = UNSET
    max_run_time: Annotated[
        Duration, Meta(description="Longest a task may run; a VM that must go is given so long to end it.")
    ] = Duration(5 * HOUR)
    bundle: Annotated[
        Annotated[str, Meta(min_length=1, max_length=512)] | UnsetType,
        Meta(
            description="A container disk with the runner's packages, so that nothing is downloaded at boot."
        ),
    ] = UNSET


def check_runner(name: str, job_class: str, provider: KubevirtProvider) -> Iterator[tuple[str, str]]:
    """Problems of a pool of CircleCI runners on KubeVirt."""
    if "/" not in job_class:
        yield "spec.class", f"CircleCI's classes have two parts, like my-org/{job_class}"
    if len(name) > _LONGEST_POOL_NAME:
        yield (
            "metadata.name",
            f"has {len(name)} characters: VMs are named after their pool, which leaves it {_LONGEST_POOL_NAME}",
        )
    if (provider.spec is UNSET) == (provider.provisioner is UNSET):
        yield "spec.provider.kubevirt", "wants exactly one of: spec, provisioner"
    if provider.spec is not UNSET and provider.token is UNSET:
        yield "spec.provider.kubevirt.token", "is missing: say which Secret holds the resource class token"
    if provider.provisioner is not UNSET and provider.token is not UNSET:
        yield "spec.provider.kubevirt.token", "is in the provisioner's Secret: leave it out here"
    if provider.max_run_time < MINUTE:
        yield "spec.provider.kubevirt.maxRunTime", "must be at least 1m"
    if not isinstance(provider.spec, UnsetType):
        for path, problem in check_spec(provider.spec):
            yield f"spec.provider.kubevirt.spec{path}", problem
