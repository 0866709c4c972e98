"""
What rules of admission ask about a pod, in CEL: the tier of its namespace, who is exempt, and what of it is not as it should be.

Admission is asked after the API server's own LimitRanger and Priority have made their changes: a container that said nothing
has defaults by now, and an annotation says which. Every field may be absent, and `has` comes before each look.
"""

from collections.abc import Iterable, Iterator

from remuda.model.amount_texts import quantity
from remuda.rules.cel import Condition, Judged, like, listed, mapped, quoted, whole
from remuda.rules.tiers import PLAIN_LABEL, TierPolicy

#: what LimitRanger writes on a pod that it gave something: `LimitRanger plugin set: cpu, memory request for container a; …`
LIMIT_RANGER = "kubernetes.io/limit-ranger"
_SET = "LimitRanger plugin set: "
#: lists of containers, and what LimitRanger calls one of each
LISTS = {"containers": "container", "initContainers": "init container"}
#: what every pod of GitHub's controller for runners carries, its listeners too
RUNNER_LABELS = ("actions.github.com/scale-set-name", "actions-ephemeral-runner")
#: a pod that a kubelet runs from a file of its node, which its mirror here cannot change
MIRROR = ("kubernetes.io/config.mirror", "kubernetes.io/config.source")
TIER_CLASS = "tier-"


def no_mirror() -> Condition:
    """Pods that exist whatever is said of them here are left out."""
    has = f"has(object.metadata.annotations) && {listed(MIRROR)}.exists(a, a in object.metadata.annotations)"
    return Condition("no-mirror-of-a-static-pod", f"!({has})")


def no_runner() -> Condition:
    """Runners are left out: one whose pod is refused is lost for good."""
    return Condition("no-runner", f"!({is_runner()})")


def is_runner() -> str:
    """Whether a pod is made by GitHub's controller for runners."""
    return f"has(object.metadata.labels) && {listed(RUNNER_LABELS)}.exists(l, l in object.metadata.labels)"


def no_own_class(default_class: str) -> Condition:
    """Pods with a class for a reason of their own are left out; the one that the cluster gives everybody is none."""
    return Condition("no-class-of-its-own", f"!({has_own_class(default_class)})")


def has_own_class(default_class: str) -> str:
    """Whether a pod has a class that is no tier's."""
    return f"{has_class(default_class)} && !object.spec.priorityClassName.startsWith({quoted(TIER_CLASS)})"


def has_class(default_class: str) -> str:
    """Whether a pod has a class other than what the cluster gives everybody."""
    return f"has(object.spec.priorityClassName) && !(object.spec.priorityClassName in {listed(dict.fromkeys(('', default_class)))})"


def tier_variables(policy: TierPolicy, others: Iterable[TierPolicy] = ()) -> Iterator[Condition]:
    """
    `tier` is what `remuda.rules.tiers.tier_of` answers for the pod's namespace; empty where it is left alone.

    Of `others`, policies beside this one, only the names of their namespaces count.
    """
    name = "namespaceObject.metadata.name"
    yield Condition(
        "namespaceLabels",
        "has(namespaceObject.metadata.labels) ? namespaceObject.metadata.labels : {}",
    )
    governing = [policy, *(other for other in others if other.name != policy.name)]
    for at, each in enumerate(governing):
        yield Condition(f"governs{at}", like(name, each.namespaces))
        yield Condition(f"excludes{at}", like(name, each.excluded))
    prefixes = sorted(policy.tiers, key=len, reverse=True)
    yield Condition(
        "prefixes",
        f"{listed(prefixes)}.filter(t, {name} == t || {name}.startsWith(t + '-'))",
    )
    said = f"size(variables.prefixes) > 0 ? variables.prefixes[0] : {quoted(policy.default_tier or '')}"
    for label in reversed(_labels(policy)):
        value = f"variables.namespaceLabels[{quoted(label)}]"
        known = f"{value} in {listed(policy.tiers)} ? {value} : ''"
        said = f"{quoted(label)} in variables.namespaceLabels ? ({known}) : ({said})"
    first, *rivals = (f"variables.governs{at} && !variables.excludes{at}" for at in range(len(governing)))
    governed = " && ".join([first, *(f"!({rival})" for rival in rivals)])
    yield Condition("tier", f"!({governed}) ? '' : ({said})")


def _labels(policy: TierPolicy) -> tuple[str, ...]:
    return tuple(dict.fromkeys((policy.label, PLAIN_LABEL)))


