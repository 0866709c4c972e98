"""What a page is: a path, its place in the menu, and a function from answers of the API to what is shown."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from remuda.control.routes import Call
from remuda.model.times import Instant

T = TypeVar("T")


class Ask(Protocol):
    """Where a page's facts come from: the HTTP API, in this process or another."""

    #: when the page is drawn
    now: Instant

    async def get(self, path: str, kind: type[T], **query: object) -> T:
        """What `GET path` answers; what is None is left out of the query. Raises `RemudaError` with a sentence."""
        ...

    async def question(self, path: str, body: object, kind: type[T]) -> T:
        """What `POST path` answers to a question, which changes nothing; raises as `get`."""
        ...

    def routes(self) -> frozenset[str]:
        """The paths that can be asked for, as `/v1/why/pool/{pool}`; what a page shows may depend on what there is."""
        ...


class Role(StrEnum):
    """What a person may do."""

    READ = "read"
    WRITE = "write"


class Alarm(Struct, frozen=True):
    """Something that a person should know before anything else: what it is, and what to do."""

    text: str
    #: where to go on
    link: str = ""


class Content(Struct, frozen=True):
    """What a page shows: a template of its job, and the values in it."""

    template: str
    values: Mapping[str, Any]
    title: str = ""
    #: of a panel of Now: what comes first there
    alarms: tuple[Alarm, ...] = ()


Render: TypeAlias = Callable[[Ask, Call], Awaitable[Content]]


class Page(Struct, frozen=True):
    """
    One page. `path` is written as that of a route, `/pools/{pool}`.

    The regions of its template, from `<section id="x" data-live>` to `<!--/x-->`, are sent again whenever they change.
    Raising `NotFound` or `BadInput` shows the sentence.
    """

    path: str
    render: Render
    #: how it is called in the menu; nothing for a page that others lead to
    menu: str = ""
    query: Mapping[str, str] = {}
    #: of the documents that it is drawn from; it is drawn again only when one of them was kept or is forgotten
    family: str = ""


#: draws a job's part of the page Now; None while there is nothing to show
RenderPanel: TypeAlias = Callable[[Ask], Awaitable[Content | None]]
