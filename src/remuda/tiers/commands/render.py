"""`remuda tiers render`: what tiers give, for people who apply with something else."""

from typing import TYPE_CHECKING

import click

from remuda.control.command import Command, Session, pass_session
from remuda.control.connect import connect_cluster
from remuda.errors import BadInput
from remuda.output.show import Report
from remuda.rules.tiers import PLAIN_LABEL, TierPolicy, tier_of

if TYPE_CHECKING:
    from remuda.tiers.rendering import Rendered

#: the versions whose MutatingAdmissionPolicies are as ours
VERSIONS = ("v1", "v1beta1")
Labels = dict[str, dict[str, str]]


@click.command(cls=Command)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--as", "what", type=click.Choice(["yaml", "kyverno", "terraform"]), default="yaml", show_default=True,
    help="Manifests for kubectl apply, ClusterPolicies of Kyverno, or resources of Terraform's Kubernetes provider.",
)  # fmt: skip
@click.option(
    "--namespace", "named", multiple=True, metavar="NAME[=TIER]",
    help="A namespace, and its tier where its name does not say it.",
)  # fmt: skip
@click.option(
    "--from", "dumps", multiple=True, metavar="FILE",
    help="Files or directories with the namespaces that there are, as kubectl get namespaces -o json prints them, or -.",
)  # fmt: skip
@click.option(
    "--cluster", "is_cluster", is_flag=True,
    help="Read the namespaces, what the server serves and, without FILE, the policies from the cluster of the kubeconfig.",
)  # fmt: skip
@click.option("--context", metavar="NAME", help="The same from another context of the kubeconfig.")
@click.option(
    "--mutating", type=click.Choice(VERSIONS),
    help="The version in which the server serves MutatingAdmissionPolicies. Default: none, or what --cluster finds.",
)  # fmt: skip
@pass_session
def render(
    session: Session, /, files: tuple[str, ...], what: str, named: tuple[str, ...], dumps: tuple[str, ...],
    is_cluster: bool, context: str | None, mutating: str | None,
) -> None:  # fmt: skip
    """
    Print what tiers give, for Git, Kyverno or Terraform.

    The TierPolicies are those of the files, else the built-in one. Namespaces are given by name, read from files or from the
    cluster; without any only what is of the cluster as a whole is printed. yaml is exactly what the loop applies, in its
    order; with kyverno namespaces get what is theirs from Kyverno.
    """
    from remuda.tiers.commands.policies import policies_of_files
    from remuda.tiers.rendering import manifests

    if dumps and (is_cluster or context):
        raise BadInput(
            "--from reads namespaces from files, and --cluster and --context from a cluster: leave one out"
        )
    policies: tuple[TierPolicy, ...] | None = policies_of_files(session, files) if files else None
    namespaces, default_class = _read(session, dumps) if dumps else ({}, "")
    if is_cluster or context:
        import asyncio

        policies, namespaces, served, default_class = asyncio.run(_ask(context, policies))
        mutating = mutating or served
    known = policies or policies_of_files(session, ())
    namespaces |= _named(named, known)
    if what == "kyverno":
        from remuda.tiers.rendering import kyverno

        made = kyverno.render(known)
    else:
        made = manifests(known, namespaces, mutating, default_class)
    _print(session, made, what)


async def _ask(
    context: str | None, policies: tuple[TierPolicy, ...] | None
) -> tuple[tuple[TierPolicy, ...], Labels, str | None, str]:
    """Policies, namespaces with their labels, the version of mutation that is served, and the class of pods without one."""
    from remuda.kube.discovery import served
    from remuda.kube.resources import NAMESPACES, PRIORITY_CLASSES
    from remuda.tiers.commands.policies import policies_in
    from remuda.tiers.manifests import Namespace, PriorityClass

    async with connect_cluster(context) as client:
        known = policies or await policies_in(client)
        listed = await client.list(NAMESPACES, Namespace)
        found = {
            each.metadata.name: dict(each.metadata.labels)
            for each in listed.items
            if not each.metadata.deletion_timestamp
        }
        group = "admissionregistration.k8s.io"
        versions = [each.version async for each in served(client, group, "mutatingadmissionpolicies")]
        classes = (await client.list(PRIORITY_CLASSES, PriorityClass)).items
    usual = next((each.metadata.name for each in classes if each.global_default), "")
    return known, found, next((each for each in versions if each in VERSIONS), None), usual


def _read(session: Session, dumps: tuple[str, ...]) -> tuple[Labels, str]:
    """Namespaces with their labels, and the class of pods without one, if the files say it."""
    from remuda.tiers.observe.files import read_files

    read = read_files(dumps, session.now())
    if read.problems:
        raise BadInput("\n".join(map(str, read.problems)))
    if not read.snapshot.namespaces:
        raise BadInput(
            f"there is no Namespace in {', '.join(dumps)}: add what `kubectl get namespaces -o json` prints"
        )
    usual = next((each.name for each in read.snapshot.priority_classes if each.is_default), "")
    return {name: dict(labels) for name, labels in read.snapshot.namespaces.items()}, usual


def _named(named: tuple[str, ...], policies: tuple[TierPolicy, ...]) -> Labels:
    """Namespaces that were given by name; `BadInput` with all of them that have no tier."""
    from remuda.objects.scalars import ObjectName

    found: Labels = {}
    problems = []
    for each in named:
        name, is_said, tier = each.partition("=")
        try:
            ObjectName.parse(name)
        except ValueError as error:
            problems.append(f"--namespace {each}: {error}")
            continue
        found[name] = {PLAIN_LABEL: tier} if is_said else {}
        member = tier_of(name, found[name], policies)
        if not member.tier:
            problems.append(f"--namespace {each}: {_why_not(name, tier, policies)}")
    if problems:
        raise BadInput("\n".join(problems))
    return found


def _why_not(name: str, tier: str, policies: tuple[TierPolicy, ...]) -> str:
    governing = [policy for policy in policies if policy.governs(name)]
    if not governing:
        return "no policy is for it, by its name: see namespaces and excluded"
    if len(governing) > 1:
        return f"two policies claim it: {', '.join(policy.name for policy in governing)}"
    there = ", ".join(governing[0].tiers)
    if tier:
        return f"there is no tier {tier}: there are {there}"
    return f"its name begins with no tier: write {name}=TIER, with one of {there}"


def _print(session: Session, made: "Rendered", what: str) -> None:
    from remuda.output.texts import comments, yaml_text
    from remuda.tiers.rendering import terraform

    if session.form == "json" and what != "terraform":
        session.show(Report({"apiVersion": "v1", "kind": "List", "items": list(made.objects)}))
        return
    head = "" if session.quiet else comments(made.notes)
    body = terraform.write(made.objects) if what == "terraform" else yaml_text(made.objects)
    click.echo(head + ("" if what == "terraform" else "---\n") + body, nl=False)
