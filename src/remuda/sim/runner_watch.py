"""The rules for pools whose machines claim work by themselves, beside those of every pool."""

from collections import defaultdict, deque
from collections.abc import Callable

import msgspec

from remuda.loop.clock import Clock
from remuda.model.jobs import Run
from remuda.model.machines import State
from remuda.model.plans import Plan, Reason
from remuda.model.times import Instant
from remuda.pools.decide.model import Close, Delete, Policy, PoolAction, PoolPolicy, Snapshot
from remuda.sim.circle import SimApi, Task
from remuda.sim.provider import SimMachine
from remuda.sim.vms import Vm
from remuda.sim.watch import Watch

#: counts that are older than this are stale, however seldom a class is asked
_STALE_S = 30.0
_AGENTS = ("agents",)
_CALLS = ("unclaimed", "running", *_AGENTS)
#: what pools do while nobody reports what is needed, or what there is
_HOLDS = frozenset({"pool.source-silent", "pool.provider-silent"})
#: what a loop may warn of while faults are injected
_EXPECTED = ("injected fault", "wants to be left alone", "cannot be read, and it may be one of them")


class RunnerWatch(Watch):
    """Knows what CircleCI really reported, and holds decisions against it."""

    api: SimApi
    #: how many machines of a pool are ordered and not there yet
    to_come: Callable[[str], int]
    #: the class of a pool, also of one that is removed
    class_of: Callable[[str], str]

    def __init__(self, clock: Clock, seed: int) -> None:
        super().__init__(clock, seed)
        #: when the observation began that the next decision goes by
        self.observing_at = 0.0
        #: times a machine was asked to go that had claimed a task which nobody could know of
        self.late_claims = 0
        #: when machines were asked to go, and how many there were at once at most
        self.dismissals: list[float] = []
        self.most_together = 0
        #: machines that go without anybody being asked, each with its moment of creation
        self._unconfirmed: set[tuple[str, str]] = set()
        #: times one of them was asked to, and had a task
        self.powered_off = self.powered_off_busy = 0
        #: by pool: what was wanted lately, and since when
        self._wanted: dict[str, deque[tuple[Instant, int]]] = defaultdict(deque)
        #: pools that were decided on since the memory was last lost
        self._sure: set[str] = set()

    def forgot(self) -> None:
        """The ledger is lost, and with it what was wanted lately."""
        self.note("ledger lost")
        self._sure.clear()

    def heard(self, line: str) -> None:
        """A warning or error of the loop: only injected faults and refusals are expected."""
        entry = msgspec.json.decode(line)
        words = str(entry.get("error") or entry.get("detail"))
        if entry.get("outcome") != "refused" and not any(word in words for word in _EXPECTED):
            raise self.broken("nothing else fails", line)

    def decided(self, seen: Snapshot, policy: Policy, now: Instant, plan: Plan[PoolAction]) -> None:
        """Nothing goes for being too much on what is not known, and nothing is made that nobody asked for."""
        super().decided(seen, policy, now, plan)
        for action in plan.actions:
            if isinstance(action, Close):
                self._check_known(
                    self.class_of(action.pool), action, _CALLS if action.pool in policy.pools else _AGENTS
                )
            elif isinstance(action, Delete) and action.reason.code == "machine.unheard":
                self._check_unheard(seen, action)
            elif isinstance(action, Delete) and action.gently:
                self._check_unconfirmed(policy, action)
            elif isinstance(action, Delete) and action.even_busy:
                raise self.broken("never a busy machine", f"{action} was ordered by nobody")
        for reason in plan.reasons:
            pool = policy.pools.get(reason.subject.removeprefix("pool/"))
            if pool is not None:
                self._check_demand(pool, reason, now)
        self._check_concurrency(seen, policy, plan)

    def _check_unheard(self, seen: Snapshot, action: Delete) -> None:
        """A VM that no listing shows may have a task as long as more tasks run than the VMs that are listed have."""
        pool = next(pool for pool in seen.pools if pool.name == action.pool)
        at_work = sum(
            machine.job is not None or machine.state in {State.CONFIGURED, State.CONFIGURING}
            for machine in pool.machines
        )
        if pool.need is None or pool.need.running > at_work:
            raise self.broken(
                "what no listing shows may be busy", f"{action}: {pool.need}, of which VMs have {at_work}"
            )
        self._unconfirmed.add((action.target, action.expects))

    def _check_unconfirmed(self, policy: Policy, action: Delete) -> None:
        """Only what must go does so unasked, and only while nobody could be asked."""
        if action.pool in policy.pools:
            raise self.broken("stale data never shrinks a pool", f"{action}: the pool is configured")
        listing = ("agents", self.class_of(action.pool))
        good_at = self.api.good_at.get(listing, float("-inf"))
        if listing not in self.api.failing_since and good_at > self.observing_at - _STALE_S:
            raise self.broken("who can be asked about is", f"{action}: agents were last listed at {good_at}")
        self._unconfirmed.add((action.target, action.expects))

    def _check_known(self, job_class: str, action: Close, calls: tuple[str, ...]) -> None:
        for call in calls:
            failing_since = self.api.failing_since.get((call, job_class))
            if failing_since is not None and failing_since < self.observing_at:
                raise self.broken(
                    "stale data never shrinks a pool", f"{action}: {call} fails since {failing_since}"
                )
            good_at = self.api.good_at.get((call, job_class), float("-inf"))
            if good_at < self.observing_at - _STALE_S:
                raise self.broken(
                    "stale data never shrinks a pool", f"{action}: {call} was last good at {good_at}"
                )

    def _check_demand(self, pool: PoolPolicy, reason: Reason, now: Instant) -> None:
        """What it makes is what was wanted within the delay at most, as CircleCI reported it."""
        terms = {name: term if isinstance(term, int) else 0 for name, term in reason.terms.items()}
        tasks = terms["unclaimed"] + terms["running"] - terms.get("beyond", 0)
        wanted = max(terms["min"], min(terms["max"], tasks + terms["headroom"]))
        if pool.name not in self._sure or terms["stale_since"] or reason.code in _HOLDS:
            # What there is counts as wanted where nobody knows better, or was, when it was last listed: one may have ended since.
            wanted = max(wanted, self.existing[pool.name] + self.to_come(pool.name), terms["live"])
        self._sure.add(pool.name)
        recent = self._wanted[pool.name]
        recent.append((now, wanted))
        # A step holds until the next one began: the last one before the delay counts.
        while len(recent) > 1 and recent[1][0] + pool.scale_down_delay <= now:
            recent.popleft()
        most = max(count for _, count in recent)
        if terms["created"] and terms["live"] + terms["created"] > most:
            raise self.broken(
                "nothing is made that nobody asked for", f"{reason} while {most} were wanted at most"
            )

    def _check_concurrency(self, seen: Snapshot, policy: Policy, plan: Plan[PoolAction]) -> None:
        """All pools of an organisation together want machines for the tasks that its plan lets run, and no more."""
        beyond = {
            reason.subject.removeprefix("pool/"): reason.terms.get("beyond", 0) for reason in plan.reasons
        }
        for name, most in policy.concurrency.items():
            needs = {
                pool.name: pool.need
                for pool in seen.pools
                if pool.need is not None
                and pool.name in policy.pools
                and policy.pools[pool.name].organisation == name
            }
            running = sum(need.running for need in needs.values())
            counted = sum(
                need.unclaimed + need.running - int(beyond[pool] or 0) for pool, need in needs.items()
            )
            if counted > max(most, running):
                raise self.broken(
                    "concurrency", f"{counted} tasks count of {needs} under a concurrency of {most}"
                )

    def made(self, machine: SimMachine) -> None:
        """Bounds and ceilings hold for every machine that is made."""
        super().made(machine)
        self.most_together = max(self.most_together, self.existing.total())

    def dismissed(self, vm: Vm) -> None:
        """Who is known to have a task is not even asked to go, but where that was long ago and nobody can be asked."""
        self.note("dismissed", vm.name)
        self.dismissals.append(self._clock.monotonic())
        if (vm.name, vm.uid) in self._unconfirmed:
            self.powered_off += 1
            self.powered_off_busy += vm.job is not None
            return
        if vm.job is None or vm.agent is None or vm.is_leaving:
            return
        if self.api.is_known_busy(vm.agent):
            raise self.broken(
                "never a busy machine", f"{vm.name} is asked to go and is known to run {vm.job}"
            )
        self.late_claims += 1

    def killed(self, vm: Vm) -> None:
        """No task that runs is ever ended by us."""
        raise self.broken("no running task is killed", f"{vm.name} was asked to go and still ran {vm.job}")

    def took(self, vm: Vm, task: Task) -> None:
        """A task runs on one machine, once."""
        self.note("took", vm.name, task.number)
        run, at = Run("", task.number, 1), self._clock.monotonic()
        if run in self.runs:
            raise self.broken("no silent double run", f"task {task} on {vm.name} and {self.runs[run]}")
        self.runs[run] = vm.name
        self._run_since[run] = at
        self.first_runs[task.number] = at

    def done(self, vm: Vm, task: Task) -> None:
        """A task ended by itself."""
        self.note("done", vm.name, task.number)
        self._stop_run(Run("", task.number, 1), self._clock.monotonic())
