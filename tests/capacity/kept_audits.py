"""Audits that were kept, in a data directory of a test's own, and what is asked of them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.capacity.builders import NOW, node, policy, scale_set, snapshot
from tests.web.clock import SetClock

from remuda.capacity import kept
from remuda.capacity.decide.audit import audit
from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.routes import VIEWS
from remuda.capacity.snapshot import Snapshot, Usage
from remuda.control.routes import Call, Route
from remuda.ledger.store import FILE, SqliteStore
from remuda.web.ask import AskRoutes


def busy(running: int = 1, **fields: Any) -> Snapshot:
    """Two sets on one node, of which one runs so many."""
    return snapshot(
        scale_set(max=4),
        scale_set("docs", max=2),
        node(),
        usage={"honey": Usage({"cpu": 2_000 * running, "pods": running}, {}, {"arc/vm-test": running})},
        source="cluster",
        **fields,
    )


class Home:
    """A data directory; audits are made and asked of in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(
        self,
        world: Snapshot | None = None,
        at: int = NOW,
        labels: tuple[str, ...] = (),
        **policies: CapacityPolicySpec,
    ) -> str:
        """Keep an audit of a world by policies, by default one with a ceiling of 4 for the usual label."""
        known = policies or {"kvm": policy()}
        return kept.keep(self.path, audit(world or busy(), labels, known, at), labels, known, at)

    @contextmanager
    def store(self) -> Iterator[SqliteStore]:
        opened = SqliteStore(self.path / FILE)
        try:
            yield opened
        finally:
            opened.close()

    def ask(self, path: str, **query: object) -> Any:
        """What a route answers."""
        with self.store() as store:
            return asyncio.run(AskRoutes(VIEWS, store, SetClock()).get(path, object, **query))

    def post(self, body: object, path: str = "/v1/capacity/plan") -> Any:
        """What a question is answered."""
        (route,) = [each for each in VIEWS if (each.method, each.path) == ("POST", path)]
        return self.view(route, Call({}, {}, body))

    def view(self, route: Route, call: Call) -> Any:
        assert route.view is not None
        view = route.view
        with self.store() as store:
            return store.read(lambda db: view(db, call))
