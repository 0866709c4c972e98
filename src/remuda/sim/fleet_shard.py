"""
The shard of a simulated fleet: it reads lists and reports, decides, and calls providers.

It believes its own calls at once and lists when they were read after the last it did to a machine. When it dies, all
of that is gone, and it begins anew with what providers list and clusters report.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from remuda.fleet import rollups, states
from remuda.fleet.begin import begin
from remuda.fleet.columns import Fleet, Rows
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory
from remuda.fleet.names import Names
from remuda.fleet.plan import Op, Plan
from remuda.fleet.policy import Policy
from remuda.model.shapes import FleetMachine
from remuda.model.times import MINUTE, SECOND, Instant
from remuda.model.units import Need
from remuda.sim.fleet_faults import Fault, Faults
from remuda.sim.fleet_queue import Queue
from remuda.sim.fleet_scenario import Scenario
from remuda.sim.fleet_world import Call, Listing, World

#: the judgement: `remuda.fleet.decide.decide`, or what is to be shown to be wrong
Decide: TypeAlias = Callable[[Fleet, Demand, Memory, Policy, Instant], tuple[Plan, Memory]]
CYCLE = 10 * SECOND
_TIMEOUT = 30 * SECOND
_LONGEST_BACK_OFF = 5 * MINUTE
_BOUND = (states.CONFIGURING, states.CONFIGURED, states.DRAINING)


class Watcher(Protocol):
    """Who looks on at what a shard hears, believes and decides."""

    def started(self, shard: "Shard") -> None:
        """It begins with nothing."""

    def heard(self, cluster: str, needs: tuple[Need, ...], *, believed: bool) -> None:
        """A cluster's report came."""

    def listed(self, shard: "Shard", listing: Listing) -> None:
        """A list was believed."""

    def decided(self, shard: "Shard", plan: Plan) -> None:
        """A decision was made, and nothing of it begun yet."""

    def note(self, *words: object) -> None:
        """Something happened."""


