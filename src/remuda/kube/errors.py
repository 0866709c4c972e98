"""
What can go wrong with the API server, as errors that say verb, object and reason.

    KubeError                  any answer that is not what was asked for
    ├── Unauthorized  (401)    the server does not know us
    ├── Forbidden     (403)    it knows us and says no: a verb is missing
    ├── Missing       (404)    the object or the kind is not there
    ├── Conflict      (409)    someone else changed it, or it is there already
    ├── Gone          (410)    the version asked for is too old: list again
    ├── Invalid       (422)    the object breaks its schema
    └── Unreachable            no answer: the network, TLS, a proxy or a deadline
"""

from msgspec import Struct

from remuda.errors import Unavailable


class Cause(Struct, frozen=True):
    """One cause in a status: for a conflict of managers, the field and the sentence that names the other one."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(Struct, frozen=True, rename="camel"):
    """Details of a status."""

    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(Struct, frozen=True):
    """What the API server says instead of an object."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


class KubeError(Unavailable):
    """An answer that is not what was asked for."""

    def __init__(self, doing: str, status: Status) -> None:
        told = status.message or status.reason or "no reason given"
        super().__init__(
            f"{doing}: {status.code} {status.reason}: {told}" if status.code else f"{doing}: {told}"
        )
        self.doing = doing
        self.status = status


class Unauthorized(KubeError):
    """The server does not know us."""


class Forbidden(KubeError):
    """A verb is missing; `remuda rbac` prints what a command needs."""


class Missing(KubeError):
    """The object, or its kind, is not there."""


class Conflict(KubeError):
    """Someone else changed it, owns a field of it, or it exists already."""

    @property
    def managers(self) -> tuple[str, ...]:
        """The managers that own the fields in conflict, in the server's words."""
        causes = self.status.details.causes if self.status.details else ()
        return tuple(cause.message for cause in causes if cause.reason == "FieldManagerConflict")


class Gone(KubeError):
    """The version asked for is too old."""


class Invalid(KubeError):
    """The object breaks its schema."""


class Unreachable(KubeError):
    """No answer came."""


_KINDS: dict[int, type[KubeError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: Missing,
    409: Conflict,
    410: Gone,
    422: Invalid,
}


def error_for(doing: str, status: Status) -> KubeError:
    """The error of a status."""
    return _KINDS.get(status.code, KubeError)(doing, status)


def unreachable(doing: str, why: str) -> Unreachable:
    """The error of no answer."""
    return Unreachable(doing, Status(message=why))
