"""What a diagnosis says of audits that are kept, whichever job made them: what they found, and how old they are."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from remuda.model.checks import CheckResult
from remuda.model.times import DAY, Instant
from remuda.output.causes import FindingCause
from remuda.output.moments import age

#: what an audit counts for where no policy says otherwise
OLD: Final = 30 * DAY
_MOST_LISTED = 5


class AuditRow(Protocol):
    """A kept audit, as its job lists it."""

    @property
    def id(self) -> int: ...  # noqa: D102 - its number
    @property
    def source(self) -> str: ...  # noqa: D102 - what was audited
    @property
    def at(self) -> Instant: ...  # noqa: D102 - when it was made
    @property
    def errors(self) -> int: ...  # noqa: D102 - findings that are
    @property
    def warnings(self) -> int: ...  # noqa: D102 - findings that are
    @property
    def problem(self) -> str: ...  # noqa: D102 - why it cannot be read


def judge_audits(
    job: str, rows: Sequence[AuditRow], causes: Mapping[int, Sequence[FindingCause]], now: Instant
) -> CheckResult:
    """What audits say; `rows` are the newest of each source, the newest first, and `causes` are of those with errors."""
    newest = rows[0]
    again = f"audit again: remuda {job} audit"
    # What was audited once and never again is somebody's file of last month: only the newest is missed.
    current = [row for row in rows if now - row.at <= OLD]
    broken = [row.problem for row in current if row.problem]
    wrong = [row for row in current if row.errors]
    if wrong:
        evidence, fixes = [], dict[str, None]()
        for row in wrong:
            evidence.append(
                f"{row.source}, audited {age(now - row.at)} ago: {row.errors} error{'s' * (row.errors != 1)}"
            )
            grave = [each for each in causes[row.id] if each.severity == "error"]
            for cause in grave[:_MOST_LISTED]:
                first = cause.cases[0]
                evidence.append(
                    f"{cause.rule}: {first.subject}: {first.found}"
                    + (f" (and {cause.count - 1} more)" if cause.count > 1 else "")
                )
                fixes[first.fix] = None
        message = f"the last audit of {job} found errors"
        return CheckResult(job, "problem", message, tuple(evidence + broken), tuple(fixes))
    if not current:
        message = f"the last audit of {job} is {age(now - newest.at)} old"
        return CheckResult(job, "unknown", message, (newest.source,), (again,))
    if len(broken) == len(current):
        return CheckResult(job, "unknown", "no kept audit can be read", tuple(broken), (again,))
    good = [
        f"{row.source}, audited {age(now - row.at)} ago: {row.warnings} warning{'s' * (row.warnings != 1)}"
        for row in current
        if not row.problem
    ]
    return CheckResult(job, "ok", f"the last audit of {job} found no error", (*good, *broken))
