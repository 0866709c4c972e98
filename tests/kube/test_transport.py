"""A server that misbehaves, TLS that does not hold, proxies and fences: an error with words, and nothing sent twice."""

import asyncio
import ssl
import subprocess
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.kube.conftest import PLAIN, NewClient, eventually, server_context
from tests.kube.loopback import CLOSE, RESET, SILENT, Asked, Loopback, Reply, Wire, failure, reply
from tests.servers.authority import Authority

from remuda.errors import Unavailable
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.credentials import Fixed, Proof
from remuda.kube.errors import (
    Conflict,
    Fenced,
    Forbidden,
    KubeError,
    Unauthorized,
    Unreachable,
    Untrusted,
)
from remuda.kube.resources import CONFIG_MAPS, NODES, KubeObject
from remuda.kube.trust import Pair, Trust
from remuda.loop.clock import SystemClock

pytestmark = pytest.mark.slow

NODE = {"metadata": {"name": "n", "uid": "u"}}


async def get(client: Client) -> KubeObject:
    return await client.get(NODES, "n", KubeObject)


async def failing(client: Client) -> KubeError:
    with pytest.raises(KubeError) as caught:
        await get(client)
    assert str(caught.value).startswith("getting nodes n: ")
    return caught.value


@pytest.mark.parametrize(
    ("given_reply", "message"),
    [
        pytest.param(
            reply(b'{"metadata": {"na'),
            "the answer cannot be read: Input data was truncated",
            id="truncated JSON",
        ),
        pytest.param(reply(b"\xff"), "the answer cannot be read: JSON is malformed", id="not JSON"),
        pytest.param(
            reply(b'{"metadata":{"name":"\xff"}}'), "the answer cannot be read: .*utf-8", id="not UTF-8"
        ),
        pytest.param(
            reply({"metadata": {"name": 5}}),
            r"Expected `str`, got `int` - at `\$.metadata.name`",
            id="another shape",
        ),
        pytest.param(reply(b"[" * 100_000), "the answer cannot be read", id="endless brackets"),
        pytest.param(
            reply(b'{"x": ' + b"[" * 100_000),
            "the answer cannot be read",
            id="endless brackets in what is skipped",
        ),
        pytest.param(
            reply(b"<html>", kind="text/html"),
            "200 OK: the answer is text/html, not JSON: is 127.0.0.1 an API server?",
            id="a page",
        ),
        pytest.param(
            Reply(b'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"meta', CLOSE),
            "the answer cannot be read: Input data was truncated",
            id="HTTP/1.0 that ends early",
        ),
        pytest.param(
            reply(b"", "302 Found", Location="https://login.example.com/?secret=1"),
            "302 Found: the server redirects to https://login.example.com/; give its right address",
            id="a redirect",
        ),
        pytest.param(
            reply(b"", "204 No Content"),
            "the answer cannot be read: Input data was truncated",
            id="no content",
        ),
        pytest.param(failure(418, "Teapot", "no coffee"), "418 Teapot: no coffee", id="a status"),
        pytest.param(
            reply(b"<h1>Bad\n gateway</h1>", "418 Odd", kind="text/html"),
            "418 Odd: <h1>Bad gateway</h1>",
            id="a page as error",
        ),
        pytest.param(
            reply({"message": 5}, "418 Odd"), '418 Odd: {"message": 5}', id="an error of another shape"
        ),
        pytest.param(reply(b"x" * 5_000_000, "418 Odd"), "418 Odd: x{300}$", id="a huge error"),
        pytest.param(reply(b"", "418 "), "418 no reason given", id="an error without words"),
    ],
)
async def test_a_bad_answer_is_an_error_with_words_and_not_asked_for_again(
    new_client: NewClient, given_reply: Reply, message: str
) -> None:
    async with Loopback([given_reply]) as server:
        error = await failing(new_client(server.url))
        assert len(server.asked) == 1
    with pytest.raises(KubeError, match=message):
        raise error


