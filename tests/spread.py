"""
How tests are shared out to processes: whole files, and single tests of those that take long and share nothing.

Servers that several files share are started once in each process that has such a file, and run to its end: files that
share servers stay in one process for as long as others have something else to do.
"""

from collections.abc import Collection, Iterable
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

#: Files whose tests share nothing in memory and take minutes together: in one row they would be what a run waits for in the end.
SINGLY = (
    "tests/sim/",
    "tests/providers/kubevirt/guest/test_booted_guest.py",
    "tests/providers/kubevirt/guest/test_saved_guest.py",
    "tests/integration/test_kills.py",
    "tests/fleet/test_long_runs.py",
)

#: how the names of files begin that share servers, by what they share
FAMILIES = {
    "kubevirt": (
        "tests/test_runners",
        "tests/kubevirt/",
        "tests/providers/kubevirt/test_",
        "tests/charts/test_provisioner",
    ),
    "cluster": (
        "tests/kube/",
        "tests/charts/",
        "tests/test_cluster",
        "tests/cli/test_up",
        "tests/objects/test_crds",
        "tests/jobs/",
        "tests/rightsize/patches/test_live",
    ),
    "guarded": ("tests/capacity/test_live_",),
}


class Spread(LoadScopeScheduling):  # type: ignore[misc]
    """xdist's `loadfile`, but for the tests that go singly."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        others = [one for other, units in self.assigned_work.items() if other is not node for one in units]
        chosen = choose(self.workqueue, self.assigned_work.get(node, ()), others)
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)


def unit(nodeid: str) -> str:
    """What a test is shared out with: its file, or itself alone."""
    return nodeid if nodeid.startswith(SINGLY) else nodeid.partition("::")[0]


def family(one: str) -> str:
    """The servers that a unit shares with others, or nothing."""
    return next((name for name, starts in FAMILIES.items() if one.startswith(starts)), "")


def choose(waiting: Iterable[str], mine: Collection[str], others: Collection[str]) -> str:
    """
    The next unit for a process that had `mine`: one for servers that it runs, else one for servers that no other runs.

    When there is only such as others run the servers for, it is the first of these.
    """
    runs = {family(one) for one in mine} - {""}
    run_elsewhere = {family(one) for one in others} - {""}
    waiting = list(waiting)
    return next(
        (one for one in waiting if family(one) in runs),
        next((one for one in waiting if family(one) not in run_elsewhere), waiting[0]),
    )
