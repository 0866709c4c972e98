"""The objects of one namespace, followed. One object with a problem does not stop the others."""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from remuda.job import Jobs, Place
from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.resources import Key, KubeObject, Resource
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.objects.kinds import GROUP, VERSION, Kind
from remuda.objects.load import Loaded, Objects, load_text
from remuda.objects.problems import Problem


class StoredObject(KubeObject, frozen=True, gc=False):
    """An object of ours as the API server has it: its spec as it was written, and its status as it is shown."""

    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def conditions(self) -> dict[str, dict[str, Any]]:
        """The conditions that are shown, by type."""
        return {item["type"]: item for item in self.status.get("conditions", ())}


class _Read(Struct, frozen=True):
    """What became of the objects: those that are whole, and the problems of the others by kind and name."""

    loaded: Loaded
    problems: dict[tuple[str, str], tuple[Problem, ...]]


class _Text(Struct, frozen=True):
    """An object as a file would hold it."""

    kind: str
    name: str
    uid: str
    text: str


#: is handed the objects that are whole, and kind and name of those that cannot be followed, not even as they were
Apply = Callable[[Objects, frozenset[tuple[str, str]]], None]


def resource_of(kind: Kind[Any]) -> Resource:
    """Where objects of a kind are."""
    return Resource(GROUP, VERSION, kind.plural, kind.name)


class FollowedObjects:
    """The objects of one namespace, of every kind that jobs run."""

    def __init__(
        self, client: Client, namespace: str, jobs: Jobs, clock: Clock, rng: random.Random, log: Log
    ) -> None:
        self._namespace = namespace
        self._log = log
        self._checks = jobs.checks()
        self.changed = asyncio.Event()
        self.kinds = tuple(kind.load() for kind in jobs.kinds(Place.RUN))
        #: uid, generation and labels of every object that was read
        self._known: dict[tuple[str, Key], tuple[Any, ...]] = {}
        #: by kind and name, what keeps an object from being accepted
        self.problems: dict[tuple[str, str], tuple[Problem, ...]] = {}
        #: by uid, the text of every object that is followed
        self.in_force: dict[str, str] = {}
        #: True once all objects were read; before that nothing may be judged by them
        self.is_known = False
        self.caches: dict[str, Cache[StoredObject]] = {
            kind.name: Cache(
                client, resource_of(kind), StoredObject, clock, rng, self.changed.set, namespace=namespace
            )
            for kind in self.kinds
        }

    async def run(self) -> None:
        """Follow the objects until cancelled; `changed` is set whenever there may be something new."""
        async with asyncio.TaskGroup() as group:
            for name, cache in self.caches.items():
                group.create_task(cache.run(), name=f"cache {name}")

    def look(self, apply: Apply) -> bool:
        """Hand on the objects if there is anything new: not when only a status has changed. False until all are read."""
        for cache in self.caches.values():
            cache.take_changes()
        if not all(cache.is_synced for cache in self.caches.values()):
            return False
        known = {
            (name, key): (item.metadata.uid, item.metadata.generation, item.metadata.labels)
            for name, cache in self.caches.items()
            for key, item in cache.objects.items()
        }
        if known == self._known and self.is_known:
            return True
        self._known = known
        read = self._read()
        self.problems = read.problems
        followed = {(item.kind, item.name) for item in read.loaded.objects}
        apply(read.loaded.objects, frozenset(read.problems.keys() - followed))
        self.is_known = True
        return True

    async def read_once(self) -> tuple[Loaded, tuple[Problem, ...]]:
        """The objects as they are now: those that are whole, and the problems of the others."""
        await asyncio.gather(*(cache.load() for cache in self.caches.values()))
        read = self._read()
        return read.loaded, tuple(problem for found in read.problems.values() for problem in found)

    def uids(self) -> set[str]:
        """Of every object that was read."""
        return {about[0] for about in self._known.values()}

    def trouble(self) -> list[str]:
        """Why the objects may be old, if they may."""
        return [cache.trouble for cache in self.caches.values() if cache.trouble is not None]

    def _read(self) -> _Read:
        """
        Read every object by itself first, then together without those that have problems.

        Of two that cannot both be, the older is right. Who has a problem stays in force as it was accepted before, and
        what limits others and does not fit them holds as far as it can: a mistake must not take machines away.
        """
        stored = [
            (item.metadata.creation_timestamp, kind, key[1], item)
            for kind, cache in self.caches.items()
            for key, item in cache.objects.items()
        ]
        texts, problems = list[_Text](), dict[tuple[str, str], tuple[Problem, ...]]()
        for _, kind, name, item in sorted(stored, key=lambda each: each[:3]):
            text: str | None = _text(kind, item)
            alone = load_text(str(text), f"{kind} {name}", self.kinds)
            if alone.problems:
                problems[kind, name] = _unplaced(alone.problems, kind, name)
                text = self.in_force.get(item.metadata.uid)
            if text is not None:
                texts.append(_Text(kind, name, item.metadata.uid, text))
        limits = {kind.name for kind in self.kinds if kind.limits_others}
        while True:
            together = Loaded(Objects(), ())
            if texts:
                whole = "\n---\n".join(item.text for item in texts)
                together = load_text(whole, self._namespace, self.kinds, self._checks)
            bad = set[tuple[str, str]]()
            for each in together.objects:
                found = tuple(p for p in together.problems if _is_in(p, each, together.objects))
                if found:
                    problems.setdefault((each.kind, each.name), _unplaced(found, each.kind, each.name))
                    bad |= {(each.kind, each.name)} if each.kind not in limits else set()
            if not bad:
                self.in_force = {item.uid: item.text for item in texts}
                return _Read(together, problems)
            texts = [kept for item in texts if (kept := self._kept(item, bad)) is not None]

    def _kept(self, item: _Text, bad: set[tuple[str, str]]) -> _Text | None:
        """What stays of an object: itself, or as it was accepted before, if it was."""
        if (item.kind, item.name) not in bad:
            return item
        before = self.in_force.get(item.uid)
        if before is None or before == item.text:
            return None
        return _Text(item.kind, item.name, item.uid, before)


def _text(kind: str, item: StoredObject) -> str:
    """The object as a file would hold it."""
    meta = item.metadata
    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": kind,
        "metadata": {"name": meta.name, "labels": meta.labels},
        "spec": item.spec,
    }
    return msgspec.json.encode(body).decode()


def _is_in(problem: Problem, item: Any, others: Iterable[Any]) -> bool:
    """Whether a problem stands within an object: from its line to the next one's."""
    after = [other.line for other in others if other.line > item.line]
    return bool(item.line <= problem.line < min(after, default=2**31))


def _unplaced(problems: Iterable[Problem], kind: str, name: str) -> tuple[Problem, ...]:
    """Problems of an object that is in no file: its lines would be those of a text that nobody wrote."""
    return tuple(Problem(f"{kind} {name}", 0, 0, problem.path, problem.message) for problem in problems)
