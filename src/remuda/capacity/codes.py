"""What each finding of an audit means, and its sentences: what is, what should be, how to fix it (`remuda.output.findings`)."""

_AUDIT_AGAIN = "audit again, and write down under spec.evidence when it was and how many runners fitted"
_ROLL_BACK = "send scale sets back to primary nodes: remuda capacity rollback SET"
_ALL_FIT = "all sets at their maximum fit the admitted nodes"
_ADMITTED = "only nodes that the policy admits"
_MISSING_AMOUNTS = (
    "no {names}[ of {containers}]",
    "{names} given",
    "set {names}[ of {containers}] there[: {example}]",
)

#: code → (meaning, what is, what should be, fix)
CODES: dict[str, tuple[str, str, str, str]] = {
    "capacity.ceiling-exceeded": (
        "The maxima of the label's sets add up to more than the ceiling.",
        "{together} at maximum: {parts}",
        "at most {ceiling}",
        "lower maxima until they come to {ceiling}, or raise the ceiling after an audit that shows it fits",
    ),
    "capacity.running-above-ceiling": (
        "More runners of the label exist now than the ceiling allows.",
        "{running} running",
        "at most {ceiling}",
        "let runners end, and lower the maxima that allow so many",
    ),
    "capacity.ceiling-above-evidence": (
        "The ceiling is higher than what fitted when it was last audited.",
        "{ceiling}",
        "at most {fitted}, which fitted on {date}",
        "lower the ceiling to {fitted}, or " + _AUDIT_AGAIN,
    ),
    "capacity.evidence-too-old": (
        "The audit that justified the ceiling is older than its maximum age, or dated in the future.",
        "of {date}, [{days:day} ago||which is in the future]",
        "at most {max_age} old",
        _AUDIT_AGAIN,
    ),
    "capacity.ceiling-without-evidence": (
        "Nothing written down justifies the ceiling.",
        "none",
        "the audit that justified it",
        _AUDIT_AGAIN,
    ),
    "capacity.label-not-found": (
        "No set carries the label.",
        "no set carries it",
        "a label that a set carries",
        "[did you mean {alike}?||there is: {known}]",
    ),
    "capacity.unbounded-set": (
        "The set has no maximum: GitHub's controller takes that as no limit.",
        "∞",
        "[at most {share}||a number]",
        "set {field} to [{share}||1]",
    ),
    "capacity.minimum-not-zero": (
        "The set keeps runners warm, and no decision that still holds allows it.",
        "{min}[; the decision of {who} for a warm pool ended on {until}]",
        "0",
        "set {field} to 0, or write down who decided on a warm pool, why and until when: spec.sets[].warmPool",
    ),
    "capacity.newcomer-above-default": (
        "A set that the policy does not list has a maximum above that of a newcomer.",
        "{max}",
        "at most {share}, since the policy does not list the set",
        "set {field} to {share}, or list the set in {policy} under spec.sets with its share",
    ),
    "capacity.set-above-its-share": (
        "The set's maximum is above what the policy gives it.",
        "{max}",
        "at most {share}",
        "set {field} to {share}, or raise its share in {policy} under spec.sets",
    ),
    "capacity.set-not-found": (
        "The policy lists a set that is not there or does not carry the label.",
        "{name}, with {max}",
        "a set that carries {label}",
        "remove it, or fix its name; its share is free for others",
    ),
    "capacity.envelope-not-carried": (
        "The set's runners do not carry the envelope that the policy names for it.",
        "{amount}",
        "{expected}, as envelope {envelope} says",
        "set it to {quantity}, or name another envelope for the set in {policy}",
    ),
    "capacity.repo-shaped-label": (
        "A label that workflows target names a repository or a node instead of a capability.",
        "{label}",
        "a label that names a capability: not like {pattern}",
        "give the set a label that says what its nodes can do, and let workflows target that",
    ),
    "capacity.missing-requests": (
        "The set's runners do not request processors and memory, so nothing can be counted.",
        *_MISSING_AMOUNTS,
    ),
    "capacity.missing-limits": ("The set's runners have no limit for memory.", *_MISSING_AMOUNTS),
    "capacity.missing-ephemeral-storage": (
        "Local storage is not requested or not limited where it must be.",
        "no {missing} for ephemeral-storage",
        "both given, since [the set may be on {reached}||the policy requires it]",
        "give runners ephemeral-storage in {missing}",
    ),
    "capacity.runners-refused": (
        "The API server would refuse the set's runners, and the controller gives them up for good.",
        "{message}",
        "pods that the API server takes",
        "change the set, or what refuses it: a runner whose pod is refused is lost, unless a quota refused it",
    ),
    "capacity.node-name-set": (
        "The set's runners are put on a node without asking the scheduler: nothing keeps more there than fit.",
        "{node}",
        "not given",
        "select nodes by labels: without the scheduler, the kubelet rejects what is too much, and the runner is lost",
    ),
    "capacity.placement-uncertain": (
        "Runners may not fit where their resources do: something that is not known decides it.",
        "{unsure}",
        "placed by what an audit can count",
        "try it: only the cluster knows; resources alone are counted here",
    ),
    "capacity.quota-counts-nothing": (
        "A quota counts runners by a PriorityClass that the set's runners do not carry.",
        "[{carried}||none]",
        "{expected}, which [ResourceQuota {quota} counts||{policy} names for its runners]",
        "set {field} to {expected}: without it no quota counts these runners",
    ),
    "capacity.set-being-deleted": (
        "The set is being deleted: it does not count, and its runners count as other pods.",
        "being deleted",
        "gone",
        "wait until it is gone; one that stays has a finalizer that nobody takes off",
    ),
    "capacity.implausible-amount": (
        "The set's runners ask for so little or so much of something that it must be a mistake.",
        "{message}",
        "a plausible amount",
        "correct it",
    ),
    "capacity.set-outdated": (
        "The controller says that the set is out of date: it starts no runners.",
        "{phase}",
        "Running",
        "look at the controller's log: a set that was edited may have to be deleted and made again",
    ),
    "capacity.envelope-fits-nowhere": (
        "No admitted node takes one runner of this size.",
        "[{envelope}, ]{amounts}: {why}",
        "fits at least one admitted node",
        ("make [envelope {envelope} smaller, or admit a node that takes it||requests smaller, make room on a node, or let the"
        " set onto a larger admitted node]"),
    ),
    "capacity.aggregate-does-not-fit": (
        "All sets at their maximum do not fit the admitted nodes: a bound proves it.",
        "{together} at maximum do not fit: {bound}",
        _ALL_FIT,
        "lower maxima, make requests smaller, or admit another node; remuda capacity plan tries such changes",
    ),
    "capacity.aggregate-placement-not-found": (
        "All sets at their maximum may not fit: no placement was found, and no proof that there is none.",
        "no placement found for {left} of {together} at maximum",
        _ALL_FIT,
        "lower maxima or make requests smaller until a placement is found",
    ),
    "capacity.toleration-admits-other-node": (
        "A toleration lets runners onto a node that the policy does not admit.",
        "tolerates {taints}, so that runners may be on {nodes}",
        _ADMITTED,
        "remove the toleration of {taints}, or admit the node for this envelope in {policy}",
    ),
    "capacity.selector-admits-other-node": (
        "The selector lets runners onto a node that the policy does not admit.",
        "runners may be on {nodes}",
        _ADMITTED,
        "select {labels}",
    ),
    "capacity.hostname-in-selector": (
        "The set is tied to a node by name.",
        "tied to {nodes}",
        "{expected}",
        "select the capability: a set that is tied to a node stops with it[ ({labels})]",
    ),
    "capacity.limit-exceeds-node": (
        "One runner may use more than an admitted node has.",
        "{amount}, more than there is on {nodes}",
        "at most {most}",
        "lower the limit, or keep the set off these nodes: a runner that uses it all is killed, or others are",
    ),
    "capacity.overflow-gate": (
        "A gate of an overflow node does not hold.",
        "gate {gate} of {node} {state}[ for envelope {envelope}]: {evidence}",
        "every gate of an overflow node holds",
        "[{fix}||remuda capacity gate {node} --envelope {envelope} shows all of them]",
    ),
    "capacity.overflow-not-preferring-primary": (
        "The set may be on an overflow node and does not prefer primary ones.",
        "may be on {node}, and prefers no primary node to it",
        "prefers primary nodes",
        ("prefer a label that primary nodes have and this node does not, or NotIn its hostname: "
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"),
    ),
    "capacity.overflow-without-guardrails": (
        "The policy admits an overflow node without bounds for memory or local storage.",
        "no {names}",
        "{names} given, the most that runners may come to on {node}",
        "set {names} there, like {example}",
    ),
    "capacity.overflow-above-guardrails": (
        "Runners ask for more than an overflow node's guardrails allow.",
        "[runners {verb} {together} together: {who}||{amount}]",
        "at most {bound}[, the guardrail ({guardrail}) of {node}]",
        "[make it smaller, or keep the set off {node}: take its toleration off||let runners end, and " + _ROLL_BACK + "]",
    ),
    "capacity.too-much-overflow": (
        "More runners are on an overflow node than are allowed at a time.",
        "{running:runner}: {who}",
        "at most {most} at a time",
        "let the surplus end, and " + _ROLL_BACK,
    ),
    "capacity.overflow-not-bounded": (
        "Nothing keeps more runners off an overflow node than are allowed at a time.",
        "{possible:runner} or more can be there at a time: {who}",
        "at most {most} at a time",
        "let a device plugin on the node offer as many as are allowed, or lower the maxima of these sets",
    ),
    "capacity.overflow-node-not-found": (
        "The policy lists an overflow node that is not there.",
        "{node}",
        "a node that is there",
        "fix its name or remove it",
    ),
    "capacity.not-read": (
        "A part of the cluster could not be read: nothing is concluded from it.",
        "{message}",
        "read",
        "allow reading it, or add a file of it: until then nothing is concluded from it",
    ),
}  # fmt: skip
#: rule → what it means
RULES = {code.partition(".")[2]: meaning for code, (meaning, *_) in CODES.items()}

#: code → (meaning, sentence): what a label has, and what keeps it from more
REASONS: dict[str, tuple[str, str]] = {
    "label.has-room": (
        "More runners of the label may start.",
        "runs {running} of at most {ceiling}: {free} more may start",
    ),
    "label.held-by-ceiling": (
        "As many runners of the label run as its ceiling allows.",
        "runs {running} of at most {ceiling}: held by the ceiling of {policy}",
    ),
    "label.above-ceiling": (
        "More runners of the label run than its ceiling allows.",
        "runs {running}, {over} above the ceiling of {ceiling} of {policy}",
    ),
    "label.held-by-maxima": (
        "Every set of the label runs as many runners as it may, which is less than the ceiling.",
        "runs {running} of at most {ceiling}: held by the maxima of its sets, {max} together",
    ),
    "label.held-by-nodes": (
        "The admitted nodes hold fewer runners than the sets of the label may have, within the ceiling.",
        "runs {running} of at most {ceiling}: held by its nodes, {bound}",
    ),
    "label.without-ceiling": (
        "No policy has a ceiling for the label.",
        "runs {running:runner}, and no policy holds it: its sets may have {together} together",
    ),
    "label.without-sets": (
        "A policy is for the label, and no set carries it.",
        "has no set[, and policy {policy} waits for one]",
    ),
    "label.unknown": ("What runs under the label could not be read.", "is not known: {what}"),
}
#: all of them
WORDS: dict[str, tuple[str, ...]] = {**CODES, **REASONS}
