"""What the API answers about audits of tiers: which are kept, and one as a picture."""

from msgspec import Struct

from remuda.model.findings import Severity
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
    problem: str = ""


class QuotaBar(Struct, frozen=True):
    """What is taken of a quota, as a bar: in words, and percent of it; above 100 where more is taken than allowed."""

    resource: str
    text: str
    percent: float


class NamespaceBars(Struct, frozen=True):
    """A namespace and what is left of its quotas."""

    name: str
    tier: str
    #: by what it has its tier
    origin: str
    problem: str
    pods: int
    qos: str
    #: findings about it that are errors, and warnings
    errors: int
    warnings: int
    bars: tuple[QuotaBar, ...]


class EvictionLine(Struct, frozen=True):
    """A pod in the order of eviction."""

    pod: str
    tier: str
    priority: int
    used: str
    request: str
    above: str
    qos: str


class NodeLine(Struct, frozen=True):
    """A node: what is promised of its memory, in words and in percent of what it has."""

    name: str
    pods: int
    memory: str
    requested: str
    limits: str
    requested_percent: float
    limit_percent: float
    unlimited: int
    first: str


class Picture(Struct, frozen=True):
    """A kept audit as a page shows it."""

    audit: AuditRow
    policies: tuple[str, ...]
    #: by tier, the most important first; those without one last
    namespaces: tuple[NamespaceBars, ...]
    namespace_count: int
    #: the fullest first
    nodes: tuple[NodeLine, ...]
    node_count: int
    #: the node whose order of eviction is shown; empty where there is none
    node: str
    order: tuple[EvictionLine, ...]
    causes: tuple[FindingCause, ...]
    #: parts that could not be read, and why
    unread: tuple[str, ...]


class Cause(Struct, frozen=True):
    """One cause: its rule, what is, what should be, and how to fix it, which is printed and never run."""

    rule: str
    severity: Severity
    subject: str
    found: str
    expected: str = ""
    fix: str = ""


class WhyAnswer(Struct, frozen=True):
    """The answer, the gravest cause first."""

    subject: str
    headline: str
    code: str
    at: Instant
    source: str
    causes: tuple[Cause, ...]
    steps: tuple[Step, ...]
