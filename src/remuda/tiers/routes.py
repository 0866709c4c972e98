"""The part of tiers in the control API that reads what audits kept, so that it answers also when nothing runs."""

from typing import TYPE_CHECKING

from remuda.control.routes import Call, Route
from remuda.tiers.answers import AuditRow, Picture

if TYPE_CHECKING:
    from remuda.ledger.sql import Database

_FOREVER = 2**62


def _audits(db: "Database", call: Call) -> list[AuditRow]:
    from remuda.tiers.questions import audits  # noqa: PLC0415 - a process that runs pools alone does not pay for it

    return audits(db, call.instant("at", _FOREVER))


def _audit(db: "Database", call: Call) -> Picture:
    from remuda.tiers.questions import picture_of  # noqa: PLC0415 - as above

    return picture_of(db, call.number("audit"), call.query.get("node", ""))


VIEWS: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/tiers/audits",
        "The newest audit of tiers of each cluster that is kept, the newest first.",
        list[AuditRow],
        view=_audits,
        query={"at": "The instant asked about, in milliseconds since 1970; now by default."},
    ),
    Route(
        "GET",
        "/v1/tiers/audits/{audit}",
        "A kept audit of tiers: namespaces by tier with what is left of their quotas, nodes, and findings by cause.",
        Picture,
        view=_audit,
        query={"node": "The node whose order of eviction is shown; the fullest by default."},
    ),
)
