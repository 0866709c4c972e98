"""
The rules that must hold at every moment of a simulated world of pools, checked at every change.

It keeps its own count of machines and runs, from what really happens and not from what anyone believes.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator

import msgspec
from msgspec import Struct

from remuda.errors import InvariantError
from remuda.loop.clock import Clock
from remuda.model.jobs import Finished, Run
from remuda.model.plans import Plan, Reason
from remuda.model.times import MINUTE, Instant
from remuda.pools.decide.model import Close, Override, Policy, PoolAction, Snapshot
from remuda.pools.decide.target import bounds_in_force
from remuda.sim.provider import SimMachine
from remuda.sources.queue.queue import Work

#: an operation is carried out at the latest so long after it was decided, restarts included
_LAG_S = 300.0
_NO_HAND = Override()


class Violation(InvariantError):
    """A rule was broken; the message says which, when, and how to see it again."""


class Bound(Struct, frozen=True):
    """What a decision went by."""

    at: float
    maxima: dict[str, int]
    #: ceiling → its number and its members
    ceilings: dict[str, tuple[int, frozenset[str]]]


class Watch:
    """Informed of every change, it raises `Violation` at the first that must not be."""

    def __init__(self, clock: Clock, seed: int) -> None:
        self._clock = clock
        self._seed = seed
        self._trace = hashlib.sha256()
        self.violation: Violation | None = None
        #: of the last decision
        self.reasons: tuple[Reason, ...] = ()
        self._bounds: list[Bound] = []
        self._basis: tuple[Policy, dict[str, Override], int] | None = None
        self._rollouts: dict[str, float] = {}
        #: machines that a plan asked to take no more work → when
        self._closed: dict[str, float] = {}
        #: machines that exist and are not over, by pool
        self.existing: Counter[str] = Counter()
        #: job → the attempt at it that goes on, and where
        self._on: dict[int, tuple[Run, str]] = {}
        #: every attempt that ever began, with its machine
        self.runs: dict[Run, str] = {}
        self.results: dict[Run, Finished] = {}
        #: machine → the command that it was last given
        self._commands: dict[str, tuple[str, ...]] = {}
        #: command → the exit codes that it really ended with; no two jobs have the same command
        self.executed: dict[tuple[str, ...], set[int]] = defaultdict(set)
        #: machines that the store does not know any more
        self.foreign: set[str] = set()
        #: whether the store knows of an attempt on a machine; runs that it does not know of are silent
        self.is_known: Callable[[Run, str], bool] = lambda *_: True
        #: what the queue thinks a machine works on
        self.claimed: Callable[[str], int | None] = lambda _: None
        self.made_count = 0
        self._since: dict[str, float] = {}
        self.machine_s = 0.0
        self.busy_s = 0.0
        self._run_since: dict[Run, float] = {}
        self.first_runs: dict[int, float] = {}

    @property
    def digest(self) -> str:
        """The fingerprint of the whole history."""
        return self._trace.hexdigest()

    def note(self, *words: object) -> None:
        """Add a line to the history."""
        self._trace.update(f"{self._clock.monotonic():.6f} {' '.join(map(str, words))}\n".encode())

    def broken(self, rule: str, detail: str) -> Violation:
        """The error for a broken rule; the first one is kept, because a loop may swallow what is raised in it."""
        violation = Violation(f"seed {self._seed} at {self._clock.monotonic():.3f} s: {rule}: {detail}")
        self.violation = self.violation or violation
        return violation

    def heard(self, line: str) -> None:
        """A warning or error of the loop: only injected faults and refusals are expected."""
        entry = msgspec.json.decode(line)
        words = str(entry.get("error") or entry.get("detail"))
        if "injected fault" not in words and entry.get("outcome") != "refused":
            raise self.broken("nothing else fails", line)

    def decided(self, seen: Snapshot, policy: Policy, now: Instant, plan: Plan[PoolAction]) -> None:
        """A decision was made: whatever is made from now on may go by its bounds."""
        self.reasons = plan.reasons
        self._note_bounds(seen, policy, now)
        targets = [action.target for action in plan.actions]
        if len(set(targets)) != len(targets):
            raise self.broken("one action a target", str(targets))
        if plan.actions:
            self.note("plan", *(f"{type(action).__name__}:{action.target}" for action in plan.actions))
            for action in plan.actions:
                if isinstance(action, Close):
                    self._closed.setdefault(action.target, self._clock.monotonic())

    def _note_bounds(self, seen: Snapshot, policy: Policy, now: Instant) -> None:
        overrides = {pool.name: pool.override for pool in seen.pools if pool.override != _NO_HAND}
        basis = (policy, overrides, now // MINUTE)
        if self._basis is not None and self._basis[0] is policy and self._basis[1:] == basis[1:]:
            return
        self._basis = basis
        at = self._clock.monotonic()
        for name, override in overrides.items():
            if override.finish_rollout is not None:
                self._rollouts[name] = at
        maxima = {
            name: bounds_in_force(mine, overrides.get(name, _NO_HAND), now)[0].max
            for name, mine in policy.pools.items()
        }
        members: dict[str, set[str]] = {name: set() for name in policy.ceilings}
        for name, mine in policy.pools.items():
            if mine.ceiling is not None:
                members[mine.ceiling].add(name)
        ceilings = {name: (policy.ceilings[name], frozenset(group)) for name, group in members.items()}
        last = self._bounds[-1] if self._bounds else None
        if last is None or (last.maxima, last.ceilings) != (maxima, ceilings):
            self._bounds.append(Bound(at, maxima, ceilings))

    def made(self, machine: SimMachine) -> None:
        """Bounds and ceilings hold for every machine that is made."""
        self.note("made", machine.name)
        self.made_count += 1
        self.existing[machine.pool] += 1
        self._since[machine.name] = self._clock.monotonic()
        pool, recent = machine.pool, list(self._recent_bounds())
        if not any(self.existing[pool] <= bound.maxima.get(pool, 0) for bound in recent):
            most = recent[0].maxima.get(pool, 0)
            raise self.broken("max", f"{machine.name} is machine {self.existing[pool]} of at most {most}")
        if not any(self._is_under_ceilings(pool, bound) for bound in recent):
            raise self.broken(
                "ceiling", f"{machine.name} breaks one of {recent[0].ceilings}: {self.existing}"
            )

    def _recent_bounds(self) -> Iterator[Bound]:
        """The bounds that were in force within the lag, the newest first."""
        since = self._clock.monotonic() - _LAG_S
        for bound in reversed(self._bounds):
            yield bound
            if bound.at <= since:
                return

    def _is_under_ceilings(self, pool: str, bound: Bound) -> bool:
        return all(
            sum(self.existing[member] for member in members) <= limit
            for limit, members in bound.ceilings.values()
            if pool in members
        )

    def ready(self, machine: SimMachine) -> None:
        """It booted."""
        self.note("ready", machine.name)

    def ended(self, machine: SimMachine) -> None:
        """A machine ended by itself."""
        self.note("ended", machine.name)
        self._gone(machine)

    def removed(self, machine: SimMachine) -> None:
        """A busy machine is never removed, unless a rollout was ordered at once."""
        self.note("removed", machine.name)
        held = self.claimed(machine.name)
        ordered = self._rollouts.get(machine.pool, float("-inf")) > self._clock.monotonic() - _LAG_S
        if (machine.job is not None or held is not None) and not ordered:
            raise self.broken(
                "never a busy machine", f"{machine.name} is removed with job {machine.job or held}"
            )
        self._gone(machine)

    def _gone(self, machine: SimMachine) -> None:
        at = self._clock.monotonic()
        if machine.name not in self.foreign:
            self.existing[machine.pool] -= 1
        self.machine_s += at - self._since.pop(machine.name)
        if machine.job is not None:
            self._stop_run(machine.job, at)

    def began(self, machine: SimMachine, work: Work) -> None:
        """A job runs on one machine at a time, each run is an attempt of its own, and the store knows it."""
        self.note("began", machine.name, work.id, work.attempt)
        run, at = work.run, self._clock.monotonic()
        if self._closed.get(machine.name, at) < at - _LAG_S:
            raise self.broken("who is asked to take no more work takes none", f"{machine.name} took {run}")
        if work.id in self._on:
            raise self.broken("one machine a job", f"job {run} on {machine.name} and {self._on[work.id]}")
        if run in self.runs:
            raise self.broken("no silent double run", f"job {run} on {machine.name} and {self.runs[run]}")
        if not self.is_known(run, machine.name):
            raise self.broken("attempts are visible", f"job {run} on {machine.name} is not in the store")
        self.runs[run] = machine.name
        self._on[work.id] = run, machine.name
        self._commands[machine.name] = work.command
        self._run_since[run] = at
        self.first_runs.setdefault(work.id, at)

    def finished(self, machine: SimMachine, result: Finished) -> None:
        """A job ended by itself."""
        self.note("finished", machine.name, result.job, result.attempt, result.status, result.exit_code)
        self.results[result.run] = result
        self.executed[self._commands[machine.name]].add(result.exit_code)
        self._stop_run(result.run, self._clock.monotonic())

    def restored(self, known: Container[Run], foreign: Iterable[SimMachine]) -> None:
        """The store is another one: what it does not know of goes on, and is nobody's."""
        self.note("restored")
        self._on = {job: on for job, on in self._on.items() if on[0] in known}
        self._closed.clear()
        for machine in foreign:
            if machine.name not in self.foreign:
                self.foreign.add(machine.name)
                if machine.ended is None:
                    self.existing[machine.pool] -= 1

    def _stop_run(self, run: Run, at: float) -> None:
        if run.job in self._on and self._on[run.job][0] == run:
            del self._on[run.job]
        self.busy_s += at - self._run_since.pop(run, at)

    def settle(self) -> None:
        """Count the machines that still exist."""
        at = self._clock.monotonic()
        self.machine_s += sum(at - since for since in self._since.values())
        self._since = dict.fromkeys(self._since, at)
