"""An audit for people: tables on a terminal, and a page of markdown that a team can commit."""

from collections.abc import Iterable, Iterator

from remuda.capacity.decide.audit import Audit, LabelAudit
from remuda.capacity.decide.label import UNBOUNDED, LabelContext, Role, count
from remuda.capacity.show.document import set_names
from remuda.capacity.snapshot import EPHEMERAL, NODES, PODS, SCALE_SETS, Amounts, Node, ScaleSet, Usage
from remuda.model.amount_texts import figure
from remuda.model.findings import count_severities
from remuda.model.pods import Toleration
from remuda.model.sentences import some
from remuda.model.times import write_instant
from remuda.output.findings import findings_table, row_of
from remuda.output.show import MOST_ROWS, Report, Table, shortened

#: so many nodes of one reason are listed one by one
_MOST_ALIKE = 10
#: so many envelopes are listed for a node
_MOST_FITTING = 5
_AMOUNTS = ("CPU", "MEMORY GiB", "EPHEMERAL GiB")
#: what the tables do not say because of it
_UNREAD = {
    SCALE_SETS: "who carries the label, and what it comes to, is not known",
    NODES: "whether anything fits is not known",
    PODS: "what fits on a node is computed as if nothing ran there",
}


def report(audit: Audit, form: str) -> Report:
    """Everything, for `table` or `markdown`."""
    tables = [_sets(audit), _labels(audit)]
    tables += [
        _owners(label)
        for label, context in zip(audit.labels, audit.contexts, strict=True)
        if context.policy and context.policy.owners
    ]
    tables += [_nodes(audit, context) for context in audit.contexts if context.ground.nodes]
    tables.append(findings_table(audit.findings, form, row_of))
    return Report(None, tuple(tables), tuple(_lines(audit, form)))


def _lines(audit: Audit, form: str) -> Iterator[str]:
    names = some((label.name for label in audit.labels), 5) or "no label"
    if form == "markdown":
        yield f"# Capacity of {names}"
        yield ""
    at = write_instant(audit.now)
    yield f"Audit of {names} at {at}" + (
        f", read from {audit.snapshot.source}" if audit.snapshot.source else ""
    )
    if form == "markdown":
        yield ""
    found = count_severities(audit.findings)
    yield ", ".join(f"{number} {severity}" + ("s" if number != 1 and severity != "info" else "") for severity, number in found.items())  # fmt: skip
    unread = {item.part for item in audit.snapshot.unknown if not item.is_absent}
    for part, so_that in _UNREAD.items():
        if part in unread:
            if form == "markdown":
                yield ""
            yield f"{part} were not read: {so_that}"


def _pair(name: str, requests: Amounts | None, limits: Amounts | None) -> str:
    """A request and a limit."""
    if requests is None or limits is None:
        return f"{UNBOUNDED} / {UNBOUNDED}"
    return f"{figure(name, requests.get(name))} / {figure(name, limits.get(name))}"


def _sets(audit: Audit) -> Table:
    running: dict[str, int] = {}
    for context in audit.contexts:
        running |= context.running or {}
    is_known = not audit.snapshot.is_unknown(PODS)
    rows = [
        _set_row(scale_set, str(running.get(scale_set.id, 0)) if is_known else "?")
        for scale_set in audit.scale_sets
    ]
    headings = ("SET", "LABELS", "SCOPE", "SELECTOR", "TOLERATES", "MIN", "MAX", *_AMOUNTS, "RUNNING")
    is_read = all(label.is_known for label in audit.labels)
    note = "no set carries the label" if is_read else "scale sets were not read"
    return _table(headings, rows, "Sets (requests / limits of a runner)", note)


def _set_row(scale_set: ScaleSet, running: str) -> tuple[str, ...]:
    return (
        scale_set.id,
        some(scale_set.labels),
        scale_set.scope or "-",
        some((f"{key}={value}" for key, value in sorted(scale_set.node_selector.items())), 5) or "-",
        some(map(_toleration, scale_set.tolerations), 5) or "-",
        str(scale_set.min),
        count(scale_set.max),
        *(_pair(name, scale_set.requests, scale_set.limits) for name in ("cpu", "memory", EPHEMERAL)),
        running,
    )


def _toleration(item: Toleration) -> str:
    key = item.key or "everything"
    value = f"={item.value}" if item.value else ""
    return f"{key}{value}" + (f":{item.effect}" if item.effect else "")


