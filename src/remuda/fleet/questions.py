"""`remuda why need`: the answer from files, from what is recorded or kept, or from a plan that was printed before."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from remuda.control.command import Session
from remuda.errors import BadInput
from remuda.fleet.answers import NothingRecorded
from remuda.fleet.commands import need_numpy
from remuda.fleet.inputs import Inputs
from remuda.fleet.observe.files import read_files
from remuda.fleet.show.one_need import answer_need, unknown_need
from remuda.model.times import Instant
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table
from remuda.output.steps import Step, step_lines

if TYPE_CHECKING:
    from remuda.fleet.trial import Trial


class Answer(msgspec.Struct, frozen=True):
    """What is needed of an answer that was printed."""

    subject: str
    headline: str
    since: int
    at: int
    steps: tuple[Step, ...]
    code: str = ""
    reason: object = None


class _Printed(msgspec.Struct, frozen=True):
    """What is needed of a plan that was printed."""

    needs: tuple[Answer, ...]


def decided(session: Session, files: tuple[str, ...], at: str | None) -> "Trial":
    """What is decided on files, now or as if it were another time."""
    need_numpy()
    from remuda.fleet.trial import try_out

    now = session.instant(at, session.now())
    return try_out(read_files(files, now), now)


def report_refused(session: Session, inputs: Inputs) -> None:
    """Name on stderr what was refused, and what is strange."""
    for problem in inputs.refused:
        click.echo(str(problem), err=True)
    if not session.quiet:
        for problem in inputs.notes:
            click.echo(f"note: {problem}", err=True)
    if inputs.refused:
        click.echo(f"remuda: {inputs.refused_records} refused; the rest goes on", err=True)


def answer_from_files(session: Session, name: str, files: tuple[str, ...], at: str | None) -> None:
    """Decide on files, and show why a need has what it has."""
    need_numpy()
    trial = decided(session, files, at)
    report_refused(session, trial.inputs)
    _show(session, msgspec.convert(msgspec.to_builtins(answer_need(trial, name)), Answer))


def answer_from_ledger(session: Session, name: str, at: str | None) -> None:
    """Show why a need had what it had when the shard decided last, or at another time; else in the last plan that is kept."""
    answer = _recorded(session, name, None if at is None else max(0, session.past(at)))
    if answer is None:
        raise BadInput(
            f"no shard recorded a decision {'by then ' * bool(at)}in {session.home}, and no plan is kept: remuda why need"
            " wants --inventory FILE and --demand FILE, or --from PLAN.json, or the --data-dir of a shard"
        )
    _show(session, answer)


def _recorded(session: Session, name: str, at: Instant | None) -> Answer | None:
    """What is answered from records; None where there are none."""
    from remuda.control.client import path_of
    from remuda.ledger.place import may_be_there, place_of

    if session.server is None and not may_be_there(place_of(session.home)):
        return None
    try:
        return session.remuda.get(path_of("v1", "why", "need", name), Answer, at=at)
    except NothingRecorded:
        return None


def recorded_needs(session: Session) -> list[str]:
    """The needs of which a shard decided last, or of the last plan that is kept."""
    need_numpy()
    from remuda.fleet.history.kept_plans import kept_plans, plan_trial
    from remuda.fleet.history.replay import cycle_at, recorded_trial
    from remuda.fleet.show.wording import need_name
    from remuda.ledger.place import place_of, reading

    with reading(place_of(session.home)) as db:
        cycle = cycle_at(db, session.now())
        if cycle is not None:
            trial = recorded_trial(cycle)
        else:
            plans = kept_plans(db)
            if not plans:
                return []
            trial = plan_trial(db, plans[0])
    return [need_name(trial.fleet, code) for code in trial.needs]


def answer_from_plan(session: Session, name: str, file: str) -> None:
    """Show what a printed plan says of a need."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        plan = msgspec.json.decode(content, type=_Printed)
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError | msgspec.DecodeError):
            words = f"is not what remuda fleet plan -o json prints: {error}"
        else:
            words = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise BadInput(f"{file}: {words}") from None
    found = {answer.subject.removeprefix("need/"): answer for answer in plan.needs}
    if name not in found:
        raise unknown_need(name, [*found])
    _show(session, found[name])


def _show(session: Session, answer: Answer) -> None:
    now = session.now()
    headline = answer.headline
    if answer.code:
        headline += f"   since {clock_time(answer.since, now)} ({age(answer.at - answer.since)})"
    if session.form == "markdown":
        rows = tuple((step.label, step.text, step.remark) for step in answer.steps)
        session.show(Report(answer, (Table(("TERM", "VALUE", "REMARK"), rows),), (f"**{headline}**",)))
        return
    session.show(Report(answer, lines=(headline, *step_lines(answer.steps))))
