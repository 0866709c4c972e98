"""`remuda report`: one page for a person who does not operate it, of what every job has recorded."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remuda.control.command import Command, Session, pass_session
from remuda.errors import BadInput, NotFound
from remuda.job import load

if TYPE_CHECKING:
    from remuda.output.sections import Section


@click.command(cls=Command)
@click.option(
    "--since", default="30d", show_default=True, metavar="TIME", help="From a time, or how long ago."
)
@click.option("--until", metavar="TIME", help="To a time, or how long ago. Default: now.")
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    metavar="FILE",
    help="Write one page that loads nothing from elsewhere.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="[POOL=]DOLLARS",
    help="What a machine costs an hour: of one pool, or of all others.",
)
@click.option("--no-simulation", is_flag=True, help="Leave out what other settings would have changed.")
@pass_session
def report(
    session: Session,
    since: str,
    until: str | None,
    html: Path | None,
    prices: tuple[str, ...],
    no_simulation: bool,
) -> None:
    """
    Waiting, use, cost, limits, sizes, and what other settings would have changed.

    \b
    remuda report --since 30d --html report.html
    remuda report --since 7d --price 0.04 --price nix=0.10
    """
    from remuda import __version__
    from remuda.output.sections import Wanted, ordered, section_report

    if html is not None and importlib.util.find_spec("jinja2") is None:
        raise BadInput("--html needs Jinja2: pip install 'remuda[web]'")
    wanted = Wanted(session.past(since), session.past(until), dict(map(_price, prices)), not no_simulation)
    if wanted.since >= wanted.until:
        raise BadInput(f"--since {since} is not before --until {until or 'now'}")
    found: list[Section] = []
    with session.progress() as progress:
        for job in session.jobs:
            for reference in job.report:
                found += load(reference)(session, wanted, progress)
    if not found:
        raise NotFound(
            f"nothing is recorded since {since} in {session.data_dir}: it is there once remuda up or remuda rightsize review"
            " has run with it"
        )
    sections = ordered(found)
    if html is not None:
        from remuda.web.report import report_page

        page = report_page(sections, wanted, "Machines, and who waited for them", f"remuda {__version__}")
        try:
            html.write_text(page, encoding="utf-8")
        except OSError as error:
            raise BadInput(f"--html: {html} cannot be written: {error.strerror}") from None
        session.note(f"the report is in {html}")
        if session.form == "table":
            return
    session.show(section_report(sections, wanted))


def _price(text: str) -> tuple[str, float]:
    pool, _, amount = text.rpartition("=")
    try:
        price = float(amount)
    except ValueError:
        price = -1.0
    if not 0 <= price < 1_000_000:
        raise BadInput(
            f"--price {text!r} is no price: write dollars an hour, as 0.04, or for one pool shell=0.04"
        )
    return pool, price
