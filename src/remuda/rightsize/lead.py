"""What `remuda report` says of right-sizing: what was done since the last review, and what is still to do."""

from collections import Counter
from collections.abc import Callable, Iterator

from remuda.control.command import Session
from remuda.errors import RemudaError
from remuda.output.sections import Section, Wanted
from remuda.output.show import Table
from remuda.rightsize.report import kept
from remuda.rightsize.report.compare import changes
from remuda.rightsize.report.figures import write_waste
from remuda.rightsize.review import Review


def size_sections(session: Session, wanted: Wanted, progress: Callable[[str], None]) -> Iterator[Section]:
    """One section of all sources that were reviewed up to then; none where nothing was."""
    progress("reviews of sizes")
    try:
        newest = kept.newest_of_each(session.home, wanted.until, damaged=lambda _: None)
        before = {
            review.source: review
            for review in kept.newest_of_each(session.home, wanted.since, damaged=lambda _: None)
        }
    except RemudaError:
        return
    if not newest:
        return
    rows, data = [], []
    for review in newest:
        older = before.get(review.source)
        done = _done(older, review)
        todo = _to_do(review)
        rows.append(
            (review.source, done, f"{todo} containers", write_waste(review.waste, review.currency) or "-")
        )
        data.append({"source": review.source, "at": review.at, "to_do": todo, "done": done})
    headings = ("REVIEWED", "DONE SINCE THE REVIEW BEFORE", "STILL TO DO", "REQUESTED BEYOND NEED")
    note = "Done is what a container asks for exactly as was advised when the span began; remuda rightsize patch makes the rest."
    yield Section("Right-sizing", (), (Table(headings, tuple(rows)),), notes=(note,), data={"reviews": data})


def _done(older: Review | None, review: Review) -> str:
    if older is None or older.at == review.at:
        return "no review of before to compare with"
    outcomes = Counter(heard.outcome for heard in changes(older, review).heard)
    return (
        ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "nothing was to do"
    )


def _to_do(review: Review) -> int:
    return sum(
        item.verdict not in {"keep", "leave"} and not item.is_provisional
        for workload in review.workloads
        for item in workload.containers
    )
