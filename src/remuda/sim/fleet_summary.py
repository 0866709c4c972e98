"""What a simulated fleet went through, in numbers."""

from msgspec import Struct

from remuda.sim.fleet_scenario import Level


class FleetSummary(Struct, frozen=True):
    """
    What came of a history. The digest is that of every change in it, in order.

    Costs are dollars an hour on average; `bound_per_hour` is what the units that were served would have cost at the
    least, each on the cheapest machine there is for it, however few there are of that. Latencies are from the moment a
    cluster asked to the moment the unit's machine was its node.
    """

    seed: int
    machines: int
    clusters: int
    hours: float
    fault_level: Level
    bind_p50_s: float
    bind_p99_s: float
    units_bound: int
    cost_per_hour: float
    bound_per_hour: float
    cost_ratio: float
    #: sort → how many
    actions: dict[str, int]
    #: actions per machine and hour
    churn: float
    #: priority → units missing × minutes
    shortfall_minutes: dict[str, float]
    #: rail → decisions in which it held something back
    rail_trips: dict[str, int]
    faults: dict[str, int]
    cycles: int
    restarts: int
    steps: int
    #: how long after faults had stopped the last thing was done
    converged_s: float
    needs: int
    needs_unmet: int
    digest: str
