"""
The part of capacity in the control API. All of it reads what audits kept, so it answers also when nothing runs.

Judgement is imported when somebody asks: a process that runs pools alone does not pay for it.
"""

from typing import TYPE_CHECKING

from remuda.capacity.answers import AuditRow, LabelAnswer, Picture, Planned, WhatIf
from remuda.control.routes import Call, Route
from remuda.errors import BadInput

if TYPE_CHECKING:
    from remuda.ledger.sql import Database
    from remuda.model.times import Instant

_FOREVER = 2**62
_AT = {"at": "The instant asked about, in milliseconds since 1970; now by default."}
#: words of one question
_MOST_WORDS, _LONGEST = 200, 2_000


def _audits(db: "Database", call: Call) -> list[AuditRow]:
    from remuda.capacity.questions import audits  # noqa: PLC0415 - see above

    return audits(db, _at(call))


def _audit(db: "Database", call: Call) -> Picture:
    from remuda.capacity.questions import picture_of  # noqa: PLC0415 - see above

    return picture_of(db, call.number("audit"), call.query.get("label", ""))


def _why(db: "Database", call: Call) -> LabelAnswer:
    from remuda.capacity.questions import why_label  # noqa: PLC0415 - see above

    return why_label(db, call.names["label"], _at(call))


def _plan(db: "Database", call: Call) -> Planned:
    from remuda.capacity.questions import plan_on  # noqa: PLC0415 - see above

    asked: WhatIf = call.body
    words = [*asked.labels, *(each for texts in asked.options().values() for each in texts)]
    if len(words) > _MOST_WORDS or any(len(each) > _LONGEST for each in words):
        raise BadInput(
            f"that is too much at once: {_MOST_WORDS} changes of {_LONGEST:,} letters are the most"
        )
    return plan_on(db, asked)


def _at(call: Call) -> "Instant":
    return call.instant("at", _FOREVER)


VIEWS: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/capacity/audits",
        "The newest audit of each cluster that is kept, the newest first.",
        list[AuditRow],
        view=_audits,
        query=_AT,
    ),
    Route(
        "GET",
        "/v1/capacity/audits/{audit}",
        "A kept audit: its labels as bars, one of them in full, and its findings by cause.",
        Picture,
        view=_audit,
        query={"label": "The label that is shown in full; one with errors by default."},
    ),
    Route(
        "POST",
        "/v1/capacity/plan",
        "What changes would do to the labels of a kept audit.",
        Planned,
        view=_plan,
        body=WhatIf,
        is_question=True,
    ),
    Route(
        "GET",
        "/v1/why/label/{label}",
        "Why a label has the runners it has, by the newest audit that is kept.",
        LabelAnswer,
        view=_why,
        query=_AT,
    ),
)
