"""
Objects from an API server instead of files, and their status back.

Everything a person may write about objects is told on the objects themselves: `Accepted` with the full list of
problems, `Ready`, and `Stale` while a source does not answer. One object with a problem does not stop the others.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from remuda.catalog import CHECKS, FOLLOWED
from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.errors import Fenced, KubeError, Missing
from remuda.kube.events import Events
from remuda.kube.lease import Leadership, Term
from remuda.kube.limits import RateLimit
from remuda.kube.rbac import LEASE
from remuda.kube.resources import Key, Resource, Thing
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.model.plans import Reason
from remuda.model.times import write_instant
from remuda.objects.kinds import GROUP, VERSION, Kind
from remuda.objects.load import Loaded, Objects, load_text
from remuda.objects.problems import Problem
from remuda.output.words import UNKNOWN, number, sentence

#: how often statuses that could not be written are tried again
_GLANCE_S = 5.0


class Whole(Thing, frozen=True, gc=False):
    """An object of ours: its spec as it was written, and its status as it is shown."""

    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def shown(self) -> dict[str, dict[str, Any]]:
        """The conditions by type."""
        return {item["type"]: item for item in self.status.get("conditions", ())}


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


class _Text(Struct, frozen=True):
    """An object as a file would hold it."""

    kind: str
    name: str
    uid: str
    text: str


def resource_of(kind: Kind[Any]) -> Resource:
    """Where objects of a kind are."""
    return Resource(GROUP, VERSION, kind.plural, kind.name)


class ClusterObjects:
    """The objects of one namespace, followed; and what we tell about them."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        clock: Clock,
        rng: random.Random,
        log: Log,
        writer: Client,
        may_tell: Callable[[], bool],
    ) -> None:
        """`client` reads, always; `writer` is fenced and writes statuses and events, while `may_tell`."""
        self._writer = writer
        self._may_tell = may_tell
        self._namespace = namespace
        self._clock = clock
        self._log = log
        self._events = Events(writer, clock)
        self._changed = asyncio.Event()
        #: uid, generation and labels of every object that was read
        self._known: dict[tuple[str, Key], tuple[Any, ...]] = {}
        #: by uid, what was told; and by uid and type, a condition's status with the time it began
        self._told: dict[str, tuple[Any, ...]] = {}
        self._began: dict[tuple[str, str], tuple[str, str]] = {}
        self._problems: dict[tuple[str, str], tuple[Problem, ...]] = {}
        #: by pool, what only shows when its words are followed: a Secret that is not there
        self._complaints: dict[str, str] = {}
        self._reasons: dict[str, Reason] = {}
        #: by pool, why its source gives no good answer
        self._silent: Mapping[str, str] = {}
        self._followed = Objects()
        #: by uid, the text of every object that is followed
        self._in_force: dict[str, str] = {}
        #: True once all objects were read; before that nothing may be judged by them
        self.is_known = False
        self.caches: dict[str, Cache[Whole]] = {
            kind.name: Cache(
                client, resource_of(kind), Whole, clock, rng, self._changed.set, namespace=namespace
            )
            for kind in FOLLOWED
        }

    async def run(self, apply: Callable[[Loaded], None]) -> None:
        """Follow the objects and hand them on whenever they change; tell statuses meanwhile."""
        told: list[str] = []
        async with asyncio.TaskGroup() as group:
            for name, cache in self.caches.items():
                group.create_task(cache.run(), name=f"cache {name}")
            while True:
                self._changed.clear()
                if self.trouble() != told:
                    told = self.trouble()
                    tell = self._log.warning if told else self._log.info
                    tell(
                        "the objects cannot be followed" if told else "the objects are followed", trouble=told
                    )
                for cache in self.caches.values():
                    cache.take_changes()
                if all(cache.is_synced for cache in self.caches.values()):
                    self._look(apply)
                    if self._may_tell():
                        await self._tell_all()
                    else:
                        # Whoever tells meanwhile may tell otherwise.
                        self._told, self._began, self._reasons = {}, {}, {}
                try:
                    async with asyncio.timeout(_GLANCE_S):
                        await self._changed.wait()
                except TimeoutError:
                    pass

    def wake(self) -> None:
        """Look again at once: who may tell has changed."""
        self._changed.set()

    def complain(self, pools: dict[str, str]) -> None:
        """What a person must mend for pools to work, beside what their words say: it is told like a problem."""
        if pools != self._complaints:
            self._complaints = pools
            self._changed.set()

    def broken_pools(self) -> tuple[str, ...]:
        """The pools that are there but cannot be followed, not even as they were before."""
        followed = {item.name for item in self._followed if item.kind == "RunnerPool"}
        return tuple(
            sorted(name for kind, name in self._problems if kind == "RunnerPool" and name not in followed)
        )

    def _look(self, apply: Callable[[Loaded], None]) -> None:
        """Read the objects again if there is anything new: not when only a status has changed."""
        known = {
            (name, key): (thing.metadata.uid, thing.metadata.generation, thing.metadata.labels)
            for name, cache in self.caches.items()
            for key, thing in cache.objects.items()
        }
        if known == self._known and self.is_known:
            return
        self._known = known
        uids = {about[0] for about in known.values()}
        self._told = {uid: told for uid, told in self._told.items() if uid in uids}
        self._began = {which: began for which, began in self._began.items() if which[0] in uids}
        read = self._read()
        self._problems = read.problems
        self._followed = read.loaded.objects
        apply(read.loaded)
        self.is_known = True

    async def read_once(self) -> tuple[Loaded, tuple[Problem, ...]]:
        """The objects as they are now: those that are whole, and the problems of the others."""
        await asyncio.gather(*(cache.load() for cache in self.caches.values()))
        read = self._read()
        return read.loaded, tuple(problem for found in read.problems.values() for problem in found)

    def trouble(self) -> list[str]:
        """Why the objects may be old, if they may."""
        return [cache.trouble for cache in self.caches.values() if cache.trouble is not None]

    def heard(self, reasons: Iterable[Reason], silent: Mapping[str, str]) -> None:
        """The reasons of a cycle, and by pool why its source is silent: what the statuses of pools are made of."""
        fresh = {reason.subject.removeprefix("pool/"): reason for reason in reasons}
        if fresh != self._reasons or silent != self._silent:
            self._reasons, self._silent = fresh, silent
            self._changed.set()

    def _read(self) -> _Read:
        """
        Read every object by itself first, then together without those that have problems.

        Of two that cannot both be, the older is right. Who has a problem stays in force as it was accepted before, and
        a ceiling that does not fit its pools holds as far as it can: a mistake must not take machines away.
        """
        things = [
            (thing.metadata.creation_timestamp, kind, key[1], thing)
            for kind, cache in self.caches.items()
            for key, thing in cache.objects.items()
        ]
        texts, problems = list[_Text](), dict[tuple[str, str], tuple[Problem, ...]]()
        for _, kind, name, thing in sorted(things, key=lambda item: item[:3]):
            text: str | None = _text(kind, thing)
            alone = load_text(str(text), f"{kind} {name}", FOLLOWED)
            if alone.problems:
                problems[kind, name] = _unplaced(alone.problems, kind, name)
                text = self._in_force.get(thing.metadata.uid)
            if text is not None:
                texts.append(_Text(kind, name, thing.metadata.uid, text))
        while True:
            together = Loaded(Objects(), ())
            if texts:
                whole = "\n---\n".join(item.text for item in texts)
                together = load_text(whole, self._namespace, FOLLOWED, CHECKS)
            bad = set[tuple[str, str]]()
            for item in together.objects:
                found = tuple(p for p in together.problems if _is_in(p, item, together.objects))
                if found:
                    problems.setdefault((item.kind, item.name), _unplaced(found, item.kind, item.name))
                    bad |= {(item.kind, item.name)} if item.kind != "Ceiling" else set()
            if not bad:
                self._in_force = {item.uid: item.text for item in texts}
                return _Read(together, problems)
            texts = [kept for item in texts if (kept := self._kept(item, bad)) is not None]

    def _kept(self, item: _Text, bad: set[tuple[str, str]]) -> _Text | None:
        """What stays of an object: itself, or as it was accepted before, if it was."""
        if (item.kind, item.name) not in bad:
            return item
        before = self._in_force.get(item.uid)
        if before is None or before == item.text:
            return None
        return _Text(item.kind, item.name, item.uid, before)

    async def _tell_all(self) -> None:
        for kind in FOLLOWED:
            cache = self.caches[kind.name]
            for key, thing in sorted(cache.objects.items()):
                try:
                    await self._tell(kind, key, thing)
                except Fenced:
                    return
                except Missing:
                    continue  # the watch will tell
                except KubeError as error:
                    self._log.warning(
                        "a status cannot be written", object=f"{kind.name} {key[1]}", error=str(error)
                    )

    async def _tell(self, kind: Kind[Any], key: Key, thing: Whole) -> None:
        problems = self._problems.get((kind.name, key[1]), ())
        generation, uid = thing.metadata.generation, thing.metadata.uid
        reason = self._reasons.get(key[1]) if kind.name == "RunnerPool" and uid in self._in_force else None
        complaint = self._complaints.get(key[1], "") if kind.name == "RunnerPool" else ""
        facts = [_accepted(problems, complaint), *_pool_facts(reason, self._silent.get(key[1], ""))]
        numbers = _pool_numbers(reason)
        told = (generation, tuple(facts), tuple(numbers.items()))
        if self._told.get(uid) == told:
            return
        conditions = {
            name: msgspec.to_builtins(
                Condition(name, status, why, message, generation, self._since(thing, name, status))
            )
            for name, status, why, message in facts
        }
        status: dict[str, Any] = {**numbers, "observedGeneration": generation}
        if reason is None and not problems:
            # What the leader before us told holds until our first cycle.
            status, conditions = {**thing.status, **status}, {**thing.shown, **conditions}
        status["conditions"] = list(conditions.values())
        body = {"metadata": {"name": key[1], "namespace": key[0]}, "status": status}
        await self._writer.apply(resource_of(kind), body, Thing, key[0], subresource="status", force=True)
        if problems or complaint:
            told_of = _told_of(problems) or complaint
            await self._events.tell(thing, resource_of(kind), "NotAccepted", told_of, warning=True)
        self._told[uid] = told

    def _since(self, thing: Whole, name: str, status: str) -> str:
        """When a condition became what it is: as we know, or as the leader before us told."""
        shown = thing.shown.get(name, {})
        known = self._began.get((thing.metadata.uid, name)) or (
            shown.get("status", ""),
            shown.get("lastTransitionTime", ""),
        )
        if known[0] != status or not known[1]:
            known = (status, write_instant(self._clock.now()))
        self._began[thing.metadata.uid, name] = known
        return known[1]


