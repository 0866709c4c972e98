"""
A review for people: a table that begins with what matters, a page of markdown to commit, and one flat table as CSV.

`-o json` and `-o yaml` are the document itself.
"""

from collections.abc import Iterable, Iterator

from remuda.model.amount_texts import gib
from remuda.model.findings import count_severities
from remuda.model.times import write_instant
from remuda.output.findings import Description, Row, findings_table
from remuda.output.show import Report, Table, shortened
from remuda.rightsize.decide.waste import waste_of
from remuda.rightsize.report import document
from remuda.rightsize.report.changes_show import change_tables
from remuda.rightsize.report.compare import Changes
from remuda.rightsize.report.figures import (
    NOTHING,
    RESOURCES,
    RISKS,
    Resource,
    beyond_and_missing,
    chosen,
    cores,
    describe_usage,
    figure,
    is_partial,
    key_of,
    money,
    names,
    of,
    pair,
    verdicts,
    write_pair,
    write_waste,
)
from remuda.rightsize.review import ContainerReview, Finding, Review, WorkloadReview

#: rows of a table, two for a container; -o json and csv have all
MOST_ROWS = 400
LEGEND = "A verdict with ? has too little data, under a day of a sample a minute, and is left out of patches; with * a part of its samples could not be read."


def report(review: Review, form: str, changes: Changes | None = None) -> Report:
    """Everything, in one of the forms of `output.show`."""
    match form:
        case "json":
            return Report(None, text=document.text(review, changes))
        case "yaml":
            return Report(document.data(review, changes))
        case "csv":
            return Report(None, (_flat(review),))
    tables = [_sizes(review)]
    tables.append(findings_table(review.findings, form, _finding, _findings_title(review.findings)))
    if changes is not None:
        tables += change_tables(changes, review.currency)
    return Report(None, tuple(tables), tuple(_lines(review, form)))


def summary(review: Review) -> Iterator[str]:
    """The totals, in a few sentences."""
    containers = [item for workload in review.workloads for item in workload.containers]
    yield (
        f"{_counted(len(review.workloads), 'workload')} with {_counted(len(containers), 'container')}; use is from "
        f"{describe_usage(review)}, by the rule {review.strategy}"
    )
    risks = [
        f"{count} {label}" for risk, label in RISKS.items() if risk and (count := _count(containers, risk))
    ]
    verdicts = {
        verdict: sum(item.verdict == verdict for item in containers)
        for verdict in ("raise", "lower", "keep", "leave")
    }
    to_do = ", ".join(f"{count} to {verdict}" for verdict, count in verdicts.items() if count)
    yield f"At risk: {', '.join(risks) or 'none'}. {to_do[:1].upper() + to_do[1:] or 'Nothing to do'}."
    beyond, missing = beyond_and_missing(review)
    yield f"Requested beyond need: {write_waste(beyond, review.currency)}."
    yield f"Missing elsewhere: {write_waste(missing, review.currency)}."
    if review.is_partial:
        yield "This review is partial: what could not be read is among the findings."
    if any(item.is_provisional or is_partial(item) for item in containers):
        yield LEGEND


def _count(containers: Iterable[ContainerReview], risk: str) -> int:
    return sum(item.risk == risk for item in containers)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("s" if number != 1 else "")


def _lines(review: Review, form: str) -> Iterator[str]:
    title = f"Sizes of {review.source} at {write_instant(review.at)}"
    if form != "markdown":
        yield title
        yield from summary(review)
        return
    yield f"# {title}"
    for line in summary(review):
        yield ""
        yield line


def _sizes(review: Review) -> Table:
    called = names(review)
    rows: list[tuple[str, ...]] = []
    for workload in review.workloads:
        rows += _rows(workload, called[key_of(workload)], review.strategy)
    headings: tuple[str, ...] = (
        "RISK", "VERDICT", "WORKLOAD", "CONTAINER", "OF", "LOWER", "TARGET", "UPPER", "NOW", "SHOULD BE", "KRR", "WASTE",
        f"{review.currency} A MONTH".lstrip(),
    )  # fmt: skip
    if review.waste.monthly is None:
        headings, rows = headings[:-1], [row[:-1] for row in rows]
    message = "request/limit; waste is cores and GiB of all pods, below zero what is missing"
    if review.waste.monthly is not None:
        message += "; money is of the whole workload, beside its first container"
    table = Table(headings, tuple(rows), f"Sizes ({message})", "there is no workload")
    return shortened(table, MOST_ROWS, column=headings.index("WORKLOAD"))


