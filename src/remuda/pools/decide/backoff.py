"""What a pool does after machines failed: wait longer each time, and probe with one machine when all fail."""

from remuda.model.times import MINUTE, SECOND, Instant
from remuda.pools.decide.census import Census
from remuda.pools.decide.model import PoolMemory

FIRST_WAIT = SECOND
LONGEST_WAIT = 5 * MINUTE
#: after so many failures in a row the pool makes one machine at a time until one lives
FAILING = 5
#: a machine that stayed ready this long, or took a job, proves that the template works
PROVEN = 10 * SECOND


def remember_failures(memory: PoolMemory, census: Census, now: Instant) -> tuple[int, Instant, Instant]:
    """The failures in a row, when the last one was seen and when to try again."""
    failures, failed_at = memory.failures, min(memory.failed_at, now)
    # A clock that jumped back must not stretch the wait.
    retry_at = min(memory.retry_at, now + LONGEST_WAIT)
    if failures and _is_proven(census, failed_at, now):
        failures, failed_at, retry_at = 0, 0, 0
    if census.failures:
        failures += census.failures
        failed_at = now
        retry_at = now + min(LONGEST_WAIT, FIRST_WAIT << min(max(failures - 1, 0), 20))
    return failures, failed_at, retry_at


def _is_proven(census: Census, failed_at: Instant, now: Instant) -> bool:
    return any(
        machine.ready_at is not None
        and machine.ready_at >= failed_at
        and (machine.uses > 0 or machine.ready_at + PROVEN <= now)
        for machine in (*census.idle, *census.busy)
    )


def may_create(failures: int, retry_at: Instant, now: Instant, lacking: int, booting: int) -> int:
    """How many of the `lacking` machines may be made now, when `booting` are being made already."""
    if not failures:
        return lacking
    if now < retry_at:
        return 0
    if failures >= FAILING:
        return min(lacking, max(0, 1 - booting))
    return lacking
