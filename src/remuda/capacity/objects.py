"""`CapacityPolicy`: what a team decided about one capability label that several scale sets share."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from remuda.model.quantities import Quantity
from remuda.model.times import DAY, Duration
from remuda.objects.ceiling import CeilingMember
from remuda.objects.scalars import Count, LabelKey, LabelValue, ObjectName

Text = Annotated[str, Meta(min_length=1, max_length=1_000)]
LabelText = Annotated[str, Meta(min_length=1, max_length=256)]
#: A scale set or pool by name, or by `namespace/name` where the name alone is not unique.
ScaleSetName = Annotated[str, Meta(min_length=1, max_length=317)]
#: A day or a time by RFC 3339, like 2026-11-16 or 2026-11-16T09:00:00Z.
Day = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}([Tt ].*)?$", max_length=40)]


class Decision(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Something a person decided: who, why and when, and until when it holds."""

    who: Annotated[Text, Meta(description="Who decided it.")]
    why: Annotated[Text, Meta(description="Why.")]
    when: Annotated[Day, Meta(description="The day it was decided, like 2026-11-16.")]
    until: Annotated[Day | UnsetType, Meta(description="The day it ends. It holds for ever by default.")] = (
        UNSET
    )


class WarmPool(Decision, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The decision that lets a scale set keep runners warm, which always has an end."""

    until: Annotated[Day, Meta(description="The day it ends.")]


class Waiver(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A finding that is accepted until a day."""

    who: Annotated[Text, Meta(description="Who decided it.")]
    why: Annotated[Text, Meta(description="Why.")]
    when: Annotated[Day, Meta(description="The day it was decided, like 2026-11-16.")]
    until: Annotated[Day, Meta(description="The day it ends.")]
    rule: Annotated[Text, Meta(description="The rule of the finding, like limit-exceeds-node.")]
    set: Annotated[
        ScaleSetName | UnsetType,
        Meta(
            description="The scale set or pool, or namespace/name. By default whatever the finding is about."
        ),
    ] = UNSET


class Amounts(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Amounts of the resources a runner asks for."""

    cpu: Annotated[Quantity | UnsetType, Meta(description="Processors, like 4 or 500m.")] = UNSET
    memory: Annotated[Quantity | UnsetType, Meta(description="Memory, like 32Gi.")] = UNSET
    ephemeral_storage: Annotated[Quantity | UnsetType, Meta(description="Local storage, like 24Gi.")] = UNSET


class Envelope(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The requests and limits a runner carries."""

    name: Annotated[ObjectName, Meta(description="Its name.")]
    requests: Annotated[Amounts, Meta(description="What a runner requests.")]
    limits: Annotated[Amounts, Meta(description="What it may use at most.")] = Amounts()


class JobPod(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What the pod of a job asks for that runs beside its runner, on the same node."""

    requests: Annotated[Amounts, Meta(description="What it requests.")]
    limits: Annotated[Amounts, Meta(description="What it may use at most.")] = Amounts()


class BudgetedSet(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A scale set that was given a share. One that is not listed is a newcomer."""

    name: Annotated[ScaleSetName, Meta(description="The scale set or pool, or namespace/name.")]
    max: Annotated[Count, Meta(description="The most runners it may have.")]
    envelope: Annotated[ObjectName | UnsetType, Meta(description="The envelope its runners carry.")] = UNSET
    warm_pool: Annotated[
        WarmPool | UnsetType, Meta(description="The decision that lets its minimum be above 0.")
    ] = UNSET
    job_pod: Annotated[
        JobPod | UnsetType,
        Meta(
            description="The pod of a job beside its runner, where container hooks run jobs in pods of their own."
        ),
    ] = UNSET


class Owner(CeilingMember, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Who shares the ceiling: a member of it, and the scale sets it stands for."""

    lanes: Annotated[
        tuple[ScaleSetName, ...], Meta(max_length=1_000, description="Its scale sets and pools.")
    ] = ()


class Evidence(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The audit that justified the ceiling."""

    date: Annotated[Day, Meta(description="The day of the audit.")]
    fitted: Annotated[Count, Meta(description="How many runners fitted then.")]
    max_age: Annotated[Duration, Meta(description="How long it counts.")] = Duration(30 * DAY)
    note: Annotated[Text | UnsetType, Meta(description="Where the audit is kept, or what it said.")] = UNSET


class Prewarm(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What must be on an overflow node before a runner starts there: an image, or a record that it is there."""

    image: Annotated[
        Text | UnsetType, Meta(description="An image the node must have, as the node names it.")
    ] = UNSET
    record: Annotated[
        Decision | UnsetType,
        Meta(description="Who put it there, why and when, where no image says so; its until is its expiry."),
    ] = UNSET


class Rollback(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How a scale set returns to primary nodes alone: a merge patch for its scale set."""

    lane: Annotated[ScaleSetName, Meta(description="The scale set it is for.")]
    patch: Annotated[
        dict[str, Any],
        Meta(
            description="A JSON merge patch; by default the tolerations of the overflow node are taken off."
        ),
    ] = {}


class Overflow(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A node that takes runners when primary nodes are full, while all its gates hold."""

    node: Annotated[Text, Meta(description="The node's name.")]
    envelopes: Annotated[tuple[ObjectName, ...], Meta(max_length=100, description="Envelopes it admits.")]
    admitted: Annotated[Decision, Meta(description="The decision that admitted it.")]
    taints: Annotated[
        tuple[LabelKey, ...],
        Meta(
            max_length=16,
            description="Keys of its taints. Guard rails, which see no nodes, take any toleration for one of it without them.",
        ),
    ] = ()
    most_runners: Annotated[Count, Meta(description="The most runners at a time.")] = 1
    requested: Annotated[Amounts, Meta(description="The most runners may request there together.")] = (
        Amounts()
    )
    limited: Annotated[Amounts, Meta(description="The most their limits may come to together.")] = Amounts()
    prewarm: Annotated[Prewarm, Meta(description="What must be there beforehand.")] = Prewarm()
    rollbacks: Annotated[
        tuple[Rollback, ...], Meta(max_length=100, description="How each scale set returns to primary nodes.")
    ] = ()


class Nodes(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Which nodes runners of the label may be on."""

    primary: Annotated[
        dict[LabelKey, LabelValue], Meta(description="Labels that primary nodes have, all of them.")
    ]
    overflow: Annotated[
        tuple[Overflow, ...], Meta(max_length=100, description="Nodes that take what primary ones cannot.")
    ] = ()


class Require(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What every scale set must give."""

    requests: Annotated[bool, Meta(description="Requests for processors and memory.")] = True
    limits: Annotated[bool, Meta(description="Limits for memory.")] = True
    ephemeral_storage: Annotated[
        bool,
        Meta(description="A request and a limit for local storage on every scale set, not only on overflow."),
    ] = False


class CapacityPolicySpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A ceiling for a capability label, who shares it, which nodes it is for, and on what evidence."""

    label: Annotated[LabelText, Meta(description="The capability label that workflows target, like nix-kvm.")]
    ceiling: Annotated[
        Count, Meta(description="The most runners all scale sets of the label may have together.")
    ]
    nodes: Annotated[Nodes, Meta(description="Which nodes runners may be on.")]
    envelopes: Annotated[
        tuple[Envelope, ...], Meta(max_length=100, description="What runners may carry, by name.")
    ] = ()
    sets: Annotated[
        tuple[BudgetedSet, ...], Meta(max_length=10_000, description="Scale sets that were given a share.")
    ] = ()
    newcomer_max: Annotated[
        Count, Meta(description="The most runners of a scale set that is not listed.")
    ] = 1
    owners: Annotated[
        tuple[Owner, ...], Meta(max_length=1_000, description="Who shares the ceiling, as members of it.")
    ] = ()
    forbidden_labels: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...],
        Meta(
            max_length=100,
            description="Regular expressions of labels that name a repository or a node instead of a capability.",
        ),
    ] = ()
    require: Annotated[Require, Meta(description="What every scale set must give.")] = Require()
    evidence: Annotated[Evidence | UnsetType, Meta(description="The audit that justified the ceiling.")] = (
        UNSET
    )
    waivers: Annotated[
        tuple[Waiver, ...], Meta(max_length=1_000, description="Findings that are accepted until a day.")
    ] = ()
    priority_class: Annotated[
        ObjectName | UnsetType,
        Meta(
            description="The PriorityClass of its runners, by which a quota counts them. The policy's name by default."
        ),
    ] = UNSET
