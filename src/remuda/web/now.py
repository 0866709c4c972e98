"""The page that people have open: alarms first, then what every job shows of itself, then what was decided last."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from remuda.control.notices import refusals, standing
from remuda.control.routes import Call
from remuda.errors import NotFound
from remuda.loop.health import Health
from remuda.model.times import MINUTE, Instant
from remuda.web.page import Alarm, Ask, Content, Page, Render, RenderPanel

_MOST_DECISIONS = 12


class Decision(Struct, frozen=True):
    """Something that was decided, as any loop's is."""

    at: Instant
    subject: str
    text: str


async def alarms_of(ask: Ask) -> tuple[Alarm, ...]:
    """What is wrong with the process and its loops, whatever they do."""
    if "/v1/loops" not in ask.routes():
        return (
            Alarm("Nothing runs: this is what was recorded until it ended. Start it with `remuda up FILE…`."),
        )
    health: dict[str, Any] = msgspec.to_builtins(await ask.get("/v1/loops", Health))
    details = health.get("details", {})
    lines = [standing(loop, details, "", is_late=False) for loop in health["loops"]]
    lines += refusals(health)
    lines += details.get("trouble", [])
    return tuple(Alarm(line) for line in lines if line)


def now_page(panels: Sequence[RenderPanel]) -> Page:
    """Now, with a part of each job."""
    return Page("/", _render(panels), menu="Now")


def _render(panels: Sequence[RenderPanel]) -> Render:
    async def render(ask: Ask, call: Call) -> Content:
        del call
        alarms = list(await alarms_of(ask))
        shown: list[Content] = []
        for render_panel in panels:
            try:
                content = await render_panel(ask)
            except NotFound:
                content = None  # a job that does not run here
            if content is not None:
                shown.append(content)
                alarms += content.alarms
        decisions: list[Any] = []
        if "/v1/decisions" in ask.routes():
            decisions = await ask.get("/v1/decisions", list[Any])
        recent = [item for item in reversed(decisions) if ask.now - item.at <= MINUTE]
        values = {
            "alarms": alarms,
            "panels": shown,
            "decisions": (recent or decisions[::-1])[:_MOST_DECISIONS],
            "are_recent": bool(recent),
        }
        return Content("now.html", values, title="Now")

    return render
