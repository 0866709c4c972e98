"""What a pool does after machines failed."""

import pytest
from tests.builders import NOW, machine, pool, settings

from remuda.model.machines import Machine, State
from remuda.model.times import MINUTE, SECOND
from remuda.pools.decide.backoff import FAILING, may_create, remember_failures
from remuda.pools.decide.census import take_census
from remuda.pools.decide.model import PoolMemory


def remembered(memory: PoolMemory, *members: Machine) -> tuple[int, int, int]:
    census = take_census(pool("a", *members), settings(), memory, None, NOW)
    return remember_failures(memory, census, NOW)


def crashed(count: int) -> tuple[Machine, ...]:
    return tuple(machine(f"a-{number}", State.FAILED, ended="boot") for number in range(count))


@pytest.mark.parametrize(
    ("before", "new", "wait"),
    [
        pytest.param(0, 1, SECOND, id="a second after the first"),
        pytest.param(1, 1, 2 * SECOND, id="twice as long after each"),
        pytest.param(4, 1, 16 * SECOND, id="and so on"),
        pytest.param(0, 3, 4 * SECOND, id="several at once count each"),
        pytest.param(50, 1, 5 * MINUTE, id="never more than five minutes"),
        pytest.param(-7, 1, SECOND, id="an absurd memory breaks nothing"),
    ],
)
def test_a_pool_waits_longer_after_each_failure(before: int, new: int, wait: int) -> None:
    failures, failed_at, retry_at = remembered(PoolMemory(failures=before), *crashed(new))
    assert (failures, failed_at, retry_at) == (before + new, NOW, NOW + wait)


@pytest.mark.parametrize(
    ("member", "failures"),
    [
        pytest.param(
            machine("a-1", ready_at=NOW - 10_000), 0, id="one that stayed ready proves the template"
        ),
        pytest.param(machine("a-1", ready_at=NOW - 9_999), 3, id="not before it stayed a while"),
        pytest.param(machine("a-1", job="7", ready_at=NOW - 1), 0, id="one that took a job does at once"),
        pytest.param(machine("a-1", ready_at=NOW - 60_001), 3, id="not one from before the failure"),
        pytest.param(machine("a-1", ready_at=NOW - 60_000), 0, id="one of the very moment counts as later"),
        pytest.param(machine("a-1", State.CREATING), 3, id="nor one that still boots"),
        pytest.param(machine("a-1", job="7", ready_at=None), 3, id="nor one of which it is not known"),
    ],
)
def test_a_machine_that_lives_ends_the_wait(member: Machine, failures: int) -> None:
    memory = PoolMemory(failures=3, failed_at=NOW - 60_000, retry_at=NOW + 5)
    assert remembered(memory, member) == ((failures, NOW - 60_000, NOW + 5) if failures else (0, 0, 0))


def test_a_failure_after_a_machine_that_lives_is_the_first_again() -> None:
    memory = PoolMemory(failures=9, failed_at=NOW - 60_000)
    assert remembered(memory, machine("a-9", ready_at=NOW - 30_000), *crashed(1))[0] == 1


def test_a_clock_that_went_back_does_not_stretch_the_wait() -> None:
    memory = PoolMemory(failures=2, failed_at=NOW + 9 * MINUTE, retry_at=NOW + 99 * MINUTE)
    assert remembered(memory) == (2, NOW, NOW + 5 * MINUTE)


@pytest.mark.parametrize(
    ("failures", "retry_at", "booting", "allowed"),
    [
        pytest.param(0, NOW + 9, 3, 6, id="without failures all at once"),
        pytest.param(1, NOW + 1, 0, 0, id="none while it waits"),
        pytest.param(1, NOW, 3, 6, id="all again after the wait"),
        pytest.param(FAILING, NOW + 1, 0, 0, id="none while a failing pool waits"),
        pytest.param(FAILING, NOW, 0, 1, id="a failing pool probes with one"),
        pytest.param(FAILING, NOW, 1, 0, id="and waits for its fate"),
        pytest.param(FAILING, NOW, 5, 0, id="also when many are under way"),
    ],
)
def test_what_may_be_made_after_failures(failures: int, retry_at: int, booting: int, allowed: int) -> None:
    assert may_create(failures, retry_at, NOW, 6, booting) == allowed
