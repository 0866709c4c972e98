"""What to do about a container."""

from math import inf

from remuda.rightsize.decide.context import requested
from remuda.rightsize.decide.sized import Sized
from remuda.rightsize.review import Direction, Verdict
from remuda.rightsize.snapshot import Ask, Size


def verdict_of(now: Size, recommended: Size, *, is_held: bool) -> Verdict:
    """
    One word for all values of a container.

    `raise` when a request or the memory limit goes up, of which none is the highest; else `lower` when one goes down. The
    CPU limit has a say only where these stay: it should not be there, and to remove it says nothing about the need. When
    nothing changes, `leave` if a resource is left as it is for a reason, and `keep` if not. A resource has kept
    its values already when both are within the estimate's bounds and those from outside, its limit is not below
    what was needed, and neither would change by a tenth.
    """
    moves = [
        *(
            (requested(recommended, resource) or 0) - (requested(now, resource) or 0)
            for resource in ("cpu", "memory")
        ),
        _move(now.limits.memory_bytes, recommended.limits.memory_bytes),
    ]
    if not any(moves):
        moves = [_move(now.limits.cpu_millicores, recommended.limits.cpu_millicores)]
    if any(move > 0 for move in moves):
        return "raise"
    if any(move < 0 for move in moves):
        return "lower"
    return "leave" if is_held else "keep"


def directions_of(now: Size, recommended: Size) -> dict[str, Direction]:
    """What becomes of each value that changes; a request and its limit may go different ways."""
    found: dict[str, Direction] = {}
    for part in ("requests", "limits"):
        old, new = getattr(now, part), getattr(recommended, part)
        for name, before, after in (
            ("cpu", old.cpu_millicores, new.cpu_millicores),
            ("memory", old.memory_bytes, new.memory_bytes),
        ):
            if before == after:
                continue
            if before is None:
                found[f"{part}.{name}"] = "set"
            elif after is None:
                found[f"{part}.{name}"] = "remove"
            else:
                is_more = after > before  # pragma: no mutate - equal ones were passed over
                found[f"{part}.{name}"] = "raise" if is_more else "lower"
    return found


def size_of(cpu: Sized, memory: Sized) -> Size:
    """Both resources together."""
    return Size(Ask(cpu.request, memory.request), Ask(cpu.limit, memory.limit))


def _move(old: int | None, new: int | None) -> float:
    """By how much a limit goes up; to have none is to have the highest."""
    if old == new:
        return 0
    return (inf if new is None else new) - (inf if old is None else old)
