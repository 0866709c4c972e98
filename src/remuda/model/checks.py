"""What became of the checks of a diagnosis."""

from typing import Literal, TypeAlias

from msgspec import Struct, field

Verdict: TypeAlias = Literal["ok", "problem", "unknown"]


class CheckResult(Struct, frozen=True):
    """What became of one check: the verdict in a sentence, what was seen, and what to do."""

    check: str
    verdict: Verdict
    message: str = field(name="told")
    evidence: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
