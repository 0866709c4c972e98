"""Caches without a server: what each event and list changes, when whoever waits is woken, and when it is asked again."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.kube.conftest import PLAIN

from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.errors import Forbidden, Gone, Status, Unreachable
from remuda.kube.resources import NODES, KubeObject
from remuda.loop.clock import SystemClock
from remuda.sim.clock import SimClock
from remuda.sim.loop import run


def node(name: str, uid: str, version: object) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}


def event(kind: str, thing: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": thing}


def bookmark(version: str) -> dict[str, Any]:
    return event("BOOKMARK", {"metadata": {"resourceVersion": version}})


def thing(name: str, uid: str, version: object) -> KubeObject:
    return msgspec.convert(node(name, uid, version), KubeObject)


class Watched(NamedTuple):
    """The events of a watch, and what ends it."""

    events: list[dict[str, Any]]
    error: Exception | None = None


class Script(Client):
    """Answers lists and watches, each with the next of its answers; the last list stays, and the watch after the last never ends."""

    def __init__(self, clock: SimClock, lists: list[tuple[int, list[Any]]], watches: list[Watched]) -> None:
        super().__init__(Access("http://nowhere", PLAIN), clock, random.Random(1))
        self.asked: list[str] = []
        self._lists, self._watches = lists, watches

    async def request(self, *_: Any, **__: Any) -> bytes:
        self.asked.append("list")
        version, items = self._lists.pop(0) if len(self._lists) > 1 else self._lists[0]
        return msgspec.json.encode({"items": items, "metadata": {"resourceVersion": str(version)}})

    @asynccontextmanager
    async def watch(self, *asked: Any, **_: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        self.asked.append(f"watch {asked[1]}")
        watched = self._watches.pop(0) if self._watches else None

        async def lines() -> AsyncIterator[bytes]:
            if watched is None:
                await asyncio.Event().wait()
                return
            for each in watched.events:
                yield msgspec.json.encode(each)
            if watched.error is not None:
                raise watched.error

        yield lines()


class Followed(NamedTuple):
    """What a cache was after a while, what it had asked for, how often it woke, and what was the matter before the last watch."""

    cache: Cache[KubeObject]
    asked: list[str]
    woken: int
    troubles: list[str | None]

    def versions(self) -> dict[str, str]:
        return {name: each.metadata.resource_version for (_, name), each in self.cache.objects.items()}


def followed(lists: list[tuple[int, list[Any]]], *watches: Watched) -> Followed:
    async def world() -> Followed:
        clock = SimClock(asyncio.get_running_loop())
        client = Script(clock, lists, [*watches])
        woken: list[int] = []
        troubles: list[str | None] = []
        cache: Cache[KubeObject] = Cache(
            client, NODES, KubeObject, clock, random.Random(1), lambda: woken.append(1)
        )
        assert not cache.is_synced
        running = asyncio.create_task(cache.run())
        for _ in range(600):
            await asyncio.sleep(0.05)
            if cache.trouble not in troubles[-1:]:
                troubles.append(cache.trouble)
        assert not running.done(), "a cache runs until it is cancelled"
        running.cancel()
        assert cache.is_synced
        return Followed(cache, client.asked, len(woken), troubles)

    return run(world())


def test_events_are_followed_from_the_list_on_and_each_wakes_whoever_waits() -> None:
    events = [
        event("ADDED", node("b", "2", 11)),
        event("MODIFIED", node("a", "1", 12)),
        event("DELETED", node("b", "2", 13)),
        bookmark("20"),
    ]
    found = followed([(10, [node("a", "1", 5)])], Watched(events))
    assert found.asked == ["list", "watch 10", "watch 20"]
    assert found.versions() == {"a": "12"}
    assert found.woken == 4, "once for the list, and not for the bookmark"
    assert found.cache.take_changes() == {("", "a"): None, ("", "b"): None}


def test_an_event_without_a_version_leaves_it_where_it_was() -> None:
    found = followed([(10, [])], Watched([event("ADDED", node("a", "1", 11)), bookmark("")]))
    assert found.asked == ["list", "watch 10", "watch 11"]


GONE = Gone("watching", Status(410, "Expired"))


@pytest.mark.parametrize(
    ("after", "changes"),
    [
        pytest.param([node("a", "1", 5), node("b", "2", 6)], {}, id="nothing changed"),
        pytest.param([node("a", "1", 5), node("b", "2", 7)], {"b": "6"}, id="one changed"),
        pytest.param([node("a", "1", 5)], {"b": "6"}, id="one is gone"),
        pytest.param([node("a", "1", 5), node("b", "2", 6), node("c", "3", 8)], {"c": None}, id="one came"),
        pytest.param([], {"a": "5", "b": "6"}, id="all are gone"),
    ],
)
def test_a_second_list_is_compared_with_what_was_known_and_wakes_only_for_a_difference(
    after: list[Any], changes: dict[str, str | None]
) -> None:
    async def world() -> tuple[Cache[KubeObject], int]:
        clock = SimClock(asyncio.get_running_loop())
        woken: list[int] = []
        client = Script(clock, [(10, [node("a", "1", 5), node("b", "2", 6)]), (20, after)], [])
        cache: Cache[KubeObject] = Cache(
            client, NODES, KubeObject, clock, random.Random(1), lambda: woken.append(1)
        )
        await cache.load()
        assert (len(woken), len(cache.take_changes())) == (1, 2)
        await cache.load()
        return cache, len(woken) - 1

    cache, woken = run(world())
    known = {
        name: each and each.metadata.resource_version for (_, name), each in cache.take_changes().items()
    }
    assert (known, woken) == (changes, int(bool(changes)))
    assert len(cache.objects) == len(after)


def test_an_empty_first_list_wakes_too() -> None:
    assert followed([(10, [])]).woken == 1


@pytest.mark.parametrize(
    ("error", "asked", "trouble"),
    [
        pytest.param(GONE, "list", None, id="the version is too old: all is listed again, and that is no trouble"),
        pytest.param(Unreachable("watching", Status(message="cut")), "watch 11", "watching: cut", id="cut: on from there"),
        pytest.param(ValueError("no JSON"), "list", "watching nodes: .*no JSON", id="broken: all is listed again"),
    ],
)  # fmt: skip
def test_what_ends_a_watch_decides_how_it_goes_on(error: Exception, asked: str, trouble: str | None) -> None:
    found = followed([(10, [])], Watched([event("ADDED", node("a", "1", 11))], error))
    assert found.asked[:3] == ["list", "watch 10", asked]
    seen = [each for each in found.troubles if each]
    assert bool(seen) is bool(trouble)
    assert all(re.match(trouble or "", each) for each in seen)
    assert found.cache.trouble is None, "once a watch is agreed to"


def test_an_answer_that_overtook_the_watch_stays_and_the_watch_goes_on() -> None:
    cache = quiet_cache(bytes)
    cache.put(thing("a", "1", 12))
    cache.take_changes()
    assert cache._take(msgspec.json.encode(event("MODIFIED", node("a", "1", 11)))) == "11"
    assert (cache.objects["", "a"], cache.take_changes()) == (thing("a", "1", 12), {})
    assert cache._take(msgspec.json.encode(event("DELETED", node("a", "1", 11)))) == "11"
    assert cache.get("a") is not None, "a namesake was made since"
    assert cache.take_changes() == {}


def test_the_end_of_what_was_known_is_a_change_and_of_what_was_not_none() -> None:
    cache = quiet_cache(bytes)
    ended = msgspec.json.encode(event("DELETED", node("a", "1", 11)))
    cache._take(ended)
    assert cache.take_changes() == {}
    cache._take(msgspec.json.encode(event("ADDED", node("a", "2", 10))))
    cache.take_changes()
    cache._take(ended)
    assert cache.take_changes() == {("", "a"): thing("a", "2", 10)}


@pytest.mark.parametrize(
    ("known", "told", "is_taken"),
    [
        pytest.param("9", "10", True, id="numbers are compared as numbers"),
        pytest.param("10", "9", False, id="an older one"),
        pytest.param("10", "10", True, id="the same"),
        pytest.param("10", "x", True, id="what is no number is the newest"),
        pytest.param("x", "10", True, id="also after what is none"),
    ],
)
def test_the_newest_version_stays(known: str, told: str, is_taken: bool) -> None:
    cache = quiet_cache(bytes)
    cache.put(thing("a", "1", known))
    cache.put(thing("a", "1", told))
    assert cache.objects["", "a"].metadata.resource_version == (told if is_taken else known)


class Deaf(Client):
    """A client whose server is not there, or forbids, and which notes when it was asked."""

    def __init__(self, clock: SimClock, lists: bool) -> None:
        super().__init__(Access("http://nowhere", PLAIN), clock, random.Random(1))
        self.times: list[float] = []
        self._lists, self._sim = lists, clock

    async def request(self, *_: Any, doing: str, **__: Any) -> bytes:
        if self._lists:
            return b'{"items": [], "metadata": {"resourceVersion": "1"}}'
        self.times.append(self._sim.monotonic())
        raise Unreachable(doing, Status(message="nobody there"))

    @asynccontextmanager
    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        self.times.append(self._sim.monotonic())
        raise Forbidden("watching", Status(403, "Forbidden"))
        yield


@pytest.mark.parametrize("lists", [False, True])
def test_a_server_that_stays_away_is_asked_less_and_less_often_and_with_jitter(lists: bool) -> None:
    async def world() -> list[float]:
        clock = SimClock(asyncio.get_running_loop())
        client = Deaf(clock, lists)
        cache: Cache[KubeObject] = Cache(client, NODES, KubeObject, clock, random.Random(1))
        running = asyncio.create_task(cache.run())
        await asyncio.sleep(600)
        running.cancel()
        assert cache.is_synced is lists
        return client.times

    times = run(world())
    gaps = [later - sooner for sooner, later in pairwise(times)]
    assert 60 < len(times) < 140
    assert all(0.1 <= gap <= 10 for gap in gaps)
    assert all(gap >= 5 for gap in gaps[10:])
    assert len({round(gap, 6) for gap in gaps}) == len(gaps)


class Moody(Client):
    """A client whose watches last as long as a list of seconds says, and which notes when each began and ended."""

    def __init__(self, clock: SimClock, lasting: list[float]) -> None:
        super().__init__(Access("http://nowhere", PLAIN), clock, random.Random(1))
        self.began: list[float] = []
        self.ended: list[float] = []
        self._lasting, self._sim = lasting, clock

    async def request(self, *_: Any, **__: Any) -> bytes:
        return b'{"items": [], "metadata": {"resourceVersion": "1"}}'

    @asynccontextmanager
    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        if len(self.began) == len(self._lasting):
            await asyncio.Event().wait()
        seconds = self._lasting[len(self.began)]
        self.began.append(self._sim.monotonic())

        async def lines() -> AsyncIterator[bytes]:
            await asyncio.sleep(seconds)
            self.ended.append(self._sim.monotonic())
            for line in list[bytes]():
                yield line

        yield lines()


@pytest.mark.parametrize(
    ("lasted", "waits_short"),
    [
        pytest.param(600.0, True, id="long"),
        pytest.param(5.001, True, id="just long enough"),
        pytest.param(5.0, False, id="not quite"),
        pytest.param(0.0, False, id="not at all"),
    ],
)
def test_a_watch_that_lasted_ends_the_growth_of_the_waits(lasted: float, waits_short: bool) -> None:
    """Ten short watches make waits long; after a good one the next waits are short and grow again."""

    async def world() -> tuple[list[float], list[float]]:
        clock = SimClock(asyncio.get_running_loop())
        client = Moody(clock, [*[0.0] * 10, lasted, *[0.0] * 3])
        cache: Cache[KubeObject] = Cache(client, NODES, KubeObject, clock, random.Random(1))
        running = asyncio.create_task(cache.run())
        await asyncio.sleep(2_000)
        running.cancel()
        return client.began, client.ended

    began, ended = run(world())
    waits = [later - sooner for sooner, later in zip(ended, began[1:], strict=False)]
    assert len(waits) == 13
    assert all(5 <= wait <= 10 for wait in waits[7:10])
    if waits_short:
        assert [0.1 * 2**n <= wait <= 0.2 * 2**n for n, wait in enumerate(waits[10:])] == [True] * 3
    else:
        assert all(5 <= wait <= 10 for wait in waits[10:])


def quiet_cache(lists: Callable[[], bytes]) -> Cache[KubeObject]:
    """A cache that is fed by hand."""

    class Listed(Client):
        async def request(self, *_: Any, **__: Any) -> bytes:
            return lists()

    client = Listed(Access("http://nowhere", PLAIN), SystemClock(), random.Random(1))
    return Cache(client, NODES, KubeObject, SystemClock(), random.Random(1))


async def test_what_matches_again_after_its_end_may_be_brought_by_an_answer() -> None:
    """It ended for the selectors, came back, and was then listed no more: its next answer is news."""
    cache = quiet_cache(lambda: b'{"items": [], "metadata": {"resourceVersion": "9"}}')
    for kind, version in (("ADDED", 1), ("DELETED", 2), ("ADDED", 3)):
        cache._take(msgspec.json.encode(event(kind, node("n", "u", version))))
    await cache.load()
    assert cache.get("n") is None
    cache.put(msgspec.convert(node("n", "u", 10), KubeObject))
    assert cache.get("n") is not None


@pytest.mark.parametrize(
    ("later", "is_back"),
    [pytest.param(999, False, id="still remembered"), pytest.param(1_000, True, id="forgotten")],
)
def test_the_last_thousand_ends_are_remembered(later: int, is_back: bool) -> None:
    cache = quiet_cache(bytes)
    for number in range(later + 1):
        cache._take(msgspec.json.encode(event("DELETED", node(f"n{number}", f"u{number}", number + 1))))
    cache.put(msgspec.convert(node("n0", "u0", 1), KubeObject))
    assert (cache.get("n0") is not None) == is_back


def test_an_answer_that_is_older_than_what_is_known_changes_nothing() -> None:
    cache = quiet_cache(bytes)
    cache._take(msgspec.json.encode(event("ADDED", node("n", "u", 7))))
    cache.take_changes()
    for version, is_news in ((6, False), (7, True), (8, True)):
        cache.put(msgspec.convert(node("n", "u", version), KubeObject))
        assert bool(cache.take_changes()) == is_news
