"""One need from its record, field by field."""

from remuda.fleet.observe.contradictions import contradiction
from remuda.fleet.observe.fields import Record
from remuda.fleet.rows import NeedRequirement
from remuda.fleet.scalars import read_moment, shown
from remuda.model.labels import Operator, Requirement
from remuda.model.shapes import HIGHEST_AMOUNT
from remuda.model.times import Instant
from remuda.model.units import FleetNeed, Separation, Spread, Unsatisfiable
from remuda.objects.problems import child_path

#: The highest sum of a resource that a need may ask for, a thousand times what one machine may have.
HIGHEST_TOTAL = HIGHEST_AMOUNT * 1_024


def need_of(record: Record, cluster: str, now: Instant) -> FleetNeed:
    """The need that a record describes; worth nothing when the record is refused."""
    has_total = "total" in record.fields
    need = FleetNeed(
        cluster=cluster,
        name=record.take("name", ""),
        unit=record.amounts("unit", up=True),
        count=None if has_total else record.take("count", 1),
        total=record.amounts("total", up=True, most=HIGHEST_TOTAL) if has_total else {},
        requirements=_requirements(record),
        priority=record.take("priority", 0),
        arrival=record.take("arrival", 0, lambda value: read_moment(value, now)),
        same=record.take("same", ""),
        spread=_spread(record),
        separation=_separation(record),
        interruption_penalty=record.take("interruptionPenalty", 0),
        reclamation_penalty=record.take("reclamationPenalty", 0),
    )
    if record.is_good("count", "unit", "total"):
        _check_size(record, need)
    return need


def _check_size(record: Record, need: FleetNeed) -> None:
    """A need asks for something, in one way."""
    if need.count is None and "count" in record.fields:
        record.flaw("count", "is there beside total: a need has one of the two")
    if not need.unit:
        words = (
            "is required: what the largest unit uses"
            if need.count is None
            else "is required: what a unit uses"
        )
        record.flaw("unit", f"{words}, like {{cpu: 4, memory: 16Gi}}")
    elif need.count is None:
        _report_ignored(record, need)
        if not need.total:
            record.flaw("total", "is nothing: write the sum, like {cpu: 400, memory: 1600Gi}")
        for resource, used in need.unit.items():
            if need.total and need.total.get(resource, 0) < used:
                words = "is less than the largest unit uses of it"
                record.flaw(child_path("total", resource), words)


def _report_ignored(record: Record, need: FleetNeed) -> None:
    """A sum has no units to lay out, so what is asked of their layout is not kept, and that is noted."""
    words = "is not kept: a need that is a total has no units to count; write a count"
    if need.spread is not None:
        record.flaw("topologySpread", words, refused=False)
    if need.separation is not None and need.separation.key:
        record.flaw("separation.key", words, refused=False)


def _requirements(record: Record) -> tuple[Requirement, ...]:
    source = record.fields.get("requirements")
    if source is None:
        return record.take("requirements", ())
    if not isinstance(source, list | tuple):
        record.flaw("requirements", f"wants a list, found {shown(source)}")
        return ()
    found = [_requirement(record, number, each) for number, each in enumerate(source)]
    good = [requirement for requirement in found if requirement is not None]
    clash = contradiction(good)
    if clash and len(good) == len(found):
        words = " and ".join(str(good[place]) for place in clash)
        record.flaw(f"requirements[{clash[-1]}]", f"contradicts another: no machine can meet {words}")
    return tuple(good)


def _requirement(record: Record, number: int, source: object) -> Requirement | None:
    before = len(record.flaws)
    part = record.part(source, NeedRequirement, f"requirements[{number}]")
    key = part.take("key", "")
    operator = part.take("operator", Operator.EXISTS)
    values: tuple[str, ...] = part.take("values", (), _values)
    if len(record.flaws) > before:
        return None
    try:
        return Requirement(key, operator, values)
    except ValueError as error:
        part.flaw("values", str(error))
        return None


def _values(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"wants a list of texts, found {shown(value)}")  # noqa: TRY004
    for each in value:
        if not isinstance(each, str):
            raise ValueError(f"wants a list of texts, found {shown(each)} in it: put it in quotes")  # noqa: TRY004
    return tuple(value)


def _spread(record: Record) -> Spread | None:
    part = record.below("topologySpread")
    if part is None:
        return None
    return Spread(
        part.take("key", ""),
        part.take("maxSkew", 1),
        part.take("whenUnsatisfiable", Unsatisfiable.DO_NOT_SCHEDULE),
    )


def _separation(record: Record) -> Separation | None:
    part = record.below("separation")
    if part is None:
        return None
    return Separation(part.take("most", 1), part.take("key", ""))
