"""
One supervised loop: observe, decide, record, act, at an interval or when something wakes it.

Wakes coalesce: however many arrive during a cycle, one more cycle follows. An error is logged, waited out with jittered
back-off and tried again; a broken invariant stops this loop alone. `act` runs beside the cycle and is never waited for.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct

from remuda.errors import InvariantError, Unavailable
from remuda.loop.clock import Clock
from remuda.loop.controller import Controller, Recorder
from remuda.loop.faults import FaultPoint, no_fault
from remuda.loop.logs import Log
from remuda.loop.metrics import LoopMetrics
from remuda.model.plans import Action, Operation, Outcome, Plan
from remuda.model.times import Instant, write_instant

S = TypeVar("S")
M = TypeVar("M")
P = TypeVar("P")
A = TypeVar("A", bound=Action)


class Pace(Struct, frozen=True):
    """How fast a loop runs, in seconds."""

    interval: float = 1.0
    #: least time between the starts of two cycles, however often it is woken
    gap: float = 0.05
    #: the interval is stretched or shrunk by up to this part, so that loops do not march in step
    jitter: float = 0.1
    first_backoff: float = 1.0
    longest_backoff: float = 60.0
    observe_timeout: float = 30.0
    act_timeout: float = 600.0
    #: operations carried out at the same time
    parallel: int = 32
    #: a cycle that takes longer than this is stuck
    stuck_after: float = 60.0
    #: how long a stop waits for operations under way; what is left is carried out at the next start
    stop_grace: float = 10.0


class Phase(StrEnum):
    """What a loop is doing."""

    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STANDBY = "standby"
    FAILING = "failing"
    BROKEN = "broken"
    STOPPED = "stopped"


@dataclass(slots=True)
class Standing:
    """How a loop fares, for readiness, liveness and people."""

    phase: Phase = Phase.STARTING
    cycles: int = 0
    errors_in_a_row: int = 0
    last_error: str | None = None
    last_success_at: Instant | None = None
    #: monotonic second at which the cycle under way began
    in_cycle_since: float | None = None
    paused: bool = False


class Tools(Struct, frozen=True):
    """What every loop of a process is handed."""

    clock: Clock
    rng: random.Random
    log: Log
    metrics: LoopMetrics
    #: called with the name of each step that a crash could follow
    fault_point: FaultPoint = no_fault
    #: asked before each cycle and each act: of several replicas only the leader may
    may_act: Callable[[], bool] = lambda: True


class Loop(Generic[S, M, P, A]):
    """Runs one controller until it is asked to stop."""

    def __init__(
        self,
        controller: Controller[S, M, P, A],
        recorder: Recorder[S, M, P, A],
        policy: P,
        tools: Tools,
        pace: Pace | None = None,
    ) -> None:
        self.controller = controller
        self.name = controller.name
        self.standing = Standing()
        self.policy = policy
        self.pace = pace or Pace()
        self._recorder = recorder
        self._tools = tools
        self._memory = recorder.memory()
        self._woken = asyncio.Event()
        self._urgent = asyncio.Event()
        self._slots = asyncio.Semaphore(self.pace.parallel)
        self._under_way: set[asyncio.Task[None]] = set()
        #: False until what was left unfinished is taken up
        self._is_acting = False
        self._quiet_since = float("-inf")
        self._last_logged: object = None
        self._meters = tools.metrics.of(self.name)

    @property
    def stuck_after(self) -> float:
        """Seconds after which a cycle is stuck."""
        return self.pace.stuck_after

    def wake(self) -> None:
        """Ask for a cycle soon."""
        self._woken.set()

    def follow(self, policy: P) -> None:
        """Judge by another policy from the next cycle on, which comes at once."""
        self.policy = policy
        self._wake_at_once()

    def begin_anew(self) -> None:
        """Go by what is recorded from the next cycle on: another process may have written it."""
        self._is_acting = False

    def pause(self) -> None:
        """Run no cycle until resumed; operations under way go on."""
        self.standing.paused = True
        self.wake()

    def resume(self) -> None:
        """Run cycles again, the first one at once."""
        self.standing.paused = False
        self._wake_at_once()

    def _wake_at_once(self) -> None:
        """A person changed something: do not even wait out a back-off."""
        self._urgent.set()
        self.wake()

    async def run(self) -> None:
        """Run until cancelled. Never raises anything but cancellation."""
        try:
            async with asyncio.TaskGroup() as acts:
                try:
                    await self._run_cycles(acts)
                finally:
                    await self._wind_down()
        finally:
            if self.standing.phase is not Phase.BROKEN:
                self.standing.phase = Phase.STOPPED

    async def _run_cycles(self, acts: asyncio.TaskGroup) -> None:
        clock, pace, standing = self._tools.clock, self.pace, self.standing
        due = clock.monotonic()
        while True:
            began = clock.monotonic()
            self._woken.clear()
            may_act = self._tools.may_act()
            if self._is_acting and not may_act:
                self._is_acting = False
                self.controller.stand_by()
            if standing.paused:
                standing.phase = Phase.PAUSED
                await self._woken.wait()
                due = clock.monotonic()
                continue
            if not may_act:
                standing.phase = Phase.STANDBY
                await self._sleep_until(began, began + pace.interval, wakeable=True)
                due = clock.monotonic()
                continue
            if not self._is_acting:
                try:
                    # What is recorded may be another process's, which led before us.
                    self._memory = self._recorder.memory()
                    self._take_up(acts)
                except Unavailable as error:
                    wait = self._note_error(error)
                    await self._sleep_until(began, began + wait, wakeable=False)
                    due = clock.monotonic()
                    continue
                self._is_acting = True
            wait = pace.interval
            standing.in_cycle_since = began
            self._meters.lag.set(max(0.0, began - due))
            try:
                await self.cycle(acts)
            except InvariantError as error:
                standing.phase, standing.last_error = Phase.BROKEN, str(error)
                self._tools.log.error("loop is broken and stays stopped", loop=self.name, error=str(error))
                self._meters.errors.inc()
                return
            except Exception as error:  # noqa: BLE001 - the loop outlives whatever the world does
                wait = self._note_error(error)
            else:
                standing.phase = Phase.RUNNING
                standing.errors_in_a_row, standing.last_error = 0, None
                standing.last_success_at = clock.now()
                self._meters.last_success.set(standing.last_success_at / 1_000)
            finally:
                standing.in_cycle_since = None
            standing.cycles += 1
            took = clock.monotonic() - began
            self._meters.duration.observe(took)
            if took > pace.interval:
                self._meters.overruns.inc()
            due = began + max(wait * (1 + self._tools.rng.uniform(-pace.jitter, pace.jitter)), 0)
            await self._sleep_until(began, due, wakeable=not standing.errors_in_a_row)

    async def _sleep_until(self, began: float, due: float, *, wakeable: bool) -> None:
        """Wait for the next cycle's time or for a wake, in a back-off only for a person's; at least the gap."""
        clock = self._tools.clock
        try:
            async with asyncio.timeout(max(0.0, due - clock.monotonic())):
                await (self._woken if wakeable else self._urgent).wait()
        except TimeoutError:
            pass
        self._urgent.clear()
        left = began + self.pace.gap - clock.monotonic()
        if left > 0:
            await asyncio.sleep(left)

    async def cycle(self, acts: asyncio.TaskGroup | None = None) -> Plan[A]:
        """Go through the three steps once. Without a task group nothing is started."""
        fault_point = self._tools.fault_point
        saw = self._recorder.operations()
        try:
            async with asyncio.timeout(self.pace.observe_timeout) as limit:
                seen = await self.controller.observe(saw)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise Unavailable(f"observing was not done after {self.pace.observe_timeout:g} s") from error
        if acts is not None and not self._tools.may_act():
            return Plan()  # the lease ended meanwhile: whoever has it now decides
        now = self._tools.clock.now()
        policy, before = self.policy, self._memory
        plan, after = self.controller.decide(seen, before, policy, now)
        await fault_point("loop.decided")
        started = await self._recorder.record(seen, before, policy, now, plan, after, saw)
        self._memory = after
        await fault_point("loop.recorded")
        # First of all: what is recorded and not started would be under way for ever.
        if acts is not None:
            for operation in started:
                self._start(operation, acts)
        self._meters.actions.observe(len(plan.actions))
        self._log_cycle(seen, plan, now)
        return plan

    def _take_up(self, acts: asyncio.TaskGroup) -> None:
        """Carry out again what was left unfinished."""
        going_on = {task.get_name() for task in self._under_way}
        for operation in self._recorder.operations():
            if operation.outcome is None and self._name_of(operation) not in going_on:
                self._start(operation, acts)

    def _name_of(self, operation: Operation[A]) -> str:
        return f"{self.name} {operation.id}"

    def _start(self, operation: Operation[A], acts: asyncio.TaskGroup) -> None:
        task = acts.create_task(self._carry_out(operation), name=self._name_of(operation))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _carry_out(self, operation: Operation[A]) -> None:
        async with self._slots:
            now = self._tools.clock.now
            await self._tools.fault_point("loop.acting")
            if not self._tools.may_act():
                self._is_acting = False
                return  # whoever may act next takes it up, be it we
            try:
                async with asyncio.timeout(self.pace.act_timeout) as limit:
                    outcome = await self.controller.act(operation)
            except Exception as error:  # noqa: BLE001 - a failed action is an outcome that the next plan sees
                message = f"{type(error).__name__}: {error}"
                if limit.expired():
                    message = f"not done after {self.pace.act_timeout:g} s"
                outcome = Outcome("failed", now(), message)
            await self._tools.fault_point("loop.acted")
            if outcome.status != "done":
                self._tools.log.warning(
                    "operation did not happen",
                    loop=self.name,
                    operation=operation.id,
                    target=operation.action.target,
                    reason=operation.action.reason.code,
                    outcome=outcome.status,
                    detail=outcome.detail,
                )
            await self._keep_outcome(operation, outcome)
        self.wake()

    async def _keep_outcome(self, operation: Operation[A], outcome: Outcome) -> None:
        """An outcome must not be lost to a full disk: try until it is kept."""
        wait = self.pace.first_backoff
        while True:
            try:
                await self._recorder.finish(operation, outcome)
            except Exception as error:  # noqa: BLE001 - logged and tried again
                self._tools.log.error("cannot keep an outcome yet", loop=self.name, error=str(error))
                await asyncio.sleep(wait)
                wait = min(wait * 2, self.pace.longest_backoff)
            else:
                return

    async def _wind_down(self) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=self.pace.stop_grace)
        for task in self._under_way:
            task.cancel()

    def _note_error(self, error: Exception) -> float:
        standing, pace = self.standing, self.pace
        text = f"{type(error).__name__}: {error}"
        standing.phase, standing.last_error = Phase.FAILING, text
        standing.errors_in_a_row += 1
        self._meters.errors.inc()
        wait: float = min(
            pace.first_backoff * 2.0 ** min(standing.errors_in_a_row - 1, 16), pace.longest_backoff
        )
        self._tools.log.error(
            "cycle failed", loop=self.name, error=text, in_a_row=standing.errors_in_a_row, next_try_s=wait
        )
        return wait

    def _log_cycle(self, seen: S, plan: Plan[A], now: Instant) -> None:
        """A line for a cycle that changed something, else one a minute."""
        numbers = self.controller.report(seen, plan)
        at = self._tools.clock.monotonic()
        if numbers == self._last_logged and not plan.actions and at - self._quiet_since < 60:
            return
        self._last_logged, self._quiet_since = numbers, at
        self._tools.log.info(
            "cycle", loop=self.name, at=write_instant(now), actions=len(plan.actions), **numbers
        )
