"""The calls to CircleCI against a server that behaves like it, and one that does not."""

import asyncio
import json
import traceback
import urllib.request
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web
from tests.sources.circleci import loopback
from tests.sources.circleci.loopback import TOKEN, Circle, Fault, agent

from remuda.errors import BadInput, NotFound
from remuda.loop.clock import SystemClock
from remuda.model.needs import Worker
from remuda.sim.clock import MONDAY
from remuda.sources.circleci.client import Client, check_url, retry_after
from remuda.sources.circleci.errors import CircleError

#: shorter than any test may take, longer than a loaded machine needs to answer
DEADLINE_S = 30.0


@pytest.fixture
async def circle() -> AsyncIterator[Circle]:
    async with Circle() as circle:
        yield circle


@pytest.fixture
async def client(circle: Circle) -> AsyncIterator[Client]:
    client = Client(circle.url, lambda: TOKEN, SystemClock(), deadline_s=DEADLINE_S)
    yield client
    await client.close()


async def refusal(ask: Callable[[str], object], job_class: str = "org/a") -> CircleError:
    """The error of a call, after a look for the token in all that could be shown of it."""
    with pytest.raises(CircleError) as caught:
        await ask(job_class)  # type: ignore[misc]
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
    assert TOKEN not in repr(caught.value)
    return caught.value


async def test_counts_and_agents_are_as_circleci_says(circle: Circle, client: Client) -> None:
    tasks = circle.tasks("org/a")
    tasks.unclaimed, tasks.running = 7, 3
    tasks.agents = [agent("a-1"), agent("a-2", last_used="2026-01-05T00:01:00Z")]
    assert await client.unclaimed("org/a") == 7
    assert await client.running("org/a") == 3
    listing = await client.agents("org/a")
    assert listing.unreadable == 0
    assert listing.workers == {
        "a-1": Worker(MONDAY, connected_at=MONDAY),
        "a-2": Worker(MONDAY + 60_000, "task", 1, connected_at=MONDAY),
    }


async def test_the_class_is_encoded_whole_and_the_token_is_in_its_header(
    circle: Circle, client: Client
) -> None:
    circle.tasks("org/a b+c&d=ü")
    await client.unclaimed("org/a b+c&d=ü")
    (asked,) = circle.asked
    assert asked.raw_query == "resource-class=org%2Fa%20b%2Bc%26d%3D%C3%BC"
    assert (asked.job_class, asked.token) == ("org/a b+c&d=ü", TOKEN)


async def test_the_greatest_number_that_is_one_is_a_million(circle: Circle, client: Client) -> None:
    circle.tasks("org/a").unclaimed = 1_000_000
    assert await client.unclaimed("org/a") == 1_000_000


@pytest.mark.parametrize(
    ("fault", "outcome", "words"),
    [
        pytest.param(
            loopback.status(401),
            "unauthorized",
            "or a project's (not a resource class token)",
            id="401 speaks of the token",
        ),
        pytest.param(
            loopback.status(403), "unauthorized", "personal API token", id="403 speaks of the token"
        ),
        pytest.param(loopback.status(404), "missing", "check the pool's class", id="404 speaks of the class"),
        pytest.param(loopback.status(400), "broken", "400", id="400 is an error"),
        pytest.param(loopback.status(500), "broken", "asked again", id="500 is an error"),
        pytest.param(loopback.status(204, {}), "broken", "204", id="204 is no answer"),
        pytest.param(loopback.status(503), "broken", "503", id="503 without a time is only broken"),
        pytest.param(loopback.limited(), "limited", "left alone", id="429 without a time limits"),
        pytest.param(loopback.limited("7"), "limited", "for 7 s", id="429 with seconds"),
        pytest.param(loopback.html(), "nonsense", "a web page", id="a page is not JSON"),
        pytest.param(loopback.truncated(), "nonsense", "broke off", id="an answer that breaks off"),
        pytest.param(loopback.dropped(), "unreachable", "lost", id="a connection that ends"),
        pytest.param(loopback.body('{"unclaimed_task_count": 1'), "nonsense", "JSON", id="half a JSON"),
        pytest.param(loopback.body(""), "nonsense", "JSON", id="nothing"),
        pytest.param(loopback.body("[3]"), "nonsense", "no object", id="a bare list"),
        pytest.param(loopback.body("{}"), "nonsense", "there is no unclaimed", id="no number"),
        pytest.param(loopback.body("[" * 100_000), "nonsense", "longer than", id="too long"),
        pytest.param(loopback.body("[" * 60_000), "nonsense", "JSON", id="too deep"),
        pytest.param(loopback.redirect("/elsewhere"), "redirect", "redirects to /elsewhere", id="a redirect"),
    ],
)
async def test_a_bad_answer_is_an_error_that_says_what_to_do(
    circle: Circle, client: Client, fault: Fault, outcome: str, words: str
) -> None:
    circle.fault = fault
    error = await refusal(client.unclaimed)
    assert error.outcome == outcome
    assert words in str(error)
    assert f"asking {circle.url.rstrip('/')} for unclaimed tasks of class org/a: " in str(error)


