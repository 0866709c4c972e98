"""
A review as one HTML file: a summary, all workloads, what was found by its cause, and the use of each against what it asks for.

The page loads nothing from anywhere, which its own policy forbids, too, and is whole without scripts.
"""

from collections.abc import Iterator, Mapping, Sequence

from remuda.model.amount_texts import gib
from remuda.model.times import SECOND, write_instant
from remuda.output.pages import Column, badge, page_head, page_table, page_text
from remuda.output.plots import Window, axis
from remuda.output.show import Table
from remuda.rightsize.codes import RULES
from remuda.rightsize.decide.waste import waste_of
from remuda.rightsize.evidence import Evidence
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
    findings_of,
    is_partial,
    key_of,
    memory,
    money,
    names,
    of,
    verdicts,
    write_pair,
    write_waste,
)
from remuda.rightsize.report.page_style import SCRIPT, STYLE
from remuda.rightsize.report.plots import plot
from remuda.rightsize.review import ContainerReview, Finding, Review, WorkloadReview

#: with more containers than this, plots have fewer points
_LARGE = 500
_FEW_COLUMNS = 60
_LOOKS = {
    "error": "bad",
    "warning": "warn",
    "info": "",
    "raise": "warn",
    "lower": "good",
    "keep": "",
    "leave": "",
}
#: `up/down` of the table, in words
_WAYS = {"up/down": "request up, limit down", "down/up": "request down, limit up"}


_WORKLOADS = (
    Column("Risk"), Column("Workload"), Column("Kind"), Column("Verdict"), Column("CPU now → advised", "s"),
    Column("Memory now → advised", "s"), Column("Tier", "r"), Column("Pods", "r"), Column("Cores", "r"), Column("GiB", "r"),
)  # fmt: skip
_NUMBERS = [*map(Column, ("Request / limit", "Lower bound", "Target", "Upper bound", "Now", "Should be", "VPA rule", "KRR rule", "Waste"))]  # fmt: skip


def html(review: Review, changes: Changes | None = None) -> str:
    """The whole page."""
    return "".join(_page(review, changes))


def _page(review: Review, changes: Changes | None) -> Iterator[str]:
    containers = sum(len(workload.containers) for workload in review.workloads)
    end = review.at // SECOND
    window = Window(end - review.history, end)
    if containers > _LARGE:
        window = Window(window.begin, window.end, _FEW_COLUMNS)
    title = f"Sizes of {review.source}"
    yield (
        f"{page_head(title, STYLE, SCRIPT)}<body><main>"
        f'<svg class="defs" aria-hidden="true"><defs>{axis(window)}</defs></svg>'
        f"<h1>{page_text(title)}</h1>"
    )
    yield from _summary(review, containers)
    if changes is not None:
        yield '<h2 id="changes">Since the last review</h2>'
        first, *more = change_tables(changes, review.currency)
        yield _plain(first)
        if more:
            yield f"<details><summary>Which ones</summary>{''.join(map(_plain, more))}</details>"
    yield from _contents(review)
    yield from _findings(review)
    about = findings_of(review)
    called = names(review)
    for n, workload in enumerate(review.workloads):
        yield _heading(workload, n, called[key_of(workload)], review.currency)
        for item in workload.containers:
            yield from _container(review, workload, item, window, about[*key_of(workload), item.name])
        yield "</section>\n"
    yield f"</main><script>{SCRIPT}</script></body></html>\n"


