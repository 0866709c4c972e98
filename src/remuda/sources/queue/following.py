"""Following a job to its end, from a command: its output, how long the queue before it is, and its exit code."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from remuda.control.client import path_of
from remuda.control.command import Session
from remuda.errors import RemudaError, Unavailable
from remuda.model.jobs import Ahead, Job, JobState

#: how long a Remuda that went away is waited for
PATIENCE_S = 60.0
#: a job that waits is asked for so often, and its place in the queue is written at most so often
_LOOK_S, _WRITE_S = 2.0, 20.0


def follow(session: Session, number: int) -> int:
    """Stream a job's output to its end, over a restart of Remuda too; return the exit code to end with."""
    shown = 0
    away_since: float | None = None
    while True:
        try:
            passed = 0
            with _place_in_queue(session, number) as began:
                for piece in session.remuda.stream(path_of("v1", "jobs", number, "logs") + "?follow=true"):
                    began.set()
                    # After a reconnection the stream begins anew: what was shown is not shown again.
                    fresh = piece[max(0, shown - passed) :]
                    passed += len(piece)
                    shown = max(shown, passed)
                    sys.stdout.buffer.write(fresh)
                    sys.stdout.buffer.flush()
            away_since = None
            job = session.remuda.get(path_of("v1", "jobs", number), Job)
            if job.state.is_end:
                return _exit_code(job)
        except Unavailable:
            if away_since is None:
                away_since = time.monotonic()
                click.echo(f"remuda is away; job {number} goes on, waiting for remuda", err=True)
            elif time.monotonic() - away_since > PATIENCE_S:
                raise
        except KeyboardInterrupt:
            click.echo(f"\njob {number} goes on; `remuda jobs cancel {number}` ends it", err=True)
            raise
        time.sleep(0.5)


@contextmanager
def _place_in_queue(session: Session, number: int) -> Iterator[threading.Event]:
    """While the job waits, say on stderr how many are ahead of it, until the event is set."""
    began = threading.Event()
    if session.quiet:
        yield began
        return
    thread = threading.Thread(target=_report_place, args=(session, number, began), daemon=True)
    thread.start()
    try:
        yield began
    finally:
        began.set()


def _report_place(session: Session, number: int, began: threading.Event) -> None:
    last, written_at = -1, 0.0
    while not began.wait(_LOOK_S):
        try:
            job = session.remuda.get(path_of("v1", "jobs", number), Job)
            ahead = session.remuda.get(path_of("v1", "jobs", number, "ahead"), Ahead).ahead
        except RemudaError:
            return  # whoever streams says so
        if job.state is not JobState.WAITING:
            return
        is_due = time.monotonic() - written_at >= _WRITE_S
        if not began.is_set() and ahead != last and (is_due or ahead == 0):
            hint = "" if written_at else f"; `remuda why job {number}` says why"
            click.echo(f"job {number} waits, {ahead or 'none'} ahead of it{hint}", err=True)
            last, written_at = ahead, time.monotonic()


def _exit_code(job: Job) -> int:
    """The exit code to end with; anything but an exit of the command itself is reported on stderr."""
    if job.state is JobState.SUCCEEDED:
        return 0
    last = job.attempts[-1] if job.attempts else None
    if last is None or last.status != "exited":
        message = f"job {job.id} {'was cancelled' if job.state is JobState.CANCELLED else 'failed'}"
        if last is not None:
            message += f": {outcome(job)}" + (f", {last.detail}" if last.detail else "")
        click.echo(message, err=True)
    code = last.exit_code if last is not None and last.exit_code is not None else 1
    return code if 0 < code < 256 else 1


def outcome(job: Job) -> str:
    """How the last attempt ended, in a word or two."""
    last = job.attempts[-1] if job.attempts else None
    if last is None or last.status is None:
        return "-"
    if last.status == "signaled" and last.exit_code is not None:
        return f"ended by {_signal_name(last.exit_code - 128)}"
    return f"exit {last.exit_code}" if last.status == "exited" else last.status


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
