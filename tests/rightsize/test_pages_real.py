"""The pages of sizes in a real browser: one workload is picked, seen, and its patch copied; everybody can read them."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect
from tests.processes import eventually, place
from tests.rightsize.report.reviews import sample_review
from tests.servers.browser import ANSWER_S, Browser, Page, Scheme, open_in

from remuda.rightsize.report.kept import keep

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
#: where pictures of the pages are left, for a person or the documentation; nowhere by default
PICTURES = os.environ.get("REMUDA_PICTURES")
expect.set_options(timeout=ANSWER_S * 1_000)
WORKLOAD = "/sizes/workload?name=shop/Deployment/checkout"


@pytest.fixture(scope="module")
def link() -> Iterator[str]:
    """What opens the dashboard over a data directory with two kept reviews, in which nothing runs."""
    with place() as here:
        other = msgspec.structs.replace(sample_review(), source="files of staging", at=sample_review().at - 9)
        for review in (other, sample_review()):
            assert keep(here.data, review) == ""
        serving = here.launch(
            [sys.executable, "-m", "remuda", "web", "--data-dir", str(here.data), "--port", "0"]
        )
        try:
            text = eventually(lambda: found if "/?token=" in (found := here.log) else None, "a link")
            yield next(line for line in text.splitlines() if line.startswith("http"))
        finally:
            serving.terminate()
            serving.wait(60)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(browser_program: Path) -> AsyncIterator[Browser]:
    async with Browser(browser_program) as running:
        yield running


async def opened(
    browser: Browser, link: str, path: str, *, scheme: Scheme = "light", width: int = 1280
) -> Page:
    person = await browser.person(scheme=scheme, width=width)
    await person.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await open_in(person, link)
    await page.it.goto(link.partition("/?")[0] + path)
    await expect(page.it.locator("#pulse")).to_have_text("live")
    return page


async def check_clean(page: Page) -> None:
    assert page.complaints == []
    assert await page.evaluate("window.broken ?? []") == [], "it breaks no rule of its own policy"


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]
)
async def test_the_pages_are_clean_readable_and_as_wide_as_the_screen(
    browser: Browser, link: str, scheme: Scheme, width: int
) -> None:
    for name, path in (("sizes", "/sizes"), ("sizes-workload", WORKLOAD), ("none", "/sizes?find=no-such")):
        page = await opened(browser, link, path, scheme=scheme, width=width)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        if path == WORKLOAD:
            await expect(page.it.locator("canvas").first).to_be_visible()
        found = await Axe().run(page.it)
        assert found.violations_count == 0, f"{path}\n{found.generate_report()}"
        await check_clean(page)
        if PICTURES:
            await page.it.screenshot(path=f"{PICTURES}/{scheme}-{width}-{name}.png", full_page=True)


async def test_a_workload_is_picked_seen_against_what_it_asks_for_and_its_patch_is_copied(
    browser: Browser, link: str
) -> None:
    page = await opened(browser, link, "/sizes")
    await page.it.get_by_role("link", name="shop/checkout").first.click()
    await expect(page.it.get_by_role("heading", level=1)).to_contain_text("shop/checkout")
    await expect(page.it.get_by_role("link", name="Sizes", exact=True)).to_have_attribute(
        "aria-current", "page"
    )
    chart = page.it.get_by_role("img", name="Memory of app: used up to 511Mi")
    await expect(chart.locator("canvas")).to_be_visible()
    await expect(chart.locator(".u-legend")).to_contain_text("advised")
    await page.it.get_by_text("helm", exact=True).click()
    await expect(page.it.locator("#p-helm")).to_be_visible()
    await expect(page.it.locator("#p-kustomize")).to_be_hidden()
    patch = page.it.locator("details", has=page.it.locator("#p-helm"))
    await patch.get_by_role("button", name="Copy").click()
    await expect(patch.get_by_role("button", name="Copied")).to_be_visible()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == await page.it.locator("#p-helm").text_content()
    assert "816Mi" in copied
    await expect(patch.get_by_role("button", name="Copy", exact=True)).to_be_visible()
    await page.it.get_by_role("link", name="All workloads").click()
    await expect(page.it.locator("#workloads tbody tr")).to_have_count(7)
    await check_clean(page)


async def test_a_patch_is_copied_also_where_the_browser_has_no_clipboard_for_pages(
    browser: Browser, link: str
) -> None:
    person = await browser.person()
    await person.grant_permissions(["clipboard-read", "clipboard-write"])
    # as a page from another host without TLS
    await person.add_init_script(
        "window.board = navigator.clipboard; Object.defineProperty(navigator, 'clipboard', { value: undefined })"
    )
    page = await open_in(person, link)
    await page.it.goto(link.partition("/?")[0] + WORKLOAD)
    patch = page.it.locator("details", has=page.it.locator("#p-kustomize"))
    await patch.get_by_role("button", name="Copy").click()
    await expect(patch.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("board.readText()") == await page.it.locator("#p-kustomize").text_content()
    await check_clean(page)


async def test_workloads_are_sorted_and_filtered_by_keyboard(browser: Browser, link: str) -> None:
    page = await opened(browser, link, "/sizes")
    await page.it.get_by_label("Namespace").focus()
    await page.it.keyboard.type("web")
    await page.it.keyboard.press("Tab")
    await page.it.keyboard.press("Tab")
    await page.it.keyboard.type("front")
    await page.it.keyboard.press("Enter")
    await page.it.wait_for_url("**namespace=web**")
    rows = page.it.locator("#workloads tbody tr")
    await expect(rows).to_have_count(2)
    before = await rows.locator("th").all_text_contents()
    await page.it.get_by_role("link", name="Workload", exact=True).focus()
    await page.it.keyboard.press("Enter")
    await page.it.wait_for_url("**sort=name**")
    names = await rows.locator("th").all_text_contents()
    assert names == sorted(before)
    heading = page.it.get_by_role("columnheader", name="Workload")
    await expect(heading).to_have_attribute("aria-sort", "ascending")
    await page.it.get_by_role("link", name="Workload", exact=True).click()
    await page.it.wait_for_url("**sort=-name**")
    assert await rows.locator("th").all_text_contents() == names[::-1]
    await expect(page.it.locator("#find")).to_have_value("front")
    await check_clean(page)


async def test_findings_open_by_cause_and_lead_to_their_workload(browser: Browser, link: str) -> None:
    page = await opened(browser, link, "/sizes")
    cause = page.it.locator(".cause").first
    await expect(cause.locator("table")).to_be_hidden()
    await cause.locator("summary").focus()
    await page.it.keyboard.press("Enter")
    await expect(cause.locator("table")).to_be_visible()
    await cause.get_by_role("link").first.click()
    await expect(page.it.locator(".findings").first).to_be_visible()
    await check_clean(page)


async def test_another_review_is_chosen_and_what_is_wrong_is_said(browser: Browser, link: str) -> None:
    page = await opened(browser, link, "/sizes")
    await page.it.get_by_role("link", name="files of staging").click()
    await expect(page.it.get_by_role("link", name="files of staging")).to_have_attribute(
        "aria-current", "true"
    )
    await page.it.goto(link.partition("/?")[0] + "/sizes/workload?name=shop/Deployment/chekout")
    await expect(page.it.locator(".problem")).to_contain_text("near to it: shop/Deployment/checkout")
