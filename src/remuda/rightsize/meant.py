"""Which workloads a person means by a name: `namespace/name` or `namespace/kind/name`, with * and ? if need be."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from remuda.errors import NotFound
from remuda.output.show import one_line
from remuda.rightsize.workloads import WorkloadId


def is_meant(who: WorkloadId, name: str) -> bool:
    """Whether a name means a workload."""
    namespace, _, rest = name.partition("/")
    kind, slash, own = rest.rpartition("/")
    return (
        fnmatchcase(who.namespace, namespace)
        and fnmatchcase(who.name, own)
        and (not slash or fnmatchcase(who.kind.lower(), kind.lower()))
    )


def all_meant(known: Iterable[WorkloadId], names: Collection[str]) -> list[WorkloadId]:
    """The workloads that any of the names means. Raises `NotFound` with each name that means none."""
    found = list(known)
    if unmet := [name for name in names if not any(is_meant(who, name) for who in found)]:
        there = sorted({f"{who.namespace}/{who.name}" for who in found})
        raise NotFound("; ".join(_unmet(name, there) for name in unmet))
    return [who for who in found if any(is_meant(who, name) for name in names)]


def _unmet(name: str, there: list[str]) -> str:
    near = get_close_matches(name, there, 1)
    hint = f"did you mean {near[0]}?" if near else "write NAMESPACE/NAME or NAMESPACE/KIND/NAME"
    return one_line(f"no workload is called {name}: {hint}")
