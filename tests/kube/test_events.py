"""Events: told once, then counted."""

from typing import Any

import pytest
from msgspec import Struct, field
from tests.kube.conftest import SetClock
from tests.servers.cluster import Cluster

from remuda.kube.client import Client
from remuda.kube.events import Events
from remuda.kube.resources import CONFIG_MAPS, EVENTS, NAMESPACES, KubeObject
from remuda.model.times import MINUTE

pytestmark = pytest.mark.slow


class Involved(Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""


class Event(KubeObject, frozen=True, gc=False, rename="camel"):
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int = 0
    #: null in what newer parts of Kubernetes tell
    first_timestamp: str | None = ""
    last_timestamp: str | None = ""
    involved_object: Involved = field(default_factory=Involved)


async def events_in(client: Client, namespace: str) -> list[Event]:
    return (await client.list(EVENTS, Event, namespace)).items


async def about(client: Client, namespace: str) -> KubeObject:
    body: dict[str, Any] = {"metadata": {"name": "settings"}}
    return await client.create(CONFIG_MAPS, body, KubeObject, namespace)


async def test_the_same_event_again_is_counted_and_another_is_another(admin: Client, namespace: str) -> None:
    clock = SetClock()
    events, thing = Events(admin, clock), await about(admin, namespace)
    for _ in range(3):
        await events.record(thing, CONFIG_MAPS, "Refused", "not today", warning=True)
        clock.wall += MINUTE
    await events.record(thing, CONFIG_MAPS, "Accepted", "well")
    first, second = sorted(await events_in(admin, namespace), key=lambda event: event.reason, reverse=True)
    assert (first.reason, first.message, first.type, first.count) == ("Refused", "not today", "Warning", 3)
    assert (second.reason, second.type, second.count) == ("Accepted", "Normal", 1)
    assert (first.first_timestamp, first.last_timestamp) == ("2027-01-15T08:00:00Z", "2027-01-15T08:02:00Z")
    assert first.involved_object == Involved("ConfigMap", "settings", thing.metadata.uid, "v1")


async def test_after_a_while_or_when_it_is_gone_the_same_event_is_reported_anew(
    admin: Client, namespace: str
) -> None:
    clock = SetClock()
    events, thing = Events(admin, clock), await about(admin, namespace)
    await events.record(thing, CONFIG_MAPS, "Refused", "no")
    clock.wall += 10 * MINUTE
    await events.record(thing, CONFIG_MAPS, "Refused", "no")
    assert [event.count for event in await events_in(admin, namespace)] == [1, 1]
    for event in await events_in(admin, namespace):
        await admin.delete(EVENTS, event.metadata.name, namespace)
    await events.record(thing, CONFIG_MAPS, "Refused", "no")
    assert [event.count for event in await events_in(admin, namespace)] == [1]


async def test_words_too_long_and_objects_without_a_namespace_can_be_reported(
    admin: Client, cluster: Cluster, namespace: str
) -> None:
    events = Events(admin, SetClock())
    thing = await admin.get(NAMESPACES, namespace, KubeObject)
    await events.record(thing, NAMESPACES, "Long", "x" * 5_000)
    (event,) = [
        one for one in await events_in(admin, "default") if one.involved_object.uid == thing.metadata.uid
    ]
    assert event.message == "x" * 1_024
    await admin.delete(EVENTS, event.metadata.name, "default")
