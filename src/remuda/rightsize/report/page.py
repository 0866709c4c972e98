"""
A review as one HTML file: a summary, all workloads, what was found by its cause, and the use of each against what it asks for.

The page loads nothing from anywhere, which its own policy forbids, too, and is whole without scripts.
"""

from collections.abc import Iterable, Iterator, Sequence

from remuda.model.amount_texts import gib
from remuda.model.times import SECOND, write_instant
from remuda.output.pages import page_head, page_text
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
from remuda.rightsize.review import ContainerReview, Review, WorkloadReview

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
        yield _table(first)
        if more:
            yield f"<details><summary>Which ones</summary>{''.join(map(_table, more))}</details>"
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


def _badge(text: str, look: str = "") -> str:
    return f'<span class="tag{" " if look else ""}{look}">{page_text(text)}</span>'


def _summary(review: Review, containers: int) -> Iterator[str]:
    yield (
        f'<p class="soft">Reviewed at {write_instant(review.at)}, by the rule {page_text(review.strategy)}; use is from '
        f"{page_text(describe_usage(review))}. Times are UTC.</p>"
    )
    if review.is_partial:
        yield f"<p>{_badge('partial', 'warn')} A part could not be read: what is missing is among the findings.</p>"
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
    for rule, found in causes.items():
        yield (
            f'<div class="wide"><table><caption><b>{page_text(rule)}</b> {page_text(RULES.get(rule, ""))}</caption><thead><tr>'
            "<th>Severity</th><th>Where</th><th>Is</th><th>Should be</th><th>Fix</th></tr></thead><tbody>"
        )
        for n in found:
            item = review.findings[n]
            place = places.get(item.object)
            where = (
                page_text(item.object)
                if place is None
                else f'<a href="#w{place}">{page_text(item.object)}</a>'
            )
            yield (
                f'<tr id="f{n}"><td>{_badge(item.severity, _LOOKS[item.severity])}</td>'
                f'<td class="w">{where}<br><code>{page_text(item.field)}</code></td><td class="w">{page_text(item.is_)}</td>'
                f'<td>{page_text(item.should)}</td><td class="w">{page_text(item.fix)}</td></tr>'
            )
        yield "</tbody></table></div>"


def _contents(review: Review) -> Iterator[str]:
    yield '<h2 id="contents">Workloads</h2>'
    if not review.workloads:
        yield "<p>There is no workload.</p>"
        return
    has_prices = review.waste.monthly is not None
    month = f'<th class="r">{page_text(review.currency)} a month</th>' if has_prices else ""
    yield (
        '<div class="wide"><table id="workloads"><caption>What matters most comes first. Waste is what all pods request beyond '
        "the recommendation; below zero it is missing.</caption><thead><tr><th>Risk</th><th>Workload</th><th>Kind</th>"
        "<th>Verdict</th><th>CPU now → advised</th><th>Memory now → advised</th>"
        f'<th class="r">Tier</th><th class="r">Pods</th><th class="r">Cores</th><th class="r">GiB</th>{month}'
        "</tr></thead><tbody>"
    )
    for n, item in enumerate(review.workloads):
        waste = item.waste
        cost = f'<td class="r">{money(waste.monthly or None)}</td>' if has_prices else ""
        yield (
            f"<tr><td>{_badge(RISKS[item.risk], 'bad') if item.risk else ''}</td>"
            f'<td><a href="#w{n}">{page_text(f"{item.namespace}/{item.name}")}</a></td><td>{page_text(item.kind)}</td>'
            f'<td>{_verdicts(item)}</td><td class="s">{_moves(item, "cpu")}</td><td class="s">{_moves(item, "memory")}</td>'
            f'<td class="r">{"" if item.tier is None else item.tier}</td><td class="r">{item.replicas}</td>'
            f'<td class="r">{cores(waste.cpu_millicores) if waste.cpu_millicores else ""}</td>'
            f'<td class="r">{gib(waste.memory_bytes) if waste.memory_bytes else ""}</td>{cost}</tr>'
        )
    yield "</tbody></table></div>"


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
        return _badge(item.verdict, _LOOKS[item.verdict])
    return " ".join(
        _badge(
            f"{'CPU' if resource == 'cpu' else 'memory'} {_WAYS.get(each, each)}", _LOOKS.get(each, "warn")
        )
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
    return " ".join([*found, *(_badge(mark, "warn") for mark in marks)])


def _heading(workload: WorkloadReview, n: int, called: str, currency: str) -> str:
    facts = [workload.kind, f"{workload.replicas} pod{'s' * (workload.replicas != 1)}"]
    if workload.tier is not None:
        facts.append(f"tier {workload.tier}")
    waste = workload.waste
    if waste.cpu_millicores or waste.memory_bytes:
        facts.append(f"beyond the recommendation: {write_waste(waste, currency)}")
    risk = _badge(RISKS[workload.risk], "bad") if workload.risk else ""
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
    badges = [_badge(RISKS[item.risk], "bad")] if item.risk else []
    badges.append(_ways(item))
    badges += [
        _badge(label, look)
        for label, look, holds in (
            ("too little data: provisional", "warn", item.is_provisional),
            ("partial", "warn", is_partial(item)),
            ("sidecar", "", item.is_sidecar),
            (item.usage_class, "", True),
        )
        if holds
    ]
    badges += [_badge(f"{name}: {amount}") for name, amount in item.others.items()]
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
        cells = "".join(f"<td>{cell}" for cell in (*bounds, *sizes, beyond))
        rows.append(f"<tr><th>{'CPU' if resource == 'cpu' else 'Memory'}{cells}")
    return (
        '<div class="wide"><table><thead><tr><th>Request / limit<th>Lower bound<th>Target<th>Upper bound<th>Now<th>Should be'
        f"<th>VPA rule<th>KRR rule<th>Waste</thead><tbody>{''.join(rows)}</table></div>"
    )


def _why(item: ContainerReview) -> str:
    steps = "".join(
        f"<tr><th>{page_text(step.label)}<td>{page_text(step.text)}<td>{page_text(step.remark)}"
        for step in item.steps
    )
    seen = _seen(item.evidence) if item.evidence else "There are no samples"
    table = f"<table><tbody>{steps}</table>" if steps else ""
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


def _table(table: Table) -> str:
    head = "".join(f"<th>{page_text(cell.capitalize())}</th>" for cell in table.headings)
    return (
        f'<div class="wide"><table><caption>{page_text(table.title)}</caption><thead><tr>{head}</tr></thead><tbody>'
        f"{''.join(map(_row, table.rows))}</tbody></table></div>"
    )


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{page_text(cell)}</td>' for cell in cells)}</tr>"
