"""The report in a real browser: no error, no request, nothing against its own policy, and plots where they should be."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.rightsize.report.reviews import MI, changed, sample_review
from tests.servers.browser import Browser, Page, Scheme

from remuda.rightsize.report.compare import changes
from remuda.rightsize.report.page import html
from remuda.rightsize.review import Review

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

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


#: every number of every coordinate, and whether each drawing lies within its frame
DRAWN = """[...document.querySelectorAll("main svg:not(.defs)")].map((svg) => {
  const box = svg.viewBox.baseVal, area = svg.querySelector("path.u")?.getBBox();
  return {
    width: svg.getBoundingClientRect().width,
    isInside: [...svg.querySelectorAll("path, text")].every((part) => {
      const its = part.getBBox();
      return its.x >= -1 && its.y >= -6 && its.x + its.width <= box.width + 1 && its.y + its.height <= box.height + 6;
    }),
    area: area ? [area.x, area.y, area.width, area.height] : null,
    lines: svg.querySelectorAll("path.n, path.q, path.a, path.b").length,
    kills: svg.querySelectorAll("path.k").length,
    days: document.querySelectorAll("#t text").length,
    title: svg.querySelector("title").textContent,
    numbers: [...svg.querySelectorAll("path")].map((path) => path.getAttribute("d")).join(" ")
      + [...svg.querySelectorAll("text")].map((text) => " " + text.getAttribute("x") + " " + text.getAttribute("y")).join(""),
  };
})"""


async def drawn(page: Page) -> list[dict[str, Any]]:
    # what is far below is not laid out before it is seen
    await page.evaluate(
        "document.querySelectorAll('section').forEach(s => s.style.contentVisibility = 'visible')"
    )
    found: list[dict[str, Any]] = await page.evaluate(DRAWN)
    return found


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
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    brightness = [sum(map(int, rgb[4:-1].split(","))) for rgb in (ink, paper)]
    assert (brightness[0] > brightness[1]) == (scheme == "dark")
    await check_harmless(page, address)


async def test_every_container_has_two_plots_with_sane_coordinates(browser: Browser, tmp_path: Path) -> None:
    page = await browser.open(write(tmp_path, html(sample_review())))
    found = await drawn(page)
    assert len(found) == 16
    for plot in found:
        assert plot["width"] > 300
        assert plot["isInside"], plot["title"]
        assert "NaN" not in plot["numbers"]
        assert "undefined" not in plot["numbers"]
        assert plot["days"] == 8
        assert plot["title"].startswith(("CPU of ", "Memory of "))
    by_title = {plot["title"].partition(":")[0]: plot for plot in found}
    app = by_title["Memory of app"]
    assert app["kills"] == 1
    assert app["lines"] == 2, "now, and advised"
    assert app["title"] == ("Memory of app: used up to 511Mi; now 512Mi; advised 816Mi; OOM-killed 1 time")
    x, y, across, up = app["area"]
    assert (x, across) == (92, pytest.approx(592, abs=8)), "eight days fill the width"
    assert up == pytest.approx(228 * 511 / (816 * 17 / 16), abs=2), (
        "511Mi of an axis that ends a sixteenth above 816Mi"
    )
    assert y + up == 264
    fresh = by_title["CPU of fresh"]
    assert fresh["area"][0] > 650, "six hours of eight days are at the right"
    assert by_title["CPU of report"]["area"] is None


async def test_a_gap_in_the_samples_is_a_gap(browser: Browser, tmp_path: Path) -> None:
    review = sample_review()
    only = msgspec.structs.replace(review, workloads=(review.workloads[3],))
    page = await browser.open(write(tmp_path, html(only)))
    (path, *_) = await page.evaluate("[...document.querySelectorAll('path.u')].map(p => p.getAttribute('d'))")
    assert path.count("M") == 2
    inside = "(x) => document.querySelector('path.u').isPointInFill(new DOMPoint(x, 262))"
    hits = await page.evaluate(f"[100, 300, 460].map({inside})")
    assert hits == [True, False, True]


async def test_it_is_whole_without_scripts(browser: Browser, tmp_path: Path) -> None:
    address = write(tmp_path, html(sample_review()))
    page = await browser.open(address, has_scripts=False)
    await check_harmless(page, address)
    text = await page.evaluate("document.body.textContent")
    assert "find what is never freed" in text
    assert len(await drawn(page)) == 16
    assert await page.evaluate("document.querySelectorAll('input').length") == 0
    assert await page.evaluate("document.querySelectorAll('details').length") == 8


async def test_the_filter_hides_what_does_not_match(browser: Browser, tmp_path: Path) -> None:
    page = await browser.open(write(tmp_path, html(sample_review())))
    shown = """(words) => { const box = document.querySelector("input"); box.value = words;
      box.dispatchEvent(new Event("input"));
      return ["#workloads tbody tr", "section"].map((what) => [...document.querySelectorAll(what)].filter(e => !e.hidden).length) }"""
    assert await page.evaluate(f"({shown})('web FRONT')") == [2, 2]
    assert await page.evaluate(f"({shown})('leak')") == [1, 1]
    assert await page.evaluate(f"({shown})('')") == [7, 7]
    assert page.complaints == []


async def test_a_heading_sorts_the_workloads_and_again_the_other_way(
    browser: Browser, tmp_path: Path
) -> None:
    page = await browser.open(write(tmp_path, html(sample_review())))
    names = "[...document.querySelectorAll('#workloads tbody tr')].map(row => row.cells[1].textContent)"
    values = "[...document.querySelectorAll('#workloads tbody tr')].map(row => row.cells[8].textContent)"
    press = "(n) => document.querySelectorAll('#workloads th button')[n].click()"
    before = await page.evaluate(names)
    await page.evaluate(f"({press})(1)")
    assert await page.evaluate(names) == sorted(before, reverse=True)
    await page.evaluate(f"({press})(1)")
    assert await page.evaluate(names) == sorted(before)
    await page.evaluate(f"({press})(8)")
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
    assert await page.evaluate("document.querySelectorAll('path.u').length") == 2 * 250 * 7
