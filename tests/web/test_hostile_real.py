"""Names, texts and output that somebody wrote to run in the browser of who looks: shown on every page, and nothing of it happens."""

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio
import yaml
from playwright.async_api import Dialog, expect
from tests.processes import DEADLINE_S, Place, ceiling, place, pool
from tests.servers.browser import Browser, Page, open_in

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
EXAMPLES = Path(__file__).parents[2] / "examples"
#: leaves an attribute, a script, a text field and a template, and then tries to do something
EVIL = "\"'><img src=x onerror=window.pwned=1 class=pwned><script>window.pwned=1</script></textarea></script>{{7*7}}<b class=pwned>"
#: what is planted wherever objects of a cluster or a fleet let somebody write
_NAMED = {
    *("name", "namespace", "nodeName", "runnerScaleSetName", "githubConfigUrl", "image"),
    *("id", "zone", "instanceType", "cluster", "provider"),
}
expect.set_options(timeout=DEADLINE_S * 1_000)


def spoiled(value: Any, key: str = "") -> Any:
    """The same data with names, labels and annotations that end in what is hostile."""
    if isinstance(value, dict):
        found = {name: spoiled(each, name) for name, each in value.items()}
        if "name" in found and key == "metadata":
            for bag in ("labels", "annotations"):
                found[bag] = {**found.get(bag, {}), "evil": EVIL}
        return found
    if isinstance(value, list):
        return [spoiled(each, key) for each in value]
    return value + EVIL if isinstance(value, str) and key in _NAMED else value


def plant(here: Place) -> None:
    """An audit, a review and a plan of hostile names, kept for the pages, and jobs whose every text is hostile."""
    cluster = json.loads((EXAMPLES / "capacity-cluster.json").read_text())
    (here.home / "capacity.json").write_text(json.dumps(spoiled(cluster)))
    for name in ("rightsize-cluster", "fleet-inventory"):
        documents = yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())
        changed = [spoiled(document) for document in documents]
        if name == "fleet-inventory":
            changed[0]["metadata"] = {"name": "everything"}
        (here.home / f"{name}.yaml").write_text(yaml.safe_dump_all(changed))
    script = [sys.executable, str(EXAMPLES / "rightsize-usage.py"), "1767225600"]
    usage = json.loads(subprocess.run(script, check=True, capture_output=True).stdout)
    for workload in usage["workloads"]:
        workload |= {name: workload[name] + EVIL for name in ("namespace", "name")}
        workload["containers"] = {name + EVIL: seen for name, seen in workload["containers"].items()}
    (here.home / "usage.json").write_text(json.dumps(usage))
    policy = str(EXAMPLES / "rightsize-policy.yaml")
    review = ("--from", str(here.home / "rightsize-cluster.yaml"), "--usage", str(here.home / "usage.json"))
    demand = ("--demand", str(EXAMPLES / "fleet-demand.yaml"))
    for words in (
        ("capacity", "audit", "--from", str(here.home / "capacity.json")),
        ("rightsize", "review", *review, "--policy", policy, "--at", "2026-01-01T00:00:00Z"),
        ("fleet", "plan", "--keep", "--inventory", str(here.home / "fleet-inventory.yaml"), *demand),
    ):
        ran = here.cli(*words)
        assert ran.code in {0, 1}, ran.err
        assert "pwned" in ran.out
    said = here.submit("sh", "-c", f"echo '{EVIL.replace(chr(39), '')}'; exit 3", env={"EVIL": EVIL})
    unknown = here.submit(f"/no/such/{EVIL}")
    for number in (said, unknown):
        here.wait_end(number)


@pytest.fixture(scope="module")
def up() -> Iterator[Place]:
    with place() as here:
        here.write(pool("shell", min=1, max=2, ceiling="all"), ceiling("all", 2))
        here.start("--web-port", "0")
        plant(here)
        # The last one is refused, and the page says why.
        here.write(pool("shell", min=1, max=2, **{EVIL: EVIL}))
        yield here
        here.clear()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(browser_program: Path) -> AsyncIterator[Browser]:
    async with Browser(browser_program) as running:
        yield running


