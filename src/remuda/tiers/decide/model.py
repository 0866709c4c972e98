"""
The loop of tiers in data: what it sees of a cluster, what it remembers, what it goes by, and what it may do.

A snapshot holds neither ages nor resource versions, so that a cluster in which nothing changes looks the same each time.
"""

from typing import Any, TypeAlias

from msgspec import Struct

from remuda.model.plans import Action, Operation
from remuda.model.times import Instant
from remuda.rules.tiers import TierPolicy

#: what an action expects that makes something new
ABSENT = "absent"


class NamespaceSeen(Struct, frozen=True):
    """A namespace, and whether it is being deleted."""

    name: str
    uid: str = ""
    labels: dict[str, str] = {}
    is_terminating: bool = False


class ObjectSeen(Struct, frozen=True):
    """An object of a kind that tiers give, under a name that they give."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    #: the policy that it was made for; None when Remuda did not make it
    owner: str | None = None
    #: all of it but its metadata and its status
    body: dict[str, Any] = {}
    is_terminating: bool = False


class NodeSeen(Struct, frozen=True):
    """A node that carries a device somebody asks for, or a taint of ours."""

    name: str
    uid: str = ""
    #: of the labels that policies know devices by, those that it has
    devices: dict[str, str] = {}
    #: as `key=value:effect`, in their order
    taints: tuple[str, ...] = ()
    #: those of them that Remuda put there, by its annotation
    owned: tuple[str, ...] = ()


class Write(Action, frozen=True, kw_only=True, tag="write"):
    """Make an object, or bring one of ours back to what it should be; `anew` where the server lets it only be made again."""

    manifest: dict[str, Any]
    #: of the namespace that was seen
    namespace_uid: str = ""
    anew: bool = False


class Remove(Action, frozen=True, kw_only=True, tag="remove"):
    """Delete an object of ours."""

    kind: str
    name: str
    namespace: str = ""


class Mark(Action, frozen=True, kw_only=True, tag="mark"):
    """Put taints on a node and take those off that we put there; `owned` are ours from then on."""

    node: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()


TierAction: TypeAlias = Write | Remove | Mark


class Snapshot(Struct, frozen=True):
    """What is seen, everything sorted by name."""

    namespaces: tuple[NamespaceSeen, ...] = ()
    objects: tuple[ObjectSeen, ...] = ()
    nodes: tuple[NodeSeen, ...] = ()
    #: the version of MutatingAdmissionPolicies, where the server has them
    mutation: str = ""
    #: the PriorityClass that the cluster gives pods which name none
    default_class: str = ""
    #: by kind, why its objects are not known
    unread: dict[str, str] = {}
    operations: tuple[Operation[TierAction], ...] = ()


class Failure(Struct, frozen=True):
    """What did not work, how often in a row, and when it is tried again."""

    count: int
    retry_at: Instant
    detail: str


class Memory(Struct, frozen=True):
    """What a cycle leaves to the next."""

    #: policies that were followed and may have left something
    policies: tuple[str, ...] = ()
    #: by target
    failures: dict[str, Failure] = {}
    #: of policies that are gone, since when nothing of theirs is seen
    traceless: dict[str, Instant] = {}


class Policies(Struct, frozen=True):
    """All policies, by name; and the names of those that are there and cannot be read."""

    policies: tuple[TierPolicy, ...] = ()
    broken: tuple[str, ...] = ()
