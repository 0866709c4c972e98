"""The kind `CapacityPolicy`, and what one contradicts itself in."""

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET, UnsetType

from remuda.capacity.codes import RULES
from remuda.capacity.objects import Amounts, CapacityPolicySpec, Decision, Envelope, JobPod, Waiver
from remuda.model.amount_texts import amount_text
from remuda.model.times import DAY, Instant, read_instant
from remuda.objects.kinds import Column, Complaint, Kind, Object, Rule
from remuda.objects.problems import did_you_mean, quoted


def check_policy(policy: Object[CapacityPolicySpec]) -> Iterator[Complaint]:
    """
    Everything in a policy that contradicts itself.

    That shares come to more than the ceiling together is for an audit to report; one that is above it alone is always a mistake.
    """
    spec = policy.spec
    if not spec.nodes.primary:
        yield "spec.nodes.primary", "selects every node: give the labels that primary nodes have"
    yield from _twice("spec.envelopes", "name", (each.name for each in spec.envelopes))
    yield from _twice("spec.sets", "name", (each.name for each in spec.sets))
    yield from _twice("spec.owners", "name", (each.name for each in spec.owners))
    yield from _twice("spec.nodes.overflow", "node", (each.node for each in spec.nodes.overflow))
    yield from _check_references(spec)
    yield from _check_shares(spec)
    yield from _check_owners(spec)
    yield from _check_envelopes(spec)
    yield from _check_labels(spec)
    yield from _check_waivers(spec)
    for path, decision in _decisions(spec):
        yield from _check_decision(path, decision)
    if not isinstance(spec.evidence, UnsetType):
        yield from _check_day("spec.evidence.date", spec.evidence.date)


def _twice(path: str, key: str, names: Iterable[str]) -> Iterator[Complaint]:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            where = f"{path.removeprefix('spec.')}[{first[name]}]"
            words = f"{name} is listed already, as {where}"
            yield f"{path}[{index}].{key}", words, f"{path}[{first[name]}].{key}"
        first.setdefault(name, index)


def _check_references(spec: CapacityPolicySpec) -> Iterator[Complaint]:
    known = {str(each.name): f"spec.envelopes[{index}].name" for index, each in enumerate(spec.envelopes)}
    named = [
        (f"spec.sets[{index}].envelope", each.envelope)
        for index, each in enumerate(spec.sets)
        if not isinstance(each.envelope, UnsetType)
    ]
    for index, node in enumerate(spec.nodes.overflow):
        path = f"spec.nodes.overflow[{index}]"
        if not node.envelopes:
            yield (
                f"{path}.envelopes",
                f"is empty: {node.node} admits nothing; name an envelope or take it out",
            )
        yield from _twice_in(f"{path}.envelopes", node.envelopes)
        yield from _twice(f"{path}.rollbacks", "lane", (each.lane for each in node.rollbacks))
        named += [(f"{path}.envelopes[{number}]", name) for number, name in enumerate(node.envelopes)]
    for path, name in named:
        if name not in known:
            near = did_you_mean(name, known) or f"; there is: {', '.join(known) or 'none'}"
            yield path, f"there is no envelope {name}{near}", *known.values()


def _check_shares(spec: CapacityPolicySpec) -> Iterator[Complaint]:
    for index, each in enumerate(spec.sets):
        if each.max > spec.ceiling:
            words = f"{each.max} is above the ceiling of {spec.ceiling}: lower it, or raise the ceiling"
            yield f"spec.sets[{index}].max", words, "spec.ceiling"
    # a policy that does not say how many newcomers may have means 1, even where the ceiling is 0
    if spec.newcomer_max > max(spec.ceiling, 1):
        words = f"{spec.newcomer_max} is above the ceiling of {spec.ceiling}: lower it, or raise the ceiling"
        yield "spec.newcomerMax", words, "spec.ceiling"


