"""`remuda why workload`: the answer from the last review that was kept, one of another time, or one in a file."""

import click

from remuda.control.command import Session
from remuda.errors import NotFound, RemudaError
from remuda.model.times import write_instant
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table
from remuda.output.steps import step_lines
from remuda.rightsize.report import kept
from remuda.rightsize.report.answers import Answer, has_workload, shown_steps, sizes_and_steps, why
from remuda.rightsize.report.document import read_review_file
from remuda.rightsize.report.figures import names
from remuda.rightsize.review import Review


def complete_workloads(session: Session, begun: str) -> list[str]:
    """The workloads of kept reviews whose names begin so, for a shell; none when they cannot be read."""
    try:
        reviews = kept.newest_of_each(session.home, damaged=lambda _: None)
    except RemudaError:
        return []
    return sorted({name for review in reviews for name in names(review).values() if name.startswith(begun)})


def known_workloads(session: Session, name: str) -> list[str]:
    """The workloads of kept reviews, and that of this name however it is written."""
    reviews = kept.newest_of_each(session.home, damaged=lambda _: None)
    found = {each for review in reviews for each in names(review).values()}
    return sorted(found | ({name} if any(has_workload(review, name) for review in reviews) else set()))


def answer_workload(session: Session, name: str, file: str | None, at: str | None) -> None:
    """Show why a workload should have the size that a review says."""
    if file is not None:
        _show(session, why(read_review_file(file), name))
        return
    reviews = kept_reviews(session, at)
    for review in reviews:
        try:
            _show(session, why(review, name))
        except NotFound:
            continue
        return
    # None has it. What is reported is of the newest: whoever asks has most likely just made it.
    why(reviews[0], name)


def kept_reviews(session: Session, at: str | None) -> list[Review]:
    """The newest kept review of each source, as of a time, the newest first; `NotFound` when there is none."""
    until = None if at is None else session.past(at)
    found = kept.newest_of_each(session.home, until, lambda message: click.echo(f"note: {message}", err=True))
    if not found:
        when = "" if until is None else f" up to {write_instant(until)}"
        raise NotFound(
            f"no review{when} is kept in {session.home}: make one with remuda rightsize review, or give one with --from"
        )
    return found


def _show(session: Session, answer: Answer) -> None:
    now = session.now()
    message = f"{answer.headline}   reviewed {clock_time(answer.at, now)} ({age(now - answer.at)} ago), {answer.source}"
    if session.form in {"markdown", "csv"}:
        session.show(Report(answer, _tables(answer, session.form), (f"**{' '.join(message.split())}**",)))
        return
    lines = [message]
    for item in answer.containers:
        lines += ["", item.headline, *step_lines(sizes_and_steps(item))]
        for finding in item.findings:
            lines += [
                f"  {finding.severity:<9} {finding.rule}: {finding.is_}",
                f"{'':12}should be {finding.should}",
                f"{'':12}fix: {finding.fix}",
            ]
    session.show(Report(answer, lines=tuple(lines)))


def _tables(answer: Answer, form: str) -> tuple[Table, ...]:
    rows = {
        item.headline: [(step.label, step.text, step.remark) for step in shown_steps(item)]
        for item in answer.containers
    }
    if form == "markdown":
        return tuple(Table(("TERM", "VALUE", "REMARK"), tuple(each), title) for title, each in rows.items())
    flat = [(item.name, *row) for item in answer.containers for row in rows[item.headline]]
    return (Table(("CONTAINER", "TERM", "VALUE", "REMARK"), tuple(flat)),)
