"""
The page of sizes: the newest review of each cluster, its workloads by what matters, and its findings by cause.

A review is what it was: the page has no region that is sent again, so that a large one is read once for who opens it.
"""

import re
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from remuda.control.documents import Kept
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.model.amount_texts import gib
from remuda.rightsize.report.figures import RISKS, Resource, write_pair
from remuda.rightsize.report.kept import FAMILY
from remuda.rightsize.review import SCHEMA, Review, WorkloadReview
from remuda.web.page import Ask, Content

#: rows of workloads on the page
MOST = 300
#: by what workloads can be sorted, and how that is called
SORTS = {"risk": "what matters most", "cpu": "wasted CPU", "memory": "wasted memory", "name": "name"}


class Size(NamedTuple):
    """A workload in the table."""

    namespace: str
    name: str
    kind: str
    risk: str
    verdicts: tuple[str, ...]
    cpu: tuple[str, ...]
    memory: tuple[str, ...]
    replicas: int
    tier: int | None
    wasted_cpu: str
    wasted_memory: str


class Cause(NamedTuple):
    """Findings of one rule: how many, what it says of the first, and what to do."""

    severity: str
    rule: str
    times: int
    example: str
    fix: str


class Shown(NamedTuple):
    """A review as the page has it."""

    review: Review
    causes: tuple[Cause, ...]


async def sizes_page(ask: Ask, call: Call) -> Content:
    """The review that was asked for, or the newest."""
    sort, chosen = call.query.get("sort", "risk"), call.query.get("review", "")
    if sort not in SORTS:
        raise BadInput(f"sort wants one of {', '.join(SORTS)}, found {sort!r}")
    newest: dict[str, Kept] = {}
    for item in await ask.get("/v1/documents", list[Kept], family=FAMILY):
        newest.setdefault(item.kind, item)
    reviews = list(newest.values())
    values: dict[str, Any] = {"reviews": reviews, "sort": sort, "sorts": SORTS, "chosen": None}
    if reviews:
        item = _choose(reviews, chosen)
        shown = _show(await ask.get(f"/v1/documents/{item.id}", Any), item)
        ordered = (
            sorted(shown.review.workloads, key=_ORDERS[sort]) if sort in _ORDERS else shown.review.workloads
        )
        values |= {
            "chosen": item,
            "shown": shown,
            "rows": [_size(workload) for workload in ordered[:MOST]],
            "count": len(shown.review.workloads),
        }
    return Content("rightsize/sizes.html", values, title="Sizes")


def _choose(reviews: list[Kept], chosen: str) -> Kept:
    if not chosen:
        return reviews[0]
    if not re.fullmatch(r"[0-9]{1,18}", chosen):
        raise BadInput(f"review wants the number of one, found {chosen[:40]!r}")
    found = next((item for item in reviews if item.id == int(chosen)), None)
    if found is None:
        raise NotFound(f"there is no review {chosen} any more: a newer one has taken its place")
    return found


def _show(data: Any, item: Kept) -> Shown:
    try:
        review = msgspec.convert(data, Review)
    except msgspec.ValidationError as error:
        raise Unavailable(f"what was kept of {item.kind} cannot be read: {error}; review again") from None
    if review.schema != SCHEMA:
        raise Unavailable(f"what was kept of {item.kind} is {review.schema}: review again with this version")
    counts = Counter(finding.rule for finding in review.findings)
    first = {finding.rule: finding for finding in reversed(review.findings)}
    causes = tuple(
        Cause(first[rule].severity, rule, count, f"{first[rule].object}: {first[rule].is_}", first[rule].fix)
        for rule, count in counts.items()
    )
    return Shown(review, causes)


_ORDERS: dict[str, Any] = {
    "cpu": lambda each: -each.waste.cpu_millicores,
    "memory": lambda each: -each.waste.memory_bytes,
    "name": lambda each: (each.namespace, each.name, each.kind),
}


def _size(workload: WorkloadReview) -> Size:
    waste = workload.waste
    return Size(
        workload.namespace,
        workload.name,
        workload.kind,
        RISKS[workload.risk],
        tuple(dict.fromkeys(item.verdict for item in workload.containers)),
        _moves(workload, "cpu"),
        _moves(workload, "memory"),
        workload.replicas,
        workload.tier,
        f"{waste.cpu_millicores / 1000:.2f}" if waste.cpu_millicores else "",
        gib(waste.memory_bytes) if waste.memory_bytes else "",
    )


def _moves(workload: WorkloadReview, resource: Resource) -> tuple[str, ...]:
    """Request and limit of each container now, and what they should be where that is something else."""
    lines = []
    for item in workload.containers:
        now, then = write_pair(resource, item.now), write_pair(resource, item.recommended)
        name = f"{item.name}: " if len(workload.containers) > 1 else ""
        lines.append(name + (now if now == then else f"{now} → {then}"))
    return tuple(lines)