async def test_http_1_0_is_understood(new_client: NewClient) -> None:
    raw = b'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"metadata": {"name": "n"}}'
    async with Loopback([Reply(raw, CLOSE)]) as server:
        assert (await get(new_client(server.url))).metadata.name == "n"


LOST = [
    pytest.param(Reply(b"", CLOSE), "Server disconnected", id="closed without an answer"),
    pytest.param(
        Reply(b"", RESET), "Connection reset by peer|Server disconnected", id="reset without an answer"
    ),
    pytest.param(
        Reply(reply(NODE).raw[:-5], CLOSE), "not completed|payload|Not enough data", id="closed in the body"
    ),
    pytest.param(
        Reply(reply(NODE).raw[:-5], RESET), "reset|not completed|payload|Connection", id="reset in the body"
    ),
    pytest.param(Reply(b"SMTP ready\r\n\r\n", CLOSE), "the answer is not HTTP", id="another protocol"),
    pytest.param(failure(500, "InternalError"), "500 InternalError", id="500"),
    pytest.param(failure(503, "ServiceUnavailable"), "503 ServiceUnavailable", id="503"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "message"), LOST)
async def test_a_read_is_repeated_until_it_is_answered(
    new_client: NewClient, lost: Reply, message: str
) -> None:
    async with Loopback([lost, lost, reply(NODE)]) as server:
        assert (await get(new_client(server.url))).metadata.uid == "u"
        assert len(server.asked) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "message"), LOST)
async def test_a_read_that_stays_without_an_answer_fails_at_its_deadline(
    new_client: NewClient, lost: Reply, message: str
) -> None:
    async with Loopback([lost]) as server:
        began = time.monotonic()
        error = await failing(new_client(server.url, timeout=1.0))
        assert 0.2 < time.monotonic() - began < 20
        assert 2 <= len(server.asked) <= 5
    with pytest.raises(KubeError, match=message):
        raise error


@pytest.mark.parametrize(("lost", "message"), LOST)
@pytest.mark.parametrize("write", ["create", "replace", "patch", "delete", "evict"])
async def test_a_write_that_may_have_been_done_is_never_sent_twice(
    new_client: NewClient, lost: Reply, message: str, write: str
) -> None:
    async with Loopback([lost]) as server:
        client = new_client(server.url)
        body = {"metadata": {"name": "c"}}
        with pytest.raises(KubeError, match=message):
            match write:
                case "create":
                    await client.create(CONFIG_MAPS, body, KubeObject, "ns")
                case "replace":
                    await client.replace(CONFIG_MAPS, body, KubeObject, "ns")
                case "patch":
                    await client.patch(CONFIG_MAPS, "c", body, KubeObject, "ns")
                case "delete":
                    await client.delete(CONFIG_MAPS, "c", "ns")
                case "evict":
                    await client.evict("p", "ns")
        assert len(server.asked) == 1


@pytest.mark.parametrize(("lost", "message"), LOST)
@pytest.mark.parametrize("write", ["apply", "delete with a uid", "evict with a uid"])
async def test_a_write_that_can_only_be_done_once_is_repeated(
    new_client: NewClient, lost: Reply, message: str, write: str
) -> None:
    async with Loopback([lost, reply({})]) as server:
        client = new_client(server.url)
        match write:
            case "apply":
                await client.apply(CONFIG_MAPS, {"metadata": {"name": "c"}}, KubeObject, "ns")
            case "delete with a uid":
                await client.delete(CONFIG_MAPS, "c", "ns", uid="u")
            case "evict with a uid":
                assert await client.evict("p", "ns", uid="u")
        assert len(server.asked) == 2


