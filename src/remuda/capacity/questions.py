"""What is asked of kept audits, each answered by the same judgement as the commands: which there are, how one looks, why, what if."""

from collections.abc import Iterable
from typing import NamedTuple

from remuda.capacity import kept
from remuda.capacity.answers import AuditRow, EarlierAudit, LabelAnswer, Picture, Planned, WhatIf
from remuda.capacity.decide.audit import Audit, audit
from remuda.capacity.decide.fits import folded
from remuda.capacity.decide.holding import holding
from remuda.capacity.decide.plan import Plan, plan, try_changes
from remuda.capacity.kept import Head, KeptAudit
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.remembered import Remembered
from remuda.capacity.show.picture import first_label, picture
from remuda.capacity.show.plan import planned
from remuda.capacity.show.why import steps_of
from remuda.errors import BadInput, NotFound
from remuda.ledger import audits as audits_kept
from remuda.ledger import documents
from remuda.ledger.documents import Kept
from remuda.ledger.sql import Database
from remuda.model.findings import count_severities
from remuda.model.plans import Reason
from remuda.model.sentences import some
from remuda.model.times import Instant
from remuda.objects.problems import did_you_mean, quoted
from remuda.output.steps import Step
from remuda.output.words import sentence

#: audits that are looked at to find out since when a label is so
_FAR_BACK = 20
_MOST_EVENTS = 10
#: names that an answer lists
_MOST_NAMES = 500
_NONE = "no audit is kept{when}: make one with remuda capacity audit, with the same data directory"


class Brief(NamedTuple):
    """What lists and histories say of an audit."""

    at: Instant
    names: tuple[str, ...]
    reasons: tuple[Reason, ...]
    errors: int
    warnings: int


class Judged(NamedTuple):
    """A kept audit, judged again by today's rules."""

    item: Kept
    kept: KeptAudit
    policies: dict[str, CapacityPolicySpec]
    audit: Audit


#: what is kept never changes: who looks again at a large cluster need not wait again; two such fit into memory anywhere
_judgements: Remembered[Judged] = Remembered(2)
_briefs: Remembered[Brief] = Remembered(100)
_explanations: Remembered[tuple[Reason, tuple[Step, ...]]] = Remembered(10)


def audits(db: Database, until: Instant) -> list[AuditRow]:
    """The newest audit of each source; one that cannot be read says why."""
    return [_row(db, item) for item in kept.newest_of_each(db, until)]


def _row(db: Database, item: Kept) -> AuditRow:
    source = item.kind.partition("/")[2]
    try:
        brief = _brief(db, item)
    except BadInput as error:
        return AuditRow(item.id, source, item.at, problem=str(error))
    return AuditRow(
        item.id, source, item.at, brief.at, brief.errors, brief.warnings, brief.names[:_MOST_NAMES]
    )


def _brief(db: Database, item: Kept) -> Brief:
    """What is quickly said of an audit; `BadInput` when it cannot be read."""

    def make() -> Brief:
        head = kept.read(documents.packed(db, item), item, Head)
        found = count_severities(head.findings)
        return Brief(head.at, head.names, head.reasons, found["error"], found["warning"])

    return _briefs.get(documents.fingerprint(db, item), make)


def picture_of(db: Database, number: int, label: str) -> Picture:
    """A kept audit as a page shows it; `NotFound` names near misses of its number or a label."""
    judged = _judged(db, audits_kept.numbered(db, kept.FAMILY, number))
    written = {folded(name): name for name in judged.kept.names}
    if label and folded(label) not in written:
        raise NotFound(_no_label(label, judged.kept.names))
    chosen = written.get(folded(label)) or first_label(judged.audit, judged.kept.findings)
    tried = _plan_of(judged, chosen) if chosen else None
    return picture(_row(db, judged.item), judged.audit, judged.kept.findings, tried)


def plan_on(db: Database, asked: WhatIf) -> Planned:
    """Try changes on a kept audit; `BadInput` has everything that is wrong with them, a line each."""
    judged = _judged(db, audits_kept.numbered(db, kept.FAMILY, asked.audit) if asked.audit else _newest(db))
    made = try_changes(judged.kept.snapshot, asked.labels, judged.policies, asked.options(), judged.kept.at)
    return planned(made, judged.item.id)


def why_label(db: Database, name: str, until: Instant) -> LabelAnswer:
    """Why a label has the runners it has, by the newest audit that knows it; `NotFound` names near misses."""
    items = kept.newest_of_each(db, until)
    known: list[str] = []
    problems: list[BadInput] = []
    for item in items:
        try:
            names = _brief(db, item).names
        except BadInput as problem:
            problems.append(problem)
            continue
        if folded(name) in map(folded, names):
            return _answer(db, item, name, until)
        known += names
    if problems and not known:
        raise problems[0]
    if not items:
        raise NotFound(_NONE.format(when=" up to then" if until < 2**62 else ""))
    raise NotFound(_no_label(name, known))


def _answer(db: Database, item: Kept, name: str, until: Instant) -> LabelAnswer:
    def make() -> tuple[Reason, tuple[Step, ...]]:
        made = _plan_of(_judged(db, item), name)
        return holding(made.before.labels[0]), steps_of(made)

    reason, steps = _explanations.get((documents.fingerprint(db, item), name), make)
    since, count, history = _before(db, item, reason, until)
    return LabelAnswer(
        subject=reason.subject,
        headline=sentence(reason),
        code=reason.code,
        since=since,
        at=item.at,
        cycles=count,
        steps=steps,
        history=history,
        reason=reason,
        source=item.kind.partition("/")[2],
        audit=item.id,
        judged_at=_brief(db, item).at,
    )


def _before(
    db: Database, newest: Kept, reason: Reason, until: Instant
) -> tuple[Instant, int, tuple[EarlierAudit, ...]]:
    """Since when audits of this source find the same, how many did, and what the ones before found."""
    since, count, is_same = newest.at, 1, True
    events: list[EarlierAudit] = []
    last = reason.code
    for item in documents.kept(db, newest.kind, until)[1 : _FAR_BACK + 1]:
        try:
            reasons = _brief(db, item).reasons
        except BadInput:
            break
        found = next((each for each in reasons if folded(each.subject) == folded(reason.subject)), None)
        if found is None:
            continue
        is_same = is_same and found.code == reason.code
        if is_same:
            since, count = item.at, count + 1
        elif found.code != last and len(events) < _MOST_EVENTS:
            events.append(EarlierAudit(item.at, found.code, sentence(found)))
        last = found.code
    return since, count, tuple(reversed(events))


def _plan_of(judged: Judged, label: str) -> Plan:
    """How things are with one label."""
    return plan(judged.kept.snapshot, (label,), judged.policies, (), judged.kept.at)


def _newest(db: Database) -> Kept:
    items = kept.newest_of_each(db)
    if not items:
        raise NotFound(_NONE.format(when=""))
    return items[0]


def _no_label(label: str, known: Iterable[str]) -> str:
    there = list(dict.fromkeys(known))
    near = did_you_mean(label, there) or f"; there is: {some(there, 10) or 'none'}"
    return f"no kept audit knows a label {quoted(label, 120)}{near}"


def _judged(db: Database, item: Kept) -> Judged:
    def make() -> Judged:
        found = kept.read(documents.packed(db, item), item, KeptAudit)
        policies = found.specs()
        return Judged(item, found, policies, audit(found.snapshot, found.labels, policies, found.at))

    return _judgements.get(documents.fingerprint(db, item), make)
