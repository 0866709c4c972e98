"""Charts of every form, for pages that are files."""

from collections.abc import Sequence

from remuda.model.times import HOUR, MINUTE
from remuda.web.chart import Chart, Level, Series
from remuda.web.page import Content

AT = 1_767_225_600_000
MI = 2**20
DAY_TIMES = range(AT, AT + 24 * HOUR, 10 * MINUTE)
COUNT = len(DAY_TIMES)


def memory() -> Chart:
    """Bytes in a scale, with levels, a gap and a mark."""
    used: list[int | None] = [300 + n % 7 for n in range(COUNT)]
    used[40:60] = [None] * 20
    return Chart(
        "Memory of app",
        "bytes",
        DAY_TIMES,
        (Series("used", "busy", used, is_area=True),),
        levels=(Level("request", "limit", 512 * MI, is_dashed=True), Level("advised", "demand", 327 * MI)),
        marks=(AT + 5 * HOUR,),
        scale=MI,
    )


def supply() -> Chart:
    """Counts on top of each other, since a beginning."""
    idle, busy = [n % 5 for n in range(100)], [900 + n for n in range(100)]
    lines = (Series("busy", "busy", busy), Series("idle", "supply", idle))
    return Chart("Supply", "machines", range(0, 100 * HOUR, HOUR), lines, is_stacked=True, is_elapsed=True)


def cost() -> Chart:
    """Fractions."""
    return Chart("Cost", "$", [AT, AT + HOUR], (Series("cost", "good", [0.25, 0.5]),))


def up_to(highest: float, unit: str = "machines") -> Chart:
    """A line from nothing to some value."""
    return Chart(f"Up to {highest}", unit, [AT, AT + HOUR], (Series("value", "busy", [0, highest]),))


def content(text: str = "nothing", charts: Sequence[Chart] = ()) -> Content:
    """A page with all of them, or with others."""
    shown = list(charts) or [memory(), supply(), cost()]
    return Content("web/chart.html", {"charts": shown, "text": text}, title=f"Of {text}")
