"""What each reason of the loop means, and its sentence."""

_AGAIN = "{object} could not be changed: {detail}; tried again at {retry_at}"

#: code → (meaning, sentence)
REASONS: dict[str, tuple[str, str]] = {
    "tier.settled": (
        "The namespace has the LimitRange and the ResourceQuota of its tier.",
        "has the limits and the quota of tier {tier}, by policy {policy}",
    ),
    "tier.own": (
        "The namespace keeps limits or a quota of its own, as its labels say, and has the rest of its tier.",
        "is of tier {tier} and keeps its own {own}",
    ),
    "tier.applying": (
        "An object of its tier is missing or was changed, and is written.",
        "is of tier {tier}: {object} is written",
    ),
    "tier.opting-out": (
        "A label says that it keeps its own limits or quota: those of its tier are removed.",
        "is of tier {tier} and says {label}=true: {object} is removed",
    ),
    "tier.removing": (
        "The namespace has no tier any more: what its tier gave is removed, the quota before the limits.",
        "has no tier any more: {object} is removed",
    ),
    "tier.none": (
        "The namespace says no tier, and its policy has none for such: it is left alone.",
        "says no tier and is left alone: policy {policy} has no defaultTier",
    ),
    "tier.unknown": (
        "Its label names a tier that its policy does not have: nothing is touched.",
        "says {label}={value}, and policy {policy} has no such tier: nothing is touched",
    ),
    "tier.two-policies": (
        "Two policies are for the namespace: nothing is touched.",
        "is left alone because several policies are for it: {other}",
    ),
    "tier.terminating": (
        "The namespace is being deleted: nothing is written there.",
        "is being deleted: nothing is written there",
    ),
    "tier.foreign": (
        "An object has the name of one that its tier gives, and Remuda did not make it: it is never touched.",
        "is of tier {tier}, and {object} was not made by Remuda: it stays, and nothing after it is written; delete it, or opt out",
    ),
    "tier.failed": (
        "A change in the namespace was refused, and is tried again later.",
        "is of tier {tier}: " + _AGAIN,
    ),
    "tier.waiting": (
        "So many changes are under way that one of the namespace waits for a later cycle.",
        "is of tier {tier}: {object} waits until other changes are made",
    ),
    "tier.unread": (
        "The policy that its objects were made for cannot be read: they stay as they are.",
        "stays as it is: policy {policy} cannot be read",
    ),
    "tier.node-marked": ("The node carries a GPU and its taint.", "carries a GPU and the taint {taint}"),
    "tier.node-marking": (
        "The node carries a GPU and gets its taint.",
        "carries a GPU: taint {taint} is put on it",
    ),
    "tier.node-clearing": (
        "The node carries no GPU any more: the taint that Remuda put on it is taken off.",
        "carries no GPU any more: taint {taint} is taken off it",
    ),
    "tier.node-noting": (
        "A taint that Remuda put on the node is gone or somebody else's now: its annotation is brought up to date.",
        "has an annotation of Remuda's taints that is brought up to date: {taint}",
    ),
    "tier.node-foreign": (
        "The node has a taint of this key and effect with another value, which Remuda did not put there: it stays.",
        "carries a GPU, and another taint in the place of {taint} that Remuda did not put there: it stays",
    ),
    "tier.node-failed": ("The node could not be changed; it is tried again later.", _AGAIN),
    "tier.node-waiting": (
        "So many changes are under way that the node waits for a later cycle.",
        "waits until other changes are made: taint {taint}",
    ),
    "tiers.policy": (
        "How many namespaces a policy has.",
        "has {namespaces:namespace}; {settled:is|are} as their tier says[; {blocked:waits|wait} for somebody]",
    ),
    "tiers.claimed": (
        "Two policies say the same object of the cluster differently: the first by name has it.",
        "says {object} otherwise than policy {owner}, which has it",
    ),
    "tiers.unread": (
        "Objects of a kind cannot be read: nothing that depends on them is touched.",
        "objects cannot be read, and nothing that depends on them is touched: {detail}",
    ),
    "tiers.applying": ("An object of the cluster is missing or was changed, and is written.", "is written"),
    "tiers.renewing": (
        "The server lets a PriorityClass's value never be changed: it is deleted and made again at once.",
        "is deleted and made again, since the server lets its value not be changed; pods keep the priority they have",
    ),
    "tiers.removing": (
        "No policy wants the object any more: it is removed.",
        "is removed: no policy wants it any more",
    ),
    "tiers.later": (
        "The object is removed when nothing refers to it any more.",
        "is removed when nothing refers to it any more",
    ),
    "tiers.after": ("The object is written when what it refers to is there.", "is written after {other}"),
    "tiers.foreign": (
        "An object of the cluster has the name of one that a policy gives, and Remuda did not make it: it stays.",
        "was not made by Remuda and stays as it is",
    ),
    "tiers.unread-policy": (
        "The policy that the object was made for cannot be read: it stays as it is.",
        "stays as it is: policy {policy} cannot be read",
    ),
    "tiers.failed": ("A change of an object of the cluster was refused, and is tried again later.", _AGAIN),
    "tiers.waiting": (
        "So many changes are under way that an object of the cluster waits for a later cycle.",
        "waits until other changes are made",
    ),
}
