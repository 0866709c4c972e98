"""
Passes requests on to the replica that leads, and hands its answers back as they come.

Nothing is passed on twice: what came from another replica is answered here or not at all.
"""

import asyncio
import hmac
from collections.abc import Callable
from typing import TypeVar

import aiohttp
import msgspec
import yarl
from aiohttp import web

from remuda.control.answers import BODY, Problem, read_body
from remuda.errors import Unavailable
from remuda.web.access import Person
from remuda.web.peers import PROVEN, STATEMENT, Disbelieved, Leader, Peers, is_about, written

T = TypeVar("T")
#: what of a request and of an answer is passed on: never a token, a cookie, or where somebody says that it comes from
_ASKED = ("Accept", "Content-Type")
_ANSWERED = ("Content-Type", "Cache-Control", "Location", "Retry-After", "X-Accel-Buffering")
#: the status of what is not believed: who passed it on says why
DISBELIEVED = 421
_CONNECT_S = 3.0
#: how long an answer may take to begin; a replay takes long
_ANSWER_S = 55.0
#: how often is looked whether another replica leads by now
_LOOK_S = 0.5


#: what an answer to another replica proves itself with
ANSWERS: web.RequestKey[str] = web.RequestKey("answers", str)


class Forwarder:
    """Asks the leader, and answers others while it is the leader."""

    def __init__(self, peers: Peers, largest_body: int) -> None:
        self._peers = peers
        self._largest = largest_body
        self._session: aiohttp.ClientSession | None = None

    def leader(self) -> Leader:
        """Who leads."""
        return self._peers.leader()

    async def receive(self, request: web.Request) -> Person:
        """Who asks, as another replica says that passed the request on; `Disbelieved` when that is not believed."""
        try:
            stated = self._peers.believe(request.headers[STATEMENT])
        except Disbelieved as error:
            if error.number:
                request[ANSWERS] = self._peers.proof(error.number)
            raise
        request[ANSWERS] = self._peers.proof(stated.number)
        request[BODY] = await read_body(request, self._largest)
        if not is_about(stated, written(request.method, request.rel_url.raw_path_qs, request[BODY])):
            raise Disbelieved("this is not the request that was passed on", stated.number)
        return stated.person

    async def close(self) -> None:
        """Let go of all connections."""
        if self._session is not None:
            await self._session.close()

    async def pass_on(
        self, request: web.Request, person: Person, goes_on: Callable[[], bool]
    ) -> web.StreamResponse:
        """
        What the leader answers; `Unavailable` with a sentence when it does not.

        An answer that takes long is cut off when another replica leads, and when it may not go on.
        """
        leader = self.leader()
        answer = await self._ask_leader(request, person, leader)
        try:
            return await self._hand_back(request, answer, leader, goes_on)
        finally:
            answer.close()

    async def tell(self, request: web.Request, person: Person) -> None:
        """Let the leader know what was done here; `Unavailable` when it cannot be told."""
        (await self._ask_leader(request, person, self.leader())).close()

    async def _ask_leader(
        self, request: web.Request, person: Person, leader: Leader
    ) -> aiohttp.ClientResponse:
        """The answer of who has the key that replicas have, and believes us."""
        if why := _why_nobody(leader):
            raise Unavailable(why)
        path, body = request.rel_url.raw_path_qs, await read_body(request, self._largest)
        statement, proof = self._peers.state(person, leader.identity, written(request.method, path, body))
        headers = {name: request.headers[name] for name in _ASKED if name in request.headers}
        headers[STATEMENT] = statement
        url = yarl.URL(f"http://{leader.address}{path}", encoded=True)
        answer = await self._ask(request.method, url, headers, body, leader)
        is_proven = hmac.compare_digest(_ascii(answer.headers.get(PROVEN, "")), proof)
        if is_proven and answer.status != DISBELIEVED:
            return answer
        async with answer:
            raise Unavailable(await _why(answer, leader) if is_proven else _unproven(leader))

    async def _ask(
        self, method: str, url: yarl.URL, headers: dict[str, str], body: bytes, leader: Leader
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            # How many there are at once is limited where they come in.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            )
        asking = asyncio.ensure_future(
            self._session.request(
                method,
                url,
                headers=headers,
                data=body or None,
                allow_redirects=False,
                skip_auto_headers=("Accept", "User-Agent", "Content-Type", "Accept-Encoding"),
            )
        )
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._while_it_leads(asking, leader)
            return await asking
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Unavailable(_gone(leader)) from error
        finally:
            asking.cancel()

    async def _while_it_leads(
        self, waited: "asyncio.Future[T]", leader: Leader, goes_on: Callable[[], bool] = lambda: True
    ) -> None:
        """Return when it is done; `Unavailable` when another replica leads meanwhile, or it may not go on."""
        while not waited.done():
            await asyncio.wait((waited,), timeout=_LOOK_S)
            if not waited.done() and (self._peers.leader() != leader or not goes_on()):
                raise Unavailable(f"{leader.identity} no longer leads: ask again")

    async def _hand_back(
        self,
        request: web.Request,
        answer: aiohttp.ClientResponse,
        leader: Leader,
        goes_on: Callable[[], bool],
    ) -> web.StreamResponse:
        headers = {name: answer.headers[name] for name in _ANSWERED if name in answer.headers}
        response = web.StreamResponse(status=answer.status, headers=headers)
        if answer.content_length is not None:
            response.content_length = answer.content_length
        is_whole = False
        try:
            await response.prepare(request)
            while goes_on():
                reading = asyncio.ensure_future(answer.content.readany())
                try:
                    await self._while_it_leads(reading, leader, goes_on)
                finally:
                    reading.cancel()
                if not (piece := await reading):
                    is_whole = True
                    await response.write_eof()
                    break
                await response.write(piece)
        except (aiohttp.ClientError, OSError, Unavailable):
            pass  # whoever reads notices: without its end an answer is not whole
        if not is_whole and request.transport is not None:
            request.transport.abort()
        return response


def _gone(leader: Leader) -> str:
    return (
        f"{leader.identity} leads and does not answer at {leader.address}: if it is gone, another replica takes over within"
        " half a minute"
    )


def _unproven(leader: Leader) -> str:
    """What answers is no replica as we are, and what it says is not believed."""
    return f"what answers at {leader.address} is not {leader.identity}, which leads: give all replicas the same --web-token"


async def _why(answer: aiohttp.ClientResponse, leader: Leader) -> str:
    """Why a replica did not believe us."""
    try:
        async with asyncio.timeout(_CONNECT_S):
            return str(msgspec.json.decode(await answer.read(), type=Problem).error)
    except (aiohttp.ClientError, OSError, TimeoutError, msgspec.MsgspecError):
        return _gone(leader)


def _ascii(text: str) -> str:
    return text if text.isascii() else ""


def _why_nobody(leader: Leader) -> str:
    """Why nobody can be asked; nothing when somebody can."""
    if not leader.identity:
        return "nobody leads at the moment: a replica takes over within half a minute"
    if not leader.address:
        return (
            f"{leader.identity} leads and says no address of its dashboard: start it with --web-token, a --web-address that"
            " other replicas reach, and POD_IP in its environment"
        )
    return ""
