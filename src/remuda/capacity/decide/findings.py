"""What an audit finds: the form of a finding, and every rule there is."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from remuda.model.findings import Place

Severity: TypeAlias = Literal["error", "warning", "info"]
#: the gravest first
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Finding(Struct, frozen=True):
    """Something that is not as it should be: where, what is, what should be, and how to fix it."""

    rule: str
    severity: Severity
    label: str
    #: its kind and name
    object: str
    field: str
    is_: str = msgspec.field(name="is")
    should: str
    fix: str
    place: Place = Place()


def gravest(findings: Iterable[Finding], least: Severity) -> bool:
    """Whether there is any at or above a severity."""
    grave = SEVERITIES[: SEVERITIES.index(least) + 1]
    return any(finding.severity in grave for finding in findings)


#: rule → what it means
RULES: dict[str, str] = {
    "ceiling-exceeded": "The maxima of the label's sets add up to more than the ceiling.",
    "running-above-ceiling": "More runners of the label are there now than the ceiling allows.",
    "ceiling-above-evidence": "The ceiling is higher than what fitted when it was last audited.",
    "evidence-too-old": "The audit that justified the ceiling is older than its maximum age, or dated in the future.",
    "ceiling-without-evidence": "Nothing written down justifies the ceiling.",
    "label-not-found": "No set carries the label.",
    "unbounded-set": "The set has no maximum: GitHub's controller takes that as no limit.",
    "minimum-not-zero": "The set keeps runners warm, and no decision that still holds allows it.",
    "newcomer-above-default": "A set that the policy does not list has a maximum above that of a newcomer.",
    "set-above-its-share": "The set's maximum is above what the policy gives it.",
    "set-not-found": "The policy lists a set that is not there or does not carry the label.",
    "envelope-not-carried": "The set's runners do not carry the envelope that the policy names for it.",
    "repo-shaped-label": "A label that workflows target names a repository or a node instead of a capability.",
    "missing-requests": "The set's runners do not request processors and memory, so that nothing can be counted.",
    "missing-limits": "The set's runners have no limit for memory.",
    "missing-ephemeral-storage": "Local storage is not requested or not limited where it must be.",
    "runners-refused": "The API server would refuse the set's runners, and the controller gives them up for good.",
    "node-name-set": "The set's runners are put on a node without asking the scheduler: nothing keeps more there than fit.",
    "placement-uncertain": "Runners may not fit where their resources do: something else decides it that cannot be told.",
    "quota-counts-nothing": "A quota counts runners by a PriorityClass that the set's runners do not carry.",
    "set-being-deleted": "The set is being deleted: it does not count, and its runners count as other pods.",
    "implausible-amount": "The set's runners ask for so little or so much of something that it cannot be meant.",
    "set-outdated": "The controller says that the set is out of date: it starts no runners.",
    "envelope-fits-nowhere": "No admitted node takes one runner of this size.",
    "aggregate-does-not-fit": "All sets at their maximum do not fit the admitted nodes: a bound proves it.",
    "aggregate-placement-not-found": "All sets at their maximum may not fit: no placement was found, and no proof that there is none.",
    "toleration-admits-other-node": "A toleration lets runners onto a node that the policy does not admit.",
    "selector-admits-other-node": "The selector lets runners onto a node that the policy does not admit.",
    "hostname-in-selector": "The set is tied to a node by name.",
    "limit-exceeds-node": "One runner may use more than an admitted node has.",
    "overflow-gate": "A gate of an overflow node does not hold.",
    "overflow-not-preferring-primary": "The set may be on an overflow node and does not prefer primary ones.",
    "overflow-without-guardrails": "The policy admits an overflow node without bounds for memory or local storage.",
    "overflow-above-guardrails": "Runners ask for more than an overflow node's guardrails allow.",
    "too-much-overflow": "More runners are on an overflow node than are allowed at a time.",
    "overflow-not-bounded": "Nothing keeps more runners off an overflow node than are allowed at a time.",
    "overflow-node-not-found": "The policy lists an overflow node that is not there.",
    "not-read": "A part of the world could not be read: nothing is concluded from it.",
}
