"""Who gets in: each request is of somebody known, or it is shown how to sign in; what changes something needs the role for it."""

import re
from urllib.parse import parse_qs, parse_qsl, urlencode

from aiohttp import web
from jinja2 import Environment

from remuda.control.answers import problem
from remuda.loop.clock import Clock
from remuda.web.access import Access, Asked, Person, is_proven
from remuda.web.limits import GUESSES, REQUESTS, Acquainted, Limiter, neighbourhood
from remuda.web.signed_out import SESSION

PERSON: web.RequestKey[Person] = web.RequestKey("person", Person)
PROOF = "X-Remuda-Proof"
SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"
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
        self._acquainted = Acquainted()
        #: browsers keep cookies by host and not by port: two Remudas of one host must not sign each other out
        self.cookie = _COOKIE

    def serve_at(self, port: int) -> None:
        """Where it is."""
        self.cookie = f"{_COOKIE}-{port}"

    def admit(self, access: Access) -> None:
        """Let these in from now on."""
        self._access = access

    def person(self, request: web.Request) -> Person | None:
        """Who asks; None for a stranger, and for who has to wait because of all the wrong tokens from there."""
        asked = Asked(request.headers, request.cookies.get(self.cookie, ""), request.remote or "")
        found = self._access.person(asked, self._clock.now())
        if found is not None and asked.token is not None and not self._may_try(request, asked.token, found):
            return None
        return found

    def _may_try(self, request: web.Request, token: str, found: Person) -> bool:
        """
        Whether a right token is looked at, though wrong ones came from the same address.

        The owner's always is: it is long and at random, and nobody may keep the owner out. Others, which people choose, are
        when they were let in from there before; else they wait as a guess would, or guessing would be as quick as asking.
        """
        where = neighbourhood(request.remote or "")
        if (
            self._access.is_owners(token)
            or (where, found.name) in self._acquainted
            or not self._guesses.is_used_up(where)
        ):
            self._acquainted.add(where, found.name)
            return True
        return False

    def _by_token(self, request: web.Request, token: str) -> Person | None:
        found = self._access.by_token(token)
        return found if found is not None and self._may_try(request, token, found) else None

    def too_often(self, request: web.Request, person: Person | None) -> web.Response | None:
        """Somebody known is counted by name, strangers by address: nobody can use up what another may ask."""
        key = f"peer {neighbourhood(request.remote or '')}" if person is None else f"person {person.name}"
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
        return self._guesses.wait_s(neighbourhood(request.remote or ""))

    def _enter(self, request: web.Request, token: str) -> web.Response:
        """Follow a link with a token: the browser gets a cookie, and the token goes from its address."""
        if self._by_token(request, token) is None:
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
        if self._by_token(request, token) is None:
            wait = self._wrong(request)
            return _slower(wait) if wait else self.stranger(request, "Nobody has that token.")
        return self._signed_in(request, token, str(data.get("then", "/")))

    async def show_sign_in(self, request: web.Request) -> web.StreamResponse:
        """Where one signs in."""
        if self.person(request) is not None:
            return web.Response(status=303, headers={"Location": "/"})
        return self.stranger(request, "You are signed out." if "out" in request.query else "")

    def sign_out(self, request: web.Request, person: Person | None, form: bytes) -> web.Response:
        """End the session of a browser, if a page of ours asks for it. Whoever has none is out already."""
        if person is not None and person.csrf:
            given = parse_qs(form.decode("utf-8", "replace")).get("proof", [""])[0]
            proof = request.headers.get(PROOF, given)
            if not is_proven(person, proof, request.headers.get("Origin"), request.host):
                return problem(
                    403, "this did not come from a page of this Remuda: open the page again and retry"
                )
            if not person.session:
                return problem(400, f"a proxy signs {person.name} in: sign out there")
            self.end_session(person)
        response = web.Response(status=303, headers={"Location": f"{SIGN_IN}?out"})
        response.del_cookie(self.cookie)
        return response

    def end_session(self, person: Person) -> None:
        """Let nobody in by this session any more; `OSError` when that is forgotten with the next start."""
        self._access.signed_out.add(person.session, self._clock.now())

    def has_ended(self, person: Person) -> bool:
        """Whether somebody was signed out whom another replica still believes to be in."""
        return bool(person.session) and person.session in self._access.signed_out

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


def _slower(wait_s: float) -> web.Response:
    answer = problem(429, f"too many requests: wait {max(1, round(wait_s))} s")
    answer.headers["Retry-After"] = str(max(1, round(wait_s)))
    answer.force_close()
    return answer
