"""
Kubernetes objects as they are written: what the projections of several jobs have in common.

A projection declares only the fields that its job reads, so that large lists are decoded fast; amounts stay as they are
written until somebody needs a number of them.
"""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

Name: TypeAlias = Annotated[str, Meta(min_length=1, description="The name of the object.")]
NonNegative: TypeAlias = Annotated[int, Meta(ge=0)]
#: quantities by resource
Quantities: TypeAlias = dict[str, Any]


class ObjectMeta(Struct, frozen=True, gc=False, rename="camel"):
    """Who an object is."""

    name: Name
    namespace: str = ""
    labels: dict[str, str] = {}


class Manifest(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Any object; those of a typed list carry neither version nor kind."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta


class TemplateMeta(Struct, frozen=True, gc=False):
    """What pods of a template carry."""

    labels: dict[str, str] = {}


class Reference(Struct, frozen=True, gc=False):
    """Another object."""

    kind: str = ""
    name: str = ""


class OwnerReference(Struct, frozen=True, gc=False):
    """Who an object belongs to."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


def controller_of(owners: tuple[OwnerReference, ...]) -> OwnerReference | None:
    """The one owner that keeps an object as it should be, if there is one; other owners only outlive it."""
    return next((each for each in owners if each.controller), None)


class Condition(Struct, frozen=True, gc=False, rename="camel"):
    """One fact in a status."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Resources(Struct, frozen=True, gc=False):
    """Requests and limits."""

    requests: Quantities = {}
    limits: Quantities = {}


class LimitRangeItem(Struct, frozen=True, rename="camel"):
    """Bounds of containers, pods or claims, and what containers get that do not say."""

    type: str = ""
    default: Quantities = {}
    default_request: Quantities = {}
    min: Quantities = {}
    max: Quantities = {}
    max_limit_request_ratio: Quantities = {}


class LimitRangeSpec(Struct, frozen=True):
    """Of a LimitRange."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Manifest, frozen=True, kw_only=True):
    """A LimitRange of a namespace."""

    spec: LimitRangeSpec = LimitRangeSpec()


class ScopeTerm(Struct, frozen=True, rename="camel"):
    """Which pods a quota counts."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Struct, frozen=True, rename="camel"):
    """Which pods a quota counts, by several terms."""

    match_expressions: tuple[ScopeTerm, ...] = ()