@pytest.mark.parametrize(
    "count",
    [
        "-1",
        "1000001",
        "1e3",
        "3.0",
        '"5"',
        "true",
        "null",
        "[]",
        "{}",
        "99999999999999999999999",
        "NaN",
        "1e999",
    ],
)
async def test_an_absurd_count_is_an_error_and_never_a_number(
    circle: Circle, client: Client, count: str
) -> None:
    circle.fault = loopback.body(f'{{"unclaimed_task_count": {count}, "running_runner_tasks": {count}}}')
    for ask in (client.unclaimed, client.running):
        assert (await refusal(ask)).outcome == "nonsense"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("[]", id="a bare list"),
        pytest.param("{}", id="no items"),
        pytest.param('{"items": null}', id="null items"),
        pytest.param('{"items": {"a": 1}}', id="items that are an object"),
        pytest.param('{"items": [1, {"name": "x"}]}', id="nothing but bad items"),
    ],
)
async def test_a_listing_that_is_none_is_an_error(circle: Circle, client: Client, answer: str) -> None:
    circle.fault = loopback.body(answer)
    assert (await refusal(client.agents)).outcome == "nonsense"


async def test_a_class_without_agents_has_an_empty_listing(circle: Circle, client: Client) -> None:
    circle.tasks("org/a")
    assert (await client.agents("org/a")).workers == {}


async def test_an_unknown_class_and_a_wrong_token_are_reported_in_circlecis_words(
    circle: Circle, client: Client
) -> None:
    assert "404: resource class not found" in str(await refusal(client.running))
    circle.token = "another"
    assert "401: Invalid token provided." in str(await refusal(client.running))


async def test_a_call_that_takes_too_long_has_failed(circle: Circle) -> None:
    circle.fault = loopback.slow(60)
    client = Client(circle.url, lambda: TOKEN, SystemClock(), deadline_s=0.05)
    error = await refusal(client.unclaimed)
    await client.close()
    assert (error.outcome, "no answer within 0.05 s" in str(error)) == ("timeout", True)


async def test_a_host_where_nobody_listens_is_unreachable() -> None:
    async with Circle() as circle:
        url = circle.url
    client = Client(url, lambda: TOKEN, SystemClock(), deadline_s=DEADLINE_S)
    error = await refusal(client.unclaimed)
    await client.close()
    assert error.outcome == "unreachable"
    assert "cannot connect to 127.0.0.1" in str(error)


async def test_what_is_not_http_is_unreachable() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = Client(f"http://127.0.0.1:{port}", lambda: TOKEN, SystemClock(), deadline_s=DEADLINE_S)
    error = await refusal(client.unclaimed)
    await client.close()
    server.close()
    assert error.outcome == "unreachable"


async def test_the_token_never_follows_a_redirect(circle: Circle, client: Client) -> None:
    async with Circle() as thief:
        circle.fault = loopback.redirect(f"{thief.url}api/v3/runner/tasks?{TOKEN}")
        error = await refusal(client.unclaimed)
        assert error.outcome == "redirect"
        assert thief.asked == []


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(loopback.status(401, {"message": f"no such token: {TOKEN}"}), id="in its message"),
        pytest.param(loopback.redirect(f"/{TOKEN}"), id="in a redirect"),
        pytest.param(loopback.body(f'{{"unclaimed_task_count": "{TOKEN}"}}'), id="as a number"),
        pytest.param(loopback.status(500, {"message": "a" * 290 + TOKEN}), id="where a message is cut"),
        pytest.param(loopback.redirect("/" + "a" * 190 + TOKEN), id="where a redirect is cut"),
    ],
)
async def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error(
    circle: Circle, client: Client, fault: Fault
) -> None:
    circle.fault = fault
    shown = str(await refusal(client.unclaimed))
    assert "***" in shown
    assert TOKEN[:6] not in shown


async def test_an_agent_named_as_the_token_does_not_get_it_into_an_error(
    circle: Circle, client: Client
) -> None:
    circle.tasks("org/a").agents = [agent(TOKEN, job_class="org/b")]
    assert "agent *** is of another class" in str(await refusal(client.agents))


@pytest.mark.parametrize("message", [None, 5, ["x"], "a" * 10_000, "two\nlines"])
async def test_whatever_a_refusal_says_the_error_is_one_short_line(
    circle: Circle, client: Client, message: object
) -> None:
    circle.fault = loopback.status(500, {"message": message})
    shown = str(await refusal(client.unclaimed))
    assert len(shown) < 600
    assert "\n" not in shown


