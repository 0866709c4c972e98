"""Commands in containers, against a server that speaks as kubelets do, and as they should not."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.kube.conftest import NewClient

from remuda.kube.channels import CHANNELS, Ran
from remuda.kube.client import Client
from remuda.kube.credentials import Proof
from remuda.kube.errors import Fenced, Forbidden, KubeError, Unauthorized, Unreachable
from remuda.kube.trust import Trust

Speak = Callable[[web.WebSocketResponse], Awaitable[None]]
DONE = {"metadata": {}, "status": "Success"}
FAILED = {
    "status": "Failure",
    "reason": "NonZeroExitCode",
    "details": {"causes": [{"reason": "ExitCode", "message": "2"}]},
}


def saying(*frames: tuple[int, object]) -> Speak:
    async def speak(socket: web.WebSocketResponse) -> None:
        for channel, data in frames:
            whole = data if isinstance(data, bytes) else json.dumps(data).encode()
            await socket.send_bytes(bytes([channel]) + whole)

    return speak


@asynccontextmanager
async def kubelet(
    speak: Speak | None = None, refusal: web.Response | None = None, protocol: str = CHANNELS
) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """An address, and what was asked there."""
    asked: list[web.Request] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        if refusal is not None:
            return web.json_response(text=refusal.text, status=refusal.status)
        socket = web.WebSocketResponse(protocols=(protocol,))
        await socket.prepare(request)
        assert speak is not None
        await speak(socket)
        await socket.close()
        return socket

    app = web.Application()
    app.router.add_get("/{path:.*}", serve)
    async with TestServer(app) as server:
        yield str(server.make_url("/")).rstrip("/"), asked


async def run(client: Client, within: float = 20.0, most: int = 4096) -> Ran:
    return await client.exec("pod-x", "ns", "main", ("ls", "-l", "/dev/a b"), within=within, most=most)


async def test_what_a_command_prints_and_how_it_ends_is_reported(new_client: NewClient) -> None:
    speak = saying((1, b""), (2, b""), (3, b""), (1, b"one "), (2, b"oh"), (1, b"two"), (3, DONE))
    async with kubelet(speak) as (url, asked):
        assert await run(new_client(url)) == Ran(0, b"one two", b"oh")
    assert asked[0].path == "/api/v1/namespaces/ns/pods/pod-x/exec"
    assert list(asked[0].query.items()) == [
        ("container", "main"),
        ("command", "ls"),
        ("command", "-l"),
        ("command", "/dev/a b"),
        ("stdout", "true"),
        ("stderr", "true"),
    ]


async def test_the_exit_code_of_a_command_is_reported(new_client: NewClient) -> None:
    async with kubelet(saying((2, b"no such file"), (3, FAILED))) as (url, _):
        assert await run(new_client(url)) == Ran(2, b"", b"no such file")


async def test_a_command_that_prints_without_end_is_cut(new_client: NewClient) -> None:
    async with kubelet(saying(*[(1, b"x" * 1000)] * 50, (3, DONE))) as (url, _):
        assert await run(new_client(url), most=1500) == Ran(0, b"x" * 1500, b"")


@pytest.mark.parametrize(
    ("speak", "message"),
    [
        pytest.param(saying((1, b"begun")), "the connection ended before the command did", id="no end"),
        pytest.param(saying((3, b"{")), "the answer cannot be read", id="an end that is none"),
        pytest.param(
            saying((3, {"status": "Failure", "reason": "NonZeroExitCode"})),
            "the answer cannot be read",
            id="a failure without a code",
        ),
        pytest.param(
            saying((3, {"status": "Failure", "code": 500, "reason": "InternalError", "message": "no ls"})),
            "500 InternalError: no ls",
            id="a command that is not there",
        ),
    ],
)
async def test_a_command_without_a_good_end_is_an_error(
    speak: Speak, message: str, new_client: NewClient
) -> None:
    async with kubelet(speak) as (url, _):
        with pytest.raises(KubeError, match=message) as error:
            await run(new_client(url))
    assert str(error.value).startswith("running ls in pods ns/pod-x, container main: ")


async def test_a_kubelet_of_another_tongue_is_an_error(new_client: NewClient) -> None:
    async with kubelet(saying((3, DONE)), protocol="channel.k8s.io") as (url, _):
        with pytest.raises(KubeError, match=f"does not speak {CHANNELS}"):
            await run(new_client(url))


async def test_a_refusal_is_reported_in_the_words_of_the_server(new_client: NewClient) -> None:
    said = {"code": 403, "reason": "Forbidden", "message": 'user "x" cannot create resource "pods/exec"'}
    async with kubelet(refusal=web.Response(text=json.dumps(said), status=403)) as (url, asked):
        with pytest.raises(Forbidden, match='cannot create resource "pods/exec"'):
            await run(new_client(url))
    assert len(asked) == 1


async def test_a_command_that_never_ends_is_given_up(new_client: NewClient) -> None:
    async def hang(_: web.WebSocketResponse) -> None:
        await asyncio.sleep(3)

    async with kubelet(hang) as (url, _):
        with pytest.raises(Unreachable, match=r"no answer within 0\.2 s"):
            await run(new_client(url), within=0.2)


async def test_nothing_is_run_beyond_the_fence(new_client: NewClient) -> None:
    async with kubelet(saying((3, DONE))) as (url, asked):
        with pytest.raises(Fenced):
            await run(new_client(url, fence=lambda: False))
    assert asked == []


class Renewed:
    """Credentials that are good once they were renewed, and perhaps not even then."""

    def __init__(self, tokens: list[str]) -> None:
        self._tls = Trust(verify=False).context()
        self._tokens = tokens

    async def proof(self) -> Proof:
        return Proof(self._tls, self._tokens[0])

    def renew(self, _: Proof) -> None:
        del self._tokens[0]


@pytest.mark.slow
@pytest.mark.parametrize("good", [True, False])
async def test_newer_credentials_are_shown_once(good: bool, new_client: NewClient) -> None:
    async def speak(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] != "Bearer new":
            return web.json_response({"code": 401}, status=401)
        socket = web.WebSocketResponse(protocols=(CHANNELS,))
        await socket.prepare(request)
        await saying((3, DONE))(socket)
        return socket

    app = web.Application()
    app.router.add_get("/{path:.*}", speak)
    async with TestServer(app) as server:
        tokens: Any = ["old", "new" if good else "bad", "new"]
        client = new_client(str(server.make_url("/")).rstrip("/"), Renewed(tokens))
        if good:
            assert (await run(client)).code == 0
            return
        with pytest.raises(Unauthorized):
            await run(client)