def _summary(review: Review, containers: int) -> Iterator[str]:
    yield (
        f'<p class="soft">Reviewed at {write_instant(review.at)}, by the rule {page_text(review.strategy)}; use is from '
        f"{page_text(describe_usage(review))}. Times are UTC.</p>"
    )
    if review.is_partial:
        yield f"<p>{badge('partial', 'warn')} A part could not be read: what is missing is among the findings.</p>"
    items = [item for workload in review.workloads for item in workload.containers]
    risks = {label: sum(item.risk == risk for item in items) for risk, label in RISKS.items() if risk}
    found = {
        verdict: sum(item.verdict == verdict for item in items)
        for verdict in ("raise", "lower", "keep", "leave")
    }
    beyond, missing = beyond_and_missing(review)
    cards = [
        ("Workloads", f"{len(review.workloads):,}", f"{containers:,} container{'s' * (containers != 1)}"),
        ("At risk", f"{sum(risks.values()):,}", ", ".join(f"{count:,} {label}" for label, count in risks.items() if count)),
        ("To change", f"{found['raise'] + found['lower']:,}", f"{found['raise']:,} to raise, {found['lower']:,} to lower"),
        ("To keep or leave", f"{found['keep'] + found['leave']:,}", f"{found['keep']:,} to keep, {found['leave']:,} to leave"),
        ("Requested beyond need", _first(beyond.monthly, review.currency) or f"{gib(beyond.memory_bytes)} GiB", write_waste(beyond, review.currency)),
        ("Missing elsewhere", _first(missing.monthly, review.currency) or f"{gib(missing.memory_bytes)} GiB", write_waste(missing, review.currency)),
    ]  # fmt: skip
    yield '<dl class="cards">'
    for name, number, label in cards:
        yield f"<div><dt>{name}</dt><dd>{page_text(number)}<small>{page_text(label)}</small></dd></div>"
    yield "</dl>"


def _first(monthly: float | None, currency: str) -> str:
    return "" if monthly is None else money(monthly, currency)


def _findings(review: Review) -> Iterator[str]:
    yield '<h2 id="findings">Findings</h2>'
    if not review.findings:
        yield "<p>None.</p>"
        return
    places = {f"{item.kind} {item.namespace}/{item.name}": n for n, item in enumerate(review.workloads)}
    causes: dict[str, list[int]] = {}
    for n, item in enumerate(review.findings):
        causes.setdefault(item.rule, []).append(n)
    columns = (
        Column("Severity"),
        Column("Where", "w"),
        Column("Is", "w"),
        Column("Should be"),
        Column("Fix", "w"),
    )
    for rule, found in causes.items():
        caption = f"<b>{page_text(rule)}</b> {page_text(RULES.get(rule, ''))}"
        yield page_table(columns, (_finding(n, review.findings[n], places) for n in found), caption)


def _finding(n: int, item: Finding, places: Mapping[str, int]) -> tuple[str, ...]:
    where = page_text(item.object)
    if item.object in places:
        where = f'<a href="#w{places[item.object]}">{where}</a>'
    return (
        f'<span id="f{n}">{badge(item.severity, _LOOKS[item.severity])}</span>',
        f"{where}<br><code>{page_text(item.field)}</code>",
        *map(page_text, (item.is_, item.should, item.fix)),
    )


def _contents(review: Review) -> Iterator[str]:
    yield '<h2 id="contents">Workloads</h2>'
    if not review.workloads:
        yield "<p>There is no workload.</p>"
        return
    has_prices = review.waste.monthly is not None
    month = [Column(f"{review.currency} a month", "r")] if has_prices else []
    rows = (
        (
            badge(RISKS[item.risk], "bad") if item.risk else "",
            f'<a href="#w{n}">{page_text(f"{item.namespace}/{item.name}")}</a>',
            page_text(item.kind),
            _verdicts(item),
            _moves(item, "cpu"),
            _moves(item, "memory"),
            "" if item.tier is None else str(item.tier),
            str(item.replicas),
            cores(item.waste.cpu_millicores) if item.waste.cpu_millicores else "",
            gib(item.waste.memory_bytes) if item.waste.memory_bytes else "",
            *(money(item.waste.monthly or None) for _ in month),
        )
        for n, item in enumerate(review.workloads)
    )
    caption = (
        "What matters most comes first. Waste is what all pods request beyond the recommendation; "
        "below zero it is missing."
    )
    yield page_table((*_WORKLOADS, *month), rows, caption, name="workloads")


def _moves(workload: WorkloadReview, resource: Resource) -> str:
    """Request and limit of each container now, and what they should be where that is something else."""
    lines = []
    for item in workload.containers:
        now, then = write_pair(resource, item.now), write_pair(resource, item.recommended)
        name = f"{item.name}: " if len(workload.containers) > 1 else ""
        lines.append(page_text(name + (now if now == then else f"{now} → {then}")))
    return "<br>".join(lines)


def _ways(item: ContainerReview) -> str:
    """The verdict of a container; where its values go different ways, one for each resource."""
    found = verdicts(item)
    if not found:
        return badge(item.verdict, _LOOKS[item.verdict])
    return " ".join(
        badge(f"{'CPU' if resource == 'cpu' else 'memory'} {_WAYS.get(each, each)}", _LOOKS.get(each, "warn"))
        for resource, each in found.items()
    )


