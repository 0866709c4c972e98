"""What each finding of an audit of tiers means, and its sentences: what is, what should be, how to fix it."""

_APPLY = "remuda tiers apply"
_SIZE = "remuda rightsize review says how much it needs"
_EXEMPT = "[ ({exempt}: nothing refuses it)]"
_LIMIT_RANGE = f"the LimitRange of tier {{tier}}: {_APPLY} writes it"
_FULL = "{resource} of quota {quota}: {used} of {hard} used, one more pod takes {needs}"
_MORE_ROOM = "ask for less, raise the quota in the TierPolicy, or give the namespace another tier"

#: code → (meaning, what is, what should be, fix)
FINDINGS: dict[str, tuple[str, str, str, str]] = {
    "tiers.no-tier": (
        "The namespace has no tier, and is left alone.",
        "no tier: nothing bounds what runs there",
        "a tier, if it is to have one",
        "label it {label}=TIER, or set defaultTier in the TierPolicy",
    ),
    "tiers.unknown-tier": (
        "The namespace's label names a tier that there is not; it is left alone.",
        "{value}",
        "one of {known}",
        "[did you mean {alike}? ]Correct the label {label}, or add tier {value} to TierPolicy {policy}",
    ),
    "tiers.labels-disagree": (
        "Two labels of the namespace name different tiers; the one of the policy counts.",
        "{label} is {value}, and tier is {other}",
        "one tier",
        "remove the label tier, or correct one of them",
    ),
    "tiers.prefix-disagrees": (
        "The namespace's name begins with another tier than its label says; the label counts.",
        "{label} is {value}, and the name begins with {other}",
        "one tier",
        "correct the label, or remove it to go by the name",
    ),
    "tiers.two-policies": (
        "Two policies claim the namespace; it is left alone until one of them does not.",
        "claimed by {policies}",
        "one policy",
        "narrow spec.namespaces, or widen spec.excluded, of one of them",
    ),
    "tiers.limit-range-missing": (
        "The namespace lacks the LimitRange of its tier: containers that do not say get nothing.",
        "missing",
        _LIMIT_RANGE,
        _APPLY,
    ),
    "tiers.limit-range-differs": (
        "The LimitRange says something else than the tier.",
        "{differences}",
        "as tier {tier} says",
        f"{_APPLY}, or change the TierPolicy if this is meant",
    ),
    "tiers.quota-missing": (
        "The namespace lacks the ResourceQuota of its tier: nothing bounds what it takes together.",
        "missing",
        f"the ResourceQuota of tier {{tier}}: {_APPLY} writes it",
        _APPLY,
    ),
    "tiers.quota-differs": (
        "The ResourceQuota says something else than the tier.",
        "{differences}",
        "as tier {tier} says",
        f"{_APPLY}, or change the TierPolicy if this is meant",
    ),
    "tiers.priority-class-missing": (
        "The PriorityClass of a tier is not there: pods that name it are forbidden, and others have no priority.",
        "missing[, and {namespaces} have this tier]",
        "the PriorityClass of tier {tier}",
        _APPLY,
    ),
    "tiers.priority-class-differs": (
        "The PriorityClass of a tier has another value, or preempts otherwise.",
        "{found}",
        "{wanted}",
        "a class cannot be changed: delete it, which leaves running pods as they are, and " + _APPLY,
    ),
    "tiers.object-of-another": (
        "An object has the name that the tier's has, and somebody else made it: it is never touched.",
        "a {kind} without the labels of the policy",
        "one that Remuda made, or another name",
        "rename or delete it if nobody needs it, then " + _APPLY,
    ),
    "tiers.cpu-limits-injected": (
        "A LimitRange with a default or a maximum of CPU gives every container a CPU limit, whatever its pod says.",
        "{cpu}: the API server injects it as a CPU limit into every container",
        "no CPU limit: containers may use CPU that is free",
        "remove cpu from default and max; to bound CPU requests, use the tier's maxCpu, which admission enforces",
    ),
    "tiers.cpu-limits-demanded": (
        "A LimitRange with a maximum of CPU for pods refuses every pod without a CPU limit.",
        "{cpu}: a pod without a CPU limit is refused",
        "no maximum of CPU for pods",
        "remove cpu from max; to bound CPU requests, use the tier's maxCpu, which admission enforces",
    ),
    "tiers.quota-on-cpu-limits": (
        "A quota on CPU limits refuses every pod that has none.",
        "limits.cpu is bounded: a pod without a CPU limit is refused",
        "a quota on requests.cpu",
        "replace limits.cpu with requests.cpu",
    ),
    "tiers.quota-without-defaults": (
        "The namespace keeps limits of its own while a quota asks every pod for requests: a pod without them is refused.",
        "quota {quota} wants {resources} of every pod, and no LimitRange gives it[: refused are {workloads}]",
        "a LimitRange with defaults, or no quota on requests",
        "remove the label that opts out of limits, or write a LimitRange with defaultRequest of {resources}",
    ),
    "tiers.quota-exceeded": (
        "More is used than the quota allows: nothing new starts in the namespace.",
        "{used}[, {percent} %]",
        "at most {hard}",
        _MORE_ROOM,
    ),
    "tiers.quota-not-counted": (
        "The controllers have not counted what the quota has used, so nothing is enforced yet.",
        "no status",
        "hard and used",
        "look whether kube-controller-manager runs",
    ),
    "tiers.replicas-refused": (
        "The workload lacks pods, and the quota refuses them.",
        f"{{missing}} of {{replicas:pod}} missing; {_FULL}",
        "room for {missing} more, now for {fits}",
        _MORE_ROOM,
    ),
    "tiers.rollout-blocked": (
        "The workload cannot be updated: a rolling update makes new pods first, which the quota refuses, and none of the old may be missing.",
        f"{_FULL}; maxSurge {{surge}}, maxUnavailable 0 of {{replicas:pod}}",
        "room for one more pod, or maxUnavailable of 1",
        "set maxUnavailable to 1 or the strategy to Recreate; or " + _MORE_ROOM,
    ),
    "tiers.rollout-slow": (
        "A rolling update of the workload has no room for new pods, and has to stop old ones first.",
        f"{_FULL}; maxUnavailable {{unavailable}} of {{replicas:pod}}",
        "room for one more pod",
        _MORE_ROOM,
    ),
    "tiers.autoscaler-above-quota": (
        "The workload's autoscaler may want more pods than the quota allows.",
        f"up to {{most:pod}}; {_FULL}",
        "at most {reached:pod}, for which there is room",
        "lower maxReplicas of {autoscaler} to {reached}, or " + _MORE_ROOM,
    ),
    "tiers.quotas-above-cluster": (
        "The quotas of all namespaces promise more than the nodes have: not all of them can be used at a time.",
        "{beyond}",
        "quotas that the cluster can keep",
        "nothing, where namespaces use little of theirs; else smaller quotas, or more nodes",
    ),
    "tiers.cpu-limit": (
        "A container has a CPU limit: it is slowed down although CPU is free.",
        f"{{containers}}{_EXEMPT}",
        "a CPU request, and no limit",
        "remove limits.cpu; list the workload under spec.guaranteed of the TierPolicy if it is to be Guaranteed",
    ),
    "tiers.no-requests": (
        "A container requests nothing: nobody reserves anything for it, and it goes early when memory runs out.",
        f"no {{resources}} of {{containers}}{_EXEMPT}",
        "requests of CPU and memory",
        f"set them: {_SIZE}",
    ),
    "tiers.uneven-memory": (
        "A memory request is not the limit, in a tier that keeps no more than it was promised.",
        f"{{containers}}{_EXEMPT}",
        "memory request equal to the limit in tier {tier}",
        f"set both to the same: {_SIZE}",
    ),
    "tiers.request-above-default-limit": (
        "A template gives a memory request alone, above the default limit of its tier: the API server refuses its pods.",
        f"{{containers}}, and no limit; the default limit is {{default}}{_EXEMPT}",
        "a memory limit equal to the request",
        "set limits.memory to the request",
    ),
    "tiers.above-max-memory": (
        "A container has more memory than its tier allows: the API server refuses its pods.",
        f"{{containers}}{_EXEMPT}",
        "at most {most} in tier {tier}",
        f"ask for less ({_SIZE}), or give the namespace another tier",
    ),
    "tiers.above-max-cpu": (
        "A container requests more CPU than its tier allows: admission refuses its pods.",
        f"{{containers}}{_EXEMPT}",
        "at most {most} in tier {tier}",
        f"ask for less ({_SIZE}), or give the namespace another tier",
    ),
    "tiers.on-defaults": (
        "Containers got the defaults of a LimitRange, since they do not say what they need.",
        f"{{containers}}, in {{count:pod}}{_EXEMPT}",
        "requests and limits of their own",
        f"set them: {_SIZE}",
    ),
    "tiers.sidecars-on-defaults": (
        "Helper containers got the defaults of a LimitRange, which are meant for applications.",
        "{count} on {default}: {containers}; that wastes {count} × {each}, {wasted} in all",
        "{enough} each",
        "set their resources, in most charts under resources of each sidecar; or let admission do it: remuda tiers render",
    ),
    "tiers.no-priority-class": (
        "Pods lack the PriorityClass of their tier: a class that nobody uses protects nobody.",
        "{count} of {of:pod} without: {workloads}",
        "{name}",
        "let admission give it (remuda tiers render), or set priorityClassName; then restart them: a pod keeps what it was made with",
    ),
    "tiers.class-of-another-tier": (
        "Pods have the PriorityClass of another tier than theirs.",
        "{name} of {count:pod}",
        "{wanted}",
        "remove priorityClassName, or label the workload or its namespace with that tier",
    ),
    "tiers.own-priority-class": (
        "Pods have a PriorityClass for a reason of their own, or are runners: nothing gives them that of their tier, or refuses them.",
        "{classes}",
        "as it is",
        "nothing, if it is meant",
    ),
    "tiers.not-guaranteed": (
        "A workload that the policy lists as Guaranteed is not.",
        "{qos}: {missing}",
        "Guaranteed: limits of CPU and memory in every container, equal to the requests",
        "set them, also of init containers and sidecars",
    ),
    "tiers.burstable": (
        "Pods whose memory request is their limit are Burstable nevertheless: without CPU limits no pod is Guaranteed.",
        "{count:pod}",
        "as it is: requests of memory protect them, and CPU that is free may be used",
        "for those that need exclusive cores, list the workload under spec.guaranteed of TierPolicy {policy}, and set CPU limits",
    ),
    "tiers.evicted-before-lower-tier": (
        "Pods use more memory than they request: when their node runs out they are evicted before pods of lower priority that do not.",
        "{count:pod}; {pod} uses {used} of {request} requested, and goes before {spared} on {node}",
        "a request of what it uses",
        f"raise requests.memory: {_SIZE}",
    ),
    "tiers.memory-overcommitted": (
        "The memory limits of a node's pods come to more than it has: if all use theirs, pods are evicted or killed.",
        "{limits} of {allocatable}, {percent} %[, and {unlimited:pod} without a limit]; requested are {requested}",
        "limits within what the node has, or requests that are honest",
        "make memory requests equal to limits; the first to go are {first}",
    ),
    "tiers.gpu-not-selected": (
        "A pod asks for a GPU and does not select nodes that have one by their label.",
        "no {label}={value}",
        "{label}={value} in nodeSelector",
        "add it: the scheduler finds the node anyway, and who reads the manifest, too",
    ),
    "tiers.gpu-not-tolerated": (
        "A pod asks for a GPU and does not tolerate the taint of the nodes that have one.",
        "no toleration of {taint}[: one with effect {other} does not match it]",
        "a toleration with effect {effect}, or with none, which matches all",
        "add the toleration[, or remove effect {other} of the one that is there]",
    ),
    "tiers.gpu-not-requested": (
        "A pod selects nodes with GPUs and asks for none.",
        "selects {label}={value} without {resource}",
        "{resource} among its limits, or nodes without GPUs",
        "request {resource}, or remove the selector: on a node of GPUs it is in the way of those that need them",
    ),
    "tiers.off-gpu-by-host": (
        "A workload stays off nodes with GPUs by their names: that breaks when a card moves.",
        "not on {hosts}",
        "{label} NotIn {value}",
        "replace the hostname in the affinity by {label} NotIn {value}",
    ),
    "tiers.off-hosts": (
        "A workload stays off nodes by their names.",
        "not on {hosts}",
        "a label that says what is wrong with these nodes, or a taint",
        "replace the hostname in the affinity by a label of nodes",
    ),
    "tiers.pinned-to-host": (
        "A workload runs on nodes of certain names alone: without them it does not run at all.",
        "only on {hosts}",
        "a label that says what it needs of a node",
        "replace the hostname by a label of nodes; for a volume that is on one node, let its PersistentVolume say so",
    ),
    "tiers.gpu-node-untainted": (
        "A node with a GPU lacks the taint that keeps other pods off.",
        "{device} or a GPU to offer, and [{found}||no taint]",
        "{taint}",
        _APPLY,
    ),
    "tiers.gpu-node-unlabelled": (
        "A node with a GPU lacks the label that pods select: those that do never come.",
        "{device}, and no {label}",
        "{label}",
        "look whether GPU feature discovery runs there; or label the node",
    ),
    "tiers.gpu-not-offered": (
        "A node with a GPU offers none: no pod that asks for one can run there.",
        "{device}, and no {resource} allocatable",
        "{resource} allocatable",
        "look whether the device plugin runs there, and at its log",
    ),
    "tiers.gpu-taint-without-device": (
        "A node keeps pods off for a GPU that it does not have.",
        "{taint}, and no {device}",
        "no such taint",
        f"{_APPLY} removes it where Remuda set it; else remove it by hand",
    ),
    "tiers.not-read": (
        "A part of the cluster was not read: nothing is concluded from it.",
        "{message}",
        "all that an audit looks at",
        "grant what is missing, or add the file",
    ),
}
