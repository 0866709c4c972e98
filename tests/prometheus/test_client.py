"""The client against a server that behaves like Prometheus, and against one that does not."""

import asyncio
import random
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from tests.prometheus.loopback import (
    Asked,
    Loopback,
    Reply,
    answer,
    body_of,
    broken_off,
    matrix,
    refusal,
    text,
    vector,
)

from remuda.loop.clock import SystemClock
from remuda.prometheus.access import Access, find_access
from remuda.prometheus.answers import retry_after
from remuda.prometheus.client import Build, Limits, Point, Prometheus, connect
from remuda.prometheus.errors import PrometheusError, TooMuch

pytestmark = pytest.mark.slow

SECRET = "s3cr3t-word"
NOW = 1_760_000_000
#: quick to give up, but not on a loaded machine
QUICK = Limits(timeout_s=30, first_wait_s=0.001, longest_wait_s=5)
A, B = {"pod": "a"}, {"pod": "b"}
Ask = Callable[[Prometheus], Awaitable[Any]]


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with Loopback() as loopback:
        yield loopback


def client_of(server: Loopback, limits: Limits = QUICK) -> Prometheus:
    access = find_access(server.url, {"REMUDA_PROMETHEUS_TOKEN": SECRET})
    return Prometheus(access, SystemClock(), random.Random(1), limits=limits)


def ask_range(prometheus: Prometheus) -> Awaitable[Any]:
    return prometheus.range("up", NOW - 60, NOW, 60, what="a test")


async def failure(
    server: Loopback, *replies: Reply, limits: Limits = QUICK, ask: Ask = ask_range
) -> PrometheusError:
    """The error of a question, after a look for the token in all that could be shown of it."""
    server.replies = list(replies)
    async with client_of(server, limits) as prometheus:
        with pytest.raises(PrometheusError) as caught:
            await ask(prometheus)
    assert SECRET not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert str(caught.value).startswith(f"asking {server.url} for ")
    return caught.value


async def test_a_range_is_asked_for_in_a_form_and_read_as_arrays(server: Loopback) -> None:
    server.replies = [
        lambda _: matrix((A, [[NOW - 60, "1.5"], [NOW, "2"]]), (B, [[NOW, "NaN"]]), warnings=["careful"])
    ]
    async with client_of(server) as prometheus:
        read = await prometheus.range("up" * 20_000, NOW - 60, NOW, 60, what="a test")
    first, second = read.series
    assert (first.labels, first.times.tolist(), first.values.tolist()) == (A, [NOW - 60, NOW], [1.5, 2.0])
    assert (second.times.tolist(), second.dropped.not_numbers) == ([], 1)
    assert read.warnings == ("careful",)
    asked = server.asked[0]
    assert asked.path == "/some/where/api/v1/query_range"
    assert asked.headers["Authorization"] == f"Bearer {SECRET}"
    expected = {
        "start": str(NOW - 60),
        "end": str(NOW),
        "step": "60",
        "timeout": "30s",
        "query": "up" * 20_000,
    }
    assert asked.form == expected


async def test_an_instant_is_a_vector(server: Loopback) -> None:
    server.replies = [lambda _: vector((A, [NOW, "3"]), isPartial=True)]
    async with client_of(server) as prometheus:
        read = await prometheus.instant("up", what="a test", at=NOW)
    assert read.points == [Point(A, 3.0)]
    assert "partial" in read.warnings[0]
    assert server.asked[0].form["time"] == str(NOW)


async def test_labels_of_series_are_given_one_by_one(server: Loopback) -> None:
    server.replies = [lambda _: answer([A, B])]
    found: list[dict[str, str]] = []
    async with client_of(server) as prometheus:
        await prometheus.each_series(["up", "down"], 1, 2, found.append, what="a test")
    assert found == [A, B]


async def test_the_version_is_read(server: Loopback) -> None:
    server.replies = [lambda _: answer({"version": "3.1", "goVersion": "go1"})]
    async with client_of(server) as prometheus:
        assert await prometheus.buildinfo() == Build("3.1")
    assert (
        await failure(server, lambda _: text("[]"), ask=lambda prometheus: prometheus.buildinfo())
    ).kind == "invalid"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param(lambda _: refusal(429, "", "slow down", Retry_After="0"), "limited", id="429"),
        pytest.param(lambda _: refusal(500, "internal", "oh"), "broken", id="500"),
        pytest.param(lambda _: text("bad gateway", "text/plain", 502), "broken", id="502"),
        pytest.param(lambda _: text("<html>down</html>", "text/html", 503), "broken", id="503"),
        pytest.param(lambda _: text("", "text/plain", 504), "broken", id="504"),
        pytest.param(lambda asked: broken_off(asked, b'{"status":'), "unreachable", id="broken off"),
        pytest.param(
            lambda asked: broken_off(asked, body_of(matrix((A, [[NOW, "9"]])))[:-3]), "unreachable", id="late"
        ),
    ],
)
async def test_what_passes_is_asked_again_until_it_is_enough(
    server: Loopback, reply: Reply, kind: str
) -> None:
    server.replies = [reply, reply, lambda _: matrix((A, [[NOW, "1"]]))]
    async with client_of(server) as prometheus:
        read = await prometheus.range("up", NOW, NOW, 60, what="a test")
    assert [series.values.tolist() for series in read.series] == [[1.0]]
    server.asked.clear()
    error = await failure(server, reply)
    assert (error.kind, len(server.asked)) == (kind, QUICK.tries)