def _check_owners(spec: CapacityPolicySpec) -> Iterator[Complaint]:
    guaranteed = sum(owner.guaranteed for owner in spec.owners)
    if guaranteed > spec.ceiling:
        words = f"is {spec.ceiling}, but its owners are guaranteed {guaranteed} together"
        rest_on = (f"spec.owners[{index}].guaranteed" for index in range(len(spec.owners)))
        yield "spec.ceiling", f"{words}: raise it to {guaranteed} or lower their guarantees", *rest_on
    first: dict[str, tuple[str, str]] = {}
    for index, owner in enumerate(spec.owners):
        for number, scale_set in enumerate(owner.lanes):
            path = f"spec.owners[{index}].lanes[{number}]"
            if scale_set in first:
                before, by = first[scale_set]
                words = f"{scale_set} is a scale set of {by} already: a scale set has one owner"
                if by == owner.name:
                    words = f"{scale_set} is listed already"
                yield path, words, before
            first.setdefault(scale_set, (path, str(owner.name)))


def _check_envelopes(spec: CapacityPolicySpec) -> Iterator[Complaint]:
    admitted = {str(name): each.node for each in spec.nodes.overflow for name in each.envelopes}
    for index, item in enumerate(spec.sets):
        if item.job_pod is not UNSET:
            yield from _check_size(f"spec.sets[{index}].jobPod", item.job_pod)
    for index, envelope in enumerate(spec.envelopes):
        path = f"spec.envelopes[{index}]"
        yield from _check_size(path, envelope)
        if envelope.name in admitted and envelope.requests.ephemeral_storage is UNSET:
            where = f"{path}.requests.ephemeral-storage"
            yield (
                where,
                f"is missing: {admitted[envelope.name]} takes this envelope as overflow, where it is required",
            )
    for index, node in enumerate(spec.nodes.overflow):
        path = f"spec.nodes.overflow[{index}]"
        yield from _above(f"{path}.requested", node.requested, f"{path}.limited", node.limited)


def _check_size(path: str, size: Envelope | JobPod) -> Iterator[Complaint]:
    yield from _above(f"{path}.requests", size.requests, f"{path}.limits", size.limits)
    for kind, amounts in (("requests", size.requests), ("limits", size.limits)):
        for name, words in implausible(measured(amounts)):
            yield f"{path}.{kind}.{name}", words


def _above(path: str, asked: Amounts, other: str, limited: Amounts) -> Iterator[Complaint]:
    for name, key in (("cpu", "cpu"), ("memory", "memory"), ("ephemeral_storage", "ephemeral-storage")):
        request, limit = getattr(asked, name), getattr(limited, name)
        if not isinstance(request, UnsetType) and not isinstance(limit, UnsetType) and request > limit:
            yield f"{path}.{key}", f"{request} is above its limit, {limit}", f"{other}.{key}"


def measured(written: Amounts) -> dict[str, int]:
    """Amounts of a policy in base units; what is not given is left out."""
    made = {}
    if not isinstance(written.cpu, UnsetType):
        made["cpu"] = written.cpu.milli
    if not isinstance(written.memory, UnsetType):
        made["memory"] = written.memory.bytes
    if not isinstance(written.ephemeral_storage, UnsetType):
        made["ephemeral-storage"] = written.ephemeral_storage.bytes
    return made


