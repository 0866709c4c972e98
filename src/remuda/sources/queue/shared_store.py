"""
The store of a queue that several hosts share: as `PostgresStore`, with a seat for each host that ends by time.

Whatever this host commits renews its lease, and so does a heartbeat when it has nothing to commit. How long the lease
holds is counted from before the transaction began, and told to whoever runs jobs before anything else is answered. A lease
that another host has ended is begun anew with the next write, under another name.
"""

from collections.abc import Callable, Sequence
from typing import Any

from remuda.errors import Unavailable
from remuda.ledger.address import PostgresAddress
from remuda.ledger.postgres import Raw
from remuda.ledger.postgres_store import PostgresStore
from remuda.ledger.schema import Tables
from remuda.ledger.seat import Claimant, Fenced
from remuda.ledger.tasks import Task
from remuda.model.times import Instant
from remuda.sources.queue.hosts import HostSeats, leave, tenure_of

#: heartbeats within a lease
_BEATS = 10


class SharedStore(PostgresStore):
    """
    The queue's store on one of several hosts.

    `steady` is a clock that no one sets and that goes on while the host sleeps, in seconds; `renewed` is called in the
    writer's thread with the name of the lease and the moment from which it counts, and raises OSError when it
    cannot pass that on: then nothing more is written.
    """

    def __init__(
        self,
        address: PostgresAddress,
        now: Callable[[], Instant],
        host: str,
        lease_ms: int,
        *,
        tables: Sequence[Tables],
        steady: Callable[[], float],
        renewed: Callable[[str, float], None],
    ) -> None:
        """Connect and bring the tables to this version. Nothing can be written before `take_seat`."""
        self._host, self._steady, self._pass_on = host, steady, renewed
        self._who: Claimant | None = None
        self._was_ended = False
        self._untold: tuple[str, float] | None = None
        #: the name of the lease under which was written last
        self.tenure = ""
        super().__init__(address, now, tables=tables, seats=HostSeats(host, lease_ms))
        self.beat_s = lease_ms / 1000 / _BEATS

    def _take_seat(self, who: Claimant) -> None:
        self._who = who
        began = self._steady()
        super()._take_seat(who)
        self._was_ended = False
        assert self._token is not None
        self.tenure = tenure_of(self._token)
        self._renewed(self.tenure, began)

    def _try_commit(self, batch: list[Task], *, is_apart: bool) -> list[tuple[Any, Exception | None]]:
        if self._untold is not None:
            self._renewed(*self._untold)
        if self._untold is not None:
            raise Unavailable("how long the lease of this host holds cannot be told to its machines")
        if self._was_ended and self._who is not None:
            self._take_seat(self._who)
        began = self._steady()
        answers = super()._try_commit(batch, is_apart=is_apart)
        self._renewed(self.tenure, began)
        return answers

    def _renewed(self, tenure: str, began: float) -> None:
        try:
            self._pass_on(tenure, began)
        except OSError:
            self._untold = (tenure, began)
        else:
            self._untold = None

    def _leave_seat(self) -> None:
        if self._token is not None:
            with self._asked() as db, db.raw.transaction():
                leave(db, self._host, self._now())
        super()._leave_seat()

    def _fenced(self, raw: Raw) -> Fenced:
        problem = super()._fenced(raw)
        self._was_ended = True
        return problem
