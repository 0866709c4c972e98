"""How often somebody may ask: a bucket of requests for each address, filled at a steady pace."""

import ipaddress
from collections import OrderedDict

from msgspec import Struct

from remuda.loop.clock import Clock

#: addresses that are remembered; whoever asked longest ago is forgotten first
_MOST_KNOWN = 4_096


class Pace(Struct, frozen=True):
    """So many requests at once, and so many a second after that."""

    burst: int
    per_second: float


#: a page asks for a dozen things when it is opened; a person cannot click faster than this
REQUESTS = Pace(burst=400, per_second=100.0)
#: guesses of a token
GUESSES = Pace(burst=10, per_second=0.2)


class Limiter:
    """Counts requests by address."""

    def __init__(self, pace: Pace, clock: Clock) -> None:
        self._pace = pace
        self._clock = clock
        #: address → what is left, and when that was
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def is_used_up(self, peer: str) -> bool:
        """Whether the next request would have to wait; it is not counted."""
        left, since = self._left.get(peer, (float(self._pace.burst), 0.0))
        return left + (self._clock.monotonic() - since) * self._pace.per_second < 1.0

    def wait_s(self, peer: str, cost: float = 1.0) -> float:
        """Count a request; how many seconds to wait before the next one, 0 when this one may go on."""
        now = self._clock.monotonic()
        left, since = self._left.pop(peer, (float(self._pace.burst), now))
        left = min(self._pace.burst, left + (now - since) * self._pace.per_second)
        may_go = left >= cost
        self._left[peer] = (left - cost if may_go else left, now)
        if len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)
        return 0.0 if may_go else (cost - left) / self._pace.per_second


class Acquainted:
    """Who was let in from where, so that strangers at the same address do not keep them out later."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()

    def add(self, peer: str, name: str) -> None:
        """Somebody was let in."""
        self._known[peer, name] = None
        self._known.move_to_end((peer, name))
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return pair in self._known


def neighbourhood(peer: str) -> str:
    """What strangers are counted by: an address, and of IPv6 the network that one subscriber has."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    if address.version == 4:
        return peer
    return str(ipaddress.ip_network((address, 64), strict=False))