def workload_tier(policy: TierPolicy) -> str:
    """The tier that decides a pod's priority: what its own labels say, else that of its namespace."""
    said = "variables.tier"
    for label in reversed(_labels(policy)):
        value = f"object.metadata.labels[{quoted(label)}]"
        known = f"has(object.metadata.labels) && {quoted(label)} in object.metadata.labels && {value} in {listed(policy.tiers)}"
        said = f"({known} ? {value} : {said})"
    return said


def size_variables(policy: TierPolicy) -> Iterator[Condition]:
    """What rules about sizes share: what LimitRanger gave, who keeps its own limits, and whose CPU limits are meant."""
    at = f"object.metadata.annotations[{quoted(LIMIT_RANGER)}]"
    has = f"has(object.metadata.annotations) && {quoted(LIMIT_RANGER)} in object.metadata.annotations"
    yield Condition("given", f"{has} ? {at}.replace({quoted(_SET)}, '').split('; ') : []")
    own = f"variables.namespaceLabels[{quoted(policy.limits_opt_out)}] == 'true'"
    asked = f"{quoted(policy.limits_opt_out)} in variables.namespaceLabels"
    yield Condition("keepsOwnLimits", f"{asked} && {own}" if policy.limits_opt_out else "false")
    even = listed(tier.name for tier in policy.tiers.values() if not tier.burst)
    yield Condition("isEven", f"!variables.keepsOwnLimits && variables.tier in {even}")
    if policy.guaranteed:
        yield from _workload_variables()
        meant = [
            listed((whole([each.namespace]), whole([f"{each.kind}/{each.name}"])))
            for each in policy.guaranteed
        ]
        yield Condition("guaranteed", f"[{', '.join(meant)}]")
        owner = "variables.workloads.exists(w, w.matches(g[1]))"
        yield Condition(
            "isGuaranteed",
            f"variables.guaranteed.exists(g, namespaceObject.metadata.name.matches(g[0]) && {owner})",
        )
    else:
        yield Condition("isGuaranteed", "false")
    yield Condition("cpuLimited", f"variables.tier == '' || variables.isGuaranteed ? [] : {_cpu_limited()}")


def _workload_variables() -> Iterator[Condition]:
    """`workloads` are whose pod it may be, as KIND/NAME: a Job that ends as those of a CronJob do may be either."""
    yield Condition(
        "owners",
        "has(object.metadata.ownerReferences) ? object.metadata.ownerReferences.filter(o, has(o.controller) && o.controller) : []",
    )
    hash_ = "object.metadata.labels['pod-template-hash']"
    yield Condition(
        "suffix",
        f"has(object.metadata.labels) && 'pod-template-hash' in object.metadata.labels ? '-' + {hash_} : '/'",
    )
    name = "has(object.metadata.name) ? object.metadata.name : ''"
    alone = f"['Pod/' + ({name})]"
    itself = "variables.owners.map(o, o.kind + '/' + o.name)"
    deployed = (
        "variables.owners.filter(o, o.kind == 'ReplicaSet' && o.name.endsWith(variables.suffix))"
        ".map(o, 'Deployment/' + o.name.substring(0, size(o.name) - size(variables.suffix)))"
    )
    scheduled = (
        "variables.owners.filter(o, o.kind == 'Job' && o.name.matches('.-[0-9]{8,10}$'))"
        ".map(o, 'CronJob/' + o.name.substring(0, o.name.lastIndexOf('-')))"
    )
    yield Condition(
        "workloads", f"size(variables.owners) == 0 ? {alone} : {itself} + {deployed} + {scheduled}"
    )


def is_default(resource: str, what: str, kind: str, container: str = "c") -> str:
    """Whether LimitRanger gave a container its request or limit (`what`) of a resource."""
    end = f"' {what} for {kind} ' + {container}.name"
    return f"variables.given.exists(g, g.endsWith({end}) && {quoted(resource)} in g.split(' {what} for ')[0].split(', '))"


def has_amount(resource: str, what: str, container: str = "c") -> str:
    """Whether a container has an amount; `what` is `requests` or `limits`."""
    at = f"{container}.resources"
    return f"has({at}) && has({at}.{what}) && {quoted(resource)} in {at}.{what}"


def amount(resource: str, what: str, container: str = "c") -> str:
    """An amount that a container is known to have."""
    return f"quantity({container}.resources.{what}[{quoted(resource)}])"


def is_cpu_limited(kind: str) -> str:
    """Whether a container brings a CPU limit; one that a LimitRange injected is not the pod's fault."""
    return f"{has_amount('cpu', 'limits')} && !{is_default('cpu', 'limit', kind)}"


def is_cpu_limited_pod() -> str:
    """Whether a pod as a whole has a CPU limit."""
    return has_amount("cpu", "limits", "object.spec")


