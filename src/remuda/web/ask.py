"""Answers of the API for pages, from the routes of this process."""

import asyncio
from typing import Any, TypeVar

from remuda.control.routes import Call, Route, check_query, match
from remuda.ledger.store import Store
from remuda.loop.clock import Clock

T = TypeVar("T")


class AskRoutes:
    """Asks the routes of this process, without a detour over the network."""

    def __init__(self, routes: tuple[Route, ...], store: Store, clock: Clock) -> None:
        self._routes = routes
        self._store = store
        self.now = clock.now()

    async def get(self, path: str, kind: type[T], **query: object) -> T:
        """What the route of a path answers."""
        del kind  # it is the route's own type
        asked = _written(query)
        route, names = match(self._routes, "GET", path)
        check_query(route, asked)
        call = Call(names, asked)
        answer: Any
        if route.view is not None:
            view = route.view
            answer = await asyncio.to_thread(self._store.read, lambda db: view(db, call))
        else:
            assert route.handler is not None
            answer = await route.handler(call)
        return answer  # type: ignore[no-any-return]

    def routes(self) -> frozenset[str]:
        """All that can be asked without changing anything."""
        return frozenset(route.path for route in self._routes if route.method == "GET" or route.is_question)


def _written(query: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items() if value is not None}