async def test_a_connection_that_is_reset_is_asked_for_again(server: Loopback) -> None:
    async def reset(asked: Asked) -> web.StreamResponse:
        assert asked.request.transport is not None
        asked.request.transport.abort()
        return web.Response()

    server.replies = [reset, lambda _: matrix((A, [[NOW, "1"]]))]
    async with client_of(server) as prometheus:
        assert len((await prometheus.range("up", NOW, NOW, 60, what="a test")).series) == 1


@pytest.mark.slow
async def test_nobody_is_asked_before_they_want_it(server: Loopback) -> None:
    loop = asyncio.get_running_loop()
    server.replies = [lambda _: refusal(429, "", "later", Retry_After="1"), lambda _: matrix()]
    began = loop.time()
    async with client_of(server) as prometheus:
        await ask_range(prometheus)
    assert loop.time() - began >= 1
    server.asked.clear()
    error = await failure(server, lambda _: refusal(429, "", "later", Retry_After="3600"))
    assert (error.retry_after, len(server.asked)) == (3600.0, 1)
    assert "left alone for 3600 s" in str(error)


def test_a_server_says_when_in_seconds_or_by_a_date() -> None:
    assert retry_after("7", 0) == 7.0
    assert retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 10_000) == 50.0
    assert retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 100_000) == 0.0
    assert [retry_after(value, 0) for value in (None, "", "soon", "-1", "١")] == [None] * 5


@pytest.mark.slow
async def test_a_server_that_hangs_is_given_up(server: Loopback) -> None:
    released = asyncio.Event()

    async def hang(_: Asked) -> web.StreamResponse:
        await released.wait()
        return web.Response()

    error = await failure(server, hang, limits=Limits(timeout_s=1, tries=2, first_wait_s=0.001))
    released.set()
    assert error.kind == "timeout"
    # a busy machine may need the time already to send
    assert len(server.asked) <= 2
    assert "no answer within 1 s" in str(error)


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        pytest.param(
            lambda _: refusal(400, "bad_data", "parse error: unexpected <eof>"), "query", "does not take", id="bad data"
        ),
        pytest.param(lambda _: refusal(422, "execution", "vector of strings"), "query", "422 execution", id="execution"),
        pytest.param(lambda _: refusal(200, "execution", "odd"), "query", "odd", id="an error that says 200"),
        pytest.param(lambda _: refusal(401, "", f"no {SECRET}"), "unauthorized", "REMUDA_PROMETHEUS_TOKEN", id="401"),
        pytest.param(lambda _: text("<html>", "text/html", 403), "unauthorized", "web page", id="403"),
        pytest.param(lambda _: text("404 page not found", "text/plain", 404), "missing", "path", id="404"),
        pytest.param(
            lambda _: web.Response(status=302, headers={"Location": f"https://sso/?x={SECRET}"}),
            "redirect",
            "https://sso/",
            id="redirect",
        ),
        pytest.param(lambda _: text("<html>login</html>", "text/html"), "invalid", "login page", id="login page"),
        pytest.param(lambda _: text("<html>login</html>"), "invalid", "no sense", id="a page that says it is JSON"),
        pytest.param(lambda _: text(""), "invalid", "cut off", id="empty"),
        pytest.param(lambda _: text("{}"), "invalid", "status", id="no status"),
        pytest.param(lambda _: text('{"status":"success"}'), "invalid", "nothing", id="no data"),
        pytest.param(lambda _: text('{"status":"success","data":{"resultType":"matrix","result":[{"me'), "invalid",
                     "cut off", id="cut off"),
        pytest.param(lambda _: vector((A, [NOW, "1"])), "invalid", "metric|matrix", id="a vector"),
        pytest.param(lambda _: answer({"resultType": "scalar", "result": [1, "2"]}), "invalid", "something else",
                     id="a scalar"),
        pytest.param(lambda _: matrix((A, [[NOW, {}]])), "invalid", "float", id="wrong types"),
        pytest.param(lambda _: answer({"resultType": "matrix", "result": [{"metric": 1}]}), "invalid", "metric",
                     id="wrong labels"),
        pytest.param(lambda _: text(b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"\xff"}}]}}'),
                     "invalid", "no text|utf-8|UTF-8", id="no text"),
        pytest.param(lambda _: text("[" * 100_000), "invalid", "cut off", id="deep"),
        pytest.param(lambda _: text('{"x":' + "[" * 5000 + "]" * 5000 + "}"), "invalid", "no sense", id="deep and whole"),
        pytest.param(lambda _: text(b'{"x":"' + b"y" * 2**21 + b'"}'), "invalid", "longer than", id="huge around"),
    ],
)  # fmt: skip
async def test_what_is_not_cured_by_asking_again_is_said_at_once(
    server: Loopback, reply: Reply, kind: str, words: str
) -> None:
    error = await failure(server, reply)
    assert (error.kind, len(server.asked)) == (kind, 1)
    assert any(word in str(error) for word in words.split("|")), str(error)
    assert not isinstance(error, TooMuch)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(
            lambda _: refusal(422, "execution", "query processing would load too many samples into memory"),
            id="prometheus samples",
        ),
        pytest.param(
            lambda _: refusal(
                400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries."
            ),
            id="prometheus points",
        ),
        pytest.param(
            lambda _: refusal(503, "timeout", "query timed out in expression evaluation"), id="timeout"
        ),
        pytest.param(lambda _: refusal(503, "canceled", "query was canceled"), id="canceled"),
        pytest.param(
            lambda _: refusal(
                422, "execution", "the query exceeded the maximum number of chunks (err-mimir-x)"
            ),
            id="mimir",
        ),
        pytest.param(
            lambda _: refusal(422, "422", "cannot process more than -search.maxSamplesPerQuery"),
            id="victoria",
        ),
        pytest.param(lambda _: text("", "text/plain", 413), id="413"),
    ],
)
async def test_what_a_smaller_question_cures_is_too_much(server: Loopback, reply: Reply) -> None:
    error = await failure(server, reply)
    assert isinstance(error, TooMuch)
    assert len(server.asked) == 1


