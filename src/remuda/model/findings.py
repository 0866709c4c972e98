"""
What an audit finds: one form for every job.

A `Finding` is a stable code with its job's name in front (`capacity.unbounded-set`), how severe it is, whom it is about
and where, and the terms of its sentences. These are made in `remuda.output.findings` and nowhere else.
"""

from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from remuda.model.plans import Term

Severity: TypeAlias = Literal["error", "warning", "info"]
#: the most severe first
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Place(Struct, frozen=True):
    """Where something was read: a file and the object in it, or the cluster."""

    file: str = ""
    line: int = 0


class Finding(Struct, frozen=True):
    """Something that is not as it should be."""

    code: str
    severity: Severity
    #: its kind and name
    subject: str
    #: where in it
    field: str = ""
    terms: dict[str, Term] = {}
    #: for what it was looked at: a label, say
    scope: str = ""
    place: Place = Place()

    @property
    def rule(self) -> str:
        """The code within its job."""
        return self.code.partition(".")[2]


class Severe(Protocol):
    """What has a severity: a finding, be it in words or not."""

    @property
    def severity(self) -> Severity:
        """How severe it is."""


def is_any(findings: Iterable[Severe], least: Severity) -> bool:
    """Whether there is any at or above a severity."""
    severe = SEVERITIES[: SEVERITIES.index(least) + 1]
    return any(finding.severity in severe for finding in findings)


def count_severities(findings: Iterable[Severe]) -> dict[Severity, int]:
    """How many there are of each severity, the most severe first."""
    counts: dict[Severity, int] = dict.fromkeys(SEVERITIES, 0)
    for finding in findings:
        counts[finding.severity] += 1
    return counts
