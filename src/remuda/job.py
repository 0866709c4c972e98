"""
What a job brings, as one value: everything that serves all jobs iterates over these values and knows no job by name.

A description costs no import of what it describes. Whatever lies behind it is a reference, `module:attribute`, that is
followed when somebody needs it, so that `--help` stays quick and a job that nobody configured is never imported. For the same
reason descriptions are named tuples: every command makes them all.
"""

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from remuda.output.registry import add_codes

if TYPE_CHECKING:
    from remuda.kube.rbac import Rule
    from remuda.objects.kinds import Kind
    from remuda.objects.load import Blame, Loaded, Objects

#: `module:attribute`, imported when it is needed
Reference: TypeAlias = str


def load(reference: Reference) -> Any:
    """What a reference stands for."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


class Place(StrEnum):
    """Where objects of a kind are kept, and who reads them."""

    #: in files or in a cluster; `remuda up` runs them
    RUN = "run"
    #: in files or in a cluster, beside what `up` runs; commands read them
    KEPT = "kept"
    #: in files alone
    FILES = "files"


class KindReference(NamedTuple):
    """A kind of object by its names; what it means is imported when an object of it is met."""

    name: str
    plural: str
    kind: Reference
    short_names: tuple[str, ...] = ()
    place: Place = Place.RUN

    def load(self) -> "Kind[Any]":
        """The kind itself."""
        found: Kind[Any] = load(self.kind)
        return found


class Section(StrEnum):
    """The parts of the list of commands, in their order."""

    RUN = "Run jobs and machines"
    ASK = "Ask why"
    PLAN = "Plan and size"
    OBJECTS = "Objects"
    OTHER = "Other"


class Command(NamedTuple):
    """A command: where it lives, and what its help begins with."""

    command: Reference
    help: str
    section: Section = Section.OTHER
    #: what people type who do not know it yet, for a hint
    also: tuple[str, ...] = ()


class PageReference(NamedTuple):
    """A page of the dashboard: its path, what draws it, and the route of the API without which there is nothing to show."""

    path: str
    #: a `remuda.web.page.Render`; its templates are in the folder `templates` beside it
    render: Reference
    needs: str
    #: how it is called in the menu; nothing for a page that others lead to
    menu: str = ""
    #: what may stand in its address, and what it is
    query: Mapping[str, str] = MappingProxyType({})
    #: of the documents that it shows, where it is drawn again only when another one is kept
    family: str = ""


class PanelReference(NamedTuple):
    """A job's part of the page Now: what draws it, and the route of the API without which there is nothing to show."""

    render: Reference
    needs: str


class Job(NamedTuple):
    """One job. Each field but the name may be left out."""

    name: str
    kinds: tuple[KindReference, ...] = ()
    #: what only shows between objects: `Check`, called when files hold an object of one of its kinds
    check: Reference | None = None
    #: by the words that call it, `pools` or `why pool`; the name of a group alone is what that does without a word
    commands: Mapping[str, Command] = MappingProxyType({})
    #: by the word below `why`, the names that can be asked about: `Known`, called when nobody said a kind
    subjects: Mapping[str, Reference] = MappingProxyType({})
    #: by the word below `why`, of which family of documents it is answered from, and not from what a loop recorded
    answered_from: Mapping[str, str] = MappingProxyType({})
    #: what `remuda diagnose` without a word looks at: `remuda.diagnose.everything.Checkup`
    checkups: tuple[Reference, ...] = ()
    #: its parts of `remuda report`: take the session, a `remuda.output.sections.Wanted` and who hears of progress
    report: tuple[Reference, ...] = ()
    #: routes that only read the store, and so answer also when nothing runs
    views: Reference | None = None
    #: what its reason codes mean and how they are worded, and how these codes begin
    reasons: Reference | None = None
    prefixes: tuple[str, ...] = ()
    #: by command, what it asks of the Kubernetes API
    permissions: Reference | None = None
    #: the names of its loops, and what goes through their records: a `remuda.ledger.replay.Replay`
    loops: tuple[str, ...] = ()
    replay: Reference | None = None
    #: what runs in `remuda up`: a `remuda.runtime.Runtime`, made of services and backends
    runtime: Reference | None = None
    #: a live view for the terminal that `up` was started on
    live_view: Reference | None = None
    #: its pages of the dashboard, and its part of the first one
    pages: tuple[PageReference, ...] = ()
    panel: PanelReference | None = None


