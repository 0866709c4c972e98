"""A page as one file in a real browser: it asks for nothing, and its charts are drawn with round marks."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect
from tests.servers.browser import ANSWER_S, Browser, Scheme
from tests.web.charts import AT, content

from remuda.web.standalone import write_page

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PICTURES = os.environ.get("REMUDA_PICTURES")
expect.set_options(timeout=ANSWER_S * 1_000)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(browser_program: Path) -> AsyncIterator[Browser]:
    async with Browser(browser_program) as running:
        yield running


@pytest.fixture
def address(tmp_path: Path) -> str:
    file = tmp_path / "page.html"
    file.write_text(write_page(content(), ["tests.web"], AT, "made by a test"), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
async def test_a_file_is_clean_readable_and_asks_for_nothing(
    browser: Browser, address: str, scheme: Scheme, width: int
) -> None:
    page = await browser.open(address, scheme=scheme, width=width)
    await expect(page.it.locator("canvas")).to_have_count(3)
    await expect(page.it.get_by_text("none runs here")).to_have_count(0)
    await page.it.get_by_text("Memory of app as a table").click()
    await expect(page.it.get_by_role("cell", name="300Mi").first).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    found = await Axe().run(page.it)
    assert found.violations_count == 0, found.generate_report()
    assert page.complaints == []
    assert await page.evaluate("window.broken ?? []") == []
    assert page.requests == [address]
    if PICTURES:
        await page.it.screenshot(path=f"{PICTURES}/file-{scheme}-{width}.png", full_page=True)


async def test_marks_of_axes_are_round_in_the_unit_of_the_chart(browser: Browser, address: str) -> None:
    person = await browser.person()
    await person.add_init_script(
        "const write = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {"
        " (window.texts ??= []).push(text); return write.call(this, text, ...rest); };"
    )
    page = await person.new_page()
    await page.goto(address)
    await expect(page.locator("canvas")).to_have_count(3)
    texts = set(await page.evaluate("window.texts"))
    assert {"0", "128Mi", "256Mi", "512Mi"} <= texts, "bytes"
    assert {"200", "1,000"} <= texts, "counts"
    assert {"$0.1", "$0.5"} <= texts, "money"
    assert any(re.fullmatch(r"\d+:00", text) for text in texts), "hours since the beginning"
    round_ones = re.compile(r"\$?([125]|[1-9][05]*|[\d,.]*[0-9])(Mi)?|\d+:\d\d|\d+ \w+|\w+ \d+")
    assert all(round_ones.fullmatch(text) for text in texts), texts


async def test_without_scripts_it_says_so_and_the_tables_have_the_values(
    browser: Browser, address: str
) -> None:
    page = await browser.open(address, has_scripts=False)
    await expect(page.it.get_by_text("none runs here").first).to_be_visible()
    await page.it.get_by_text("Supply as a table").click()
    await expect(page.it.get_by_role("cell", name="900 machines")).to_be_visible()
