"""The part of tiers in the control API that reads what audits kept, so that it answers also when nothing runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from remuda.control.routes import Call, Route
from remuda.tiers.answers import AuditRow, Picture, WhyAnswer

if TYPE_CHECKING:
    from remuda.ledger.sql import Database

_FOREVER = 2**62


def _audits(db: "Database", call: Call) -> list[AuditRow]:
    from remuda.tiers.questions import audits  # noqa: PLC0415 - a process that runs pools alone does not pay for it

    return audits(db, call.instant("at", _FOREVER))


def _audit(db: "Database", call: Call) -> Picture:
    from remuda.tiers.questions import picture_of  # noqa: PLC0415 - as above

    return picture_of(db, call.number("audit"), call.query.get("node", ""))


def _why(kind: str) -> Callable[["Database", Call], WhyAnswer]:
    def view(db: "Database", call: Call) -> WhyAnswer:
        from remuda.tiers.why_kept import answered  # noqa: PLC0415 - as above

        return answered(db, kind, call.names[kind], call.instant("at", _FOREVER))

    return view


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
    *(
        Route(
            "GET",
            f"/v1/why/{kind}/{{{kind}}}",
            f"Why {about}, as it was last asked by a command.",
            WhyAnswer,
            view=_why(kind),
            query={"at": "The instant asked about, in milliseconds since 1970; now by default."},
        )
        for kind, about in (
            ("pod", "a pod, NAMESPACE/NAME, does not run or did not stay"),
            ("namespace", "a namespace has its tier"),
            ("node", "a node is short of memory"),
        )
    ),
)
