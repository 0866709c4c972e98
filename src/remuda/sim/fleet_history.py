"""
How the history of a simulated fleet goes: traces and faults for some hours, then nothing but rest.

After the faults have stopped and demand stands still, the fleet must come to rest, everyone for whom there is supply
must be served, and the engine must have nothing more to say.
"""

from collections.abc import Callable
from typing import Self

import numpy as np
from msgspec.structs import replace

from remuda.errors import InvariantError
from remuda.fleet import states
from remuda.fleet.decide import decide
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Op, Plan
from remuda.fleet.shard import CYCLE, Decide
from remuda.model.times import DAY, HOUR, MINUTE, SECOND
from remuda.model.units import FleetNeed
from remuda.sim.fleet_clusters import Cluster
from remuda.sim.fleet_faults import Fault, Faults
from remuda.sim.fleet_machines import SimulatedMachines
from remuda.sim.fleet_meter import Meter
from remuda.sim.fleet_process import Process, WatchedShard
from remuda.sim.fleet_queue import START, Queue
from remuda.sim.fleet_rest import Rest
from remuda.sim.fleet_scenario import Request, scenario
from remuda.sim.fleet_situations import Situations
from remuda.sim.fleet_summary import FleetSummary
from remuda.sim.fleet_watch import FleetWatch

#: how long it may take to come to rest, and how many cycles of silence are rest
_LONGEST_SETTLING = 3 * HOUR
_QUIET_CYCLES = 12
_MOST_IDLE_PLANS = 10


