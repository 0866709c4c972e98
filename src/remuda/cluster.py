"""
Objects from an API server instead of files, and their status back.

Everything a person may write about objects is told on the objects themselves: `Accepted` with the full list of
problems, `Ready`, and `Stale` while a source does not answer. One object with a problem does not stop the others.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from remuda.catalog import CHECKS, KINDS
from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.errors import KubeError
from remuda.kube.events import Events
from remuda.kube.lease import Leadership, Term
from remuda.kube.limits import RateLimit
from remuda.kube.rbac import LEASE
from remuda.kube.resources import Key, Resource, Thing
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.model.plans import Reason
from remuda.model.times import Instant, write_instant
from remuda.objects.kinds import GROUP, VERSION, Kind
from remuda.objects.load import Loaded, Objects, load_text
from remuda.objects.problems import Problem
from remuda.output.words import number, sentence

#: how often statuses that could not be written are tried again
_GLANCE_S = 5.0


class Whole(Thing, frozen=True, gc=False):
    """An object of ours: its spec as it was written."""

    spec: msgspec.Raw = msgspec.Raw(b"{}")


class Condition(Struct, frozen=True, rename="camel"):
    """One fact about an object."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int
    last_transition_time: str = ""


class _Read(Struct, frozen=True):
    """What became of the objects: those that are whole, and the problems of the others by kind and name."""

    loaded: Loaded
    problems: dict[tuple[str, str], tuple[Problem, ...]]


def resource_of(kind: Kind[Any]) -> Resource:
    """Where objects of a kind are."""
    return Resource(GROUP, VERSION, kind.plural, kind.name)


class ClusterObjects:
    """The objects of one namespace, followed; and what we tell about them."""

    def __init__(
        self, client: Client, namespace: str, clock: Clock, rng: random.Random, log: Log, writer: Client
    ) -> None:
        """`client` reads, always; `writer` is fenced and writes statuses and events."""
        self._writer = writer
        self._namespace = namespace
        self._clock = clock
        self._log = log
        self._events = Events(writer, clock)
        self._changed = asyncio.Event()
        self._told: dict[tuple[str, Key], tuple[Any, ...]] = {}
        self._conditions: dict[tuple[str, Key, str], tuple[str, Instant]] = {}
        self._problems: dict[tuple[str, str], tuple[Problem, ...]] = {}
        self._reasons: dict[str, Reason] = {}
        #: True once all objects were read; before that nothing may be judged by them
        self.is_known = False
        self.caches: dict[str, Cache[Whole]] = {
            kind.name: Cache(
                client, resource_of(kind), Whole, clock, rng, self._changed.set, namespace=namespace
            )
            for kind in KINDS
        }

    async def run(self, apply: Callable[[Loaded], None]) -> None:
        """Follow the objects and hand them on whenever they change; tell statuses meanwhile."""
        async with asyncio.TaskGroup() as group:
            for name, cache in self.caches.items():
                group.create_task(cache.run(), name=f"cache {name}")
            while True:
                self._changed.clear()
                # Every cache is asked, so that no change is left for the next time.
                changes = [cache.take_changes() for cache in self.caches.values()]
                if all(cache.is_synced for cache in self.caches.values()):
                    if any(changes) or not self.is_known:
                        read = self._read()
                        self._problems = read.problems
                        apply(read.loaded)
                        self.is_known = True
                    await self._tell_all()
                try:
                    async with asyncio.timeout(_GLANCE_S):
                        await self._changed.wait()
                except TimeoutError:
                    pass

    def trouble(self) -> list[str]:
        """Why the objects may be old, if they may."""
        return [cache.trouble for cache in self.caches.values() if cache.trouble is not None]

    def heard(self, reasons: Iterable[Reason]) -> None:
        """The reasons of a cycle: what the statuses of pools are made of."""
        fresh = {reason.subject.removeprefix("pool/"): reason for reason in reasons}
        if fresh != self._reasons:
            self._reasons = fresh
            self._changed.set()

    def _read(self) -> _Read:
        """Read every object by itself first, then together without those that have problems."""
        texts, problems = [], dict[tuple[str, str], tuple[Problem, ...]]()
        for name, cache in sorted(self.caches.items()):
            for key in sorted(cache.objects):
                text = _text(name, cache.objects[key])
                alone = load_text(text, f"{name} {key[1]}", KINDS)
                if alone.problems:
                    problems[name, key[1]] = alone.problems
                else:
                    texts.append((name, key[1], text))
        while True:
            if not texts:
                return _Read(Loaded(Objects(), ()), problems)
            whole = "\n---\n".join(text for _, _, text in texts)
            together = load_text(whole, self._namespace, KINDS, CHECKS)
            blamed = {(item.kind, item.name): item for item in together.objects}
            bad = {
                (item.kind, item.name): tuple(
                    p for p in together.problems if _is_in(p, item, blamed.values())
                )
                for item in together.objects
            }
            bad = {who: found for who, found in bad.items() if found}
            if not bad:
                return _Read(together, problems)
            problems |= bad
            texts = [item for item in texts if (item[0], item[1]) not in bad]

    async def _tell_all(self) -> None:
        for kind in KINDS:
            cache = self.caches[kind.name]
            for key, thing in sorted(cache.objects.items()):
                try:
                    await self._tell(kind, key, thing)
                except KubeError as error:
                    self._log.warning(
                        "a status cannot be written", object=f"{kind.name} {key[1]}", error=str(error)
                    )

    async def _tell(self, kind: Kind[Any], key: Key, thing: Whole) -> None:
        problems = self._problems.get((kind.name, key[1]), ())
        reason = self._reasons.get(key[1]) if kind.name == "RunnerPool" and not problems else None
        facts = [_accepted(problems), *_pool_facts(reason)]
        numbers = _pool_numbers(reason)
        generation = thing.metadata.generation
        told = (thing.metadata.uid, generation, tuple(facts), tuple(numbers.items()))
        if self._told.get((kind.name, key)) == told:
            return
        conditions = [
            Condition(name, status, why, message, generation, self._since(kind.name, key, name, status))
            for name, status, why, message in facts
        ]
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "conditions": msgspec.to_builtins(conditions),
            **numbers,
        }
        body = {"metadata": {"name": key[1], "namespace": key[0]}, "status": status}
        await self._writer.apply(resource_of(kind), body, Thing, key[0], subresource="status", force=True)
        if problems:
            text = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
            await self._events.tell(thing, resource_of(kind), "NotAccepted", text, warning=True)
        self._told[kind.name, key] = told

    def _since(self, kind: str, key: Key, name: str, status: str) -> str:
        known = self._conditions.get((kind, key, name))
        if known is None or known[0] != status:
            known = self._conditions[kind, key, name] = (status, self._clock.now())
        return write_instant(known[1])


