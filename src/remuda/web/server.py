"""
Serves the dashboard and the API over TCP, to who may: pages, what changes of them, assets, and the routes of the API.

One event loop serves this and everything else of the process, so nothing here may take long: what reads the store does so
in a thread, and a page that many watch is drawn once.
"""

import asyncio
import hashlib
import re
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TypeAlias

import msgspec
from aiohttp import web
from jinja2 import Environment
from msgspec import Struct

from remuda.control.answers import BODY, GOES_ON, GoesOn, problem, read_body
from remuda.control.documents import Kept
from remuda.control.openapi import document
from remuda.control.routes import LARGEST_BODY, Call, Route
from remuda.errors import BadInput, NotFound, RemudaError, Unavailable
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.web.access import Access, Person
from remuda.web.connections import Connections, most_connections
from remuda.web.draw import regions
from remuda.web.entrance import PERSON, SIGN_IN, SIGN_OUT, Entrance
from remuda.web.forward import ANSWERS, DISBELIEVED, Forwarder
from remuda.web.live import Hub
from remuda.web.page import Ask, Content, Page
from remuda.web.peers import PROVEN, STATEMENT, Disbelieved, Peers

#: how a page finds its facts: a fresh `Ask` each time, because it holds the time of asking
MakeAsk: TypeAlias = Callable[[], Ask]
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: seconds after which a watcher hears something though nothing changed
STILL_ALIVE_S = 5.0
#: of several replicas, seconds after which a page that stands still notices that another one leads
_LOOK_S = 1.0
_LARGEST_FORM = 4_096
_KEEPALIVE_S = 20.0
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: browsers send `Origin: null` with forms then, and who sends it could not be told from others.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
_ASSET = re.compile(r"[\w.-]+\.(css|js|svg|txt)")
_ASSET_PATH = re.compile(r"/assets/[^/]+/[^/]+")


class Site(Struct, frozen=True):
    """What is shown: pages in the order of the menu, templates, the API, and where facts come from."""

    pages: tuple[Page, ...]
    templates: Environment
    routes: tuple[Route, ...]
    make_ask: MakeAsk
    #: answers a route of the API
    answer: Callable[[Route], Handler]


