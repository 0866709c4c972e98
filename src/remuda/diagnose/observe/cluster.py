"""
Reads a cluster into a `Snapshot`, and takes the secrets out of it.

Nothing is changed, and what cannot be read is reported in the snapshot, so that one missing permission costs one check. Values
of Secrets are looked at twice: to ask CircleCI with a token, and to find them in what others wrote. They are in no snapshot.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from remuda import __version__
from remuda.diagnose.manifests import pool_words
from remuda.diagnose.observe.devices import look_for_kvm
from remuda.diagnose.observe.masking import everywhere, log_masker, masker, values_in
from remuda.diagnose.snapshot import (
    COMPONENT,
    CONSOLE,
    Asked,
    Event,
    KubeVirt,
    Lead,
    Node,
    Permissions,
    Pool,
    PoolStatus,
    SecretKeys,
    Snapshot,
    Vm,
    Vmi,
    VmPool,
    Workload,
    instant,
)
from remuda.kube.client import Client
from remuda.kube.discovery import served, server_version
from remuda.kube.errors import KubeError, Missing
from remuda.kube.preflight import refused
from remuda.kube.rbac import LEASE, Rule
from remuda.kube.resources import (
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    RUNNER_POOLS,
    SECRETS,
    Resource,
)
from remuda.model.amounts import Amounts, asks_of
from remuda.model.pods import Meta, Pod
from remuda.model.times import Instant

T = TypeVar("T")
S = TypeVar("S", bound=Struct)

_VMS = Resource("kubevirt.io", "v1", "virtualmachines", "VirtualMachine")
_VMIS = Resource("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance")
_KUBEVIRTS = Resource("kubevirt.io", "v1", "kubevirts", "KubeVirt")
_POOLS = ("pool.kubevirt.io", "virtualmachinepools")
_APP = "app.kubernetes.io/name=remuda"
#: also of the job that installs it
_COMPONENTS = "kubevirt.io,kubevirt.io!=virt-launcher"
_LIVING = "status.phase!=Succeeded,status.phase!=Failed"
_CONSOLE_BYTES, _LOG_BYTES = 64 * 1024, 16 * 1024
#: consoles of this many guests of a pool are read, the newest first
_MOST_CONSOLES = 20
_AT_ONCE = 16
#: labels that checks read; a person's own are nobody's business
_LABELS = ("remuda.dev/", "kubevirt.io", "vm.kubevirt.io/", "app.kubernetes.io/")


class CircleCi(Protocol):
    """Asks CircleCI about a class; it never raises."""

    async def __call__(self, url: str, token: str, job_class: str) -> Asked:
        """What it says."""
        ...


class _Written(Struct, frozen=True):
    """A RunnerPool as it is served."""

    metadata: Meta = Meta()
    spec: dict[str, Any] = {}
    status: PoolStatus = PoolStatus()


class _Secret(Struct, frozen=True):
    data: dict[str, str] | None = None

    def __repr__(self) -> str:
        return "a Secret"


class _LeaseSpec(Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    renew_time: str | None = None


class _Lease(Struct, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


class Collector:
    """One look at a namespace and what it depends on. `progress` hears what is read next."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        circleci: CircleCi | None,
        progress: Callable[[str], None],
        controller_needs: Sequence[Rule] = (),
    ) -> None:
        """`controller_needs` is what the controller must be allowed to do."""
        self._controller_needs = controller_needs
        self._client = client
        self._namespace = namespace
        self._circleci = circleci
        self._progress = progress
        self._unread: dict[str, str] = {}
        self._values: dict[str, dict[str, str]] = {}
        self._listening = asyncio.Semaphore(_AT_ONCE)

    async def collect(self, at: Instant) -> Snapshot:
        """Everything the checks want. A server that does not answer at all is a `KubeError`."""
        self._progress("the server")
        version = await server_version(self._client)
        snapshot = Snapshot(at, self._namespace, __version__, version.git_version)
        snapshot = _with(snapshot, served=await self._discover())
        snapshot = await self._read_objects(snapshot)
        snapshot = await self._read_machines(snapshot)
        snapshot = await self._read_cluster(snapshot)
        snapshot = await self._read_devices(snapshot)
        snapshot = await self._read_secrets(snapshot)
        snapshot = await self._read_words(snapshot)
        return self._masked(_with(snapshot, unread=self._unread))

    # Reading

    async def _discover(self) -> dict[str, tuple[str, ...]]:
        self._progress("kinds")
        found: dict[str, tuple[str, ...]] = {}
        for group, plural in (
            (RUNNER_POOLS.group, RUNNER_POOLS.plural),
            (_VMS.group, _VMS.plural),
            (_VMS.group, _KUBEVIRTS.plural),
            _POOLS,
        ):
            versions = await self._try("discovery", self._versions(group, plural), None)
            if versions is not None:
                found[f"{plural}.{group}"] = versions
        return found

    async def _versions(self, group: str, plural: str) -> tuple[str, ...]:
        return tuple([found.version async for found in served(self._client, group, plural)])

    async def _read_objects(self, snapshot: Snapshot) -> Snapshot:
        self._progress("pools and the controller")
        written = await self._list(RUNNER_POOLS, _Written)
        deployments = await self._list(DEPLOYMENTS, Workload, labels=_APP)
        pods = await self._list(PODS, Pod)
        events = await self._list(EVENTS, Event, fields="type=Warning")
        lease = await self._try("leases", self._get(LEASES, LEASE, _Lease), None)
        lead = None
        if lease is not None:
            renewed = instant(lease.spec.renew_time) if lease.spec.renew_time else None
            lead = Lead(lease.spec.holder_identity or "", renewed)
        return _with(
            snapshot,
            pools=tuple(
                Pool(_trimmed(item.metadata), pool_words(item.spec), item.status) for item in written
            ),
            controllers=_lean(deployments),
            pods=_lean(pod for pod in pods if _is_read(pod.metadata.labels)),
            events=_lean(events),
            lead=lead,
            permissions=await self._ask_permissions(deployments, lead),
        )

    async def _ask_permissions(
        self, deployments: tuple[Workload, ...], lead: Lead | None
    ) -> Permissions | None:
        """What the controller may not do; where none is installed, what we may not who would start one."""
        accounts = {item.spec.template.spec.service_account_name or "default" for item in deployments}
        account = min(accounts, default=None)
        if "deployments" in self._unread:
            self._unread["permissions"] = "the controller is not known: " + self._unread["deployments"]
            return None
        if account is None and lead is not None:
            self._unread["permissions"] = (
                f"{lead.holder or 'whoever led'} is no Deployment of this namespace, so its account is not known"
            )
            return None
        try:
            missing = await refused(self._client, self._controller_needs, self._namespace, account)
        except KubeError as error:
            self._unread["permissions"] = str(error)
            return None
        return Permissions(f"ServiceAccount {account}" if account else "you, who ask,", tuple(missing))

    async def _read_machines(self, snapshot: Snapshot) -> Snapshot:
        self._progress("virtual machines")
        vm_pools: tuple[VmPool, ...] = ()
        if versions := snapshot.served.get(f"{_POOLS[1]}.{_POOLS[0]}"):
            resource = Resource(_POOLS[0], versions[0], _POOLS[1], "VirtualMachinePool")
            vm_pools = await self._list(resource, VmPool)
        return _with(
            snapshot,
            vms=_lean(await self._list(_VMS, Vm)),
            vmis=_lean(await self._list(_VMIS, Vmi)),
            vm_pools=_lean(vm_pools),
        )

    async def _read_cluster(self, snapshot: Snapshot) -> Snapshot:
        self._progress("nodes and KubeVirt")
        deployments, handlers, pods, nodes, kubevirts, living = await asyncio.gather(
            self._list(DEPLOYMENTS, Workload, "kubevirt deployments", labels=COMPONENT, is_wide=True),
            self._list(DAEMON_SETS, Workload, labels=f"{COMPONENT}=virt-handler", is_wide=True),
            self._list(PODS, Pod, "kubevirt pods", labels=_COMPONENTS, is_wide=True),
            self._list(NODES, Node, is_wide=True),
            self._list(_KUBEVIRTS, KubeVirt, is_wide=True),
            self._list(PODS, Pod, "all pods", fields=_LIVING, is_wide=True),
        )
        return _with(
            snapshot,
            components=_lean(deployments),
            handlers=_lean(handlers),
            component_pods=_lean(pods),
            nodes=nodes,
            kubevirts=_lean(kubevirts),
            taken=None if "all pods" in self._unread else _taken(living),
        )

    async def _read_devices(self, snapshot: Snapshot) -> Snapshot:
        self._progress("/dev/kvm")
        return _with(snapshot, devices=await look_for_kvm(self._client, snapshot))

    async def _read_secrets(self, snapshot: Snapshot) -> Snapshot:
        self._progress("names of keys in Secrets")
        found: dict[str, SecretKeys] = {}
        for name in sorted(_secret_names(snapshot)):
            try:
                read = await self._get(SECRETS, name, _Secret)
            except Missing:
                continue
            except KubeError as error:
                self._unread["secrets"] = str(error)
                continue
            data = self._values[name] = read.data or {}
            found[name] = SecretKeys(tuple(sorted(data)), tuple(sorted(key for key in data if not data[key])))
        return _with(snapshot, secrets=found)

    async def _read_words(self, snapshot: Snapshot) -> Snapshot:
        """What guests, controllers and CircleCI say."""
        self._progress("consoles")
        guests = list(_newest_guests(snapshot))
        texts = await asyncio.gather(
            *(self._log(pod, CONSOLE, _CONSOLE_BYTES, f"console of {vm.name}") for vm, pod in guests)
        )
        consoles = {vm.name: text for (vm, _), text in zip(guests, texts, strict=True) if text is not None}
        logs: dict[str, str] = {}
        for pod in snapshot.pods:
            if pod.metadata.labels.get("app.kubernetes.io/name") == "remuda" and not pod.is_ready:
                for container in pod.spec.containers[:1]:
                    text = await self._log(pod, container.name, _LOG_BYTES, f"log of {pod.name}")
                    logs |= {pod.name: text} if text is not None else {}
        return _with(snapshot, consoles=consoles, logs=logs, asked=await self._ask_circleci(snapshot))

    async def _ask_circleci(self, snapshot: Snapshot) -> dict[str, Asked]:
        asked: dict[str, Asked] = {}
        for pool in snapshot.pools:
            words = pool.words.circleci
            if self._circleci is None or words is None or words.token is None:
                continue
            encoded = self._values.get(words.token.secret, {}).get(words.token.key)
            token = next(values_in(encoded), "") if encoded else ""
            if token:
                self._progress(f"CircleCI about {pool.words.class_}")
                asked[pool.name] = await self._circleci(words.url, token, pool.words.class_)
        return asked

    # How

    async def _try(self, what: str, reading: Awaitable[T], default: T) -> T:
        try:
            return await reading
        except Missing:
            return default
        except KubeError as error:
            self._unread[what] = str(error)
            return default

    async def _get(self, resource: Resource, name: str, kind: type[T]) -> T:
        return await self._client.get(resource, name, kind, self._namespace)

    async def _list(
        self,
        resource: Resource,
        kind: type[T],
        what: str = "",
        *,
        is_wide: bool = False,
        labels: str | None = None,
        fields: str | None = None,
    ) -> tuple[T, ...]:
        """All objects of our namespace, or of all of them; none where the kind is not known."""
        where = None if is_wide else self._namespace
        reading = self._client.list(resource, kind, where, labels=labels, fields=fields)
        found = await self._try(what or resource.plural, reading, None)
        return tuple(found.items) if found is not None else ()

    async def _log(self, pod: Pod, container: str, most: int, what: str) -> str | None:
        try:
            async with self._listening:
                data = await self._client.pod_log(pod.name, self._namespace, container, most=most)
        except KubeError as error:
            self._unread[what] = str(error)
            return None
        text = data.decode(errors="replace")
        # What is cut off could be the half of a secret, which nobody would know for one.
        return text.partition("\n")[2] if len(data) == most else text

    def _masked(self, snapshot: Snapshot) -> Snapshot:
        public = {self._namespace, *snapshot.secrets, *(node.name for node in snapshot.nodes)}
        for pool in snapshot.pools:
            public |= {pool.name, pool.words.class_, *pool.words.class_.split("/")}
            public |= (
                {pool.words.circleci.url, pool.words.circleci.url.rstrip("/")}
                if pool.words.circleci
                else set()
            )
        secrets = {
            value
            for data in self._values.values()
            for encoded in data.values()
            for value in values_in(encoded)
            if value not in public
        }
        in_logs = log_masker(secrets)
        spoken = _with(
            snapshot,
            consoles={name: in_logs(text) for name, text in snapshot.consoles.items()},
            logs={name: in_logs(text) for name, text in snapshot.logs.items()},
        )
        return msgspec.convert(everywhere(msgspec.to_builtins(spoken), masker(secrets)), Snapshot)


