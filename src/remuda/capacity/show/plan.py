"""A plan for people and for programs: what would change, where runners would be, and what it would break."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import to_builtins

from remuda.capacity.answers import Planned, PlanTable
from remuda.capacity.decide.findings_placing import bound_text
from remuda.capacity.decide.label import count
from remuda.capacity.decide.plan import LabelPlan, Placed, Plan, Side
from remuda.capacity.show.document import finding_row, quantities
from remuda.capacity.snapshot import RESOURCES
from remuda.model.amount_texts import figure
from remuda.model.findings import Finding, count_severities
from remuda.model.sentences import some
from remuda.model.times import write_instant
from remuda.output.findings import describe
from remuda.output.show import Report, Table, shortened

SCHEMA = "remuda.dev/capacity-plan/v1"
_WORDS = {"cpu": "CPU", "memory": "memory GiB", "ephemeral-storage": "ephemeral GiB"}


def planned(plan: Plan, audit: int = 0) -> Planned:
    """What a plan says, for people and for programs; `audit` is the kept one that it was made on."""
    tables = (*map(_compared, plan.labels), _findings(plan), *map(_placed, plan.labels))
    return Planned(
        verdict=_verdict(plan),
        changes=tuple(change.written for change in plan.changes),
        breaks=tuple(map(_broken, plan.breaks)),
        notes=plan.notes,
        labels=tuple(item.name for item in plan.labels),
        tables=tuple(PlanTable(each.title, each.headings, each.rows, each.note) for each in tables),
        is_absent=any(
            item.rule == "label-not-found" and item.severity == "error" for item in plan.after.findings
        ),
        document=to_builtins(data(plan)),
        audit=audit,
    )


def report(plan: Plan, form: str) -> Report:
    """Everything, in any form."""
    return report_of(planned(plan), form)


def report_of(made: Planned, form: str) -> Report:
    """The same of what somebody else planned."""
    if form in {"json", "yaml"}:
        return Report(made.document)
    tables = tuple(Table(each.headings, each.rows, each.title, each.note) for each in made.tables)
    return Report(None, tables, tuple(_lines(made, form)))


def _lines(made: Planned, form: str) -> Iterator[str]:
    between = [""] if form == "markdown" else []
    if form == "markdown":
        yield f"# What if: {some(made.labels, 5) or 'no label'}"
        yield ""
    for change in made.changes:
        yield f"- `{change}`" if form == "markdown" else change
    yield from between
    yield made.verdict
    for words in made.breaks:
        yield from between
        yield f"breaks: {words}"
    for note in made.notes:
        yield from between
        yield f"note: {note}"


def _broken(item: Finding | str) -> str:
    if isinstance(item, str):
        return item
    found, expected, _ = describe(item)
    return f"{item.rule}: {item.subject}: {found}; expected {expected}"


def _verdict(plan: Plan) -> str:
    if plan.breaks:
        number = len(plan.breaks)
        return f"This would break the policy in {number} {'way' if number == 1 else 'ways'}."
    if not plan.changes:
        return "Nothing is changed: this is how it is now."
    left = sum(item.severity == "error" for item in plan.after.findings)
    if left:
        return f"This breaks nothing that holds now; {left} {'error' if left == 1 else 'errors'} would stay."
    return "This breaks nothing."


def _compared(item: LabelPlan) -> Table:
    rows = []
    for what, write in _ASPECTS.items():
        before, after = write(item.before), write(item.after)
        rows.append((what, before, after, "" if before == after else "*"))
    return Table(("", "BEFORE", "AFTER", "CHANGED"), tuple(rows), f"Label {item.name}")


def _total(resource: str, kind: str) -> Callable[[Side], str]:
    def write(side: Side) -> str:
        amounts = side.label.requests if kind == "requests" else side.label.limits
        if not side.label.is_known:
            return "?"
        return count(None) if amounts is None else figure(resource, amounts.get(resource, 0))

    return write


def worst_text(side: Side) -> str:
    """Whether the worst moment fits."""
    found = side.worst
    if found is None:
        return "unknown: nodes were not read"
    number = sum(found.mix.values())
    who = f"{number} {'runner' if number == 1 else 'runners'}"
    if found.outcome == "fits":
        return f"{who}: cannot tell, resources fit" if side.label.unsure else f"{who}: fits"
    if found.outcome == "cannot fit":
        return f"{who}: cannot fit"
    left = sum(found.packing.left.values())
    if left:
        return f"{who}: no placement found for {left}"
    return f"{who}: fits, but not every mix is shown to"


def safe_text(side: Side) -> str:
    """The highest safe ceiling, and how sure that is."""
    found = side.safe
    if found is None:
        return "unknown: nodes were not read"
    alone = ", by resources alone" if side.label.unsure else ""
    if found.is_all:
        return f"{found.number}, proven: all maxima together fit{alone}"
    how = "proven" if found.is_proven else "found: a higher one may be safe"
    return f"{found.number}, {how}{alone}"


def _first_text(side: Side) -> str:
    resource = side.runs_out
    if not resource or side.worst is None:
        return "-"
    part = side.worst.taken.get(resource)
    return resource if part is None else f"{resource}: {min(part, 99.99):.0%} of what is free"


_ASPECTS: dict[str, Callable[[Side], str]] = {
    "ceiling": lambda side: "-" if side.label.ceiling is None else str(side.label.ceiling),
    "sets": lambda side: (
        str(sum(scale_set.max != 0 for scale_set in side.label.scale_sets)) if side.label.is_known else "?"
    ),
    "maxima together": lambda side: count(side.label.max) if side.label.is_known else "?",
    **{f"requests at maximum, {_WORDS[name]}": _total(name, "requests") for name in RESOURCES},
    **{f"limits at maximum, {_WORDS[name]}": _total(name, "limits") for name in RESOURCES},
    "nodes admitted": lambda side: str(side.nodes),
    "worst moment": worst_text,
    "runs out first": _first_text,
    "highest safe ceiling": safe_text,
}


def _findings(plan: Plan) -> Table:
    rows: list[tuple[str, ...]] = []
    for what, items in (("appears", plan.appeared), ("goes", plan.gone)):
        for item in items:
            rows += _finding(what, item)
    for each in plan.altered:
        rows += _finding("changes", each.after, f"{describe(each.before).found} → ")
    return shortened(
        Table(
            ("CHANGE", "SEVERITY", "RULE", "WHERE"), tuple(rows), "Findings that change", "no finding changes"
        )
    )


def _finding(what: str, item: Finding, before: str = "") -> Iterator[tuple[str, ...]]:
    found, expected, fix = describe(item)
    yield what, item.severity, item.rule, " ".join(part for part in (item.subject, item.field) if part)
    yield "", "", "found", before + found
    if what != "goes":
        yield "", "", "expected", expected
        yield "", "", "fix", fix


def _placed(item: LabelPlan) -> Table:
    side = item.after
    found = side.worst
    rows = [
        (place.node, _counts_text(place.runners), *(figure(name, place.left.get(name)) for name in RESOURCES))
        for place in side.placed
    ]
    headings = ("NODE", "RUNNERS", "CPU LEFT", "MEMORY GiB LEFT", "EPHEMERAL GiB LEFT")
    title = f"The worst moment of {item.name} after the change"
    if found is None:
        return Table(headings, (), title, "nodes were not read")
    if found.packing.left:
        rows.append(("on no node", _counts_text(found.packing.left), "", "", ""))
    if found.packing.bound is not None:
        title += f": {bound_text(found.packing.bound)}"
    return shortened(Table(headings, tuple(rows), title, "no runner"))


def _counts_text(counts: Mapping[str, int]) -> str:
    return some((f"{name} ×{number}" for name, number in sorted(counts.items())), 8)


def data(plan: Plan) -> dict[str, Any]:
    """The plan as a program reads it."""
    return {
        "schema": SCHEMA,
        "at": write_instant(plan.after.now),
        "source": plan.after.snapshot.source,
        "changes": [change.written for change in plan.changes],
        "breaks": [_broken(item) for item in plan.breaks],
        "notes": list(plan.notes),
        "labels": [
            {"name": item.name, "before": _side(item.before), "after": _side(item.after)}
            for item in plan.labels
        ],
        "findings": {
            "appeared": [finding_row(item) for item in plan.appeared],
            "gone": [finding_row(item) for item in plan.gone],
            "changed": [
                {"before": finding_row(each.before), "after": finding_row(each.after)}
                for each in plan.altered
            ],
            "before": count_severities(plan.before.findings),
            "after": count_severities(plan.after.findings),
        },
    }


def _side(side: Side) -> dict[str, Any]:
    found, label = side.worst, side.label
    return {
        "ceiling": label.ceiling,
        "activeSets": sum(scale_set.max != 0 for scale_set in label.scale_sets),
        "aggregate": {
            "max": label.max,
            "requests": quantities(_whole(label.requests)),
            "limits": quantities(_whole(label.limits)),
        },
        "admittedNodes": side.nodes,
        "worst": None
        if found is None
        else {
            "outcome": "cannot tell" if found.outcome == "fits" and label.unsure else found.outcome,
            "runners": sum(found.mix.values()),
            "mix": {name: number for name, number in sorted(found.mix.items()) if number},
            "placement": [_place(place) for place in side.placed],
            "left": dict(found.packing.left),
            "bound": to_builtins(found.packing.bound),
            "taken": {name: round(part, 4) for name, part in found.taken.items()},
        },
        "runsOutFirst": side.runs_out or None,
        "safeCeiling": None
        if side.safe is None
        else {
            "number": side.safe.number,
            "proven": side.safe.is_proven,
            "allMaxima": side.safe.is_all,
            "resourcesAlone": bool(label.unsure),
        },
    }


def _whole(amounts: Mapping[str, int] | None) -> dict[str, int] | None:
    return None if amounts is None else dict.fromkeys(RESOURCES, 0) | dict(amounts)


def _place(place: Placed) -> dict[str, Any]:
    left = {name: value for name, value in place.left.items() if not name.startswith("limits of ")}
    return {"node": place.node, "runners": place.runners, "left": quantities(left)}