class FleetHistory:
    """A world, its clusters, its shard and the watch over them."""

    def __init__(
        self,
        request: Request,
        decide: Decide = decide,
        situations: Situations | None = None,
        shard: type[WatchedShard] = WatchedShard,
    ) -> None:
        """With `situations`, faults end as soon as nothing new comes of them."""
        self.request = request
        self._situations = situations
        self._decide = decide
        self._made = made = scenario(request)
        self.queue = Queue(request.seed)
        self.faults = Faults(request.seed, made.rates)
        self.watch = _Watch(self.queue, request.seed)
        self.world = SimulatedMachines(made, self.queue, self.faults, self.watch)
        self.meter = self.watch.meter = Meter(self.queue, self.world, request.length)
        self.process = Process(made, self.queue, self.world, self.faults, self.watch, decide, shard)
        self.clusters = [
            Cluster(number, made, self.queue, self.faults, self.process.hear, self.meter.asks)
            for number in range(request.clusters)
        ]
        self._paused_by = 0
        self._idle_plans = 0
        self._unmet = 0
        for fault in made.rates.every:
            self._expect(fault)
        self.queue.after(CYCLE, self._measure)

    def live(self, progress: Callable[[str], None] = lambda _: None) -> FleetSummary:
        """Go through it all; `progress` hears how far it is. Whatever fails is raised with its seed and step."""
        try:
            return self._live(progress)
        except InvariantError:
            raise
        except Exception as error:
            raise self.watch.broken("nothing fails", f"{type(error).__name__}: {error}") from error

    def _live(self, progress: Callable[[str], None]) -> FleetSummary:
        length = self.request.length
        if self._situations is not None:
            self._situations.begin()
        for begun in range(0, length, MINUTE):
            before = self.faults.counts.copy()
            self.watch.codes.clear()
            self.queue.run(START + min(begun + MINUTE, length))
            progress(f"{min(begun + MINUTE, length) * 100 // length} % of {self.request.hours:g} hours")
            struck = self.faults.counts - before
            if self._situations is not None and not self._situations.add(self.watch.codes | set(struck)):
                break
        self._calm()
        stopped = self.queue.now
        while not self._is_at_rest(stopped):
            if self.queue.now - stopped > _LONGEST_SETTLING:
                raise self.watch.broken("the world converges", self._unrest())
            self.queue.run(self.queue.now + CYCLE)
            progress("coming to rest")
        self._check_rest()
        if self._situations is not None:
            self._situations.end()
        return self._summary(stopped)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the shard's process, however far it is."""
        self.process.close()

    def _measure(self) -> None:
        self.meter.measure(sum(self.watch.actions.values()))
        self.queue.after(CYCLE, self._measure)

    def _expect(self, fault: Fault) -> None:
        wait = self.faults.wait(fault)
        if wait is not None:
            self.queue.after(wait, self._strike, fault)

    def _strike(self, fault: Fault) -> None:
        """What goes wrong by itself now, and when it does again."""
        if self.faults.stopped:
            return
        self._expect(fault)
        between, number = self.faults.between, max(1, self.request.machines // 2_000)
        match fault:
            case Fault.SPOT_INTERRUPTION:
                self.world.interrupt_spot(10 if self.request.faults == "hostile" else 1)
            case Fault.FORGOTTEN:
                self.world.forget(number)
            case Fault.PRICE_CHANGE:
                self.world.change_price()
            case Fault.PROVIDER_OUTAGE:
                self.faults.count(fault)
                self.world.go_down(between(fault, 20 * SECOND, 150 * SECOND))
            case Fault.PROVIDER_RESTART:
                self.faults.count(fault)
                self.world.restart_provider()
            case Fault.CLUSTER_SILENT:
                self.faults.count(fault)
                silent = self.clusters[between(fault, 0, len(self.clusters) - 1)]
                silent.fall_silent(between(fault, MINUTE, 5 * MINUTE))
            case Fault.CRASH:
                self._crash()
            case Fault.PAUSED:
                self._pause(between(fault, MINUTE, 4 * MINUTE))
            case Fault.LIMITS_CHANGED:
                self._change_limits()

    def _crash(self) -> None:
        """The shard dies at once, or in the middle of the next plan that calls anyone."""
        if not self.process.is_up:
            return
        if self.faults.between(Fault.CRASH, 0, 2):
            self.process.doom()
            return
        self.faults.count(Fault.CRASH)
        self.process.die()

    def _pause(self, length: int) -> None:
        self.faults.count(Fault.PAUSED)
        self._paused_by += 1
        self._set_rails(paused=True)
        self.queue.after(length, self._resume, self._paused_by)

    def _resume(self, paused_by: int) -> None:
        if paused_by == self._paused_by:
            self._set_rails(paused=False)

    def _change_limits(self) -> None:
        rails = self.process.policy.rails
        if not rails.quotas and not rails.spending:
            return
        self.faults.count(Fault.LIMITS_CHANGED)
        percent = self.faults.between(Fault.LIMITS_CHANGED, 60, 150)
        self._set_rails(
            quotas=tuple(replace(quota, most=max(1, quota.most * percent // 100)) for quota in rails.quotas),
            spending={name: cap * percent // 100 for name, cap in rails.spending.items()},
        )

    def _set_rails(self, **changes: object) -> None:
        policy = self.process.policy
        self.process.set_policy(replace(policy, rails=replace(policy.rails, **changes)))

    def _calm(self) -> None:
        self.watch.note("calm")
        self.faults.stop()
        self.world.calm()
        self.process.spare()
        self._set_rails(paused=False)
        for cluster in self.clusters:
            cluster.stop()

    def _is_at_rest(self, stopped: int) -> bool:
        """Nothing moves, nothing is waited for, and nothing falls due any more."""
        settled = self.process.shard.memory.settled
        now = self.queue.now
        if (
            settled is None
            or self._unrest()
            or now - max(stopped, self.watch.busy_at) < _QUIET_CYCLES * CYCLE
        ):
            self._check_idle_plans()
            return False
        return settled.until - settled.since >= DAY or now - self.watch.busy_at > HOUR

    def _check_idle_plans(self) -> None:
        """Where nothing can come of a plan but another, there is an end of it."""
        moves = self._unrest() or self.process.shard.plan.rails or not self.process.shard.plan.blocks
        self._idle_plans = 0 if moves else self._idle_plans + 1
        if self._idle_plans > _MOST_IDLE_PLANS:
            raise self.watch.broken("nothing is said at rest", f"{self.process.shard.plan.blocks[0]}")

    def _unrest(self) -> str:
        """What still moves or is waited for; nothing when all is still."""
        still = (states.SPECULATIVE, states.IDLE, states.CONFIGURED)
        moving = np.flatnonzero(~np.isin(self.world.state, still))
        if len(moving):
            state = states.STATES[int(self.world.state[moving[0]])] or "absent"
            return f"{len(moving)} machines are on their way, machine {moving[0]} is {state}"
        if not self.process.is_up or self.process.is_waiting():
            return "the shard waits for answers or lists"
        waits = [until for until in self.process.shard.back_off.values() if until > self.queue.now]
        return f"{len(waits)} machines are held back" if waits else ""

    def _check_rest(self) -> None:
        shard, now = self.process.shard, self.queue.now
        rest = Rest(shard.fleet, shard.policy, now, self._needs())
        for rule, detail in rest.flaws():
            raise self.watch.broken(rule, detail)
        plan, _ = self._decide(shard.fleet, shard.demand, Memory(), shard.policy, now)
        if plan.blocks:
            raise self.watch.broken("a lost memory starts nothing", f"{plan.blocks[0]}")
        self._unmet = rest.unmet()

    def _needs(self) -> list[FleetNeed]:
        return [need for cluster in self.clusters for need in cluster.needs]

    def _summary(self, stopped: int) -> FleetSummary:
        request, watch, meter = self.request, self.watch, self.meter
        cost, bound = meter.per_hour()
        hours = max(1, meter.measured) / HOUR
        return FleetSummary(
            seed=request.seed,
            machines=request.machines,
            clusters=request.clusters,
            hours=request.hours,
            fault_level=request.faults,
            bind_p50_s=meter.bind(50) / SECOND,
            bind_p99_s=meter.bind(99) / SECOND,
            units_bound=sum(units for _, units in meter.binds),
            cost_per_hour=cost / 1_000_000,
            bound_per_hour=bound / 1_000_000,
            cost_ratio=round(cost / bound, 3) if bound else 0.0,
            actions=dict(sorted(watch.actions.items())),
            churn=round(sum(watch.actions.values()) / request.machines / hours, 4),
            shortfall_minutes={
                str(priority): round(meter.short[priority] / MINUTE, 2) for priority in sorted(meter.short)
            },
            rail_trips=dict(sorted(watch.rails.items())),
            faults={str(fault): self.faults.counts[fault] for fault in sorted(self.faults.counts)},
            cycles=self.process.cycles,
            restarts=self.process.lives - 1,
            steps=self.queue.step,
            converged_s=max(0, watch.busy_at - stopped) / SECOND,
            needs=len(self._needs()),
            needs_unmet=self._unmet,
            digest=watch.digest,
        )


class _Watch(FleetWatch):
    """The watch, which also feeds the meter."""

    meter: Meter

    def joined(self, machine: int, cluster: int) -> None:
        super().joined(machine, cluster)
        self.meter.joined(machine)

    def left(self, machine: int) -> None:
        super().left(machine)
        self.meter.left(machine)

    def decided(self, shard: WatchedShard, plan: Plan) -> None:
        super().decided(shard, plan)
        names = shard.fleet.names
        for block in plan.blocks:
            if block.op is Op.ADOPT:
                for machine, code in zip(shard.machine(block.rows), block.needs.tolist(), strict=True):
                    cluster = names.clusters[names.need_cluster[code]]
                    need = shard.world.number_of_need(cluster, names.needs[code])
                    self.meter.adopted(machine, need)


def simulate(request: Request, decide: Decide = decide, situations: Situations | None = None) -> FleetSummary:
    """Live through a history; the same request gives the same one. Raises `InvariantError` when a rule is broken."""
    with FleetHistory(request, decide, situations) as history:
        return history.live()
