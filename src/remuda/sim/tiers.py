"""
Histories of tiers: namespaces come, go and change their tiers, other hands edit, and the API fails, in virtual time.

When the hands are off and nothing fails any more, the cluster must be exactly what its policies say, what others made must
be as they made it, and the loop must have nothing to write.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from remuda.errors import InvariantError
from remuda.ledger.record import MemoryRecorder
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Pace, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.sim.clock import SimClock
from remuda.sim.faults import Crash, Fault, Faults
from remuda.sim.loop import run
from remuda.sim.tier_cluster import Key, SimCluster
from remuda.sim.tier_rules import broken_rules
from remuda.tiers.controller import TiersController
from remuda.tiers.decide.desired import LIMITS_NAME, quota_name
from remuda.tiers.decide.model import Memory, Policies, Snapshot, TierAction

#: what goes wrong, by the point where it does
HOSTILE = {
    "api.read": Fault(delay=0.2, fail=0.03),
    "api.write": Fault(delay=0.2, fail=0.05),
    "api.answer": Fault(fail=0.05),
    "loop.recorded": Fault(crash=0.01),
    "loop.acting": Fault(delay=0.1, crash=0.01),
    "loop.acted": Fault(crash=0.02),
}
#: longer than any wait after a failure
_QUIET_S = 310.0


class Summary(Struct, frozen=True):
    """What came of a history."""

    namespaces: int
    writes: int
    cycles: int
    restarts: int
    faults: dict[str, int]


class TierHistory:
    """One history: a cluster, a process that dies and starts again, and edits at times."""

    def __init__(self, seed: int, policies: Policies, faults: dict[str, Fault], mutation: str = "") -> None:
        self.clock = SimClock(asyncio.get_running_loop())
        self.faults = Faults(seed, faults)
        self.cluster = SimCluster(self.faults, random.Random(f"cluster {seed}"), mutation=mutation)
        self.policies = policies
        self._seed, self._mutation = seed, mutation
        self._known = {policy.name for policy in policies.policies}
        self._recorder: MemoryRecorder[Snapshot, Memory, Policies, TierAction] = MemoryRecorder(Memory())
        self._loop: Loop[Snapshot, Memory, Policies, TierAction] | None = None
        self.restarts = self.cycles = 0

    def follow(self, policies: Policies) -> None:
        """Policies change."""
        self.policies = policies
        self._known.update(policy.name for policy in policies.policies)
        if self._loop is not None:
            assert isinstance(self._loop.controller, TiersController)
            self._loop.controller.follow(policies)
            self._loop.follow(policies)

    async def live(self) -> None:
        """Run the loop; a crash ends a process, and the next one goes by what was recorded."""
        while True:
            controller = TiersController(self.cluster, self.clock)
            tools = Tools(
                self.clock,
                random.Random(self._seed),
                Log(self.clock, lambda _: None),
                LoopMetrics(CollectorRegistry()),
                self.faults.fault_point,
            )
            loop = Loop(controller, self._recorder, self.policies, tools, Pace(stop_grace=0.0))
            self._loop, self.cluster.wake = loop, loop.wake
            controller.follow(self.policies)
            try:
                await loop.run()
            except* Crash:
                self.restarts += 1
            finally:
                self.cycles += loop.standing.cycles
            await asyncio.sleep(1.0)

    async def settle(self) -> None:
        """Let nothing fail any more, and wait until nothing is written for longer than any wait after a failure."""
        self.faults.stop()
        before, quiet = self.cluster.writes, 0.0
        while quiet < _QUIET_S:
            await asyncio.sleep(1.0)
            quiet = quiet + 1.0 if self.cluster.writes == before else 0.0
            before = self.cluster.writes

    def check(self) -> None:
        """The cluster is what policies say, and nothing is under way."""
        problems = list(broken_rules(self.cluster, self.policies, self._known, self._mutation))
        if self._recorder.operations():
            problems.append(f"operations are left: {self._recorder.operations()}")
        if problems:
            raise InvariantError(f"seed {self._seed}: " + "; ".join(problems[:5]))

    def summary(self) -> Summary:
        """What came of it."""
        cycles = self.cycles + (self._loop.standing.cycles if self._loop else 0)
        return Summary(
            len(self.cluster.namespaces),
            self.cluster.writes,
            cycles,
            self.restarts,
            dict(sorted(self.faults.counts.items())),
        )


Edit = Callable[[TierHistory], None]


async def live_through(history: TierHistory, edits: Iterable[tuple[float, Edit]]) -> Summary:
    """Let edits happen, in the order of their times, then check what came of it."""
    life = asyncio.ensure_future(history.live())
    try:
        for at, edit in sorted(edits, key=lambda item: item[0]):
            await asyncio.sleep(max(0.0, at - history.clock.monotonic()))
            edit(history)
        await history.settle()
        history.check()
        return history.summary()
    finally:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)


NAMES = ("web", "4-aux-batch", "0-core-dns", "games", "kube-system", "shared-ci")
TAINT = "nvidia.com/gpu=true:PreferNoSchedule"
DEVICE = "feature.node.kubernetes.io/pci-10de.present"


def hostile_edits(seed: int, count: int = 60, seconds: float = 300.0) -> list[tuple[float, Edit]]:
    """Namespaces and nodes that come, change and go, other hands in what is ours, and policies that change."""
    dice = random.Random(f"edits {seed}")
    made: list[tuple[float, Edit]] = [(0.0, _label(name, _labels(dice))) for name in NAMES[:4]]
    made.append((0.0, _node("gpu-1", "true", None)))
    return made + [(dice.uniform(0.0, seconds), _edit(dice)) for _ in range(count)]


def _edit(dice: random.Random) -> Edit:
    name = dice.choice(NAMES)
    keys: tuple[Key, ...] = (
        ("LimitRange", name, LIMITS_NAME),
        ("ResourceQuota", name, quota_name(name)),
        ("PriorityClass", "", f"tier-{dice.choice(list(DEFAULT_POLICY.tiers))}"),
    )
    key = dice.choice(keys)
    node = dice.choice(("gpu-1", "gpu-2"))
    taints = dice.choice(
        (None, (), (TAINT,), ("spot=true:NoSchedule", TAINT), ("nvidia.com/gpu=other:PreferNoSchedule",))
    )
    return dice.choice(
        (
            _label(name, _labels(dice)),
            _label(name, _labels(dice)),
            lambda history: history.cluster.end_namespace(name),
            lambda history: history.cluster.remove(key),
            lambda history: history.cluster.put(foreign(key)),
            lambda history: drift(history.cluster, key),
            lambda history: drift(history.cluster, key),
            _node(node, dice.choice(("true", "false", "")), taints),
            lambda history: history.follow(dice.choice(POLICIES)),
        )
    )


def _labels(dice: random.Random) -> dict[str, str]:
    labels = {}
    if dice.random() < 0.8:
        labels["remuda.dev/tier"] = dice.choice((*DEFAULT_POLICY.tiers, "9-none"))
    for opt_out in ("remuda.dev/own-quota", "remuda.dev/own-limits"):
        if dice.random() < 0.15:
            labels[opt_out] = "true"
    return labels


def _label(name: str, labels: dict[str, str]) -> Edit:
    return lambda history: history.cluster.label(name, labels)


def _node(name: str, device: str, taints: tuple[str, ...] | None) -> Edit:
    labels = {DEVICE: device} if device else {}
    return lambda history: history.cluster.put_node(name, labels, taints)


def foreign(key: Key) -> dict[str, Any]:
    """An object of a name that tiers give, made by somebody else."""
    kind, namespace, name = key
    where = {"namespace": namespace} if namespace else {}
    body: dict[str, Any] = {"value": 5} if kind == "PriorityClass" else {"spec": {"hard": {"pods": "1"}}}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": {}, **where}, **body}


def drift(cluster: SimCluster, key: Key) -> None:
    """Somebody edits an object that is there, and adds something of their own to a quota."""
    item = cluster.objects.get(key)
    if item is None:
        return
    changes: dict[str, dict[str, Any]] = {
        "LimitRange": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}},
        "ResourceQuota": {"spec": {"hard": {"pods": "3", "requests.storage": "1Ti"}}},
        "PriorityClass": {"value": 7, "description": "edited"},
    }
    manifest = {**item.manifest}
    for field, value in changes[key[0]].items():
        manifest[field] = {**manifest.get(field, {}), **value} if isinstance(value, dict) else value
    cluster.put(manifest)


#: what policies become in a history: one, another in its place, two, none, and one that cannot be read
POLICIES = (
    Policies((DEFAULT_POLICY,)),
    Policies((replace(DEFAULT_POLICY, name="strict", cpu_limits="deny", default_tier="4-aux"),)),
    Policies(
        (
            replace(DEFAULT_POLICY, name="most", excluded=("web", "kube-*")),
            replace(DEFAULT_POLICY, name="web", namespaces=("web", "games"), gpu=None),
        )
    ),
    Policies(),
    Policies((), ("default",)),
)


def simulate(seed: int) -> Summary:
    """One hostile history; `InvariantError` with its seed when a rule is broken."""

    async def main() -> Summary:
        history = TierHistory(seed, POLICIES[0], HOSTILE, mutation="v1beta1" if seed % 2 else "")
        return await live_through(history, hostile_edits(seed))

    return run(main(), seed=seed)
