"""`remuda tiers apply` and `diff`: bring a cluster to what policies say once, or see what that would change."""

from typing import TYPE_CHECKING, Any

import click

from remuda.control.command import Command, Session, pass_session
from remuda.control.connect import connect_cluster
from remuda.output.show import Report, Table, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remuda.kube.client import Client
    from remuda.model.plans import Reason
    from remuda.tiers.decide.model import Policies

_files = click.argument("files", nargs=-1, metavar="[FILE]...")
_context = click.option("--context", metavar="NAME", help="Another context of the kubeconfig.")
#: what somebody should know of beside changes
_NOTABLE = frozenset(
    {
        "tier.foreign", "tier.unknown", "tier.two-policies", "tier.unread", "tier.node-foreign",
        "tiers.unread", "tiers.foreign", "tiers.claimed", "tiers.unread-policy",
    }
)  # fmt: skip


@click.command(cls=Command)
@_files
@_context
@click.option("--dry-run", is_flag=True, help="Only say what would be changed.")
@pass_session
def apply(session: Session, files: tuple[str, ...], context: str | None, dry_run: bool) -> None:
    """
    Give every namespace of a cluster what its tier says, once.

    Policies are those of FILE, else those that the cluster keeps, else the built-in tiers. Nothing that Remuda did not make
    is touched. `remuda up --cluster` does the same all the time.
    """
    if dry_run:
        _foresee(session, files, context)
        return
    import asyncio

    kept = asyncio.run(_apply(session, files, context))
    rows, data = [], []
    for action, outcome in kept.done:
        rows.append((outcome.detail if outcome.status == "done" else outcome.status, action.target))
        data.append({"object": action.target, "outcome": outcome.status, "detail": outcome.detail})
    wrong = [(action, outcome) for action, outcome in kept.done if outcome.status != "done"]
    notes = [one_line(f"{action.target}: {outcome.detail}") for action, outcome in wrong]
    notes += _notes(kept.reasons)
    count = len(rows) - len(wrong)
    line = f"{count} of {len(rows)} changes were made" if rows else "everything is as policies say"
    table = (Table(("DONE", "OBJECT"), tuple(rows)),) if rows else ()
    session.show(Report({"changes": data, "notes": notes}, table, (line, *notes)))
    if wrong or _is_unread(kept.reasons):
        raise SystemExit(1)


@click.command(cls=Command)
@_files
@_context
@pass_session
def diff(session: Session, files: tuple[str, ...], context: str | None) -> None:
    """
    What `remuda tiers apply` would change in a cluster.

    The exit code is 1 when something would be changed, and 0 when nothing would.
    """
    if _foresee(session, files, context):
        raise SystemExit(1)


def _foresee(session: Session, files: tuple[str, ...], context: str | None) -> bool:
    import asyncio

    from remuda.tiers.decide.differences import fields, sign
    from remuda.tiers.decide.outlook import foresee

    seen, policies = asyncio.run(_look(session, files, context))
    outlook = foresee(seen, policies)
    changes = [(sign(*change), change[0].target, fields(*change)) for change in outlook.changes]
    rows = tuple((what, target, one_line("; ".join(parts))) for what, target, parts in changes)
    notes = _notes(outlook.reasons)
    line = f"{len(rows)} changes would be made" if rows else "nothing would be changed"
    data = [{"change": what, "object": target, "fields": list(parts)} for what, target, parts in changes]
    table = (Table(("CHANGE", "OBJECT", "FIELDS"), rows),) if rows else ()
    session.show(Report({"changes": data, "notes": notes}, table, (line, *notes)))
    if _is_unread(outlook.reasons):
        raise SystemExit(1)
    return bool(rows)


def _notes(reasons: "Iterable[Reason]") -> list[str]:
    from remuda.output.words import sentence

    return [one_line(sentence(reason)) for reason in reasons if reason.code in _NOTABLE]


def _is_unread(reasons: "Iterable[Reason]") -> bool:
    return any(reason.code == "tiers.unread" for reason in reasons)


async def _apply(session: Session, files: tuple[str, ...], context: str | None) -> Any:
    from remuda.loop.clock import SystemClock
    from remuda.tiers.once import keep

    async with connect_cluster(context) as client:
        return await keep(client, await _policies(session, files, client), SystemClock())


async def _look(session: Session, files: tuple[str, ...], context: str | None) -> Any:
    from remuda.loop.clock import SystemClock
    from remuda.tiers.once import look

    async with connect_cluster(context) as client:
        policies = await _policies(session, files, client)
        return await look(client, policies, SystemClock()), policies


async def _policies(session: Session, files: tuple[str, ...], client: "Client") -> "Policies":
    """Those of files, else those that the cluster keeps, else the built-in tiers."""
    from remuda.tiers.commands.policies import policies_in, policies_of_files
    from remuda.tiers.decide.model import Policies

    found = policies_of_files(session, files) if files else await policies_in(client)
    return Policies(tuple(sorted(found, key=lambda policy: policy.name)))