class Shard:
    """One process after another: `life` counts them."""

    def __init__(
        self,
        scenario: Scenario,
        queue: Queue,
        world: World,
        faults: Faults,
        watcher: Watcher,
        decide: Decide,
    ) -> None:
        self._queue, self.world, self._faults, self._watcher = queue, world, faults, watcher
        self._decide = decide
        self._gather = scenario.gather
        self.policy: Policy = scenario.policy
        #: counts starts and ends, so that what was for another process is told from what is for this one
        self.life = 0
        self.lives = 0
        self.cycles = 0
        self.is_up = False
        #: it dies while it carries out its next plan
        self.is_doomed = False
        self.start()

    def start(self) -> None:
        """Begin with nothing but what is written in the policy."""
        machines = len(self.world.state)
        self.life += 1
        self.lives += 1
        self.is_up, self.is_doomed = True, False
        self.started_at = self._queue.now
        self.fleet = Fleet(Names(), incarnation=self.life)
        self.demand = Demand(self.fleet)
        self.memory = Memory()
        self.plan = Plan()
        #: by machine of the world: its row, when it was last touched, the token of a call that is under way
        self.row = np.full(machines, -1, np.int64)
        self.touched = np.zeros(machines, np.int64)
        self.flying = np.zeros(machines, np.int64)
        self.generation = np.zeros(machines, np.int32)
        #: not as the last list said
        self._dirty = np.zeros(machines, np.bool_)
        #: the machine of each row
        self.machine = np.full(0, -1, np.int64)
        self.lists: dict[int, Listing] = {}
        self.back_off: dict[int, Instant] = {}
        self._failures: dict[int, int] = {}
        self._told: dict[str, tuple[Need, ...]] = {}
        self._sequence = 0
        self._is_woken = False
        self._watcher.started(self)
        self._queue.at(self._queue.now, self._tick, self.life)

    def die(self) -> None:
        """The process ends; another starts some seconds later."""
        self.is_up, self.is_doomed = False, False
        self.life += 1
        self._watcher.note("dies")
        self._queue.after(self._faults.between(Fault.CRASH, 2, 40) * SECOND, self.start)

    def set_policy(self, policy: Policy) -> None:
        """An operator changed something."""
        self.policy = policy
        self._watcher.note("policy", policy.rails)

    def _tick(self, life: int) -> None:
        if life != self.life:
            return
        for provider in range(len(self.world.of)):
            self._list(provider)
        self._think()
        if life == self.life:
            self._queue.after(CYCLE, self._tick, life)

    def _wake(self, life: int) -> None:
        if life == self.life:
            self._is_woken = False
            self._think()

    def hear(self, cluster: str, needs: tuple[Need, ...]) -> None:
        """A cluster reports all it needs."""
        if not self.is_up:
            return
        number = self.fleet.names.known_cluster(cluster)
        if self._told.get(cluster) is needs and number not in self.demand.held:
            return
        believed = rollups.offer(self.demand, self.fleet, cluster, needs, self.policy)
        if believed:
            self._told[cluster] = needs
        self._watcher.heard(cluster, needs, believed=believed)
        if believed and not self._is_woken:
            self._is_woken = True
            self._queue.after(self._gather, self._wake, self.life)

    def _list(self, provider: int) -> None:
        if self._queue.now < self.world.down_until[provider] or self._faults.strikes(Fault.LIST_FAILS):
            return
        listing = self.world.read(provider)
        if self._faults.strikes(Fault.LIST_STALE):
            wait = self._faults.between(Fault.LIST_STALE, 2 * SECOND, 25 * SECOND)
            self._queue.after(wait, self._arrived, self.life, listing)
            return
        self._arrived(self.life, listing)

    def _arrived(self, life: int, listing: Listing) -> None:
        """Believe a list that is newer than the last: of each machine that was not touched since it was read."""
        if life != self.life:
            return
        last = self.lists.get(listing.provider)
        if last is not None and listing.read_at < last.read_at:
            self._faults.count(Fault.LIST_REORDERED)
            return
        here = self.world.of[listing.provider]
        changed = self._dirty[here]
        if last is None:
            changed[:] = True
        elif last.version != listing.version:
            for name in ("state", "shape", "cluster", "need", "since", "generation"):
                changed |= getattr(listing, name) != getattr(last, name)
        self.lists[listing.provider] = listing
        if changed.any():
            free = changed & (self.flying[here] == 0) & (listing.read_at >= self.touched[here])
            self._dirty[here[changed]] = True
            places = np.flatnonzero(free)
            self._believe(here[places], listing, places)
        self._watcher.listed(self, listing)

    def _believe(self, machines: Rows, listing: Listing, places: Rows) -> None:
        """Take over what a list says of some machines."""
        self._dirty[machines] = False
        world, fleet = self.world, self.fleet
        gone = (listing.state[places] == states.ABSENT) | (
            listing.generation[places] != self.generation[machines]
        )
        if gone.any():
            self._forget(machines[gone])
            self.generation[machines] = listing.generation[places]
        there = listing.state[places] != states.ABSENT
        machines, places = machines[there], places[there]
        records = []
        columns = (
            listing.state,
            listing.shape,
            listing.cluster,
            listing.need,
            listing.priority,
            listing.since,
        )
        values = zip(*(column[places].tolist() for column in columns), strict=True)
        names = fleet.names
        for machine, row, (state, shape, cluster, need, noted, since) in zip(
            machines.tolist(), self.row[machines].tolist(), values, strict=True
        ):
            name = world.clusters[cluster] if cluster >= 0 else ""
            need_name, priority = world.needs[need][1] if need >= 0 else "", noted
            if row >= 0 and cluster >= 0 and fleet.cluster[row] == names.known_cluster(name):
                # What was adopted since is noted here and nowhere else.
                code = int(fleet.need[row])
                if fleet.state[row] in _BOUND and state in _BOUND and code >= 0:
                    need_name, priority = names.needs[code], int(fleet.priority[row])
            if row >= 0 and fleet.state[row] == state:
                # What seemed to fail was done after all.
                self.back_off.pop(machine, None)
            told = states.STATES[state]
            assert told is not None
            records.append(
                FleetMachine(
                    world.id(machine, int(self.generation[machine])), told, world.shapes[shape], name, need_name,
                    priority, since,
                )
            )  # fmt: skip
        if records:
            rows = fleet.upsert(records)
            self.row[machines] = rows
            if fleet.rows > len(self.machine):
                grown = np.full(fleet.rows - len(self.machine), -1, np.int64)
                self.machine = np.concatenate([self.machine, grown])
            self.machine[rows] = machines
        self._hold_back(machines)

    def _forget(self, machines: Rows) -> None:
        known = machines[self.row[machines] >= 0]
        self.fleet.remove([self.fleet.ids[row] for row in self.row[known].tolist()])
        self.machine[self.row[known]] = -1
        self.row[known] = -1
        for machine in known.tolist():
            self.back_off.pop(machine, None)
            self._failures.pop(machine, None)

    def _hold_back(self, machines: Rows) -> None:
        """Keep what failed from being tried again at once; a list that changes a machine's state ends the wait."""
        if not self.back_off:
            return
        for machine in machines.tolist():
            until = self.back_off.get(machine)
            if until is None:
                continue
            if until <= self._queue.now:
                del self.back_off[machine]
            elif self.row[machine] >= 0:
                self.fleet.delay(self.row[machine : machine + 1], until)

    def _think(self) -> None:
        """Decide and begin, once every provider was heard since the start."""
        if len(self.lists) < len(self.world.of):
            return
        self.cycles += 1
        now = self._queue.now
        self.plan, self.memory = self._decide(self.fleet, self.demand, self.memory, self.policy, now)
        self._watcher.decided(self, self.plan)
        if self.plan.blocks:
            self._act(self.plan, now)

    def _act(self, plan: Plan, now: Instant) -> None:
        calls = self._calls(plan)
        stale = begin(self.fleet, self.demand, plan, now)
        assert stale == 0, f"{stale} actions are not for what the fleet holds"
        last = len(calls)
        if self.is_doomed and calls:
            self._faults.count(Fault.CRASH_IN_PLAN)
            last = self._faults.between(Fault.CRASH_IN_PLAN, 0, last - 1)
        for call in calls[:last]:
            self._send(call)
        if last < len(calls):
            self.die()

    def _calls(self, plan: Plan) -> list[Call]:
        world, names, demand = self.world, self.fleet.names, self.demand
        row_of = demand.row_of()
        calls = []
        for block in plan.blocks:
            if block.op is Op.ADOPT:
                continue
            machines = self.machine[block.rows].tolist()
            for machine, code, grace in zip(
                machines, block.needs.tolist(), block.grace.tolist(), strict=True
            ):
                self._sequence += 1
                token = (self.life << 40) + self._sequence
                generation = int(self.generation[machine])
                if block.op is Op.ASSIGN:
                    cluster = names.clusters[names.need_cluster[code]]
                    calls.append(
                        Call(
                            block.op, machine, token, generation, world.number_of_cluster(cluster),
                            world.number_of_need(cluster, names.needs[code]), int(demand.priority[row_of[code]]),
                        )
                    )  # fmt: skip
                else:
                    calls.append(Call(block.op, machine, token, generation, grace=grace))
        return calls

    def _send(self, call: Call) -> None:
        faults, queue = self._faults, self._queue
        self.flying[call.machine] = call.token
        wait = self.world.dice.randint(5, 200)
        if faults.strikes(Fault.CALL_LOST):
            queue.after(_TIMEOUT, self._answered, self.life, call, "lost")
        elif faults.strikes(Fault.CALL_LATE):
            late = faults.between(Fault.CALL_LATE, 20 * SECOND, 90 * SECOND)
            queue.after(late, self._reach, self.life, call)
            queue.after(_TIMEOUT, self._answered, self.life, call, "lost")
        else:
            queue.after(wait, self._reach, self.life, call)
        if faults.strikes(Fault.CALL_DUPLICATED):
            again = faults.between(Fault.CALL_DUPLICATED, SECOND, 2 * MINUTE)
            queue.after(wait + again, self._reach, self.life, call)

    def _reach(self, life: int, call: Call) -> None:
        """The call comes to its provider, whatever became of who sent it."""
        faults, queue = self._faults, self._queue
        answer = self.world.call(call)
        wait = self.world.dice.randint(5, 200)
        if faults.strikes(Fault.REPLY_LOST):
            queue.after(_TIMEOUT, self._answered, life, call, "lost")
        else:
            queue.after(wait, self._answered, life, call, answer)
        if faults.strikes(Fault.REPLY_DUPLICATED):
            again = faults.between(Fault.REPLY_DUPLICATED, SECOND, MINUTE)
            queue.after(wait + again, self._answered, life, call, answer)

    def _answered(self, life: int, call: Call, answer: str) -> None:
        """An answer, or none in time; one to a call that is no longer waited for is passed over."""
        machine = call.machine
        if life != self.life or self.flying[machine] != call.token:
            return
        self.flying[machine] = 0
        self.touched[machine] = self._queue.now
        self._dirty[machine] = True
        if answer == "accepted":
            self._failures.pop(machine, None)
            return
        self._watcher.note("answer", machine, call.op, answer)
        if answer == "unknown":
            self._forget(np.array([machine], np.int64))
            return
        failures = self._failures[machine] = self._failures.get(machine, 0) + 1
        self.back_off[machine] = self._queue.now + min(CYCLE << min(failures, 6), _LONGEST_BACK_OFF)
