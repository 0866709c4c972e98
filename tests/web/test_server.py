"""The dashboard on a real port: who gets in, what each answer carries, and every way in which a request can be wrong."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import yarl
from msgspec import Struct
from tests.web.clock import NOW, SetClock

from remuda.control.routes import Call, Route
from remuda.errors import BadInput, NotFound
from remuda.job import Job, Jobs, PageReference, PanelReference
from remuda.ledger.sql import Database
from remuda.ledger.store import InlineStore
from remuda.loop.logs import Log
from remuda.web.access import Access, AccessSpec, TokenSpec
from remuda.web.connections import most_connections
from remuda.web.entrance import PROOF
from remuda.web.page import Ask, Content
from remuda.web.server import WebServer, listen
from remuda.web.signed_out import SESSION
from remuda.web.site import make_site

OWN, READ = "the-token-of-the-owner", "the-token-of-a-reader"
HTML = {"Accept": "text/html"}


class Thing(Struct, frozen=True):
    name: str


def one_thing(db: Database, call: Call) -> Thing:
    del db
    if call.names["thing"] == "none":
        raise NotFound("there is no thing none")
    return Thing(call.names["thing"])


class World:
    """What the routes and pages of these tests show and do."""

    def __init__(self) -> None:
        self.made: list[str] = []

    async def make(self, call: Call) -> Thing:
        self.made.append(call.names["thing"])
        return Thing(call.names["thing"])

    async def ask(self, call: Call) -> Thing:
        del call
        return Thing("asked")

    async def lines(self, call: Call) -> AsyncIterator[bytes]:
        del call

        async def some() -> AsyncIterator[bytes]:
            yield b"a line"

        return some()

    def routes(self) -> tuple[Route, ...]:
        thing = "/v1/things/{thing}"
        return (
            Route("GET", thing, "One.", Thing, view=one_thing, for_readers=lambda _: Thing("hidden")),
            Route("POST", thing, "Make one.", Thing, handler=self.make),
            Route("POST", "/v1/shims/{thing}", "Of this host.", Thing, handler=self.make, is_local=True),
            Route("GET", "/v1/lines", "Lines.", None, handler=self.lines, streams=True),
            Route("POST", "/v1/ask", "It changes nothing.", Thing, handler=self.ask, is_question=True),
            Route("GET", "/v1/why/thing/{thing}", "Why.", dict[str, str], view=why_thing),
        )


def why_thing(db: Database, call: Call) -> dict[str, str]:
    del db
    if call.names["thing"] == "odd":
        raise BadInput("odd is no name of a thing")
    if call.names["thing"] != "big":
        raise NotFound(f"nothing is recorded of {call.names['thing']}; there is: big")
    return {"subject": "thing/big", "headline": "big is big"}


async def page(ask: Ask, call: Call) -> Content:
    match call.names["thing"]:
        case "wrong":
            raise BadInput("that is wrong")
        case "mistake":
            raise ZeroDivisionError
        case name:
            found = await ask.get(f"/v1/things/{name}", Thing)
    return Content("web/thing.html", {"name": found.name}, title=f"Thing {found.name}")


async def no_panel(ask: Ask) -> Content | None:
    del ask
    return None


MODULE = "tests.web.test_server"
JOBS = Jobs(
    (
        Job(
            "things",
            pages=(
                PageReference("/things/{thing}", f"{MODULE}:page", "/v1/things/{thing}", menu="Things"),
                PageReference("/others", f"{MODULE}:page", "/v1/others", menu="Others"),
            ),
            panel=PanelReference(f"{MODULE}:no_panel", "/v1/things/{thing}"),
        ),
    )
)


def test_templates_of_a_job_that_has_a_panel_and_no_page_are_found() -> None:
    jobs = Jobs((Job("things", panel=PanelReference(f"{MODULE}:no_panel", "/v1/things/{thing}")),))
    clock = SetClock()
    site = make_site(jobs, World().routes(), InlineStore(), clock, Log(clock, list[str]().append))
    assert site.templates.get_template("web/thing.html").name == "thing.html"


class Site:
    """A running dashboard, and a browser without any page yet."""

    client: aiohttp.ClientSession

    def __init__(self, clock: SetClock, world: World) -> None:
        self.clock, self.world = clock, world
        self.lines: list[str] = []
        self.url = ""

    async def ask(
        self, method: str, path: str, token: str | None = OWN, **more: Any
    ) -> aiohttp.ClientResponse:
        headers = {**more.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        answer = await self.client.request(
            method, self.url + path, headers=headers, allow_redirects=False, **more
        )
        await answer.read()
        return answer


async def first_event(stream: aiohttp.ClientResponse) -> dict[str, Any]:
    """What comes first of a page that is watched."""
    while not (line := await stream.content.readline()).startswith(b"data: "):
        assert line, "it ended"
    found: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
    return found


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    clock, world = SetClock(), World()
    found = Site(clock, world)
    store = InlineStore()
    log = Log(clock, found.lines.append)
    spec = AccessSpec(tokens=(TokenSpec("reader", hashlib.sha256(READ.encode()).hexdigest()),))
    server = WebServer(
        make_site(JOBS, world.routes(), store, clock, log), Access(OWN, spec), clock, log, still_alive_s=0.05
    )
    listening = listen("127.0.0.1", 0)
    await server.start(listening)
    found.url = f"http://127.0.0.1:{server.port}"
    # An unsafe jar keeps cookies of addresses, as a browser does.
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as found.client:
        yield found
    await server.stop()
    listening.close()
    store.close()


@pytest.mark.parametrize("path", ["/", "/things/a", "/v1/things/a", "/openapi.json", "/none", "/why"])
async def test_a_stranger_sees_nothing(site: Site, path: str) -> None:
    answer = await site.ask("GET", path, None)
    assert answer.status == 401
    assert "token is needed" in (await answer.json())["error"]
    page = await site.ask("GET", path, None, headers=HTML)
    assert page.status == 401
    assert "remuda web" in await page.text()


async def test_every_answer_forbids_what_no_page_of_ours_does(site: Site) -> None:
    asked = (
        ("/", OWN),
        ("/", None),
        ("/v1/things/a", OWN),
        ("/v1/lines", OWN),
        ("/assets/1/remuda.js", None),
    )
    for path, token in asked:
        answer = await site.ask("GET", path, token, headers=HTML)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


async def test_a_link_signs_a_browser_in_and_the_token_leaves_its_address(site: Site) -> None:
    answer = await site.ask("GET", f"/things/a?token={OWN}", None, headers=HTML)
    assert answer.status == 303
    assert answer.headers["Location"] == "/things/a"
    cookie = answer.headers["Set-Cookie"]
    assert OWN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    page = await site.ask("GET", "/things/a", None, headers=HTML)
    assert page.status == 200
    assert "<h1>Thing a</h1>" in await page.text()
    assert page.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("//evil.example/x", "/"),
        ("/%5cevil.example", "/%5cevil.example"),
        ("/%09/evil.example", "/%09/evil.example"),
        ("/%0d%0aX-Evil:1", "/%0d%0aX-Evil:1"),
        ("/things/a%3fb", "/things/a%3fb"),
        ("/things/a?q=1&w=%26", "/things/a?q=1&w=%26"),
    ],
)
async def test_a_link_leads_to_this_site_alone(site: Site, path: str, where: str) -> None:
    mark = "&" if "?" in path else "?"
    url = yarl.URL(f"{site.url}{path}{mark}token={OWN}", encoded=True)
    answer = await site.client.get(url, allow_redirects=False)
    assert answer.status == 303
    assert answer.headers["Location"] == where


async def test_a_session_ends(site: Site) -> None:
    await site.ask("GET", f"/?token={OWN}", None)
    assert (await site.ask("GET", "/things/a", None)).status == 200
    site.clock.at += SESSION
    assert (await site.ask("GET", "/things/a", None)).status == 401


async def test_signing_in_by_hand_leads_where_one_wanted_and_nowhere_else(site: Site) -> None:
    for then, where in (
        ("/things/a", "/things/a"),
        ("//evil", "/"),
        ("/\\evil", "/"),
        ("http://evil", "/"),
        ("/\t/evil", "/"),
        ("/\r\nX: 1", "/"),
    ):
        answer = await site.ask("POST", "/sign-in", None, data={"token": OWN, "then": then})
        assert (answer.status, answer.headers["Location"]) == (303, where)
    assert (await site.ask("POST", "/sign-in", None, data={"token": "wrong"}, headers=HTML)).status == 401


async def test_the_place_to_sign_in_can_be_opened_and_leads_on_who_is_in(site: Site) -> None:
    assert (await site.ask("GET", "/sign-in", None, headers=HTML)).status == 401
    assert (await site.ask("GET", "/sign-in", OWN, headers=HTML)).headers["Location"] == "/"


@pytest.mark.parametrize("path", ["/sign-in", "/assets/x", "/assets/", "/assets/..%2f..%2fthings", "/x"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "POST"])
async def test_nothing_that_a_stranger_asks_is_a_mistake_of_ours(site: Site, path: str, method: str) -> None:
    answer = await site.ask(method, path, None, headers=HTML)
    assert answer.status in {401, 404}
    assert site.lines == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"token=\xff\xfe%ff", "application/x-www-form-urlencoded"),
        (b"token=a", "application/x-www-form-urlencoded; charset=bogus"),
        (b"token=a", "application/x-www-form-urlencoded; charset=utf-16"),
        (b"token=a", "multipart/form-data"),
        (b"garbage", "multipart/form-data; boundary=x"),
    ],
)
async def test_a_form_that_is_broken_is_refused(site: Site, body: bytes, kind: str) -> None:
    answer = await site.ask("POST", "/sign-in", None, data=body, headers={"Content-Type": kind})
    assert answer.status in {400, 401}
    assert site.lines == []


async def test_headers_may_hold_any_byte(site: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(site.url.rpartition(":")[2]))
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\nCookie: a=\xff\r\n\r\n")
    assert b" 401 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_who_may_only_look_sees_what_is_for_readers(site: Site) -> None:
    assert await (await site.ask("GET", "/v1/things/a", READ)).json() == {"name": "hidden"}
    assert await (await site.ask("GET", "/v1/things/a", OWN)).json() == {"name": "a"}


async def test_whoever_connects_and_says_nothing_gives_way(site: Site) -> None:
    port = int(site.url.rpartition(":")[2])
    silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(most_connections() // 2 + 20)]
    assert (await site.ask("GET", "/v1/things/a")).status == 200
    cut = [await asyncio.wait_for(reader.read(), 30) for reader, _ in silent[:20]]
    assert cut == [b""] * 20, "the first of them were cut off"
    for _, writer in silent:
        writer.close()


async def test_an_event_stream_is_for_get_alone(site: Site) -> None:
    answer = await site.ask("HEAD", "/why", headers={"Accept": "text/event-stream"})
    assert answer.status == 200
    assert "event-stream" not in answer.headers["Content-Type"]


async def test_tokens_cannot_be_guessed_quickly(site: Site) -> None:
    answers = [(await site.ask("GET", f"/?token=guess{number}", None)).status for number in range(30)]
    assert answers.count(401) == 10
    assert answers.count(429) == 20
    bearers = [(await site.ask("GET", "/v1/things/a", f"guess{number}")).status for number in range(3)]
    assert bearers == [429] * 3
    slow = await site.ask("GET", "/?token=x", None)
    assert int(slow.headers["Retry-After"]) >= 1
    site.clock.at += 60_000
    assert (await site.ask("GET", "/?token=x", None)).status == 401
    assert (await site.ask("GET", "/v1/things/a")).status == 200


async def test_strangers_cannot_use_up_what_somebody_known_may_ask(site: Site) -> None:
    statuses = {(await site.ask("GET", "/v1/things/a", None)).status for _ in range(420)}
    assert statuses == {401, 429}
    assert (await site.ask("GET", "/v1/things/a", OWN)).status == 200
    assert (await site.ask("GET", "/v1/things/a", READ)).status == 200


async def test_requests_are_bounded(site: Site) -> None:
    answers = [(await site.ask("GET", "/v1/things/a")).status for _ in range(450)]
    assert answers[:400] == [200] * 400
    assert set(answers[400:]) == {429}
    site.clock.at += 1_000
    assert (await site.ask("GET", "/v1/things/a")).status == 200


async def test_only_who_may_write_changes_anything(site: Site) -> None:
    refused = await site.ask("POST", "/v1/things/a", READ)
    assert refused.status == 403
    assert "takes the write role" in (await refused.json())["error"]
    assert (await site.ask("GET", "/v1/things/a", READ)).status == 200
    assert site.world.made == []
    assert (await site.ask("POST", "/v1/things/a", OWN)).status == 200
    assert site.world.made == ["a"]


async def test_who_may_look_may_ask_what_changes_nothing(site: Site) -> None:
    assert (await site.ask("POST", "/v1/ask", READ)).status == 200
    assert (await site.ask("POST", "/v1/ask", None)).status == 401


async def test_a_browser_that_was_led_here_by_another_site_changes_nothing(site: Site) -> None:
    await site.ask("GET", f"/?token={OWN}", None)
    text = await (await site.ask("GET", "/things/a", None, headers=HTML)).text()
    proof = text.partition('name="proof" content="')[2].partition('"')[0]
    assert proof
    assert (await site.ask("POST", "/v1/things/a", None)).status == 403
    evil = {"Origin": "http://evil", PROOF: proof}
    assert (await site.ask("POST", "/v1/things/a", None, headers=evil)).status == 403
    assert site.world.made == []
    ours = {"Origin": site.url, PROOF: proof}
    assert (await site.ask("POST", "/v1/things/a", None, headers=ours)).status == 200
    assert site.world.made == ["a"]


async def test_what_machines_of_this_host_ask_is_not_there(site: Site) -> None:
    assert (await site.ask("POST", "/v1/shims/a")).status == 404
    described = await (await site.ask("GET", "/openapi.json")).json()
    assert "/v1/shims/{thing}" not in described["paths"]
    assert "/v1/things/{thing}" in described["paths"]


async def test_the_menu_has_the_pages_that_there_are_facts_for(site: Site) -> None:
    text = await (await site.ask("GET", "/things/a", headers=HTML)).text()
    assert "Things" in text
    assert "Others" not in text


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/things/none", 404, "there is no thing none"),
        ("/things/wrong", 400, "that is wrong"),
        ("/things/mistake", 503, "its log says more"),
        ("/things/a?colour=red", 400, "colour: this page does not know that"),
        ("/nowhere", 404, "There is no page /nowhere."),
        ("/why?kind=thing&name=odd", 200, "odd is no name of a thing"),
        ("/why?kind=cat&name=x", 400, "cat is no kind of subject: thing"),
        ("/why?kind=thing&name=small", 200, "nothing is recorded of small; there is: big"),
        ("/why?kind=thing&name=big", 200, "big is big"),
        (f"/why?kind=thing&name=big&at={NOW + 60_000}", 200, "in the future"),
        ("/why?at=tomorrow", 400, "at wants milliseconds since 1970"),
        ("/why", 200, "Choose what to ask about"),
    ],
)
async def test_what_is_wrong_is_said_in_the_page(site: Site, path: str, status: int, says: str) -> None:
    answer = await site.ask("GET", path, headers=HTML)
    assert answer.status == status
    assert says in await answer.text()


async def test_a_mistake_of_ours_is_in_the_log_and_not_in_the_page(site: Site) -> None:
    answer = await site.ask("GET", "/things/mistake", headers=HTML)
    assert "ZeroDivisionError" not in await answer.text()
    assert any("ZeroDivisionError" in line for line in site.lines)


async def test_no_token_is_ever_logged(site: Site) -> None:
    await site.ask("GET", f"/?token={OWN}", None)
    await site.ask("GET", "/things/mistake", headers=HTML)
    assert OWN not in "".join(site.lines)


async def test_assets_are_files_of_ours_and_nothing_else(site: Site) -> None:
    page = await (await site.ask("GET", "/", headers=HTML)).text()
    (path,) = re.findall(r"/assets/\w+/remuda\.js", page)
    found = await site.ask("GET", path, None)
    assert found.status == 200
    assert "immutable" in found.headers["Cache-Control"]
    other = await site.ask("GET", "/assets/1/remuda.js", None)
    assert (other.status, other.headers["Cache-Control"]) == (200, "no-store"), "of another version"
    for name in ("..%2f__init__.py", "server.py", "none.js", "%2e%2e%2fserver.py", "README.md"):
        assert (await site.ask("GET", f"/assets/1/{name}", None)).status in {401, 404}


async def test_now_says_first_that_nothing_runs(site: Site) -> None:
    text = await (await site.ask("GET", "/", headers=HTML)).text()
    assert text.index("Nothing runs") < text.index("Decided last")


async def test_who_watches_gets_the_regions_of_the_page(site: Site) -> None:
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {OWN}"}
    async with site.client.get(site.url + "/why?kind=thing&name=big", headers=headers) as stream:
        assert stream.status == 200
        data = await first_event(stream)
    assert data["now"] == NOW
    assert "big is big" in data["regions"]["answer"]


async def test_who_watches_is_let_go_when_the_session_ends(site: Site) -> None:
    await site.ask("GET", f"/?token={OWN}", None)
    site.clock.at += SESSION - 1
    async with site.client.get(site.url + "/why", headers={"Accept": "text/event-stream"}) as stream:
        assert stream.status == 200
        site.clock.at += 1
        rest = await stream.content.read()
    assert rest.count(b"data: ") <= 1


async def proof_of(site: Site) -> str:
    text = await (await site.ask("GET", "/why", None, headers=HTML)).text()
    return text.partition('name="proof" content="')[2].partition('"')[0]


async def test_signing_out_ends_the_session_for_good_and_says_so(site: Site) -> None:
    await site.ask("GET", f"/?token={OWN}", None)
    (cookie,) = site.client.cookie_jar
    page = await (await site.ask("GET", "/why", None, headers=HTML)).text()
    assert "Sign out" in page
    async with site.client.get(site.url + "/why", headers={"Accept": "text/event-stream"}) as stream:
        first = await first_event(stream)
        assert first["proof"] == await proof_of(site), "whoever signs in again goes on with the page"
        out = await site.ask("POST", "/sign-out", None, data={"proof": first["proof"]})
        assert (out.status, out.headers["Location"]) == (303, "/sign-in?out")
        await stream.content.read()  # it ends
    said = await site.ask("GET", "/sign-in?out", None, headers=HTML)
    assert "You are signed out." in await said.text()
    assert not list(site.client.cookie_jar)
    copied = {"Cookie": f"{cookie.key}={cookie.value}"}
    assert (await site.ask("GET", "/v1/things/a", None, headers=copied)).status == 401
    await site.ask("GET", f"/?token={OWN}", None)
    assert (await site.ask("GET", "/v1/things/a", None)).status == 200, (
        "signing in again begins another session"
    )


@pytest.mark.parametrize(
    ("sent", "headers"),
    [
        pytest.param({}, {}, id="no proof"),
        pytest.param({"proof": "wrong"}, {}, id="a wrong proof"),
        pytest.param(None, {"Origin": "http://evil.example"}, id="from another site"),
    ],
)
async def test_nobody_is_signed_out_by_another_site(
    site: Site, sent: dict[str, str] | None, headers: dict[str, str]
) -> None:
    await site.ask("GET", f"/?token={OWN}", None)
    given = {"proof": await proof_of(site)} if sent is None else sent
    assert (await site.ask("POST", "/sign-out", None, data=given, headers=headers)).status == 403
    assert (await site.ask("GET", "/sign-out", None, headers=HTML)).status == 404
    assert (await site.ask("GET", "/v1/things/a", None)).status == 200


async def test_who_has_no_session_is_out_already_and_a_huge_form_is_refused(site: Site) -> None:
    for token in (None, OWN):
        out = await site.ask("POST", "/sign-out", token)
        assert (out.status, out.headers["Location"]) == (303, "/sign-in?out")
    assert (await site.ask("POST", "/sign-out", OWN, data=b"x" * 5_000)).status == 413
    assert (await site.ask("GET", "/v1/things/a")).status == 200, "a token goes on"


async def test_a_token_that_somebody_chose_cannot_be_guessed_at_the_pace_of_requests(site: Site) -> None:
    for number in range(30):
        await site.ask("GET", "/v1/things/a", f"guess{number}")
    assert (await site.ask("GET", "/v1/things/a", READ)).status == 429, "a right guess looks like a wrong one"
    assert (await site.ask("GET", f"/?token={READ}", None)).status == 429
    assert (await site.ask("POST", "/sign-in", None, data={"token": READ})).status == 429
    assert (await site.ask("GET", "/v1/things/a", OWN)).status == 200, "nobody keeps the owner out"
    assert (await site.ask("GET", f"/?token={OWN}", None)).status == 303
    site.clock.at += 60_000
    assert (await site.ask("GET", "/v1/things/a", READ)).status == 200
    for number in range(30):
        await site.ask("GET", "/v1/things/a", f"guess{number}")
    assert (await site.ask("GET", "/v1/things/a", READ)).status == 200, "who was let in from there stays in"


def test_a_port_that_is_taken_is_named() -> None:
    taken = listen("127.0.0.1", 0)
    port = taken.getsockname()[1]
    with pytest.raises(BadInput, match=f"cannot listen on port {port} of 127.0.0.1"):
        listen("127.0.0.1", port)
    taken.close()
