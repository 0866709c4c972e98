"""
What if: the audit before and after changes, where runners would be at the worst moment, and the highest safe ceiling.

The worst moment of a label is every set of it at its maximum; where a policy has a ceiling below that, it is the worst
mix of runners the ceiling allows. Runners of other labels, and all other pods, count as they are now.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from remuda.capacity.decide.apply_changes import Policies, apply_changes
from remuda.capacity.decide.audit import Audit, LabelAudit, audit
from remuda.capacity.decide.findings_placing import demands
from remuda.capacity.decide.label import LabelContext
from remuda.capacity.decide.what_if import Change, NodeAdded, NodeDrained, read_changes
from remuda.capacity.snapshot import NODES, PODS, SCALE_SETS, Snapshot
from remuda.errors import BadInput
from remuda.model.findings import Finding
from remuda.model.times import Instant
from remuda.rules.mixes import Safe, Share, Worst, weigh
from remuda.rules.packing import Bin


class Placed(Struct, frozen=True):
    """Runners of sets that are on a node at the worst moment, and what is left of it then."""

    node: str
    runners: dict[str, int]
    left: dict[str, int]


class Side(Struct, frozen=True):
    """A label before the changes or after them. What nodes that were not read decide is None."""

    label: LabelAudit
    #: nodes that are admitted for some set, and up
    nodes: int
    worst: Worst | None
    placed: tuple[Placed, ...]
    safe: Safe | None

    @property
    def runs_out(self) -> str:
        """
        The resource that runs out first, if nodes are known and runners there.

        It is the one whose bound refutes the worst moment, else the first ceiling above the highest safe one; else the
        one of which the worst moment takes the greatest part.
        """
        for found in (self.worst, self.safe.beyond if self.safe else None):
            if found is not None and found.packing.bound is not None:
                return found.packing.bound.resource
        taken = self.worst.taken if self.worst else {}
        return max(taken, key=lambda name: taken[name]) if any(taken.values()) else ""


class LabelPlan(Struct, frozen=True):
    """A label before and after."""

    name: str
    before: Side
    after: Side


class Altered(Struct, frozen=True):
    """A finding that says something else after the changes."""

    before: Finding
    after: Finding


class Plan(Struct, frozen=True):
    """What changes would do. `breaks` are new errors, and in words what they would make worse."""

    changes: tuple[Change, ...]
    before: Audit
    after: Audit
    labels: tuple[LabelPlan, ...]
    appeared: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    altered: tuple[Altered, ...]
    breaks: tuple[Finding | str, ...]
    notes: tuple[str, ...]


def plan(
    snapshot: Snapshot, labels: Iterable[str], policies: Policies, changes: Sequence[Change], now: Instant
) -> Plan:
    """
    Try changes on labels; by default on those of the policies, else on those of the sets that change, else on all.

    `BadInput` has every change that cannot be made.
    """
    asked = tuple(labels)
    after_changes = apply_changes(snapshot, policies, asked, changes)
    if after_changes.problems:
        raise BadInput("\n".join(after_changes.problems))
    chosen = asked or tuple(sorted({policy.label for policy in policies.values()})) or after_changes.labels
    before = audit(snapshot, chosen, policies, now)
    after = audit(after_changes.snapshot, chosen, after_changes.policies, now)
    made = [
        _label_plan(*labelled, _problem(one), _problem(other), changes)
        for labelled, one, other in zip(
            zip(before.labels, after.labels, strict=True), before.contexts, after.contexts, strict=True
        )
    ]
    appeared, gone, altered = _compared(before.findings, after.findings)
    notes = [*after_changes.notes, *_more_notes(snapshot, chosen, after_changes.labels)]
    breaks: list[Finding | str] = [
        *_new_errors(appeared, altered),
        *(words for item in made for words in _worse(item)),
    ]
    return Plan(
        tuple(changes), before, after, tuple(made), appeared, gone, altered, tuple(breaks), tuple(notes)
    )


def try_changes(
    snapshot: Snapshot, labels: Iterable[str], policies: Policies, written: Mapping[str, Sequence[str]], now: Instant
) -> Plan:  # fmt: skip
    """As `plan`, with changes as they are written, by option; `BadInput` has everything that is wrong with them, a line each."""
    changes, problems = read_changes(written)
    try:
        made = plan(snapshot, labels, policies, changes, now)
    except BadInput as error:
        raise BadInput("\n".join((*problems, str(error)))) from None
    if problems:
        raise BadInput("\n".join(problems))
    return made


class _Problem(Struct, frozen=True):
    shares: list[Share]
    bins: list[Bin]
    ceiling: int | None


def _problem(context: LabelContext) -> _Problem | None:
    """What is to be placed where; None when nodes were not read."""
    if context.snapshot.is_unknown(NODES):
        return None
    asked, bins = demands(context)
    shares: list[Share] = []
    names: set[str] = set()
    for scale_set, size, places in asked:
        # A pool and a scale set may have the same name.
        name = scale_set.id if scale_set.id not in names else f"{scale_set.kind} {scale_set.id}"
        names.add(name)
        shares.append(Share(name, scale_set.max, size, places))
    return _Problem(shares, bins, context.policy.ceiling if context.policy else None)


def _label_plan(
    label_before: LabelAudit, label_after: LabelAudit,
    before: _Problem | None, after: _Problem | None, changes: Sequence[Change],
) -> LabelPlan:  # fmt: skip
    weighed = _weighed(before, label_before)
    again = weighed if before == after else _weighed(after, label_after, weighed[1])
    safe_before, safe_after = weighed[1], again[1]
    # What fits on some nodes fits on more: where a search finds less there, the other answer holds.
    if changes and all(isinstance(change, NodeAdded) for change in changes):
        safe_after = _better(safe_after, safe_before)
    elif changes and all(isinstance(change, NodeDrained) for change in changes):
        safe_before = _better(safe_before, safe_after)
    return LabelPlan(
        label_after.name,
        _side(label_before, before, weighed[0], safe_before),
        _side(label_after, after, again[0], safe_after),
    )


def _weighed(
    problem: _Problem | None, label: LabelAudit, near: Safe | None = None
) -> tuple[Worst | None, Safe | None]:
    if problem is None:
        return None, None
    guess = near.number if near else None
    return weigh(problem.shares, problem.bins, problem.ceiling, label.packing, guess)


def _better(found: Safe | None, other: Safe | None) -> Safe | None:
    if found is None or other is None or found.number >= other.number:
        return found
    return Safe(other.number, is_proven=False)


def _side(label: LabelAudit, problem: _Problem | None, found: Worst | None, number: Safe | None) -> Side:
    if problem is None or found is None:
        return Side(label, 0, found, (), number)
    runners: dict[int, dict[str, int]] = {}
    for part in found.packing.placed:
        on_node = runners.setdefault(part.bin, {})
        on_node[problem.shares[part.group].name] = part.count
    sizes = {share.name: share.size for share in problem.shares}
    placed = [
        Placed(
            problem.bins[index].name,
            counts,
            {
                name: room - sum(sizes[scale_set].get(name, 0) * count for scale_set, count in counts.items())
                for name, room in problem.bins[index].room.items()
            },
        )
        for index, counts in sorted(runners.items())
    ]
    return Side(label, len(problem.bins), found, tuple(placed), number)


def _compared(
    before: Iterable[Finding], after: Iterable[Finding]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Altered, ...]]:
    """Findings that appear, those that go, and those that say something else, each in the order they have."""
    old, new = list(before), list(after)
    same = {_key(item) for item in old} & {_key(item) for item in new}
    twins = {_key(item): item for item in old}
    altered = {
        id(item): Altered(twins[_key(item)], item)
        for item in new
        if _key(item) in same and twins[_key(item)] != item
    }
    # What is left on both sides about one field says something else there.
    waiting: dict[tuple[str, ...], list[Finding]] = {}
    for item in old:
        if _key(item) not in same:
            waiting.setdefault(_key(item)[:-1], []).append(item)
    appeared = []
    for item in new:
        if _key(item) not in same:
            place = waiting.get(_key(item)[:-1])
            if place:
                altered[id(item)] = Altered(place.pop(0), item)
            else:
                appeared.append(item)
    gone = {id(item) for place in waiting.values() for item in place}
    return (
        tuple(appeared),
        tuple(item for item in old if id(item) in gone),
        tuple(altered[id(item)] for item in new if id(item) in altered),
    )


def _key(item: Finding) -> tuple[str, ...]:
    """What keeps findings apart; the last of it is what they say of a field."""
    return item.code, item.scope, item.subject, item.field, repr(item.terms)


def _new_errors(appeared: Iterable[Finding], altered: Iterable[Altered]) -> Iterator[Finding]:
    graver = (each.after for each in altered if each.before.severity != "error")
    yield from (item for item in (*appeared, *graver) if item.severity == "error")


def _worse(item: LabelPlan) -> Iterator[str]:
    """What no finding that was there before shows: the ceiling exceeded by more, and a mix under it that fits no more."""
    before, after = item.before, item.after
    exceeded = [
        side.label.max - side.label.ceiling
        for side in (before, after)
        if side.label.max is not None and side.label.ceiling is not None
    ]
    if len(exceeded) == 2 and exceeded[1] > exceeded[0] > 0:
        yield f"{item.name}: maxima would be {exceeded[1]} above the ceiling instead of {exceeded[0]}"
    if before.worst is None or after.worst is None or after.label.ceiling is None:
        return
    if after.worst.outcome == "cannot fit" != before.worst.outcome:
        yield f"{item.name}: the worst that the ceiling of {after.label.ceiling} allows would not fit any more"


def _more_notes(snapshot: Snapshot, chosen: tuple[str, ...], touched: tuple[str, ...]) -> Iterator[str]:
    if any(item.part == SCALE_SETS and not item.is_absent for item in snapshot.unknown):
        yield "scale sets were not read: what they come to is not known"
    if snapshot.is_unknown(PODS):
        yield "pods were not read: nodes count as empty"
    if touched and chosen and set(touched).isdisjoint(chosen):
        yield f"the changes are about {', '.join(touched)}, which is not among the labels looked at"
