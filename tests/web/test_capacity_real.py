"""The page of capacity in a real browser, from an audit that the command kept: readable, and what if works by hand and keyboard."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect
from tests.processes import DEADLINE_S, Place, place, pool
from tests.servers.browser import Browser, Page, Scheme, open_in

from remuda.control.documents import Kept

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ROOT = Path(__file__).parents[2]
PICTURES = os.environ.get("REMUDA_PICTURES")
AT = "2026-11-16T12:00:00Z"
expect.set_options(timeout=DEADLINE_S * 1_000)


@pytest.fixture(scope="module")
def up() -> Iterator[Place]:
    """A Remuda, and two audits that were made beside it: one in order, and one with errors, which is the newer."""
    with place() as here:
        here.write(pool("shell", min=1, max=2))
        here.start("--web-port", "0")
        examples = ROOT / "examples"
        cluster, summary = examples / "capacity-cluster.json", examples / "capacity-summary.json"
        grown = here.home / "grown.json"
        grown.write_text(cluster.read_text().replace('"maxRunners": 2', '"maxRunners": 7'))
        for files in (("--from", str(cluster), "--from", str(summary)), ("--from", str(grown))):
            policy = str(examples / "capacity-policy.yaml")
            ran = here.cli("capacity", "audit", *files, "--policy", policy, "--at", AT)
            assert ran.code in {0, 1}, ran.err
        yield here
        here.clear()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(browser_program: Path) -> AsyncIterator[Browser]:
    async with Browser(browser_program) as running:
        yield running


def address(up: Place, path: str) -> str:
    port = json.loads((up.data / "ports.json").read_bytes())["web"]
    return f"http://127.0.0.1:{port}{path}"


async def opened(
    browser: Browser, up: Place, path: str = "/capacity", *, scheme: Scheme = "light", width: int = 1280
) -> Page:
    """A page of the owner."""
    person = await browser.person(scheme=scheme, width=width)
    page = await open_in(person, address(up, f"/?token={(up.data / 'web-token').read_text().strip()}"))
    await page.it.goto(address(up, path))
    return page


async def check_clean(page: Page) -> None:
    assert page.complaints == []
    assert await page.evaluate("window.broken ?? []") == [], "it breaks no rule of its own policy"


WHAT_IF = "/capacity?audit=1&label=nix-kvm&ceiling=6&set=arc/vm-test&max=6&drain=sting"
WRONG = "/capacity?audit=1&ceiling=x&set=vm-tst&max=2&drain=stng&more=--cieling+5"


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390), ("light", 320)]
)
async def test_it_is_readable_and_as_wide_as_the_screen(
    browser: Browser, up: Place, scheme: Scheme, width: int
) -> None:
    page = await opened(browser, up, scheme=scheme, width=width)
    for name, path in {
        "capacity": "/capacity",
        "what-if": WHAT_IF,
        "wrong": WRONG,
        "why": "/why?kind=label&name=nix-kvm",
    }.items():
        await page.it.goto(address(up, path))
        await expect(page.it.locator("#pulse")).not_to_have_text("connecting")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        found = await Axe().run(page.it)
        assert found.violations_count == 0, f"{path}\n{found.generate_report()}"
        if PICTURES:
            await page.it.screenshot(path=f"{PICTURES}/{scheme}-{width}-{name}.png", full_page=True)
    await check_clean(page)


async def test_it_shows_ceilings_nodes_gates_and_findings_with_their_fixes(
    browser: Browser, up: Place
) -> None:
    page = await opened(browser, up)
    bars = page.it.locator("#labels svg[role=img]")
    await expect(bars.nth(1)).to_have_attribute(
        "aria-label", "nix-kvm may have: docs: at most 1; lint: at most 1; vm-test: at most 7; vm-test: at most 7, above the ceiling"
    )  # fmt: skip
    await expect(page.it.locator("#labels")).to_contain_text("nix-kvm runs 1 of at most 4")
    await expect(page.it.locator("#label")).to_contain_text("platform runs 0")
    await expect(page.it.locator("#nodes")).to_contain_text("honey")
    await expect(page.it.locator("#gates tbody tr").first).to_contain_text("ada on 2026-11-02")
    await expect(page.it.locator("#findings details[open]", has_text="ceiling-exceeded")).to_contain_text(
        "lower maxima until they come to 4"
    )
    await page.it.get_by_role("group", name="Audit").get_by_role("link").nth(1).click()
    await expect(page.it.locator(".headline")).to_contain_text("0 errors, 1 warning")
    await expect(page.it.locator("#gates")).not_to_contain_text("fail")
    await check_clean(page)


async def test_what_if_is_asked_by_keyboard_and_answered_as_the_command_does(
    browser: Browser, up: Place
) -> None:
    page = await opened(browser, up, "/capacity?audit=1")
    await page.it.get_by_label("Ceiling of nix-kvm").focus()
    await page.it.keyboard.type("6")
    await page.it.get_by_label("Of the set").fill("vm-test")
    await page.it.get_by_label("the maximum").fill("6")
    await page.it.get_by_label("Drain the node").fill("sting")
    await page.it.keyboard.press("Enter")
    await expect(page.it.locator(".verdict")).to_have_text("This would break the policy in 5 ways.")
    words = ["--set", "vm-test.max=6", "--ceiling", "nix-kvm=6", "--node-drain", "sting"]
    files = [
        part
        for name in ("cluster", "summary")
        for part in ("--from", str(ROOT / f"examples/capacity-{name}.json"))
    ]
    policy = ["--policy", str(ROOT / "examples/capacity-policy.yaml")]
    ran = up.cli("capacity", "plan", *files, *policy, "--at", AT, *words)
    section = (await page.it.locator("#what-if").inner_text()).replace("\xa0", " ")
    for line in ran.out.splitlines():
        if line.startswith("breaks: "):
            assert line in section
    assert "5, proven" in section
    assert "of 6 runners of arc/vm-test at most 5 fit at a time" in section
    await check_clean(page)


async def test_bad_input_is_a_sentence_at_its_field_with_near_misses(browser: Browser, up: Place) -> None:
    page = await opened(browser, up, WRONG)
    for label, says in {
        "Ceiling of nix-kvm": '"x" is no whole number from 0 to 100,000',
        "Of the set": "there is no set vm-tst; did you mean vm-test?",
        "Drain the node": "there is no node stng; did you mean sting?",
        "More, as on the command line": "did you mean --ceiling?",
    }.items():
        field = page.it.get_by_label(label)
        await expect(field).to_have_attribute("aria-invalid", "true")
        described = await field.get_attribute("aria-describedby")
        await expect(page.it.locator(f"#{described}")).to_contain_text(says)
    await expect(page.it.locator("#what-if")).to_contain_text("Nothing was tried")
    await page.it.get_by_role("link", name="Begin again").click()
    await expect(page.it.locator("[aria-invalid]")).to_have_count(0)
    await check_clean(page)


async def test_why_has_labels_among_its_subjects(browser: Browser, up: Place) -> None:
    page = await opened(browser, up, "/why")
    await page.it.get_by_label("What", exact=True).select_option("label")
    await page.it.get_by_label("called").fill("nix-kvm")
    await page.it.get_by_role("button", name="Why?").click()
    await expect(page.it.locator("#answer")).to_contain_text("nix-kvm runs 1 of at most 4")
    await expect(page.it.locator("#answer")).to_contain_text("would get")
    await page.it.get_by_label("called").fill("nix-kv")
    await page.it.get_by_role("button", name="Why?").click()
    await expect(page.it.locator(".problem")).to_contain_text("did you mean nix-kvm?")
    await check_clean(page)


async def test_without_an_audit_it_says_which_command_makes_one(browser: Browser) -> None:
    with place() as here:
        here.write(pool("shell", min=1, max=1))
        here.start("--web-port", "0")
        page = await opened(browser, here)
        await expect(page.it.locator(".empty")).to_contain_text("remuda capacity audit --policy FILE")
        found = await Axe().run(page.it)
        assert found.violations_count == 0, found.generate_report()
        here.clear()


async def test_a_plan_is_made_on_a_server_elsewhere(up: Place) -> None:
    token = (up.data / "web-token").read_text().strip()
    ran = up.cli(
        "capacity", "plan", "--server", address(up, ""), "--ceiling", "9", env={"REMUDA_TOKEN": token}
    )
    assert ran.code == 1
    assert "--ceiling 9" in ran.out
    assert "breaks: ceiling-above-evidence" in ran.out


async def test_the_page_moves_when_another_audit_is_kept_and_what_was_typed_stays(
    browser: Browser, up: Place
) -> None:
    page = await opened(browser, up)
    await expect(page.it.locator("#pulse")).to_have_text("live")
    await expect(page.it.locator("#labels")).to_contain_text("nix-kvm runs 1 of at most 4")
    await page.it.get_by_label("the maximum").fill("3")
    await page.it.get_by_label("Of the set").focus()
    await page.it.keyboard.type("docs")
    small = up.home / "small.yaml"
    policy = (ROOT / "examples" / "capacity-policy.yaml").read_text()
    small.write_text(policy.replace("ceiling: 4", "ceiling: 3"))
    files = ("--from", str(up.home / "grown.json"), "--policy", str(small), "--at", "2026-11-16T13:00:00Z")
    assert up.cli("capacity", "audit", *files).code in {0, 1}
    await expect(page.it.locator("#labels")).to_contain_text("nix-kvm runs 1 of at most 3")
    assert await page.it.get_by_label("the maximum").input_value() == "3"
    assert await page.it.get_by_label("Of the set").input_value() == "docs"
    await expect(page.it.get_by_label("Of the set")).to_be_focused()
    await check_clean(page)


async def test_sizes_appear_when_the_first_review_is_kept(browser: Browser, up: Place) -> None:
    page = await opened(browser, up, "/sizes")
    await expect(page.it.locator("main")).to_contain_text("No review is kept here yet")
    await expect(page.it.locator("#pulse")).to_have_text("live")
    script = [sys.executable, str(ROOT / "examples" / "rightsize-usage.py"), "1767225600"]
    usage = up.home / "usage.json"
    made = await asyncio.to_thread(subprocess.run, script, check=True, capture_output=True)
    usage.write_bytes(made.stdout)
    files = ("--from", str(ROOT / "examples" / "rightsize-cluster.yaml"), "--usage", str(usage))
    ran = up.cli("rightsize", "review", *files, "--at", "2026-01-01T00:00:00Z")
    assert ran.code in {0, 1}, ran.err
    await expect(page.it.locator("#workloads")).to_contain_text("search")
    await check_clean(page)


async def test_the_slider_of_why_spans_the_audits_of_a_label(browser: Browser, up: Place) -> None:
    files = ("--from", str(ROOT / "examples" / "capacity-cluster.json"), "--at", "2026-11-10T12:00:00Z")
    assert up.cli(
        "capacity", "audit", *files, "--policy", str(ROOT / "examples" / "capacity-policy.yaml")
    ).code in {0, 1}
    known = up.remuda.get("/v1/documents", list[Kept], family="capacity")
    page = await opened(browser, up, "/why?kind=label&name=nix-kvm")
    slider = page.it.get_by_role("slider")
    assert await slider.get_attribute("min") == str(min(item.at for item in known))
    assert await slider.get_attribute("max") == str(max(item.at for item in known))
    await check_clean(page)
