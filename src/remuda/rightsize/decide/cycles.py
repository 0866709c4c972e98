"""
Fast leaks: what fills its memory from one kill to the next, in hours or days, each time anew.

The lives of a replica are what is between two kills that restarted it. A life gathers when it rises all the time, still
does so in its second half, which no cache does that has filled up, and ends near what it is killed at, which no spike does
that comes out of the blue. What is killed within two hours is not called a leak: it needs more to start, or for its work.

Where each kill brings a new pod, the lives are those of pods that follow each other. Of what ends by itself, a job, they are
not compared: it is killed for its work.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from msgspec import Struct

from remuda.rightsize.decide.rises import Rise, median
from remuda.rightsize.estimate.histogram import DAY_S, Second
from remuda.rightsize.evidence import Evidence, Floor, OomKill

LEAST_LIFE_S = 7_200
#: lives that gather; of lives of over a day fewer are enough
LEAST_LIVES, LEAST_LONG_LIVES = 3, 2
#: of all lives so many gather, of all pairs of steps of a life so many rise
_MOST_LIVES, _AGREEING = (3, 4), (85, 100)
#: a fall by more than a tenth is a restart; what is gathered in a life is more than a tenth
_DROP, _GATHERED = (9, 10), (11, 10)
#: of all that is gathered, so much is in the second half of a life; of a straight line it is a half
_LATE = (3, 10)
#: of what it is killed at, so much is there in the end, all the time
_FULL = (3, 4)
#: what falls from so much of its limit was killed, be it reported or not
_AT_LIMIT = (9, 10)
#: how late a kill may be reported
_REPORT_S = 900
_LEAST_STEPS = 3


class _Life(Struct, frozen=True):
    """What it never fell below, in steps, after it had filled; gaps are left out."""

    begin: Second
    end: Second
    steps: tuple[tuple[Second, int], ...]
    is_killed: bool


def rise_between_kills(
    evidence: Evidence, kills: Sequence[OomKill], limit: int | None, *, is_job: bool = False
) -> Rise | None:
    """
    The rise that the lives of a replica have in common; of several replicas, of the one that gathered most often.

    Where no replica alone shows one, that of pods which kills made follow each other, unless they are of a job.
    """
    killed_at = min(
        filter(None, (limit, evidence.memory_peak)),
        default=0,  # pragma: no mutate - whatever is not empty is full of 0 as of 1
    )
    lives = [list(_lives(floor, kills, limit, killed_at)) for floor in evidence.floors]
    rises = [rise for each in lives if (rise := _rise(each, killed_at)) is not None]
    if not rises and not is_job:
        return _rise(_followed(evidence.floors, lives, kills), killed_at)
    return max(rises, key=lambda rise: (rise.killed, rise.bytes_a_day), default=None)


def _followed(
    floors: Sequence[Floor], lives: Sequence[Sequence[_Life]], kills: Sequence[OomKill]
) -> list[_Life]:
    """The lives of all pods in the order of time; the last of a pod ended by a kill if one is reported about then and another pod came."""
    found = []
    for floor, (*before, last) in zip(floors, lives, strict=True):
        begin, end = floor.end - floor.step - _REPORT_S, floor.end + floor.step + _REPORT_S
        is_replaced = any(other.begin >= floor.end for other in floors)
        is_killed = is_replaced and any(begin <= kill.at <= end for kill in kills)
        found += [*before, _Life(last.begin, last.end, last.steps, is_killed)]
    return sorted(found, key=lambda life: life.begin)


def _lives(floor: Floor, kills: Sequence[OomKill], limit: int | None, killed_at: int) -> Iterator[_Life]:
    cuts = [-1]
    for n in range(1, len(floor.least)):
        here, before = floor.least[n], floor.least[n - 1]
        if here is None or before is None or here * _DROP[1] >= before * _DROP[0]:
            continue
        begin = floor.begin + (n - 1) * floor.step - _REPORT_S
        end = floor.begin + (n + 1) * floor.step + _REPORT_S
        is_reported = any(begin <= kill.at <= end for kill in kills)
        is_at_limit = limit is not None and before * _AT_LIMIT[1] >= limit * _AT_LIMIT[0]
        # Not every kill of a replica is reported, where one was.
        is_like_one = kills and _is_full(before, killed_at) and here * _FULL[1] < before * _FULL[0]
        if is_reported or is_at_limit or is_like_one:
            cuts.append(n)
    ends = [*cuts[1:], len(floor.least)]
    for begun, ended in zip(cuts, ends, strict=True):
        first = begun + 1
        # What it fills with at first says nothing.
        first += min((ended - first) // 4, 3_600 // floor.step) if first else 0
        steps = tuple(
            (floor.begin + n * floor.step, least)
            for n in range(first, ended)
            if (least := floor.least[n]) is not None
        )
        yield _Life(
            floor.begin + max(0, begun) * floor.step,
            floor.begin + ended * floor.step,
            steps,
            ended < len(floor.least),
        )


def _rise(lives: Sequence[_Life], killed_at: int) -> Rise | None:
    ended = [life for life in lives if life.is_killed]
    if not ended or median([life.end - life.begin for life in ended]) < LEAST_LIFE_S:
        return None
    usual = median([life.end - life.begin for life in ended])
    # The one that is on tells as much as the others once it is as old as these.
    judged = [life for life in lives if life.is_killed or life.end - life.begin >= usual]
    gathering = [
        life
        for life in judged
        if _gathers(life) and (not life.is_killed or _is_full(life.steps[-1][1], killed_at))
    ]
    least = LEAST_LONG_LIVES if usual > DAY_S else LEAST_LIVES
    if len(gathering) < least or len(gathering) * _MOST_LIVES[1] < len(judged) * _MOST_LIVES[0]:
        return None
    if judged[-1] not in gathering:
        return None
    pairs = [pair for life in gathering for pair in combinations(life.steps, 2)]
    return Rise(
        lives[0].begin,
        lives[-1].end,
        sum(life.end - life.begin for life in gathering) // DAY_S,
        sum(later[1] > earlier[1] for earlier, later in pairs),
        len(pairs),
        median([_slope(life) for life in gathering]),
        median([life.steps[0][1] for life in gathering]),
        restarts=len(lives) - 1,
        killed=len(ended),
    )


def _gathers(life: _Life) -> bool:
    amounts = [amount for _, amount in life.steps]
    if len(amounts) < _LEAST_STEPS:
        return False
    pairs = list(combinations(amounts, 2))
    rising = sum(later > earlier for earlier, later in pairs)
    first, middle, last = amounts[0], amounts[len(amounts) // 2], amounts[-1]
    return (
        rising * _AGREEING[1] >= len(pairs) * _AGREEING[0]
        and last * _GATHERED[1] > first * _GATHERED[0]
        and (last - middle) * _LATE[1] >= (last - first) * _LATE[0]
    )


def _is_full(amount: int, killed_at: int) -> bool:
    return amount * _FULL[1] >= killed_at * _FULL[0]


def _slope(life: _Life) -> int:
    (begin, first), (end, last) = life.steps[0], life.steps[-1]
    return (last - first) * DAY_S // (end - begin)
