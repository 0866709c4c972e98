"""Caches: no deletion is missed, whatever happens to the watch, the server or its history."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.kube.conftest import DEADLINE_S, NewClient, Robot, eventually
from tests.kube.filling import fill
from tests.kube.loopback import CLOSE, KEEP, Asked, Loopback, Reply, Wire, failure, reply, streamed
from tests.servers.cluster import Cluster

from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.credentials import TokenFile
from remuda.kube.resources import CONFIG_MAPS, NODES, Key, KubeObject, Resource
from remuda.kube.trust import Trust
from remuda.loop.clock import SystemClock

pytestmark = pytest.mark.slow


class ConfigMap(KubeObject, frozen=True, gc=False):
    data: dict[str, str] = msgspec.field(default_factory=dict)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


@asynccontextmanager
async def following(client: Client, resource: Resource = NODES, **options: Any) -> AsyncIterator[Cache[Any]]:
    """A cache that runs, and says when it was woken."""
    kind = options.pop("kind", KubeObject)
    cache: Cache[Any] = Cache(client, resource, kind, SystemClock(), random.Random(1), **options)
    running = asyncio.create_task(cache.run())
    try:
        yield cache
    finally:
        assert not running.done(), "a cache runs until it is cancelled"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


# Against a script


def node(name: str, uid: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}


def event(kind: str, thing: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": thing}


class Script(Loopback):
    """Answers lists and watches, each with the next of its replies; the last watch stays silent."""

    def __init__(self, lists: list[Reply], watches: list[Reply]) -> None:
        super().__init__(self.serve)
        self.lists, self.watches = lists, [*watches, streamed()]

    def serve(self, asked: Asked) -> Reply:
        replies = self.watches if "watch" in asked.query else self.lists
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def versions(self) -> list[str]:
        """From which versions watches were asked for."""
        return [asked.query["resourceVersion"][0] for asked in self.asked if "watch" in asked.query]

    def list_count(self) -> int:
        return sum("watch" not in asked.query for asked in self.asked)


def listed(version: int, *nodes: dict[str, Any]) -> Reply:
    return reply({"items": nodes, "metadata": {"resourceVersion": str(version)}})


def uids(cache: Cache[Any]) -> dict[str, str]:
    return {name: thing.metadata.uid for (_, name), thing in cache.objects.items()}


async def test_events_are_followed_from_the_list_on_with_bookmarks(new_client: NewClient) -> None:
    woken = asyncio.Event()
    lines = [
        event("ADDED", node("b", "2", 11)),
        event("MODIFIED", node("a", "1", 12)),
        event("DELETED", node("b", "2", 13)),
        event("BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": "20"}}),
    ]
    async with (
        Script([listed(10, node("a", "1", 5))], [streamed(*lines, then=KEEP)]) as server,
        following(new_client(server.url), wake=woken.set) as cache,
    ):
        assert not cache.is_synced
        await cache.wait_synced(DEADLINE_S)
        await eventually(lambda: len(server.versions()) == 2, "the second watch")
        assert server.versions() == ["10", "20"]
        assert uids(cache) == {"a": "1"}
        assert cache.objects["", "a"].metadata.resource_version == "12"
        assert cache.get("b") is None
        assert woken.is_set()
        assert cache.take_changes() == {("", "a"): None, ("", "b"): None}
        assert cache.take_changes() == {}
        watch = server.asked[1].query
        assert (watch["allowWatchBookmarks"], server.list_count()) == (["true"], 1)
        assert 290 <= int(watch["timeoutSeconds"][0]) <= 580


def thing(name: str, uid: str, version: int) -> KubeObject:
    return msgspec.convert(node(name, uid, version), KubeObject)


async def test_an_answer_that_comes_after_the_end_of_its_object_does_not_bring_it_back(
    new_client: NewClient,
) -> None:
    lines = [event("DELETED", node("a", "1", 11)), event("DELETED", node("b", "2", 12))]
    again = [event("ADDED", node("b", "2", 13))]
    async with (
        Script(
            [listed(10, node("a", "1", 5), node("b", "2", 6))],
            [streamed(*lines, then=KEEP), streamed(*again)],
        ) as server,
        following(new_client(server.url)) as cache,
    ):
        # The second watch tells that one of them matches the selectors again.
        await eventually(lambda: uids(cache) == {"b": "2"} and len(server.versions()) == 2, "both watches")
        cache.put(thing("a", "1", 9))
        assert uids(cache) == {"b": "2"}
        cache.put(thing("a", "3", 20))  # a namesake is another one
        cache.put(thing("b", "2", 21))
        assert uids(cache) == {"a": "3", "b": "2"}
        assert cache.objects["", "b"].metadata.resource_version == "21"
        cache.drop("a")
        cache.put(thing("a", "3", 22))
        assert uids(cache) == {"b": "2"}


async def test_the_end_of_an_object_does_not_take_its_namesake_away(new_client: NewClient) -> None:
    begun = asyncio.Event()

    async def serve(asked: Asked) -> Reply:
        if "watch" not in asked.query:
            return listed(10, node("a", "1", 5))
        await begun.wait()
        return streamed(event("DELETED", node("a", "1", 11)), event("ADDED", node("b", "9", 13)))

    async with Loopback(serve) as server, following(new_client(server.url)) as cache:
        await cache.wait_synced(DEADLINE_S)
        cache.put(thing("a", "2", 12))  # made after the first one went, and known before that was told
        begun.set()
        await eventually(lambda: "b" in uids(cache), "the events")
        assert uids(cache) == {"a": "2", "b": "9"}


GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(streamed(event("ERROR", GONE)), id="as an event"),
        pytest.param(failure(410, "Expired"), id="as an answer"),
        pytest.param(streamed("no event"), id="as a broken line"),
        pytest.param(streamed(event("CURIOUS", node("x", "x", 1))), id="as an event nobody knows"),
        pytest.param(
            Reply(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\xff}\n", CLOSE), id="as bytes"
        ),
    ],
)
async def test_after_410_everything_is_listed_again_and_every_difference_is_a_change(
    new_client: NewClient, gone: Reply
) -> None:
    before = [
        node("stays", "1", 1),
        node("changes", "2", 2),
        node("goes", "3", 3),
        node("is made anew", "4", 4),
    ]
    after = [
        node("stays", "1", 1),
        node("changes", "2", 12),
        node("is made anew", "5", 13),
        node("comes", "6", 14),
    ]
    async with (
        Script([listed(10, *before), listed(20, *after)], [gone]) as server,
        following(new_client(server.url)) as cache,
    ):
        await cache.wait_synced(DEADLINE_S)
        known = dict(cache.objects)
        cache.take_changes()
        await eventually(lambda: len(server.versions()) == 2, "the second watch")
        assert uids(cache) == {"stays": "1", "changes": "2", "is made anew": "5", "comes": "6"}
        changes = {name: thing for (_, name), thing in cache.take_changes().items()}
        assert changes == {
            "changes": known["", "changes"],
            "goes": known["", "goes"],
            "is made anew": known["", "is made anew"],
            "comes": None,
        }
        assert server.versions() == ["10", "20"]


async def test_changes_between_two_looks_are_one_and_keep_what_was_known_first(new_client: NewClient) -> None:
    lines = [
        event("DELETED", node("a", "1", 11)),
        event("ADDED", node("a", "2", 12)),
        event("DELETED", node("a", "2", 13)),
        event("ADDED", node("a", "3", 14)),
        event("DELETED", node("never known", "9", 15)),
    ]
    async with (
        Script([listed(10, node("a", "1", 5))], []) as server,
        following(new_client(server.url)) as cache,
    ):
        await cache.wait_synced(DEADLINE_S)
        cache.take_changes()
        for line in lines:
            cache._take(msgspec.json.encode(line))
        ((_, before),) = cache.take_changes().items()
        assert before is not None
        assert (before.metadata.uid, uids(cache)) == ("1", {"a": "3"})


async def test_a_line_that_was_cut_is_asked_for_again(new_client: NewClient) -> None:
    whole, cut = event("ADDED", node("a", "1", 11)), b'{"type":"ADDED","object":{"metadata":{"name":"half'
    head = streamed(whole).raw
    torn = Reply(head + f"{len(cut):x}\r\n".encode() + cut + b"\r\n", CLOSE)
    async with Script([listed(10)], [torn]) as server, following(new_client(server.url)) as cache:
        await eventually(lambda: len(server.versions()) == 2, "the second watch")
        assert (server.versions(), uids(cache)) == (["10", "11"], {"a": "1"})


async def test_a_stalled_stream_is_noticed_reported_and_left(new_client: NewClient) -> None:
    async with (
        Script([listed(10)], [streamed(event("ADDED", node("a", "1", 11)))]) as server,
        following(new_client(server.url), silence=0.3) as cache,
    ):
        await eventually(lambda: cache.trouble, "trouble")
        assert cache.trouble == "watching nodes: no answer within 0.3 s"
        assert uids(cache) == {"a": "1"}
        await eventually(lambda: len(server.versions()) == 2, "the second watch")
        assert server.versions()[1] == "11"
        await eventually(lambda: cache.trouble is None, "the end of trouble")


@pytest.mark.slow
async def test_trouble_lasts_until_the_server_agrees_again_and_what_was_known_is_kept(
    new_client: NewClient,
) -> None:
    watches = [streamed(then=CLOSE), *[failure(403, "Forbidden", "you cannot watch nodes")] * 2]
    async with Script([listed(10, node("a", "1", 5))], watches) as server:
        seen: list[str | None] = []
        async with following(new_client(server.url)) as cache:
            while len(server.versions()) < 4 or cache.trouble is not None:
                seen += [cache.trouble] if not seen or seen[-1] != cache.trouble else []
                await asyncio.sleep(0.005)
            assert uids(cache) == {"a": "1"}
        said = "watching nodes: 403 Forbidden: you cannot watch nodes"
        assert [each for each in seen if each is not None][-1] == said
        # from the first 403 on it is told without a gap
        assert None not in seen[seen.index(said) :]


async def test_a_cache_whose_first_list_fails_is_not_synced_and_says_why(new_client: NewClient) -> None:
    async with (
        Script([failure(404, "NotFound", "no such kind"), listed(10)], []) as server,
        following(new_client(server.url)) as cache,
    ):
        with pytest.raises(TimeoutError):
            await cache.wait_synced(0.01)
        await eventually(lambda: cache.trouble, "trouble")
        assert (cache.trouble, cache.is_synced) == ("listing nodes: 404 NotFound: no such kind", False)
        await cache.wait_synced(DEADLINE_S)


async def test_a_projection_skips_what_it_does_not_declare(new_client: NewClient) -> None:
    """Also what would not fit, were it declared."""
    thing = node("a", "1", 5) | {"spec": [1, {"deep": "down"}], "status": None}
    async with Script([listed(10, thing)], []) as server, following(new_client(server.url)) as cache:
        await cache.wait_synced(DEADLINE_S)
        assert set(cache.objects["", "a"].__struct_fields__) == {"metadata"}


# Against a real server

Connect = Callable[..., Access]


@pytest.mark.slow
async def test_selectors_choose_what_is_followed(admin: Client, namespace: str) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        body = {"metadata": {"name": name, "labels": {"colour": colour}}}
        await admin.create(CONFIG_MAPS, body, KubeObject, namespace)
    async with (
        following(admin, CONFIG_MAPS, namespace=namespace, labels="colour=red") as red,
        following(admin, CONFIG_MAPS, namespace=namespace, fields="metadata.name=b") as named,
    ):
        await red.wait_synced(DEADLINE_S)
        await named.wait_synced(DEADLINE_S)
        assert (set(uids(red)), set(uids(named))) == ({"a", "c"}, {"b"})
        await admin.patch(
            CONFIG_MAPS, "a", {"metadata": {"labels": {"colour": "blue"}}}, KubeObject, namespace
        )
        await admin.patch(
            CONFIG_MAPS, "b", {"metadata": {"labels": {"colour": "red"}}}, KubeObject, namespace
        )
        await eventually(lambda: set(uids(red)) == {"b", "c"}, "the change of colours")
        assert set(uids(named)) == {"b"}


@pytest.mark.slow
async def test_nothing_is_lost_when_a_watch_is_cut(
    admin: Client, cluster: Cluster, namespace: str, new_client: NewClient, access_of: Connect
) -> None:
    async with Wire(cluster.url) as wire:
        client = new_client(access_of(cluster, wire.url))
        async with following(client, CONFIG_MAPS, kind=ConfigMap, namespace=namespace) as cache:
            await cache.wait_synced(DEADLINE_S)
            for number in range(30):
                await admin.apply(
                    CONFIG_MAPS, config_map(f"c{number % 7}", n=str(number)), KubeObject, namespace
                )
                if number % 5 == 0:
                    await admin.delete(CONFIG_MAPS, f"c{(number + 3) % 7}", namespace)
                if number % 10 == 3:
                    wire.cut()
                    await eventually(lambda: wire.open_count, "a new connection")
            await same_as_server(cache, admin, namespace)


async def same_as_server(cache: Cache[Any], admin: Client, namespace: str) -> None:
    """Return when a cache holds what the server has."""
    server = await admin.list(CONFIG_MAPS, ConfigMap, namespace)
    wanted = {item.key: item.metadata.resource_version for item in server.items}

    def held() -> dict[Key, str]:
        return {key: thing.metadata.resource_version for key, thing in cache.objects.items()}

    await eventually(lambda: held() == wanted, "a cache equal to the server")


@pytest.mark.slow
async def test_every_deletion_is_seen_though_history_was_forgotten_meanwhile(
    admin: Client, cluster: Cluster, namespace: str, new_client: NewClient, access_of: Connect
) -> None:
    """The server is killed, too: it comes back without any history, and the watch gets 410."""
    for number in range(40):
        await admin.create(CONFIG_MAPS, config_map(f"c{number}"), KubeObject, namespace)
    async with Wire(cluster.url) as wire:
        client = new_client(access_of(cluster, wire.url))
        async with following(client, CONFIG_MAPS, kind=ConfigMap, namespace=namespace) as cache:
            await cache.wait_synced(DEADLINE_S)
            cache.take_changes()
            old = uids(cache)
            wire.refuse()
            for number in range(30):
                await admin.delete(CONFIG_MAPS, f"c{number}", namespace)
            for number in range(10, 20):
                await admin.create(CONFIG_MAPS, config_map(f"c{number}", made="anew"), KubeObject, namespace)
            await asyncio.to_thread(cluster.compact)
            assert cache.trouble is not None
            assert uids(cache) == old
            wire.restore()
            await same_as_server(cache, admin, namespace)
            changes = {name: thing for (_, name), thing in cache.take_changes().items()}
            assert set(changes) == {f"c{number}" for number in range(30)}
            for name, before in changes.items():
                assert before is not None
                now = cache.get(name, namespace)
                assert before.metadata.uid == old[name]
                assert (now is None) == (int(name[1:]) not in range(10, 20))
                assert now is None or now.metadata.uid != old[name]
            await eventually(lambda: cache.trouble is None, "the end of trouble")
            await admin.create(CONFIG_MAPS, config_map("after"), KubeObject, namespace)
            await eventually(lambda: cache.get("after", namespace), "a new object")


@pytest.mark.slow
async def test_a_killed_server_is_waited_for(admin: Client, cluster: Cluster, namespace: str) -> None:
    await admin.create(CONFIG_MAPS, config_map("a"), KubeObject, namespace)
    async with following(admin, CONFIG_MAPS, namespace=namespace) as cache:
        await cache.wait_synced(DEADLINE_S)
        await asyncio.to_thread(cluster.kill_apiserver)
        await eventually(lambda: cache.trouble, "trouble")
        assert set(uids(cache)) == {"a"}
        await asyncio.to_thread(cluster.restart_apiserver)
        await admin.create(CONFIG_MAPS, config_map("b"), KubeObject, namespace)
        await eventually(lambda: set(uids(cache)) == {"a", "b"} and cache.trouble is None, "the new object")


@pytest.mark.slow
async def test_a_slow_reader_loses_nothing(
    admin: Client, cluster: Cluster, namespace: str, new_client: NewClient, access_of: Connect
) -> None:
    """More is waiting than the buffers between hold; the watch is stalled so long that it is given up, too."""
    place, bodies = f"configmaps/{namespace}", stored(namespace, 2_000, "x" * 5_000)
    async with Wire(cluster.url) as wire:
        client = new_client(access_of(cluster, wire.url))
        async with (
            following(client, CONFIG_MAPS, namespace=namespace) as patient,
            following(client, CONFIG_MAPS, namespace=namespace, silence=1.0) as hasty,
        ):
            await patient.wait_synced(DEADLINE_S)
            await hasty.wait_synced(DEADLINE_S)
            wire.silence()
            await asyncio.to_thread(fill, cluster, place, bodies, 1)
            for number in range(100):
                await admin.delete(CONFIG_MAPS, f"c{number:05}", namespace)
            await eventually(lambda: "no answer within 1 s" in (hasty.trouble or ""), "a stalled stream")
            wire.restore()
            for cache in (patient, hasty):
                await same_as_server(cache, admin, namespace)
                assert len(cache.objects) == 1_900


def stored(namespace: str, count: int, text: str) -> list[dict[str, Any]]:
    """Config maps as they are stored."""
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"c{number:05}", "namespace": namespace},
            "data": {"n": text},
        }
        for number in range(count)
    ]


@pytest.mark.slow
async def test_ten_thousand_objects_are_followed_while_they_change(
    admin: Client, cluster: Cluster, namespace: str
) -> None:
    await asyncio.to_thread(fill, cluster, f"configmaps/{namespace}", stored(namespace, 10_000, "0"))
    async with following(admin, CONFIG_MAPS, kind=ConfigMap, namespace=namespace) as cache:
        await cache.wait_synced(DEADLINE_S)
        assert len(cache.objects) == 10_000
        cache.take_changes()
        rng = random.Random(7)
        work = [f"c{rng.randrange(10_000):05}" for _ in range(3_000)]

        async def patch(names: list[str]) -> None:
            for name in names:
                await admin.patch(CONFIG_MAPS, name, {"data": {"n": "1"}}, KubeObject, namespace)

        await asyncio.gather(*(patch(work[start::16]) for start in range(16)))
        changed, removed = set(work), sorted(set(work))[:200]
        await asyncio.gather(*(admin.delete(CONFIG_MAPS, name, namespace) for name in removed))
        await same_as_server(cache, admin, namespace)
        assert {name for _, name in cache.take_changes()} == changed
        seen = {name for (_, name), thing in cache.objects.items() if thing.data["n"] == "1"}
        assert seen == changed - set(removed)


@pytest.mark.slow
async def test_a_permission_may_be_withdrawn_and_given_back_and_a_token_rotated(
    admin: Client,
    cluster: Cluster,
    namespace: str,
    new_robot: Callable[[str], Robot],
    new_client: NewClient,
    tmp_path: Path,
) -> None:
    first, second = [await asyncio.to_thread(new_robot, name) for name in ("first", "second")]
    rule = ("-", "configmaps", "list watch")
    await asyncio.to_thread(first.permit, rule)
    await asyncio.to_thread(second.permit, rule)
    token = tmp_path / "token"
    token.write_text(await asyncio.to_thread(first.token))
    await admin.create(CONFIG_MAPS, config_map("a"), KubeObject, namespace)
    await admin.create(CONFIG_MAPS, config_map("b"), KubeObject, namespace)
    async with Wire(cluster.url) as wire:
        client = new_client(Access(wire.url, TokenFile(Trust(cluster.ca.read_text()), token)))
        async with following(client, CONFIG_MAPS, namespace=namespace) as cache:
            await cache.wait_synced(DEADLINE_S)
            cache.take_changes()
            await asyncio.to_thread(first.forbid)
            said = f'"{first.user}" cannot watch resource "configmaps"'

            def is_reported() -> bool:
                wire.cut()
                return said in (cache.trouble or "")

            await eventually(is_reported, "the missing permission")
            await admin.delete(CONFIG_MAPS, "a", namespace)
            assert set(uids(cache)) == {"a", "b"}
            await asyncio.to_thread(first.permit, rule)
            await eventually(lambda: set(uids(cache)) == {"b"} and cache.trouble is None, "the deletion")
            assert set(cache.take_changes()) == {(namespace, "a")}
            token.write_text(await asyncio.to_thread(second.token))
            await asyncio.to_thread(first.forbid)
            wire.cut()
            await admin.delete(CONFIG_MAPS, "b", namespace)
            await eventually(lambda: not cache.objects and cache.trouble is None, "the second deletion")
