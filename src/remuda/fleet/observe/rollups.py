"""Roll-ups under quarantine: a cluster that suddenly asks for next to nothing is not believed at once."""

from collections.abc import Sequence

import numpy as np

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand, Held, Size, size_of
from remuda.fleet.policy import Policy
from remuda.model.units import FleetNeed

#: A first report is not doubted for fewer rows or machines than this.
SMALL = 10


def offer(
    demand: Demand,
    fleet: Fleet,
    cluster: str,
    needs: Sequence[FleetNeed],
    policy: Policy,
    *,
    confirmed: bool = False,
) -> bool:
    """
    Tell a cluster's whole demand, unless it dropped so far that it may be a mistake; True when it was believed.

    It is held when it has less than `rollup_percent` of the rows of the last one believed, or of any resource, until
    `rollup_agreeing` in a row are that small or someone confirms. A held one changes nothing: the last goes on.

    The first since the start has nothing to be compared with but what the cluster's machines serve: it is held when it
    has that much less rows than they serve needs, or that much less of every resource that ten or more of them offer.
    """
    percent = policy.rails.rollup_percent
    number = demand.names.cluster(cluster)
    size = size_of(needs)
    before = demand.heard.get(number)
    if confirmed or percent is None or not _is_suspicious(fleet, number, size, before, percent):
        demand.put(cluster, needs)
        return True
    held = demand.held.get(number)
    agreeing = 1 + (held.agreeing if held else 0)
    if agreeing >= policy.rails.rollup_agreeing:
        demand.put(cluster, needs)
        return True
    demand.hold(cluster, Held(tuple(needs), size, before or served_by(fleet, number), agreeing))
    return False


def served_by(fleet: Fleet, cluster: int) -> Size:
    """What a cluster's machines stand for: the needs they were given to as rows, and all that they offer."""
    rows = _rows(fleet, cluster)
    fleet.kinds.columns()
    offered = fleet.kinds.allocatable[fleet.kind[rows]].sum(axis=0)
    resources = {
        name: int(offered[column]) for column, name in enumerate(fleet.kinds.resources) if offered[column]
    }
    return Size(len(np.unique(fleet.need[rows])), dict(sorted(resources.items())))


def _is_suspicious(fleet: Fleet, cluster: int, size: Size, before: Size | None, percent: int) -> bool:
    if before is not None:
        return size.is_under(percent, before)
    served = served_by(fleet, cluster)
    if served.rows >= SMALL and size.rows * 100 < served.rows * percent:
        return True
    dropped = [
        name
        for name, amount in served.resources.items()
        if size.resources.get(name, 0) * 100 < amount * percent
    ]
    return len(_rows(fleet, cluster)) >= SMALL and len(dropped) == len(served.resources) > 0


def _rows(fleet: Fleet, cluster: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The machines that serve a cluster, or are about to."""
    serves = (fleet.state == states.CONFIGURED) | (fleet.state == states.CONFIGURING)
    return np.flatnonzero(serves & (fleet.cluster == cluster))
