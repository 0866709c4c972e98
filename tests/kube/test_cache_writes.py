"""What writes tell a cache: it is seen, remembered as a change and passed on at once, before the watch tells it."""

import random

import msgspec
from tests.kube.conftest import PLAIN

from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.resources import NODES, KubeObject
from remuda.loop.clock import SystemClock


def node(version: int) -> KubeObject:
    return msgspec.convert(
        {"metadata": {"name": "n", "uid": "u", "resourceVersion": str(version)}}, KubeObject
    )


def test_an_object_that_was_put_or_dropped_is_a_change_and_wakes_whoever_waits() -> None:
    woken: list[int] = []
    client = Client(Access("http://nowhere", PLAIN), SystemClock(), random.Random(1))
    cache: Cache[KubeObject] = Cache(
        client, NODES, KubeObject, SystemClock(), random.Random(1), lambda: woken.append(1)
    )
    cache.put(node(1))
    assert (cache.get("n"), len(woken)) == (node(1), 1)
    assert cache.take_changes() == {("", "n"): None}
    cache.put(node(2))
    cache.put(node(3))
    assert cache.take_changes() == {("", "n"): node(1)}, "as it was when it was last looked at"
    cache.drop("n")
    assert (cache.get("n"), len(woken)) == (None, 4)
    assert cache.take_changes() == {("", "n"): node(3)}
    cache.drop("n")
    assert (cache.take_changes(), len(woken)) == ({}, 4), "what is not there cannot go"
    cache.put(node(2))
    assert cache.get("n") is None, "an answer that comes after the end brings nothing back"