class ReplicaConfig(Struct, frozen=True):
    """Where a replica runs: which cluster and namespace, who it is, and how long a leader leads."""

    access: Access
    namespace: str
    identity: str
    term: Term = Term()


class Cluster:
    """One replica in a cluster: the objects it follows, and its part in the election."""

    def __init__(
        self, replica: ReplicaConfig, clock: Clock, rng: random.Random, log: Log, wake: Callable[[], None]
    ) -> None:
        def changed() -> None:
            self.objects.wake()
            wake()

        self.namespace = replica.namespace
        self.reader = Client(replica.access, clock, rng, limit=RateLimit(clock))
        # Nothing else may keep its renewal waiting.
        self._elector = Client(replica.access, clock, rng)
        self.leadership = Leadership(
            self._elector, LEASE, replica.namespace, replica.identity, clock, rng, log, changed, replica.term
        )
        holds = self.leadership.holds
        self.writer = Client(replica.access, clock, rng, limit=RateLimit(clock), fence=holds)
        self.objects = ClusterObjects(self.reader, replica.namespace, clock, rng, log, self.writer, holds)
        for warning in replica.access.warnings:
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
            await self._elector.close()
            await self.reader.close()
            await self.writer.close()


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


def _unplaced(problems: Iterable[Problem], kind: str, name: str) -> tuple[Problem, ...]:
    """Problems of an object that is in no file: its lines would be those of a text that nobody wrote."""
    return tuple(Problem(f"{kind} {name}", 0, 0, problem.path, problem.message) for problem in problems)


