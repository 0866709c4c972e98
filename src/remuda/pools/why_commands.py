"""`remuda why pool`, `why machine` and `why job`."""

import click

from remuda.control.command import Command, Session, pass_session
from remuda.control.why import at_option
from remuda.pools.questions import answer_why, complete_jobs, complete_machines, complete_pools

_history = click.option("--history", is_flag=True, help="Also what came before.")


@click.command(cls=Command)
@click.argument("name", shell_complete=complete_pools)
@at_option
@_history
@pass_session
def pool(session: Session, name: str, at: str | None, history: bool) -> None:
    """
    Why a pool has as many machines as it has.

    \b
    remuda why pool shell
    remuda why pool shell --at 10m
    remuda why pool shell --at 2026-01-31T14:05:00Z
    """
    answer_why(session, "pool", name, at, history=history)


@click.command(cls=Command)
@click.argument("name", shell_complete=complete_machines)
@at_option
@_history
@pass_session
def machine(session: Session, name: str, at: str | None, history: bool) -> None:
    """
    Why a machine was made or removed.

    For example: remuda why machine shell-7
    """
    answer_why(session, "machine", name, at, history=history)


@click.command(cls=Command)
@click.argument("name", metavar="NUMBER", shell_complete=complete_jobs)
@at_option
@_history
@pass_session
def job(session: Session, name: str, at: str | None, history: bool) -> None:
    """
    Why a job waits, runs or ended as it did.

    For example: remuda why job 12
    """
    answer_why(session, "job", name, at, history=history)
