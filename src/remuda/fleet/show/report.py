"""What a decision on files says: for a program every action with its reason, for a person the same in groups."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from remuda.fleet import states
from remuda.fleet.answers import NeedWhy
from remuda.fleet.plan import EXPECTS, Block, Op
from remuda.fleet.show.why import missing_text, why_need
from remuda.fleet.show.wording import kind_text, named_reason, named_shortfall
from remuda.fleet.trial import Trial
from remuda.model.plans import Reason, Term
from remuda.model.times import Instant
from remuda.output.moments import age
from remuda.output.show import Report, Table
from remuda.output.words import dollars, sentence

#: so many needs show what would change that they miss something, and fewer where each decision takes long
_MOST_CHANGES = 20
_MOST_ROWS = 2_000_000


class DescribedAction(Struct, frozen=True):
    """One action: what is done to which machine, in which state it must still be, and why."""

    id: str
    op: str
    expects: str
    cluster: str
    need: str
    #: milliseconds to end what it does
    grace: int
    reason: Reason
    told: str


class DescribedReason(Struct, frozen=True):
    """A reason with its sentence."""

    code: str
    subject: str
    terms: dict[str, Term]
    told: str


class DescribedShortfall(Struct, frozen=True):
    """A need that misses something."""

    cluster: str
    need: str
    priority: int
    #: units asked for and missing; of a need expressed as a sum, parts per million of the scarcest resource
    asked: int
    missing: int
    since: Instant
    reason: DescribedReason


class PlanReport(Struct, frozen=True):
    """The whole of a decision. Money is micro-dollars per hour."""

    at: Instant
    machines: int
    clusters: int
    asked: int
    missing: int
    withheld: int
    cost_before: int
    cost_after: int
    counts: dict[str, int]
    actions: tuple[DescribedAction, ...]
    shortfalls: tuple[DescribedShortfall, ...]
    rails: tuple[DescribedReason, ...]
    notes: tuple[DescribedReason, ...]
    needs: tuple[NeedWhy, ...]
    refused: tuple[str, ...]
    digest: str


def describe(trial: Trial) -> PlanReport:
    """Everything, for a program."""
    fleet, plan = trial.fleet, trial.plan
    before, after = _cost(trial)
    return PlanReport(
        at=trial.now,
        machines=len(fleet),
        clusters=len(trial.inputs.needs),
        asked=plan.asked,
        missing=plan.missing,
        withheld=plan.withheld,
        cost_before=before,
        cost_after=after,
        counts={op.name.lower(): plan.count(op) for op in Op},
        actions=tuple(action for block in plan.blocks for action in _actions(trial, block)),
        shortfalls=_shortfalls(trial),
        rails=tuple(map(_reason, plan.rails)),
        notes=tuple(map(_reason, plan.notes)),
        needs=_needs(trial),
        refused=tuple(map(str, trial.inputs.refused)),
        digest=plan.digest(),
    )


def report(trial: Trial, form: str) -> Report:
    """The same for whoever asked: a person gets groups and totals."""
    if form in {"json", "yaml"}:
        return Report(describe(trial))
    plan = trial.plan
    before, after = _cost(trial)
    asked, clusters = len(trial.needs), len(trial.inputs.needs)
    actions = ", ".join(f"{plan.count(op):,} {_WORDS[op]}" for op in Op if plan.count(op)) or "nothing to do"
    lines = (
        f"{_counted(len(trial.fleet), 'machine')}, {_counted(asked, 'need')}, {_counted(clusters, 'cluster')}: {actions}",
        f"{asked - len(plan.shortfalls):,} of {asked:,} needs met; {dollars(before)} an hour now, {dollars(after)} after",
    )
    tables = [
        Table(("NEED", "ACTION", "MACHINES", "KIND", "PRICE/H", "WHY"), tuple(_groups(trial)), "actions")
    ]
    rows = tuple(
        (
            f"{each.cluster}/{each.need}",
            str(each.priority),
            missing_text(each.missing, trial.needs[short.need]),
            age(trial.now - each.since) if each.since < trial.now else "now",
            each.reason.told.partition(" ")[2],
        )
        for short, each in zip(plan.shortfalls, _shortfalls(trial), strict=True)
    )
    tables.append(Table(("NEED", "PRIORITY", "MISSING", "SINCE", "WHY"), rows, "shortfalls"))
    for title, reasons in (("rails", plan.rails), ("notes", plan.notes)):
        words = tuple((reason.code, sentence(reason)) for reason in reasons)
        tables.append(Table(("CODE", "WHAT"), words, title))
    return Report(None, tuple(table for table in tables if table.rows), lines)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


_WORDS = {
    Op.ADOPT: "adopted",
    Op.ASSIGN: "assigned",
    Op.CREATE: "created",
    Op.PREEMPT: "preempted",
    Op.RECLAIM: "reclaimed",
    Op.RELEASE: "released",
}


def _actions(trial: Trial, block: Block) -> Iterator[DescribedAction]:
    fleet = trial.fleet
    names = fleet.names
    expects = str(states.STATES[EXPECTS[block.op]])
    for index, row in enumerate(block.rows.tolist()):
        need = int(block.needs[index])
        reason = named_reason(fleet, block, index)
        yield DescribedAction(
            id=fleet.ids[row],
            op=block.op.name.lower(),
            expects=expects,
            cluster=names.clusters[names.need_cluster[need]] if need >= 0 else _cluster(trial, row),
            need=names.needs[need] if need >= 0 else "",
            grace=int(block.grace[index]),
            reason=reason,
            told=sentence(reason),
        )


def _cluster(trial: Trial, row: int) -> str:
    cluster = int(trial.fleet.cluster[row])
    return trial.fleet.names.clusters[cluster] if cluster >= 0 else ""


#: terms that distinguish machines and not needs: a group shows those of its first
_OWN = frozenset({"idle_for", "score"})


def _groups(trial: Trial) -> Iterator[tuple[str, ...]]:
    """Actions that differ in the machine alone, once, in the order of the plan."""
    fleet = trial.fleet
    for block in trial.plan.blocks:
        columns = [column[block.group] for name, column in block.terms.items() if name not in _OWN]
        who = [fleet.kind[block.rows], fleet.need[block.rows], fleet.cluster[block.rows], block.needs]
        alike = np.array([*who, block.grace, *columns], np.int64).T
        _, first, count = np.unique(alike, axis=0, return_index=True, return_counts=True)
        groups: dict[tuple[str, str, str], tuple[int, int]] = {}
        for place in np.argsort(first, kind="stable").tolist():
            index = int(first[place])
            row = int(block.rows[index])
            reason = named_reason(fleet, block, index)
            need = str(reason.terms.get("need") or reason.terms.get("from") or "-")
            why = sentence(reason).removeprefix(fleet.ids[row]).rpartition(f"{need}: ")[2].lstrip()
            shape = fleet.kinds.shapes[int(fleet.kind[row])]
            machines, price = groups.get((need, kind_text(shape), why), (0, 0))
            more = int(count[place])
            groups[need, kind_text(shape), why] = machines + more, price + more * shape.price
        for (need, kind, why), (machines, price) in groups.items():
            yield need, block.op.name.lower(), f"{machines:,}", kind, dollars(price), why


def _shortfalls(trial: Trial) -> tuple[DescribedShortfall, ...]:
    names = trial.fleet.names
    found = []
    for short in trial.plan.shortfalls:
        need = trial.needs[short.need]
        found.append(
            DescribedShortfall(
                cluster=names.clusters[names.need_cluster[short.need]],
                need=need.name,
                priority=need.priority,
                asked=1_000_000 if need.count is None else need.count,
                missing=short.units,
                since=short.since,
                reason=_reason(named_shortfall(short.reason)),
            )
        )
    return tuple(found)


def _reason(reason: Reason) -> DescribedReason:
    return DescribedReason(reason.code, reason.subject, reason.terms, sentence(reason))


def _needs(trial: Trial) -> tuple[NeedWhy, ...]:
    most = min(_MOST_CHANGES, _MOST_ROWS // max(1, trial.fleet.rows))
    asking = set(list(trial.shortfalls)[:most])
    return tuple(why_need(trial, code, changes=code in asking) for code in trial.needs)


def _cost(trial: Trial) -> tuple[int, int]:
    """What all machines there are cost per hour, before and after the plan is carried out."""
    kinds, fleet = trial.fleet.kinds, trial.fleet
    kinds.columns()
    runs = (fleet.state != states.ABSENT) & (fleet.state != states.SPECULATIVE)
    price = kinds.price[fleet.kind]
    before = int(price[runs].sum())
    made, gone = trial.plan.rows(Op.CREATE), trial.plan.rows(Op.RELEASE)
    return before, before + int(np.sum(price[made])) - int(np.sum(price[gone]))
