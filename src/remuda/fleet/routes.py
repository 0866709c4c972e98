"""
The fleet's part of the HTTP API: what was decided last, at another time or on files, and why a need has what it has.

All of it only reads the store. Nothing here needs NumPy until somebody asks.
"""

import importlib.util
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from remuda.control.documents import Kept
from remuda.control.routes import Call, Route
from remuda.errors import BadInput, NotFound, RemudaError, Unavailable
from remuda.fleet.answers import LOOP, Chosen, Moment, NeedWhy, NothingRecorded, Overview
from remuda.fleet.show.one_need import answer_need
from remuda.ledger.sql import Database
from remuda.model.times import Instant

if TYPE_CHECKING:
    from remuda.fleet.history.latest import Situations
    from remuda.fleet.trial import Trial
    from remuda.ledger.documents import Kept as Document

T = TypeVar("T")
#: after every instant
_LATER = 2**62
_MOST_ANSWERS = 64


class Answers:
    """What was answered of late, by what it was made of: a page that many watch asks again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._situations: Situations | None = None

    @property
    def situations(self) -> "Situations":
        """The cycles that were counted."""
        with self._lock:
            if self._situations is None:
                from remuda.fleet.history.latest import Situations  # noqa: PLC0415 - needs NumPy

                self._situations = Situations()
            return self._situations

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What a key stands for, made when it is not kept. Two that ask at once may both make it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                found: T = self._kept[key]
                return found
        made = make()
        with self._lock:
            self._kept[key] = made
            if len(self._kept) > _MOST_ANSWERS:
                self._kept.popitem(last=False)
        return made


_ANSWERS = Answers()
_PLAN = {
    "plan": "The number of a plan that `remuda fleet plan --keep` kept, instead of what a shard recorded."
}
_AT = {"at": "The instant asked about, in milliseconds since 1970; now by default."}


def fleet_view(db: Database, call: Call) -> Overview:
    """The fleet when it was decided on last, by then, or in a plan that is kept."""
    _need_numpy()
    from remuda.fleet.history.kept_plans import find_plan, plan_situation  # noqa: PLC0415 - needs NumPy
    from remuda.fleet.history.latest import find_cycle  # noqa: PLC0415
    from remuda.fleet.show.overview import overview  # noqa: PLC0415

    chosen = Chosen(*(call.query.get(name, "") for name in Chosen.__struct_fields__))
    number = plan_number(call.query)
    found = None if number else find_cycle(db, call.instant("at", _LATER))
    if found is not None:
        seen = _ANSWERS.situations.of(db, found)
        since = db.execute("SELECT min(first_at) FROM cycles WHERE loop = ?", (LOOP,)).fetchone()[0]
        return overview(seen, chosen, Moment(found.first_at, found.last_at, found.count, since))
    items = [find_plan(db, number)] if number else _plans(db, call.instant("at", _LATER))
    item, seen, unread = _first_read(
        items, lambda item: _ANSWERS.once(("plan", _mark(db, item)), lambda: plan_situation(db, item))
    )
    name = item.kind.partition("/")[2]
    return overview(seen, chosen, Moment(item.at, item.at, 1, plan=item.id, name=name, unread=unread))


def need_view(db: Database, call: Call) -> NeedWhy:
    """Why a need has what it has, and what would change that."""
    _need_numpy()
    from remuda.fleet.history.kept_plans import find_plan, plan_trial  # noqa: PLC0415 - needs NumPy
    from remuda.fleet.history.latest import find_cycle  # noqa: PLC0415
    from remuda.fleet.history.replay import cycle_at, recorded_trial  # noqa: PLC0415

    name, number = call.names["need"], plan_number(call.query)
    found = None if number else find_cycle(db, call.instant("at", _LATER))
    if found is not None:

        def recorded() -> "Trial":
            cycle = cycle_at(db, call.instant("at", _LATER))
            assert cycle is not None
            return recorded_trial(cycle)

        return _ANSWERS.once(("need", name, found.mark), lambda: answer_need(recorded(), name))
    items = [find_plan(db, number)] if number else _plans(db, call.instant("at", _LATER))

    def answer(item: "Document") -> NeedWhy:
        return _ANSWERS.once(("need", name, _mark(db, item)), lambda: answer_need(plan_trial(db, item), name))

    return _first_read(items, answer)[1]


def plans_view(db: Database, call: Call) -> list[Kept]:
    """The plans that are kept, the newest first."""
    del call
    from remuda.ledger.documents import kept_of_family  # noqa: PLC0415 - not for --help

    return [Kept(item.id, item.kind, item.at) for item in kept_of_family(db, "fleet-plan")]


def plan_number(query: dict[str, str]) -> int:
    """The number of a plan in a query; 0 for none."""
    text = query.get("plan", "")
    if text and not re.fullmatch(r"[1-9][0-9]{0,17}", text):
        raise BadInput(f"plan wants the number of a plan that is kept, found {text[:40]!r}")
    return int(text or 0)


def _plans(db: Database, at: Instant) -> "list[Document]":
    """The plans that were kept by then, the newest first; `NothingRecorded` when there is none."""
    from remuda.ledger.documents import kept_of_family  # noqa: PLC0415

    found = kept_of_family(db, "fleet-plan", at)
    if found:
        return found
    raise NothingRecorded(
        f"{'nothing' if at == _LATER else 'nothing by then'} is recorded of a fleet: no shard decided, and no plan is"
        " kept; remuda fleet plan --keep keeps one"
    )


def _first_read(items: "list[Document]", read: "Callable[[Document], T]") -> "tuple[Document, T, str]":
    """The first that can be read, and why those before it cannot; what is wrong with the first when none can."""
    problems: list[RemudaError] = []
    for item in items:
        try:
            found = read(item)
        except NotFound:
            raise
        except (BadInput, Unavailable) as error:
            problems.append(error)
            continue
        return item, found, "; ".join(map(str, problems))
    raise problems[0]


def _mark(db: Database, item: Any) -> tuple[Any, ...]:
    """What a document is known by: its checksum too, so that stores are never taken for each other."""
    size, checksum = db.execute(
        "SELECT length(data), substr(data, length(data) - 3) FROM documents WHERE id = ?", (item.id,)
    ).fetchone()
    return item.id, item.kind, item.at, size, bytes(checksum)


def _need_numpy() -> None:
    if importlib.util.find_spec("numpy") is None:
        raise Unavailable("the fleet needs NumPy: pip install 'remuda[fleet]'")


VIEWS: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/fleet",
        "The fleet when it was decided on last: machines, what is missing and why, and what it costs.",
        Overview,
        view=fleet_view,
        query={
            "state": "Only machines in this state.",
            "zone": "Only machines of this zone.",
            "type": "Only machines of this type.",
            "cluster": "Only machines and needs of this cluster.",
            **_AT,
            **_PLAN,
        },
    ),
    Route(
        "GET",
        "/v1/fleet/plans",
        "Plans on files that are kept, the newest first.",
        list[Kept],
        view=plans_view,
    ),
    Route(
        "GET",
        "/v1/why/need/{need}",
        "Why a need has the machines it has, and what keeps it from more.",
        NeedWhy,
        view=need_view,
        query={**_AT, **_PLAN},
    ),
)