class BackendReference(NamedTuple):
    """Adapters that the composition root hands to a job, and what they ask of the Kubernetes API while it runs."""

    make: Reference
    permissions: Reference | None = None
    #: only a cluster can feed them
    needs_cluster: bool = False
    #: the tables that they keep in the store
    tables: Reference | None = None
    #: what is to be said of objects on this host: takes `Objects`, gives sentences
    remarks: Reference | None = None


@dataclass(frozen=True, slots=True)
class Jobs:
    """Some jobs, and by a job's name the backends that feed it."""

    jobs: tuple[Job, ...]
    backends: Mapping[str, tuple[BackendReference, ...]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    def kinds(self, *places: Place) -> tuple[KindReference, ...]:
        """The kinds of objects that are kept in some places, or all."""
        return tuple(kind for job in self.jobs for kind in job.kinds if not places or kind.place in places)

    def commands(self, *group: str) -> dict[str, Command]:
        """What jobs bring below a group of commands, by its last word; without a group the first words."""
        found = {}
        for job in self.jobs:
            for words, command in job.commands.items():
                *before, last = words.split()
                if tuple(before) == group:
                    found[last] = command
        return found

    def subjects(self) -> dict[str, Reference]:
        """By the word below `why`, what finds its names."""
        return {word: found for job in self.jobs for word, found in job.subjects.items()}

    def tables(self) -> tuple[Any, ...]:
        """The tables that are kept in the store beside the ledger's: each a `remuda.ledger.schema.Tables`."""
        backends = (backend for each in self.backends.values() for backend in each)
        return tuple(load(backend.tables) for backend in backends if backend.tables)

    def remarks(self, objects: "Objects") -> tuple[str, ...]:
        """What backends have to say of objects on this host, that is no problem of the objects."""
        backends = (backend for each in self.backends.values() for backend in each)
        return tuple(line for each in backends if each.remarks for line in load(each.remarks)(objects))

    def views(self) -> tuple[Any, ...]:
        """Routes that can be read from the store when nothing runs."""
        return tuple(route for job in self.jobs if job.views for route in load(job.views))

    def teach(self) -> None:
        """Let sentences be made of every job's reasons; what they say is imported with the first of them."""
        for job in self.jobs:
            if job.reasons:
                add_codes(job.prefixes, functools.partial(load, job.reasons))

    def codes(self) -> dict[str, tuple[str, ...]]:
        """Every code there is and its words: two texts of a reason, four of a finding; the first is what it means."""
        return {code: words for job in self.jobs if job.reasons for code, words in load(job.reasons).items()}

    def permissions(self) -> dict[str, tuple["Rule", ...]]:
        """By command, what it asks of the Kubernetes API; `up` also for its election and all backends."""
        from remuda.kube.rbac import REPLICA  # noqa: PLC0415 - not for --help

        found: dict[str, tuple[Rule, ...]] = {}
        for job in self.jobs:
            for command, rules in (load(job.permissions) if job.permissions else {}).items():
                found[command] = (*found.get(command, ()), *rules)
        fed = [backend for job in self.jobs for backend in self.backends.get(job.name, ())]
        own = [rule for backend in fed if backend.permissions for rule in load(backend.permissions)]
        return {"up": (*found.pop("up", ()), *REPLICA, *own), **found}

    def checks(self) -> tuple[Callable[["Objects"], Iterable["Blame"]], ...]:
        """What only shows between objects; a job's own are imported when there is an object of one of its kinds."""
        return tuple(_check(job, job.check) for job in self.jobs if job.check)

    def load(self, paths: Iterable[Any], *places: Place) -> "Loaded":
        """Read files and directories of the kinds that are kept in some places, with every check."""
        from remuda.objects.load import load_files  # noqa: PLC0415 - not for --help

        return load_files(paths, self.kinds(*places), self.checks())


def _check(job: Job, reference: str) -> Callable[["Objects"], Iterable["Blame"]]:
    names = {kind.name for kind in job.kinds}

    def check(objects: "Objects") -> Iterable["Blame"]:
        if any(item.kind in names for item in objects):
            yield from load(reference)(objects)

    return check
