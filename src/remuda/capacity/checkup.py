"""What `remuda diagnose` says of capacity, from audits that are kept: what they found, and how old they are."""

from collections.abc import Callable, Iterator, Sequence

from remuda.capacity.answers import AuditRow, Picture
from remuda.control.client import path_of
from remuda.control.command import Session
from remuda.errors import BadInput, NotFound
from remuda.model.checks import CheckResult
from remuda.model.times import DAY, Instant
from remuda.output.moments import age

#: what evidence counts for where no policy says otherwise
OLD = 30 * DAY
_MOST_LISTED = 5
_AGAIN = "audit again: remuda capacity audit"


def check_capacity(session: Session, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """Whether the newest audit of each cluster found errors, and still counts; nothing where none is kept."""
    progress("kept audits of capacity")
    try:
        rows = session.remuda.get("/v1/capacity/audits", list[AuditRow])
    except (BadInput, NotFound):
        return  # there is no store that could be read, or a Remuda that keeps no audits: another check says so
    if not rows:
        return
    pictures = {
        row.id: session.remuda.get(path_of("v1", "capacity", "audits", row.id), Picture)
        for row in rows
        if row.errors
    }
    yield judge_audits(rows, pictures, session.now())


def judge_audits(rows: Sequence[AuditRow], pictures: dict[int, Picture], now: Instant) -> CheckResult:
    """What audits say; `rows` are the newest of each source, the newest first, and `pictures` those with errors."""
    newest = rows[0]
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
            causes = [each for each in pictures[row.id].causes if each.severity == "error"]
            for cause in causes[:_MOST_LISTED]:
                first = cause.cases[0]
                evidence.append(
                    f"{cause.rule}: {first.subject}: {first.found}"
                    + (f" (and {cause.count - 1} more)" if cause.count > 1 else "")
                )
                fixes[first.fix] = None
        return CheckResult(
            "capacity", "problem", "the last audit of capacity found errors", tuple(evidence + broken), tuple(fixes)
        )  # fmt: skip
    if not current:
        message = f"the last audit of capacity is {age(now - newest.at)} old"
        return CheckResult("capacity", "unknown", message, (newest.source,), (_AGAIN,))
    if len(broken) == len(current):
        return CheckResult("capacity", "unknown", "no kept audit can be read", tuple(broken), (_AGAIN,))
    good = [
        f"{row.source}, audited {age(now - row.at)} ago: {row.warnings} warning{'s' * (row.warnings != 1)}"
        for row in current
        if not row.problem
    ]
    return CheckResult("capacity", "ok", "the last audit of capacity found no error", (*good, *broken))
