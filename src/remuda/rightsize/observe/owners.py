"""
Whose a pod is: of living ones their owner references say it, of past ones only the name is left.

A name is read as controllers make it: that of the workload, a dash, and an ending that is random or counted. Where
several workloads could have made it the longest name wins; where that settles nothing, nobody does.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from remuda.model.workloads import WorkloadId
from remuda.rightsize.snapshot import Snapshot

#: what Kubernetes makes hashes and random endings of: no vowels, and nothing that looks like something else
_LETTER: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_RANDOM: Final = 5
#: before random letters are added, a name is cut to so many characters
_CUT: Final = 58
_END: Final = f"{_LETTER}{{{_RANDOM}}}"
_HASH: Final = f"{_LETTER}{{1,10}}"
_COUNT: Final = "[0-9]{1,11}"
_COUNTED: Final = frozenset({"StatefulSet", "StrimziPodSet"})
#: kind → what comes after its name in those of its pods; an indexed Job has the index, too
_ENDINGS: Final = {
    "Deployment": re.compile(f"-{_HASH}-{_END}"),
    "ReplicaSet": re.compile(f"-{_END}"),
    "DaemonSet": re.compile(f"-{_END}"),
    "Job": re.compile(f"(?:-{_COUNT})?-{_END}"),
    "CronJob": re.compile(f"(?:-{_COUNT}){{1,2}}-{_END}"),
    "Rollout": re.compile(f"-{_HASH}-{_END}"),
    "DeploymentConfig": re.compile(f"-{_COUNT}-{_END}"),
    **dict.fromkeys(_COUNTED, re.compile("-(?:0|[1-9][0-9]{0,9})")),
}
#: the same where the name was, or may have been, cut
_CUT_ENDINGS: Final = {
    "Deployment": re.compile(f"(?:-(?:{_HASH}-?)?)?{_END}"),
    "ReplicaSet": re.compile(f"-?{_END}"),
    "DaemonSet": re.compile(f"-?{_END}"),
    "Job": re.compile(f"(?:-{_COUNT})?-?{_END}"),
    "CronJob": re.compile(f"(?:-{_COUNT})?(?:-(?:{_COUNT}-?)?)?{_END}"),
    "Rollout": re.compile(f"(?:-(?:{_HASH}-?)?)?{_END}"),
    "DeploymentConfig": re.compile(f"(?:-(?:{_COUNT}-?)?)?{_END}"),
}
#: a CronJob that is indexed has the most
_MOST_DASHES: Final = 3


class Owning:
    """Finds the owners of pods; made once of a snapshot, since each question is then a few look-ups."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._living = snapshot.owners
        self._known = frozenset(workload.id for workload in snapshot.workloads)
        #: namespace, and name as far as those of pods can have it
        self._named: dict[tuple[str, str], list[WorkloadId]] = defaultdict(list)
        for each in self._known:
            if each.kind in _ENDINGS:
                name = each.name if each.kind in _COUNTED else each.name[:_CUT]
                self._named[each.namespace, name].append(each)

    def of(self, namespace: str, pod: str) -> WorkloadId | None:
        """The workload of a pod that is there or was once; None where none is known, or several are as likely."""
        living = self._living.get((namespace, pod))
        if living is not None:
            return living if living in self._known else None
        for name in _beginnings(pod):
            named = self._named.get((namespace, name), ())
            found = [each for each in named if _makes(each.kind, len(pod), pod[len(name) :])]
            if found:
                return found[0] if len(found) == 1 else None
        return None


def _beginnings(pod: str) -> Iterator[str]:
    """What may be the name of a pod's workload, the longest first."""
    found = {pod[:_CUT]} if len(pod) == _CUT + _RANDOM else set()
    name = pod
    for _ in range(_MOST_DASHES):
        name = name.rpartition("-")[0]
        found.add(name)
    return iter(sorted(found, key=len, reverse=True))


def _makes(kind: str, length: int, ending: str) -> bool:
    """True if workloads of a kind make pods with this ending, in a name of this length."""
    if kind in _COUNTED or length < _CUT + _RANDOM:
        return _ENDINGS[kind].fullmatch(ending) is not None
    return length == _CUT + _RANDOM and _CUT_ENDINGS[kind].fullmatch(ending) is not None
