"""From what jobs describe to a site: the frame's own pages, and of each job those that there are facts for."""

from collections.abc import Callable, Iterable
from typing import Any

from remuda.control.answers import answerer
from remuda.control.routes import Call, Route
from remuda.job import Jobs, load
from remuda.ledger.store import Store
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.web.ask import AskRoutes
from remuda.web.draw import environment
from remuda.web.entrance import PERSON
from remuda.web.now import now_page
from remuda.web.page import Ask, Content, Page, Render, RenderPanel
from remuda.web.server import Site
from remuda.web.why import make_why


def make_site(jobs: Jobs, routes: Iterable[Route], store: Store, clock: Clock, log: Log) -> Site:
    """A site over the routes of this process; what machines of this host ask is not for anybody else."""
    offered = tuple(route for route in routes if not route.is_local)
    paths = {route.path for route in offered if route.method == "GET"}
    panels = [_late_panel(job.panel.render) for job in jobs if job.panel and job.panel.needs in paths]
    pages = [
        Page(each.path, _late(each.render), each.menu, each.query, each.family)
        for job in jobs
        for each in job.pages
        if each.needs in paths
    ]
    families = {kind: family for job in jobs for kind, family in job.answered_from.items()}
    drawn = (each for job in jobs for each in (*job.pages, job.panel) if each)
    packages = {_package(each.render) for each in drawn}
    return Site(
        pages=(now_page(panels), *pages, make_why(families)),
        templates=environment(sorted(packages)),
        routes=offered,
        make_ask=lambda: AskRoutes(offered, store, clock),
        answer=_answers(store, log),
    )


def _answers(store: Store, log: Log) -> Callable[[Route], Any]:
    return lambda route: answerer(route, store, log, lambda request: request[PERSON].may_write)


def _package(reference: str) -> str:
    """Where the templates of a page are: beside what draws it."""
    return reference.partition(":")[0].rpartition(".")[0]


def _late(reference: str) -> Render:
    """A page that is imported when somebody opens it."""

    async def render(ask: Ask, call: Call) -> Content:
        found: Content = await load(reference)(ask, call)
        return found

    return render


def _late_panel(reference: str) -> RenderPanel:
    async def render(ask: Ask) -> Content | None:
        found: Content | None = await load(reference)(ask)
        return found

    return render
