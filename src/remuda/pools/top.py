"""The live view on a terminal, with keys: that of `remuda top`, and of `remuda up`."""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from remuda.control.client import Remuda
from remuda.control.command import Session
from remuda.control.notices import notices
from remuda.errors import RemudaError
from remuda.loop.clock import Clock
from remuda.model.jobs import JobList
from remuda.output.keyboard import keys_at_once, read_keys
from remuda.output.moments import clock_time
from remuda.output.show import one_line
from remuda.pools.browsing import Browsing, Subject, press
from remuda.pools.controller import LOOP
from remuda.pools.live import HEADINGS, Explain, ask, closely, lost, render, tables_of
from remuda.pools.views import Decision, PoolsView

_EVERY_S = 1.0


@dataclass(slots=True)
class Top:
    """What was answered last, and where the person is who looks at it."""

    remuda: Remuda
    clock: Clock
    explain: Explain
    at: Browsing = field(default_factory=Browsing)
    answer: tuple[PoolsView, JobList, list[Decision]] | None = None
    notices: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    #: why there is no newer answer, and since when
    problem: str = ""
    silent_since: int = 0
    #: what opens the dashboard, once there is one
    link: Callable[[], str] = lambda: ""

    def ask(self) -> None:
        """Ask for everything anew; when that fails, what was answered before stays."""
        now = self.clock.now()
        try:
            self.answer = ask(self.remuda)
            self.notices = notices(self.remuda, LOOP, self.answer[0].seen_at, now)
            subject = self.at.subject
            lines = self._explained(subject)
            if subject == self.at.subject:  # else the person is elsewhere by now
                self.lines = lines
        except RemudaError as error:
            self.silent_since = self.silent_since or now
            since = clock_time(self.silent_since, now)
            self.problem = f"no answer since {since}, asking again every second: {one_line(str(error))}"
        else:
            self.problem, self.silent_since = "", 0

    def _explained(self, subject: Subject | None) -> tuple[str, ...]:
        if subject is None:
            return ()
        try:
            return self.explain(*subject)
        except RemudaError as error:
            return (str(error),)  # it may be gone by now

    def press(self, key: str) -> bool:
        """Follow a key; whether something must be asked before what it leads to can be shown."""
        now = self.clock.now()
        shown = tables_of(*self.answer, now, self.at) if self.answer else [[] for _ in HEADINGS]
        before, self.at = self.at, press(self.at, key, shown, [len(each) for each in HEADINGS])
        if self.at.subject in (before.subject, None):
            return False
        self.lines = ("asking …",)
        return True

    def picture(self, height: int) -> Group:
        """What there is to see now."""
        if self.answer is None and not self.at.may_quit:
            return Group(Text("starting …", style="dim"))
        last = lost(self.problem) if self.problem else Text(self.at.keys, style="dim", no_wrap=True)
        if self.answer is None:
            return Group(last)
        if link := self.link():
            last.append(f"\ndashboard {link}", style="dim not red")
            last.no_wrap, last.overflow = False, "fold"
            height -= 1
        if self.at.subject is not None:
            title = f"remuda why {' '.join(self.at.subject)}"
            return Group(closely(title, self.lines, height, self.at.scrolled), last)
        return Group(render(*self.answer, self.clock.now(), height, self.notices, self.at), last)


async def watch(
    session: Session,
    clock: Clock,
    stop: asyncio.Event,
    console: Console | None = None,
    link: Callable[[], str] = lambda: "",
) -> None:
    """Draw what this process does until it is stopped; `link` opens its dashboard, once there is one."""
    from remuda.pools.questions import why_report  # noqa: PLC0415 - for who asks why

    def explain(kind: str, name: str) -> tuple[str, ...]:
        return why_report(session, kind, name, history=True).lines

    top = Top(session.remuda, clock, explain, Browsing(may_quit=False), link=link)
    await browse(top, stop, console or Console())


async def browse(
    top: Top, stop: asyncio.Event, console: Console, listen: Callable[[], list[str]] | None = None
) -> None:
    """Draw once a second and after each key until stopped; `listen` gives what was pressed, stdin's keys by default."""
    pressed = asyncio.Event()
    keys: list[str] = []
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()

    def hear() -> None:
        heard = listen() if listen else read_keys(descriptor)
        if not heard:
            loop.remove_reader(descriptor)  # the terminal is gone
        keys.extend(heard)
        pressed.set()

    stopping = asyncio.create_task(stop.wait())
    with contextlib.ExitStack() as ends:
        ends.callback(stopping.cancel)
        if sys.stdin.isatty():
            ends.enter_context(keys_at_once(descriptor))
            loop.add_reader(descriptor, hear)
            ends.callback(loop.remove_reader, descriptor)
        live = ends.enter_context(Live(console=console, screen=console.is_terminal, auto_refresh=False))
        asking: asyncio.Task[None] | None = None
        asked_at = float("-inf")
        while not stop.is_set() and not top.at.is_over:
            if asking is None and loop.time() - asked_at >= _EVERY_S:
                asked_at = loop.time()
                asking = asyncio.create_task(asyncio.to_thread(top.ask))
            waits: set[asyncio.Task[object]] = {stopping, *({asking} if asking else ())}
            hearing = asyncio.create_task(pressed.wait())
            left = max(0.0, _EVERY_S - (loop.time() - asked_at)) if asking is None else None
            await asyncio.wait({*waits, hearing}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            hearing.cancel()
            if asking is not None and asking.done():
                asking.result()
                asking = None
            pressed.clear()
            while keys:
                if top.press(keys.pop(0)):
                    asked_at = float("-inf")
            live.update(top.picture(console.height), refresh=True)
        if asking is not None:
            await asyncio.wait({asking})
