"""Use of a container against its request, limit and recommendation, as charts; and series with fewer points for them."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from remuda.model.times import SECOND, Instant
from remuda.rightsize.evidence import Series
from remuda.rightsize.report.figures import Resource, figure, pair
from remuda.rightsize.review import ContainerReview, Review
from remuda.web import chart

#: what is so many times above everything else is named instead of flattening the rest
_FAR = 20
_NAMES: dict[Resource, str] = {"cpu": "CPU", "memory": "Memory"}
_UNITS: dict[Resource, str] = {"cpu": "millicores", "memory": "bytes"}
#: bits of a value that a screen can show
_BITS = 12


class Span(NamedTuple):
    """The time that all charts of a page show."""

    begin: Instant
    end: Instant


def span_of(review: Review) -> Span:
    """The history that a review looked at."""
    return Span(review.at - review.history * SECOND, review.at)


def size_chart(resource: Resource, item: ContainerReview, span: Span, most: int) -> chart.Chart:
    """The chart of one resource of a container with at most so many points; empty without samples of it."""
    series = item.evidence.series if item.evidence else None
    amounts: Sequence[int | None] = ()
    times: Sequence[Instant] = ()
    if series is not None:
        series = with_fewer_points(series, most)
        amounts = series.cpu_millicores if resource == "cpu" else series.memory_bytes
        step = series.step * SECOND
        times = range(series.begin * SECOND, series.begin * SECOND + step * len(amounts), step)
    peak = max((amount for amount in amounts if amount is not None), default=0)
    scale = 1 << max(0, peak.bit_length() - _BITS)
    values = [None if amount is None else round(amount / scale) for amount in amounts]
    levels = levels_of(resource, item)
    near = _near(levels, peak)
    kills = _kills(item, resource, span)
    name = _NAMES[resource]
    used = chart.Series(f"{name} used", "busy", values, is_area=True)
    return chart.Chart(
        title=f"{name} of {item.name}",
        unit=_UNITS[resource],
        times=times,
        series=(used,) if any(amount is not None for amount in amounts) else (),
        levels=tuple(level for level in levels if level in near),
        marks=kills,
        scale=scale,
        span=span,
        summary=_summary(resource, item, peak, levels, near, len(kills)),
    )


def levels_of(resource: Resource, item: ContainerReview) -> list[chart.Level]:
    """What is set now, and what should be where that is something else."""
    now, then = pair(resource, item.now), pair(resource, item.recommended)
    found = []
    if now.request is not None and now.request == now.limit:
        found.append(chart.Level("request and limit", "ink", now.request))
    else:
        found += [
            chart.Level(name, "ink", amount, is_dashed=name == "request")
            for name, amount in (("limit", now.limit), ("request", now.request))
            if amount is not None
        ]
    if then.request is not None and then.request == then.limit and then != now:
        found.append(chart.Level("advised", "demand", then.request))
        return found
    if then.limit is not None and then.limit != now.limit:
        found.append(chart.Level("advised limit", "demand", then.limit))
    if then.request is not None and then.request != now.request:
        found.append(
            chart.Level(
                "advised" if then.limit is None else "advised request",
                "demand",
                then.request,
                is_dashed=then.limit is not None,
            )
        )
    return found


def _near(levels: Sequence[chart.Level], peak: int) -> list[chart.Level]:
    """The levels that are drawn to scale: from the lowest up to where one is far above all before it."""
    found: list[chart.Level] = []
    most: float = peak
    for level in sorted(levels, key=lambda each: each.value):
        if 0 < most * _FAR < level.value:
            break
        found.append(level)
        most = max(most, level.value)
    return found


def _kills(item: ContainerReview, resource: Resource, span: Span) -> tuple[Instant, ...]:
    if item.evidence is None or resource == "cpu":
        return ()
    moments = (kill.at * SECOND for kill in item.evidence.kills)
    return tuple(at for at in moments if span.begin <= at <= span.end)


def _summary(
    resource: Resource,
    item: ContainerReview,
    peak: int,
    levels: Sequence[chart.Level],
    near: Sequence[chart.Level],
    kills: int,
) -> str:
    """What the chart says, in one sentence."""
    has_samples = item.evidence is not None and item.evidence.series is not None
    parts = [f"used up to {figure(resource, peak)}" if has_samples else "no use to draw"]
    parts += [
        f"{level.name} {figure(resource, int(level.value))}{'' if level in near else ', far above what is drawn'}"
        for level in levels
    ]
    if kills:
        parts.append(f"OOM-killed {kills} time{'s' * (kills != 1)}")
    return f"{_NAMES[resource]} of {item.name}: {'; '.join(parts)}"


def with_fewer_points(series: Series, most: int) -> Series:
    """The same use in steps that are so many times longer that at most so many are left; the highest of each counts."""
    count = max(len(series.cpu_millicores), len(series.memory_bytes))
    times = -(-count // most)
    if times <= 1:
        return series
    return Series(
        series.begin,
        series.step * times,
        _highest(series.cpu_millicores, times),
        _highest(series.memory_bytes, times),
    )


def _highest(amounts: Sequence[int | None], times: int) -> tuple[int | None, ...]:
    filled = [-1 if each is None else each for each in amounts]
    filled += [-1] * (-len(filled) % times)
    return tuple(None if each < 0 else each for each in map(max, *(filled[n::times] for n in range(times))))


def with_few_points(review: Review, most: int, most_together: int) -> Review:
    """A review whose series have at most so many points each, and about so many of all containers together."""
    containers = sum(len(workload.containers) for workload in review.workloads)
    each = max(1, min(most, most_together // max(1, containers)))
    workloads = tuple(
        structs.replace(
            workload, containers=tuple(_with_few_points(item, each) for item in workload.containers)
        )
        for workload in review.workloads
    )
    return structs.replace(review, workloads=workloads)


def _with_few_points(item: ContainerReview, most: int) -> ContainerReview:
    if item.evidence is None or item.evidence.series is None:
        return item
    series = with_fewer_points(item.evidence.series, most)
    return structs.replace(item, evidence=structs.replace(item.evidence, series=series))