@pytest.mark.slow
async def test_a_storm_of_5xx_is_met_with_growing_pauses(new_client: NewClient) -> None:
    times: list[float] = []

    def answer(_: Asked) -> Reply:
        times.append(time.monotonic())
        return failure(503, "ServiceUnavailable") if len(times) < 5 else reply(NODE)

    async with Loopback(answer) as server:
        await get(new_client(server.url))
    gaps = [later - sooner for sooner, later in pairwise(times)]
    for gap, least in zip(gaps, [0.125, 0.25, 0.5, 1.0], strict=True):
        assert gap >= least - 0.01


@pytest.mark.slow
@pytest.mark.parametrize("code", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_retry_after_is_honoured(new_client: NewClient, code: str) -> None:
    async with Loopback([reply(b"later", code, kind="text/plain", Retry_After="1"), reply(NODE)]) as server:
        began = time.monotonic()
        await get(new_client(server.url))
        assert time.monotonic() - began >= 1.0


async def test_429_is_waited_out_for_any_request_because_nothing_was_done(new_client: NewClient) -> None:
    busy = failure(429, "TooManyRequests", Retry_After="0")
    async with Loopback([busy, busy, reply({})]) as server:
        await new_client(server.url).create(CONFIG_MAPS, {"metadata": {"name": "c"}}, KubeObject, "ns")
        assert len(server.asked) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "after", ["3600", "99999999999999999999", "²", "Wed, 21 Oct 2026 07:28:00 GMT", "-1"]
)
async def test_a_retry_after_past_the_deadline_or_without_sense_ends_in_time(
    new_client: NewClient, after: str
) -> None:
    async with Loopback([failure(429, "TooManyRequests", Retry_After=after)]) as server:
        began = time.monotonic()
        assert (await failing(new_client(server.url, timeout=1.0))).status.code == 429
        assert time.monotonic() - began < 20


async def test_a_server_that_never_answers_is_left_at_the_deadline(new_client: NewClient) -> None:
    async with Loopback([Reply(b"", SILENT)]) as server:
        error = await failing(new_client(server.url, timeout=0.3))
        assert isinstance(error, Unreachable)
        assert str(error) == "getting nodes n: no answer within 0.3 s"


async def test_a_server_that_dribbles_is_left_at_the_deadline(new_client: NewClient) -> None:
    async with Loopback([Reply(reply(NODE).raw[:-5], SILENT)]) as server:
        assert isinstance(await failing(new_client(server.url, timeout=0.3)), Unreachable)


async def test_a_big_status_is_read_whole_though_it_comes_in_pieces(new_client: NewClient) -> None:
    """A conflict of many fields is longer than what a socket gives at once."""
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "someone"', "field": ".data.x"}
    body = {"reason": "Conflict", "message": "m", "details": {"causes": [cause] * 5_000}}
    raw = reply(body, "409 Conflict").raw

    async with Loopback([Reply(raw)]) as server:
        error = await failing(new_client(server.url))
    assert isinstance(error, Conflict)
    assert error.status.details is not None
    assert [each.reason for each in error.status.details.causes] == ["FieldManagerConflict"] * 5_000


async def test_forbidden_and_others_have_a_kind_of_their_own(new_client: NewClient) -> None:
    async with Loopback([failure(403, "Forbidden", "no")]) as server:
        assert isinstance(await failing(new_client(server.url)), Forbidden)


@pytest.mark.parametrize(
    "server",
    [
        "http://127.0.0.1:1",
        "http://no-such-host.invalid",
        "https://a..b",
        "https://" + "x" * 300,
        "https://%zz",
        "https://a b",
    ],
)
async def test_a_server_that_is_nowhere_is_reported(new_client: NewClient, server: str) -> None:
    assert isinstance(await failing(new_client(server, timeout=0.5)), Unreachable)


async def test_what_cannot_be_connected_to_is_named(new_client: NewClient) -> None:
    error = await failing(new_client("http://127.0.0.1:1", timeout=0.1))
    assert str(error) == "getting nodes n: cannot connect to 127.0.0.1:1: Connection refused"


