"""The watch over a simulated world: each rule it keeps can be broken, and it says so."""

from collections.abc import Callable

import pytest
from tests.builders import NOW, deletion, policy, pool, settings, snapshot

from remuda.model.jobs import Finished, Run
from remuda.model.machines import Order, State, machine_name
from remuda.model.plans import Plan
from remuda.pools.decide.model import Override
from remuda.sim.provider import SimMachine
from remuda.sim.watch import Violation, Watch
from remuda.sources.queue.queue import Work

RULES = policy(settings("a", max=2, ceiling="roof"), settings("b", max=2, ceiling="roof"), roof=3)
SEEN = snapshot(pool("a"), pool("b"))


class Hall:
    """A watch that was told of a decision, with a clock a test can move."""

    def __init__(self) -> None:
        self.at = 0.0
        self.watch = Watch(self, 7)
        self.watch.decided(SEEN, RULES, NOW, Plan())
        self.numbers = iter(range(1, 1_000))

    def now(self) -> int:
        return NOW + round(self.at * 1_000)

    def monotonic(self) -> float:
        return self.at

    def machine(self, name: str = "a") -> SimMachine:
        order = Order(machine_name(name, next(self.numbers)), name, "t", NOW, None, {})
        machine = SimMachine(order)
        machine.go(State.CREATING)
        self.watch.made(machine)
        return machine

    def busy(self, job: int = 1, attempt: int = 1) -> SimMachine:
        machine = self.machine()
        machine.go(State.IDLE, State.CONFIGURING, State.CONFIGURED)
        machine.job = Run("", job, attempt)
        self.watch.began(machine, work(job, attempt))
        return machine


def work(job: int, attempt: int = 1) -> Work:
    return Work(job, attempt, ("run", "1", "0"), {}, {}, "", 0, 0)


def too_many(hall: Hall) -> None:
    for _ in range(3):
        hall.machine()


def too_many_together(hall: Hall) -> None:
    for name in ("a", "b", "a", "b"):
        hall.machine(name)


def of_a_pool_nobody_knows(hall: Hall) -> None:
    hall.machine("c")


def after_the_maximum_was_lowered(hall: Hall) -> None:
    hall.machine()
    hall.at += 60
    hall.watch.decided(SEEN, policy(settings("a", max=1)), NOW, Plan())
    hall.at += 301
    hall.machine()


def removing_a_busy_machine(hall: Hall) -> None:
    hall.watch.removed(hall.busy())


def removing_one_that_did_not_hear_of_its_job(hall: Hall) -> None:
    hall.watch.claimed = lambda _: 4
    hall.watch.removed(hall.machine())


def a_job_on_two_machines(hall: Hall) -> None:
    hall.busy(1, 1)
    hall.busy(1, 2)


def an_attempt_that_runs_twice(hall: Hall) -> None:
    machine = hall.busy(1, 1)
    hall.watch.finished(machine, Finished(1, 1, "exited", 0))
    hall.busy(1, 1)


def an_attempt_nobody_knows_of(hall: Hall) -> None:
    hall.watch.is_known = lambda *_: False
    hall.busy()


def two_actions_on_one_target(hall: Hall) -> None:
    action = deletion(1, "a-1").action
    hall.watch.decided(SEEN, RULES, NOW, Plan((action, action)))


def an_error_nobody_injected(hall: Hall) -> None:
    hall.watch.heard('{"msg": "cycle failed", "error": "KeyError: 1"}')


@pytest.mark.parametrize(
    ("breaks", "rule"),
    [
        (too_many, "max"),
        (too_many_together, "ceiling"),
        (of_a_pool_nobody_knows, "max"),
        (after_the_maximum_was_lowered, "max"),
        (removing_a_busy_machine, "never a busy machine"),
        (removing_one_that_did_not_hear_of_its_job, "never a busy machine"),
        (a_job_on_two_machines, "one machine a job"),
        (an_attempt_that_runs_twice, "no silent double run"),
        (an_attempt_nobody_knows_of, "attempts are visible"),
        (two_actions_on_one_target, "one action a target"),
        (an_error_nobody_injected, "nothing else fails"),
    ],
)
def test_a_broken_rule_is_reported_with_seed_and_time(breaks: Callable[[Hall], None], rule: str) -> None:
    hall = Hall()
    with pytest.raises(Violation, match=rf"^seed 7 at \d+\.\d+ s: {rule}: "):
        breaks(hall)
    assert hall.watch.violation is not None


def test_what_was_decided_before_a_bound_was_lowered_may_still_be_made() -> None:
    hall = Hall()
    hall.machine()
    hall.at += 60
    hall.watch.decided(SEEN, policy(settings("a", max=1)), NOW, Plan())
    hall.machine()
    assert hall.watch.violation is None


def test_a_busy_machine_may_go_when_a_rollout_was_ordered() -> None:
    hall = Hall()
    ordered = snapshot(pool("a", override=Override(finish_rollout="t")), pool("b"))
    hall.watch.decided(ordered, RULES, NOW, Plan())
    hall.watch.removed(hall.busy())
    assert hall.watch.violation is None


def test_a_machine_that_is_over_gives_its_place_and_its_job_back() -> None:
    hall = Hall()
    for attempt in range(1, 5):
        hall.watch.ended(hall.busy(1, attempt))
    assert hall.watch.existing["a"] == 0


def test_the_digest_is_of_everything_that_was_noted() -> None:
    one, same, other = Hall(), Hall(), Hall()
    for hall in (one, same, other):
        hall.machine()
    other.at = 1.0
    other.machine()
    assert one.watch.digest == same.watch.digest != other.watch.digest


def test_seconds_are_those_of_machines_and_of_runs() -> None:
    hall = Hall()
    hall.at = 10.0
    machine = hall.busy()
    hall.at = 25.0
    hall.watch.finished(machine, Finished(1, 1, "exited", 0))
    hall.at = 30.0
    hall.watch.settle()
    assert (hall.watch.machine_s, hall.watch.busy_s) == (20.0, 15.0)
