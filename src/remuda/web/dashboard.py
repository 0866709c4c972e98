"""The dashboard of one process: its options, its token, its port, and the link that opens it."""

import asyncio
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from msgspec import Struct

from remuda.control.routes import Route
from remuda.errors import BadInput, RemudaError
from remuda.job import Jobs
from remuda.ledger.store import Store
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.model.times import Instant
from remuda.web.access import TOKEN_FILE, Access, given_token, own_token, read_access
from remuda.web.peers import ANNOTATION, SIGNED_OUT, Peers, published_address, replicas_of
from remuda.web.server import WebServer, listen
from remuda.web.signed_out import FILE, SignedOut
from remuda.web.site import make_site

if TYPE_CHECKING:  # a laptop does not pay for it
    from remuda.kube.lease import Leadership

PORT = 8420
#: how often is looked whether who may get in has changed
_LOOK_S = 1.0
#: addresses that mean every address of the host: a link needs one that can be opened
_ALL = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared, not bound


class WebOptions(Struct, frozen=True):
    """Where the dashboard listens, and who may see it beside the owner of the token."""

    address: str = "127.0.0.1"
    #: None is 8420, or any free one where that is taken: two Remudas of one host need not be told apart by hand
    port: int | None = None
    access: Path | None = None
    #: the owner's token, the same for all replicas; None for one of its own in the data directory
    token: Path | None = None
    #: how the options begin that it was given by
    option: str = "--web-"


class Election(Protocol):
    """As much of a `Leadership` as is needed to agree."""

    lasting: dict[str, str]

    def annotation(self, name: str) -> str:
        """What the Lease says."""
        ...

    def holds(self) -> bool:
        """Whether it is ours."""
        ...

    async def say_lasting(self) -> None:
        """Write it though it is another's."""
        ...


class Dashboard:
    """Listens first, so that a port that is taken is known before anything starts; then serves."""

    def __init__(
        self,
        options: WebOptions,
        data_dir: Path,
        jobs: Jobs,
        routes: tuple[Route, ...],
        store: Store,
        clock: Clock,
        log: Log,
        election: "Leadership | None" = None,
    ) -> None:
        """Of replicas that share a token, one that stands by passes on what it is asked; `election` says who leads."""
        self._read = stamp_of(options.access)
        spec = read_access(options.access) if options.access else None
        self._options, self._log = options, log
        self._signed_out = SignedOut(data_dir / FILE)
        self._following: list[asyncio.Task[None]] = []
        self._election, self._clock = election if options.token else None, clock
        self._token = given_token(options.token) if options.token else own_token(data_dir / TOKEN_FILE)
        peers = Peers(self._token, replicas_of(election), clock) if election and options.token else None
        site = make_site(jobs, routes, store, clock, log)
        self._server = WebServer(site, Access(self._token, spec, self._signed_out), clock, log, peers)
        self._listening: socket.socket | None = None

    def listen(self) -> None:
        """Take the port; `BadInput` when it cannot be had."""
        address, port = self._options.address, self._options.port
        if port is not None:
            self._listening = listen(address, port, self._options.option)
            return
        try:
            self._listening = listen(address, PORT)
        except BadInput:
            self._listening = listen(address, 0, self._options.option)

    async def start(self) -> None:
        """Serve."""
        assert self._listening is not None
        await self._server.start(self._listening)
        if self._options.access is not None:
            self._following.append(asyncio.create_task(self._follow(self._options.access), name="web access"))
        if self._election is not None:
            self._following.append(asyncio.create_task(self._agree(self._election), name="signed out"))

    async def _follow(self, path: Path) -> None:
        """Go by who may get in whenever that changes: a token that was taken away lets nobody in from then on."""
        while True:
            await asyncio.sleep(_LOOK_S)
            self.look_at_access(path)

    async def _agree(self, election: "Leadership") -> None:
        """Who signed out at one replica is out at all of them, whoever leads later: the Lease says who did."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await agree(self._signed_out, election, self._clock.now())
            except (OSError, RemudaError) as error:
                self._log.warning("who signed out is not known everywhere yet", error=str(error))

    def look_at_access(self, path: Path) -> None:
        """Read the file of `--web-access` again if it changed; one with a problem is refused, and the old one stays."""
        if (found := stamp_of(path)) == self._read:
            return
        self._read = found
        try:
            spec = read_access(path)
        except BadInput as error:
            self._log.error(
                "the file of --web-access is refused, and who got in before still does",
                problems=str(error).splitlines(),
            )
            return
        self._server.admit(Access(self._token, spec, self._signed_out))
        self._log.info("who may see the dashboard was read again", tokens=len(spec.tokens))

    async def stop(self) -> None:
        """Stop serving, and give the port back."""
        for task in self._following:
            task.cancel()
        await self._server.stop()
        if self._listening is not None:
            self._listening.close()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.port

    def publish(self, election: "Leadership", pod: str) -> None:
        """Say in the lease where other replicas find it, by the address of its pod, unless they cannot or must not."""
        if self._options.token and (at := published_address(pod, self._options.address, self.port)):
            election.annotations = {ANNOTATION: at}

    @property
    def link(self) -> str:
        """What opens it; it holds the token, so it is for the terminal and never for a log."""
        return link(self._options.address, self.port, self._token)


async def agree(signed_out: SignedOut, election: "Election", now: Instant) -> None:
    """Hear from the Lease who signed out at other replicas, and see that it says who did here."""
    knows_all = signed_out.hear(election.annotation(SIGNED_OUT), now)
    said = signed_out.said(now)
    election.lasting = {SIGNED_OUT: said} if said else {}
    if not knows_all and not election.holds():
        # Who leads writes it with the next renewal.
        await election.say_lasting()


def stamp_of(path: Path | None) -> tuple[int, int, int] | None:
    """What changes when a file does, or what a link leads to; None where there is none."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found else None


def link(address: str, port: int, token: str) -> str:
    """The address that signs a browser in."""
    host = "127.0.0.1" if address in _ALL else f"[{address}]" if ":" in address else address
    return f"http://{host}:{port}/?token={quote(token, safe='')}"
