"""The page of the fleet in a real browser: drawn, alive while a shard records, and readable by everybody."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect
from tests.fleet.builders import need
from tests.fleet.test_shard import Process
from tests.processes import DEADLINE_S
from tests.servers.browser import Browser, Page, Scheme, open_in

from remuda.fleet import states
from remuda.jobs import JOBS
from remuda.ledger.store import FILE, SqliteStore
from remuda.loop.clock import SystemClock
from remuda.sim.fleet_history import FleetHistory
from remuda.sim.fleet_page import page as simulated_page
from remuda.sim.fleet_scenario import Request

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PICTURES = os.environ.get("REMUDA_PICTURES")
FILES = ("--inventory", "examples/fleet-inventory.yaml", "--demand", "examples/fleet-demand.yaml")
expect.set_options(timeout=DEADLINE_S * 1_000)


class Served:
    """A shard that records when it is told to, and the dashboard over its records."""

    def __init__(self, home: Path) -> None:
        self.home = home
        SqliteStore(home / FILE, tables=JOBS.tables()).close()  # as `remuda up` makes it
        self.shard = Process(home, need("web", 1), need("db", 3), need("gpu", 400, priority=900))
        self.shard.clock.at = SystemClock().now() - 600_000
        for number in range(60):
            state = states.SPECULATIVE if number % 7 else states.FAILED
            self.shard.provider.machines[f"n{number}"] = state
        self.link = ""

    def address(self, path: str = "/fleet") -> str:
        return self.link.partition("/?")[0] + path


async def remuda(*words: str) -> str:
    ran = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "remuda", *words, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await ran.communicate()
    return out.decode()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    made = Served(tmp_path_factory.mktemp("fleet"))
    for _ in range(3):
        await made.shard.cycle()
    await remuda("fleet", "plan", *FILES, "--keep", "--data-dir", str(made.home))
    serving = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "remuda", "web", "--data-dir", str(made.home), "--port", "0",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert serving.stdout is not None
    made.link = (await serving.stdout.readline()).decode().strip()
    yield made
    serving.terminate()
    assert await serving.wait() == 0
    made.shard.store.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(browser_program: Path) -> AsyncIterator[Browser]:
    async with Browser(browser_program) as running:
        yield running


async def sign_in(
    browser: Browser, served: Served, path: str = "/fleet", *, scheme: Scheme = "light", width: int = 1280
) -> Page:
    person = await browser.person(scheme=scheme, width=width)
    person.set_default_timeout(DEADLINE_S * 1_000)
    page = await open_in(person, served.link)
    await page.it.goto(served.address(path))
    await expect(page.it.locator("#pulse")).to_have_text("live")
    return page


async def check_clean(page: Page) -> None:
    assert page.complaints == []
    assert await page.evaluate("window.broken ?? []") == [], "it breaks no rule of its own policy"


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]
)
async def test_the_page_is_clean_readable_and_as_wide_as_the_screen(
    browser: Browser, served: Served, scheme: Scheme, width: int
) -> None:
    page = await sign_in(browser, served, scheme=scheme, width=width)
    for name, path in (
        ("fleet", "/fleet"),
        ("fleet-chosen", "/fleet?state=speculative"),
        ("fleet-plan", "/fleet?plan=1"),
        ("fleet-need", "/fleet?plan=1&need=ci/nightly"),
        ("fleet-why", "/why?kind=need&name=c/gpu"),
    ):
        await page.it.goto(served.address(path))
        await expect(page.it.locator("#pulse")).to_have_text("live")
        if "why" not in path:
            await page.it.get_by_text("Machines by zone and type as a table").click()
            await expect(page.it.locator(".areas canvas")).to_have_count(1)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        found = await Axe().run(page.it)
        assert found.violations_count == 0, f"{path}\n{found.generate_report()}"
        if PICTURES:
            await page.it.screenshot(path=f"{PICTURES}/{name}-{scheme}-{width}.png", full_page=True)
    await check_clean(page)


async def test_what_a_shard_records_shows_up_by_itself_on_the_map_and_in_its_table(
    browser: Browser, served: Served
) -> None:
    page = await sign_in(browser, served)
    await page.it.get_by_text("Machines by zone and type as a table").click()
    failed = page.it.locator(".number", has_text="failed").locator("dd")
    before = int(await failed.text_content() or "")
    drawing = "document.querySelector('.areas canvas').toDataURL()"
    drawn = await page.evaluate(drawing)
    for number in range(25):
        served.shard.provider.machines[f"late{number}"] = states.FAILED
    await served.shard.cycle()
    await expect(failed).to_have_text(str(before + 25))
    await expect(page.it.locator("details.values")).to_have_attribute("open", "")
    await expect(page.it.locator("#machines-map table")).to_contain_text(str(before + 25))
    assert await page.evaluate(drawing) != drawn
    await check_clean(page)


async def test_pointing_at_the_map_says_what_lies_there_and_a_click_chooses_it(
    browser: Browser, served: Served
) -> None:
    page = await sign_in(browser, served)
    canvas = page.it.locator(".areas canvas")
    await canvas.hover(position={"x": 200, "y": 100})
    await expect(page.it.locator(".areas .map p").last).to_contain_text("a · t1: ")
    await expect(page.it.locator(".areas .map p").first).to_have_text("A square is one machine.")
    await canvas.click(position={"x": 200, "y": 100})
    await page.it.wait_for_url("**/fleet?zone=a&type=t1")
    await page.it.get_by_role("link", name="all machines").click()
    await page.it.wait_for_url("**/fleet")
    await check_clean(page)


async def test_machines_are_chosen_and_the_past_is_reached_by_keyboard(
    browser: Browser, served: Served
) -> None:
    page = await sign_in(browser, served)
    await page.it.get_by_label("State").focus()
    await page.it.keyboard.type("fail")
    await page.it.get_by_role("button", name="Show").focus()
    await page.it.keyboard.press("Enter")
    await page.it.wait_for_url("**state=failed**")
    assert await page.it.locator("#fleet-map .key span").count() == 1
    await page.it.locator("#when").focus()
    await page.it.keyboard.press("Home")
    await page.it.wait_for_url("**at=*")
    await expect(page.it.locator("#fleet-head")).to_contain_text("As of")
    await check_clean(page)


async def test_a_need_leads_to_why_it_is_not_met(browser: Browser, served: Served) -> None:
    page = await sign_in(browser, served)
    await page.it.get_by_role("link", name="c/gpu").click()
    await expect(page.it.locator("#answer")).to_contain_text("c/gpu misses")
    await check_clean(page)


async def test_a_wrong_name_is_said_on_a_page_with_what_is_near(browser: Browser, served: Served) -> None:
    page = await sign_in(browser, served)
    await page.it.goto(served.address("/fleet?cluster=cc"))
    await expect(page.it.locator(".problem")).to_contain_text('serves no cluster "cc"; did you mean c?')


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> str:
    with FleetHistory(Request(3, 400, 5, 0.5, "some")) as history:
        summary = history.live()
    file = tmp_path_factory.mktemp("simulated") / "fleet.html"
    file.write_text(simulated_page(summary, history.meter.points), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
async def test_the_page_of_a_simulated_fleet_is_drawn_by_the_same_room_with_round_marks(
    browser: Browser, simulated: str, scheme: Scheme, width: int
) -> None:
    person = await browser.person(scheme=scheme, width=width)
    await person.add_init_script(
        "const write = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {"
        " (window.texts ??= []).push(text); return write.call(this, text, ...rest); };"
    )
    page = await open_in(person, simulated)
    for number in range(1, 5):
        await page.it.locator(f"#chart-{number}").scroll_into_view_if_needed()
        await expect(page.it.locator(f"#chart-{number} canvas")).to_have_count(1)
    marks = {text for text in await page.evaluate("window.texts") if text[-1].isdecimal()}
    assert "0:30" in marks, "times are since the beginning"
    assert all(
        re.fullmatch(r"\d:[0-5][05]|\$?[\d,]*[1-9]?[05]0*|\$?[\d,]*[12]0*|\$?0|\d", mark) for mark in marks
    ), marks
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    found = await Axe().run(page.it)
    assert found.violations_count == 0, found.generate_report()
    assert page.requests == [simulated], "it loads nothing"
    await check_clean(page)
    if PICTURES:
        await page.it.screenshot(path=f"{PICTURES}/simulated-{scheme}-{width}.png", full_page=True)