class Seat(Struct, frozen=True):
    """Where a replica runs: which cluster and namespace, who it is, and how long a leader leads."""

    access: Access
    namespace: str
    identity: str
    term: Term = Term()


class Cluster:
    """One replica in a cluster: the objects it follows, and its part in the election."""

    def __init__(
        self, seat: Seat, clock: Clock, rng: random.Random, log: Log, wake: Callable[[], None]
    ) -> None:
        self._reader = Client(seat.access, clock, rng, limit=RateLimit(clock))
        self.leadership = Leadership(
            self._reader, LEASE, seat.namespace, seat.identity, clock, rng, log, wake, seat.term
        )
        self._writer = Client(seat.access, clock, rng, limit=RateLimit(clock), fence=self.leadership.holds)
        self.objects = ClusterObjects(self._reader, seat.namespace, clock, rng, log, self._writer)
        for warning in seat.access.warnings:
            log.warning(warning)

    def may_act(self) -> bool:
        """Only the leader acts, and only once it knows what is wanted."""
        return self.objects.is_known and self.leadership.holds()

    async def run(self, apply: Callable[[Loaded], None]) -> None:
        """Take part until cancelled; the lease is given back then."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.leadership.run(), name="lease")
                group.create_task(self.objects.run(apply), name="objects")
        finally:
            await self._reader.close()
            await self._writer.close()


def _text(kind: str, thing: Whole) -> str:
    """The object as a file would hold it."""
    meta = thing.metadata
    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": kind,
        "metadata": {"name": meta.name, "labels": meta.labels},
        "spec": thing.spec,
    }
    return msgspec.json.encode(body).decode()


def _is_in(problem: Problem, item: Any, others: Iterable[Any]) -> bool:
    """Whether a problem stands within an object: from its line to the next one's."""
    after = [other.line for other in others if other.line > item.line]
    return bool(item.line <= problem.line < min(after, default=2**31))


def _accepted(problems: tuple[Problem, ...]) -> tuple[str, str, str, str]:
    if not problems:
        return "Accepted", "True", "Valid", ""
    text = "; ".join(
        f"{problem.path}: {problem.message}" if problem.path else problem.message for problem in problems
    )
    return "Accepted", "False", "Invalid", text


def _pool_facts(reason: Reason | None) -> list[tuple[str, str, str, str]]:
    if reason is None:
        return []
    code = "".join(part.capitalize() for part in reason.code.removeprefix("pool.").split("-"))
    ready = number(reason.terms, "idle") + number(reason.terms, "busy") >= number(reason.terms, "target")
    stale = reason.terms.get("stale_since") is not None
    return [
        ("Ready", "True" if ready else "False", code, sentence(reason)),
        ("Stale", "True" if stale else "False", "SourceSilent" if stale else "SourceAnswers", ""),
    ]


def _pool_numbers(reason: Reason | None) -> dict[str, Any]:
    if reason is None:
        return {}
    terms = reason.terms
    return {
        "wanted": number(terms, "target"),
        "ready": number(terms, "idle") + number(terms, "busy"),
        "busy": number(terms, "busy"),
        "booting": number(terms, "creating"),
        "waiting": number(terms, "unclaimed"),
        "old": number(terms, "old"),
        "why": sentence(reason),
    }
