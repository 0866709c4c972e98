"""
How many connections the dashboard holds: few of strangers and those not for long, and never so many that Remuda has none left.

A connection is a stranger's until somebody who is known has asked something over it. Whoever connects and says nothing, or
says it too slowly, is cut off; when there are many, the oldest gives way to the next.
"""

import asyncio
import resource
from collections.abc import Callable

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

#: seconds from connecting to the first request of somebody who is known
DEADLINE_S = 10.0
_MOST, _LEAST = 512, 48


def most_connections(descriptors: int | None = None) -> int:
    """How many connections may be open at once: a third of the files that the process may have open."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if descriptors is None else descriptors
    if limit == resource.RLIM_INFINITY:
        return _MOST
    return max(_LEAST, min(_MOST, limit // 3))


class Connections:
    """Makes what serves a connection, for each that is accepted."""

    def __init__(
        self,
        serve: Callable[[], RequestHandler],
        count: Callable[[], int],
        most: int,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """`serve` makes the protocol of a connection, `count` says how many are open."""
        self._serve = serve
        self._count = count
        self._most = most
        self._deadline_s = deadline_s
        #: those of strangers, the oldest first
        self._strangers: dict[RequestHandler, None] = {}

    def __call__(self) -> asyncio.Protocol:
        """The protocol of a new connection."""
        if self._count() >= self._most and not self._drop_oldest():
            return _Refusal()
        # Half of all: many pages that come back at once are strangers until their first request was read.
        while len(self._strangers) >= self._most // 2:
            self._drop_oldest()
        made = self._serve()
        self._strangers[made] = None
        asyncio.get_running_loop().call_later(self._deadline_s, self._drop, made)
        return made

    def is_known(self, request: web.Request) -> None:
        """Somebody who is known asks: the connection may stay."""
        self._strangers.pop(request.protocol, None)

    def _drop_oldest(self) -> bool:
        """Cut off the stranger who came first; False when there is none."""
        return any(self._drop(oldest) for oldest in list(self._strangers))

    def _drop(self, handler: RequestHandler) -> bool:
        """Cut off a stranger; False for who is known by now, or has gone."""
        if handler not in self._strangers:
            return False
        del self._strangers[handler]
        if handler.transport is None:
            return False
        handler.transport.abort()
        return True


class _Refusal(asyncio.Protocol):
    """A connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it at once."""
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
