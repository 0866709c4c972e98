"""`remuda capacity gate`: whether an overflow node may take a runner."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from remuda.capacity.commands.inputs import look, needed_policies, summary_option
from remuda.capacity.objects import CapacityPolicySpec, Envelope, Overflow
from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput, NotFound
from remuda.model.times import Instant, write_instant
from remuda.output.moments import age
from remuda.output.show import Report, Table

if TYPE_CHECKING:
    from remuda.capacity.decide.gates import Gate
    from remuda.capacity.snapshot import ScaleSet, Snapshot


def reading(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say what is read: `files`, `context` and `policy`."""
    for option in (
        click.option(
            "--from", "files", multiple=True, metavar="FILE",
            help="Files or directories of what kubectl get -o json prints, or -, instead of a cluster.",
        ),
        context_option,
        policy_option,
    ):  # fmt: skip
        command = option(command)
    return command


context_option = click.option("--context", metavar="NAME", help="Another context of the kubeconfig.")
policy_option = click.option(
    "--policy", multiple=True, metavar="FILE", help="The CapacityPolicy. Default: those the cluster keeps."
)


@click.command(cls=Command)
@click.argument("node")
@click.option("--envelope", "name", required=True, metavar="NAME", help="What a runner would carry.")
@click.option(
    "--set", "--lane", "only", metavar="SET", help="The scale set. Default: those that carry the envelope."
)
@click.option("--label", metavar="LABEL", help="The label whose policy counts, where several list the node.")
@click.option("--at", metavar="TIME", help="Judge ages and expiries as if it were then. Default: now.")
@summary_option
@reading
@pass_session
def gate(
    session: Session, /, node: str, name: str, only: str | None, label: str | None, at: str | None,
    summaries: tuple[str, ...], files: tuple[str, ...], context: str | None, policy: tuple[str, ...],
) -> None:  # fmt: skip
    """
    Whether an overflow node may take a runner.

    Prints each gate with its evidence, the age of that, and pass or fail.

    NODE is admitted only while all gates hold; what is not known does not pass. Exit codes: 0 all pass, 1 not all do,
    2 bad input. For example: remuda capacity gate sting --envelope large --policy policy.yaml
    """
    from remuda.capacity.decide.checked_gates import checked_gates

    known = needed_policies(session, policy, context, files)
    by, spec, overflow, envelope = _asked(known, node, name, label)
    snapshot = look(session, context, files, (node,), at, summaries)
    now = session.instant(at, session.now())
    scale_sets = _scale_sets(snapshot, spec, overflow, envelope, only)
    found = checked_gates(snapshot, spec, overflow, envelope, scale_sets, now)
    session.show(_gates_report(by, spec.label, node, name, found, now))
    raise click.exceptions.Exit(int(not all(item.holds for _, item in found)))


def _asked(
    known: dict[str, CapacityPolicySpec], node: str, name: str, label: str | None
) -> tuple[str, CapacityPolicySpec, Overflow, Envelope]:
    """The policy that knows the node as overflow, and the envelope it means."""
    from remuda.objects.problems import did_you_mean

    if label is not None and all(item.label != label for item in known.values()):
        there = ", ".join(sorted(item.label for item in known.values()))
        raise NotFound(f"there is no policy for {label}; there is: {there}")
    chosen = {key: item for key, item in known.items() if label in (None, item.label)}
    found = [
        (key, spec, item) for key, spec in chosen.items() for item in spec.nodes.overflow if item.node == node
    ]
    if not found:
        nodes = [item.node for spec in chosen.values() for item in spec.nodes.overflow]
        near = did_you_mean(node, nodes) or f"; they know: {', '.join(nodes) or 'none'}"
        raise NotFound(f"no policy knows {node} as an overflow node{near}")
    if len(found) > 1:
        labels = ", ".join(spec.label for _, spec, _ in found)
        raise BadInput(f"several policies know {node}: say --label, one of {labels}")
    by, spec, overflow = found[0]
    envelope = next((item for item in spec.envelopes if item.name == name), None)
    if envelope is None:
        names = [str(item.name) for item in spec.envelopes]
        near = did_you_mean(name, names) or f"; there is: {', '.join(names) or 'none'}"
        raise NotFound(f"policy {by} has no envelope {name}{near}")
    return by, spec, overflow, envelope


def _scale_sets(
    snapshot: "Snapshot", spec: CapacityPolicySpec, overflow: Overflow, envelope: Envelope, only: str | None
) -> "tuple[ScaleSet, ...]":
    from remuda.capacity.decide.gates import carriers, scale_sets_of
    from remuda.capacity.decide.rollback import is_scale_set
    from remuda.capacity.snapshot import SCALE_SETS

    if only is None:
        return carriers(snapshot, spec, overflow, envelope)
    there = list(scale_sets_of(snapshot, spec))
    found = tuple(scale_set for scale_set in there if is_scale_set(only, scale_set.id))
    if not found and not snapshot.is_unknown(SCALE_SETS):
        names = ", ".join(scale_set.id for scale_set in there) or "none"
        raise NotFound(f"no scale set or pool {only} carries {spec.label}; these do: {names}")
    return found


def _gates_report(
    by: str, label: str, node: str, envelope: str, found: "Sequence[tuple[str, Gate]]", now: Instant
) -> Report:
    is_open = all(item.holds for _, item in found)
    rows = tuple(
        (
            item.gate, item.state, "-" if item.read_at is None else age(now - item.read_at),
            "-" if item.expires is None else write_instant(item.expires), item.evidence,
        )
        for _, item in found
    )  # fmt: skip
    fixes = tuple((item.gate, item.fix) for _, item in found if not item.holds and item.fix)
    failed = sum(not item.holds for _, item in found)
    verdict = "1 gate does not hold" if failed == 1 else f"{failed} gates do not hold"
    verdict = "all gates hold" if is_open else verdict
    data = {
        "node": node, "label": label, "policy": by, "envelope": envelope, "pass": is_open,
        "gates": [
            {
                "gate": item.gate, "lane": scale_set or None, "state": item.state, "evidence": item.evidence,
                "readAt": None if item.read_at is None else write_instant(item.read_at),
                "ageSeconds": None if item.read_at is None else max(0, now - item.read_at) // 1_000,
                "expires": None if item.expires is None else write_instant(item.expires), "fix": item.fix,
            }
            for scale_set, item in found
        ],
    }  # fmt: skip
    tables = [Table(("GATE", "STATE", "AGE", "EXPIRES", "EVIDENCE"), rows)]
    tables += [Table(("GATE", "FIX"), fixes, "To do")] if fixes else []
    return Report(data, tuple(tables), (f"{node} for {envelope} of {label}: {verdict}",))
