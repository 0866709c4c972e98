"""
Statuses of objects: whether each was accepted, with the full list of problems, and what its job says about it.

Only the leader writes, and only what differs from what was written before.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from remuda.cluster.followed import FollowedObjects, StoredObject, resource_of
from remuda.kube.client import Client
from remuda.kube.errors import Fenced, KubeError, Missing
from remuda.kube.events import Events
from remuda.kube.resources import Key, KubeObject
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.model.times import write_instant
from remuda.objects.kinds import Kind
from remuda.objects.problems import Problem
from remuda.runtime import Condition, Status


class _Shown(Struct, frozen=True, rename="camel"):
    """One condition as Kubernetes keeps it."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int
    last_transition_time: str = ""


class StatusWriter:
    """Writes the statuses of followed objects, and an event for each that was not accepted."""

    def __init__(
        self,
        objects: FollowedObjects,
        writer: Client,
        clock: Clock,
        log: Log,
        status: Callable[[str, str], Status],
    ) -> None:
        """`writer` is fenced; `status` is asked what a job says about an object, by kind and name."""
        self._objects = objects
        self._writer = writer
        self._clock = clock
        self._log = log
        self._status = status
        self._events = Events(writer, clock)
        #: by uid, what was written; and by uid and type, a condition's status with the time it began
        self._written: dict[str, tuple[Any, ...]] = {}
        self._began: dict[tuple[str, str], tuple[str, str]] = {}

    def forget(self) -> None:
        """Another replica writes meanwhile, and may write otherwise."""
        self._written, self._began = {}, {}

    async def write_all(self) -> None:
        """Write what changed. What cannot be written is tried again at the next call."""
        uids = self._objects.uids()
        self._written = {uid: written for uid, written in self._written.items() if uid in uids}
        self._began = {which: began for which, began in self._began.items() if which[0] in uids}
        for kind in self._objects.kinds:
            for key, item in sorted(self._objects.caches[kind.name].objects.items()):
                try:
                    await self._write(kind, key, item)
                except Fenced:
                    return
                except Missing:
                    continue  # the watch will say so
                except KubeError as error:
                    self._log.warning(
                        "a status cannot be written", object=f"{kind.name} {key[1]}", error=str(error)
                    )

    async def _write(self, kind: Kind[Any], key: Key, item: StoredObject) -> None:
        problems = self._objects.problems.get((kind.name, key[1]), ())
        generation, uid = item.metadata.generation, item.metadata.uid
        said = self._status(kind.name, key[1]) if uid in self._objects.in_force else Status()
        accepted = _accepted(problems, said.incomplete)
        facts = (accepted, *said.conditions)
        written = (generation, facts, tuple(said.fields.items()))
        if self._written.get(uid) == written:
            return
        conditions = {
            fact.type: msgspec.to_builtins(
                _Shown(
                    fact.type,
                    str(fact.is_true),
                    fact.reason,
                    fact.message,
                    generation,
                    self._since(item, fact.type, str(fact.is_true)),
                )
            )
            for fact in facts
        }
        status: dict[str, Any] = {**said.fields, "observedGeneration": generation}
        if not said.conditions and not problems:
            # What the leader before us wrote holds until our first cycle.
            status, conditions = {**item.status, **status}, {**item.conditions, **conditions}
        status["conditions"] = list(conditions.values())
        body = {"metadata": {"name": key[1], "namespace": key[0]}, "status": status}
        await self._writer.apply(
            resource_of(kind), body, KubeObject, key[0], subresource="status", force=True
        )
        if not accepted.is_true:
            await self._events.record(item, resource_of(kind), "NotAccepted", accepted.message, warning=True)
        self._written[uid] = written

    def _since(self, item: StoredObject, name: str, status: str) -> str:
        """When a condition became what it is: as we know, or as the leader before us wrote."""
        shown = item.conditions.get(name, {})
        known = self._began.get((item.metadata.uid, name)) or (
            shown.get("status", ""),
            shown.get("lastTransitionTime", ""),
        )
        if known[0] != status or not known[1]:
            known = (status, write_instant(self._clock.now()))
        self._began[item.metadata.uid, name] = known
        return known[1]


def _accepted(problems: tuple[Problem, ...], incomplete: str) -> Condition:
    if problems:
        listed = "; ".join(
            f"{problem.path}: {problem.message}" if problem.path else problem.message for problem in problems
        )
        return Condition("Accepted", False, "Invalid", listed)
    if incomplete:
        return Condition("Accepted", False, "Incomplete", incomplete)
    return Condition("Accepted", True, "Valid")
