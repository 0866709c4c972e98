"""What the dashboard costs: how soon a page shows something, and what a hundred open pages take."""

import asyncio
import shutil
import subprocess
import sys
import time

import aiohttp

from bench import web_fleet
from bench.idle import cpu_seconds
from bench.table import Row, at_most, quantile

MACHINES, PAGES, SECONDS, PAINTS = 1_000, 100, 20, 9


async def watch(session: aiohttp.ClientSession, url: str, token: str, heard: list[int]) -> None:
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {token}"}
    async with session.get(url, headers=headers) as stream:
        while piece := await stream.content.readany():
            heard.append(len(piece))


async def open_pages(where: str, token: str, pid: int, count: int) -> tuple[float, float, int]:
    """Percent of a core while so many pages of the pool are open, MB a second, and how many of them moved."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)
    ) as session:
        heard: list[list[int]] = [[] for _ in range(count)]
        tasks = [asyncio.create_task(watch(session, f"{where}/pools/big", token, each)) for each in heard]
        await asyncio.sleep(5)
        for each in heard:
            each.clear()
        before, began = cpu_seconds(pid), time.monotonic()
        await asyncio.sleep(SECONDS)
        lasted = time.monotonic() - began
        used = (cpu_seconds(pid) - before) / lasted * 100
        sent = sum(map(sum, heard)) / 1e6 / lasted
        moved = sum(bool(each) for each in heard)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return used, sent, moved


async def first_paint(link: str) -> float | None:
    """Milliseconds until a browser shows something of the pool's page; the median of some, None without a browser."""
    program = shutil.which("chromium")
    if program is None:
        return None
    from playwright.async_api import async_playwright

    script = """new Promise(done => new PerformanceObserver(seen => {
        const paint = seen.getEntriesByName('first-contentful-paint')[0];
        if (paint) done(paint.startTime);
    }).observe({type: 'paint', buffered: true}))"""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page()
        await page.goto(link)
        took = []
        for _ in range(PAINTS):
            await page.goto(f"{link.partition('/?')[0]}/pools/big")
            took.append(float(await page.evaluate(script)))
        await browser.close()
    return quantile(took, 0.5)


def rows() -> list[Row]:
    command = [sys.executable, "-m", "bench.web_serving", str(MACHINES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdin is not None
        assert serving.stdout is not None
        link = serving.stdout.readline().strip()
        where, _, token = link.partition("/?token=")
        none, _, _ = asyncio.run(open_pages(where, token, serving.pid, 0))
        used, sent, moved = asyncio.run(open_pages(where, token, serving.pid, PAGES))
        paint = asyncio.run(first_paint(link))
        serving.stdin.close()
    assert moved == PAGES, f"only {moved} of {PAGES} pages moved"
    world = f"a pool of {MACHINES:,} machines, 10 of which change each second"
    found = [
        at_most(
            f"{PAGES} open pages of a pool",
            used - none,
            20,
            "% of a core",
            f"{world}; {none:.1f} % without a page, over {SECONDS} s each; {sent:.2f} MB/s sent",
        )
    ]
    if paint is not None:
        conditions = (
            f"first contentful paint of the same pool's page, Chromium on loopback, median of {PAINTS}"
        )
        found.append(at_most("first paint of a page", paint, 500, "ms", conditions))
    return [*found, *web_fleet.rows()]