def _verdict(item: ContainerReview, resource: Resource) -> str:
    """One for the container, beside its first row; where its values go different ways, one for each resource."""
    found = verdicts(item)
    if found:
        return found[resource]
    return item.verdict if resource == RESOURCES[0] else ""


def _rows(workload: WorkloadReview, called: str, strategy: str) -> Iterator[tuple[str, ...]]:
    """Two rows for a container; what holds for both, or for the whole workload, is reported once."""
    for n, item in enumerate(workload.containers):
        for resource in RESOURCES:
            is_first = resource == RESOURCES[0]
            marks = "?" * item.is_provisional + "*" * is_partial(item)
            yield (
                RISKS[item.risk] if is_first else "",
                _verdict(item, resource) + marks * is_first,
                called if is_first else "",
                item.name if is_first else "",
                resource,
                *_bounds(item, resource, strategy),
                write_pair(resource, item.now),
                write_pair(resource, item.recommended),
                _krr(item, resource),
                _waste(workload, item, resource),
                money(workload.waste.monthly or None) if is_first and n == 0 else "",
            )


def _bounds(item: ContainerReview, resource: Resource, strategy: str) -> tuple[str, str, str]:
    found = chosen(item, strategy)
    if found is None:
        return NOTHING, NOTHING, NOTHING
    lower, target, upper = (
        figure(resource, of(resource, each)) for each in (found.lower_bound, found.target, found.upper_bound)
    )
    return lower, target, upper


def _krr(item: ContainerReview, resource: Resource) -> str:
    """Its request: the memory limit is the same, and there is none of CPU."""
    return NOTHING if item.krr_rule is None else figure(resource, of(resource, item.krr_rule.requests))


def _waste(workload: WorkloadReview, item: ContainerReview, resource: Resource) -> str:
    waste = waste_of([item], workload.replicas, None)
    if resource == "cpu":
        return cores(waste.cpu_millicores) if waste.cpu_millicores else ""
    return f"{gib(waste.memory_bytes)}Gi" if waste.memory_bytes else ""


def _finding(item: Finding) -> Row:
    return Row(
        item.severity, item.rule, item.object, item.field, Description(item.is_, item.should, item.fix)
    )


def _findings_title(findings: tuple[Finding, ...]) -> str:
    counts = count_severities(findings)
    message = ", ".join(f"{count} {severity}" for severity, count in counts.items() if count)
    return f"Findings: {message}" if message else "Findings"


def _flat(review: Review) -> Table:
    """A row for each container and resource, in millicores and bytes; a month's money once for a workload."""
    headings = (
        "namespace", "kind", "name", "container", "resource", "unit", "tier", "replicas", "class", "risk", "verdict",
        "provisional", "partial", "sidecar", "lower_bound", "target", "upper_bound", "request", "limit",
        "recommended_request", "recommended_limit", "vpa_request", "vpa_limit", "krr_request", "krr_limit", "waste",
        "workload_monthly", "currency",
    )  # fmt: skip
    rows = [
        _flat_row(review, workload, item, resource, is_first=n == 0 and resource == RESOURCES[0])
        for workload in review.workloads
        for n, item in enumerate(workload.containers)
        for resource in RESOURCES
    ]
    return Table(headings, tuple(rows))


def _flat_row(
    review: Review, workload: WorkloadReview, item: ContainerReview, resource: Resource, *, is_first: bool
) -> tuple[str, ...]:
    found = chosen(item, review.strategy)
    bounds = (found.lower_bound, found.target, found.upper_bound) if found else ()
    amounts = [of(resource, each) for each in bounds] or [None] * 3
    for size in (item.now, item.recommended, item.vpa_rule, item.krr_rule):
        amounts += pair(resource, size) if size is not None else (None, None)
    waste = waste_of([item], workload.replicas, None)
    amounts.append(waste.cpu_millicores if resource == "cpu" else waste.memory_bytes)
    has_money = is_first and workload.waste.monthly is not None
    return (
        workload.namespace,
        workload.kind,
        workload.name,
        item.name,
        resource,
        "millicores" if resource == "cpu" else "bytes",
        workload.shown_tier,
        str(workload.replicas),
        item.usage_class,
        item.risk,
        item.verdict,
        _yes(item.is_provisional),
        _yes(is_partial(item)),
        _yes(item.is_sidecar),
        *("" if amount is None else str(amount) for amount in amounts),
        f"{workload.waste.monthly:.2f}" if has_money else "",
        review.currency if has_money else "",
    )


def _yes(fact: bool) -> str:  # noqa: FBT001 - a cell of a table
    return "true" if fact else "false"
