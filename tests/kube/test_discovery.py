"""Which versions a server has."""

import asyncio
from typing import Any

import pytest
from tests.kube.conftest import NewClient
from tests.kube.loopback import Asked, Loopback, Reply, failure, reply
from tests.servers.cluster import Cluster

from remuda.kube.client import Client
from remuda.kube.discovery import ServerVersion, find_resource, server_version
from remuda.kube.errors import KubeError
from remuda.kube.resources import CRDS, KubeObject, Resource


@pytest.mark.parametrize(
    ("version", "pair"),
    [
        pytest.param(ServerVersion("1", "34"), (1, 34), id="plain"),
        pytest.param(ServerVersion("1", "34+"), (1, 34), id="with a plus"),
        pytest.param(ServerVersion("v1", "x"), (1, 0), id="nonsense"),
        pytest.param(ServerVersion("", ""), (0, 0), id="nothing"),
        pytest.param(ServerVersion("1", "9" * 5_000), (1, 999_999_999), id="a number without end"),
    ],
)
def test_versions_can_be_compared(version: ServerVersion, pair: tuple[int, int]) -> None:
    assert version.pair == pair


def discovery(asked: Asked) -> Reply:
    """A group whose preferred version lacks what an older one has."""
    match asked.path:
        case "/apis/example.org":
            versions = [{"version": "v2"}, {"version": "v1"}, {"version": "v1beta1"}]
            return reply({"name": "example.org", "versions": versions, "preferredVersion": {"version": "v2"}})
        case "/apis/example.org/v2":
            return reply({"resources": [{"name": "cows", "kind": "Cow", "namespaced": False}]})
        case "/apis/example.org/v1":
            resources = [
                {"name": "cows", "kind": "Cow"},
                {"name": "bulls", "kind": "Bull"},
                {"name": "bulls/status"},
            ]
            return reply({"resources": resources})
        case "/apis/broken.org":
            return reply({"versions": 5})
    return failure(404, "NotFound")


async def test_the_preferred_version_that_has_it_is_found(new_client: NewClient) -> None:
    async with Loopback(discovery) as server:
        client = new_client(server.url)
        assert await find_resource(client, "example.org", "cows") == Resource(
            "example.org", "v2", "cows", "Cow", False
        )
        assert await find_resource(client, "example.org", "bulls") == Resource(
            "example.org", "v1", "bulls", "Bull"
        )
        assert await find_resource(client, "example.org", "calves") is None
        assert await find_resource(client, "nowhere.org", "cows") is None
        assert await find_resource(client, "", "pods") is None
        with pytest.raises(KubeError, match=r"discovering broken\.org: the answer cannot be read"):
            await find_resource(client, "broken.org", "cows")
        with pytest.raises(KubeError, match="asking for the server's version: 404"):
            await server_version(client)


def crd(*versions: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "metadata": {"name": "cows.ranch.example.org"},
        "spec": {
            "group": "ranch.example.org",
            "names": {"plural": "cows", "singular": "cow", "kind": "Cow"},
            "scope": "Namespaced",
            "versions": [
                {"name": name, "served": True, "storage": name == versions[0], "schema": schema}
                for name in versions
            ],
        },
    }


@pytest.mark.slow
async def test_a_real_server_is_asked(admin: Client, cluster: Cluster) -> None:
    assert (await server_version(admin)).pair >= (1, 34)
    assert await find_resource(admin, "", "nodes") == Resource("", "v1", "nodes", "Node", False)
    assert await find_resource(admin, "apps", "deployments") == Resource(
        "apps", "v1", "deployments", "Deployment"
    )
    assert await find_resource(admin, "apps", "cows") is None
    assert await find_resource(admin, "kubevirt.io", "virtualmachines") is None
    await admin.create(CRDS, crd("v1beta1", "v1", "v2alpha1"), KubeObject)
    try:
        found: list[Resource | None] = [None]
        for _ in range(600):
            found[0] = await find_resource(admin, "ranch.example.org", "cows")
            if found[0] is not None and found[0].version == "v1":
                break
            await asyncio.sleep(0.1)
        assert found[0] == Resource("ranch.example.org", "v1", "cows", "Cow")
    finally:
        await admin.delete(CRDS, "cows.ranch.example.org")
