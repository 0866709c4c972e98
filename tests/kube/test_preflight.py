"""What is asked of a cluster before anything is started in it."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from tests.kube.conftest import NewClient, Robot
from tests.kube.loopback import Asked, Loopback, Reply, failure, reply
from tests.servers.cluster import Cluster

from remuda.errors import BadInput
from remuda.jobs import JOBS
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.preflight import OLDEST, check
from remuda.kube.rbac import Rule
from remuda.kube.resources import CRDS, KubeObject

NEEDS = JOBS.permissions()

INSTALL = "remuda crds | kubectl apply --server-side -f -"
COW = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "color": {"type": "string"},
                "parts": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                },
            },
        },
        "status": {"type": "object", "properties": {"fed": {"type": "boolean"}}},
    },
}


def crd(version: str = "v1", schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """A kind of our own, so that tests on one server do not meet."""
    wanted = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or COW}}
    return {
        "metadata": {"name": "cows.herd.example.org"},
        "spec": {
            "group": "herd.example.org",
            "names": {"plural": "cows", "singular": "cow", "kind": "Cow"},
            "scope": "Namespaced",
            "versions": [wanted],
        },
    }


async def report_of(
    client: Client,
    *,
    needs: Iterable[Rule] = (),
    crds: Iterable[dict[str, Any]] = (),
    namespace: str = "ci",
) -> str:
    """What is told, or nothing."""
    try:
        await check(client, "up", tuple(needs), tuple(crds), namespace, moment=0.0)
    except BadInput as error:
        return str(error)
    return ""


def versioned(minor: str, git: str = "") -> Callable[[Asked], Reply]:
    """A server of a version, on which nobody but the version may be asked for."""

    def answer(asked: Asked) -> Reply:
        if asked.path == "/version":
            return reply({"major": "1", "minor": minor, "gitVersion": git})
        return failure(403, "Forbidden")

    return answer


def test_the_chart_asks_for_the_same_version() -> None:
    chart = yaml.safe_load((Path(__file__).parents[2] / "charts" / "remuda" / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={OLDEST[0]}.{OLDEST[1]}.0-0"


@pytest.mark.parametrize(
    ("minor", "refused"),
    [
        pytest.param("28", True, id="too old"),
        pytest.param("28+", True, id="too old with a plus"),
        pytest.param("29", False, id="the oldest"),
        pytest.param("40", False, id="new"),
    ],
)
async def test_a_cluster_that_is_too_old_is_refused(new_client: NewClient, minor: str, refused: bool) -> None:
    async with Loopback(versioned(minor, f"v1.{minor}.3")) as server:
        said = await report_of(new_client(server.url), needs=NEEDS["up"])
    expected = (
        f"the cluster is Kubernetes v1.{minor}.3, which is too old: upgrade it to 1.29 or newer"
        if refused
        else ""  # who may not ask what it may do is not refused for that
    )
    assert said == expected


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(
            failure(401, "Unauthorized"), "401 Unauthorized; fix or renew the credentials", id="unknown"
        ),
        pytest.param(
            reply(b"<html>", kind="text/html"), "an API server?; is it an API server?", id="some web server"
        ),
        pytest.param(
            reply(b"", "302 Found", Location="https://login"), "is it an API server?", id="a login page"
        ),
        pytest.param(reply(b"{"), "the answer cannot be read", id="half an answer"),
    ],
)
async def test_a_server_that_cannot_be_used_is_one_sentence(
    new_client: NewClient, answer: Reply, said: str
) -> None:
    async with Loopback([answer]) as server:
        sentence = await report_of(new_client(server.url))
        assert sentence.startswith(f"{server.url} cannot be used: asking for the server's version: ")
    assert said in sentence
    assert "\n" not in sentence


async def test_a_server_that_is_nowhere_is_reported_with_what_to_check(new_client: NewClient) -> None:
    assert await report_of(new_client("http://127.0.0.1:1", timeout=0.1)) == (
        "http://127.0.0.1:1 cannot be used: asking for the server's version: cannot connect to 127.0.0.1:1: "
        "Connection refused; check the address in the kubeconfig, and that the server is up"
    )


@pytest_asyncio.fixture
async def ranch(admin: Client) -> AsyncIterator[Client]:
    """A server on which a test may define cows."""
    yield admin
    await admin.delete(CRDS, "cows.herd.example.org")


async def comes_true(client: Client, said: str, **what: Any) -> None:
    """Definitions and permissions show a moment later."""
    seen = ""
    for _ in range(600):
        seen = await report_of(client, **what)
        if seen == said:
            return
        await asyncio.sleep(0.1)
    assert seen == said


@pytest.mark.slow
async def test_a_kind_that_is_missing_of_another_version_or_older_is_reported(ranch: Client) -> None:
    assert (
        await report_of(ranch, crds=[crd()])
        == f"the cluster knows no cows.herd.example.org: install them with {INSTALL}"
    )

    await ranch.create(CRDS, crd("v2"), KubeObject)
    await comes_true(
        ranch,
        "the cluster serves cows.herd.example.org as v2 and this remuda reads v1: "
        f"install its own with {INSTALL}, or use the remuda that the cluster's belong to",
        crds=[crd()],
    )
    await ranch.delete(CRDS, "cows.herd.example.org")
    await comes_true(
        ranch, f"the cluster knows no cows.herd.example.org: install them with {INSTALL}", crds=[crd()]
    )

    older = copy.deepcopy(COW)
    del older["properties"]["spec"]["properties"]["color"]  # type: ignore[index]
    del older["properties"]["spec"]["properties"]["parts"]["items"]["properties"]  # type: ignore[index]
    del older["properties"]["status"]  # type: ignore[attr-defined]
    await ranch.create(CRDS, crd(schema=older), KubeObject)
    await comes_true(
        ranch,
        "cows.herd.example.org in the cluster is older than this remuda and would drop "
        f"spec.color, spec.parts.name, status: update it with {INSTALL}",
        crds=[crd()],
    )
    newer = copy.deepcopy(COW)
    newer["properties"]["spec"]["properties"]["horns"] = {"type": "integer"}  # type: ignore[index]
    await ranch.apply(CRDS, crd(schema=newer), KubeObject, force=True)
    await comes_true(ranch, "", crds=[crd()])


@pytest.mark.slow
async def test_every_permission_that_is_missing_is_named(
    cluster: Cluster, namespace: str, new_robot: Callable[[str], Robot], new_client: NewClient,
    access_of: Callable[..., Access],
) -> None:  # fmt: skip
    robot = await asyncio.to_thread(new_robot, "eager")
    client = new_client(access_of(cluster, token=await asyncio.to_thread(robot.token)))
    what: dict[str, Any] = {"needs": NEEDS["up"], "namespace": namespace}
    needed = [rule for rule in NEEDS["up"] if not rule.is_optional]
    assert len(needed) < len(NEEDS["up"])

    def sentence(missing: list[str]) -> str:
        return (
            f"permissions are missing in namespace {namespace}: {', '.join(missing)}; grant them with "
            f"remuda rbac up --namespace {namespace} | kubectl apply -f - and a RoleBinding to it"
        )

    every = [(rule, item, verb) for rule in needed for item in rule.resources for verb in rule.verbs]
    names = [f"{verb} {item}{rule.group and '.'}{rule.group}" for rule, item, verb in every]
    assert "list runnerpools.remuda.dev" in names
    assert "create events" in names
    assert await report_of(client, **what) == sentence(names)

    await asyncio.to_thread(robot.permit, ("-", "pods", "get"))
    at = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/eager"
    for left_out in range(len(every)):
        rules = [
            Rule(rule.group, (item,), (verb,), rule.names).written()
            for number, (rule, item, verb) in enumerate(every)
            if number != left_out
        ]
        body = {"metadata": {"name": "eager"}, "rules": rules}
        answer = await asyncio.to_thread(cluster.request, "PUT", at, body)
        assert answer.status == 200, answer.text
        await comes_true(client, sentence([names[left_out]]), **what)