def implausible(amounts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Amounts that are a slip of the pen, by resource: no runner has so little, and no machine so much."""
    for name, least, most in (
        ("cpu", 1, 100_000_000),
        ("memory", 2**20, 2**50),
        ("ephemeral-storage", 2**20, 2**50),
    ):
        value = amounts.get(name, 0)
        if 0 < value < least:
            yield (
                name,
                f"{value} bytes is too little to be meant: write 512Mi or 4Gi; m is a thousandth, and M a million",
            )
        elif value > most:
            yield name, f"{amount_text(name, value)} is more than any machine has"


def _check_labels(spec: CapacityPolicySpec) -> Iterator[Complaint]:
    for index, pattern in enumerate(spec.forbidden_labels):
        path = f"spec.forbiddenLabels[{index}]"
        try:
            forbids = re.compile(pattern).search(spec.label)
        except (re.error, OverflowError, RecursionError) as error:
            yield path, f"{quoted(pattern)} is no regular expression: {error}"
            continue
        if forbids:
            yield path, f"{quoted(pattern)} forbids {spec.label}, the label this policy is for", "spec.label"


def _check_waivers(spec: CapacityPolicySpec) -> Iterator[Complaint]:
    for index, waiver in enumerate(spec.waivers):
        if waiver.rule not in RULES:
            near = (
                did_you_mean(waiver.rule, RULES) or "; remuda capacity audit names the rule of each finding"
            )
            yield f"spec.waivers[{index}].rule", f"there is no rule {waiver.rule}{near}"


def _decisions(spec: CapacityPolicySpec) -> Iterator[tuple[str, Decision | Waiver]]:
    for index, waiver in enumerate(spec.waivers):
        yield f"spec.waivers[{index}]", waiver
    for index, each in enumerate(spec.sets):
        if not isinstance(each.warm_pool, UnsetType):
            yield f"spec.sets[{index}].warmPool", each.warm_pool
    for index, node in enumerate(spec.nodes.overflow):
        yield f"spec.nodes.overflow[{index}].admitted", node.admitted
        if not isinstance(node.prewarm.record, UnsetType):
            yield f"spec.nodes.overflow[{index}].prewarm.record", node.prewarm.record


def _check_decision(path: str, decision: Decision | Waiver) -> Iterator[Complaint]:
    yield from _check_day(f"{path}.when", decision.when)
    if isinstance(decision.until, UnsetType):
        return
    yield from _check_day(f"{path}.until", decision.until)
    when, until = read_day(decision.when), read_day(decision.until)
    if when is not None and until is not None and until < when:
        yield (
            f"{path}.until",
            f"{decision.until} is before {decision.when}, when it was decided",
            f"{path}.when",
        )


def _check_day(path: str, written: str) -> Iterator[Complaint]:
    if read_day(written) is None:
        yield (
            path,
            f"{quoted(written)} is no day: write one like 2026-11-16, or a time like 2026-11-16T09:00:00Z",
        )


def read_day(written: str) -> Instant | None:
    """The instant of a day or time of a policy; a day begins at midnight in UTC. None when there is no such day."""
    try:
        return read_instant(written)
    except (ValueError, OverflowError):
        return None


def read_end(written: str) -> Instant | None:
    """The instant at which something ends that holds until a day, which counts in full, or until a time."""
    at = read_day(written)
    return at if at is None or len(written) > 10 else at + DAY


def _twice_in(path: str, names: Iterable[str]) -> Iterator[Complaint]:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            yield f"{path}[{index}]", f"{name} is listed already", f"{path}[{first[name]}]"
        first.setdefault(name, index)


CAPACITY_POLICY = Kind(
    "CapacityPolicy",
    "capacitypolicies",
    CapacityPolicySpec,
    ("cap",),
    check_policy,
    rules=(
        Rule(
            "nodes",
            "size(self.primary) > 0",
            "primary selects every node: give the labels that primary nodes have",
        ),
        Rule(
            "",
            "!has(self.owners) || self.owners.map(o, has(o.guaranteed) ? o.guaranteed : 0).sum() <= self.ceiling",
            "owners are guaranteed more than the ceiling",
        ),
        Rule(
            "",
            "!has(self.sets) || self.sets.all(s, s.max <= self.ceiling)",
            "a set may have more than the ceiling",
        ),
        Rule(
            "",
            "!has(self.newcomerMax) || self.newcomerMax <= 1 || self.newcomerMax <= self.ceiling",
            "newcomerMax is above the ceiling",
        ),
    ),
    columns=(Column("Label", "string", ".spec.label"), Column("Ceiling", "integer", ".spec.ceiling")),
    keyed=(("envelopes", "name"), ("sets", "name"), ("owners", "name"), ("nodes.overflow", "node")),
)
