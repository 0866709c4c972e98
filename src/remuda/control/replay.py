"""What today's rules, or changed objects, would have decided on recorded steps, whatever job they are of."""

from typing import Any

from msgspec import Struct

from remuda.control.routes import Call, Route
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.job import Jobs, Place, load
from remuda.ledger.replay import Difference, Replay
from remuda.ledger.sql import Database
from remuda.ledger.store import Store
from remuda.loop.clock import Clock
from remuda.model.times import HOUR, Instant
from remuda.objects.load import Objects, load_text

#: what is answered over HTTP: more is for `remuda replay`
LONGEST = HOUR
_MOST_DIFFERENCES = 200


class Replayed(Struct, frozen=True):
    """The recorded steps of a span through today's rules: how many, and what would be decided otherwise."""

    steps: int
    cycles: int
    differences: tuple[Difference, ...]
    #: recorded rows that cannot be read and are left out
    damaged: tuple[str, ...] = ()
    #: changed objects that change nothing of what is recorded, in a sentence
    strangers: str = ""


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """A span of time, and objects as YAML that are used instead of those of the same name; none are those of then."""

    since: Instant
    until: Instant
    objects: str = ""


def replay_recorded(
    db: Database, jobs: Jobs, changed: Objects | None, span: tuple[Instant, Instant], now: Instant
) -> Replayed:
    """Every recorded step of a span by itself; `NotFound` when nothing is recorded, or nothing that changed objects name."""
    steps = cycles = 0
    replays, differences, damaged = list[Replay](), list[Difference](), list[str]()
    recorded = {row[0] for row in db.execute("SELECT DISTINCT loop FROM cycles")}
    for job in jobs:
        if not job.replay or not recorded.intersection(job.loops):
            continue
        replays.append(load(job.replay)(changed, now))
        for step in replays[-1].steps(db, *span, damaged.append):
            steps, cycles = steps + 1, cycles + step.cycles
            differences += step.differences
    if not steps:
        raise NotFound("nothing is recorded in that time")
    strangers = _strangers(changed, replays) if changed else ""
    return Replayed(steps, cycles, tuple(differences), tuple(damaged), strangers)


def _strangers(changed: Objects, replays: list[Replay]) -> str:
    """The changed objects that change nothing of what is recorded; `NotFound` when that is all of them."""
    known = {(kind, name) for each in replays for kind, names in each.known().items() for name in names}
    used = {which for each in replays for which in each.used()}
    strangers = [item for item in changed if (item.kind, item.name) not in known | used]
    if not strangers:
        return ""
    names = ", ".join(sorted(name for _, name in known)) or "none"
    text = f"nothing recorded is called {', '.join(map(str, strangers))}; there is: {names}"
    if len(strangers) == len(changed):
        raise NotFound(text)
    return text


def replay_route(jobs: Jobs, store: Store, clock: Clock) -> Route:
    """The route that answers it. It changes nothing, so who may look may ask."""

    async def answer(call: Call) -> Replayed:
        import asyncio  # noqa: PLC0415 - commands do without

        asked: Question = call.body
        if not 0 <= asked.since < asked.until:
            raise BadInput("until must come after since")
        if asked.until - asked.since > LONGEST:
            raise BadInput("that is more than an hour: `remuda replay` goes through any time")
        changed = _objects(jobs, asked.objects) if asked.objects.strip() else None
        found = await asyncio.to_thread(
            store.read,
            lambda db: replay_recorded(db, jobs, changed, (asked.since, asked.until), clock.now()),
        )
        if len(found.differences) > _MOST_DIFFERENCES:
            raise Unavailable(
                f"{len(found.differences):,} decisions would be others, which is more than a page shows: "
                "choose a shorter time, or `remuda replay`"
            )
        return found

    return Route(
        "POST",
        "/v1/replay",
        "What today's rules, or changed objects, would have decided.",
        Replayed,
        handler=answer,
        body=Question,
        is_question=True,
    )


def _objects(jobs: Jobs, text: str) -> Objects:
    loaded = load_text(text, "the changed objects", jobs.kinds(Place.RUN, Place.KEPT))
    if loaded.problems:
        raise BadInput("\n".join(map(str, loaded.problems)))
    return loaded.objects


def lines_of(found: Replayed) -> list[str]:
    """The answer for a person."""
    lines = [
        f"{found.steps} recorded steps ({found.cycles} cycles), {len(found.differences)} decided differently"
    ]
    for item in found.differences:
        lines += ["", *item.lines]
    if found.differences:
        lines += ["", "One step each: a difference is not carried on to the next."]
    return lines


def data_of(found: Replayed) -> dict[str, Any]:
    """The answer for a program."""
    return {
        "steps": found.steps,
        "cycles": found.cycles,
        "differences": [item.data for item in found.differences],
    }
