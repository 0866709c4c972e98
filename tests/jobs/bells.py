"""
A toy job: bells that are rung as often as their objects say.

It has an object with a status, a loop, a route, a view, a `why` subject and reasons of its own, and is run by
`python -m tests.jobs.bells` in the place of `remuda`: nothing else knows of it.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import click
from msgspec import Meta, Struct, to_builtins

from remuda.control.client import path_of
from remuda.control.command import Command as ClickCommand
from remuda.control.command import Session, pass_session
from remuda.control.routes import Call, Route
from remuda.errors import NotFound
from remuda.job import Command, Job, Jobs, KindReference, PageReference, PanelReference
from remuda.jobs import JOBS
from remuda.kube.rbac import Rule
from remuda.ledger.history import cycle_at
from remuda.ledger.record import Kinds
from remuda.ledger.sql import Database
from remuda.model.checks import CheckResult
from remuda.model.plans import Action, Operation, Outcome, Plan, Reason
from remuda.model.times import Instant
from remuda.objects.kinds import GROUP, Kind, Object
from remuda.objects.load import Blame, Objects
from remuda.output.sections import Section as Part
from remuda.output.sections import Wanted
from remuda.output.show import Report
from remuda.output.words import number, sentence
from remuda.runtime import Condition, Runtime, Services, Status
from remuda.web.page import Alarm, Ask, Content

LOOP = "bells"


class BellSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A bell, and how often it is to be rung."""

    rings: Annotated[int, Meta(ge=0, le=100, description="How often it is to be rung.")]
    after: Annotated[str, Meta(description="A bell that must be there.")] = ""


class BellStatus(Struct, frozen=True):
    """How often it was rung."""

    rung: int = 0


BELL: Kind[BellSpec] = Kind("Bell", "bells", BellSpec, ("ding",), status=BellStatus)
REASONS = {
    "bell.ringing": ("It was not rung often enough.", "is rung: {rung} of {rings}"),
    "bell.done": ("It was rung as often as asked.", "was rung {rung:time}"),
}
PERMISSIONS = {
    "up": (Rule(GROUP, ("bells",), ("list", "watch")), Rule(GROUP, ("bells/status",), ("patch",))),
}


def check(objects: Objects) -> Sequence[Blame]:
    """A bell that another waits for must be there."""
    bells: list[Object[Any]] = [item for item in objects if item.kind == "Bell"]
    names = {item.name for item in bells}
    return [
        (item, "spec.after", f"there is no Bell {item.spec.after}")
        for item in bells
        if item.spec.after and item.spec.after not in names
    ]


class Ring(Action, frozen=True, kw_only=True, tag="ring"):
    """Ring a bell once."""


class Seen(Struct, frozen=True):
    rung: dict[str, int] = {}
    operations: tuple[Operation[Ring], ...] = ()


class Memory(Struct, frozen=True):
    cycles: int = 0


class Policy(Struct, frozen=True):
    rings: dict[str, int] = {}


RECORDS: Kinds[Seen, Memory, Policy, Ring] = Kinds(Seen, Memory, Policy, Plan[Ring], Operation[Ring])


class Bells:
    """The three steps."""

    name = LOOP

    def __init__(self, services: Services) -> None:
        self._root = services.data_dir / "bells"
        self._clock = services.clock
        self._changed = services.status_changed
        self.last: dict[str, Reason] = {}

    async def observe(self, operations: tuple[Operation[Ring], ...]) -> Seen:
        rung = {path.name: len(path.read_text().splitlines()) for path in sorted(self._root.glob("*"))}
        return Seen(rung, operations)

    def decide(self, seen: Seen, memory: Memory, policy: Policy, now: Instant) -> tuple[Plan[Ring], Memory]:
        del now
        actions, reasons = [], []
        for name, rings in sorted(policy.rings.items()):
            rung = seen.rung.get(name, 0)
            code = "bell.ringing" if rung < rings else "bell.done"
            reason = Reason(code, f"bell/{name}", {"rung": rung, "rings": rings})
            reasons.append(reason)
            if rung < rings:
                actions.append(Ring(target=name, expects=str(rung), reason=reason))
        return Plan(tuple(actions), tuple(reasons)), Memory(min(memory.cycles + 1, 1))

    async def act(self, operation: Operation[Ring]) -> Outcome:
        path = self._root / operation.action.target
        rung = len(path.read_text().splitlines()) if path.exists() else 0
        if str(rung) != operation.action.expects:
            return Outcome("refused", self._clock.now(), "somebody else rang it")
        self._root.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write("ding\n")
        return Outcome("done", self._clock.now())

    def report(self, seen: Seen, plan: Plan[Ring]) -> dict[str, object]:
        del seen
        last = {reason.subject.removeprefix("bell/"): reason for reason in plan.reasons}
        if last != self.last:
            self.last = last
            self._changed()
        return {"bells": len(plan.reasons)}

    def stand_by(self) -> None:
        self.last = {}


