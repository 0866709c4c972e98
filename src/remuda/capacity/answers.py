"""What the API answers about capacity: which audits are kept, one as a picture, a plan, and why a label has what it has."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from remuda.model.plans import Reason
from remuda.model.times import Instant
from remuda.output.causes import FindingCause
from remuda.output.steps import Step


class AuditRow(Struct, frozen=True):
    """An audit that is kept. With a problem nothing more is known of it than its number, source and time."""

    id: int
    source: str
    #: when it was made
    at: Instant
    #: as of when it was judged
    judged_at: Instant = 0
    errors: int = 0
    warnings: int = 0
    #: labels that can be asked about
    labels: tuple[str, ...] = ()
    problem: str = ""


class EarlierAudit(Struct, frozen=True):
    """What an earlier audit said."""

    at: Instant
    code: str
    text: str


class LabelAnswer(Struct, frozen=True):
    """Why a label has the runners it has: what holds since an instant, how that came about, and what was before."""

    subject: str
    headline: str
    code: str
    #: when the first of the audits was made that found the same one after another
    since: Instant
    #: when the audit was made that this is from
    at: Instant
    #: how many found the same
    cycles: int
    steps: tuple[Step, ...]
    history: tuple[EarlierAudit, ...]
    reason: Reason
    #: what was audited, the number of the audit, and as of when it was judged
    source: str
    audit: int
    judged_at: Instant


#: what a part of a bar is
PartKind: TypeAlias = Literal["running", "maximum", "share", "others", "runner", "free", "over"]


class BarPart(Struct, frozen=True):
    """A part of a bar: whose it is, how much, and that in words."""

    name: str
    kind: PartKind
    amount: int
    text: str


class Bar(Struct, frozen=True):
    """A bar: what it shows, and its parts from left to right."""

    name: str
    parts: tuple[BarPart, ...]


class LabelBars(Struct, frozen=True):
    """A label and its ceiling. What is unbounded or was not read is None."""

    name: str
    policy: str
    ceiling: int | None
    max: int | None
    running: int | None
    pending: int | None
    placement: str
    headline: str
    code: str
    #: findings about it that are errors
    errors: int
    #: what runs, what sets may have, what owners would get
    bars: tuple[Bar, ...]
    #: how many runners the whole width of a bar is
    whole: int


class SetRow(Struct, frozen=True):
    """A scale set of a label."""

    name: str
    kind: str
    min: int
    max: int | None
    running: int | None
    pending: int | None
    envelope: str
    requests: str
    limits: str


class OwnerRow(Struct, frozen=True):
    """An owner, and what it would get if everybody used all they may."""

    name: str
    sets: tuple[str, ...]
    guaranteed: int
    priority: int
    weight: int
    running: int | None
    wants: int
    share: int


class Budget(Struct, frozen=True):
    """What a node has of a resource, and what takes it."""

    resource: str
    whole: int
    text: str
    parts: tuple[BarPart, ...]


class NodeBox(Struct, frozen=True):
    """A node, what it is to the label, and its budgets with every set at its maximum."""

    name: str
    role: str
    is_admitted: bool
    reason: str
    #: runners of the label that are there now
    running: tuple[str, ...]
    budgets: tuple[Budget, ...]


class AlikeNodes(Struct, frozen=True):
    """Nodes that take nothing for one reason."""

    count: int
    names: str
    role: str
    reason: str


class GateRow(Struct, frozen=True):
    """A gate of an overflow node, for an envelope, with its evidence."""

    node: str
    envelope: str
    #: the scale set it is about; empty for those of the node
    scale_set: str
    gate: str
    state: Literal["pass", "fail", "unknown"]
    evidence: str
    fix: str
    read_at: Instant | None
    expires: Instant | None


class LabelPicture(Struct, frozen=True):
    """One label in full."""

    steps: tuple[Step, ...]
    sets: tuple[SetRow, ...]
    set_count: int
    owners: tuple[OwnerRow, ...]
    nodes: tuple[NodeBox, ...]
    #: those that are not among `nodes`
    others: tuple[AlikeNodes, ...]
    gates: tuple[GateRow, ...]
    envelopes: tuple[str, ...]
    node_names: tuple[str, ...]


class Picture(Struct, frozen=True):
    """A kept audit as a page shows it: every label as bars, and one of them in full."""

    audit: AuditRow
    labels: tuple[LabelBars, ...]
    label_count: int
    chosen: str
    label: LabelPicture | None
    causes: tuple[FindingCause, ...]
    #: parts that could not be read, and why
    unread: tuple[str, ...]


class WhatIf(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes that are tried on a kept audit, in the words of `remuda capacity plan`; nothing is changed."""

    #: the number of the audit; 0 is the newest
    audit: int = 0
    labels: tuple[str, ...] = ()
    #: as NAME.max=3
    sets: tuple[str, ...] = ()
    #: as name=…,envelope=…,max=…
    added: tuple[str, ...] = ()
    #: as 6 or LABEL=6
    ceilings: tuple[str, ...] = ()
    #: as name=…,like=NODE
    nodes: tuple[str, ...] = ()
    drained: tuple[str, ...] = ()

    def options(self) -> dict[str, tuple[str, ...]]:
        """By the option of the command line, its words."""
        return {
            "--set": self.sets,
            "--add": self.added,
            "--ceiling": self.ceilings,
            "--node-add": self.nodes,
            "--node-drain": self.drained,
        }


class PlanTable(Struct, frozen=True):
    """A table for a person; `note` is said where there are no rows."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Planned(Struct, frozen=True):
    """What changes would do: in words and tables for a person, and as `remuda.dev/capacity-plan/v1` for a program."""

    verdict: str
    changes: tuple[str, ...]
    breaks: tuple[str, ...]
    notes: tuple[str, ...]
    labels: tuple[str, ...]
    tables: tuple[PlanTable, ...]
    #: whether a label was asked about that no set carries
    is_absent: bool
    document: dict[str, Any]
    #: which audit it was tried on; 0 when it was made for this
    audit: int = 0