def _verdicts(workload: WorkloadReview) -> str:
    found = dict.fromkeys(map(_ways, workload.containers))
    marks = [
        label
        for label, holds in (
            ("provisional", any(item.is_provisional for item in workload.containers)),
            ("partial", any(map(is_partial, workload.containers))),
        )
        if holds
    ]
    return " ".join([*found, *(badge(mark, "warn") for mark in marks)])


def _heading(workload: WorkloadReview, n: int, called: str, currency: str) -> str:
    facts = [workload.kind, f"{workload.replicas} pod{'s' * (workload.replicas != 1)}"]
    if workload.tier is not None:
        facts.append(f"tier {workload.tier}")
    waste = workload.waste
    if waste.cpu_millicores or waste.memory_bytes:
        facts.append(f"beyond the recommendation: {write_waste(waste, currency)}")
    risk = badge(RISKS[workload.risk], "bad") if workload.risk else ""
    return (
        f'<section id="w{n}"><header><h3>{page_text(called)}</h3>{risk}<span class="soft">{page_text("; ".join(facts))}</span>'
        '<a href="#contents">all workloads</a></header>'
    )


def _container(
    review: Review,
    workload: WorkloadReview,
    item: ContainerReview,
    window: Window,
    about: Sequence[int],
) -> Iterator[str]:
    badges = [badge(RISKS[item.risk], "bad")] if item.risk else []
    badges.append(_ways(item))
    badges += [
        badge(label, look)
        for label, look, holds in (
            ("too little data: provisional", "warn", item.is_provisional),
            ("partial", "warn", is_partial(item)),
            ("sidecar", "", item.is_sidecar),
            (item.usage_class, "", True),
        )
        if holds
    ]
    badges += [badge(f"{name}: {amount}") for name, amount in item.others.items()]
    yield f"<article><header><h4>{page_text(item.name)}</h4>{''.join(badges)}</header>"
    yield '<div class="plots">'
    for resource in RESOURCES:
        yield plot(resource, item, window)
    yield "</div>"
    yield _numbers(workload, item, review.strategy)
    if about:
        links = ", ".join(f'<a href="#f{n}">{page_text(review.findings[n].rule)}</a>' for n in about)
        yield f"<p>Findings: {links}</p>"
    yield _why(item)
    yield "</article>"


def _numbers(workload: WorkloadReview, item: ContainerReview, strategy: str) -> str:
    found = chosen(item, strategy)
    waste = waste_of([item], workload.replicas, None)
    rows = []
    for resource in RESOURCES:
        bounds = [
            figure(resource, of(resource, each)) if each else NOTHING
            for each in (
                (found.lower_bound, found.target, found.upper_bound) if found else (None, None, None)
            )
        ]
        sizes = [
            write_pair(resource, each) for each in (item.now, item.recommended, item.vpa_rule, item.krr_rule)
        ]
        beyond = (
            f"{cores(waste.cpu_millicores)} cores" if resource == "cpu" else f"{gib(waste.memory_bytes)} GiB"
        )
        rows.append(("CPU" if resource == "cpu" else "Memory", *bounds, *sizes, beyond))
    return page_table(_NUMBERS, rows, has_names=True)


def _why(item: ContainerReview) -> str:
    steps = [[*map(page_text, (step.label, step.text, step.remark))] for step in item.steps]
    seen = _seen(item.evidence) if item.evidence else "There are no samples"
    table = page_table((Column(),) * 3, steps, has_names=True) if steps else ""
    return f"<details><summary>Why</summary><p>{page_text(seen)}</p>{table}</details>"


def _seen(evidence: Evidence) -> str:
    """What steps do not say of the samples."""
    parts = []
    if evidence.cpu_samples:
        parts.append(f"CPU p99 {evidence.cpu_p99}m, peak {evidence.cpu_peak}m")
    if evidence.memory_samples:
        parts.append(f"memory p99 {memory(evidence.memory_p99)}, peak {memory(evidence.memory_peak)}")
    parts += evidence.anomalies
    return "; ".join(parts) or f"From {evidence.origin}"


def _plain(table: Table) -> str:
    columns = [Column(cell.capitalize()) for cell in table.headings]
    return page_table(columns, ([*map(page_text, row)] for row in table.rows), page_text(table.title))
