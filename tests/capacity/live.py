"""Guard rails in a real cluster: put there, tried out and taken away again."""

import asyncio
import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.capacity.builders import CAPABILITY, LABEL, decision, sized, written_set
from tests.capacity.controllers import SETS
from tests.processes import eventually
from tests.servers.cluster import Cluster
from tests.servers.loopback import Answer

from remuda.capacity.act import Applied, install
from remuda.capacity.decide.guards import Rendered
from remuda.jobs import JOBS
from remuda.kube.client import Client
from remuda.kube.config import find_access
from remuda.kube.rbac import cluster_role
from remuda.loop.clock import SystemClock

GUARDED = {
    "ceiling": 4,
    "forbiddenLabels": ["^acme-", "(?<!x)y"],
    "nodes": {
        "primary": CAPABILITY,
        "overflow": [
            {"node": "sting", "taints": ["overflow"], "envelopes": ["large"], "admitted": decision()}
        ],
    },
    "envelopes": [{"name": "large", "requests": sized("4", "32Gi", "24Gi")}],
    "sets": [
        {"name": "vm-test", "max": 2},
        {"name": "warm", "max": 2, "warmPool": decision(until="2026-12-01")},
        {"name": "was-warm", "max": 2, "warmPool": decision(until="2026-11-15")},
    ],
}
FULL = {
    "requests": sized("2", "8Gi"),
    "limits": sized("", "16Gi"),
    "maxRunners": 1,
    "minRunners": 0,
    "runnerScaleSetName": LABEL,
}


def new_place(cluster: Cluster) -> str:
    """A namespace in which the controllers have made the account that pods need."""
    name = f"test-{secrets.token_hex(5)}"
    assert cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
    path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    eventually(lambda: cluster.request("GET", path).status == 200, "the default account")
    return name


def put(cluster: Cluster, rendered: Rendered) -> tuple[Applied, ...]:
    async def apply() -> tuple[Applied, ...]:
        clock = SystemClock()
        access = find_access({"KUBECONFIG": str(cluster.kubeconfig())}, clock)
        async with Client(access, clock, random.Random(1)) as client:
            return await install(client, rendered.objects)

    return asyncio.run(apply())


def remove(cluster: Cluster, rendered: Rendered) -> None:
    for item in rendered.objects:
        where = ["-n", item["metadata"]["namespace"]] if "namespace" in item["metadata"] else []
        cluster.kubectl("delete", item["kind"], item["metadata"]["name"], "--ignore-not-found", *where)


@contextmanager
def installed(cluster: Cluster, rendered: Rendered) -> Iterator[None]:
    """The server judges by these rules meanwhile."""
    put(cluster, rendered)
    name = new_place(cluster)

    def is_judged() -> bool:
        return is_noticed(try_out(cluster, name, "probe", {"maxRunners": 99_999}))

    eventually(is_judged, "the rules")
    try:
        yield
    finally:
        remove(cluster, rendered)
        eventually(lambda: not is_judged(), "the rules' end")


def is_noticed(answer: Answer) -> bool:
    """Whether the rules had something to say."""
    return "CapacityPolicy kvm" in answer.text or any(
        "CapacityPolicy kvm" in warning for warning in answer.warnings
    )


def try_out(
    cluster: Cluster, namespace: str, name: str, words: dict[str, Any], *, dry: bool = True
) -> Answer:
    """Make a scale set, which the server only pretends to unless `dry` is false; it is right but for the words given."""
    given: dict[str, Any] = FULL | words
    body = written_set(name, namespace=namespace, **given)
    body["spec"] = {key: value for key, value in body["spec"].items() if value is not None}
    path = SETS.format(namespace) + ("?dryRun=All" if dry else "")
    return cluster.request("POST", path, body)


def bind(cluster: Cluster, user: str, command: str) -> None:
    """Give a user what `remuda rbac` prints for a command."""
    name = f"{user}-{secrets.token_hex(3)}"
    made = cluster_role(JOBS.permissions()[command], name, optional=True)
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }
    for plural, body in (("clusterroles", made), ("clusterrolebindings", binding)):
        assert cluster.request("POST", f"/apis/{group}/v1/{plural}", body).status == 201
