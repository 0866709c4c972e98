"""
Which agents go on calling, and how far CircleCI's clock is from ours. Pure.

A listing says when each agent called last, by a clock that nobody vouches for. That the time moved on between two
listings says more: the agent called between them, by our own clock; and so the difference of the clocks lies between
two bounds.
"""

from collections.abc import Mapping

from remuda.model.times import SECOND, Instant

#: listings and their times are this coarse: a smaller difference is none
_COARSE = 5 * SECOND


class Hearing:
    """What the listings of one class showed so far. All instants are ours, unless they are called theirs."""

    __slots__ = ("_began_at", "_heard", "_theirs", "offset")

    def __init__(self) -> None:
        #: how much their clock is ahead, in milliseconds; None before anybody was seen to call again
        self.offset: int | None = None
        self._began_at: Instant | None = None
        self._theirs: dict[str, Instant] = {}
        self._heard: dict[str, Instant] = {}

    def listen(self, theirs: Mapping[str, Instant], began_at: Instant, ended_at: Instant) -> None:
        """Take in a listing that was asked for and answered then: by agent, when it last called."""
        moved = {name: at for name, at in theirs.items() if at > self._theirs.get(name, at)}
        if moved and self._began_at is not None:
            newest = max(moved.values())
            most = newest - self._began_at
            least = min(newest - ended_at, most)  # our own clock may have been set back
            if self.offset is None or not least - _COARSE <= self.offset <= most + _COARSE:
                middle = (least + most) // 2
                self.offset = 0 if least - _COARSE <= 0 <= most + _COARSE else middle
        self._began_at = began_at
        self._theirs = dict(theirs)
        self._heard = {name: began_at if name in moved else self._heard.get(name, 0) for name in theirs}

    def heard_at(self, agent: str) -> Instant | None:
        """When an agent was last seen to have called again; None when it never was."""
        return self._heard.get(agent) or None

    def ours(self, theirs: Instant) -> Instant:
        """A moment of theirs by our own clock, as far as the difference is known."""
        return theirs - (self.offset or 0)
