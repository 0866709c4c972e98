"""`remuda why label`."""

import click

from remuda.capacity.answers import AuditRow, LabelAnswer
from remuda.control.client import path_of
from remuda.control.command import Command, Session, pass_session
from remuda.control.completion import completes
from remuda.control.why import at_option
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table
from remuda.output.steps import step_lines

_AUDITS = "/v1/capacity/audits"
_complete = completes(_AUDITS, list[AuditRow], lambda rows: (name for row in rows for name in row.labels))


def known_labels(session: Session, name: str) -> list[str]:
    """The labels of kept audits, and the one of this name as it is written there."""
    found = [label for row in session.remuda.get(_AUDITS, list[AuditRow]) for label in row.labels]
    return [name if label.lower() == name.lower() else label for label in found]


@click.command(cls=Command)
@click.argument("name", shell_complete=_complete)
@at_option
@click.option("--history", is_flag=True, help="Also what earlier audits found.")
@pass_session
def label(session: Session, name: str, at: str | None, history: bool) -> None:
    """
    Why a label has the runners it has, and what holds it.

    The answer is from the newest audit that is kept: remuda capacity audit makes one.

    \b
    remuda why label nix-kvm
    remuda why label nix-kvm --at 7d
    """
    until = None if at is None else session.past(at)
    answer = session.remuda.get(path_of("v1", "why", "label", name), LabelAnswer, at=until)
    session.show(_report(session, answer, has_history=history))


def _report(session: Session, answer: LabelAnswer, *, has_history: bool) -> Report:
    now = session.now()
    judged = (
        ""
        if abs(answer.judged_at - answer.at) < 1_000
        else f", judged as of {clock_time(answer.judged_at, now)}"
    )
    made = f"audited {clock_time(answer.at, now)} ({age(now - answer.at)} ago{judged}), {answer.source}"
    same = f"found by {answer.cycles} audits since {clock_time(answer.since, now)}" * (answer.cycles > 1)
    events = answer.history if has_history else ()
    if session.form == "markdown":
        steps = Table(
            ("TERM", "VALUE", "REMARK"), tuple((each.label, each.text, each.remark) for each in answer.steps)
        )
        before = Table(
            ("AT", "WHAT"), tuple((clock_time(each.at, now), each.text) for each in events), "before"
        )
        first = (f"**{answer.headline}**, {made}" + (f"; {same}" if same else ""),)
        return Report(answer, (steps, before) if events else (steps,), first)
    lines: tuple[str, ...] = (
        f"{answer.headline}   {made}",
        *([f"  {same}"] if same else []),
        *step_lines(answer.steps),
    )
    if events:
        lines = (*lines, "", *(f"  {clock_time(each.at, now)}  {each.text}" for each in events))
    return Report(answer, lines=lines)
