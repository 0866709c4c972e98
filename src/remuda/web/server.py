"""
Serves the dashboard and the API over TCP, to who may: pages, what changes of them, assets, and the routes of the API.

One event loop serves this and everything else of the process, so nothing here may take long: what reads the store does so
in a thread, and a page that many watch is drawn once.
"""

import asyncio
import re
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from importlib import resources
from typing import TypeAlias
from urllib.parse import urlencode

import msgspec
from aiohttp import web
from jinja2 import Environment
from msgspec import Struct

from remuda.control.answers import problem
from remuda.control.openapi import document
from remuda.control.routes import LARGEST_BODY, Call, Route
from remuda.errors import BadInput, NotFound, RemudaError, Unavailable
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.web.access import COOKIE, SESSION, Access, Asked, Person, is_proven
from remuda.web.draw import regions
from remuda.web.limits import GUESSES, REQUESTS, Limiter
from remuda.web.live import Hub
from remuda.web.page import Ask, Content, Page

#: how a page finds its facts: a fresh `Ask` each time, because it holds the time of asking
MakeAsk: TypeAlias = Callable[[], Ask]
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: pages that may be watched at once; each is a connection that stays open
MOST_WATCHERS = 512
#: seconds after which a watcher hears something though nothing changed
STILL_ALIVE_S = 15.0
PROOF = "X-Remuda-Proof"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
_ASSET = re.compile(r"[\w.-]+\.(css|js|svg|txt)")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PERSON: web.RequestKey[Person] = web.RequestKey("person", Person)


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

    def __init__(self, site: Site, access: Access, clock: Clock, log: Log) -> None:
        self._site = site
        self._access = access
        self._clock = clock
        self._log = log
        self._hub = Hub()
        self._requests = Limiter(REQUESTS, clock)
        self._guesses = Limiter(GUESSES, clock)
        #: changes with every start, so that browsers ask for assets of a new version
        self._version = secrets.token_hex(4)
        self._questions = {route.path for route in site.routes if route.is_question}
        self._assets = resources.files("remuda.web") / "assets"
        app = web.Application(client_max_size=LARGEST_BODY, middlewares=[self._guard])
        app.router.add_get("/assets/{version}/{name}", self._asset)
        app.router.add_post("/sign-in", self._sign_in)
        app.router.add_post("/sign-out", self._sign_out)
        described = msgspec.json.encode(document(site.routes), enc_hook=str)

        async def describe(_: web.Request) -> web.Response:
            return web.Response(body=described, content_type="application/json")

        app.router.add_get("/openapi.json", describe)
        for route in site.routes:
            app.router.add_route(route.method, route.path, site.answer(route))
        for page in site.pages:
            app.router.add_get(page.path, self._opener(page))
        app.router.add_route("*", "/{rest:.*}", self._nothing_here)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        self.port = 0

    async def start(self, listening: socket.socket) -> None:
        """Serve a socket that is bound already."""
        await self._runner.setup()
        await web.SockSite(self._runner, listening, backlog=256).start()
        self.port = listening.getsockname()[1]

    async def stop(self) -> None:
        """Stop listening; whoever watches is cut off."""
        await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Everything but assets and signing in is for who is known; what changes something for who may."""
        peer = request.remote or ""
        wait = self._requests.wait_s(peer)
        if wait:
            return _slower(wait)
        if not request.path.startswith("/assets/") and request.path != "/sign-in":
            refused = self._refused(request, peer)
            if refused is not None:
                return _with_headers(refused)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = error
        return _with_headers(response)

    def _refused(self, request: web.Request, peer: str) -> web.StreamResponse | None:
        now = self._clock.now()
        token = request.query.get("token")
        if token is not None and request.method == "GET":
            return self._enter(request, token, peer)
        asked = Asked(request.headers, request.cookies, peer)
        person = self._access.person(asked, now)
        if person is None:
            if "Authorization" in request.headers and self._guesses.wait_s(peer):
                return _slower(self._guesses.wait_s(peer, 0.0) or 5.0)
            return self._stranger(request)
        request[PERSON] = person
        if request.method in _SAFE:
            return None
        if not is_proven(person, request.headers.get(PROOF, ""), request.headers.get("Origin"), request.host):
            return problem(403, "this did not come from a page of this Remuda: open the page again and retry")
        if not person.may_write and request.path not in {"/sign-out", *self._questions}:
            return problem(403, f"{person.name} may look and not change anything: that takes the write role")
        return None

    def _enter(self, request: web.Request, token: str, peer: str) -> web.StreamResponse:
        """Follow a link with a token: the browser gets a cookie, and the token goes from its address."""
        rest = [(name, value) for name, value in request.query.items() if name != "token"]
        where = request.path + (f"?{urlencode(rest)}" if rest else "")
        if self._access.by_token(token) is None:
            wait = self._guesses.wait_s(peer)
            return _slower(wait) if wait else self._stranger(request, "That link is not valid any more.")
        response = web.Response(status=303, headers={"Location": where})
        self._set_cookie(request, response, token)
        return response

    def _set_cookie(self, request: web.Request, response: web.Response, token: str) -> None:
        is_secure = request.secure or request.headers.get("X-Forwarded-Proto") == "https"
        response.set_cookie(
            COOKIE,
            self._access.cookie_for(token, self._clock.now()),
            max_age=SESSION // 1_000,
            httponly=True,
            samesite="Lax",
            secure=is_secure,
        )

    def _stranger(self, request: web.Request, text: str = "") -> web.Response:
        """How to sign in, for a person; what is missing, for a program."""
        if "text/html" not in request.headers.get("Accept", ""):
            answer = problem(
                401,
                "a token is needed: `remuda web` prints a link with one; programs send Authorization: Bearer",
            )
            answer.headers["WWW-Authenticate"] = "Bearer"
            return answer
        html = self._site.templates.get_template("sign_in.html").render(version=self._version, problem=text)
        return web.Response(status=401, text=html, content_type="text/html")

    async def _sign_in(self, request: web.Request) -> web.StreamResponse:
        """A token that somebody typed."""
        peer = request.remote or ""
        data = await request.post()
        token = str(data.get("token", "")).strip()
        if self._access.by_token(token) is None:
            wait = self._guesses.wait_s(peer)
            return _slower(wait) if wait else self._stranger(request, "Nobody has that token.")
        where = str(data.get("then", "/"))
        is_ours = where.startswith("/") and not where.startswith(("//", "/\\"))
        response = web.Response(status=303, headers={"Location": where if is_ours else "/"})
        self._set_cookie(request, response, token)
        return response

    async def _sign_out(self, request: web.Request) -> web.StreamResponse:
        del request
        response = web.Response(status=204)
        response.del_cookie(COOKIE)
        return response

    async def _asset(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        found = _ASSET.fullmatch(name)
        file = self._assets / name
        if found is None or not file.is_file():
            return problem(404, f"there is no {name}")
        return web.Response(
            body=file.read_bytes(),
            content_type=_KINDS[found[1]],
            charset="utf-8",
            headers={"Cache-Control": "private, max-age=31536000, immutable"},
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
            if request.headers.get("Accept", "") == "text/event-stream":
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
        content = Content("problem.html", {"text": text}, title)
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
            "may_write": person.may_write,
        }
        return self._site.templates.get_template(content.template).render(frame | dict(content.values))

    async def _stream(self, request: web.Request, page: Page, call: Call) -> web.StreamResponse:
        if self._hub.watchers >= MOST_WATCHERS:
            return problem(503, f"{MOST_WATCHERS} pages are open already: close one")
        person = request[PERSON]

        async def draw() -> dict[str, str]:
            return regions(await self._draw(page, call, person, request.path))

        # Who may change things sees the buttons for it: what is drawn depends on that, and not on who it is.
        key = f"{person.role} {request.path_qs}"
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
        )
        _with_headers(response)
        await response.prepare(request)
        async with aclosing(self._hub.watch(key, draw, STILL_ALIVE_S)) as changes:
            async for change in _until(changes, self._session_left_s(request)):
                await response.write(_event(change, self._clock.now()))
        return response

    def _session_left_s(self, request: web.Request) -> float:
        """A page that is watched ends with the session, and asks to sign in again."""
        parts = request.cookies.get(COOKIE, "").split(".")
        if "Authorization" in request.headers or len(parts) < 2 or not parts[1].isdecimal():
            return float(SESSION // 1_000)
        return max(0.0, (int(parts[1]) - self._clock.now()) / 1_000)


def _html_answer(html: str, status: int = 200) -> web.Response:
    return web.Response(
        status=status, text=html, content_type="text/html", headers={"Cache-Control": "no-store"}
    )


async def _until(
    changes: AsyncIterator[tuple[dict[str, str], str] | None], seconds: float
) -> AsyncIterator[tuple[dict[str, str], str] | None]:
    """What comes within some seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    async for change in changes:
        if loop.time() >= end:
            return
        yield change


def _event(change: tuple[dict[str, str], str] | None, now: int) -> bytes:
    if change is None:
        return b": still here\n\n"
    fresh, text = change
    data = {"now": now, "regions": fresh, "problem": text}
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


def _with_headers(response: web.StreamResponse) -> web.StreamResponse:
    if not response.prepared:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
    return response


def _slower(wait_s: float) -> web.Response:
    answer = problem(429, f"too many requests: wait {max(1, round(wait_s))} s")
    answer.headers["Retry-After"] = str(max(1, round(wait_s)))
    return answer


def _is_below(path: str, page: str) -> bool:
    return path == page or (page != "/" and path.startswith(page.rstrip("/") + "/"))


def listen(address: str, port: int) -> socket.socket:
    """A socket for the dashboard; `BadInput` when the port cannot be had."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=256)
    except OSError as error:
        why = str(error.strerror or error).partition(" (while attempting")[0]
        raise BadInput(
            f"port {port} of the dashboard cannot be used: {why}; choose another one with --web-port, or 0 for any"
        ) from error
