"""The report in a real browser: no error, no request, nothing against its own policy, and charts where they should be."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, expect
from tests.rightsize.report.reviews import MI, changed, sample_review
from tests.servers.browser import ANSWER_S, Browser, Page, Scheme, open_in

from remuda.rightsize.report.compare import changes
from remuda.rightsize.review import Review
from remuda.rightsize.sizes_file import sizes_file as html

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
#: where pictures of the report are left; nowhere by default
PICTURES = os.environ.get("REMUDA_PICTURES")
expect.set_options(timeout=ANSWER_S * 1_000)

HOSTILE = (
    "\"><script>document.title='owned'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>&amp;\x00\u202e"
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(browser_program: Path) -> AsyncIterator[Browser]:
    async with Browser(browser_program) as running:
        yield running


def write(directory: Path, text: str) -> str:
    path = directory / "report.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


def since_last() -> tuple[Review, Review]:
    after = sample_review()
    before = msgspec.structs.replace(after, at=after.at - 90 * 86_400_000, workloads=after.workloads[1:])
    return before, after


async def check_harmless(page: Page, address: str) -> None:
    assert page.complaints == []
    assert set(page.requests) == {address}
    assert await page.evaluate("window.broken ?? []") == []


#: what is drawn at a place of a chart, given in parts of its width and height: red, green, blue and how much of it
PIXEL = """(box, [x, y]) => {
  const canvas = box.querySelector("canvas"), outer = canvas.getBoundingClientRect();
  const inner = box.querySelector(".u-over").getBoundingClientRect(), unit = canvas.width / outer.width;
  const at = [inner.left - outer.left + x * inner.width, inner.top - outer.top + y * inner.height];
  return [...canvas.getContext("2d").getImageData(at[0] * unit, at[1] * unit, 1, 1).data];
}"""


async def draw_all(page: Page) -> None:
    """Have every chart drawn; what is far below is not even laid out before it is seen."""
    await page.evaluate(
        "document.querySelectorAll('.workload').forEach(s => { s.style.contentVisibility = 'visible' })"
    )
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")


def chart(page: Page, summary: str) -> Locator:
    return page.it.locator("figure", has_text=summary).locator("[data-chart]").first


async def is_used(box: Locator, x: float, y: float) -> bool:
    """Whether the area of use covers a place."""
    red, _, blue, much = await box.evaluate(PIXEL, [x, y])
    return bool(much > 40 and blue > red + 20)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
async def test_the_report_opens_without_errors_and_asks_for_nothing(
    browser: Browser, tmp_path: Path, scheme: Scheme, width: int
) -> None:
    before, after = since_last()
    address = write(tmp_path, html(after, changes(before, after)))
    page = await browser.open(address, width=width, scheme=scheme)
    await check_harmless(page, address)
    assert await page.evaluate("document.querySelectorAll('section').length") == 7
    # nothing but tables and such may be wider than the screen, and those scroll on their own
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = await page.evaluate(
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.documentElement))"
    )
    brightness = [sum(map(int, rgb[4:-1].split(","))) for rgb in (ink, paper)]
    assert (brightness[0] > brightness[1]) == (scheme == "dark")
    if PICTURES:
        await page.it.set_viewport_size({"width": width, "height": 5_000})
        await draw_all(page)
        await page.it.screenshot(path=f"{PICTURES}/sizes-file-{scheme}-{width}.png")
    await check_harmless(page, address)


async def test_every_container_has_two_charts_that_show_its_use(browser: Browser, tmp_path: Path) -> None:
    page = await browser.open(write(tmp_path, html(sample_review())))
    assert await page.it.locator("canvas").count() < 14, "what is far below is drawn when it is nearly seen"
    await draw_all(page)
    await expect(page.it.locator("figure")).to_have_count(16)
    await expect(page.it.locator("figure canvas")).to_have_count(14)
    summary = "Memory of app: used up to 511Mi; request and limit 512Mi; advised 816Mi; OOM-killed 1 time"
    app = chart(page, summary)
    await expect(app.locator("xpath=..").locator("figcaption")).to_have_text(summary)
    await expect(app).to_have_accessible_name(summary)
    legend = app.locator(".u-legend")
    for words in ("Memory used", "request and limit", "512Mi", "advised", "816Mi"):
        await expect(legend).to_contain_text(words)
    await check_harmless(page, page.it.url)
    # at its highest it uses 511 of an axis that ends 8 % above 816
    assert await is_used(app, 0.02, 0.99)
    assert not await is_used(app, 0.02, 1 - 520 / (816 * 1.08))
    fresh = chart(page, "CPU of fresh")
    assert not await is_used(fresh, 0.9, 0.97), "six hours of eight days are at the right"
    assert await is_used(fresh, 0.985, 0.97)


async def test_a_gap_in_the_samples_is_a_gap(browser: Browser, tmp_path: Path) -> None:
    review = sample_review()
    only = msgspec.structs.replace(review, workloads=(review.workloads[3],))
    page = await browser.open(write(tmp_path, html(only)))
    await draw_all(page)
    box = page.it.locator("[data-chart]").first
    assert [await is_used(box, x, 0.97) for x in (0.03, 0.36, 0.64)] == [True, False, True]


async def test_it_can_be_read_without_scripts(browser: Browser, tmp_path: Path) -> None:
    address = write(tmp_path, html(sample_review()))
    page = await browser.open(address, has_scripts=False)
    await check_harmless(page, address)
    text = await page.evaluate("document.body.textContent")
    assert "find what is never freed" in text
    await expect(page.it.locator("figcaption")).to_have_count(16)
    await expect(page.it.locator("form")).to_be_hidden()
    await page.it.get_by_text("Use of app as a table").click()
    await expect(page.it.get_by_role("cell", name="511Mi", exact=True).first).to_be_visible()


async def test_it_is_readable_by_everybody(browser: Browser, tmp_path: Path) -> None:
    before, after = since_last()
    page = await browser.open(write(tmp_path, html(after, changes(before, after))))
    found = await Axe().run(page.it)
    assert found.violations_count == 0, found.generate_report()


async def test_a_patch_is_copied(browser: Browser, tmp_path: Path) -> None:
    person = await browser.person()
    await person.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await open_in(person, write(tmp_path, html(sample_review())))
    section = page.it.locator("#w0")
    await section.get_by_text("kustomize", exact=True).click()
    await section.get_by_role("button", name="Copy").first.click()
    await expect(section.get_by_role("button", name="Copied")).to_be_visible()
    assert (
        await page.evaluate("navigator.clipboard.readText()")
        == await section.locator("#w0-kustomize").text_content()
    )
    assert page.complaints == []


async def test_the_filter_hides_what_does_not_match(browser: Browser, tmp_path: Path) -> None:
    page = await browser.open(write(tmp_path, html(sample_review())))
    shown = """(words) => { const box = document.getElementById("find"); box.value = words;
      box.dispatchEvent(new Event("input", { bubbles: true }));
      return ["#workloads tbody tr", "section"].map((what) => [...document.querySelectorAll(what)].filter(e => !e.hidden).length) }"""
    assert await page.evaluate(f"({shown})('web FRONT')") == [2, 2]
    assert await page.evaluate(f"({shown})('leak')") == [1, 1]
    assert await page.evaluate(f"({shown})('')") == [7, 7]
    rows = page.it.locator("#workloads tbody tr:visible")
    await page.it.get_by_label("Risk", exact=True).select_option("will OOM")
    await expect(rows).to_have_count(1)
    await page.it.get_by_label("Risk", exact=True).select_option("all")
    await page.it.get_by_label("Namespace").select_option("shop")
    namespaces = [item.namespace for item in sample_review().workloads]
    await expect(rows).to_have_count(namespaces.count("shop"))
    assert 0 < namespaces.count("shop") < 7
    assert page.complaints == []


async def test_a_heading_sorts_the_workloads_and_again_the_other_way(
    browser: Browser, tmp_path: Path
) -> None:
    page = await browser.open(write(tmp_path, html(sample_review())))
    names = "[...document.querySelectorAll('#workloads tbody tr')].map(row => row.cells[1].textContent)"
    values = "[...document.querySelectorAll('#workloads tbody tr')].map(row => row.cells[8].textContent)"
    before = await page.evaluate(names)
    heading = page.it.get_by_role("button", name="Workload")
    await heading.focus()
    await page.it.keyboard.press("Enter")
    assert await page.evaluate(names) == sorted(before, reverse=True)
    await page.it.keyboard.press("Enter")
    assert await page.evaluate(names) == sorted(before)
    await expect(page.it.get_by_role("columnheader", name="Workload")).to_have_attribute(
        "aria-sort", "ascending"
    )
    await page.it.get_by_role("button", name="Cores").click()
    found = [float(each) for each in await page.evaluate(values) if each]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 1
    assert page.complaints == []


async def test_hostile_names_are_only_shown(browser: Browser, tmp_path: Path) -> None:
    review = sample_review()
    item = review.workloads[0].containers[0]
    hostile = msgspec.structs.replace(item, name=HOSTILE, others={HOSTILE: HOSTILE})
    hostile = msgspec.structs.replace(
        hostile,
        steps=tuple(msgspec.structs.replace(step, text=HOSTILE, remark=HOSTILE) for step in item.steps),
    )
    bad = changed(review, "checkout", namespace=HOSTILE, name=HOSTILE, kind=HOSTILE, containers=(hostile,))
    findings = tuple(
        msgspec.structs.replace(found, rule=HOSTILE, object=HOSTILE, field=HOSTILE, is_=HOSTILE, fix=HOSTILE)
        for found in review.findings
    )
    bad = msgspec.structs.replace(
        bad, findings=findings, source=HOSTILE, usage=HOSTILE, currency=HOSTILE, strategy=HOSTILE
    )
    address = write(tmp_path, html(bad, changes(review, bad)))
    page = await browser.open(address)
    await check_harmless(page, address)
    assert await page.evaluate("document.title") != "owned"
    assert await page.evaluate("document.querySelectorAll('img').length") == 0
    assert await page.evaluate("document.scripts.length") == 1
    assert "<img src=http://127.0.0.1:9/x" in await page.evaluate("document.querySelector('h1').textContent")


async def test_the_policy_of_the_page_would_stop_what_slipped_through(
    browser: Browser, tmp_path: Path
) -> None:
    slipped = "<script>document.title='owned'</script><img src='http://127.0.0.1:9/x'><p style='color:red'>"
    page = await browser.open(write(tmp_path, html(sample_review()).replace("<h1>", f"{slipped}<h1>")))
    assert await page.evaluate("document.title") != "owned"
    assert {"script-src-elem", "img-src", "style-src-attr"} <= set(await page.evaluate("window.broken"))
    assert page.complaints


async def test_two_thousand_containers_stay_usable(browser: Browser, tmp_path: Path) -> None:
    review = sample_review()
    many = tuple(
        msgspec.structs.replace(item, name=f"{item.name}-{n}")
        for n in range(250)
        for item in review.workloads
    )
    big = msgspec.structs.replace(review, workloads=many)
    text = html(big)
    assert sum(len(item.containers) for item in many) == 2_000
    assert len(text.encode()) < 10 * MI
    address = write(tmp_path, text)
    page = await browser.open(address)
    await check_harmless(page, address)
    assert await page.it.locator("[data-chart]").count() == 2 * 250 * 7
    await page.it.locator("#w1748").scroll_into_view_if_needed()
    # `expect` would describe the whole page when it is not there at once, which takes minutes of one as large as this
    await page.it.locator("#w1748 canvas").first.wait_for()
    assert await page.it.locator("canvas").count() < 100, "what nobody looks at is not drawn"
