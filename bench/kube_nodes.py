"""Many realistic nodes on a real server, and what the server sends of them, recorded."""

import asyncio
import random
from pathlib import Path
from typing import Any

import msgspec
from tests.kube.filling import fill
from tests.servers.cluster import Cluster

from bench.kube_work import PAGE
from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.resources import NODES
from remuda.loop.clock import SystemClock

NODE_COUNT, EVENTS = 10_000, 2_000


def fill_nodes(cluster: Cluster) -> None:
    """Store all nodes."""
    fill(cluster, "minions", (node(number) for number in range(NODE_COUNT)))


def node(number: int, generation: int = 1) -> dict[str, Any]:
    """A node as a cloud's kubelet and controllers leave it, about 8 KB."""
    name, zone = f"node-{number:05}.eu-central-1.compute.internal", "abc"[number % 3]
    amounts = {
        "cpu": "16",
        "ephemeral-storage": "209702892Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "64899580Ki",
        "pods": "234",
    }
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m6i.4xlarge",
        "topology.kubernetes.io/region": "eu-central-1",
        "topology.kubernetes.io/zone": f"eu-central-1{zone}",
        "topology.ebs.csi.aws.com/zone": f"eu-central-1{zone}",
        "example.com/pool": f"pool-{number % 40}",
        "example.com/team": f"team-{number % 7}",
        "example.com/capacity": "spot" if number % 4 else "on-demand",
    }
    annotations = {
        "csi.volume.kubernetes.io/nodeid": f'{{"ebs.csi.aws.com":"i-{number:017x}"}}',
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        "example.com/generation": str(generation),
    }
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": "2026-01-05T10:00:00Z",
            "lastTransitionTime": "2026-01-05T00:01:00Z",
            "reason": f"Kubelet{kind}",
            "message": f"kubelet says that {kind} is as it should be",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    registry = "602401143452.dkr.ecr.eu-central-1.amazonaws.com"
    images = [
        {
            "names": [
                f"{registry}/team-{i}/service-{i}@sha256:{(number * 7919 + i) % 2**256:064x}",
                f"{registry}/team-{i}/service-{i}:v1.{i}.0",
            ],
            "sizeBytes": 100_000_000 + i,
        }
        for i in range(17)
    ]
    owned: dict[str, Any] = {f"f:{key}": {} for key in labels}
    managed = [
        {
            "manager": "kubelet",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-05T10:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": owned}, "f:status": {f"f:{key}": {} for key in amounts}},
        }
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": annotations,
            "managedFields": managed,
        },
        "spec": {
            "podCIDR": f"10.{number // 256 % 256}.{number % 256}.0/24",
            "podCIDRs": [f"10.{number // 256 % 256}.{number % 256}.0/24"],
            "providerID": f"aws:///eu-central-1{zone}/i-{number:017x}",
            "taints": [{"key": "example.com/ci", "value": "true", "effect": "NoSchedule"}],
        },
        "status": {
            "capacity": amounts,
            "allocatable": {**amounts, "cpu": "15890m", "memory": "61628924Ki"},
            "conditions": conditions,
            "addresses": [
                {"type": "InternalIP", "address": f"10.0.{number // 256 % 256}.{number % 256}"},
                {"type": "Hostname", "address": name},
                {"type": "InternalDNS", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": f"{number:032x}",
                "systemUUID": f"{number:032x}",
                "bootID": f"{number:032x}",
                "kernelVersion": "6.1.102-108.177.amzn2023.x86_64",
                "osImage": "Amazon Linux 2023.5.20240805",
                "containerRuntimeVersion": "containerd://1.7.20",
                "kubeletVersion": "v1.34.1",
                "kubeProxyVersion": "v1.34.1",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
            "images": images,
        },
    }


class _Continued(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    token: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _Continued


async def record(cluster: Cluster, given: Path) -> int:
    """Keep the pages of a list, then events of changes, as the server sends them; the bytes of the pages."""
    clock = SystemClock()
    access = from_kubeconfig([given / "kubeconfig"], clock)
    async with Client(access, clock, random.Random(1)) as client:
        token, version, size, number = "", "", 0, 0
        while number == 0 or token:
            query = {"limit": str(PAGE)} | ({"continue": token} if token else {})
            page = await client.request("GET", NODES.path(), query=query, doing="listing", safe=True)
            (given / f"page-{number:03}").write_bytes(page)
            meta = msgspec.json.decode(page, type=_Page).metadata
            token, version = meta.token, meta.resource_version
            size, number = size + len(page), number + 1
        (given / "version").write_text(version)
        changed = [node(i, generation=2) for i in range(EVENTS)]
        await asyncio.to_thread(fill, cluster, "minions", changed, 1)
        seen = 0
        with (given / "lines").open("wb") as file:
            async with client.watch(NODES, version) as lines:
                async for line in lines:
                    file.write(line + b"\n")
                    seen += 1
                    if seen == EVENTS:
                        break
    return size
