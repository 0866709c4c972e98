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
        return await self._answer(route, Call(names, asked))  # type: ignore[no-any-return]

    async def question(self, path: str, body: object, kind: type[T]) -> T:
        """What a route that is sent something and changes nothing answers; any other is none that a page may ask."""
        del kind
        route, names = match(tuple(each for each in self._routes if each.is_question), "POST", path)
        return await self._answer(route, Call(names, {}, body))  # type: ignore[no-any-return]

    async def _answer(self, route: Route, call: Call) -> Any:
        if route.view is not None:
            view = route.view
            return await asyncio.to_thread(self._store.read, lambda db: view(db, call))
        assert route.handler is not None
        return await route.handler(call)

    def routes(self) -> frozenset[str]:
        """All that can be asked without changing anything."""
        return frozenset(route.path for route in self._routes if route.method == "GET" or route.is_question)


def _written(query: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items() if value is not None}