class BellsRuntime(Runtime):
    """Bells in `remuda up`."""

    def __init__(self, services: Services, backends: Sequence[object]) -> None:
        assert not backends
        self._services = services
        self._bells = Bells(services)
        self._loop = services.make_loop(self._bells, RECORDS, Policy())

    def routes(self) -> tuple[Route, ...]:
        return (*VIEWS, Route("POST", "/v1/bells/{bell}/ring", "Ring it now.", Rung, handler=self._ring))

    async def _ring(self, call: Call) -> "Rung":
        name = call.names["bell"]
        if name not in self._loop.policy.rings:
            raise NotFound(f"there is no bell {name}")
        root = Path(self._services.data_dir) / "bells"
        root.mkdir(exist_ok=True)
        with (root / name).open("a") as file:
            file.write("ding\n")
        self._services.wake()
        return Rung(name)

    def compile(self, objects: Objects, broken: frozenset[tuple[str, str]]) -> Policy:
        del broken
        return Policy({item.name: item.spec.rings for item in objects if item.kind == "Bell"})

    def apply(self, compiled: Policy) -> None:
        self._loop.follow(compiled)

    def status(self, kind: str, name: str) -> Status:
        assert kind == "Bell"
        reason = self._bells.last.get(name)
        if reason is None:
            return Status()
        is_done = reason.code == "bell.done"
        return Status(
            (Condition("Done", is_done, "Rung" if is_done else "Ringing", sentence(reason)),),
            {"rung": number(reason.terms, "rung")},
        )

    def details(self) -> dict[str, Any]:
        return {"bells": len(self._loop.policy.rings)}


class Rung(Struct, frozen=True):
    """A bell that was rung."""

    bell: str


class WhyBell(Struct, frozen=True):
    """Why a bell is rung, or is not."""

    subject: str
    headline: str


def why_bell(db: Database, call: Call) -> WhyBell:
    cycle = cycle_at(db, LOOP, 2**53, RECORDS)
    for reason in cycle.plan.reasons if cycle else ():
        if reason.subject == f"bell/{call.names['bell']}":
            return WhyBell(reason.subject, sentence(reason))
    raise NotFound(f"there is no bell {call.names['bell']}")


def list_bells(db: Database, call: Call) -> list[str]:
    del call
    cycle = cycle_at(db, LOOP, 2**53, RECORDS)
    return [reason.subject.removeprefix("bell/") for reason in cycle.plan.reasons] if cycle else []


VIEWS = (
    Route("GET", "/v1/bells", "The bells there are.", list[str], view=list_bells),
    Route("GET", "/v1/why/bell/{bell}", "Why a bell is rung.", WhyBell, view=why_bell),
)


@click.command(cls=ClickCommand)
@click.argument("name")
@pass_session
def bell(session: Session, name: str) -> None:
    """Why a bell is rung, or is not."""
    answer = session.remuda.get(path_of("v1", "why", "bell", name), WhyBell)
    session.show(Report(to_builtins(answer), lines=(answer.headline,)))


def known_bells(session: Session, name: str) -> list[str]:
    """Every bell of which something is recorded."""
    del name
    return session.remuda.get("/v1/bells", list[str])


def check_bells(session: Session, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """Bells that nobody rings any more."""
    progress("bells")
    found = session.remuda.get("/v1/bells", list[str])
    yield CheckResult("bells", "ok" if found else "unknown", f"{len(found)} bells hang")


async def bells_page(ask: Ask, call: Call) -> Content:
    """All bells."""
    del call
    return Content("jobs/bells.html", {"bells": await ask.get("/v1/bells", list[str])}, title="Bells")


async def bells_panel(ask: Ask) -> Content | None:
    """How many bells there are, on Now."""
    bells = await ask.get("/v1/bells", list[str])
    return Content(
        "jobs/bells_now.html", {"bells": bells}, alarms=(Alarm(f"{len(bells)} bells hang", "/bells"),)
    )


def report_bells(session: Session, wanted: Wanted, progress: Callable[[str], None]) -> Iterator[Part]:
    """How many bells there are, for who does not ring them."""
    del wanted
    progress("bells")
    yield Part("Bells", (f"{len(session.remuda.get('/v1/bells', list[str]))} bells hang.",))


JOB = Job(
    name="bells",
    kinds=(KindReference("Bell", "bells", "tests.jobs.bells:BELL", ("ding",)),),
    check="tests.jobs.bells:check",
    commands={"why bell": Command("tests.jobs.bells:bell", "Why a bell is rung, or is not.")},
    subjects={"bell": "tests.jobs.bells:known_bells"},
    checkups=("tests.jobs.bells:check_bells",),
    report=("tests.jobs.bells:report_bells",),
    views="tests.jobs.bells:VIEWS",
    reasons="tests.jobs.bells:REASONS",
    prefixes=("bell",),
    permissions="tests.jobs.bells:PERMISSIONS",
    runtime="tests.jobs.bells:BellsRuntime",
    pages=(PageReference("/bells", "tests.jobs.bells:bells_page", "/v1/bells", menu="Bells"),),
    panel=PanelReference("tests.jobs.bells:bells_panel", "/v1/bells"),
)
WITH_BELLS = Jobs((*JOBS.jobs, JOB), JOBS.backends)

if __name__ == "__main__":
    from remuda.cli import main

    main(jobs=WITH_BELLS)
