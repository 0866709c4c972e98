"""`remuda tiers plan`: what another policy, another tier or one more workload would do, before anybody makes the change."""

from typing import TYPE_CHECKING

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput
from remuda.tiers.commands.inputs import look, sources

if TYPE_CHECKING:  # not for --help
    from remuda.output.show import Report
    from remuda.rules.tiers import TierPolicy
    from remuda.tiers.decide.suppose import Change, Fit, Outcome
    from remuda.tiers.snapshot import Snapshot, Workload

_FORMS = "policy=FILE, namespace=NAME,tier=TIER, or workload=NAMESPACE/NAME,cpu=…,memory=…"
_SIZES = {"cpu": ("requests", "cpu"), "memory": ("requests", "memory"), "cpu-limit": ("limits", "cpu"),
          "memory-limit": ("limits", "memory"), "gpu": ("requests", "nvidia.com/gpu")}  # fmt: skip
_WORDS = {*_SIZES, "workload", "replicas", "tier"}


@click.command(cls=Command)
@sources
@click.option(
    "--suppose",
    "supposed",
    multiple=True,
    metavar="CHANGE",
    help=f"{_FORMS}; a workload also has replicas=, cpu-limit=, memory-limit=, gpu= and tier=. May be given several times.",
)
@pass_session
def plan(
    session: Session,
    /,
    context: str | None,
    files: tuple[str, ...],
    policy: tuple[str, ...],
    supposed: tuple[str, ...],
) -> None:
    """
    What if: another policy or tier, or one more workload.

    Both worlds are judged as if policies were applied and every pod made anew, so that what differs is of the change. Nothing
    is changed. Exit codes: 0 no error appears, 1 one does, 2 bad input.

    \b
    remuda tiers plan --suppose workload=home/wiki,replicas=2,cpu=500m,memory=512Mi
    remuda tiers plan --from cluster.json --policy old.yaml --suppose policy=new.yaml
    remuda tiers plan --suppose namespace=home,tier=3-edge
    """
    if not supposed:
        raise BadInput(f"nothing is supposed: give --suppose with {_FORMS}")
    from remuda.model.findings import is_any
    from remuda.tiers.decide.suppose import outcome_of

    snapshot, policies = look(session, context, files, policy)
    change = _change(session, supposed, snapshot, policies)
    made = outcome_of(snapshot, policies, change)
    session.show(_report(made))
    if is_any(made.appears, "error") or any(_is_short(each) or each.unplaced for each in made.fits):
        raise click.exceptions.Exit(1)


def _change(
    session: Session, texts: tuple[str, ...], snapshot: "Snapshot", policies: "tuple[TierPolicy, ...]"
) -> "Change":
    """Everything that is supposed; `BadInput` with all that is wrong."""
    from remuda.tiers.commands.policies import policies_of_files
    from remuda.tiers.decide.suppose import Change

    files = tuple(text.removeprefix("policy=") for text in texts if text.startswith("policy="))
    after = policies_of_files(session, files) if files else None
    known = {tier for each in after or policies for tier in each.tiers}
    tiers: dict[str, str] = {}
    workloads: list[Workload] = []
    problems: list[str] = []
    for text in texts:
        words = dict(part.partition("=")[::2] for part in text.split(","))
        try:
            if text.startswith("policy="):
                continue
            if words.keys() == {"namespace", "tier"} and all(words.values()):
                tiers[words["namespace"]] = words["tier"]
            elif "workload" in words and words.keys() <= _WORDS:
                workloads.append(_workload(words, snapshot, tiers))
            else:
                problems.append(f"--suppose {text}: write {_FORMS}")
            if (tier := words.get("tier")) and tier not in known:
                problems.append(
                    f"--suppose {text}: there is no tier {tier}: there are {', '.join(sorted(known))}"
                )
        except ValueError as error:
            problems.append(f"--suppose {text}: {error}")
    if problems:
        raise BadInput("\n".join(problems))
    return Change(after, tiers, tuple(workloads))


def _workload(words: dict[str, str], snapshot: "Snapshot", tiers: dict[str, str]) -> "Workload":
    """One more Deployment of one container; `ValueError` says what is wrong."""
    from remuda.model.amounts import already_read, amount, pod_sizes
    from remuda.model.workloads import WorkloadId
    from remuda.rules.tiers import PLAIN_LABEL
    from remuda.tiers.snapshot import Container, Containers, PodSpec, Workload

    namespace, _, name = words["workload"].partition("/")
    if not namespace or not name or "/" in name:
        raise ValueError("a workload is NAMESPACE/NAME")
    if any((each.id.namespace, each.id.name) == (namespace, name) for each in snapshot.workloads):
        raise ValueError(f"{namespace}/{name} is there already: suppose one of another name")
    if namespace not in snapshot.namespaces and namespace not in tiers:
        raise ValueError(f"there is no namespace {namespace}: suppose namespace={namespace},tier=… before it")
    sizes: dict[str, dict[str, int]] = {"requests": {}, "limits": {}}
    for word, (kind, resource) in _SIZES.items():
        if word in words:
            sizes[kind][resource] = amount(resource, words[word])
    replicas = words.get("replicas", "1")
    if not replicas.isdecimal() or not 0 < int(replicas) <= 100_000:
        raise ValueError(f"replicas is {replicas!r}: write a number from 1")
    containers = Containers((Container(name, sizes["requests"], sizes["limits"]),))
    asked, limited = pod_sizes(containers, already_read)
    whole = Containers(containers.all, requests=asked, limits=limited)
    labels = {PLAIN_LABEL: words["tier"]} if "tier" in words else {}
    return Workload(
        WorkloadId(namespace, "Deployment", name),
        labels,
        labels,
        PodSpec(whole),
        replicas=int(replicas),
        surge=1,
    )


def _is_short(fit: "Fit") -> bool:
    return fit.tight is not None and fit.tight.fits < fit.workload.replicas


def _report(made: "Outcome") -> "Report":
    from remuda.output.findings import describe, findings_table, row_of
    from remuda.output.show import Report, Table

    lines = []
    for fit in made.fits:
        who, wants = str(fit.workload.id), fit.workload.replicas
        tier = f"tier {fit.tier}" if fit.tier else "no tier"
        if fit.tight is None:
            lines.append(f"{who} ({tier}): no quota bounds it")
        else:
            terms = fit.tight.terms()
            quota = f"{terms['resource']} of ResourceQuota {terms['quota']}: {terms['used']} of {terms['hard']} used, {terms['needs']} a pod"
            lines.append(
                f"{who} ({tier}): the quota admits {min(fit.tight.fits, wants)} of {wants} pods; {quota}"
            )
        if fit.unplaced is not None:
            lines.append(f"{who}: no node takes it: {describe(fit.unplaced).found}")
    lines += [
        f"Namespace {each.namespace}: tier {each.before or 'none'} → {each.after or 'none'}"
        for each in made.moved
    ]
    first = tuple((each.node, each.before or "-", each.after or "-") for each in made.first)
    tables = [
        findings_table(made.appears, "table", row_of, "Appears"),
        findings_table(made.goes, "table", row_of, "Goes away"),
    ]
    if first:
        tables.append(Table(("NODE", "NOW", "THEN"), first, "First to be evicted"))
    return Report(made, tuple(tables), tuple(lines) or ("no namespace changes its tier",))
