"""Events for people: the same one again is counted, not repeated."""

from typing import Any

from msgspec import Struct

from remuda.kube.client import Client
from remuda.kube.errors import Missing
from remuda.kube.resources import EVENTS, KubeObject, Resource
from remuda.loop.clock import Clock
from remuda.model.times import MINUTE, Instant, write_instant

COMPONENT = "remuda"
#: the same event within this time is the same one, seen again
_SAME_FOR = 10 * MINUTE
_MOST = 4_096


class _Recorded(Struct):
    name: str
    namespace: str
    count: int
    first_at: Instant
    last_at: Instant


class Events:
    """Tells events about objects; what it known before is remembered for ten minutes."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._recorded: dict[tuple[str, ...], _Recorded] = {}

    async def record(
        self, about: KubeObject, resource: Resource, reason: str, message: str, *, warning: bool = False
    ) -> None:
        """Tell an event, or count it once more."""
        now = self._clock.now()
        self._recorded = {
            key: known for key, known in self._recorded.items() if now - known.last_at < _SAME_FOR
        }
        key = (about.metadata.uid, reason, message)
        known = self._recorded.get(key)
        if known is not None:
            known.count += 1
            known.last_at = now
            change = {"count": known.count, "lastTimestamp": write_instant(now)}
            try:
                await self._client.patch(EVENTS, known.name, change, KubeObject, known.namespace)
            except Missing:
                self._recorded.pop(key)
            else:
                return
        namespace = about.metadata.namespace or "default"
        made = await self._client.create(
            EVENTS, self._body(about, resource, reason, message, now, warning=warning), KubeObject, namespace
        )
        if len(self._recorded) < _MOST:
            self._recorded[key] = _Recorded(made.metadata.name, namespace, 1, now, now)

    def _body(
        self, about: KubeObject, resource: Resource, reason: str, message: str, now: Instant, *, warning: bool
    ) -> dict[str, Any]:
        at = write_instant(now)
        return {
            "metadata": {
                "generateName": f"{about.metadata.name}.",
                "namespace": about.metadata.namespace or "default",
            },
            "involvedObject": {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "name": about.metadata.name,
                "namespace": about.metadata.namespace,
                "uid": about.metadata.uid,
            },
            "reason": reason,
            "message": message[:1_024],
            "type": "Warning" if warning else "Normal",
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        }
