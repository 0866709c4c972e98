"""Real replicas on a real API server, and a real browser: any of them answers, also while the one that leads dies."""

import asyncio
import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from playwright.async_api import expect
from tests.processes import ENVIRON
from tests.servers.browser import Browser, open_in
from tests.servers.cluster import Cluster
from tests.test_cluster import API, DEADLINE_S, Replica, conditions, define, leader, pool, until

pytestmark = pytest.mark.slow
TOKEN = "the-token-that-all-replicas-share"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/remuda"
expect.set_options(timeout=DEADLINE_S * 1_000)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(browser_program: Path) -> AsyncIterator[Browser]:
    async with Browser(browser_program) as running:
        yield running


@pytest.fixture
def replica(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Callable[[str], Replica]]:
    """Starts a replica with the token that all have, as the chart does."""
    define(cluster)
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o440)
    made: list[Replica] = []

    def make(name: str) -> Replica:
        program = ("-m", "remuda", "up", "--cluster", "--web-port", "0", "--web-token", str(token))
        made.append(Replica(cluster, namespace, tmp_path, name, program, {"POD_IP": "127.0.0.1"}))
        until((made[-1].data / "ports.json").exists, f"{name} is up")
        return made[-1]

    yield make
    for one in made:
        one.end()


def url(of: Replica) -> str:
    return f"http://127.0.0.1:{json.loads((of.data / 'ports.json').read_bytes())['web']}"


def ask(of: Replica, *words: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    """A command of somebody elsewhere."""
    command = [sys.executable, "-m", "remuda", *words, "--server", url(of)]
    environ = {**os.environ, **ENVIRON, "REMUDA_TOKEN": token}
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )


@pytest.mark.asyncio(loop_scope="module")
async def test_any_replica_answers_and_a_page_goes_on_when_the_leader_dies(
    cluster: Cluster, namespace: str, replica: Callable[[str], Replica], browser: Browser
) -> None:
    cluster.request("POST", f"{API}/{namespace}/runnerpools", pool("shared"))
    first = replica("first")
    until(lambda: leader(cluster, namespace) == "first", "first leads")
    second = replica("second")
    until(
        lambda: conditions(cluster, namespace, "shared").get("Ready", {}).get("status") == "True",
        "shared is ready",
    )
    lease = cluster.request("GET", LEASE.format(namespace)).json()
    assert lease["metadata"]["annotations"] == {"remuda.dev/web": url(first).removeprefix("http://")}

    answer = until(lambda: (got := ask(second, "why", "pool", "shared")).returncode == 0 and got, "an answer")
    assert "shared has the 1 machine it wants" in answer.stdout
    assert "stands by" not in answer.stdout
    assert "0 decided differently" in ask(second, "replay", "--since", "10m").stdout
    assert "not known there" in ask(second, "why", "pool", "shared", token="wrong").stderr

    person = await browser.person()
    page = await open_in(person, f"{url(second)}/pools/shared?token={TOKEN}")
    await expect(page.it.locator("#pulse")).to_have_text("live")
    await page.it.get_by_role("button", name="Pause").click()
    await page.it.get_by_role("button", name="Do it").click()
    await expect(page.it.locator("#pool-head")).to_contain_text("shared is paused")
    assert "shared is paused" in ask(first, "why", "pool", "shared").stdout, "it is the leader that does it"
    await page.it.get_by_role("button", name="Resume").click()
    await page.it.get_by_role("button", name="Do it").click()
    await expect(page.it.locator("#pool-head")).not_to_contain_text("paused")

    first.process.send_signal(signal.SIGKILL)
    await expect(page.it.locator("#notice")).to_contain_text("first leads and does not answer at 127.0.0.1")
    opened = await open_in(person, f"{url(second)}/pools/shared")
    await expect(opened.it.locator(".problem")).to_contain_text("another replica takes over")
    # Neither page is touched from here on.
    await expect(page.it.locator("#pulse")).to_have_text("live")
    await expect(page.it.locator("#notice")).to_be_hidden()
    await expect(opened.it.locator("#pulse")).to_have_text("live")
    assert leader(cluster, namespace) == "second"
    await expect(opened.it.locator("#pool-machines")).to_contain_text("shared-")

    first.end()
    third = await asyncio.to_thread(replica, "third")
    answer = until(lambda: (got := ask(third, "why", "pool", "shared")).returncode == 0 and got, "an answer")
    assert "shared has the 1 machine it wants" in answer.stdout
    for one in (first, second, third):
        assert TOKEN not in one.log.read_text()
    assert TOKEN not in json.dumps(cluster.request("GET", LEASE.format(namespace)).json())


class _Stay(urllib.request.HTTPRedirectHandler):
    """Goes where it was sent, and nowhere else."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def request(of: Replica, path: str, cookie: str = "", form: dict[str, str] | None = None) -> str | int:
    """The cookie that comes with a redirection, or the status of anything else, for a browser with a cookie."""
    port = url(of).rpartition(":")[2]
    headers = {"Cookie": f"remuda-session-{port}={cookie}"} if cookie else {}
    data = urlencode(form).encode() if form is not None else None
    asked = urllib.request.Request(url(of) + path, data, headers)
    try:
        with urllib.request.build_opener(_Stay).open(asked, timeout=DEADLINE_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.headers.get("Set-Cookie", "") if error.code == 303 else error.code


def is_answered(of: Replica, cookie: str, status: int) -> bool:
    return request(of, "/", cookie) == status


def test_who_signs_out_at_one_replica_is_out_at_all_of_them_when_another_leads_later(
    cluster: Cluster, namespace: str, replica: Callable[[str], Replica]
) -> None:
    first = replica("first")
    until(lambda: leader(cluster, namespace) == "first", "first leads")
    second, third = replica("second"), replica("third")
    answer = request(second, f"/?token={TOKEN}")
    assert not isinstance(answer, int)
    cookie = answer.partition("=")[2].partition(";")[0]
    for each in (first, second, third):
        until(partial(is_answered, each, cookie, 200), "a replica lets the session in")
    # The form's proof is that of the session, as its page has it.
    key = hashlib.sha256(b"remuda cookie\0" + TOKEN.encode()).digest()
    proof = hmac.new(key, f"form\0{cookie}".encode(), "sha256").hexdigest()
    assert not isinstance(request(second, "/sign-out", cookie, {"proof": proof}), int)
    annotations = until(
        lambda: "remuda.dev/web-signed-out" in (found := said(cluster, namespace)) and found, "all hear of it"
    )
    assert cookie not in str(annotations)
    first.process.send_signal(signal.SIGKILL)
    until(lambda: leader(cluster, namespace) in {"second", "third"}, "another leads")
    fourth = replica("fourth")
    for each in (second, third, fourth):
        until(partial(is_answered, each, cookie, 401), "the session is out there")
    assert "remuda.dev/web-signed-out" in said(cluster, namespace), "the next leader says it, too"


def said(cluster: Cluster, namespace: str) -> dict[str, str]:
    lease = cluster.request("GET", LEASE.format(namespace)).json()
    found: dict[str, str] = lease["metadata"].get("annotations", {})
    return found