class WebServer:
    """The dashboard on a port, until stopped."""

    def __init__(
        self,
        site: Site,
        access: Access,
        clock: Clock,
        log: Log,
        peers: Peers | None = None,
        still_alive_s: float | None = None,
    ) -> None:
        """
        With `peers`, a replica that does not lead passes on what it is asked.

        After `still_alive_s` seconds a watcher hears something though nothing changed, and whether it may go on is looked at.
        """
        self._still_alive_s = still_alive_s or (STILL_ALIVE_S if peers is None else _LOOK_S)
        largest = max((route.most_bytes or LARGEST_BODY for route in site.routes), default=LARGEST_BODY)
        self._replicas = Forwarder(peers, largest) if peers is not None else None
        self._site = site
        self._clock = clock
        self._log = log
        self._hub = Hub()
        self._assets = resources.files("remuda.web") / "assets"
        #: browsers ask for the assets of a new version, and all replicas of one version have the same
        self._version = _digest(self._assets)
        self._entrance = Entrance(access, clock, site.templates, self._version)
        self._questions = {route.path for route in site.routes if route.is_question}
        #: whether there is anything to change: not when only what is recorded is served
        self._can_change = any(route.method != "GET" and not route.is_question for route in site.routes)
        self._most = most_connections()
        self._watchers: Counter[str] = Counter()
        app = web.Application(client_max_size=LARGEST_BODY, middlewares=[self._guard])
        app.on_response_prepare.append(_add_headers)
        app.router.add_get("/assets/{version}/{name}", self._asset)
        app.router.add_get(SIGN_IN, self._entrance.show_sign_in)
        app.router.add_post(SIGN_IN, self._entrance.sign_in)
        described = msgspec.json.encode(document(site.routes), enc_hook=str)

        async def describe(_: web.Request) -> web.Response:
            return web.Response(body=described, content_type="application/json")

        app.router.add_get("/openapi.json", describe)
        for route in site.routes:
            app.router.add_route(route.method, route.path, site.answer(route))
        for page in site.pages:
            app.router.add_get(page.path, self._opener(page))
        app.router.add_route("*", "/{rest:.*}", self._nothing_here)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=1.0,
            keepalive_timeout=_KEEPALIVE_S,
        )
        self._connections: Connections | None = None
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self, listening: socket.socket) -> None:
        """Serve a socket that is bound already."""
        await self._runner.setup()
        server = self._runner.server
        assert server is not None
        self.port = listening.getsockname()[1]
        self._entrance.serve_at(self.port)
        self._connections = Connections(server, lambda: len(server.connections), self._most)
        self._server = await asyncio.get_running_loop().create_server(
            self._connections, sock=listening, backlog=64
        )

    def admit(self, access: Access) -> None:
        """Let these in from now on, and nobody else; whoever watches is looked at again, too."""
        self._entrance.admit(access)

    async def stop(self) -> None:
        """Stop listening; whoever watches is cut off."""
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()
        if self._replicas is not None:
            await self._replicas.close()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Everything but assets and signing in is for who is known; what changes something for who may."""
        if STATEMENT in request.headers:
            return await self._answer_replica(request, handler)
        person = self._entrance.person(request)
        self._welcome(request, person, lambda: self._is_ours() and self._entrance.person(request) is not None)
        is_asset = request.method in {"GET", "HEAD"} and _ASSET_PATH.fullmatch(request.path)
        is_sign_in = request.path == SIGN_IN and request.method in {"GET", "POST"}
        is_sign_out = request.path == SIGN_OUT and request.method == "POST"
        refused = self._entrance.too_often(request, person) or self._entrance.refusal(
            request,
            person,
            is_open=bool(is_asset or is_sign_in or is_sign_out),
            is_question=request.path in self._questions,
        )
        if refused is not None:
            return refused
        if is_sign_out:
            return await self._sign_out(request, person)
        if person is not None and not is_asset and not is_sign_in and not self._is_ours():
            return await self._pass_on(request, person)
        return await _answered(request, handler)

    def _welcome(self, request: web.Request, person: Person | None, goes_on: Callable[[], bool]) -> None:
        if person is not None:
            request[PERSON] = person
            request[GOES_ON] = GoesOn(goes_on)
            if self._connections is not None:
                self._connections.is_known(request)

    def _is_ours(self) -> bool:
        """Whether we answer ourselves: always, but for a replica that stands by and knows the others' secret."""
        return self._replicas is None or self._replicas.leader().is_self

    async def _pass_on(self, request: web.Request, person: Person) -> web.StreamResponse:
        """Ask the replica that leads; why it cannot be asked is a page that tries again, or a sentence for a program."""
        assert self._replicas is not None
        try:
            return await self._replicas.pass_on(
                request, person, lambda: self._entrance.person(request) is not None
            )
        except web.HTTPRequestEntityTooLarge:
            return problem(413, "the request is too large")
        except Unavailable as error:
            if "text/html" in request.headers.get("Accept", ""):
                return await self._excuse(request, str(error), 503)
            return problem(503, str(error))

    async def _sign_out(self, request: web.Request, person: Person | None) -> web.StreamResponse:
        """End a session here and, where another replica leads, there."""
        try:
            request[BODY] = await read_body(request, _LARGEST_FORM)
            answer = self._entrance.sign_out(request, person, request[BODY])
            if answer.status == 303 and person is not None and self._replicas and not self._is_ours():
                await self._replicas.tell(request, person)
        except web.HTTPRequestEntityTooLarge:
            return problem(413, "the request is too large")
        except (OSError, Unavailable) as error:
            self._log.error("a session was ended here alone, and until the next start", error=str(error))
            return self._entrance.sign_out(request, None, b"")
        return answer

    async def _answer_replica(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer what another replica passes on, to the person that it says; who only claims to be one is a stranger."""
        if self._replicas is None:
            return self._entrance.too_often(request, None) or problem(
                403, "this Remuda answers for itself: nothing can be passed on to it"
            )
        try:
            person = await self._replicas.receive(request)
        except web.HTTPRequestEntityTooLarge:
            return problem(413, "the request is too large")
        except Disbelieved as error:
            return self._entrance.too_often(request, None) or problem(DISBELIEVED, str(error))
        if self._entrance.has_ended(person):
            return self._entrance.stranger(request)
        self._welcome(request, person, lambda: self._is_ours() and not self._entrance.has_ended(person))
        if request.path == SIGN_OUT:
            self._entrance.end_session(person)
            return web.Response()
        # That it came from a page of ours was looked at by who passed it on; what the person may do, by both.
        refused = self._entrance.too_often(request, person) or self._entrance.refusal(
            request,
            msgspec.structs.replace(person, csrf=""),
            is_open=False,
            is_question=request.path in self._questions,
        )
        return refused or await _answered(request, handler)

    async def _asset(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        found = _ASSET.fullmatch(name)
        file = self._assets / name
        if found is None or not file.is_file():
            return problem(404, f"there is no {name}")
        # While replicas of two versions run, a page of one may ask the other for what it has otherwise.
        is_of_this = request.match_info["version"] == self._version
        return web.Response(
            body=file.read_bytes(),
            content_type=_KINDS[found[1]],
            charset="utf-8",
            headers={"Cache-Control": "private, max-age=31536000, immutable" if is_of_this else "no-store"},
        )

    async def _nothing_here(self, request: web.Request) -> web.StreamResponse:
        if "text/html" not in request.headers.get("Accept", ""):
            return problem(
                404, f"there is no {request.method} {request.path}; /openapi.json lists what there is"
            )
        return await self._excuse(request, f"There is no page {request.path}.", 404)

    def _opener(self, page: Page) -> Handler:
        """The page, or for who already has it what changes of it."""

        async def open_page(request: web.Request) -> web.StreamResponse:
            call = Call(dict(request.match_info), dict(request.query))
            is_watched = request.headers.get("Accept", "") == "text/event-stream"
            if is_watched and request.method == "GET":
                return await self._stream(request, page, call)
            try:
                return _html_answer(await self._draw(page, call, request[PERSON], request.path))
            except NotFound as error:
                return await self._excuse(request, str(error), 404)
            except BadInput as error:
                return await self._excuse(request, str(error), 400)
            except Unavailable as error:
                return await self._excuse(request, str(error), 503)

        return open_page

    async def _draw(self, page: Page, call: Call, person: Person, path: str) -> str:
        """The HTML of a page; a mistake of ours is a sentence too, and a line in the log."""
        unknown = sorted(set(call.query) - set(page.query))
        if unknown:
            known = ", ".join(page.query) or "none"
            raise BadInput(f"{', '.join(unknown)}: this page does not know that; it knows: {known}")
        try:
            content = await page.render(self._site.make_ask(), call)
            return await asyncio.to_thread(self._html, content, person, path)
        except RemudaError:
            raise
        except Exception as error:
            self._log.error("a page failed", page=page.path, error=f"{type(error).__name__}: {error}")
            raise Unavailable(
                "this page cannot be drawn because of a mistake in Remuda; its log says more"
            ) from error

    async def _excuse(self, request: web.Request, text: str, status: int) -> web.Response:
        """A page that says why there is no other."""
        title = "Not found" if status == 404 else "Not possible"
        content = Content("problem.html", {"text": text, "tries_again": status == 503}, title)
        html = await asyncio.to_thread(self._html, content, request[PERSON], request.path)
        return _html_answer(html, status)

    def _html(self, content: Content, person: Person, path: str) -> str:
        menu = tuple(
            (each.menu, each.path, _is_below(path, each.path)) for each in self._site.pages if each.menu
        )
        frame = {
            "menu": menu,
            "title": content.title,
            "person": person,
            "version": self._version,
            "now": self._clock.now(),
            "may_write": person.may_write and self._can_change,
        }
        return self._site.templates.get_template(content.template).render(frame | dict(content.values))

    async def _stream(self, request: web.Request, page: Page, call: Call) -> web.StreamResponse:
        person = request[PERSON]
        most, most_each = self._most * 3 // 4, self._most // 2
        if self._watchers.total() >= most or self._watchers[person.name] >= most_each:
            return problem(503, "too many pages are open already: close one")

        drawn: tuple[list[Kept], dict[str, str]] | None = None

        async def draw() -> dict[str, str]:
            nonlocal drawn
            if not page.family:
                return regions(await self._draw(page, call, person, request.path))
            # Which there are is asked each second; what takes long only when that changed.
            there = await self._site.make_ask().get("/v1/documents", list[Kept], family=page.family)
            if drawn is None or drawn[0] != there:
                drawn = there, regions(await self._draw(page, call, person, request.path))
            return drawn[1]

        # Who may change things sees the buttons for it: what is drawn depends on that, and not on who it is.
        key = f"{person.role} {request.path_qs}"
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        self._watchers[person.name] += 1
        try:
            await response.prepare(request)
            async with aclosing(self._hub.watch(key, draw, self._still_alive_s)) as changes:
                async for change in changes:
                    if not request[GOES_ON].look():
                        break  # the page asks again, and is told why or passed on
                    await response.write(_event(change, self._clock.now(), person.csrf))
        except ConnectionError:
            pass  # whoever watched has gone
        finally:
            self._watchers[person.name] -= 1
            self._watchers += Counter()  # whoever watches nothing any more is forgotten
        return response


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return problem(error.status, error.reason)


def _digest(assets: Traversable) -> str:
    """What changes when any asset does."""
    found = sorted((file.name, file.read_bytes()) for file in assets.iterdir() if file.is_file())
    return hashlib.sha256(repr(found).encode()).hexdigest()[:12]


def _html_answer(html: str, status: int = 200) -> web.Response:
    return web.Response(
        status=status, text=html, content_type="text/html", headers={"Cache-Control": "no-store"}
    )


def _event(change: tuple[dict[str, str], str] | None, now: int, proof: str) -> bytes:
    if change is None:
        return b": still here\n\n"
    fresh, text = change
    # Who signed in again meanwhile has another proof.
    data = {"now": now, "regions": fresh, "problem": text, "proof": proof}
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if ANSWERS in request:
        response.headers[PROVEN] = request[ANSWERS]


def _is_below(path: str, page: str) -> bool:
    return path == page or (page != "/" and path.startswith(page.rstrip("/") + "/"))


def listen(address: str, port: int, option: str = "--web-") -> socket.socket:
    """A socket for the dashboard; `BadInput` when it cannot be had. `option` is how the options for it begin."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=64)
    except (OSError, OverflowError) as error:
        why = str(getattr(error, "strerror", None) or error).partition(" (while attempting")[0]
        raise BadInput(
            f"the dashboard cannot listen on port {port} of {address}: {why}; choose another {option}port, or 0 for any"
            f" free one, or another {option}address"
        ) from error
