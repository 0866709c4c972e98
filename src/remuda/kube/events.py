"""Events that tell people: the same one again is counted, not repeated."""

from typing import Any

from msgspec import Struct

from remuda.kube.client import Client
from remuda.kube.errors import Missing
from remuda.kube.resources import EVENTS, Resource, Thing
from remuda.loop.clock import Clock
from remuda.model.times import MINUTE, Instant, write_instant

COMPONENT = "remuda"
#: the same event within this time is the same one, seen again
_SAME_FOR = 10 * MINUTE
_MOST = 4_096


class _Told(Struct):
    name: str
    namespace: str
    count: int
    first_at: Instant
    last_at: Instant


class Events:
    """Tells events about objects; what it told before is remembered for ten minutes."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._told: dict[tuple[str, ...], _Told] = {}

    async def tell(
        self, about: Thing, resource: Resource, reason: str, message: str, *, warning: bool = False
    ) -> None:
        """Tell an event, or count it once more."""
        now = self._clock.now()
        self._told = {key: told for key, told in self._told.items() if now - told.last_at < _SAME_FOR}
        key = (about.metadata.uid, reason, message)
        told = self._told.get(key)
        if told is not None:
            told.count += 1
            told.last_at = now
            change = {"count": told.count, "lastTimestamp": write_instant(now)}
            try:
                await self._client.patch(EVENTS, told.name, change, Thing, told.namespace)
            except Missing:
                self._told.pop(key)
            else:
                return
        namespace = about.metadata.namespace or "default"
        made = await self._client.create(
            EVENTS, self._body(about, resource, reason, message, now, warning=warning), Thing, namespace
        )
        if len(self._told) < _MOST:
            self._told[key] = _Told(made.metadata.name, namespace, 1, now, now)

    def _body(
        self, about: Thing, resource: Resource, reason: str, message: str, now: Instant, *, warning: bool
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
