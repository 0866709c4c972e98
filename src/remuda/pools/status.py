"""What the status of a RunnerPool says, made of the reason of the last cycle."""

from typing import Any

from remuda.model.plans import Reason
from remuda.model.times import write_instant
from remuda.output.words import number, sentence
from remuda.pools.codes import UNKNOWN
from remuda.runtime import Condition, Status


def pool_status(reason: Reason | None, silent: str, incomplete: str) -> Status:
    """`silent` says why its source gives no good answer, `incomplete` what a person must supply."""
    if reason is None:
        return Status(incomplete=incomplete)
    return Status((_ready(reason), _stale(reason, silent)), _fields(reason), incomplete)


def _ready(reason: Reason) -> Condition:
    code = "".join(part.capitalize() for part in reason.code.removeprefix("pool.").split("-"))
    has_all = number(reason.terms, "idle") + number(reason.terms, "busy") >= number(reason.terms, "target")
    return Condition("Ready", has_all and reason.code not in UNKNOWN, code, sentence(reason))


def _stale(reason: Reason, silent: str) -> Condition:
    since = reason.terms.get("stale_since")
    if not isinstance(since, int) and not silent:
        return Condition("Stale", False, "SourceAnswers")
    message = "no good answer" + (f" since {write_instant(since)}" if isinstance(since, int) else "")
    message += ": the pool does not shrink meanwhile" + (f"; {silent}" if silent else "")
    return Condition("Stale", True, "SourceSilent", message)


def _fields(reason: Reason) -> dict[str, Any]:
    terms = reason.terms
    return {
        "wanted": number(terms, "target"),
        "ready": number(terms, "idle") + number(terms, "busy"),
        "busy": number(terms, "busy"),
        "booting": number(terms, "creating"),
        "waiting": number(terms, "unclaimed"),
        "old": number(terms, "old"),
        "why": sentence(reason),
    }