# Credentials


class Renewed:
    """Credentials of which only the second is good."""

    def __init__(self) -> None:
        self.renewals = 0
        self._tls = Trust().context()
        self._proof = Proof(self._tls, "old")

    async def proof(self) -> Proof:
        return self._proof

    def renew(self, refused: Proof) -> None:
        if refused is self._proof:
            self.renewals += 1
            self._proof = Proof(self._tls, "new")


def knows_new(asked: Asked) -> Reply:
    is_known = asked.headers.get("authorization") == "Bearer new"
    return reply({**NODE, "items": []}) if is_known else failure(401, "Unauthorized")


async def test_refused_credentials_are_renewed_once_for_all_requests(new_client: NewClient) -> None:
    async with Loopback(knows_new) as server:
        credentials = Renewed()
        client = new_client(server.url, credentials)
        await asyncio.gather(*(get(client) for _ in range(10)))
        assert credentials.renewals == 1
        await client.create(CONFIG_MAPS, NODE, KubeObject, "ns")


async def test_a_watch_renews_its_credentials_too(new_client: NewClient) -> None:
    async with Loopback(knows_new) as server:
        client = new_client(server.url, Renewed())
        async with client.watch(NODES, "1") as lines:
            assert [line async for line in lines] == []
        assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer old", "Bearer new"]


async def test_credentials_that_are_refused_twice_are_an_error(new_client: NewClient) -> None:
    async with Loopback([failure(401, "Unauthorized", "who are you")]) as server:
        error = await failing(new_client(server.url, Renewed()))
        assert isinstance(error, Unauthorized)
        assert len(server.asked) == 2


class NoCredentials:
    async def proof(self) -> Proof:
        raise Unavailable("the credential plug-in x failed")

    def renew(self, refused: Proof) -> None: ...


async def test_without_credentials_nothing_is_sent_and_the_error_says_what_for(new_client: NewClient) -> None:
    async with Loopback([reply(NODE)]) as server:
        error = await failing(new_client(server.url, NoCredentials()))
        assert isinstance(error, Unauthorized)
        assert str(error) == "getting nodes n: the credential plug-in x failed"
        assert not server.opened


class Hanging:
    async def proof(self) -> Proof:
        await asyncio.sleep(3_600)
        raise AssertionError

    def renew(self, refused: Proof) -> None: ...


async def test_credentials_that_do_not_come_are_left_at_the_deadline(new_client: NewClient) -> None:
    async with Loopback([reply(NODE)]) as server:
        error = await failing(new_client(server.url, Hanging(), timeout=0.1))
        assert isinstance(error, Unauthorized)
        assert (
            str(error)
            == "getting nodes n: there were no credentials within 0.1 s: the credential plug-in hangs"
        )
        assert not server.opened


async def test_no_cookies_are_kept(new_client: NewClient) -> None:
    async with Loopback([reply(NODE, Set_Cookie="a=b")]) as server:
        client = new_client(server.url.replace("127.0.0.1", "localhost"))
        await get(client)
        await get(client)
        assert "cookie" not in server.asked[1].headers


# TLS


def trusting(
    url: str, authority: Authority, proxy: str | None = None, server_name: str | None = None
) -> Access:
    return Access(url, Fixed(Trust(authority.certificate.read_text())), proxy=proxy, server_name=server_name)


async def test_a_server_of_our_authority_is_trusted(
    new_client: NewClient, authority: Authority, serving: ssl.SSLContext
) -> None:
    async with Loopback([reply(NODE)], serving) as server:
        assert (await get(new_client(trusting(server.url, authority)))).metadata.name == "n"


