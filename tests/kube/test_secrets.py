"""Secrets followed by name at a real API server."""

import asyncio
import random
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from tests.kube.conftest import NewClient, eventually
from tests.providers.kubevirt.rig import goodbye
from tests.servers.cluster import Cluster

from remuda.errors import BadInput, Unavailable
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.secrets import Secrets, digest
from remuda.loop.clock import SystemClock

pytestmark = pytest.mark.slow
VALUE = "t0p-s3cret"


class Followed:
    """Secrets that are followed, and a hand that writes them."""

    def __init__(self, secrets: Secrets, cluster: Cluster, namespace: str, wakes: list[None]) -> None:
        self.secrets = secrets
        self.wakes = wakes
        self.cluster = cluster
        self._path = f"/api/v1/namespaces/{namespace}/secrets"

    def put(self, name: str, **values: bytes) -> None:
        data = {key: b64encode(value).decode() for key, value in values.items()}
        body: dict[str, Any] = {"metadata": {"name": name}, "data": data}
        answer = self.cluster.request("POST", self._path, body)
        if answer.status == 409:
            answer = self.cluster.request("PUT", f"{self._path}/{name}", body)
        assert answer.status in (200, 201), answer.text

    def delete(self, name: str) -> None:
        assert self.cluster.request("DELETE", f"{self._path}/{name}").status == 200

    def value(self, name: str = "runner", key: str = "token") -> str:
        """The value, or what is told instead."""
        try:
            return self.secrets.value(name, key)
        except (BadInput, Unavailable) as error:
            return f"{type(error).__name__}: {error}"


@pytest_asyncio.fixture
async def followed(
    cluster: Cluster, namespace: str, access_of: Callable[..., Access]
) -> AsyncIterator[Followed]:
    wakes, clock, rng = list[None](), SystemClock(), random.Random(1)
    async with Client(access_of(cluster), clock, rng) as client:
        secrets = Secrets(client, namespace, clock, rng, lambda: wakes.append(None))
        task = asyncio.create_task(secrets.run())
        yield Followed(secrets, cluster, namespace, wakes)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await goodbye()


async def test_a_value_is_read_and_read_again_when_it_changes(followed: Followed, namespace: str) -> None:
    followed.put("runner", token=VALUE.encode() + b"\n")
    assert (
        followed.value() == f"Unavailable: Secret {namespace}/runner is not read yet: it was just asked for"
    )
    await eventually(lambda: followed.value() == VALUE)
    before = followed.secrets.fingerprint("runner", "token")
    wakes = len(followed.wakes)
    followed.put("runner", token=b"new")
    await eventually(lambda: followed.value() == "new")
    assert len(followed.wakes) > wakes
    assert followed.secrets.fingerprint("runner", "token") != before
    assert VALUE not in before


async def test_what_is_missing_is_reported_with_the_command_that_makes_it(
    followed: Followed, namespace: str
) -> None:
    await eventually(lambda: "NoSecret" in followed.value())
    assert followed.value() == (
        f"NoSecret: there is no Secret runner in namespace {namespace}: "
        f"kubectl create secret generic runner -n {namespace} --from-file=token=FILE"
    )
    followed.put("runner", other=VALUE.encode())
    await eventually(lambda: "no key token (its keys: other)" in followed.value())
    assert "kubectl patch secret runner" in followed.value()
    assert VALUE not in followed.value()
    followed.put("runner", token=b"\xff" + VALUE.encode())
    await eventually(lambda: "is not text" in followed.value())
    assert VALUE not in followed.value()
    followed.put("runner", token=b"")
    await eventually(lambda: "is empty" in followed.value())
    followed.put("runner", token=VALUE.encode())
    await eventually(lambda: followed.value() == VALUE)
    followed.delete("runner")
    await eventually(lambda: "there is no Secret runner" in followed.value())


async def test_the_commands_that_are_printed_do_what_they_say(
    followed: Followed, namespace: str, tmp_path: Any
) -> None:
    (tmp_path / "FILE").write_text(VALUE + "\n")
    await eventually(lambda: "NoSecret" in followed.value())
    words = followed.value().partition("kubectl ")[2].replace("FILE", str(tmp_path / "FILE")).split()
    await asyncio.to_thread(followed.cluster.kubectl, *words)
    await eventually(lambda: followed.value() == VALUE)
    command = followed.value(key="more").partition("kubectl ")[2].replace("'", "").split()
    await asyncio.to_thread(followed.cluster.kubectl, *command)
    await eventually(lambda: followed.value(key="more") == "VALUE")


async def test_only_what_is_asked_for_is_followed(followed: Followed, namespace: str) -> None:
    followed.put("runner", token=VALUE.encode())
    await eventually(lambda: followed.value() == VALUE)
    assert not followed.secrets.is_tried("other")
    followed.secrets.keep(["other"])
    await eventually(lambda: followed.secrets.is_tried("other"))
    assert not followed.secrets.is_tried("runner")
    await eventually(lambda: followed.value() == VALUE)
    names = {
        item["requestURI"].partition("metadata.name%3D")[2].partition("&")[0]
        for item in followed.cluster.audit()
        if f"/{namespace}/secrets?" in item["requestURI"]
    }
    assert names == {"runner", "other"}


async def test_nothing_shown_holds_a_value(followed: Followed) -> None:
    followed.put("runner", token=VALUE.encode())
    await eventually(lambda: followed.value() == VALUE)
    cache = followed.secrets._caches["runner"]
    shown = repr(list(cache.objects.values())) + repr(vars(followed.secrets))
    assert VALUE not in shown
    assert b64encode(VALUE.encode()).decode() not in shown


async def test_a_server_that_does_not_answer_is_reported_as_trouble(
    namespace: str, new_client: NewClient
) -> None:
    secrets = Secrets(new_client("http://127.0.0.1:1"), namespace, SystemClock(), random.Random(1))
    secrets.follow("runner")
    task = asyncio.create_task(secrets.run())
    await eventually(lambda: secrets.is_tried("runner"))
    (message,) = secrets.trouble()
    assert "cannot connect" in message
    with pytest.raises(Unavailable, match="is not read yet: listing secrets"):
        secrets.value("runner", "token")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_digests_are_short_and_say_nothing_of_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert len(digest("x")) == 10
