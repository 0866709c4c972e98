"""What pages of sizes show of a review, as values of their templates: the same on the dashboard and in a file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from remuda.model.amount_texts import gib
from remuda.output.steps import Step
from remuda.rightsize.codes import RULES
from remuda.rightsize.decide.waste import waste_of
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.report.figures import (
    NOTHING,
    RESOURCES,
    RISKS,
    Resource,
    beyond_and_missing,
    chosen,
    cores,
    figure,
    is_partial,
    key_of,
    memory,
    money,
    of,
    verdicts,
    write_pair,
    write_waste,
)
from remuda.rightsize.report.size_charts import Span, size_chart
from remuda.rightsize.review import ContainerReview, Finding, Review, WorkloadReview
from remuda.web.chart import Chart

#: a severity, a risk or a verdict → how it looks
_LOOKS = {"error": "failed", "warning": "waiting", "raise": "waiting", "lower": "idle"}
#: `up/down` of the table, in words
_WAYS = {"up/down": "request up, limit down", "down/up": "request down, limit up"}


class Tag(NamedTuple):
    """A word that stands out."""

    text: str
    look: str = ""


class Card(NamedTuple):
    """A number of the summary."""

    name: str
    number: str
    label: str


class Row(NamedTuple):
    """A workload in the table."""

    #: namespace/kind/name
    key: str
    workload: WorkloadReview
    risk: str
    tags: tuple[Tag, ...]
    cpu: tuple[str, ...]
    memory: tuple[str, ...]
    tier: str
    wasted_cpu: str
    wasted_memory: str
    monthly: str


class Found(NamedTuple):
    """A finding, its place among all, and the workload that it is about by its key, if it is about one."""

    place: int
    finding: Finding
    tag: Tag
    key: str


class Cause(NamedTuple):
    """Findings of one rule."""

    rule: str
    meaning: str
    tag: Tag
    found: tuple[Found, ...]


class Numbers(NamedTuple):
    """What is known and advised of one resource of a container."""

    name: str
    cells: tuple[str, ...]


class Container(NamedTuple):
    """A container with all that is known of it."""

    name: str
    tags: tuple[Tag, ...]
    charts: tuple[Chart, ...]
    #: why there is no chart; nothing where there is one
    no_chart: str
    numbers: tuple[Numbers, ...]
    findings: tuple[Found, ...]
    steps: tuple[Step, ...]
    #: what steps do not say of the samples
    seen: str


class Patch(NamedTuple):
    """A patch to copy: its form, its text, what to do with it, and what has no place in the text."""

    form: str
    text: str
    usage: str
    about: tuple[str, ...] = ()


class Workload(NamedTuple):
    """A workload with its containers, and how to change it."""

    row: Row
    called: str
    facts: str
    containers: tuple[Container, ...]
    patches: tuple[Patch, ...] = ()
    #: what patches leave out and why, and what is to be mended before
    remarks: tuple[str, ...] = ()


def cards(review: Review) -> list[Card]:
    """The review in a few numbers."""
    items = [item for workload in review.workloads for item in workload.containers]
    risks = {label: sum(item.risk == risk for item in items) for risk, label in RISKS.items() if risk}
    found = {
        verdict: sum(item.verdict == verdict for item in items)
        for verdict in ("raise", "lower", "keep", "leave")
    }
    beyond, missing = beyond_and_missing(review)
    currency = review.currency
    return [
        Card("Workloads", f"{len(review.workloads):,}", f"{len(items):,} container{'s' * (len(items) != 1)}"),
        Card(
            "At risk",
            f"{sum(risks.values()):,}",
            ", ".join(f"{count:,} {label}" for label, count in risks.items() if count),
        ),
        Card(
            "To change",
            f"{found['raise'] + found['lower']:,}",
            f"{found['raise']:,} to raise, {found['lower']:,} to lower",
        ),
        Card(
            "To keep or leave",
            f"{found['keep'] + found['leave']:,}",
            f"{found['keep']:,} to keep, {found['leave']:,} to leave",
        ),
        *(
            Card(
                name,
                f"{gib(waste.memory_bytes)} GiB" if waste.monthly is None else money(waste.monthly, currency),
                write_waste(waste, currency),
            )
            for name, waste in (("Requested beyond need", beyond), ("Missing elsewhere", missing))
        ),
    ]


def write_key(workload: WorkloadReview) -> str:
    """`shop/Deployment/checkout`: what a page calls a workload by."""
    return "/".join(key_of(workload))


def row_of(workload: WorkloadReview) -> Row:
    """A workload for the table."""
    waste = workload.waste
    return Row(
        write_key(workload),
        workload,
        RISKS[workload.risk],
        tuple(_verdicts(workload)),
        _moves(workload, "cpu"),
        _moves(workload, "memory"),
        workload.shown_tier,
        cores(waste.cpu_millicores) if waste.cpu_millicores else "",
        gib(waste.memory_bytes) if waste.memory_bytes else "",
        money(waste.monthly or None),
    )


def _moves(workload: WorkloadReview, resource: Resource) -> tuple[str, ...]:
    """Request and limit of each container now, and what they should be where that is something else."""
    lines = []
    for item in workload.containers:
        now, then = write_pair(resource, item.now), write_pair(resource, item.recommended)
        name = f"{item.name}: " if len(workload.containers) > 1 else ""
        lines.append(name + (now if now == then else f"{now} → {then}"))
    return tuple(lines)


def _verdicts(workload: WorkloadReview) -> Iterator[Tag]:
    yield from dict.fromkeys(tag for item in workload.containers for tag in _ways(item))
    if any(item.is_provisional for item in workload.containers):
        yield Tag("provisional", "waiting")
    if any(map(is_partial, workload.containers)):
        yield Tag("partial", "waiting")


def _ways(item: ContainerReview) -> tuple[Tag, ...]:
    """The verdict of a container; where its values go different ways, one for each resource."""
    found = verdicts(item)
    if not found:
        return (Tag(item.verdict, _LOOKS.get(item.verdict, "")),)
    return tuple(
        Tag(
            f"{'CPU' if resource == 'cpu' else 'memory'} {_WAYS.get(each, each)}", _LOOKS.get(each, "waiting")
        )
        for resource, each in found.items()
    )


def all_found(review: Review) -> list[Found]:
    """Every finding, with the workload that it is about."""
    keys = {f"{item.kind} {item.namespace}/{item.name}": write_key(item) for item in review.workloads}
    return [
        Found(n, item, Tag(item.severity, _LOOKS.get(item.severity, "")), keys.get(item.object, ""))
        for n, item in enumerate(review.findings)
    ]


def causes(found: Sequence[Found]) -> list[Cause]:
    """Findings by their rule, in the order in which rules come first among them."""
    by_rule: dict[str, list[Found]] = {}
    for each in found:
        by_rule.setdefault(each.finding.rule, []).append(each)
    return [Cause(rule, RULES.get(rule, ""), items[0].tag, tuple(items)) for rule, items in by_rule.items()]


def show_workload(
    review: Review, workload: WorkloadReview, called: str, found: Sequence[Found], span: Span, points: int
) -> Workload:
    """A workload with charts of at most so many points; `found` are the findings about it."""
    facts = [workload.kind, f"{workload.replicas} pod{'s' * (workload.replicas != 1)}"]
    if workload.shown_tier:
        facts.append(f"tier {workload.shown_tier}")
    waste = workload.waste
    if waste.cpu_millicores or waste.memory_bytes:
        facts.append(f"beyond the recommendation: {write_waste(waste, review.currency)}")
    containers = tuple(
        _container(review, workload, item, found, span, points) for item in workload.containers
    )
    return Workload(row_of(workload), called, "; ".join(facts), containers)


def by_workload(found: Sequence[Found]) -> Mapping[str, list[Found]]:
    """Findings by the key of the workload that they are about."""
    made: dict[str, list[Found]] = {}
    for each in found:
        made.setdefault(each.key, []).append(each)
    return made


def _container(
    review: Review,
    workload: WorkloadReview,
    item: ContainerReview,
    found: Sequence[Found],
    span: Span,
    points: int,
) -> Container:
    tags = [Tag(RISKS[item.risk], "failed")] if item.risk else []
    tags += _ways(item)
    tags += [Tag("too little data: provisional", "waiting")] * item.is_provisional
    tags += [Tag("partial", "waiting")] * is_partial(item)
    tags += [Tag("sidecar")] * item.is_sidecar
    tags += [Tag(item.usage_class), *(Tag(f"{name}: {amount}") for name, amount in item.others.items())]
    about = [
        each for each in found if "[" not in each.finding.field or f"[{item.name}]" in each.finding.field
    ]
    return Container(
        item.name,
        tuple(tags),
        tuple(size_chart(resource, item, span, points) for resource in RESOURCES),
        _no_chart(item.evidence),
        tuple(_numbers(workload, item, review.strategy)),
        tuple(about),
        item.steps,
        _seen(item.evidence) if item.evidence else "There are no samples",
    )


def _no_chart(evidence: Evidence | None) -> str:
    if evidence is None:
        return "There are no samples to draw."
    if not evidence.cpu_samples and not evidence.memory_samples:
        return "An advisor's word has no samples to draw."
    return "This review was kept without what charts are drawn from, as older versions did: review again to see it."


def _numbers(workload: WorkloadReview, item: ContainerReview, strategy: str) -> Iterator[Numbers]:
    found = chosen(item, strategy)
    waste = waste_of([item], workload.replicas, None)
    for resource in RESOURCES:
        bounds = (found.lower_bound, found.target, found.upper_bound) if found else (None,) * 3
        cells = [figure(resource, of(resource, each)) if each else NOTHING for each in bounds]
        sizes = (item.now, item.recommended, item.vpa_rule, item.krr_rule)
        cells += [write_pair(resource, each) for each in sizes]
        is_cpu = resource == "cpu"
        cells.append(f"{cores(waste.cpu_millicores)} cores" if is_cpu else f"{gib(waste.memory_bytes)} GiB")
        yield Numbers("CPU" if is_cpu else "Memory", tuple(cells))


def _seen(evidence: Evidence) -> str:
    parts = []
    if evidence.cpu_samples:
        parts.append(f"CPU p99 {evidence.cpu_p99}m, peak {evidence.cpu_peak}m")
    if evidence.memory_samples:
        parts.append(f"memory p99 {memory(evidence.memory_p99)}, peak {memory(evidence.memory_peak)}")
    parts += evidence.anomalies
    return "; ".join(parts) or f"From {evidence.origin}"
