"""
Kinds of objects and the objects themselves.

A `Kind` joins a name to the type of its `spec` and to what one object alone can get wrong. An object is a
type as well (`Kind.whole`), so that loading, schema and explanation follow the same types from top to bottom.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, defstruct

from remuda.errors import BadInput
from remuda.objects.nodes import Node, place_of
from remuda.objects.problems import nearest, quoted
from remuda.objects.scalars import LabelKey, LabelValue, ObjectName

GROUP: Final = "remuda.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

S = TypeVar("S", bound=Struct)

#: A field path, what is wrong there, and the paths of other fields without which it could not be said.
Complaint: TypeAlias = tuple[str, str, *tuple[str, ...]]

Written: TypeAlias = Annotated[Any, Meta(description="Written by Kubernetes; read and ignored.")]


class Metadata(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The name of an object, and what Kubernetes keeps beside it."""

    name: Annotated[ObjectName, Meta(description="The name, unique among objects of its kind.")]
    labels: Annotated[
        dict[LabelKey, LabelValue], Meta(description="Labels that selectors can find the object by.")
    ] = {}
    annotations: Annotated[dict[LabelKey, str], Meta(description="Free text for people and tools.")] = {}
    namespace: Written = UNSET
    uid: Written = UNSET
    resource_version: Written = UNSET
    generation: Written = UNSET
    generate_name: Written = UNSET
    creation_timestamp: Written = UNSET
    deletion_timestamp: Written = UNSET
    deletion_grace_period_seconds: Written = UNSET
    self_link: Written = UNSET
    managed_fields: Written = UNSET
    owner_references: Written = UNSET
    finalizers: Written = UNSET


@dataclass(frozen=True, slots=True)
class Object(Generic[S]):
    """One object. Two are equal when they say the same, wherever they stand."""

    kind: str
    name: str
    spec: S
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    root: Node | None = field(default=None, compare=False, repr=False)

    def place(self, path: str) -> tuple[int, int]:
        """Line and column of a field path such as `spec.members[0].name`, or of the nearest thing around it."""
        return place_of(self.root, path) if self.root else (self.line, int(self.line > 0))

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a schema cannot say, in CEL, for the API server: where it stands below `spec`, the rule and its sentence."""

    path: str
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    type: str
    path: str


@dataclass(frozen=True, slots=True)
class Kind(Generic[S]):
    """
    A kind of object. Its description is the docstring of `spec`.

    `check` yields what one object of good types alone gets wrong, as field paths and sentences. What it says about
    fields that could not be read, which hold any value of their type then, is not reported. `rules`, `columns`,
    `keyed` and `status` are for the custom resource alone.
    """

    name: str
    plural: str
    spec: type[S]
    short_names: tuple[str, ...] = ()
    check: Callable[[Object[S]], Iterable[Complaint]] | None = None
    rules: tuple[Rule, ...] = ()
    columns: tuple[Column, ...] = ()
    #: lists below `spec` whose items are distinguished by a key, as path and key
    keyed: tuple[tuple[str, str], ...] = ()
    status: type[Struct] | None = None
    #: one that does not fit the others holds as far as it can, since to drop a limit would be worse
    limits_others: bool = False

    def load(self) -> "Kind[S]":
        """Itself: it is no reference."""
        return self

    @property
    def description(self) -> str:
        """What objects of this kind are for."""
        return inspect.getdoc(self.spec) or ""

    @property
    def whole(self) -> type[Struct]:
        """The type of a whole object of this kind: `apiVersion`, `kind`, `metadata`, `spec` and an ignored `status`."""
        return _whole(self.name, self.spec, self.description)


class Named(Protocol):
    """A kind, or a reference to one that is followed when an object of it is met."""

    @property
    def name(self) -> str:
        """As objects write it."""
        ...

    @property
    def plural(self) -> str:
        """As the API server serves it."""
        ...

    @property
    def short_names(self) -> tuple[str, ...]:
        """As people abbreviate it."""
        ...

    def load(self) -> Kind[Any]:
        """The kind itself."""
        ...


Kinds: TypeAlias = tuple[Named, ...]


def find_kind(kinds: Kinds, word: str) -> Kind[Any]:
    """The kind a person means by its name, plural or short name in any case; `BadInput` names the nearest one."""
    names = {name.lower(): kind for kind in kinds for name in (kind.name, kind.plural, *kind.short_names)}
    found = names.get(word.lower())
    if found is None:
        raise BadInput(unknown_kind(kinds, word))
    return found.load()


def unknown_kind(kinds: Kinds, word: str) -> str:
    """The sentence for a kind that does not exist."""
    names = {name: kind.name for kind in kinds for name in (kind.plural, *kind.short_names, kind.name)}
    near = nearest(word, names)
    known = ", ".join(kind.name for kind in kinds)
    return f"{quoted(word)} is no kind: {f'did you mean {names[near]}?' if near else f'the known ones are {known}'}"


@cache
def _whole(name: str, spec: type[Struct], description: str) -> type[Struct]:
    version = Annotated[Literal[API_VERSION], Meta(description="The version of this form.")]  # type: ignore[valid-type]
    kind = Annotated[Literal[name], Meta(description="What it is.")]  # type: ignore[valid-type]
    return defstruct(
        name,
        [
            ("apiVersion", version),
            ("kind", kind),
            ("metadata", Annotated[Metadata, Meta(description="Its name and labels.")]),
            ("spec", Annotated[spec, Meta(description="What is wanted.")]),
            ("status", Annotated[Any, Meta(description="Written by Remuda; ignored in a file.")], UNSET),
        ],
        namespace={"__doc__": description},
        frozen=True,
        forbid_unknown_fields=True,
    )
