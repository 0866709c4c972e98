"""
The watch over a simulated fleet: called at every change, it raises at the first that must not be.

It keeps its own account of who is a node of which cluster and of which reports were to be believed.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from remuda.errors import InvariantError
from remuda.fleet import states
from remuda.fleet.plan import Op, Plan
from remuda.fleet.ports import Call, Changes
from remuda.model.times import MINUTE, SECOND, Instant, write_duration
from remuda.model.units import FleetNeed
from remuda.sim.fleet_fits import Units
from remuda.sim.fleet_process import WatchedShard
from remuda.sim.fleet_providers import SimProvider
from remuda.sim.fleet_queue import START, Queue
from remuda.sim.fleet_rules import RULES, Seen

_AGREEING = 3
_FLUSH = 512
#: the time that a call may take to its provider, and one that is repeated may take again
_LATEST_CALL = 4 * MINUTE


class FleetWatch:
    """Rules and the trace. The digest is of every change, in order."""

    def __init__(self, queue: Queue, seed: int) -> None:
        self._queue, self._seed = queue, seed
        self._trace = hashlib.sha256()
        self._lines: list[str] = []
        #: who is a node of which cluster, in truth
        self.nodes: dict[int, int] = {}
        #: by cluster what was believed of its reports since the shard started
        self.reported: dict[str, dict[str, FleetNeed]] = {}
        #: how many in a row said next to nothing
        self._tiny: Counter[str] = Counter()
        self._preempted: list[tuple[Instant, int]] = []
        self._reclaimed: dict[int, list[tuple[Instant, int]]] = {}
        #: machine → when a recorded plan said to drain it, which is before its provider began, and how
        self._ordered: dict[int, tuple[Instant, Op]] = {}
        #: the same before the last decision
        self._ordered_before = self._ordered
        self._units = Units()
        #: by provider, when the newest list since the shard started was read, and its cursor
        self._newest: dict[int, tuple[Instant, str]] = {}
        #: by id, the highest token that a machine was called with
        self._tokens: Counter[str] = Counter()
        #: no decision was made since the shard started
        self._is_new = True
        #: codes of what was decided and why no more was, until someone clears them
        self.codes: set[str] = set()
        self.actions: Counter[str] = Counter()
        self.rails: Counter[str] = Counter()
        #: when the engine last said to do something
        self.busy_at: Instant = queue.now

    @property
    def digest(self) -> str:
        """The fingerprint of the whole history."""
        self._flush()
        return self._trace.hexdigest()

    def note(self, *words: object) -> None:
        """Add a line to the history."""
        self._lines.append(f"{self._queue.now - START} {' '.join(map(str, words))}\n")
        if len(self._lines) >= _FLUSH:
            self._flush()

    def _flush(self) -> None:
        self._trace.update("".join(self._lines).encode())
        self._lines.clear()

    def broken(self, rule: str, detail: str) -> InvariantError:
        """The error for a broken rule."""
        at = write_duration((self._queue.now - START) // SECOND * SECOND)
        return InvariantError(f"seed {self._seed}, step {self._queue.step} at {at}: {rule}: {detail}")

    def joined(self, machine: int, cluster: int) -> None:
        """A machine is a node of one cluster at a time."""
        other = self.nodes.get(machine)
        if other is not None:
            raise self.broken("no machine serves two clusters", f"machine {machine}: {other} and {cluster}")
        self.nodes[machine] = cluster

    def left(self, machine: int) -> None:
        """It serves nobody."""
        self.nodes.pop(machine, None)

    def drains(self, machine: int, op: Op) -> None:
        """No machine is drained but by the order of a plan, which counts against its rail, while its call may be late."""
        at, ordered = self._ordered.get(machine, (0, None))
        if ordered is not op or self._queue.now - at > _LATEST_CALL:
            raise self.broken("nothing drains without an order", f"machine {machine}: {op.name.lower()}")

    def started(self, shard: WatchedShard) -> None:
        """Nothing that was heard before is known any more."""
        self.note("starts", shard.epoch)
        self.reported.clear()
        self._tiny.clear()
        self._newest.clear()
        self._is_new = True

    def heard(self, cluster: str, needs: tuple[FleetNeed, ...], *, believed: bool) -> None:
        """A cluster that suddenly needs next to nothing is believed at the third time, and any other at once."""
        self.note("heard", cluster, len(needs), int(believed))
        before = self.reported.get(cluster)
        suspicious = before is not None and _dropped(list(before.values()), needs)
        self._tiny[cluster] = self._tiny[cluster] + 1 if suspicious else 0
        if suspicious and believed != (self._tiny[cluster] >= _AGREEING):
            raise self.broken(
                "a report of little is believed at the third time", f"{cluster}, time {self._tiny[cluster]}"
            )
        if before is not None and not suspicious and not believed:
            raise self.broken("a report of as much as before is believed", cluster)
        if believed:
            self._tiny[cluster] = 0
            self.reported[cluster] = {need.name: need for need in needs}

    def listed(self, shard: WatchedShard, provider: SimProvider, changes: Changes) -> None:
        """What a provider forgets is forgotten, and the rest is believed as the list that was read last says."""
        world, listed = shard.world, shard.listed
        read_at, cursor = self._newest.get(provider.number, (0, ""))
        if changes.read_at >= read_at:
            self._newest[provider.number] = (changes.read_at, changes.cursor)
        elif shard.cursors[provider.name] != cursor:
            raise self.broken("an old list is passed over", f"of {provider.name}")
        here = world.of[provider.number]
        gone = {
            world.id(machine, old)
            for machine in here[world.generation[here] > 0].tolist()
            for old in range(int(world.generation[machine]))
        }
        for name in gone:
            row = shard.fleet.row(name)
            if row >= 0 and not listed.flying[row] and not listed.differs[row]:
                raise self.broken("what a provider forgets is forgotten", f"{name} is still there")
        rows = np.arange(shard.fleet.rows)
        rows = rows[(shard.fleet.state != states.ABSENT) & ~listed.differs[: len(rows)]]
        if (shard.fleet.state[rows] != listed.state[rows]).any():
            raise self.broken("a list is believed", f"of {provider.name}")

    def called(self, call: Call) -> None:
        """No token is used twice, so that what an earlier process sent and comes late is distinguished from what is meant now."""
        if call.token <= self._tokens[call.machine]:
            raise self.broken(
                "tokens grow", f"{call.machine}: {call.token} after {self._tokens[call.machine]}"
            )
        self._tokens[call.machine] = call.token

    def decided(self, shard: WatchedShard, plan: Plan) -> None:
        """A plan keeps every rule."""
        self._ordered_before = self._ordered
        if self._is_new:
            self._recall(shard)
        for reason in plan.rails:
            self.rails[reason.code] += 1
        self.codes.update(block.code for block in plan.blocks)
        self.codes.update(reason.code for reason in (*plan.rails, *plan.notes))
        self.codes.update(shortfall.reason.code for shortfall in plan.shortfalls)
        if not plan.blocks:
            return
        self.busy_at = self._queue.now
        if shard.policy.rails.paused:
            raise self.broken("nothing is done while paused", f"{len(plan)} actions")
        for block in plan.blocks:
            self.actions[block.op.name.lower()] += len(block)
            machines = shard.machine(block.rows)
            self.note("plan", block.op.name, machines, block.needs.tolist())
            if block.op in {Op.PREEMPT, Op.RECLAIM}:
                self._ordered = self._ordered | dict.fromkeys(machines, (self._queue.now, block.op))
        seen = Seen(shard.fleet, plan, shard.policy, self._queue.now, self.reported, self._units)
        for rule, check in RULES.items():
            for detail in check(seen):
                raise self.broken(rule, detail)
        for rule, detail in self._rails(shard, seen):
            raise self.broken(rule, detail)

    def unrecorded(self) -> None:
        """Nothing of the decision made just now will be done; what was ordered before may still come late."""
        self._ordered = self._ordered_before

    def _recall(self, shard: WatchedShard) -> None:
        """
        What still drains when a shard starts counts against its rails.

        With its memory it knows what plans ordered, and of that every machine; without, whatever drains counts for both.
        """
        self._is_new = False
        fleet, now = shard.fleet, self._queue.now
        rows = np.flatnonzero((fleet.state == states.DRAINING) & (now - fleet.since < MINUTE))
        self._preempted, self._reclaimed = [], {}
        columns = (shard.machine(rows), fleet.cluster[rows].tolist(), fleet.since[rows].tolist())
        for machine, cluster, since in zip(*columns, strict=True):
            at, op = self._ordered.get(machine, (0, None)) if shard.remembers else (since, None)
            if now - at >= MINUTE:
                continue
            if op is not Op.RECLAIM:
                self._preempted.append((at, 1))
            if op is not Op.PREEMPT:
                self._reclaimed.setdefault(cluster, []).append((at, 1))

    def _rails(self, shard: WatchedShard, seen: Seen) -> Iterable[tuple[str, str]]:
        fleet, rails, now = shard.fleet, shard.policy.rails, self._queue.now
        preempts = len(seen.acts.get(Op.PREEMPT, ()))
        if preempts and rails.preempt_percent is not None:
            self._preempted = [(at, number) for at, number in self._preempted if now - at < MINUTE]
            self._preempted.append((now, preempts))
            most = max(1, len(fleet) * rails.preempt_percent // 100)
            if (minute := sum(number for _, number in self._preempted)) > most:
                yield "preemptions a minute", f"{minute} of at most {most}"
        reclaims = Counter(int(fleet.cluster[row]) for row, _, _ in seen.acts.get(Op.RECLAIM, ()))
        for cluster, number in reclaims.items():
            name = fleet.names.clusters[cluster]
            if name not in self.reported:
                yield "nothing is reclaimed from a cluster not heard", name
            if rails.reclaim_percent is None:
                continue
            past = [(at, count) for at, count in self._reclaimed.get(cluster, ()) if now - at < MINUTE]
            before = sum(count for _, count in past)
            configured = int(
                np.count_nonzero((fleet.cluster == cluster) & (fleet.state == states.CONFIGURED))
            )
            most = max(1, (configured + before) * rails.reclaim_percent // 100)
            self._reclaimed[cluster] = [*past, (now, number)]
            if before + number > most:
                yield "reclaims a minute", f"{before + number} of at most {most} from {name}"


def _dropped(before: Sequence[FleetNeed], needs: Sequence[FleetNeed]) -> bool:
    """Whether needs are less than a tenth of those before, counted by rows or by any resource."""
    was, now = _amounts(before), _amounts(needs)
    return any(now.get(name, 0) * 10 < amount for name, amount in was.items())


def _amounts(needs: Sequence[FleetNeed]) -> Counter[str]:
    sums: Counter[str] = Counter(rows=len(needs))
    for need in needs:
        for name, amount in need.unit.items():
            sums[name] += need.total.get(name, 0) if need.count is None else amount * need.count
    return sums