def _with(snapshot: Snapshot, **fields: Any) -> Snapshot:
    return msgspec.structs.replace(snapshot, **fields)


def _trimmed(meta: Meta) -> Meta:
    labels = {key: value for key, value in meta.labels.items() if key.startswith(_LABELS)}
    return msgspec.structs.replace(meta, labels=labels)


def _lean(items: Iterable[S]) -> tuple[S, ...]:
    """Objects with the labels that are read; those of nodes are kept whole, since pods select by them."""
    return tuple(msgspec.structs.replace(item, metadata=_trimmed(item.metadata)) for item in items)  # type: ignore[attr-defined]


def _is_read(labels: dict[str, str]) -> bool:
    return labels.get("app.kubernetes.io/name") == "remuda" or labels.get(COMPONENT) == "virt-launcher"


def _taken(pods: Iterable[Pod]) -> dict[str, Amounts]:
    taken: dict[str, Amounts] = {}
    for pod in pods:
        if pod.spec.node_name:
            on_node = taken.setdefault(pod.spec.node_name, {})
            for name, value in asks_of(pod.spec).items():
                on_node[name] = on_node.get(name, 0) + value
    return taken


def _secret_names(snapshot: Snapshot) -> set[str]:
    """Every Secret that something refers to."""
    names = {item.name for pod in snapshot.pods for item in pod.spec.image_pull_secrets}
    for pool in snapshot.pools:
        vms, circleci = pool.words.vms, pool.words.circleci
        refs = (circleci and circleci.token, vms and vms.token, vms and vms.provisioner)
        names |= {ref.secret for ref in refs if ref}
    for deployment in snapshot.controllers:
        for container in deployment.spec.template.spec.containers:
            names |= {item.secret_ref.name for item in container.env_from if item.secret_ref}
            names |= {
                item.value_from.secret_key_ref.name
                for item in container.env
                if item.value_from and item.value_from.secret_key_ref
            }
    return {name for name in names if name}


def _newest_guests(snapshot: Snapshot) -> Iterable[tuple[Vm, Pod]]:
    guests, launchers = snapshot.guests(), snapshot.launchers()
    for pool in snapshot.pools:
        vms = sorted(snapshot.vms_of(pool.name), key=lambda vm: vm.metadata.creation_timestamp, reverse=True)
        own = ((vm, guests[vm.metadata.uid]) for vm in vms if vm.metadata.uid in guests)
        found = ((vm, launchers.get(vmi.metadata.uid)) for vm, vmi in own)
        running = [(vm, pod) for vm, pod in found if pod is not None and pod.spec.node_name]
        yield from running[:_MOST_CONSOLES]
