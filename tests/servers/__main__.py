"""`python -m tests.servers get [NAME…]` provides the servers the tests use, `list` says where they are."""

import sys

import click
from tests.servers.base import NAME as BASE
from tests.servers.base import SUITE, find_base, get_base
from tests.servers.browser import NAME as BROWSER
from tests.servers.browser import find_browser, get_browser
from tests.servers.build import Progress, get
from tests.servers.catalog import SERVERS
from tests.servers.found import ServersError, Surroundings, find, surroundings
from tests.servers.guest_image import NAME as GUEST
from tests.servers.guest_image import VERSION as GUEST_VERSION
from tests.servers.guest_image import find_guest_image, get_guest_image
from tests.servers.postgres import NAME as POSTGRES
from tests.servers.postgres import find_postgres, get_postgres

QUIET_EVERY_S = 60.0  # in a pipe: often enough to see that it lives


def progress(*, is_terminal: bool) -> Progress:
    """Progress on stderr: one line that counts on a terminal, a line now and then in a pipe."""
    said: dict[str, float] = {}

    def show(doing: str, elapsed_s: float) -> None:
        is_end = doing.startswith("done ")
        if is_terminal:
            click.echo(f"\r\033[K{doing}  {elapsed_s:.0f} s", err=True, nl=is_end)
        elif is_end or doing not in said or elapsed_s - said[doing] >= QUIET_EVERY_S:
            said[doing] = elapsed_s
            click.echo(f"{doing}  {elapsed_s:.0f} s", err=True)

    return show


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """
    The real servers that tests run against.

    Each is taken from KUBEBUILDER_ASSETS (etcd, kube-apiserver, kubectl) or REMUDA_SERVERS (any), else from the
    per-user cache, else built from its published Go module into that cache. The browser and PostgreSQL are those on the
    PATH, else Debian's are installed, for which one has to be root, as for the base that an image is built on and for the disk that
    a guest boots from.
    """


@main.command("get")
@click.argument(
    "names", nargs=-1, type=click.Choice([*SERVERS, BROWSER, POSTGRES, BASE, GUEST]), metavar="[NAME]..."
)
def get_command(names: tuple[str, ...]) -> None:
    """Find or build the named servers, or all of them, the browser, PostgreSQL, the base of images and the guest."""
    asked = names or (*SERVERS, BROWSER, POSTGRES, BASE, GUEST)
    show = progress(is_terminal=sys.stderr.isatty())
    try:
        paths = get([name for name in asked if name in SERVERS], surroundings(), show)
        if BROWSER in asked:
            paths[BROWSER] = get_browser(show)
        if POSTGRES in asked:
            paths[POSTGRES] = get_postgres(show)
        if BASE in asked:
            paths[BASE] = get_base(surroundings(), show)
        if GUEST in asked:
            paths[GUEST] = get_guest_image(surroundings(), show).disk
    except ServersError as error:
        raise click.ClickException(str(error)) from None
    for name, path in paths.items():
        click.echo(f"{name}\t{path}")


@main.command("list")
def list_command() -> None:
    """Show every server, its pinned version, its size and where it is."""
    around = surroundings()
    for name, version, size, where in (("NAME", "VERSION", "MB", "PATH"), *rows(around)):
        click.echo(f"{name:<25}{version:<10}{size:>5}  {where}")


def rows(around: Surroundings) -> list[tuple[str, str, str, str]]:
    """Name, pinned version, size and place of every server."""
    table = []
    for server in SERVERS.values():
        path = find(server, around)
        size = "-" if path is None else f"{path.stat().st_size / 1e6:.0f}"
        where = f"missing; python -m tests.servers get {server.name}" if path is None else str(path)
        table.append((server.name, server.version, size, where))
    guest = find_guest_image(around)
    for name, version, path in (
        (BROWSER, "any", find_browser()),
        (POSTGRES, "any", find_postgres()),
        (BASE, SUITE, find_base(around)),
        (GUEST, GUEST_VERSION, guest.disk if guest else None),
    ):
        where = f"missing; python -m tests.servers get {name}" if path is None else str(path)
        table.append((name, version, "-", where))
    return table


if __name__ == "__main__":
    main(prog_name="python -m tests.servers")
