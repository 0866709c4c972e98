"""A page as one file in a real browser: it asks for nothing, and its charts are drawn with round marks."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect
from tests.servers.browser import ANSWER_S, Browser, Scheme, open_in
from tests.web.charts import AT, content, up_to

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


#: keep what is written on each canvas
_KEEP = """const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  (this.canvas.texts ??= []).push(text);
  return write.call(this, text, ...rest);
};"""


async def marks(browser: Browser, address: str) -> list[list[str]]:
    """What is written at the axes of each chart."""
    person = await browser.person()
    await person.add_init_script(_KEEP)
    page = await open_in(person, address)
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    found: list[list[str]] = await page.evaluate(
        "[...document.querySelectorAll('canvas')].map((canvas) => canvas.texts)"
    )
    return found


async def test_marks_of_axes_are_in_the_unit_of_the_chart(browser: Browser, address: str) -> None:
    memory, supply, cost = await marks(browser, address)
    assert {"0", "128Mi", "256Mi", "384Mi", "512Mi"} <= set(memory)
    assert {"200", "1,000"} <= set(supply)
    assert any(re.fullmatch(r"\d+:00", text) for text in supply), "hours since the beginning"
    assert {"$0.1", "$0.5"} <= set(cost)


HIGHEST = (1, 2, 7, 10, 11, 137, 982, 1_310, 65_536, 3_000_001, 10**15, 0.004, 0.37, 1.5)


async def test_marks_of_axes_are_round_and_few_whatever_the_values_are(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "round.html"
    charts = [*map(up_to, HIGHEST), *(up_to(each, "bytes") for each in (700, 3 * 2**20, 5 * 2**40))]
    file.write_text(write_page(content("marks", charts), ["tests.web"], AT), encoding="utf-8")
    for highest, texts in zip(HIGHEST, await marks(browser, file.as_uri()), strict=False):
        amounts = [float(text.replace(",", "")) for text in texts if re.fullmatch(r"[\d,.]+", text)]
        assert 2 <= len(amounts) <= 12, (highest, texts)
        assert amounts[0] == 0
        step = amounts[1]
        assert f"{step:e}".rstrip("0123456789").rstrip("+-e") in {"1.000000", "2.000000", "5.000000"}, texts
        assert amounts == pytest.approx([step * n for n in range(len(amounts))])
        assert step * len(amounts) > highest * 0.999, "they reach nearly to the top"
    *_, small, medium, large = await marks(browser, file.as_uri())
    assert {"0", "128", "256", "512"} <= set(small)
    assert {"0", "1Mi", "2Mi", "3Mi"} <= set(medium)
    assert {"0", "1Ti", "2Ti", "4Ti"} <= set(large)


async def test_without_scripts_it_says_so_and_the_tables_have_the_values(
    browser: Browser, address: str
) -> None:
    page = await browser.open(address, has_scripts=False)
    await expect(page.it.get_by_text("none runs here").first).to_be_visible()
    await page.it.get_by_text("Supply as a table").click()
    await expect(page.it.get_by_role("cell", name="900 machines")).to_be_visible()