async def test_a_server_of_another_authority_is_not_trusted_at_once_and_nothing_is_sent(
    new_client: NewClient, tmp_path: Path, serving: ssl.SSLContext
) -> None:
    other = Authority(tmp_path / "other")
    async with Loopback([reply(NODE)], serving) as server:
        for access in (trusting(server.url, other), Access(server.url, Fixed(Trust()))):
            error = await failing(new_client(access))
            assert isinstance(error, Untrusted)
            assert "the certificate of 127.0.0.1 does not hold: " in str(error)
        assert not server.asked


async def test_a_certificate_for_another_host_does_not_hold_unless_that_name_is_expected(
    new_client: NewClient, authority: Authority
) -> None:
    tls = server_context(*authority.issue("elsewhere", addresses=("DNS:elsewhere",)))
    async with Loopback([reply(NODE)], tls) as server:
        error = await failing(new_client(trusting(server.url, authority)))
        assert isinstance(error, Untrusted)
        assert "IP address mismatch, certificate is not valid for '127.0.0.1'" in str(error)
        await get(new_client(trusting(server.url, authority, server_name="elsewhere")))
        error = await failing(new_client(trusting(server.url, authority, server_name="inside")))
        assert "Hostname mismatch, certificate is not valid for 'inside'" in str(error)


async def test_an_expired_server_certificate_does_not_hold(new_client: NewClient, tmp_path: Path) -> None:
    key, request, certificate, extra = (tmp_path / name for name in ("key", "csr", "crt", "ext"))
    extra.write_text("subjectAltName=IP:127.0.0.1\n")
    make = ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    make += ["-subj", "/CN=x", "-keyout", str(key), "-out", str(request)]
    sign = ["openssl", "x509", "-req", "-in", str(request), "-signkey", str(key), "-days", "-1"]
    sign += ["-extfile", str(extra), "-out", str(certificate)]
    for command in (make, sign):
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, timeout=60)
    access_to = Trust(certificate.read_text())
    async with Loopback([reply(NODE)], server_context(certificate, key)) as server:
        error = await failing(new_client(Access(server.url, Fixed(access_to))))
        assert isinstance(error, Untrusted)
        assert str(error).endswith("the certificate of 127.0.0.1 does not hold: certificate has expired")
        await get(new_client(Access(server.url, Fixed(Trust(verify=False)))))


