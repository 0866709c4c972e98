"""Which workloads of a world a person asked for; what means nothing, or could not be read, is no empty review."""

from collections.abc import Collection
from difflib import get_close_matches
from fnmatch import fnmatchcase

import msgspec

from remuda.errors import BadInput, NotFound, Unavailable
from remuda.output.show import one_line
from remuda.rightsize.meant import all_meant
from remuda.rightsize.wanted import Wanted
from remuda.rightsize.workloads import KINDS, World

#: as files and the API call what makes pods
_WORKLOADS = frozenset({"workloads", *KINDS, *(f"{kind.lower()}s" for kind in KINDS)})
_TOLD = 10


def is_pattern(name: str) -> bool:
    """Whether it may match more than itself."""
    return any(letter in name for letter in "*?[")


def chosen(world: World, wanted: Wanted, there: Collection[str] = ()) -> World:
    """
    Only what was asked for.

    Raises `NotFound` with each namespace and workload that means nothing; where there are no workloads because they could
    not be read, `Unavailable`, or `BadInput` if files have none. `there` are namespaces that the world need not know.
    """
    kept = [item for item in world.workloads if is_of(item.id.namespace, wanted.namespaces)]
    if not kept:
        _check_read(world, wanted)
    hidden = not wanted.files and any(each.part == "namespaces" for each in world.unknown)
    # Who may not look up a namespace may still be right about its name.
    judged = [name for name in wanted.namespaces if is_pattern(name) or not hidden]
    _check_namespaces(judged, {*there, *_namespaces(world)})
    if wanted.names:
        meant = set(all_meant((item.id for item in kept), wanted.names))
        kept = [item for item in kept if item.id in meant]
    return msgspec.structs.replace(world, workloads=tuple(kept))


def is_of(namespace: str, wanted: Collection[str]) -> bool:
    """Whether a namespace is one of these, or there are none."""
    return not wanted or any(fnmatchcase(namespace, each) for each in wanted)


def _check_read(world: World, wanted: Wanted) -> None:
    """Nothing may be concluded from workloads that are not there if they could not be read."""
    unread = [each for each in world.unknown if each.part.partition(" ")[0] in _WORKLOADS]
    if not unread:
        return
    lines = [one_line(f"{each.part} cannot be reviewed: {each.why}") for each in unread[:_TOLD]]
    if len(unread) > _TOLD:
        lines.append(f"and {len(unread) - _TOLD:,} more")
    words = "\n".join(lines)
    raise BadInput(words) if wanted.files else Unavailable(words)


def _namespaces(world: World) -> set[str]:
    return {
        *world.namespaces,
        *(item.id.namespace for item in world.workloads),
        *(item.namespace for item in world.limit_ranges),
        *(item.namespace for item in world.quotas),
    }


def _check_namespaces(wanted: Collection[str], there: Collection[str]) -> None:
    unmet = [name for name in wanted if not any(fnmatchcase(each, name) for each in there)]
    if unmet:
        raise NotFound("; ".join(_unmet(name, there) for name in unmet))


def _unmet(name: str, there: Collection[str]) -> str:
    if is_pattern(name):
        return one_line(f"no namespace matches {name}: {_those(there)}")
    near = get_close_matches(name, sorted(there), 1)
    hint = f"did you mean {near[0]}?" if near else _those(there)
    return one_line(f"no namespace is called {name}: {hint}")


def _those(there: Collection[str]) -> str:
    if not there:
        return "see kubectl get namespaces"
    names = sorted(there)
    return f"there is {', '.join(names[:_TOLD])}" + (" …" if len(names) > _TOLD else "")
