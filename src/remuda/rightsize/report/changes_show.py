"""What changed since the last review, as tables: risks first, then what was followed, then what is said otherwise."""

from collections.abc import Iterable, Iterator

from remuda.model.times import write_instant
from remuda.output.moments import age
from remuda.output.show import Table, shortened
from remuda.rightsize.report.compare import Changes, Field, Heard, Moved, Place
from remuda.rightsize.report.figures import RISKS, Resource, figure, write_pair, write_waste

_OUTCOMES = {
    "followed": "followed",
    "in part": "in part",
    "otherwise": "changed otherwise",
    "not": "not followed",
}


def change_tables(changes: Changes, currency: str) -> Iterator[Table]:
    """A table for each kind of change that there is; the first always."""
    title = f"Since the last review at {write_instant(changes.before)}, {age(changes.after - changes.before)} before"
    yield Table(("WHAT", "HOW MUCH"), tuple(change_counts(changes, currency)), title)
    rows = [
        (describe_place(item.place), RISKS[item.before] or "none", RISKS[item.after] or "none")
        for item in changes.risks
    ]
    yield from _some(("CONTAINER", "RISK BEFORE", "RISK NOW"), rows, "Risks that changed")
    heard = [row for item in changes.heard for row in _heard_rows(item)]
    yield from _some(
        ("CONTAINER", "OUTCOME", "OF", "THEN", "RECOMMENDED", "NOW"), heard, "Recommendations of then"
    )
    moved = [
        (describe_place(item.place), item.field, *moved_figures(item), describe_move(item))
        for item in changes.moved
    ]
    yield from _some(("CONTAINER", "FIELD", "BEFORE", "AFTER", "BY"), moved, "Recommendations that changed")
    for title, places in (("New", changes.new), ("Gone, or not asked for", changes.gone)):
        yield from _some(("CONTAINER",), [(describe_place(place),) for place in places], title)
    for title, findings in (
        ("Findings that appeared", changes.appeared),
        ("Findings that are gone", changes.solved),
    ):
        found = [
            (item.severity, item.rule, f"{item.object} {item.field}".rstrip(), item.is_) for item in findings
        ]
        yield from _some(("SEVERITY", "RULE", "WHERE", "IS"), found, title)


def change_counts(changes: Changes, currency: str) -> Iterator[tuple[str, str]]:
    """What there is of each, with the notes."""
    outcomes = {
        word: sum(item.outcome == outcome for item in changes.heard) for outcome, word in _OUTCOMES.items()
    }
    heard = ", ".join(f"{count} {word}" for word, count in outcomes.items() if count)
    yield "recommendations of then", heard or "there were none to follow"
    changed = len({item.place for item in changes.moved})
    yield "recommendations now", f"{changed} changed, {len(changes.new)} new, {len(changes.gone)} gone"
    came = sum(bool(item.after) for item in changes.risks)
    yield "risks", f"{came} appeared or changed, {len(changes.risks) - came} gone"
    yield "findings", f"{len(changes.appeared)} appeared, {len(changes.solved)} gone"
    yield "waste before", write_waste(changes.waste_before, currency)
    yield "waste now", write_waste(changes.waste_after, currency)
    for note in changes.notes:
        yield "note", note


def describe_place(place: Place) -> str:
    """`Deployment shop/checkout app`."""
    return f"{place.kind} {place.namespace}/{place.name} {place.container}"


def outcome_of(item: Heard) -> str:
    """What became of a recommendation, in words."""
    return _OUTCOMES[item.outcome]


def moved_figures(item: Moved) -> tuple[str, str]:
    """Both amounts."""
    resource = _resource(item.field)
    return figure(resource, item.before), figure(resource, item.after)


def describe_move(item: Moved) -> str:
    """`+12 %`; nothing where there was none, or is none."""
    if not item.before or item.after is None:
        return ""
    return f"{(item.after - item.before) / item.before:+.0%}".replace("%", " %").replace("-", "−")


def _heard_rows(item: Heard) -> Iterator[tuple[str, ...]]:
    for n, resource in enumerate(("memory", "cpu")):
        yield (
            describe_place(item.place) if n == 0 else "",
            outcome_of(item) if n == 0 else "",
            resource,
            *(write_pair(_resource(resource), size) for size in (item.then, item.recommended, item.now)),
        )


def _resource(field: Field | str) -> Resource:
    return "cpu" if field.endswith("cpu") else "memory"


def _some(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]], title: str) -> Iterator[Table]:
    """A table, cut where it is too long; none without rows."""
    found = tuple(rows)
    if not found:
        return
    yield shortened(Table(headings, found, title))
