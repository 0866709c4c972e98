"""
Which workloads a person asked for: by namespace, and by `namespace/name` or `namespace/kind/name`, with * and ? if need be.

What matches nothing, or could not be read, is no empty review.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

import msgspec
from msgspec import Struct

from remuda.errors import BadInput, NotFound, Unavailable
from remuda.model.workloads import WorkloadId
from remuda.output.show import one_line
from remuda.rightsize.snapshot import KINDS, Snapshot

#: as files and the API call what makes pods
_WORKLOADS = frozenset({"workloads", *KINDS, *(f"{kind.lower()}s" for kind in KINDS)})
_MOST_LISTED = 10


class Selection(Struct, frozen=True):
    """Which workloads, and who says what they used; empty is all of them, the cluster, and its own advisors."""

    context: str | None = None
    files: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    prometheus: str = ""
    usage: tuple[str, ...] = ()
    history_s: int = 8 * 86_400


def is_pattern(name: str) -> bool:
    """Whether it may match more than itself."""
    return any(letter in name for letter in "*?[")


def chosen(snapshot: Snapshot, selection: Selection, there: Collection[str] = ()) -> Snapshot:
    """
    Only what was asked for.

    Raises `NotFound` with each namespace and workload that means nothing; where there are no workloads because they could
    not be read, `Unavailable`, or `BadInput` if files have none. `there` are namespaces that the world need not know.
    """
    kept = [item for item in snapshot.workloads if is_of(item.id.namespace, selection.namespaces)]
    if not kept:
        _check_read(snapshot, selection)
    hidden = not selection.files and any(each.part == "namespaces" for each in snapshot.unknown)
    # Who may not look up a namespace may still be right about its name.
    judged = [name for name in selection.namespaces if is_pattern(name) or not hidden]
    _check_namespaces(judged, {*there, *_namespaces(snapshot)})
    if selection.names:
        named = set(select_named((item.id for item in kept), selection.names))
        kept = [item for item in kept if item.id in named]
    ids = {item.id for item in kept}
    owners = {
        pod: owner
        for pod, owner in snapshot.owners.items()
        if owner in ids or (not selection.names and is_of(owner.namespace, selection.namespaces))
    }
    return msgspec.structs.replace(snapshot, workloads=tuple(kept), owners=owners)


def is_named(who: WorkloadId, name: str) -> bool:
    """Whether a name means a workload."""
    namespace, _, rest = name.partition("/")
    kind, slash, own = rest.rpartition("/")
    return (
        fnmatchcase(who.namespace, namespace)
        and fnmatchcase(who.name, own)
        and (not slash or fnmatchcase(who.kind.lower(), kind.lower()))
    )


def select_named(known: Iterable[WorkloadId], names: Collection[str]) -> list[WorkloadId]:
    """The workloads that any of the names means. Raises `NotFound` with each name that means none."""
    found = list(known)
    if unmet := [name for name in names if not any(is_named(who, name) for who in found)]:
        there = sorted({f"{who.namespace}/{who.name}" for who in found})
        raise NotFound("; ".join(_unmatched_name(name, there) for name in unmet))
    return [who for who in found if any(is_named(who, name) for name in names)]


def is_of(namespace: str, selection: Collection[str]) -> bool:
    """Whether a namespace is one of these, or there are none."""
    return not selection or any(fnmatchcase(namespace, each) for each in selection)


def _check_read(snapshot: Snapshot, selection: Selection) -> None:
    """Nothing may be concluded from workloads that are not there if they could not be read."""
    unread = [each for each in snapshot.unknown if each.part.partition(" ")[0] in _WORKLOADS]
    if not unread:
        return
    lines = [one_line(f"{each.part} cannot be reviewed: {each.why}") for each in unread[:_MOST_LISTED]]
    if len(unread) > _MOST_LISTED:
        lines.append(f"and {len(unread) - _MOST_LISTED:,} more")
    words = "\n".join(lines)
    raise BadInput(words) if selection.files else Unavailable(words)


def _namespaces(snapshot: Snapshot) -> set[str]:
    return {
        *snapshot.namespaces,
        *(item.id.namespace for item in snapshot.workloads),
        *(item.namespace for item in snapshot.limit_ranges),
        *(item.namespace for item in snapshot.quotas),
    }


def _check_namespaces(selection: Collection[str], there: Collection[str]) -> None:
    unmet = [name for name in selection if not any(fnmatchcase(each, name) for each in there)]
    if unmet:
        raise NotFound("; ".join(_unmet(name, there) for name in unmet))


def _unmet(name: str, there: Collection[str]) -> str:
    if is_pattern(name):
        return one_line(f"no namespace matches {name}: {_those(there)}")
    near = get_close_matches(name, sorted(there), 1)
    hint = f"did you mean {near[0]}?" if near else _those(there)
    return one_line(f"no namespace is called {name}: {hint}")


def _unmatched_name(name: str, there: list[str]) -> str:
    near = get_close_matches(name, there, 1)
    hint = f"did you mean {near[0]}?" if near else "write NAMESPACE/NAME or NAMESPACE/KIND/NAME"
    return one_line(f"no workload is called {name}: {hint}")


def _those(there: Collection[str]) -> str:
    if not there:
        return "see kubectl get namespaces"
    names = sorted(there)
    return f"there is {', '.join(names[:_MOST_LISTED])}" + (" …" if len(names) > _MOST_LISTED else "")
