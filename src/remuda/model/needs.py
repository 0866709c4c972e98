"""Needs: what a source asks machines for, and who already works on it."""

from msgspec import Struct

from remuda.model.times import MINUTE, Instant

#: what a source reports may be this late
_LATE = 2 * MINUTE


class Need(Struct, frozen=True, gc=False):
    """
    The tasks of one class, as its source last reported: equal units, each wanting one machine.

    While `stale_since` is set the source does not answer and the numbers are its last good ones: nothing shrinks on
    them.
    """

    unclaimed: int
    running: int
    stale_since: Instant | None = None
    #: since then the source cannot say who is idle, so nobody may be taken for it
    unsure_since: Instant | None = None
    #: tasks that could be taken here too, and that other hosts of a shared queue count
    elsewhere: int = 0


class Worker(Struct, frozen=True, gc=False):
    """What a source knows of a machine that takes its work."""

    #: when it got its job, or became free of the last one
    since: Instant
    job: str | None = None
    #: jobs it has taken
    uses: int = 0
    #: it was asked to take no more work
    closed: bool = False
    #: when it first called, where names are used again; by our own clock, as far as a difference is known
    connected_at: Instant | None = None
    #: when it was last seen to call again, by our own clock; None when it is known by more than its name
    heard_at: Instant | None = None

    def is_of(self, made_at: Instant, known_at: Instant) -> bool:
        """
        Whether a worker that has a machine's name is that machine, which was made and first seen then.

        One that connected before it may be an earlier one, or the clocks differ, or the source has one record for all
        machines of a name: it is the machine's own when it goes on calling long after an earlier one can have.
        """
        if self.connected_at is None or self.connected_at >= made_at:
            return True
        return self.heard_at is not None and self.heard_at >= known_at + _LATE


class Reading(Struct, frozen=True):
    """
    One look at a source: the need of each class, and the workers by what they call themselves (`worker_name`).

    For the classes `registering`, every machine that can take work is among the workers; one that is not, still boots.
    """

    needs: dict[str, Need]
    workers: dict[str, Worker]
    registering: frozenset[str] = frozenset()
