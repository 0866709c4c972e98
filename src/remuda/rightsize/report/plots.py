"""Use of a container against its request, limit and recommendation: what `remuda.output.plots` draws of a review."""

from functools import partial

from msgspec.structs import replace

from remuda.output.plots import Line, Plot, Window, draw
from remuda.rightsize.report.figures import Resource, figure, pair
from remuda.rightsize.review import ContainerReview

_NAMES = {"cpu": "CPU", "memory": "Memory"}


def plot(resource: Resource, item: ContainerReview, window: Window) -> str:
    """The drawing of one resource of a container, which needs the `axis` of its window in the page."""
    made = Plot(
        _NAMES[resource],
        item.name,
        partial(figure, resource),
        _lines(resource, item),
        kills=[kill.at for kill in item.evidence.kills] if item.evidence and resource == "memory" else (),
        is_binary=resource == "memory",
    )
    series = item.evidence.series if item.evidence else None
    if series is not None:
        amounts = series.cpu_millicores if resource == "cpu" else series.memory_bytes
        made = replace(made, begin=series.begin, step=series.step, amounts=amounts)
    return draw(made, window)


def _lines(resource: Resource, item: ContainerReview) -> list[Line]:
    """What is set now, and what should be where that is something else."""
    now, then = pair(resource, item.now), pair(resource, item.recommended)
    found = []
    if now.request is not None and now.request == now.limit:
        found.append(Line(now.request, "now", "n"))
    else:
        found += [
            Line(amount, name, look)
            for amount, name, look in ((now.limit, "limit", "n"), (now.request, "request", "q"))
            if amount is not None
        ]
    if then.request is not None and then.request == then.limit and then != now:
        found.append(Line(then.request, "advised", "a"))
        return found
    if then.limit is not None and then.limit != now.limit:
        found.append(Line(then.limit, "adv. limit", "a"))
    if then.request is not None and then.request != now.request:
        found.append(Line(then.request, "advised" if then.limit is None else "adv. request", "b"))
    return found
