"""`remuda web`: the link that opens the dashboard, or the dashboard itself when nothing runs."""

import asyncio
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput

if TYPE_CHECKING:
    from remuda.ledger.place import Place
    from remuda.ledger.store import Write

T = TypeVar("T")


@click.command(cls=Command)
@click.option("--open", "opens", is_flag=True, help="Open it in a browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="When nothing runs: where to serve what is recorded. Default: 8420, or any free port where that is taken.",
)
@click.option("--address", default="127.0.0.1", show_default=True, help="When nothing runs: where to listen.")
@pass_session
def web(session: Session, opens: bool, port: int | None, address: str) -> None:
    """
    Open the dashboard.

    Prints the link that signs a browser in to the Remuda that runs with this data directory. When none runs, it serves
    what is recorded until Ctrl-C; nothing can be changed then.

    Whoever has the link may do everything: it is for you alone. `remuda up --web-access FILE` lets others in.
    """
    running = _running(session)
    if running is not None:
        _present(running, opens=opens)
        return
    asyncio.run(_serve_records(session, address, port, opens=opens))


def _running(session: Session) -> str | None:
    """The link of the process that runs here; `BadInput` when it has no dashboard."""
    from remuda.control.ports import PORTS, read_ports
    from remuda.web.access import TOKEN_FILE, given_token, known_token
    from remuda.web.dashboard import link

    if session.server is not None:
        raise BadInput(
            "--server is where another Remuda is: open that address in a browser, and sign in with a token of its own"
        )
    if not session.remuda.is_running():
        return None
    ports = read_ports(session.data_dir)
    if ports is None:
        raise BadInput(
            f"{session.data_dir / PORTS} cannot be read: start Remuda again, and it is written anew"
        )
    if not ports.web:
        raise BadInput("the Remuda that runs here has no dashboard: start it without --no-web")
    if ports.web_token:
        return link(ports.web_address, ports.web, given_token(Path(ports.web_token)))
    token = known_token(session.data_dir / TOKEN_FILE)
    if token is None:
        raise BadInput(
            f"{session.data_dir / TOKEN_FILE} is gone: put it back, or start Remuda again to get a new token"
        )
    return link(ports.web_address, ports.web, token)


def _present(link: str, *, opens: bool) -> None:
    click.echo(link)
    if opens:
        from remuda.web.opening import open_browser

        if not open_browser(link):
            click.echo("no browser could be opened: open the link by hand", err=True)


class _Shared:
    """A store that is only read, by one thread at a time."""

    is_apart = is_writer = False

    def __init__(self, place: "Place", tables: Any) -> None:
        from remuda.ledger.place import open_read_only

        self._store = open_read_only(place, tables)
        self._lock = threading.Lock()

    async def write(self, change: "Write[T]", *, durable: bool = True) -> T:
        """Refuse."""
        return await self._store.write(change, durable=durable)

    def read(self, question: "Write[T]") -> T:
        """Answer from committed data."""
        with self._lock:
            return self._store.read(question)


async def _serve_records(session: Session, address: str, port: int | None, *, opens: bool) -> None:
    """Serve what is recorded, until stopped."""
    from remuda.control.documents import VIEWS as DOCUMENTS
    from remuda.control.loops import VIEWS
    from remuda.control.replay import replay_route
    from remuda.control.routes import asked_of
    from remuda.ledger.place import may_be_there, place_of
    from remuda.loop.clock import SystemClock
    from remuda.loop.logs import Log, to_stream
    from remuda.web.dashboard import Dashboard, WebOptions

    place = place_of(session.home)
    if not may_be_there(place):
        raise BadInput(f"nothing has run with {session.data_dir} yet: start it with `remuda up FILE…`")
    clock = SystemClock()
    store = _Shared(place, session.jobs.tables())
    views = session.jobs.views()
    if session.queue_address is not None:
        tables = tuple(
            {part.name: part for each in views if each.is_of_queue for part in each.tables}.values()
        )
        queue = _Shared(session.queue_address, tables)
        views = tuple(asked_of(queue, each) if each.is_of_queue else each for each in views)
    routes = (*views, *VIEWS, *DOCUMENTS, replay_route(session.jobs, store, clock))
    options = WebOptions(address, port, option="--")
    board = Dashboard(options, session.data_dir, session.jobs, routes, store, clock, Log(clock, to_stream()))
    board.listen()
    await board.start()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        if not session.quiet:
            click.echo("nothing runs here: this is what was recorded, until Ctrl-C", err=True)
        _present(board.link, opens=opens)
        await stop.wait()
    finally:
        await board.stop()