def sidecar_variables(policy: TierPolicy) -> Iterator[Condition]:
    """`sidecars` are lists of a regular expression of names, CPU request, memory request and memory limit."""
    rows = [
        (
            whole(each.names),
            quantity("cpu", each.cpu),
            quantity("memory", each.memory),
            quantity("memory", each.memory_limit),
        )
        for each in policy.sidecars
    ]
    yield Condition("sidecars", f"[{', '.join(map(listed, rows))}]")


def is_sidecar() -> str:
    """Whether a container is one of the policy's sidecars, by its name."""
    return "variables.sidecars.exists(s, c.name.matches(s[0]))"


def sidecar_value(at: int) -> str:
    """The CPU request (1), memory request (2) or memory limit (3) of a container that is a sidecar."""
    return f"variables.sidecars.filter(s, c.name.matches(s[0]))[0][{at}]"


def _cpu_limited() -> str:
    pod = f"({is_cpu_limited_pod()} ? ['spec.resources'] : [])"
    return " + ".join([*(_places(place, is_cpu_limited(kind)) for place, kind in LISTS.items()), pod])


def _places(place: str, condition: str) -> str:
    """Where containers are of which a condition holds."""
    found = f"object.spec.{place}.filter(c, {condition}).map(c, 'spec.{place}[' + c.name + ']')"
    return found if place == "containers" else f"(has(object.spec.{place}) ? {found} : [])"


def cpu_limits(policy: TierPolicy) -> Judged:
    """No CPU limits, but for workloads that are to be Guaranteed."""
    by = f"TierPolicy {policy.name}"
    reason = "a CPU limit slows a container down although CPU is free; request CPU instead"
    return Judged(
        "size(variables.cpuLimited) == 0",
        f"{by} wants no CPU limits: {reason}",
        f"'{by} wants no CPU limits: ' + variables.cpuLimited.join(', ') + ' has one; {reason}'",
    )


def oversized_variables(policy: TierPolicy) -> Iterator[Condition]:
    """`oversized` are the places that request more CPU than the tier allows; a whole pod as much as all its containers."""
    most = {tier.name: quantity("cpu", tier.max_cpu) for tier in policy.tiers.values()}
    yield Condition("mostCpu", f"variables.tier == '' ? '0' : {mapped(most)}[variables.tier]")
    above = f"{has_amount('cpu', 'requests')} && {amount('cpu', 'requests')}.isGreaterThan(quantity(variables.mostCpu))"
    each = [_places(place, above) for place in LISTS]
    lasting = "object.spec.initContainers.filter(c, has(c.restartPolicy) && c.restartPolicy == 'Always')"
    count = f"size(object.spec.containers) + (has(object.spec.initContainers) ? size({lasting}) : 0)"
    pod = (
        f"({has_amount('cpu', 'requests', 'object.spec')} && {amount('cpu', 'requests', 'object.spec')}.asApproximateFloat()"
        f" > quantity(variables.mostCpu).asApproximateFloat() * double({count}) ? ['spec.resources'] : [])"
    )
    yield Condition(
        "oversized",
        f"variables.tier == '' || variables.keepsOwnLimits ? [] : {' + '.join([*each, pod])}",
    )


def most_cpu(policy: TierPolicy) -> Judged:
    """No container requests more CPU than its tier allows."""
    by = f"TierPolicy {policy.name}"
    return Judged(
        "size(variables.oversized) == 0",
        f"a container requests more CPU than {by} allows in this tier",
        "'tier ' + variables.tier + ' allows a container to request at most ' + variables.mostCpu + ' CPU, by"
        f" {by}: ' + variables.oversized.join(', ') + ' requests more'",
    )


def uneven_variables(policy: TierPolicy) -> Iterator[Condition]:
    """`uneven` are the places whose memory request is not their limit, in tiers where that is meant to be."""
    yield from sidecar_variables(policy)
    uneven = (
        f"({has_amount('memory', 'requests')}) != ({has_amount('memory', 'limits')}) || {has_amount('memory', 'requests')}"
        f" && {amount('memory', 'requests')}.compareTo({amount('memory', 'limits')}) != 0"
    )
    each = [_places(place, f"!{is_sidecar()} && ({uneven})") for place in LISTS]
    yield Condition("uneven", f"!variables.isEven ? [] : {' + '.join(each)}")


def even_memory(policy: TierPolicy) -> Judged:
    """Memory that is requested is all that a container may use, so that nobody counts on what another was promised."""
    by = f"TierPolicy {policy.name}"
    rule = "memory request and limit should be equal"
    return Judged(
        "size(variables.uneven) == 0",
        f"{rule} in this tier, by {by}",
        f"'{rule} in tier ' + variables.tier + ', by {by}: ' + variables.uneven.join(', ') + ' differs'",
    )
