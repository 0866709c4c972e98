"""What becomes of one resource of a container, and whether that is near enough to what it has."""

from msgspec import Struct


class Sized(Struct, frozen=True):
    """A request and a limit; None is not set."""

    request: int | None
    limit: int | None
    #: left as it is for a reason that is reported
    is_held: bool = False
    is_leaking: bool = False
    #: what it must be given at the least, as far as is known
    need: int = 0

    @property
    def requested(self) -> int:
        """What counts as requested: where only a limit is set, the API server makes it the request, too."""
        return (self.limit or 0) if self.request is None else self.request


def is_near(now: int | None, then: int) -> bool:
    """Whether a value would change by less than a tenth of what it is."""
    return now is not None and abs(then - now) * 10 < now


def not_lowered(now: Sized, then: Sized) -> Sized:
    """The higher of both in everything; a limit that is not set stays so."""
    request = max(now.requested, then.request or 0)
    limit = None if now.limit is None or then.limit is None else max(now.limit, then.limit, request)
    return Sized(request, limit, then.is_held, then.is_leaking, then.need)
