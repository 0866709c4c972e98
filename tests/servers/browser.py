"""
A real browser that opens a page, and tells what went wrong there: Chromium, driven by Playwright.

It is the one on the PATH, or Debian's, which is installed where that is allowed; it is too large to be built.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from playwright.async_api import Browser as Chromium
from playwright.async_api import BrowserContext, ConsoleMessage, Playwright, async_playwright
from playwright.async_api import Page as OpenPage
from tests.servers.build import Progress
from tests.servers.found import ServersError
from tests.servers.packages import install

NAME = "chromium"
NAMES = (NAME, "chromium-browser", "google-chrome-stable", "google-chrome")
PACKAGES = (NAME, "fonts-dejavu-core")
ANSWER_S = 300.0
Scheme: TypeAlias = Literal["light", "dark"]
#: what a page broke of its own policy, counted before anything of it runs
_WATCH = "addEventListener('securitypolicyviolation', event => { (window.broken ??= []).push(event.violatedDirective) })"


def find_browser(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The browser's program, or None: of REMUDA_SERVERS first, then of the PATH."""
    given = environ.get("REMUDA_SERVERS")
    candidates = [shutil.which(NAME, path=given)] if given else []
    candidates += [shutil.which(name, path=environ.get("PATH")) for name in NAMES]
    return next((Path(found) for found in candidates if found), None)


def get_browser(progress: Progress, environ: Mapping[str, str] = os.environ) -> Path:
    """Find the browser, or install Debian's. Raises ServersError with what helps where that cannot be."""
    found = find_browser(environ)
    if found is not None:
        return found
    install(NAME, PACKAGES, progress, environ)
    found = find_browser(environ)
    if found is None:
        raise ServersError(f"{NAME} was installed and is not on the PATH")
    return found


@dataclass(slots=True)
class Page:
    """An open page, and what was heard of it so far."""

    #: what Playwright calls a page: to click, type, wait and look
    it: OpenPage
    #: exceptions, and what the console has of warnings and errors
    complaints: list[str] = field(default_factory=list)
    #: addresses that were asked for
    requests: list[str] = field(default_factory=list)

    async def evaluate(self, script: str) -> Any:
        """What an expression is in the page."""
        return await self.it.evaluate(script)

    def listen(self) -> None:
        """Keep what matters of what happens from now on."""

        def hear(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning", "assert"}:
                self.complaints.append(message.text)

        self.it.on("console", hear)
        self.it.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.it.on("request", lambda request: self.requests.append(request.url))


class Browser:
    """One headless browser; `async with` starts and ends it."""

    def __init__(self, program: Path) -> None:
        self._program = program

    async def __aenter__(self) -> Self:
        self._driver: Playwright = await async_playwright().start()
        try:
            self._browser: Chromium = await self._driver.chromium.launch(
                executable_path=str(self._program),
                # root needs the first; what is opened are our own pages
                args=[
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-dev-shm-usage",
                    "--disable-background-networking",
                ],
                timeout=ANSWER_S * 1_000,
            )
        except BaseException:
            await self._driver.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._browser.close()
        await self._driver.stop()

    async def person(
        self, *, width: int = 1280, scheme: Scheme = "light", has_scripts: bool = True
    ) -> BrowserContext:
        """A window with cookies of its own."""
        context = await self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=has_scripts,
        )
        context.set_default_timeout(ANSWER_S * 1_000)
        await context.add_init_script(_WATCH)
        return context

    async def open(
        self, address: str, *, width: int = 1280, scheme: Scheme = "light", has_scripts: bool = True
    ) -> Page:
        """Open a page in a window of its own and wait until it is loaded."""
        return await open_in(await self.person(width=width, scheme=scheme, has_scripts=has_scripts), address)


async def open_in(person: BrowserContext, address: str) -> Page:
    """Open a page in somebody's window and wait until it is loaded."""
    page = Page(await person.new_page())
    page.listen()
    await page.it.goto(address, wait_until="load")
    return page
