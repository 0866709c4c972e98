"""Print eight days of what the workloads of rightsize-cluster.yaml used, as `remuda rightsize review --usage` reads it."""

import json
import math
import sys
from collections.abc import Callable

MIB = 1024 * 1024
DAY = 86_400
END = int(sys.argv[1]) // 60 * 60
TIMES = range(END - 8 * DAY, END, 60)
Use = Callable[[int], float]


def replica(cores: Use, mebibytes: Use, kills: tuple[tuple[int, int], ...] = ()) -> dict[str, object]:
    """One container of one pod; kills are times and what was requested then."""
    return {
        "cpu": [{"t": t, "cores": round(cores(t), 3)} for t in TIMES],
        "memory": [{"t": t, "bytes": int(mebibytes(t) * MIB)} for t in TIMES],
        "oom": [{"t": t, "requested_bytes": requested} for t, requested in kills],
    }


def daily(low: float, high: float) -> Use:
    """Quiet at night, busy at noon."""
    return lambda t: low + (high - low) * (1 - math.cos(2 * math.pi * (t % DAY) / DAY)) / 2


def steady(value: float) -> Use:
    """About the same at all times."""
    return lambda t: value * (1 + 0.02 * math.sin(t / 1_000))


def leaking(start: float, per_day: float) -> Use:
    """More every day."""
    return lambda t: start + per_day * (t - TIMES[0]) / DAY


def workload(
    kind: str, namespace: str, name: str, **containers: list[dict[str, object]]
) -> dict[str, object]:
    """All replicas of each container."""
    made = {each: {"instances": replicas} for each, replicas in containers.items()}
    return {"namespace": namespace, "kind": kind, "name": name, "containers": made}


printed = json.dumps(
    {
        "workloads": [
            workload(
                "Deployment",
                "shop",
                "web",
                web=[replica(daily(0.1, 0.6), daily(300, 420))] * 2,
                proxy=[replica(steady(0.02), steady(40))] * 2,
            ),
            workload("Deployment", "shop", "cart", cart=[replica(steady(0.05), leaking(200, 35))]),
            workload(
                "StatefulSet",
                "shop",
                "search",
                search=[replica(steady(0.4), steady(700), ((END - DAY, 768 * MIB),))],
            ),
            workload("Deployment", "ml", "train", train=[replica(steady(3.0), daily(2_000, 9_000))]),
        ]
    }
)
sys.stdout.write(printed)  # at once: `json.dump` writes number by number and takes nine times as long