def _labels(audit: Audit) -> Table:
    headings = ("LABEL", "SETS", "MAX", "CEILING", "RUNNING", *_AMOUNTS, "AT MAXIMUM")
    rows = [
        (
            label.name,
            str(sum(scale_set.max != 0 for scale_set in label.scale_sets)) if label.is_known else "?",
            count(label.max) if label.is_known else "?",
            "-" if label.ceiling is None else str(label.ceiling),
            "?" if label.running is None else str(label.running),
            *(
                _pair(name, label.requests, label.limits) if label.is_known else "?"
                for name in ("cpu", "memory", EPHEMERAL)
            ),
            label.placement,
        )
        for label in audit.labels
    ]
    return _table(headings, rows, "Labels (requests / limits of all sets at their maximum)", "no label")


def _owners(label: LabelAudit) -> Table:
    rows = [
        (
            owner.name,
            some(owner.lanes) or "-",
            str(owner.guaranteed),
            str(owner.priority),
            str(owner.weight),
            "?" if owner.running is None else str(owner.running),
            str(owner.wants),
            str(owner.share),
        )
        for owner in label.owners
    ]
    headings = ("OWNER", "SETS", "GUARANTEED", "PRIORITY", "WEIGHT", "RUNNING", "WANTS", "WOULD GET")
    return _table(headings, rows, f"Owners of {label.name}, if everybody used all they may", "")


def _nodes(audit: Audit, context: LabelContext) -> Table:
    """Nodes that matter one by one, and those that take nothing for one reason together."""
    alike: dict[Role, list[int]] = {}
    for index, role in enumerate(context.roles):
        alike.setdefault(role, []).append(index)
    names = set_names(audit.scale_sets)
    rows: list[tuple[str, ...]] = []
    for index, role in enumerate(context.roles):
        if len(rows) > MOST_ROWS:
            break
        if role.admitted or len(alike[role]) <= _MOST_ALIKE:
            rows.append(_node_row(audit, context, index, names))
    for role, indices in alike.items():
        if not role.admitted and len(indices) > _MOST_ALIKE:
            message = f"{len(indices):,} nodes: {some(context.ground.nodes[index].name for index in indices)}"
            rows.append((message, role.role, "no", *["-"] * 7, role.reason))
    headings = ("NODE", "ROLE", "ADMITTED", "CAPABILITY", "TAINTS", *_AMOUNTS, "PODS", "FITS", "WHY")
    beside = "allocatable" if audit.snapshot.is_unknown(PODS) else "requested of allocatable"
    marks = "! where limits over-commit the node"
    if any(scale_set.unsure for scale_set in context.scale_sets):
        marks += ", ? where more than resources decides"
    return _table(headings, rows, f"Nodes for {context.label} ({beside}; {marks})", "")


def _node_row(
    audit: Audit, context: LabelContext, index: int, names: dict[tuple[str, str], str]
) -> tuple[str, ...]:
    node, role = context.ground.nodes[index], context.roles[index]
    used = None if audit.snapshot.is_unknown(PODS) else audit.snapshot.usage.get(node.name, Usage())
    return (
        node.name,
        role.role,
        "yes" if role.admitted else "no",
        some((f"{key}={node.labels[key]}" for key in _keys(context) if key in node.labels), 5) or "-",
        some(map(str, node.taints), 5) or "-",
        *(_taken(name, node, used) for name in ("cpu", "memory", EPHEMERAL, "pods")),
        _fits(context, index, names),
        role.reason,
    )


def _keys(context: LabelContext) -> list[str]:
    selected = {key for alike in context.alike for key, _ in alike.shape.placement.selector}
    return sorted(selected | {str(key) for key in (context.policy.nodes.primary if context.policy else ())})


def _taken(name: str, node: Node, used: Usage | None) -> str:
    whole = figure(name, node.allocatable.get(name))
    return whole if used is None else f"{figure(name, used.requested.get(name, 0))} of {whole}"


def _fits(context: LabelContext, index: int, names: dict[tuple[str, str], str]) -> str:
    """How many of each envelope fit: sets that fit alike together, by the first of them."""
    here = [alike for alike in context.alike if index in alike.fits]
    fitting = []
    for alike in here[:_MOST_FITTING]:
        first, *more = alike.scale_sets
        beyond = context.overcommitted(alike, index)
        who = names[first.kind, first.id] + (f" and {len(more)} like it" if more else "")
        marks = ("!" if beyond else "") + (
            "?" if any(scale_set.unsure for scale_set in alike.scale_sets) else ""
        )
        fitting.append(f"{who} {alike.fits[index]}{marks}")
    rest = len(here) - len(fitting)
    return ", ".join(fitting) + (f" and {rest} more" if rest else "") or "-"


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]], title: str, note: str) -> Table:
    return shortened(Table(headings, tuple(rows), title, note))
