"""
An audit: what sets, labels and nodes come to, and every finding. It reads nothing and changes nothing.

Parts of the world that could not be read lead to no finding but that they were not read.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from remuda.capacity.decide import findings_ceiling, findings_overflow, findings_placing, findings_sets
from remuda.capacity.decide.fits import Ground, Rooms, folded
from remuda.capacity.decide.label import LabelContext, total
from remuda.capacity.decide.rollback import is_scale_set
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.policy import measured, read_end
from remuda.capacity.snapshot import SCALE_SETS, Amounts, ScaleSet, Snapshot
from remuda.model.findings import SEVERITIES, Finding, Severity
from remuda.model.times import Instant
from remuda.rules.ceilings import Member, share
from remuda.rules.packing import Packing

Placement: TypeAlias = Literal["fits", "cannot fit", "no placement found", "cannot tell", "unknown"]


def unsure_of(scale_sets: Iterable[ScaleSet], *, has_pods: bool) -> tuple[str, ...]:
    """What keeps an audit from concluding that sets fit."""
    found = [
        f"{scale_set.id}: {words}"
        for scale_set in scale_sets
        if scale_set.max != 0
        for words in scale_set.unsure
    ]
    return (*found, *([] if has_pods else ["pods were not read"]))


class OwnerShare(Struct, frozen=True):
    """What an owner would be guaranteed now if everybody used all they may: `share` is of the ceiling."""

    name: str
    lanes: tuple[str, ...]
    guaranteed: int
    priority: int
    weight: int
    wants: int
    running: int | None
    share: int


class LabelAudit(Struct, frozen=True):
    """A label as a whole. What is unbounded, or could not be read, is None."""

    name: str
    policy: str
    ceiling: int | None
    scale_sets: tuple[ScaleSet, ...]
    max: int | None
    requests: Amounts | None
    limits: Amounts | None
    running: int | None
    pending: int | None
    owners: tuple[OwnerShare, ...]
    packing: Packing | None
    #: False when scale sets could not be read, so that sums say nothing
    is_known: bool
    #: False when pods could not be read, so that what fits says little
    has_pods: bool

    @property
    def unsure(self) -> tuple[str, ...]:
        """Why it is unknown whether what fits by resources really does."""
        return unsure_of(self.scale_sets, has_pods=self.has_pods)

    @property
    def placement(self) -> Placement:
        """Whether all sets at their maximum fit the admitted nodes. What is refuted is, whatever else is not known."""
        if self.packing is None:
            return "unknown"
        return "cannot tell" if self.packing.outcome == "fits" and self.unsure else self.packing.outcome


class Audit(Struct, frozen=True):
    """What an audit says; `contexts` hold what each node is to each label, in the order of `labels`."""

    snapshot: Snapshot
    labels: tuple[LabelAudit, ...]
    contexts: tuple[LabelContext, ...]
    findings: tuple[Finding, ...]
    now: Instant

    @property
    def scale_sets(self) -> tuple[ScaleSet, ...]:
        """All scale sets of the audited labels, each once."""
        found = {
            (scale_set.kind, scale_set.id): scale_set
            for label in self.labels
            for scale_set in label.scale_sets
        }
        return tuple(found[key] for key in sorted(found))


def audit(
    snapshot: Snapshot, labels: Iterable[str], policies: Mapping[str, CapacityPolicySpec], now: Instant
) -> Audit:
    """
    Judge labels, or every label there is when none is given, by the policies of these names.

    A label has one policy at most, and is one however its letters are cased, as to GitHub. A label that was asked for and that no set carries is an error among the findings.
    """
    carried: dict[str, list[ScaleSet]] = {}
    for scale_set in snapshot.scale_sets:
        for label in dict.fromkeys(map(folded, scale_set.labels)):
            carried.setdefault(label, []).append(scale_set)
    by_label = {
        folded(policy.label): (name, policy) for name, policy in sorted(policies.items(), reverse=True)
    }
    asked = tuple({folded(label): label for label in labels}.values())
    written = {
        folded(label): label
        for scale_set in reversed(snapshot.scale_sets)
        for label in reversed(scale_set.labels)
    }
    written |= {label: policy.label for label, (_, policy) in by_label.items()}
    chosen = asked or tuple(written[label] for label in sorted(written))
    ground, rooms = Ground(snapshot.nodes), Rooms(snapshot)
    contexts = tuple(
        LabelContext(
            snapshot,
            ground,
            rooms,
            label,
            tuple(
                _with_job_pod(scale_set, by_label.get(folded(label)))
                for scale_set in carried.get(folded(label), ())
            ),
            by_label.get(folded(label)),
            now,
        )
        for label in chosen
    )
    known = tuple(sorted(written[label] for label in carried))
    made: list[LabelAudit] = []
    found: list[Finding] = []
    for context in contexts:
        packing = findings_placing.packed(context)
        made.append(_label(context, packing))
        found += findings_ceiling.absent(context, known, asked=bool(asked))
        of_label = (
            *findings_ceiling.find(context),
            *findings_sets.find(context),
            *findings_placing.find(context, packing),
            *findings_overflow.find(context),
        )
        found += [_waived(context, item) for item in of_label]
    found += _unread(snapshot, contexts)
    found += findings_sets.leaving(snapshot)
    return Audit(snapshot, tuple(made), contexts, _sorted(found), now)


def _with_job_pod(scale_set: ScaleSet, policy: tuple[str, CapacityPolicySpec] | None) -> ScaleSet:
    for budget in policy[1].sets if policy else ():
        if budget.job_pod is not UNSET and budget.name in {scale_set.id, scale_set.name}:
            return scale_set.with_job_pod(measured(budget.job_pod.requests), measured(budget.job_pod.limits))
    return scale_set


def _waived(context: LabelContext, item: Finding) -> Finding:
    """A finding as it is, or as an info that says who accepted it and until when."""
    for waiver in context.policy.waivers if context.policy else ():
        name = item.subject.partition(" ")[2]
        applies = isinstance(waiver.set, UnsetType) or is_scale_set(waiver.set, name)
        end = read_end(waiver.until)
        if waiver.rule == item.rule and applies and end is not None and end > context.now:
            accepted = {"accepted_by": waiver.who, "accepted_until": waiver.until, "accepted_why": waiver.why}
            return replace(item, severity="info", terms=item.terms | accepted)
    return item


def _label(context: LabelContext, packing: Packing | None) -> LabelAudit:
    is_known = not any(item.part == SCALE_SETS and not item.is_absent for item in context.snapshot.unknown)
    most = findings_ceiling.most(context.scale_sets) if is_known else None
    is_bounded = most is not None
    at_most = [(scale_set, scale_set.max or 0) for scale_set in context.scale_sets]
    running = context.running
    return LabelAudit(
        name=context.label,
        policy=context.policy_name,
        ceiling=context.policy.ceiling if context.policy else None,
        scale_sets=context.scale_sets,
        max=most,
        requests=total((scale_set.requests, number) for scale_set, number in at_most) if is_bounded else None,
        limits=total((scale_set.limits, number) for scale_set, number in at_most) if is_bounded else None,
        running=None if running is None else sum(running.values()),
        pending=None
        if running is None
        else sum(context.snapshot.pending.get(scale_set, 0) for scale_set in context.own),
        owners=tuple(_shares(context, running)),
        packing=packing if is_known else None,
        is_known=is_known,
        has_pods=running is not None,
    )


def _shares(context: LabelContext, running: dict[str, int] | None) -> Iterator[OwnerShare]:
    """Owners of the policy, and each scale set without one as an owner of its own with the defaults."""
    policy = context.policy
    if policy is None:
        return
    by_name: dict[str, dict[str, ScaleSet]] = {}
    # A scale set that an owner names in full is not among those that another means by the name alone.
    in_full = {name for owner in policy.owners for name in owner.lanes}
    for scale_set in context.scale_sets:
        for name in {scale_set.id} if scale_set.id in in_full else {scale_set.name, scale_set.id}:
            by_name.setdefault(name, {})[scale_set.id] = scale_set
    owned: dict[str, tuple[ScaleSet, ...]] = {}
    members: list[Member] = []
    taken: set[str] = set()
    for owner in policy.owners:
        scale_sets = tuple(scale_set for name in owner.lanes for scale_set in by_name.get(name, {}).values())
        taken.update(scale_set.id for scale_set in scale_sets)
        owned[str(owner.name)] = scale_sets
        members.append(
            _member(str(owner.name), scale_sets, policy.ceiling, running, owner.guaranteed, owner.priority, owner.weight)
        )  # fmt: skip
    for scale_set in context.scale_sets:
        if scale_set.id not in taken:
            owned[scale_set.id] = (scale_set,)
            members.append(_member(scale_set.id, (scale_set,), policy.ceiling, running, 0, 0, 1))
    for member, granted in zip(members, share(policy.ceiling, members), strict=True):
        scale_sets = owned[member.name]
        yield OwnerShare(
            member.name, tuple(scale_set.id for scale_set in scale_sets), member.guaranteed, member.priority, member.weight,
            member.wants, None if running is None else member.floor, granted,
        )  # fmt: skip


def _member(
    name: str, scale_sets: tuple[ScaleSet, ...], ceiling: int, running: dict[str, int] | None,
    guaranteed: int, priority: int, weight: int,
) -> Member:  # fmt: skip
    wants = sum(ceiling if scale_set.max is None else scale_set.max for scale_set in scale_sets)
    floor = sum((running or {}).get(scale_set.id, 0) for scale_set in scale_sets)
    return Member(name, wants, floor, guaranteed, priority, weight)


def _unread(snapshot: Snapshot, contexts: tuple[LabelContext, ...]) -> Iterator[Finding]:
    has_overflow = any(context.sites for context in contexts)
    for item in snapshot.unknown:
        # What kubelets say is for the gates of overflow nodes alone.
        if item.is_quiet or (item.part.startswith("summar") and not has_overflow):
            continue
        # An audit that could not read scale sets must not report that all is well.
        severity: Severity = "error" if item.part == SCALE_SETS and not item.is_absent else "info"
        yield Finding("capacity.not-read", severity, item.part, terms={"message": item.why})


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The gravest first; what several labels find in one set alike is reported once."""
    once = {
        (item.code, item.subject, item.field, *map(str, item.terms.values())): item
        for item in reversed(list(findings))
    }
    return tuple(
        item
        for _, item in sorted(
            once.items(), key=lambda each: (SEVERITIES.index(each[1].severity), each[1].scope, each[0])
        )
    )
