"""The words of a RunnerPool about CircleCI, whose tasks it serves, and about KubeVirt, whose VMs serve them."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from remuda.model.times import HOUR, MINUTE, Duration
from remuda.objects.scalars import ObjectName, Url
from remuda.rules.instances import check_spec, empty_disks, mount_problems

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


class EmptyDiskMount(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An empty disk that is formatted at boot, gets what is at its path, and is mounted there."""

    serial: Annotated[str, Meta(description="The serial of the disk, as in the disks of the spec.")]
    path: Annotated[str, Meta(description="Where it is mounted, like /var/lib/docker.")]
    fs_type: Annotated[Literal["ext4", "xfs"], Meta(description="Its file system.")] = "ext4"


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
    # Both are left out unless said: a default would be a new template for every pool there is.
    grant_sudo: Annotated[
        bool | UnsetType,
        Meta(
            description="Whether jobs may become root in their VM. Root can read the resource class token; no by default."
        ),
    ] = UNSET
    empty_disk_mounts: Annotated[
        tuple[EmptyDiskMount, ...] | UnsetType,
        Meta(description="Which empty disks of the spec are formatted at boot, and where they are mounted."),
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
    if not isinstance(provider.empty_disk_mounts, UnsetType):
        yield from _check_mounts(provider.empty_disk_mounts, provider.spec)


def _check_mounts(
    mounts: tuple[EmptyDiskMount, ...], spec: dict[str, Any] | UnsetType
) -> Iterator[tuple[str, str]]:
    serials, paths = set[str](), set[str]()
    for index, mount in enumerate(mounts):
        at = f"spec.provider.kubevirt.emptyDiskMounts[{index}]"
        for problem in mount_problems(mount.serial, mount.path, mount.fs_type):
            yield at, problem
        if mount.serial in serials or mount.path in paths:
            yield at, "is said twice: a disk has one path, and a path one disk"
        elif not isinstance(spec, UnsetType) and mount.serial not in empty_disks(spec):
            yield (
                f"{at}.serial",
                f"no disk of the spec with the serial {mount.serial} has an emptyDisk volume",
            )
        serials.add(mount.serial)
        paths.add(mount.path)
