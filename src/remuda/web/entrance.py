"""Who gets in: each request is of somebody known, or it is shown how to sign in; what changes something needs the role for it."""

import re
from urllib.parse import parse_qsl, urlencode

from aiohttp import web
from jinja2 import Environment

from remuda.control.answers import problem
from remuda.loop.clock import Clock
from remuda.web.access import SESSION, Access, Asked, Person, is_proven
from remuda.web.limits import GUESSES, REQUESTS, Limiter

PERSON: web.RequestKey[Person] = web.RequestKey("person", Person)
PROOF = "X-Remuda-Proof"
SIGN_IN = "/sign-in"
_COOKIE = "remuda-session"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: an address of ours: nothing that a browser would take for another host, and no control character
_OURS = re.compile(r"/(?![/\\])[!-\[\]-~]*")


class Entrance:
    """Looks at every request before anything answers it."""

    def __init__(self, access: Access, clock: Clock, templates: Environment, version: str) -> None:
        """`version` is that of the assets."""
        self._access = access
        self._clock = clock
        self._templates = templates
        self._version = version
        self._requests = Limiter(REQUESTS, clock)
        self._guesses = Limiter(GUESSES, clock)
        #: browsers keep cookies by host and not by port: two Remudas of one host must not sign each other out
        self.cookie = _COOKIE

    def serve_at(self, port: int) -> None:
        """Where it is."""
        self.cookie = f"{_COOKIE}-{port}"

    def person(self, request: web.Request) -> Person | None:
        """Who asks; None for a stranger."""
        cookie = request.cookies.get(self.cookie, "")
        return self._access.person(Asked(request.headers, cookie, request.remote or ""), self._clock.now())

    def too_often(self, request: web.Request, person: Person | None) -> web.Response | None:
        """Somebody known is counted by name, strangers by address: nobody can use up what another may ask."""
        key = f"peer {request.remote}" if person is None else f"person {person.name}"
        wait = self._requests.wait_s(key)
        return _slower(wait) if wait else None

    def refusal(
        self, request: web.Request, person: Person | None, *, is_open: bool, is_question: bool
    ) -> web.StreamResponse | None:
        """Why a request is not answered; None when it is. `is_open` is for strangers too, `is_question` changes nothing."""
        token = request.query.get("token")
        if token is not None and request.method == "GET":
            return self._enter(request, token)
        if is_open:
            return None
        if person is None:
            if "Authorization" in request.headers and (wait := self._wrong(request)):
                return _slower(wait)
            return self.stranger(request)
        if request.method in _SAFE:
            return None
        origin = request.headers.get("Origin")
        if not is_proven(person, request.headers.get(PROOF, ""), origin, request.host):
            return problem(403, "this did not come from a page of this Remuda: open the page again and retry")
        if not person.may_write and not is_question:
            return problem(403, f"{person.name} may look and not change anything: that takes the write role")
        return None

    def _wrong(self, request: web.Request) -> float:
        """Count a wrong token; how many seconds to wait, 0 for the first ones."""
        return self._guesses.wait_s(request.remote or "")

    def _enter(self, request: web.Request, token: str) -> web.Response:
        """Follow a link with a token: the browser gets a cookie, and the token goes from its address."""
        if self._access.by_token(token) is None:
            wait = self._wrong(request)
            return _slower(wait) if wait else self.stranger(request, "That link is not valid any more.")
        pairs = parse_qsl(request.rel_url.raw_query_string, keep_blank_values=True)
        rest = [(name, value) for name, value in pairs if name != "token"]
        return self._signed_in(
            request, token, request.rel_url.raw_path + (f"?{urlencode(rest)}" if rest else "")
        )

    async def sign_in(self, request: web.Request) -> web.StreamResponse:
        """A token that somebody typed."""
        try:
            data = await request.post()
        except Exception:  # noqa: BLE001 - a form can be broken in every way there is
            return problem(400, "the form cannot be read")
        token = str(data.get("token", "")).strip()
        if self._access.by_token(token) is None:
            wait = self._wrong(request)
            return _slower(wait) if wait else self.stranger(request, "Nobody has that token.")
        return self._signed_in(request, token, str(data.get("then", "/")))

    async def show_sign_in(self, request: web.Request) -> web.StreamResponse:
        """Where one signs in."""
        if self.person(request) is not None:
            return web.Response(status=303, headers={"Location": "/"})
        return self.stranger(request)

    def stranger(self, request: web.Request, text: str = "") -> web.Response:
        """How to sign in, for a person; what is missing, for a program."""
        if "text/html" not in request.headers.get("Accept", ""):
            answer = problem(
                401,
                "a token is needed: `remuda web` prints a link with one; programs send Authorization: Bearer",
            )
            answer.headers["WWW-Authenticate"] = "Bearer"
        else:
            html = self._templates.get_template("sign_in.html").render(version=self._version, problem=text)
            answer = web.Response(status=401, text=html, content_type="text/html")
        answer.force_close()
        return answer

    def _signed_in(self, request: web.Request, token: str, where: str) -> web.Response:
        response = web.Response(status=303, headers={"Location": where if _OURS.fullmatch(where) else "/"})
        is_secure = request.secure or request.headers.get("X-Forwarded-Proto") == "https"
        response.set_cookie(
            self.cookie,
            self._access.cookie_for(token, self._clock.now()),
            max_age=SESSION // 1_000,
            httponly=True,
            samesite="Lax",
            secure=is_secure,
        )
        return response

    def session_left_s(self, request: web.Request) -> float:
        """How long a page may be watched: until the session ends, and then it asks to sign in again."""
        parts = request.cookies.get(self.cookie, "").split(".")
        if "Authorization" in request.headers or len(parts) < 2 or not parts[1].isdecimal():
            return float(SESSION // 1_000)
        return max(0.0, (int(parts[1]) - self._clock.now()) / 1_000)


def _slower(wait_s: float) -> web.Response:
    answer = problem(429, f"too many requests: wait {max(1, round(wait_s))} s")
    answer.headers["Retry-After"] = str(max(1, round(wait_s)))
    answer.force_close()
    return answer