async def test_plain_http_where_tls_is_expected_is_reported(new_client: NewClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(reply(b"", "400 Bad Request").raw)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await failing(new_client(f"https://127.0.0.1:{port}", timeout=0.3))
    assert isinstance(error, Unreachable)
    assert (
        str(error) == f"getting nodes n: cannot connect to 127.0.0.1:{port}: TLS failed: WRONG_VERSION_NUMBER"
    )


async def test_new_client_certificates_make_new_connections_and_break_none(
    new_client: NewClient, authority: Authority
) -> None:
    """A request under way goes on with the old ones."""
    tls = server_context(*authority.issue("mutual", addresses=("IP:127.0.0.1",)))
    tls.load_verify_locations(authority.certificate)
    tls.verify_mode = ssl.CERT_REQUIRED
    pairs = [Pair(*(path.read_bytes() for path in authority.issue(name))) for name in ("first", "second")]
    trust = Trust(authority.certificate.read_text())
    proofs = [Proof(trust.context(pair)) for pair in pairs]
    goes_on = asyncio.Event()

    class Rotating:
        current = proofs[0]

        async def proof(self) -> Proof:
            return self.current

        def renew(self, refused: Proof) -> None: ...

    async def answer(asked: Asked) -> Reply:
        if asked.method == "POST":
            await goes_on.wait()
        return reply(NODE)

    async with Loopback(answer, tls) as server:
        credentials = Rotating()
        client = new_client(server.url, credentials)
        writing = asyncio.create_task(client.create(CONFIG_MAPS, NODE, KubeObject, "ns"))
        await eventually(lambda: server.asked)
        credentials.current = proofs[1]
        await asyncio.gather(*(get(client) for _ in range(3)))
        goes_on.set()
        assert (await writing).metadata.name == "n"
        assert server.opened >= 2


# Proxies


async def test_a_proxy_is_asked_for_a_tunnel_and_sees_nothing(
    new_client: NewClient, authority: Authority, serving: ssl.SSLContext
) -> None:
    async with Loopback([reply(NODE)], serving) as server, Loopback([]) as proxy:
        access = trusting(server.url, authority, proxy=proxy.url, server_name="inside")
        assert (await get(new_client(access))).metadata.name == "n"
        assert proxy.tunnels == [f"127.0.0.1:{server.port}"]
        assert not proxy.asked
        wrong = trusting(server.url, authority, proxy=proxy.url, server_name="outside")
        assert isinstance(await failing(new_client(wrong)), Untrusted)


async def test_a_proxy_that_is_not_there_or_refuses_is_named_without_its_password(
    new_client: NewClient, authority: Authority
) -> None:
    gone = trusting("https://10.9.9.9:6443", authority, proxy="http://user:hunter2@127.0.0.1:1")
    error = await failing(new_client(gone, timeout=0.3))
    assert "cannot connect to the proxy 127.0.0.1:1: " in str(error)
    assert "hunter2" not in str(error)

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        access = trusting("https://10.9.9.9:6443", authority, proxy=f"http://user:hunter2@127.0.0.1:{port}")
        error = await failing(new_client(access, timeout=0.3))
    assert "the proxy says 407 Proxy Authentication Required" in str(error)
    assert "hunter2" not in str(error)


# The fence


async def test_a_shut_fence_lets_reads_pass_and_no_write(new_client: NewClient) -> None:
    async with Loopback([reply(NODE)]) as server:
        client = new_client(server.url, fence=lambda: False)
        await get(client)
        with pytest.raises(
            Fenced, match="applying configmaps ns/c: this replica may not act any more, nothing was sent"
        ):
            await client.apply(CONFIG_MAPS, {"metadata": {"name": "c"}}, KubeObject, "ns")
        assert [asked.method for asked in server.asked] == ["GET"]
        await get(client)
        assert server.opened == 1


async def test_a_write_is_not_repeated_once_the_fence_is_shut(new_client: NewClient) -> None:
    is_open = True

    def answer(_: Asked) -> Reply:
        nonlocal is_open
        is_open = False
        return failure(503, "ServiceUnavailable")

    async with Loopback(answer) as server:
        client = new_client(server.url, fence=lambda: is_open)
        with pytest.raises(Fenced):
            await client.apply(CONFIG_MAPS, {"metadata": {"name": "c"}}, KubeObject, "ns")
        assert len(server.asked) == 1


async def test_the_fence_is_asked_after_the_connection_stands(
    new_client: NewClient, authority: Authority, serving: ssl.SSLContext
) -> None:
    """A connection may take long: a write must not leave when it is there at last and our time is over."""
    is_open = True
    async with Loopback([reply(NODE)], serving) as server, Wire(server.url) as wire:
        wire.silence()
        client = new_client(trusting(wire.url, authority), fence=lambda: is_open)
        writing = asyncio.create_task(client.create(CONFIG_MAPS, NODE, KubeObject, "ns"))
        await eventually(lambda: wire.opened)
        is_open = False
        wire.restore()
        with pytest.raises(Fenced):
            await writing
        assert not server.asked


@given(raw=st.binary(max_size=200), then=st.sampled_from([CLOSE, RESET]), whole=st.booleans())
@examples(50)
def test_safety_whatever_a_server_sends_nothing_but_a_kube_error_comes_of_it(
    raw: bytes, then: str, whole: bool
) -> None:
    async def world() -> None:
        async with (
            Loopback([Reply(reply(raw).raw if whole else raw, then)]) as server,
            Client(Access(server.url, PLAIN), SystemClock(), Random(1), timeout=0.05) as client,
        ):
            with suppress(KubeError):
                await get(client)

    asyncio.run(world())
