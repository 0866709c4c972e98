"""Routes as data: what is asked, what is answered, and who does it."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from msgspec import Struct, structs

from remuda.errors import BadInput, NotFound

if TYPE_CHECKING:  # a command that asks a running process needs no store
    from remuda.ledger.schema import Tables
    from remuda.ledger.sql import Database
    from remuda.ledger.store import Store

#: the most bytes of a request, unless its route takes more
LARGEST_BODY = 1024 * 1024


class Call(Struct, frozen=True):
    """One request: the names in its path, its query, and its body, already of the route's type."""

    names: dict[str, str]
    query: dict[str, str]
    body: Any = None

    def number(self, name: str) -> int:
        """A whole number from the path."""
        text = self.names[name]
        if not re.fullmatch(r"[0-9]{1,18}", text):
            raise BadInput(f"{name} wants a whole number, found {text!r}")
        return int(text)

    def instant(self, name: str, default: int) -> int:
        """An instant in milliseconds from the query."""
        text = self.query.get(name)
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,15}", text):
            raise BadInput(f"{name} wants milliseconds since 1970, found {text!r}")
        return int(text)


Answer: TypeAlias = Any
View: TypeAlias = "Callable[[Database, Call], Answer]"
Handler: TypeAlias = Callable[[Call], Awaitable[Answer | AsyncIterator[bytes]]]


class Route(Struct, frozen=True):
    """
    One thing that can be asked.

    Exactly one of `view` (reads the store, changes nothing, works also when nothing runs) and `handler`.
    """

    method: str
    path: str
    summary: str
    answer: Any
    view: "View | None" = None
    handler: Handler | None = None
    body: Any = None
    query: dict[str, str] = {}
    #: the answer is a stream of bytes
    streams: bool = False
    #: the largest body; None is what all routes take
    most_bytes: int | None = None
    #: what of an answer is for who may only look; all of it by default
    for_readers: Callable[[Any], Any] | None = None
    #: it changes nothing, though it is a POST for what it is sent
    is_question: bool = False
    #: only on the socket of this host: what machines ask
    is_local: bool = False
    #: `view` reads the job queue, which hosts may share in another database than the store
    is_of_queue: bool = False
    #: beside the ledger's, the tables that `view` reads
    tables: "tuple[Tables, ...]" = ()


def asked_of(store: "Store", route: Route, view: "View | None" = None) -> Route:
    """A view that reads another store than the others do; `view` is what reads it, if not its own."""
    read = view or route.view
    assert read is not None

    async def answer(call: Call) -> Answer:
        import asyncio  # noqa: PLC0415 - a command that asks a running process has no event loop

        return await asyncio.to_thread(store.read, lambda db: read(db, call))

    return structs.replace(route, view=None, handler=answer)


def check_query(route: Route, query: Iterable[str]) -> None:
    """Refuse what the route does not know, with what it does."""
    unknown = sorted(set(query) - set(route.query))
    if unknown:
        known = f"the known ones are {', '.join(route.query)}" if route.query else "it takes none"
        raise BadInput(f"{', '.join(unknown)} is no query parameter of {route.method} {route.path}: {known}")


def match(routes: tuple[Route, ...], method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The route of a path and the names in it; `NotFound` when there is none."""
    for route in routes:
        if route.method == method:
            found = _pattern(route.path).fullmatch(path)
            if found:
                return route, {name: unquote(text) for name, text in found.groupdict().items()}
    raise NotFound(f"there is no {method} {path}")


_patterns: dict[str, re.Pattern[str]] = {}


def _pattern(path: str) -> re.Pattern[str]:
    if path not in _patterns:
        _patterns[path] = re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path)))
    return _patterns[path]
