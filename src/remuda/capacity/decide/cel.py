"""
The rules for scale sets of a label in CEL, as the API server judges them.

Every field may be absent: versions of the custom resource differ, and `has` comes before each look. What a rule does
not know (nodes, other scale sets, the time) it must not need.
"""

import re
from collections.abc import Iterator

from remuda.capacity.decide.neighbours import HOSTNAME
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.snapshot import EPHEMERAL
from remuda.rules.cel import Condition, Judged, quoted

#: CEL takes expressions of up to 100,000 characters
_CHUNK = 50_000
_TEMPLATE = "has(object.spec) && has(object.spec.template) && has(object.spec.template.spec)"


def conditions(label: str) -> Iterator[Condition]:
    """Which scale sets are judged: those that carry the label, when their spec is new. One that is being deleted is not."""
    yield Condition("not-being-deleted", "!has(object.metadata.deletionTimestamp)")
    changed = "request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"
    yield Condition("spec-is-new", changed)
    spec = "has(object.spec) && has(object.spec"
    # GitHub ignores the case of labels
    text = quoted("".join(letter.lower() if letter.isascii() else letter for letter in label))
    yield Condition(
        "carries-the-label",
        f"({spec}.runnerScaleSetName) && object.spec.runnerScaleSetName != ''"
        " ? object.spec.runnerScaleSetName"
        f" : (has(object.metadata.name) ? object.metadata.name : '')).lowerAscii() == {text}"
        f" || ({spec}.runnerScaleSetLabels)"
        f" && object.spec.runnerScaleSetLabels.exists(l, l.lowerAscii() == {text}))",
    )


def variables(policy: CapacityPolicySpec, warm: tuple[str, ...]) -> Iterator[Condition]:
    """What the rules share; `warm` are the sets that may keep runners ready."""
    yield Condition("pod", f"{_TEMPLATE} ? object.spec.template.spec : dyn({{}})")
    yield Condition("name", "has(object.metadata.name) ? object.metadata.name : ''")
    yield Condition("id", "request.namespace + '/' + variables.name")
    shares = []
    for number, chunk in enumerate(
        _chunks({item.name: min(item.max, policy.ceiling) for item in policy.sets})
    ):
        shares.append(f"shares{number}")
        yield Condition(shares[-1], chunk)
    most = str(min(policy.newcomer_max, policy.ceiling))
    # with its namespace a set is meant before its name alone
    for key in ("name", "id"):
        for share in shares:
            most = f"variables.{key} in variables.{share} ? variables.{share}[variables.{key}] : ({most})"
    yield Condition("most", most)
    parts = []
    named = dict.fromkeys(warm, 1)  # pragma: no mutate - only the keys are asked for
    for number, chunk in enumerate(_chunks(named)):
        yield Condition(f"warm{number}", chunk)
        parts += [f"variables.{key} in variables.warm{number}" for key in ("id", "name")]
    yield Condition("mayBeWarm", " || ".join(parts) or "false")
    yield Condition("containers", "has(variables.pod.containers) ? variables.pod.containers : []")
    first = "has(variables.pod.initContainers) ? variables.pod.initContainers : []"
    lasting = "has(c.restartPolicy) && c.restartPolicy == 'Always'"
    yield Condition("sidecars", f"({first}).filter(c, {lasting})")
    yield Condition("tolerates", _tolerates(policy))
    name = "has(object.spec.runnerScaleSetName) && object.spec.runnerScaleSetName != ''"
    labels = "has(object.spec.runnerScaleSetLabels) && size(object.spec.runnerScaleSetLabels) > 0"
    # a set that was given labels is not targeted by its name
    yield Condition(
        "targets",
        f"!has(object.spec) ? [variables.name] : {labels} ? object.spec.runnerScaleSetLabels"
        f" : {name} ? [object.spec.runnerScaleSetName] : [variables.name]",
    )


def _chunks(numbers: dict[str, int]) -> Iterator[str]:
    """Maps of names to numbers, each short enough for an expression."""
    held = ""
    for name, number in numbers.items():
        held += f"{', ' if held else ''}{quoted(name)}: {number}"
        if len(held) > _CHUNK:  # pragma: no mutate - an entry more is as short enough
            yield f"{{{held}}}"
            held = ""
    if held:
        yield f"{{{held}}}"


def _tolerates(policy: CapacityPolicySpec) -> str:
    """Whether a scale set may be on an overflow node, as far as its tolerations go."""
    overflow = policy.nodes.overflow
    if not overflow:
        return "false"
    named = [key for item in overflow for key in item.taints]
    own = f"t.key in [{', '.join(map(quoted, dict.fromkeys(named)))}]"
    # what a node that is down is tainted with has nothing to do with overflow
    any_ = "!t.key.startsWith('node.kubernetes.io/')"
    is_known = all(item.taints for item in overflow)
    key = f"!has(t.key) || t.key == '' || {own if is_known else any_}"
    return f"has(variables.pod.tolerations) && variables.pod.tolerations.exists(t, {key})"


