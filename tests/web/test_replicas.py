"""Two dashboards of which one leads: any of them answers, whoever asks is known, and what is wrong is said."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.web.clock import SetClock
from tests.web.test_server import HTML, JOBS, OWN, READ, World, first_event

from remuda.ledger.store import InlineStore
from remuda.loop.logs import Log
from remuda.web.access import Access, AccessSpec, Person, TokenSpec
from remuda.web.entrance import PROOF
from remuda.web.page import Role
from remuda.web.peers import PROVEN, STATEMENT, Leader, Peers, Replicas, written
from remuda.web.server import WebServer, listen
from remuda.web.signed_out import SESSION
from remuda.web.site import make_site

SPEC = AccessSpec(tokens=(TokenSpec("reader", hashlib.sha256(READ.encode()).hexdigest()),))
WATCH = {"Accept": "text/event-stream"}


class Replica:
    """One of several, with a world of its own."""

    def __init__(self, name: str, all_of_them: "Together", token: str) -> None:
        self.name, self.clock, self.world = name, SetClock(), World()
        self.lines: list[str] = []
        self.store = InlineStore()
        log = Log(self.clock, self.lines.append)

        def leader() -> Leader:
            found = all_of_them.leader
            return Leader(found, all_of_them.addresses.get(found, ""), is_self=found == name)

        peers = Peers(token, Replicas(name, leader), self.clock)
        site = make_site(JOBS, self.world.routes(), self.store, self.clock, log)
        self.server = WebServer(site, Access(token, SPEC), self.clock, log, peers, 0.05)
        self.listening = listen("127.0.0.1", 0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    async def stop(self) -> None:
        await self.server.stop()
        self.listening.close()
        self.store.close()


class Together:
    """Replicas, who of them leads, and a browser without a page."""

    client: aiohttp.ClientSession

    def __init__(self) -> None:
        self.leader = "one"
        self.addresses: dict[str, str] = {}
        self.all: dict[str, Replica] = {}

    async def add(self, name: str, token: str = OWN) -> Replica:
        made = self.all[name] = Replica(name, self, token)
        await made.server.start(made.listening)
        self.addresses[name] = f"127.0.0.1:{made.server.port}"
        return made

    async def ask(
        self, at: Replica, method: str, path: str, token: str | None = OWN, **more: Any
    ) -> aiohttp.ClientResponse:
        headers = {**more.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        answer = await self.client.request(
            method, at.url + path, headers=headers, allow_redirects=False, **more
        )
        await answer.read()
        return answer


@pytest.fixture
async def both() -> AsyncIterator[tuple[Together, Replica, Replica]]:
    """One leads, two stands by."""
    found = Together()
    one, two = await found.add("one"), await found.add("two")
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as found.client:
        yield found, one, two
    for each in found.all.values():
        await each.stop()


Both = tuple[Together, Replica, Replica]


async def test_what_changes_something_is_done_by_who_leads(both: Both) -> None:
    all_of_them, one, two = both
    answer = await all_of_them.ask(two, "POST", "/v1/things/new%2Fa?", json={})
    assert (answer.status, await answer.json()) == (200, {"name": "new/a"})
    assert (one.world.made, two.world.made) == (["new/a"], [])
    assert PROVEN not in answer.headers


async def test_who_may_only_look_looks_and_changes_nothing(both: Both) -> None:
    all_of_them, one, two = both
    assert await (await all_of_them.ask(two, "GET", "/v1/things/a", READ)).json() == {"name": "hidden"}
    assert await (await all_of_them.ask(two, "GET", "/v1/things/a")).json() == {"name": "a"}
    refused = await all_of_them.ask(two, "POST", "/v1/things/a", READ)
    assert refused.status == 403
    assert one.world.made == two.world.made == []


async def test_a_stranger_is_refused_where_they_ask(both: Both) -> None:
    all_of_them, one, two = both
    await one.server.stop()  # whatever went there would be answered in other words
    for token in (None, "wrong"):
        answer = await all_of_them.ask(two, "GET", "/v1/things/a", token)
        assert answer.status == 401
        assert "a token is needed" in (await answer.json())["error"]


async def test_a_page_is_that_of_who_leads_and_its_proof_holds_at_both(both: Both) -> None:
    all_of_them, one, two = both
    await all_of_them.ask(two, "GET", f"/?token={OWN}", None)
    # Browsers keep cookies by host: behind one Service the port is the same, too.
    cookie = next(each for each in all_of_them.client.cookie_jar if str(two.server.port) in each.key)
    page = await all_of_them.ask(two, "GET", "/things/a", None, headers=HTML)
    assert page.status == 200
    text = await page.text()
    assert "<h1>Thing a</h1>" in text
    proof = text.partition('name="proof" content="')[2].partition('"')[0]
    assert len(proof) == 64
    done = await all_of_them.ask(two, "POST", "/v1/things/x", None, headers={PROOF: proof})
    assert done.status == 200
    assert (await all_of_them.ask(two, "POST", "/v1/things/y", None, headers={PROOF: "no"})).status == 403
    all_of_them.leader = "two"
    again = await all_of_them.ask(two, "POST", "/v1/things/z", None, headers={PROOF: proof})
    assert again.status == 200
    assert (one.world.made, two.world.made) == (["x"], ["z"])
    renamed = {"Cookie": f"remuda-session-{one.server.port}={cookie.value}"}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as browser:
        elsewhere = await browser.get(f"{one.url}/v1/things/a", headers=renamed)
        await elsewhere.read()
        assert elsewhere.status == 200, "a session begun at one replica holds at another"


async def test_a_page_that_is_not_there_and_one_that_is_wrong_are_said_in_the_leaders_words(
    both: Both,
) -> None:
    all_of_them, _, two = both
    gone = await all_of_them.ask(two, "GET", "/things/none", headers=HTML)
    assert (gone.status, "there is no thing none" in await gone.text()) == (404, True)
    wrong = await all_of_them.ask(two, "GET", "/things/wrong", headers=HTML)
    assert (wrong.status, "that is wrong" in await wrong.text()) == (400, True)
    assert wrong.headers["Content-Security-Policy"].startswith("default-src 'none'")


async def test_nothing_that_says_who_asks_goes_on_but_the_statement(both: Both) -> None:
    all_of_them, _, two = both
    seen: list[web.BaseRequest] = []

    async def spy(request: web.BaseRequest) -> web.Response:
        seen.append(request)
        return web.Response(text="I am the leader", headers={PROVEN: "0" * 64})

    runner = web.ServerRunner(web.Server(spy))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    all_of_them.addresses["one"] = f"127.0.0.1:{runner.addresses[0][1]}"
    await all_of_them.ask(two, "GET", f"/?token={OWN}", None)
    answer = await all_of_them.ask(two, "GET", "/v1/things/a", headers={"X-Forwarded-User": "ann"})
    assert answer.status == 503, "what cannot prove itself is not handed on"
    assert "is not one, which leads" in (await answer.json())["error"]
    (request,) = seen
    assert {"Authorization", "Cookie", "X-Forwarded-User"}.isdisjoint(request.headers)
    assert OWN not in repr(request.headers)
    await runner.cleanup()


async def test_replicas_with_different_tokens_say_what_to_do(both: Both) -> None:
    all_of_them, _, _ = both
    three = await all_of_them.add("three", "another-token-of-three")
    answer = await all_of_them.ask(three, "GET", "/v1/things/a", "another-token-of-three")
    assert answer.status == 503
    assert "give all replicas the same --web-token" in (await answer.json())["error"]


async def test_clocks_that_are_apart_are_said_by_the_one_that_was_asked(both: Both) -> None:
    all_of_them, one, two = both
    one.clock.at += 100_000
    answer = await all_of_them.ask(two, "GET", "/v1/things/a", headers=HTML)
    assert answer.status == 503
    assert "clocks of the replicas are 100 s apart" in await answer.text()


@pytest.mark.parametrize("claim", ["x", "e30=.aa"])
async def test_a_stranger_who_claims_to_be_a_replica_is_refused_and_counted(both: Both, claim: str) -> None:
    all_of_them, one, _ = both
    answer = await all_of_them.ask(one, "GET", "/v1/things/a", None, headers={STATEMENT: claim})
    assert answer.status == 421
    assert PROVEN not in answer.headers
    for _ in range(500):
        answer = await all_of_them.ask(one, "GET", "/v1/things/a", None, headers={STATEMENT: claim})
    assert answer.status == 429


async def test_two_that_each_take_the_other_for_the_leader_do_not_ask_for_ever(both: Both) -> None:
    all_of_them, one, two = both
    all_of_them.leader = "nobody here"
    all_of_them.addresses["nobody here"] = all_of_them.addresses["one"]
    answer = await all_of_them.ask(two, "GET", "/v1/things/a")
    assert answer.status == 503
    assert "passed on to nobody here, and one is another replica" in (await answer.json())["error"]
    assert one.lines == two.lines == []


async def test_while_nobody_leads_a_page_says_so_and_tries_again(both: Both) -> None:
    all_of_them, _, two = both
    all_of_them.leader = ""
    page = await all_of_them.ask(two, "GET", "/", headers=HTML)
    assert page.status == 503
    text = await page.text()
    assert "nobody leads at the moment: a replica takes over" in text
    assert "data-retry" in text
    answer = await all_of_them.ask(two, "GET", "/v1/things/a")
    assert (answer.status, "nobody leads" in (await answer.json())["error"]) == (503, True)


async def test_a_leader_that_is_gone_or_says_no_address_is_named(both: Both) -> None:
    all_of_them, one, two = both
    await one.server.stop()
    one.listening.close()
    answer = await all_of_them.ask(two, "GET", "/v1/things/a")
    assert answer.status == 503
    assert (
        f"one leads and does not answer at {all_of_them.addresses['one']}" in (await answer.json())["error"]
    )
    del all_of_them.addresses["one"]
    answer = await all_of_them.ask(two, "GET", "/v1/things/a")
    assert "one leads and says no address" in (await answer.json())["error"]


@pytest.mark.parametrize("asked", ["two", "one"])
async def test_who_watches_at_either_is_let_go_when_another_leads(both: Both, asked: str) -> None:
    all_of_them, _, _ = both
    headers = WATCH | {"Authorization": f"Bearer {OWN}"}
    url = f"{all_of_them.all[asked].url}/why"
    async with asyncio.timeout(30), all_of_them.client.get(url, headers=headers) as stream:
        assert stream.status == 200
        data = await first_event(stream)
        assert "answer" in data["regions"]
        all_of_them.leader = "two"
        with contextlib.suppress(aiohttp.ClientPayloadError):  # what was passed on ends without its end
            await stream.content.read()


async def test_who_signs_out_at_one_replica_is_out_at_the_one_that_leads(both: Both) -> None:
    all_of_them, one, two = both
    await all_of_them.ask(two, "GET", f"/?token={READ}", None)
    (cookie,) = all_of_them.client.cookie_jar
    page = await (await all_of_them.ask(two, "GET", "/why", None, headers=HTML)).text()
    proof = page.partition('name="proof" content="')[2].partition('"')[0]
    out = await all_of_them.ask(two, "POST", "/sign-out", None, data={"proof": proof})
    assert (out.status, out.headers["Location"]) == (303, "/sign-in?out")
    three = await all_of_them.add("three")
    for at in (one, two, three):
        copied = {"Cookie": f"remuda-session-{at.server.port}={cookie.value}"}
        assert (await all_of_them.ask(at, "GET", "/v1/things/a", None, headers=copied)).status == 401


async def test_who_signs_out_while_nobody_leads_is_out_there(both: Both) -> None:
    all_of_them, _, two = both
    await all_of_them.ask(two, "GET", f"/?token={READ}", None)
    page = await (await all_of_them.ask(two, "GET", "/why", None, headers=HTML)).text()
    proof = page.partition('name="proof" content="')[2].partition('"')[0]
    all_of_them.leader = ""
    out = await all_of_them.ask(two, "POST", "/sign-out", None, data={"proof": proof})
    assert (out.status, out.headers["Location"]) == (303, "/sign-in?out")
    assert (await all_of_them.ask(two, "GET", "/v1/things/a", None)).status == 401


def vouching(name: str) -> Peers:
    """What somebody has who has the token of all replicas."""
    return Peers(OWN, Replicas(name, lambda: Leader("one", is_self=name == "one")), SetClock())


async def test_what_was_stated_of_one_request_serves_no_other(both: Both) -> None:
    all_of_them, one, _ = both
    owner = Person("owner", Role.WRITE)
    for method, path, status in (
        ("GET", "/v1/things/a", 200),
        ("POST", "/v1/things/a", 421),
        ("GET", "/", 421),
    ):
        header, _ = vouching("two").state(owner, "one", written("GET", "/v1/things/a", b""))
        answer = await all_of_them.ask(one, method, path, None, headers={STATEMENT: header})
        assert answer.status == status
    assert one.world.made == []


async def test_who_watches_a_leader_that_froze_is_let_go_when_another_leads_or_the_session_ends(
    both: Both,
) -> None:
    all_of_them, _, two = both

    async def freeze(request: web.BaseRequest) -> web.StreamResponse:
        stated = vouching("one").believe(request.headers[STATEMENT])
        headers = {PROVEN: vouching("one").proof(stated.number), "Content-Type": "text/event-stream"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await response.write(b"data: {}\n\n")
        await asyncio.Event().wait()
        return response

    runner = web.ServerRunner(web.Server(freeze), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    all_of_them.addresses["one"] = f"127.0.0.1:{runner.addresses[0][1]}"
    await all_of_them.ask(two, "GET", f"/sign-in?token={OWN}", None)

    def follow(at: Together) -> None:
        at.leader = "two"

    def end(at: Together) -> None:
        at.leader = "one"
        two.clock.at += SESSION

    for change in (follow, end):
        all_of_them.leader = "one"
        async with asyncio.timeout(30), all_of_them.client.get(f"{two.url}/why", headers=WATCH) as stream:
            assert (await stream.content.readline()).startswith(b"data: ")
            change(all_of_them)
            with pytest.raises(aiohttp.ClientPayloadError):
                await stream.content.read()
    await runner.cleanup()
