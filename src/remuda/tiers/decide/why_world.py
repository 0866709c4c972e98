"""What is looked at to answer why."""

from collections.abc import Iterator

from msgspec import Struct

from remuda.model.findings import Finding
from remuda.rules.tiers import Membership, TierPolicy, tier_of, tier_of_workload
from remuda.tiers.decide.audit import audit
from remuda.tiers.decide.why_memory import Advices
from remuda.tiers.snapshot import Pod, Snapshot


class World(Struct, frozen=True):
    """What is looked at to answer: everything that was read, the policies, and what the last review of sizes said."""

    snapshot: Snapshot
    policies: tuple[TierPolicy, ...]
    advices: Advices = {}

    def member(self, namespace: str) -> tuple[Membership, TierPolicy | None]:
        """The tier of a namespace, and by which policy."""
        labels = self.snapshot.namespaces.get(namespace, {})
        found = tier_of(namespace, labels, self.policies)
        return found, next((each for each in self.policies if each.name == found.policy), None)

    def tier(self, pod: Pod) -> str:
        """The tier that decides a pod's priority; nothing where it has none."""
        member, policy = self.member(pod.namespace)
        return tier_of_workload(pod.labels, member.tier, policy) if member.tier and policy else ""


def judged(world: World, subject: str, scope: str = "") -> Iterator[Finding]:
    """What an audit finds about a subject, or within a scope; what it says to inform is left to the audit."""
    for found in audit(world.snapshot, world.policies, world.snapshot.at).findings:
        if found.severity != "info" and (found.subject == subject or (scope and found.scope == scope)):
            yield found
