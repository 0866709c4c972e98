"""An audit of tiers for people: tables on a terminal, and a page of markdown that a team can commit."""

from collections.abc import Iterable, Iterator, Mapping

from remuda.model.amount_texts import bytes_text, figure
from remuda.model.findings import count_severities
from remuda.model.times import write_instant
from remuda.output.causes import causes_table
from remuda.output.findings import findings_table, row_of
from remuda.output.show import Report, Table, shortened
from remuda.tiers.decide.audit import Audit
from remuda.tiers.show.document import namespace_rows, node_rows
from remuda.tiers.show.schema import EvictionRow, NamespaceRow, NodeRow
from remuda.tiers.snapshot import NAMESPACES, PODS, USAGE

#: what the tables do not say because of it
_UNREAD = {
    NAMESPACES: "which namespace has which tier is not known",
    PODS: "what runs, and who goes first, is not known",
}
_QUOTAS = (("requests.cpu", "cpu"), ("requests.memory", "memory"), ("pods", "pods"))
_QOS = ("Guaranteed", "Burstable", "BestEffort")


def report(audit: Audit, form: str, nodes: Iterable[str] = ()) -> Report:
    """Everything, for `table`, `markdown` or `csv`; of these nodes with all of the order of eviction."""
    rows = list(node_rows(audit))
    tables = [_namespaces(namespace_rows(audit)), _nodes(rows)]
    wanted = set(nodes)
    tables += [_order(row) for row in rows if row.name in wanted]
    is_page = form == "markdown"
    if not is_page:
        tables = list(map(shortened, tables))
    tables.append(findings_table(audit.findings, form, row_of) if is_page else causes_table(audit.findings))
    return Report(None, tuple(tables), tuple(_lines(audit, is_page=is_page)))


def _lines(audit: Audit, *, is_page: bool) -> Iterator[str]:
    between = [""] if is_page else []
    if is_page:
        yield "# Tiers"
        yield ""
    names = ", ".join(policy.name for policy in audit.policies)
    source = f", read from {audit.snapshot.source}" if audit.snapshot.source else ""
    yield f"Audit of tiers at {write_instant(audit.now)} by TierPolicy {names}{source}"
    yield from between
    found = count_severities(audit.findings)
    yield ", ".join(
        f"{number} {severity}" + ("s" if number != 1 and severity != "info" else "")
        for severity, number in found.items()
    )
    for part, so_that in _UNREAD.items():
        if audit.snapshot.is_unknown(part):
            yield from between
            yield f"{part} were not read: {so_that}"
    usage = next((item for item in audit.snapshot.unknown if item.part == USAGE), None)
    if usage is not None and audit.nodes:
        yield from between
        yield f"what pods use was not read, so the order of eviction is by priority alone: {usage.why}"


def _namespaces(rows: Iterable[NamespaceRow]) -> Table:
    headings = ("NAMESPACE", "TIER", "BY", "PODS", "CPU", "MEMORY GiB", "PODS OF QUOTA", "QOS")
    made = [
        (
            row.name,
            row.tier or "-",
            row.problem or row.origin or "-",
            str(row.pods),
            *(_of_quota(row, resource, unit) for resource, unit in _QUOTAS),
            qos_text(row.qos) or "-",
        )
        for row in rows
    ]
    return Table(headings, tuple(made), "Namespaces by tier", "no namespace is of a policy", is_list=True)


def qos_text(counts: Mapping[str, int]) -> str:
    """How many pods have which quality of service."""
    return ", ".join(f"{counts[name]} {name}" for name in _QOS if name in counts)


def _of_quota(row: NamespaceRow, resource: str, unit: str) -> str:
    """What is used of the tightest quota on a resource."""
    found = [each for each in row.quotas if each.resource in {resource, unit}]
    tight = min(found, key=lambda each: each.hard - each.used, default=None)
    return "-" if tight is None else f"{figure(unit, tight.used)} / {figure(unit, tight.hard)}"


def _nodes(rows: Iterable[NodeRow]) -> Table:
    headings = (
        "NODE",
        "PODS",
        "MEMORY GiB",
        "REQUESTED",
        "LIMITS",
        "LIMITS %",
        "WITHOUT LIMIT",
        "FIRST TO GO",
    )
    made = [
        (
            row.name,
            str(row.pods),
            figure("memory", row.allocatable_bytes),
            figure("memory", row.requested_bytes),
            figure("memory", row.limit_bytes),
            f"{100 * row.limit_bytes / row.allocatable_bytes:.0f}" if row.allocatable_bytes else "-",
            str(row.unlimited_pods),
            row.eviction[0].pod if row.eviction else "-",
        )
        for row in rows
    ]
    return Table(headings, tuple(made), "Memory of nodes", "no node was read")


def _order(row: NodeRow) -> Table:
    headings = ("PLACE", "POD", "TIER", "PRIORITY", "USES", "REQUESTS", "ABOVE", "QOS")
    made = [
        (
            str(place),
            each.pod,
            each.tier or "-",
            f"{each.priority}",
            "?" if each.used_bytes is None else bytes_text(each.used_bytes),
            bytes_text(each.request_bytes),
            above_text(each),
            each.qos,
        )
        for place, each in enumerate(row.eviction, 1)
    ]
    return Table(headings, tuple(made), f"Order of eviction on {row.name}", "nothing there is ever evicted")


def above_text(each: EvictionRow) -> str:
    """How a pod's use compares with its request."""
    if each.above_bytes is None:
        return "not measured"
    return bytes_text(each.above_bytes) if each.above_bytes > 0 else "within"
