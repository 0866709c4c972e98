"""
Replicas that answer for each other: what one that stands by is asked, it passes on to the one that leads.

Whoever is asked first knows the person, and states in a header who it is and what they may do. The statement is signed with
a key that replicas alone have, and holds for one request, once, for a minute, at one replica: neither a token nor a cookie
ever leaves the replica that it was sent to. Who answers proves that it has the key, too, because addresses of pods
are used again. What came with a statement is never passed on again.
"""

import hashlib
import hmac
import ipaddress
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from remuda.errors import BadInput
from remuda.loop.clock import Clock
from remuda.model.times import MINUTE, Instant
from remuda.web.access import Person

if TYPE_CHECKING:  # a laptop does not pay for it
    from remuda.kube.lease import Leadership

#: carries a statement; whatever has it was passed on
STATEMENT = "X-Remuda-Peer"
#: carries the proof of who answers
PROVEN = "X-Remuda-Peer-Proof"
#: how long a statement holds; the clocks of replicas may differ by as much
VALID = MINUTE
#: where the Lease says at which address the leader's dashboard is
ANNOTATION = "remuda.dev/web"
#: where it says which sessions were ended before their time
SIGNED_OUT = "remuda.dev/web-signed-out"


class Leader(Struct, frozen=True):
    """Who leads, as far as this replica knows."""

    #: nothing while nobody does
    identity: str
    #: as 10.0.0.7:8420; nothing when it says none
    address: str = ""
    #: it is this replica, or was until nobody could say otherwise
    is_self: bool = False


class Disbelieved(BadInput):
    """A statement that is not believed, and why."""

    def __init__(self, text: str, number: str = "") -> None:
        """`number` is that of a statement that a replica made; nothing when nobody knows who did."""
        self.number = number
        super().__init__(text)


class Replicas(Struct, frozen=True):
    """What a replica knows of itself and of who leads."""

    identity: str
    leader: Callable[[], Leader]


class Statement(Struct, frozen=True):
    """Who asks for what, in the words of the replica that was asked first."""

    to: str
    person: Person
    #: of the request
    digest: str
    at: Instant
    number: str


class Peers:
    """This replica's part: it states who asks, and believes what others of its kind state."""

    def __init__(
        self,
        token: str,
        replicas: Replicas,
        clock: Clock,
        draw: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        """`token` is the owner's, the same for all replicas; `draw` makes a number that was never used."""
        self._key = hashlib.sha256(b"remuda replicas\0" + token.encode()).digest()
        self._identity = replicas.identity
        self._clock = clock
        self._draw = draw
        self.leader = replicas.leader
        #: statements that were used → until when they would hold
        self._used: OrderedDict[str, Instant] = OrderedDict()

    def state(self, person: Person, to: str, request: bytes) -> tuple[str, str]:
        """The header that says who asks, and the proof that only who may answer can give. `request` is its digest's text."""
        number = self._draw()
        made = Statement(to, person, _digest(request), self._clock.now(), number)
        body = urlsafe_b64encode(msgspec.json.encode(made)).decode()
        return f"{body}.{self._sign('statement', body)}", self.proof(number)

    def believe(self, header: str) -> Statement:
        """What a header states; `Disbelieved` says why it is not believed. Each is believed once, and only by who leads."""
        body, _, signature = header.partition(".")
        if not header.isascii() or not hmac.compare_digest(signature, self._sign("statement", body)):
            raise Disbelieved("this was not passed on by a replica that has the same --web-token")
        stated = msgspec.json.decode(urlsafe_b64decode(body), type=Statement)
        now = self._clock.now()
        apart = abs(now - stated.at)
        while self._used and next(iter(self._used.values())) < now:
            self._used.popitem(last=False)
        why = ""
        if stated.to != self._identity:
            why = f"this was passed on to {stated.to}, and {self._identity} is another replica"
        elif apart > VALID:
            why = (
                f"the clocks of the replicas are {apart // 1_000} s apart: let them agree to within a minute"
            )
        elif stated.number in self._used:
            why = "this was passed on before: each request is answered once"
        elif not self.leader().is_self:
            why = f"{self._identity} does not lead any more: ask again"
        if why:
            raise Disbelieved(why, stated.number)
        self._used[stated.number] = now + 2 * VALID
        return stated

    def proof(self, number: str) -> str:
        """What only a replica can answer to a statement."""
        return self._sign("answer", number)

    def _sign(self, use: str, text: str) -> str:
        return hmac.new(self._key, f"{use}\0{text}".encode(), "sha256").hexdigest()


def replicas_of(election: "Leadership") -> Replicas:
    """Who leads, as the lease says it."""

    def leader() -> Leader:
        known = election.leader or ""
        if election.holds() or known == election.identity:
            return Leader(election.identity, is_self=True)
        return Leader(known, checked_address(election.annotation(ANNOTATION)))

    return Replicas(election.identity, leader)


def is_about(stated: Statement, request: bytes) -> bool:
    """Whether a statement was made about this request."""
    return hmac.compare_digest(stated.digest, _digest(request))


def written(method: str, path: str, body: bytes) -> bytes:
    """A request as it is signed."""
    return f"{method}\0{path}\0".encode("utf-8", "surrogateescape") + body


def published_address(pod: str, listens_at: str, port: int) -> str:
    """Where other replicas find this one, as the Lease says it; nothing when they cannot: no address, or loopback alone."""
    try:
        address = ipaddress.ip_address(pod)
        is_loopback = ipaddress.ip_address(listens_at).is_loopback
    except ValueError:
        return ""
    if is_loopback and not address.is_loopback:
        return ""
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def checked_address(text: str) -> str:
    """An address that a Lease says; nothing for what is no address, so that nobody is sent anywhere by a name."""
    host, _, port = text.rpartition(":")
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return ""
    return text if port.isdecimal() and port.isascii() and 0 < int(port) < 65_536 else ""


def _digest(request: bytes) -> str:
    return hashlib.sha256(request).hexdigest()
