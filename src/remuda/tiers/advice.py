"""
What the last kept review of sizes says of containers, as far as why asks for it.

Reviews are documents in the ledger; their schema is `remuda.dev/rightsize-review/v1`, of which keys are only ever added.
"""

from collections.abc import Iterator

from msgspec import Struct, field

from remuda.errors import RemudaError
from remuda.ledger import documents
from remuda.ledger.place import Home, may_be_there, place_of
from remuda.model.times import Instant
from remuda.tiers.decide.why_memory import Advice

_FAMILY = "rightsize"


class _Ask(Struct, frozen=True):
    memory_bytes: int | None = None


class _Size(Struct, frozen=True):
    limits: _Ask = field(default_factory=_Ask)


class _Container(Struct, frozen=True):
    name: str
    recommended: _Size = field(default_factory=_Size)
    risk: str = ""


class _Workload(Struct, frozen=True):
    namespace: str
    kind: str
    name: str
    containers: tuple[_Container, ...] = ()


class _Review(Struct, frozen=True):
    at: Instant
    source: str = ""
    workloads: tuple[_Workload, ...] = ()


def advices(home: Home, source: str) -> dict[tuple[str, str, str, str], Advice]:
    """
    By workload and container, what the newest review of this source says; of the one source that there is, if it is another.

    Nothing where none is kept, or none can be read: why goes on without it.
    """
    try:
        found = list(_reviews(home))
    except RemudaError:
        return {}
    own = [each for each in found if each.source == source]
    if not own and len({each.source for each in found}) == 1:
        own = found
    made: dict[tuple[str, str, str, str], Advice] = {}
    for review in sorted(own, key=lambda each: each.at):
        for workload in review.workloads:
            for each in workload.containers:
                key = (workload.namespace, workload.kind, workload.name, each.name)
                made[key] = Advice(review.at, each.recommended.limits.memory_bytes, each.risk == "leak")
    return made


def _reviews(home: Home) -> Iterator[_Review]:
    """The newest of each kind: of some workloads alone, too."""
    if not may_be_there(place_of(home)):
        return
    with documents.documents(home) as db:
        newest: dict[str, documents.Kept] = {}
        for item in documents.kept_of_family(db, _FAMILY):
            newest.setdefault(item.kind, item)
        for item in newest.values():
            yield documents.read(db, item, _Review)
