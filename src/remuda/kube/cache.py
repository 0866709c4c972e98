"""
Follows all objects of a kind: lists them, watches from there, and never misses a deletion.

After a 410 the list is read again and compared with what was known, so what was deleted meanwhile is noticed. Whoever
uses a cache is woken, looks at it, and may ask which keys changed since it last asked.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from remuda.kube.client import Client
from remuda.kube.errors import Gone, KubeError, Status, broken, error_for
from remuda.kube.resources import Key, KubeObject, Meta, Resource
from remuda.loop.clock import Clock

T = TypeVar("T", bound=KubeObject)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 10.0
#: a watch that lasted so long was a good one: the next failure begins with a short wait again
_GOOD_S = 5.0
#: so many deleted objects are remembered, for answers to writes that come after the news of their end
_MOST_ENDED = 1_000


class _Event(Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Versioned(Struct, frozen=True):
    metadata: Meta = Meta()


_event = msgspec.json.Decoder(_Event).decode
_versioned = msgspec.json.Decoder(_Versioned).decode
_status = msgspec.json.Decoder(Status).decode


class Cache(Generic[T]):
    """
    All objects of one kind, in a namespace or everywhere, as the projection `kind` sees them.

    `run` keeps it fresh until cancelled. `wake` is called after changes; it must not block.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        kind: type[T],
        clock: Clock,
        rng: random.Random,
        wake: Callable[[], None] = lambda: None,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: str | None = None,
        silence: float = 90.0,
    ) -> None:
        self.objects: dict[Key, T] = {}
        self.resource = resource
        #: why it is not fresh, in words, while it is not
        self.trouble: str | None = None
        self._client = client
        self._kind = kind
        self._decode = msgspec.json.Decoder(kind).decode
        self._clock = clock
        self._rng = rng
        self._wake = wake
        self._namespace = namespace
        self._labels, self._fields = labels, fields
        self._silence = silence
        self._synced = asyncio.Event()
        self._agreed_at: float | None = None
        self._before: dict[Key, T | None] = {}
        #: uids of what was deleted last, oldest first
        self._ended: dict[str, None] = {}
        self._version = ""

    @property
    def is_synced(self) -> bool:
        """True once everything was listed for the first time."""
        return self._synced.is_set()

    async def wait_synced(self, timeout: float) -> None:
        """Return when everything was listed once; `TimeoutError` when that takes too long."""
        async with asyncio.timeout(timeout):
            await self._synced.wait()

    def get(self, name: str, namespace: str = "") -> T | None:
        """One object, if there is one."""
        return self.objects.get((namespace, name))

    def take_changes(self) -> dict[Key, T | None]:
        """
        The keys that changed since the last call, each with the object as it was then; None if there was none.

        An object that is gone is not in `objects`; one that was made anew has another uid.
        """
        changes, self._before = self._before, {}
        return changes

    def put(self, item: T) -> None:
        """
        Take in an object that the answer to a write brought, so that it is seen before the watch reports it.

        The watch may have been faster: what it reported as deleted stays gone, since nobody would report that again.
        """
        known = self.objects.get(item.key)
        if known is None and item.metadata.uid in self._ended:
            return
        if known is None or not _is_newer(known, item):
            self._before.setdefault(item.key, known)
            self.objects[item.key] = item
            self._wake()

    def drop(self, name: str, namespace: str = "") -> None:
        """Forget an object that a write found gone."""
        known = self.objects.pop((namespace, name), None)
        if known is not None:
            self._note_end(known)
            self._before.setdefault(known.key, known)
            self._wake()

    def _note_end(self, item: T) -> None:
        if item.metadata.uid:
            self._ended[item.metadata.uid] = None
            if len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]

    async def run(self) -> None:
        """List and watch until cancelled; errors are waited out, and reported in `trouble`."""
        wait = _FIRST_WAIT_S
        while True:
            self._agreed_at = None
            try:
                if not self._version:
                    await self.load()
                await self._watch()
            except Gone:
                self._version = ""
            except KubeError as error:
                # What was seen is seen: the next watch goes on from there.
                self.trouble = str(error)
            except (ValueError, RecursionError) as error:
                self.trouble = str(broken(f"watching {self.resource.describe(self._namespace)}", error))
                self._version = ""
            if self._agreed_at is not None and self._clock.monotonic() - self._agreed_at > _GOOD_S:
                wait = _FIRST_WAIT_S
            await asyncio.sleep(wait * self._rng.uniform(0.5, 1.0))
            wait = min(wait * 2, _LONGEST_WAIT_S)

    async def load(self) -> None:
        """List everything, and note every difference from what was known."""
        listed = await self._client.list(
            self.resource, self._kind, self._namespace, labels=self._labels, fields=self._fields
        )
        fresh = {item.key: item for item in listed.items}
        changed = False
        for key, known in self.objects.items():
            now = fresh.get(key)
            if now is None or now.metadata.resource_version != known.metadata.resource_version:
                self._before.setdefault(key, known)
                changed = True
        for key in fresh.keys() - self.objects.keys():
            self._before.setdefault(key, None)
            changed = True
        self.objects = fresh
        was_synced = self.is_synced
        self._synced.set()
        if changed or not was_synced:
            self._wake()
        self._version = listed.resource_version

    async def _watch(self) -> None:
        """Follow until the server ends the watch, which it does every few minutes."""
        async with self._client.watch(
            self.resource,
            self._version,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            silence=self._silence,
        ) as lines:
            self.trouble = None
            self._agreed_at = self._clock.monotonic()
            async for line in lines:
                self._version = self._take(line) or self._version

    def _take(self, line: bytes) -> str:
        """Take one event in; the version it brings us to."""
        event = _event(line)
        match event.type:
            case "ADDED" | "MODIFIED":
                item = self._decode(event.object)
                known = self.objects.get(item.key)
                if known is not None and _is_newer(known, item):
                    return item.metadata.resource_version  # an answer overtook the watch
                self._before.setdefault(item.key, known)
                self.objects[item.key] = item
                self._ended.pop(item.metadata.uid, None)  # it matches the selectors again
            case "DELETED":
                item = self._decode(event.object)
                self._note_end(item)
                known = self.objects.get(item.key)
                if known is not None and not _is_newer(known, item):  # else a namesake was made since
                    self._before.setdefault(item.key, known)
                    del self.objects[item.key]
            case "BOOKMARK":
                return _versioned(event.object).metadata.resource_version
            case "ERROR":
                raise error_for(f"watching {self.resource.describe(self._namespace)}", _status(event.object))
            case _:
                raise ValueError(f"an event of type {event.type!r}")
        self._wake()
        return item.metadata.resource_version


def _is_newer(one: KubeObject, other: KubeObject) -> bool:
    """Versions are numbers that grow, unless a server says otherwise: then the last one received is the newest."""
    versions = one.metadata.resource_version, other.metadata.resource_version
    return all(version.isdecimal() for version in versions) and int(versions[0]) > int(versions[1])
