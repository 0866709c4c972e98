"""
A real browser that opens a page, and tells what went wrong there: Chromium, spoken to by its DevTools protocol.

It is the one on the PATH, or Debian's, which is installed where that is allowed; it is too large to be built.
"""

import asyncio
import itertools
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from tests.servers.build import Progress
from tests.servers.found import ServersError
from tests.servers.kept import Kept
from tests.servers.packages import install

NAME = "chromium"
NAMES = (NAME, "chromium-browser", "google-chrome-stable", "google-chrome")
PACKAGES = (NAME, "fonts-dejavu-core")
ANSWER_S = 300.0
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

    browser: "Browser"
    session: str
    #: exceptions, and what the console or the log has of warnings and errors
    complaints: list[str] = field(default_factory=list)
    #: addresses that were asked for
    requests: list[str] = field(default_factory=list)
    is_loaded: asyncio.Event = field(default_factory=asyncio.Event)

    async def evaluate(self, script: str) -> Any:
        """What an expression is in the page."""
        answer = await self.browser.call(
            "Runtime.evaluate",
            {"expression": script, "returnByValue": True, "awaitPromise": True},
            self.session,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def call(self, method: str, **parameters: Any) -> Any:
        """Ask for something of the protocol."""
        return await self.browser.call(method, parameters, self.session)

    def hear(self, method: str, data: dict[str, Any]) -> None:
        """Keep what matters of an event."""
        match method:
            case "Runtime.exceptionThrown":
                self.complaints.append(str(data["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if data["type"] in {"error", "warning", "assert"}:
                self.complaints.append(str(data["args"]))
            case "Log.entryAdded":
                self.complaints.append(data["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(data["request"]["url"])
            case "Page.loadEventFired":
                self.is_loaded.set()


class Browser:
    """One headless browser with a profile of its own; `async with` starts and ends it."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._pages: dict[str, Page] = {}

    async def __aenter__(self) -> Self:
        self._kept = Kept()
        profile = self._kept.directory / "profile"
        command = [
            str(self._program),
            "--headless=new",
            # root needs it; what is opened are our own pages
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-breakpad",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--remote-debugging-port=0",
            "about:blank",
        ]
        port = profile / "DevToolsActivePort"
        try:
            await asyncio.to_thread(
                self._kept.start, NAME, command, lambda: port.is_file() and port.read_text().count("\n") > 0
            )
            number, path = port.read_text().split("\n")[:2]
            self._client = aiohttp.ClientSession()
            self._socket = await self._client.ws_connect(f"ws://127.0.0.1:{number}{path}", max_msg_size=0)
        except BaseException:
            self._kept.close()
            raise
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.cancel()
        await asyncio.wait([self._reader])
        await self._socket.close()
        await self._client.close()
        await asyncio.to_thread(self._kept.close)

    async def call(self, method: str, parameters: dict[str, Any], session: str = "") -> Any:
        """Ask for something of the protocol and wait for the answer."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json(message | ({"sessionId": session} if session else {}))
        return await asyncio.wait_for(answer, ANSWER_S)

    async def _read(self) -> None:
        async for message in self._socket:
            data = message.json()
            if "id" in data:
                answer = self._answers.pop(data["id"])
                if "error" in data:
                    answer.set_exception(RuntimeError(str(data["error"])))
                else:
                    answer.set_result(data["result"])
            elif data.get("sessionId") in self._pages:
                self._pages[data["sessionId"]].hear(data["method"], data["params"])

    async def open(
        self, address: str, *, width: int = 1280, scheme: str = "light", has_scripts: bool = True
    ) -> Page:
        """Open a page and wait until it is loaded."""
        target = (await self.call("Target.createTarget", {"url": "about:blank"}))["targetId"]
        attached = await self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"])
        for room in ("Runtime", "Log", "Network", "Page"):
            await page.call(f"{room}.enable")
        await page.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        await page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        await page.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        await page.call("Emulation.setScriptExecutionDisabled", value=not has_scripts)
        page.is_loaded.clear()
        await page.call("Page.navigate", url=address)
        await asyncio.wait_for(page.is_loaded.wait(), ANSWER_S)
        return page