async def test_the_token_is_asked_for_before_each_request(circle: Circle) -> None:
    tokens = iter(["old", " new\n"])
    client = Client(circle.url, lambda: next(tokens), SystemClock(), deadline_s=DEADLINE_S)
    circle.tasks("org/a")
    circle.token = "new"
    assert (await refusal(client.unclaimed)).outcome == "unauthorized"
    assert await client.unclaimed("org/a") == 0
    await client.close()
    assert "new" not in repr(client)


def no_secret() -> str:
    raise NotFound("there is no Secret circle in namespace ci: make it, with the key circle-token")


def odd_secret() -> str:
    raise RuntimeError(TOKEN)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        pytest.param(no_secret, "there is no Secret circle in namespace ci", id="a missing Secret says so"),
        pytest.param(odd_secret, "cannot be read (RuntimeError)", id="an odd error tells only its kind"),
        pytest.param(lambda: " \n", "is empty", id="an empty token"),
        pytest.param(lambda: "a\r\nHost: b", "characters that no token has", id="two lines"),
        pytest.param(lambda: "tökén", "characters that no token has", id="letters of no token"),
    ],
)
async def test_without_a_token_nothing_is_sent(circle: Circle, token: Callable[[], str], words: str) -> None:
    client = Client(circle.url, token, SystemClock())
    error = await refusal(client.agents)
    assert (error.outcome, circle.asked) == ("token", [])
    assert words in str(error)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "runner.circleci.com",
        "ftp://runner.circleci.com",
        "https://",
        "https://user:secret@host/",
        "https://host:99999/",
        "https://host/?a=b",
        "https://host/#x",
        "https://[::1",
    ],
)
def test_an_address_that_is_none_is_bad_input_and_not_shown(url: str) -> None:
    with pytest.raises(BadInput, match=r"like https://runner\.circleci\.com/") as caught:
        check_url(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("https://runner.circleci.com/", "https://runner.circleci.com"),
        ("https://circleci.example.org", "https://circleci.example.org"),
        ("https://example.org/circleci/", "https://example.org/circleci"),
    ],
)
def test_cloud_and_server_are_addresses(url: str, right: str) -> None:
    assert check_url(url) == right


def _date(seconds: float) -> str:
    return format_datetime(
        datetime.fromtimestamp(MONDAY / 1000, UTC) + timedelta(seconds=seconds), usegmt=True
    )


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("7", 7.0, id="seconds"),
        pytest.param("0", 1.0, id="at least a second"),
        pytest.param("3600", 3600.0, id="an hour"),
        pytest.param("3601", None, id="more than an hour says nothing"),
        pytest.param("999999999999999999", None, id="nor do ages"),
        pytest.param(_date(99_999_999), None, id="nor does a date in years"),
        pytest.param(_date(90), 90.0, id="a date"),
        pytest.param(_date(-90), 1.0, id="a date that is over"),
        pytest.param("soon", None, id="a word says nothing"),
        pytest.param("-5", None, id="less than nothing says nothing"),
        pytest.param("²", None, id="a digit that is none"),
        pytest.param("", None, id="nothing says nothing"),
        pytest.param(None, None, id="no header says nothing"),
    ],
)
def test_how_long_to_wait_is_said_in_seconds_or_as_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, MONDAY) == seconds


async def test_a_refusal_for_a_time_says_it_also_when_it_is_503(circle: Circle, client: Client) -> None:
    for fault in (loopback.limited("7"), loopback.status(503, {}, Retry_After="7")):
        circle.fault = fault
        error = await refusal(client.unclaimed)
        assert (error.is_limited, error.retry_after) == (True, 7.0)


async def test_calls_go_side_by_side(circle: Circle, client: Client) -> None:
    """Each answer waits for the other request: one after the other would never end."""
    both = asyncio.Barrier(2)

    async def meet(_: object) -> web.StreamResponse:
        await both.wait()
        return web.json_response({"unclaimed_task_count": 1, "running_runner_tasks": 2})

    circle.fault = meet
    async with asyncio.timeout(DEADLINE_S):
        unclaimed, running = await asyncio.gather(client.unclaimed("org/a"), client.running("org/a"))
    assert (unclaimed, running) == (1, 2)


@pytest.mark.slow
def test_the_server_also_serves_from_a_thread() -> None:
    circle = Circle()
    circle.tasks("org/a").unclaimed = 4
    with loopback.in_thread(circle):
        request = urllib.request.Request(
            f"{circle.url}api/v3/runner/tasks?resource-class=org%2Fa", headers={"Circle-Token": TOKEN}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.load(answer) == {"unclaimed_task_count": 4}
