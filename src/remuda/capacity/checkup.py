"""What `remuda diagnose` says of capacity, from audits that are kept: what they found, and how old they are."""

from collections.abc import Callable, Iterator

from remuda.capacity.answers import AuditRow, Picture
from remuda.control.client import path_of
from remuda.control.command import Session
from remuda.errors import BadInput, NotFound
from remuda.model.checks import CheckResult
from remuda.output.audits import judge_audits


def check_capacity(session: Session, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """Whether the newest audit of each cluster found errors, and still counts; nothing where none is kept."""
    progress("kept audits of capacity")
    try:
        rows = session.remuda.get("/v1/capacity/audits", list[AuditRow])
    except (BadInput, NotFound):
        return  # there is no store that could be read, or a Remuda that keeps no audits: another check says so
    if not rows:
        return
    causes = {
        row.id: session.remuda.get(path_of("v1", "capacity", "audits", row.id), Picture).causes
        for row in rows
        if row.errors
    }
    yield judge_audits("capacity", rows, causes, session.now())