def rules(name: str, policy: CapacityPolicySpec) -> Iterator[Judged]:
    """What must hold of every scale set of the label."""
    by = f"CapacityPolicy {name}"
    most = "has(object.spec) && has(object.spec.maxRunners)"
    yield Judged(
        f"{most} && object.spec.maxRunners <= variables.most",
        f"spec.maxRunners is not given, or above what {by} gives this set",
        f"'spec.maxRunners is ' + ({most} ? string(object.spec.maxRunners) : 'not given, which is no limit')"
        f" + ': {_plain(by)} gives ' + variables.id + ' at most ' + string(variables.most)",
    )
    least = "has(object.spec) && has(object.spec.minRunners)"
    yield Judged(
        f"!({least}) || object.spec.minRunners == 0 || variables.mayBeWarm",
        f"spec.minRunners must be 0: {by} has no warm-pool decision for this set that still holds",
    )
    of_each = "of every container in spec.template.spec"
    if policy.require.requests:
        rule = f"{_has_amount('cpu', 'requests')} && {_has_amount('memory', 'requests')}"
        yield Judged(rule, f"cpu and memory must be requested {of_each}, by {by}")
    if policy.require.limits:
        yield Judged(_has_amount("memory", "limits"), f"memory must be limited {of_each}, by {by}")
    ephemeral = f"{_has_amount(EPHEMERAL, 'requests')} && {_has_amount(EPHEMERAL, 'limits')}"
    if policy.require.ephemeral_storage:
        yield Judged(ephemeral, f"{EPHEMERAL} must be requested and limited {of_each}, by {by}")
    elif policy.nodes.overflow:
        yield Judged(
            f"!variables.tolerates || {ephemeral}",
            "spec.template.spec.tolerations lets runners onto overflow nodes, where"
            f" {EPHEMERAL} must be requested and limited {of_each}, by {by}",
        )
    for pattern in policy.forbidden_labels:
        if not unjudged_pattern(pattern):
            yield Judged(
                f"!variables.targets.exists(l, l.matches({quoted(pattern)}))",
                f"a label that workflows target must name a capability, and must not be like {_plain(pattern)}, by {by}",
            )
    if policy.nodes.overflow:
        yield Judged(
            f"!variables.tolerates || {_prefers(policy)}",
            "spec.template.spec.tolerations lets runners onto overflow nodes, so that"
            " affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution must prefer primary nodes:"
            f" {', '.join(f'{key}={value}' for key, value in policy.nodes.primary.items())}, by {by}",
        )


def _has_amount(resource: str, kind: str) -> str:
    """
    Whether every container gives a resource, or the pod as a whole; what is limited without a request is requested as much.

    One that gives it does not speak for the others.
    """
    kinds = ("requests", "limits") if kind == "requests" else ("limits",)

    def has(what: str) -> str:
        conditions = " || ".join(
            f"has({what}.resources.{key}) && {quoted(resource)} in {what}.resources.{key}" for key in kinds
        )
        return f"has({what}.resources) && ({conditions})"

    each = f"c, {has('c')}"
    every = f"size(variables.containers) > 0 && variables.containers.all({each}) && variables.sidecars.all({each})"
    return f"({has('variables.pod')} || {every})"


#: what Python's regular expressions know and those of the API server do not
_NOT_RE2 = re.compile(
    r"\(\?(?:[=!>#(]|<[=!]|P=|[aLimsux]*[aLux][imsuxaL]*[-:)])|\\[1-9ABZ]|(?<!\\)[*+?}]\+|\{\d{4,}|\{\d*,\d{4,}"
)


def unjudged_pattern(pattern: str) -> bool:
    """Whether the API server's regular expressions (RE2) may not know all of a pattern."""
    return bool(_NOT_RE2.search(pattern))


def _prefers(policy: CapacityPolicySpec) -> str:
    """A preference for a label of primary nodes, for other nodes by name, or for none of the overflow nodes."""
    overflow = f"[{', '.join(quoted(item.node) for item in policy.nodes.overflow)}]"
    by_name = (
        f"(e.operator == 'In' && has(e.values) && !e.values.exists(v, v in {overflow})"
        f" || e.operator == 'NotIn' && has(e.values) && {overflow}.all(n, n in e.values))"
    )
    labels = [
        f"e.key == {quoted(key)} && (e.operator == 'Exists'"
        f" || e.operator == 'In' && has(e.values) && {quoted(value)} in e.values)"
        for key, value in policy.nodes.primary.items()
        if key != HOSTNAME
    ]
    expressions = " || ".join([*labels, f"e.key == {quoted(HOSTNAME)} && {by_name}"])
    at = "variables.pod.affinity"
    preferred = f"{at}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    return (
        f"has({at}) && has({at}.nodeAffinity) && has({preferred})"
        f" && {preferred}.exists(p, has(p.preference) && ("
        f"has(p.preference.matchExpressions) && p.preference.matchExpressions.exists(e, {expressions})"
        f" || has(p.preference.matchFields) && p.preference.matchFields.exists(e, {by_name})))"
    )


def _plain(text: str) -> str:
    return text.replace("\\", "").replace("'", "")