@pytest.mark.slow
async def test_an_answer_that_is_too_large_is_not_read_to_its_end(server: Loopback) -> None:
    many = [(A, [[NOW, "1"]])] * 11
    error = await failure(server, lambda _: matrix(*many), limits=Limits(most_series=10))
    assert isinstance(error, TooMuch)
    assert "more than 10 series" in str(error)
    sent = 0

    async def endless(asked: Asked) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(asked.request)
        await response.write(b'{"status":"success","data":{"resultType":"matrix","result":[')
        try:
            while sent < 200 * 2**20:
                await response.write(b'{"metric":{},"values":[[1,"2"]]},' * 10_000)
                sent += 330_000
        except ConnectionError:
            pass
        return response

    error = await failure(server, endless, limits=Limits(most_bytes=2**20, most_series=10**9))
    assert isinstance(error, TooMuch)
    assert "more than 1,048,576 bytes" in str(error)
    assert sent < 100 * 2**20


async def test_only_so_many_questions_are_asked_at_once(server: Loopback) -> None:
    async def slowly(_: Asked) -> web.StreamResponse:
        await asyncio.sleep(0.02)
        return matrix()

    server.replies = [slowly]
    async with client_of(server) as prometheus:
        await asyncio.gather(*(ask_range(prometheus) for _ in range(8)))
    assert server.most_at_once == 2


async def test_a_basic_password_that_is_echoed_is_not_shown(server: Loopback) -> None:
    server.replies = [lambda _: refusal(400, "bad_data", f"me and {SECRET}")]
    environ = {"REMUDA_PROMETHEUS_USER": "me", "REMUDA_PROMETHEUS_PASSWORD": SECRET}
    async with connect(server.url, environ) as prometheus:
        with pytest.raises(PrometheusError, match=r"me and \*\*\*"):
            await ask_range(prometheus)


async def test_a_header_that_is_no_right_password_is_sent_and_masked(server: Loopback) -> None:
    server.replies = [lambda asked: refusal(401, "", asked.headers["Authorization"])]
    async with connect(
        server.url, {"REMUDA_PROMETHEUS_HEADER": f"Authorization: Basic {SECRET}!"}
    ) as prometheus:
        with pytest.raises(PrometheusError, match=r"401: \*\*\*") as caught:
            await ask_range(prometheus)
    assert SECRET not in str(caught.value)


async def test_a_token_file_that_went_away_is_said(server: Loopback, tmp_path: Any) -> None:
    file = tmp_path / "token"
    file.write_text(SECRET)
    async with connect(server.url, {"REMUDA_PROMETHEUS_TOKEN_FILE": str(file)}) as prometheus:
        file.unlink()
        with pytest.raises(PrometheusError, match="No such file") as caught:
            await ask_range(prometheus)
    assert caught.value.kind == "unauthorized"
    assert server.asked == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://no.such.host.invalid"])
async def test_a_server_that_is_not_there_is_said(url: str) -> None:
    limits = Limits(tries=2, first_wait_s=0.001)
    async with Prometheus(Access(url), SystemClock(), random.Random(1), limits=limits) as prometheus:
        with pytest.raises(PrometheusError, match="cannot connect") as caught:
            await ask_range(prometheus)
    assert caught.value.kind == "unreachable"


async def test_a_question_that_is_no_text_is_an_error(server: Loopback) -> None:
    error = await failure(
        server, lambda _: matrix(), ask=lambda prometheus: prometheus.range("\ud800", 1, 2, 1, what="a test")
    )
    assert error.kind == "query"