def _accepted(problems: tuple[Problem, ...], complaint: str) -> tuple[str, str, str, str]:
    if problems:
        return "Accepted", "False", "Invalid", _told_of(problems)
    if complaint:
        return "Accepted", "False", "Incomplete", complaint
    return "Accepted", "True", "Valid", ""


def _told_of(problems: tuple[Problem, ...]) -> str:
    return "; ".join(
        f"{problem.path}: {problem.message}" if problem.path else problem.message for problem in problems
    )


def _pool_facts(reason: Reason | None, silent: str) -> list[tuple[str, str, str, str]]:
    if reason is None:
        return []
    code = "".join(part.capitalize() for part in reason.code.removeprefix("pool.").split("-"))
    has_all = number(reason.terms, "idle") + number(reason.terms, "busy") >= number(reason.terms, "target")
    ready = has_all and reason.code not in UNKNOWN
    facts = [("Ready", "True" if ready else "False", code, sentence(reason))]
    stale_since = reason.terms.get("stale_since")
    if isinstance(stale_since, int) or silent:
        since = f" since {write_instant(stale_since)}" if isinstance(stale_since, int) else ""
        told = f"no good answer{since}: the pool does not shrink meanwhile"
        told += f"; {silent}" if silent else ""
        return [*facts, ("Stale", "True", "SourceSilent", told)]
    return [*facts, ("Stale", "False", "SourceAnswers", "")]


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