def address(up: Place, path: str) -> str:
    port = json.loads((up.data / "ports.json").read_bytes())["web"]
    return f"http://127.0.0.1:{port}{path}"


_EVIL = quote(EVIL, safe="")
#: by page, whether what was planted must be seen there
PAGES = {
    "/": True,
    "/pools": False,
    "/pools/shell": False,
    f"/pools/{_EVIL}": True,
    "/jobs": True,
    f"/jobs?class={_EVIL}": True,
    f"/jobs?state={_EVIL}": True,
    "/jobs/1": True,
    "/jobs/2": True,
    f"/jobs/{_EVIL}": True,
    "/capacity": True,
    f"/capacity?label={_EVIL}": True,
    f"/capacity?ceiling={_EVIL}&set={_EVIL}&max={_EVIL}&drain={_EVIL}&more={_EVIL}": True,
    "/sizes": True,
    f"/sizes/workload?name={_EVIL}": True,
    "/fleet": True,
    f"/fleet?zone={_EVIL}": True,
    f"/fleet?need={_EVIL}": True,
    "/why": False,
    "/why?kind=job&name=2": True,
    f"/why?kind=pool&name={_EVIL}": True,
    f"/why?kind={_EVIL}&name=shell": True,
    f"/why?kind=label&name={quote('nix-kvm' + EVIL, safe='')}": True,
    f"/{_EVIL}": True,
    f"/why?{_EVIL}=1": True,
}


async def harmless(page: Page, what: str) -> None:
    assert await page.evaluate("window.pwned ?? 0") == 0, f"{what}: something of it ran"
    assert await page.it.locator(".pwned, img[src=x]").count() == 0, f"{what}: it became an element"
    own = "[...document.scripts].every(each => new URL(each.src || location.href).origin === location.origin)"
    assert await page.evaluate(own), what
    inline = "[...document.scripts].filter(each => !each.src && !(each.type || '').includes('json')).length"
    assert await page.evaluate(inline) == 0, f"{what}: a script within the page"
    assert await page.evaluate("window.broken ?? []") == [], f"{what}: the policy had to stop something"
    assert not await page.it.get_by_text(re.compile("(?<![0-9])49(?![0-9])</?textarea")).count(), what


async def test_nothing_that_others_wrote_runs_on_any_page(browser: Browser, up: Place) -> None:
    person = await browser.person()
    page = await open_in(person, address(up, f"/?token={(up.data / 'web-token').read_text().strip()}"))
    dialogs: list[str] = []

    async def hear(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        await dialog.dismiss()

    page.it.on("dialog", hear)
    for path, is_shown in PAGES.items():
        await page.it.goto(address(up, path))
        assert not is_shown or "img src=x" in await page.it.content(), f"{path}: it is not there"
        await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        await harmless(page, path)
    assert dialogs == []
    assert not [url for url in page.requests if url.endswith("/x")], "nothing asks for the picture"


async def test_links_of_hostile_names_lead_to_pages_where_nothing_of_them_runs(
    browser: Browser, up: Place
) -> None:
    person = await browser.person()
    page = await open_in(person, address(up, f"/?token={(up.data / 'web-token').read_text().strip()}"))
    found: set[str] = set()
    for path in ("/capacity", "/sizes", "/fleet", "/jobs"):
        await page.it.goto(address(up, path))
        links = "[...document.links].map(each => each.href).filter(each => each.includes('pwned'))"
        found |= set((await page.evaluate(links))[:6])
    assert len(found) > 6
    for url in sorted(found):
        await page.it.goto(url)
        assert "img src=x" in await page.it.content(), url
        await harmless(page, url)


async def test_output_that_arrives_while_somebody_looks_is_only_text(browser: Browser, up: Place) -> None:
    evil = EVIL.replace("'", "")
    number = up.submit("sh", "-c", f"sleep 1; echo '{evil}'; sleep 1; echo end of it; sleep 600")
    up.wait_running(number)
    person = await browser.person()
    page = await open_in(person, address(up, f"/?token={(up.data / 'web-token').read_text().strip()}"))
    await page.it.goto(address(up, f"/jobs/{number}"))
    await expect(page.it.locator("body")).to_contain_text("end of it")
    await harmless(page, "output")
    up.cli("jobs", "cancel", str(number))
